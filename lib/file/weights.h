/* Weights from files into programs. */
#ifndef TC_FILE_WEIGHTS_H
#define TC_FILE_WEIGHTS_H

#include "file/tensors.h"
#include "graph/graph.h"

/* The tensors become the data of the parameters and persistent buffers of their names; other element types are converted, other sizes
 * are TC_CONTENT. Strict: missing and unexpected names are TC_CONTENT listing them; a tied name that the file leaves out takes the
 * tensor of the name that it is tied to. rename: "s/REGEX/TO/" rules (extended, \1 refers to groups), applied to the file's names in
 * order, each as often as it matches when it ends in g. */
tc_status tc_weights_apply(tc_program *p, const tc_tensors *weights, const char *const *rename, int nrename, const char *from);

#endif
