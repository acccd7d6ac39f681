/* Reads and writes programs as PT2 archives, the format of torch.export.save.
 *
 *     tc_archive *a;
 *     TC_TRY(tc_archive_open(blob, &a));
 *     tc_program *p;
 *     TC_TRY(tc_archive_program(a, "model", &p));     // weights are views of the mapped file
 *     tc_archive_close(a);                            // the program stays valid
 *
 *     ROOT/models/NAME.json            the graph and its signature
 *     ROOT/data/weights, constants     raw storages, and a config that maps tensors to views of them
 *     ROOT/extra/PATH                  further text files: the user's, tc's own state, the model's source
 *     ROOT/tc/PATH                     compiled code (not in extra/, which PyTorch decodes as UTF-8) */
#ifndef TC_FILE_PT2_H
#define TC_FILE_PT2_H

#include "file/tensors.h"
#include "file/zip.h"
#include "graph/graph.h"

typedef struct tc_archive tc_archive;

/* Opens an archive; keeps a reference to the blob. TC_CONTENT with location; TC_UNSUPPORTED: a feature that tc lacks. */
tc_status tc_archive_open(tc_blob *b, tc_archive **out_archive);
/* The same of a file. */
tc_status tc_archive_open_file(const char *path, tc_archive **out_archive);
/* Wraps n programs from another format (ONNX), the first the default, as an archive that holds only them, without ZIP and extra files. Keeps
 * references. */
tc_archive *tc_archive_of_programs(tc_program *const *p, size_t n, const char *file);
void tc_archive_close(tc_archive *a); /* NULL is allowed */
size_t tc_archive_count(const tc_archive *a);
const char *tc_archive_path(const tc_archive *a); /* the file's name, for messages */
const char *tc_archive_name(const tc_archive *a, size_t i);
/* Checks that there is a program of that name; NULL becomes the name of the default one: the only one, else "model". TC_USAGE lists the names. */
tc_status tc_archive_choose(const tc_archive *a, const char **io_name);
/* Reads a program, which is the caller's; name as in tc_archive_choose. The program may contain
 * mutation (run op/functionalise.h next). Values keep their names; result types come from tc's shape rules and are compared with the archive's. */
tc_status tc_archive_program(tc_archive *a, const char *name, tc_program **out_program);
/* Adds a program's weights to out by FQN, without reading its graph: the state dictionary, not its constants. Existing names are kept; names whose
 * bytes are elsewhere are added to out->outside. */
tc_status tc_archive_weights(tc_archive *a, const char *name, tc_tensors *out);
/* Finds an entry by path below the root; *out_found. data points into the blob; its checksum is verified. */
tc_status tc_archive_entry(const tc_archive *a, const char *path, const unsigned char **out_data, size_t *out_len, bool *out_found);
/* Path of the i-th entry of extra/ that is the user's (torch.export.save's extra_files, --meta): not below extra/tc/. NULL behind the last. */
const char *tc_archive_user_extra(const tc_archive *a, size_t i);
const tc_zip *tc_archive_zip(const tc_archive *a); /* NULL for tc_archive_of_programs */

/* ---- writing ---- */
typedef struct {
    const char *path; /* below the root */
    const void *data;
    size_t len;
} tc_extra;
typedef struct {
    const tc_program *const *programs;
    int nprograms; /* named by tc_program.name; shared weights are written once */
    const tc_extra *extra;
    int nextra;             /* user's texts, compiled code; the programs' source is added automatically */
    const tc_archive *from; /* where the programs come from: its example inputs are kept if they still fit; NULL: there are none */
    bool without_weights;   /* --store-weights=none and extern: write the config, not the bytes */
} tc_archive_content;
/* Writes functional programs in a form that torch.export.load accepts. TC_UNSUPPORTED names what PyTorch cannot represent. */
tc_status tc_archive_write(tc_out *o, const tc_archive_content *content);

/* ---- weights outside (pt2_external.c) ---- */
typedef struct {
    const char *path; /* path of the file that holds them; NULL: unknown */
    const char *sum;  /* recorded checksum of its weights; NULL: none */
    bool archive;     /* true: a .pt2 named by the archive; false: FILE.safetensors beside FILE.pt2 */
} tc_external_weights;
/* The entry of extra/ that records archive a, in the same folder, as holder of the weights. Text in the arena. */
tc_extra tc_archive_name_external(const tc_archive *a, tc_arena *arena);
/* Where the weights outside archive a are; text in the arena. TC_ENV: the named .pt2 does not exist. */
tc_status tc_archive_external(const tc_archive *a, tc_arena *arena, tc_external_weights *out);
/* If o->archive: opens o->path. TC_CONTENT when its weights have changed since a was written (compares the ZIP directory only). */
tc_status tc_archive_open_external(const tc_archive *a, const tc_external_weights *o, tc_archive **out_archive);

/* Writes the program as models/NAME.json: PyTorch's ExportedProgram schema, without weights. */
tc_status tc_pt2_write_program(const tc_program *p, tc_buf *out);

/* Are the strides equal to the contiguous ones (`plain`), ignoring dimensions of size 1? */
bool tc_pt2_are_plain(const tc_meta *m, const tc_sym *stride, const tc_sym *plain);

#endif
