/* Programs on disk: the PT2 archive of torch.export.save, read and written.
 *
 *     tc_archive *a;
 *     TC_TRY(tc_archive_open(blob, &a));
 *     tc_program *p;
 *     TC_TRY(tc_archive_program(a, "model", &p));     // weights are views of the mapped file
 *     tc_archive_close(a);                            // the program stays valid
 *
 *     ROOT/models/NAME.json            the graph and its signature
 *     ROOT/data/weights, constants     raw storages, and which tensor is which view of them
 *     ROOT/extra/PATH                  further texts: the user's, tc's own state, the model's source
 *     ROOT/tc/PATH                     compiled code: PyTorch decodes all of extra/ as UTF-8 */
#ifndef TC_FILE_PT2_H
#define TC_FILE_PT2_H

#include "file/tensors.h"
#include "file/zip.h"
#include "graph/graph.h"

typedef struct tc_archive tc_archive;

/* Keeps a reference to the blob. TC_CONTENT with the place of what is wrong; TC_UNSUPPORTED for a feature that tc lacks. */
tc_status tc_archive_open(tc_blob *b, tc_archive **out_archive);
/* The same of a file. */
tc_status tc_archive_open_file(const char *path, tc_archive **out_archive);
/* A program that came from another format, in the place of an archive that holds it alone: no extra files, no ZIP. Keeps a reference. */
tc_archive *tc_archive_of_program(tc_program *p, const char *file);
void tc_archive_close(tc_archive *a); /* NULL is allowed */
size_t tc_archive_count(const tc_archive *a);
const char *tc_archive_path(const tc_archive *a); /* of its file, as messages name it */
const char *tc_archive_name(const tc_archive *a, size_t i);
/* NAME NULL: the only program, else "model". TC_USAGE listing the names when there is no such one. The program is as the archive has it: in-place
 * operators and views included (op/functionalise.h is the caller's next step). Values keep their names; results are typed by
 * tc's own rules and compared with what the archive says. */
tc_status tc_archive_program(tc_archive *a, const char *name, tc_program **out_program);
/* The weights and constants of a program as tensors by FQN, without reading its graph; what out has already is left as it is,
 * and names whose bytes are not there are added to out->outside. */
tc_status tc_archive_weights(tc_archive *a, const char *name, tc_tensors *out);
/* An entry by its path below the root, or false. data is inside the blob; its checksum is verified. */
tc_status tc_archive_entry(const tc_archive *a, const char *path, const unsigned char **out_data, size_t *out_len, bool *out_found);
/* Path of the i-th entry of extra/ that is the user's (torch.export.save's extra_files, --meta): not below extra/tc/. NULL behind the last. */
const char *tc_archive_user_extra(const tc_archive *a, size_t i);
const tc_zip *tc_archive_zip(const tc_archive *a); /* NULL for tc_archive_of_program */

/* ---- writing ---- */
typedef struct {
    const char *path; /* below the root */
    const void *data;
    size_t len;
} tc_extra;
typedef struct {
    const tc_program *const *programs;
    int nprograms; /* by tc_program.name; weights that they share are written once */
    const tc_extra *extra;
    int nextra;           /* user's texts, compiled code; the models' source is added from the programs */
    bool without_weights; /* --store-weights=none and extern: the configuration is written, the bytes are not */
} tc_archive_content;
/* Programs must be functional. What torch.export.load accepts. TC_UNSUPPORTED names what PyTorch has no form for. */
tc_status tc_archive_write(tc_out *o, const tc_archive_content *content);

/* ---- weights outside (pt2_outside.c) ---- */
typedef struct {
    const char *path; /* of the file that has them; NULL: none is known */
    const char *sum;  /* what its weights had as checksum; NULL: not recorded */
    bool archive;     /* a .pt2 that the archive names; else FILE.safetensors beside FILE.pt2 */
} tc_outside;
/* The entry of extra/ that leaves the weights in a, a .pt2 beside which the new archive will stand. Text in the arena. */
tc_extra tc_archive_name_outside(const tc_archive *a, tc_arena *arena);
/* Where the weights are that a leaves out; text in the arena. TC_ENV when the .pt2 that it names is not there. */
tc_status tc_archive_outside(const tc_archive *a, tc_arena *arena, tc_outside *out);
/* Opens o->path, for o->archive. TC_CONTENT when its weights are not those that it had when a was made; only the ZIP directory is read. */
tc_status tc_archive_open_outside(const tc_archive *a, const tc_outside *o, tc_archive **out_archive);

/* The program as an archive's models/NAME.json has it: an ExportedProgram of PyTorch's schema, without weights. */
tc_status tc_pt2_write_program(const tc_program *p, tc_buf *out);

/* Are these the strides of a contiguous tensor, plain? Those of dimensions of size 1 say nothing. */
bool tc_pt2_are_plain(const tc_meta *m, const tc_sym *stride, const tc_sym *plain);

#endif
