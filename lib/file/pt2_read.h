/* Internal to the reader of models/NAME.json: values and arguments (pt2_args.c), nodes (pt2_nodes.c), signature and trees (pt2_sig.c),
 * arithmetic on symbolic numbers (pt2_sym.c), conditions on the inputs (pt2_guards.c), tc's own state (pt2_state.c), vmap (pt2_vmap.c). */
#ifndef TC_FILE_PT2_READ_H
#define TC_FILE_PT2_READ_H

#include "base/json.h"
#include "file/pt2.h"
#include "op/op.h"

/* A weight or constant: a view of a storage, which several may share. */
typedef struct {
    tc_storage *storage;                     /* NULL: its bytes are not in the archive */
    const char *file;                        /* file of the storage; NULL: not named */
    bool parameter, constant, requires_grad; /* neither of the first two: a buffer */
    tc_dtype dtype;
    int rank;
    int64_t size[TC_MAX_RANK], stride[TC_MAX_RANK], offset;
} tc_pt2_weight;

struct tc_archive {
    tc_zip *zip; /* NULL: its programs are `ready` (tc_archive_of_programs) */
    TC_VEC(tc_program *) ready;
    const char *file; /* for messages */
    tc_arena arena;
    const char *root;
    TC_VEC(const char *) names;
    TC_VEC(const char *) extras; /* the user's files: "extra/PATH" */
    bool older;                  /* pt2_older.c */
    const char *own;             /* name of the program that the file calls "model" and tc otherwise (tc_pt2_stored_name); NULL: there is none */
    tc_map storages;             /* entry name -> tc_storage, one reference each: programs of an archive share them */
};

/* A name of the file: its declared type, and its value once a node or input defines it. */
typedef struct {
    const char *name;               /* in the program's arena */
    const tc_jr_mark *tensor, *sym; /* position of its type or expression in the text; NULL: none */
    bool made, node;                /* a value, a node has it */
    tc_arg arg;
    const char *doubt; /* a secondary result whose type differs from the file's: message of an error raised if it is used */
} tc_pt2_name;

typedef struct tc_pt2_vmap tc_pt2_vmap;
/* The scope of one graph. */
typedef struct tc_pt2_scope {
    tc_graph *graph;
    tc_map names; /* -> tc_pt2_name */
    tc_jr_mark inputs, outputs, nodes;
    bool single;
    tc_dtype autocast;          /* inside a region of autocast; else TC_DTYPE_NONE */
    struct tc_pt2_scope *outer; /* inside of torch.vmap: the scope around it, whose names are seen here */
    tc_pt2_vmap *vmap;
} tc_pt2_scope;

/* A resolved node target. */
typedef struct {
    const char *name;
    const tc_op *op;
    bool plain; /* a plain call of op */
} tc_pt2_target;

typedef struct {
    tc_jread j;
    tc_archive *archive;
    tc_program *program;
    tc_arena scratch; /* lives as long as the reading */
    tc_map ranges;    /* symbol -> tc_pt2_range */
    tc_map targets;   /* -> tc_pt2_target */
    struct {          /* the text that was read last and what was made of it: neighbours tend to share it */
        tc_str text;
        const char *file, *calls;
        int line;
    } stack, modules;
    TC_VEC(tc_sym) from;       /* data-dependent symbols of the archive ... */
    TC_VEC(tc_sym) to;         /* ... and the symbols that tc's shape rules created for them */
    TC_VEC(tc_symvalue) hints; /* by symbol: the size that the export saw */
    size_t nknown;             /* symbols of inputs and conditions; those that nodes make come after them */
    tc_pt2_scope main;
    bool any_autocast;                   /* a region of autocast was read: strict export writes the types that its values have without it */
    bool failed_node;                    /* the failure says in which node it is */
    tc_jr_mark signature, calls, fields; /* parts of graph_module that are read after the ranges of symbols are known */
} tc_pt2_reader;
typedef struct {
    int64_t lo, hi;
} tc_pt2_range;

/* An argument; a subgraph is kept as a position in the text until its operands are known. */
typedef struct {
    tc_arg arg;
    tc_jr_mark graph;
    bool is_graph;
    const char *graph_name;
    tc_str name;
} tc_pt2_arg;

/* pt2_args.c. All report through r->j. */
void tc_pt2_type_field(tc_pt2_reader *r, tc_str key);           /* reads a field of TensorMeta that is neither dtype nor sizes nor strides */
const char *tc_pt2_unknown(const tc_pt2_reader *r, tc_sym s);   /* a symbol of s that neither an input nor data has; NULL: none */
bool tc_pt2_differ(const tc_pt2_reader *r, tc_sym a, tc_sym b); /* are they other numbers at the sizes that the export saw? */
/* Does the tensor leave places of its memory out, or use some twice, at those sizes? False if they are unknown. */
bool tc_pt2_has_gaps(const tc_pt2_reader *r, int rank, const tc_sym *size, const tc_sym *stride);
bool tc_pt2_negative(tc_sym s);                                              /* is it a negative number? */
int tc_pt2_sizes(tc_pt2_reader *r, tc_sym *out);                             /* reads a list of at most TC_MAX_RANK SymInts; returns its length */
void tc_pt2_set_strides(tc_program *p, tc_meta *m, const tc_sym *stride);    /* sets strides; NULL where contiguous */
tc_pt2_arg tc_pt2_argument(tc_pt2_reader *r, tc_pt2_scope *s);               /* Argument */
const tc_arg *tc_pt2_lookup(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name); /* NULL after reporting */
tc_pt2_name *tc_pt2_named(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name);   /* finds or adds a name */
const tc_pt2_name *tc_pt2_declared(tc_pt2_scope *s, tc_pt2_name *n);         /* the declaration with the type, in the outermost vmap scope */
void tc_pt2_make(tc_pt2_reader *r, tc_pt2_name *n, tc_arg a);                /* defines the name; error if defined already */
tc_value *tc_pt2_as_value(tc_pt2_scope *s, tc_arg a, const char *hint);      /* the argument as a value, numbers included; NULL: not a value */
tc_value *tc_pt2_input_value(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name, bool tensor);
/* `name` is the only member of the union or struct that is about to be read: {"name": "x"}. Lives as long as the text. */
tc_str tc_pt2_read_name(tc_pt2_reader *r);
static inline tc_str tc_pt2_str(const char *s) { return (tc_str){s, strlen(s)}; }

/* pt2_nodes.c */
void tc_pt2_open_graph(tc_pt2_reader *r, tc_pt2_scope *s); /* at a Graph: remembers where its parts are */
void tc_pt2_close_scope(tc_pt2_scope *s);
void tc_pt2_nodes(tc_pt2_reader *r, tc_pt2_scope *s);

/* pt2_vmap.c: handles a node that enters or leaves torch.vmap; *at: the scope that receives nodes. name: of its result, or NULL. False: not such a
 * node. */
bool tc_pt2_vmap_node(tc_pt2_reader *r, tc_pt2_scope **at, const char *target, const tc_pt2_arg *args, int nargs, const char *name, tc_source source);
const tc_arg *tc_pt2_vmap_import(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name, const tc_arg *a); /* imports a value of s->outer into s */
void tc_pt2_vmap_abandon(tc_pt2_scope *s);                                                         /* frees scopes left open after an error */

/* pt2_sym.c: handles a node on symbolic numbers (_operator.add, aten.sym_size.int, ...). False: not such a node. */
bool tc_pt2_symbolic(tc_pt2_reader *r, const char *target, const tc_pt2_arg *args, int nargs, tc_arg *out, bool *out_no_result);

/* pt2_sig.c: tc_pt2_graph_module remembers where the parts of graph_module are; tc_pt2_build reads them into r->program. */
void tc_pt2_graph_module(tc_pt2_reader *r);
void tc_pt2_build(tc_pt2_reader *r, const tc_map *weights);

/* pt2_guards.c: parses the list of guard expressions, after inputs have names. */
void tc_pt2_guards_code(tc_pt2_reader *r);

/* pt2.c: the name by which the file has program `name`. */
const char *tc_pt2_name_of(const tc_archive *a, const char *name);

/* pt2_older.c: the form of PyTorch 2.8 and older, which an entry of this name tells. */
#define TC_PT2_OLDER "serialized_exported_program.json"
/* Where that form has what now stands under `path`; data/weights and data/constants are one file each. */
const char *tc_pt2_older_path(const tc_archive *a, const char *path);
tc_status tc_pt2_older_weights(tc_archive *a, const char *folder, tc_arena *arena, tc_map *out); /* as read_weights of pt2.c */
/* Reads an entry that torch.save wrote; *out_found: false where there is none, or another format. */
tc_status tc_pt2_read_saved(const tc_archive *a, const char *path, tc_tensors *io, bool *out_found);

/* pt2_state.c: reads extra/tc/NAME.json: guards before the nodes, the rest after the graph is built. */
tc_status tc_pt2_read_guards(tc_pt2_reader *r);
tc_status tc_pt2_read_state(tc_pt2_reader *r);
bool tc_pt2_has_state(const tc_pt2_reader *r); /* whether tc wrote the archive */

#endif
