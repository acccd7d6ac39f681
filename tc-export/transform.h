/* Transformations of programs before they are written, in this order: --swap; --joint, --grad-of, --partition, --jvp; --decompose; --split. */
#ifndef TC_EXPORT_TRANSFORM_H
#define TC_EXPORT_TRANSFORM_H

#include "cmd/cmd.h"
#include "op/watch.h"

typedef TC_VEC(tc_program *) programs; /* owned */

tc_status transform_programs(tc_cmd *c, programs *all);
tc_status differentiate(tc_cmd *c, programs *all); /* differentiate.c */

/* The steps; each is a watched pass (op/watch.h) that its options can repeat. */
typedef enum { SWAP, DIFFERENTIATE, DECOMPOSE, SPLIT } transform_step;
typedef struct {
    const char *name;
    tc_opt_id id;
    transform_step step;
} transform_option;
enum { NTRANSFORM_OPTIONS = 8 };
extern const transform_option transform_options[NTRANSFORM_OPTIONS];
tc_pass begin_transform(const tc_cmd *c, tc_program *p, transform_step step);

/* Warns about each program that replaces p at other sizes and is left out because of `what`. */
void warn_of_sides(const tc_cmd *c, const programs *all, const tc_program *p, const char *what);

void release_programs(programs *all);
void replace_programs(programs *all, tc_program *const *with, size_t n); /* releases the old programs and takes ownership of the new ones */

#endif
