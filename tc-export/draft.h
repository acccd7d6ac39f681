/* --draft: runs the program so far on the example inputs where a capture asks, and writes the report. */
#ifndef TC_EXPORT_DRAFT_H
#define TC_EXPORT_DRAFT_H

#include "cmd/source.h"

typedef struct {
    tc_cmd *c;
    const tc_cmd_source *q;
} draft;

/* Makes the request a draft; every input must have a value. d lives as long as the request. */
tc_status draft_start(tc_cmd *c, tc_cmd_source *q, draft *d);
tc_status draft_report(tc_cmd *c, const char *operand, const tc_capture_result *r);

#endif
