/* What tc-export makes of programs before it writes them: --swap, then --joint, --grad-of, --partition, --jvp, then --decompose, then --split. */
#ifndef TC_EXPORT_REWORK_H
#define TC_EXPORT_REWORK_H

#include "cmd/cmd.h"
#include "op/watch.h"

typedef TC_VEC(tc_program *) programs; /* owned */

tc_status rework(tc_cmd *c, programs *all);
tc_status differentiate(tc_cmd *c, programs *all); /* differentiate.c: the first step */

/* The options that ask for it, by what they are part of; the watched pass of one part (op/watch.h), which its options do again. */
typedef enum { SWAP, DIFFERENTIATE, DECOMPOSE, SPLIT } rework_step;
typedef struct {
    const char *name;
    tc_opt_id id;
    rework_step step;
} rework_option;
enum { REWORKING = 8 };
extern const rework_option reworking[REWORKING];
tc_pass begin_rework(const tc_cmd *c, tc_program *p, rework_step step);

/* A warning for each program that takes the place of p at other sizes and is left out, since `what`. */
void warn_of_sides(const tc_cmd *c, const programs *all, const tc_program *p, const char *what);

void release_programs(programs *all);
void replace_programs(programs *all, tc_program *const *with, size_t n); /* releases those that were there and takes these over */

#endif
