/* Loads weights from files into programs: --weights, --rename, --select. */
#ifndef TC_FILE_WEIGHTS_H
#define TC_FILE_WEIGHTS_H

#include "file/rename.h"
#include "file/tensors.h"
#include "graph/graph.h"

/* Is the input one of those that files of weights hold: a parameter or a persistent buffer? */
bool tc_takes_weight(const tc_input *in);

/* The tensors become the data of the parameters and persistent buffers of their names; other element types are converted, other sizes
 * are TC_CONTENT. Strict: missing and unexpected names are TC_CONTENT listing them; a tied name that the file leaves out takes the
 * tensor of the name that it is tied to. rename: "s/REGEX/TO/" rules (extended, \1 refers to groups), applied to the file's names in
 * order, each as often as it matches when it ends in g. Of a checkpoint with several dicts the one that has the program's names is taken;
 * what wrappers add to names (module., _orig_mod., ...) is taken away where that makes them fit. */
typedef struct {
    const char *const *rename; /* rules */
    int nrename;
    /* Patterns: only the file's tensors whose names match one are taken, and what no "!RE" matches; weights that then lack keep what they
     * have; TC_CONTENT when none is taken. None: all, strictly. */
    const char *const *select;
    int nselect;
} tc_weights_rules;
tc_status tc_weights_apply(tc_program *p, const tc_tensors *weights, tc_weights_rules rules, const char *from);
/* Renames the program's parameters and buffers. TC_USAGE: two get the same name. */
tc_status tc_weights_rename(tc_program *p, const tc_rename *rename);
/* The same choice of names for other takers: wanted holds names (any value but NULL); out: wanted names, and those of the file that fit none, to
 * index + 1 of w. */
tc_status tc_weights_names(const tc_tensors *w, const tc_map *wanted, const tc_rename *rename, tc_map *out);
/* Calls `take` for each tensor that the rules select, by the wanted name that it maps to, else by its own name. */
tc_status tc_weights_each(const tc_tensors *w, const tc_map *wanted, tc_weights_rules rules, void (*take)(void *, const char *, const tc_tensor *),
                          void *to);

#endif
