/* Weights stored outside the archive: --store-weights. */
#ifndef TC_CMD_EXTERNAL_WEIGHTS_H
#define TC_CMD_EXTERNAL_WEIGHTS_H

#include "cmd/program.h"

bool tc_external_candidate(const tc_input *in); /* is it a weight that --store-weights may leave out? */
/* Prepares `content` for writing as --store-weights says. extern: writes the weights to FILE.safetensors beside FILE.pt2; *out_file must be finished by
 * the caller after the archive is written, or when this fails. input: *out_name becomes an entry of extra/ that names the file of `from` (text in the
 * arena). Otherwise *out_file and *out_name are unchanged. */
tc_status tc_external_write(tc_cmd *c, tc_archive *from, tc_archive_content *content, tc_arena *arena, tc_extra *out_name, tc_out **out_file);
/* Loads the weights of p, a program of archive a, from the file outside, if it is found and --weights is not given. */
tc_status tc_external_read(tc_cmd *c, const tc_archive *a, tc_program *p);

#endif
