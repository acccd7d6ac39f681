/* Weights that stand outside the archive: --store-weights. */
#ifndef TC_CMD_OUTSIDE_H
#define TC_CMD_OUTSIDE_H

#include "cmd/program.h"

bool tc_outside_may_be(const tc_input *in); /* a weight, which --store-weights may leave out */
/* What --store-weights means for programs about to be written: whether content has weights; extern writes them, to FILE.safetensors beside
 * FILE.pt2, *out_file, which the caller finishes when the archive is written too, or when this fails; for input *out_name becomes an entry of
 * extra/ that names the file of `from` (text in the arena). Both stay as they are otherwise. */
tc_status tc_outside_write(tc_cmd *c, tc_archive *from, tc_archive_content *content, tc_arena *arena, tc_extra *out_name, tc_out **out_file);
/* Gives p, which a holds, the weights that stand outside a, if they are found and --weights gives no others. */
tc_status tc_outside_read(tc_cmd *c, const tc_archive *a, tc_program *p);

#endif
