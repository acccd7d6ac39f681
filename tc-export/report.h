/* Reports of tc-export on a captured program: --log=shapes, --summary, --print=modules. */
#ifndef TC_EXPORT_REPORT_H
#define TC_EXPORT_REPORT_H

#include "graph/graph.h"

void report_shapes(tc_buf *b, const tc_program *p);  /* sizes of the inputs; the range of each symbol, or its value and the line that fixed it */
void report_summary(tc_buf *b, const tc_program *p); /* nodes, operators by number of calls, parameters and their bytes */
void report_modules(tc_buf *b, tc_program *p);       /* modules.c: tree of modules: operators, parameters, input and output types of each call */

#endif
