/* Reader of ONNX models and tensors into plain structures, from which lib/onnx builds programs.
 *
 *     tc_onnx_model *m;
 *     TC_TRY(tc_onnx_read(blob, &m));          // weights are views of the mapped file where alignment allows
 *     ... m->graph.nodes[i].op, m->graph.inits[k].value ...
 *     tc_onnx_free(m);
 *
 * Element types without a tc dtype keep their ONNX code in `type` and are unpacked to one byte per element: int4 and int2 as i8, uint4 and uint2 as u8,
 * float4 and other float8 kinds as their bits in u8. */
#ifndef TC_FILE_ONNX_H
#define TC_FILE_ONNX_H

#include "base/file.h"
#include "tensor/tensor.h"

/* TensorProto.DataType */
enum {
    TC_ONNX_FLOAT = 1,
    TC_ONNX_UINT8,
    TC_ONNX_INT8,
    TC_ONNX_UINT16,
    TC_ONNX_INT16,
    TC_ONNX_INT32,
    TC_ONNX_INT64,
    TC_ONNX_STRING,
    TC_ONNX_BOOL,
    TC_ONNX_FLOAT16,
    TC_ONNX_DOUBLE,
    TC_ONNX_UINT32,
    TC_ONNX_UINT64,
    TC_ONNX_COMPLEX64,
    TC_ONNX_COMPLEX128,
    TC_ONNX_BFLOAT16,
    TC_ONNX_FLOAT8E4M3FN,
    TC_ONNX_FLOAT8E4M3FNUZ,
    TC_ONNX_FLOAT8E5M2,
    TC_ONNX_FLOAT8E5M2FNUZ,
    TC_ONNX_UINT4,
    TC_ONNX_INT4,
    TC_ONNX_FLOAT4E2M1,
    TC_ONNX_FLOAT8E8M0,
    TC_ONNX_UINT2,
    TC_ONNX_INT2,
    TC_ONNX_TYPES
};
/* The dtype for elements of an ONNX type; TC_DTYPE_NONE: strings, unknown codes. */
tc_dtype tc_onnx_dtype(int type);
/* The ONNX type of a dtype; 0: none. */
int tc_onnx_type_of(tc_dtype d);

typedef struct {
    const char *name;
    int type;
    tc_tensor data;       /* storage NULL for strings */
    const char **strings; /* type STRING: nstrings of them, in row-major order, bytes up to the first NUL */
    size_t nstrings;
    int rank;
    int64_t size[TC_MAX_RANK];
} tc_onnx_tensor;

typedef enum { TC_ONNX_T_NONE, TC_ONNX_T_TENSOR, TC_ONNX_T_SEQUENCE, TC_ONNX_T_MAP, TC_ONNX_T_SPARSE, TC_ONNX_T_OPTIONAL } tc_onnx_type_kind;
typedef struct tc_onnx_type {
    tc_onnx_type_kind kind;
    int elem;       /* TENSOR, SPARSE: TensorProto.DataType */
    bool has_shape; /* TENSOR */
    int rank;
    int64_t size[TC_MAX_RANK];    /* -1: free */
    const char *sym[TC_MAX_RANK]; /* dim_param, or NULL */
    struct tc_onnx_type *of;      /* SEQUENCE, OPTIONAL: of what */
} tc_onnx_type;
typedef struct {
    const char *name;
    tc_onnx_type type;
} tc_onnx_value;

/* AttributeProto.AttributeType */
enum {
    TC_ONNX_A_FLOAT = 1,
    TC_ONNX_A_INT,
    TC_ONNX_A_STRING,
    TC_ONNX_A_TENSOR,
    TC_ONNX_A_GRAPH,
    TC_ONNX_A_FLOATS,
    TC_ONNX_A_INTS,
    TC_ONNX_A_STRINGS,
    TC_ONNX_A_TENSORS,
    TC_ONNX_A_GRAPHS,
    TC_ONNX_A_SPARSE,
    TC_ONNX_A_SPARSES,
    TC_ONNX_A_TYPE,
    TC_ONNX_A_TYPES
};
typedef struct tc_onnx_graph tc_onnx_graph;
typedef struct {
    const char *name;
    int kind;        /* TC_ONNX_A_* */
    const char *ref; /* inside a function: the function's attribute that it refers to; else NULL */
    float f;
    int64_t i;
    const char *s;
    tc_onnx_tensor *t;
    tc_onnx_graph *g;
    tc_onnx_type *type;
    TC_VEC(float) floats;
    TC_VEC(int64_t) ints;
    TC_VEC(const char *) strings;
    TC_VEC(tc_onnx_tensor) tensors;
    TC_VEC(tc_onnx_graph *) graphs;
} tc_onnx_attr;

typedef struct {
    const char *name, *op, *domain; /* domain "" is ai.onnx */
    const char *overload;
    TC_VEC(const char *) inputs; /* "": absent */
    TC_VEC(const char *) outputs;
    TC_VEC(tc_onnx_attr) attrs;
    int64_t offset; /* byte offset of the node in the file */
} tc_onnx_node;

struct tc_onnx_graph {
    const char *name;
    TC_VEC(tc_onnx_node) nodes;
    TC_VEC(tc_onnx_tensor) inits; /* initializers; sparse ones are made dense */
    TC_VEC(tc_onnx_value) inputs;
    TC_VEC(tc_onnx_value) outputs;
    tc_onnx_graph *next; /* list of all graphs of the model, for freeing */
};
typedef struct {
    const char *domain;
    int64_t version;
} tc_onnx_opset;
typedef struct {
    const char *name, *domain, *overload;
    TC_VEC(const char *) inputs;
    TC_VEC(const char *) outputs;
    TC_VEC(const char *) attrs;    /* without a default */
    TC_VEC(tc_onnx_attr) defaults; /* with one */
    TC_VEC(tc_onnx_opset) opsets;
    tc_onnx_graph body; /* nodes only */
} tc_onnx_function;

typedef struct {
    const char *file; /* for messages */
    int64_t ir_version;
    const char *producer;
    TC_VEC(tc_onnx_opset) opsets;
    tc_onnx_graph graph;
    TC_VEC(tc_onnx_function) functions;
    tc_onnx_graph *graphs; /* subgraphs */
    tc_arena arena;
    tc_map external; /* location -> tc_blob: external data files */
    tc_blob *blob;
    char *folder; /* NULL: NULL: read from a pipe */
} tc_onnx_model;

/* Reads a model; keeps a reference to the blob. TC_CONTENT with file offset; TC_UNSUPPORTED: an unsupported feature. External data are read only from
 * regular files below the folder of blob->name: no absolute paths, "..", or links. */
tc_status tc_onnx_read(tc_blob *b, tc_onnx_model **out_model);
void tc_onnx_free(tc_onnx_model *m); /* NULL is allowed; tensors that were taken from it stay valid */

/* Could a file that begins with these bytes (16 suffice) be a model? */
bool tc_onnx_is_model(const unsigned char *p, size_t n);

/* A file that holds one TensorProto, SequenceProto or OptionalProto (reference data): its tensors in order. */
typedef enum { TC_ONNX_IS_TENSOR, TC_ONNX_IS_SEQUENCE, TC_ONNX_IS_OPTIONAL } tc_onnx_data_kind;
typedef struct {
    TC_VEC(tc_onnx_tensor) items;
    bool absent; /* an optional that holds nothing */
    tc_arena arena;
} tc_onnx_data;
tc_status tc_onnx_read_data(tc_blob *b, tc_onnx_data_kind kind, tc_onnx_data *out);
void tc_onnx_data_free(tc_onnx_data *d);

#endif
