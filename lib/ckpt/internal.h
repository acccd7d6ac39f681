/* Internal to lib/ckpt: an open checkpoint as a map of tensors in pieces. */
#ifndef TC_CKPT_INTERNAL_H
#define TC_CKPT_INTERNAL_H

#include "ckpt/ckpt.h"

/* A piece of a tensor, as stored in one file. */
typedef struct {
    tc_tensor data; /* owned */
    int64_t offset[TC_MAX_RANK];
    const char *file;
} tc_piece;
typedef struct {
    const char *name;
    tc_dtype dtype;
    int rank;
    bool sized; /* size is given explicitly, not derived from the pieces */
    bool opaque;
    size_t container; /* as in tc_named */
    int64_t size[TC_MAX_RANK];
    TC_VEC(tc_piece) pieces;
} tc_entry;

struct tc_ckpt {
    tc_arena arena;
    TC_VEC(tc_entry *) entries; /* in order of name once opened */
    tc_map by_name;             /* -> tc_entry; -> index + 1 once opened */
    TC_VEC(tc_metadata) values, metadata, notes, left_out;
    char *path;
    const char *format;
    tc_buf state;
    int64_t step;
    tc_tensors tree; /* only the tree of tc_ckpt_tree, in its arena */
    bool raw, check_all, keep_tree;
    size_t checked;
};

/* Finds or adds the entry of that name. */
tc_entry *tc_ckpt_entry(tc_ckpt *c, const char *name);
/* Adds a piece to e; takes ownership of t. TC_CONTENT: dtype or rank differ from the entry's. */
tc_status tc_ckpt_add_piece(tc_ckpt *c, tc_entry *e, tc_tensor t, const int64_t *offset, const char *file);
/* TC_CONTENT unless the pieces lie inside the tensor and cover each element exactly once. */
tc_status tc_ckpt_check_entry(tc_ckpt *c, tc_entry *e);
void tc_ckpt_note(tc_ckpt *c, const char *name, const char *what);

tc_status tc_ckpt_open_dcp(tc_ckpt *c, const char *dir);
tc_status tc_ckpt_open_hf(tc_ckpt *c, const char *dir);
tc_status tc_ckpt_open_index(tc_ckpt *c, const char *path);

/* DCP_SHARDING_INFO metadata: low[i]: offset of piece i in its tensor; low NULL: all are whole tensors. */
typedef int64_t tc_corner[TC_MAX_RANK];
void tc_ckpt_sharding_info(tc_buf *b, const tc_content *c, const tc_corner *low);

/* BLAKE2b-256 of a file, as 64 hex digits, and its length. */
tc_status tc_ckpt_hash(const char *path, char out[65], int64_t *out_bytes);

#endif
