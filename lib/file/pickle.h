/* Reads Python pickles, protocols 0 to 5, as plain data: nothing is called, imported or looked up.
 *
 *     tc_pickle p = {0};
 *     TC_TRY(tc_pickle_read(&p, place, bytes, n, &used));     // used: bytes up to and including STOP
 *     p.root->kind ...
 *     tc_pickle_free(&p);
 *
 * Calls are represented as objects: REDUCE, NEWOBJ and OBJ give TC_PK_OBJECT with the global's name, the arguments, and the state and items that BUILD,
 * APPEND and SETITEM added. Format readers (torch.c, dcp.c) interpret the globals they know; others stay opaque. Globals that serve only attacks
 * (os.system, builtins.eval, ...) are TC_CONTENT wherever they occur. */
#ifndef TC_FILE_PICKLE_H
#define TC_FILE_PICKLE_H

#include "base/mem.h"

typedef enum {
    TC_PK_NONE,
    TC_PK_BOOL,
    TC_PK_INT,
    TC_PK_LONG, /* an integer beyond 64 bits: s, n hold its decimal or two's complement bytes */
    TC_PK_FLOAT,
    TC_PK_STRING,
    TC_PK_BYTES,
    TC_PK_LIST,
    TC_PK_TUPLE,
    TC_PK_SET,
    TC_PK_DICT,   /* items: key, value, key, value */
    TC_PK_GLOBAL, /* "module.name" */
    TC_PK_OBJECT,
    TC_PK_PERSISTENT /* args: what the file's own persistent_load gets */
} tc_pk_kind;

typedef struct tc_pk tc_pk;
/* How a value was constructed, for writing it again. */
typedef enum {
    TC_PK_PLAIN,
    TC_PK_NEW,     /* OBJECT: class.__new__, not a call (NEWOBJ) */
    TC_PK_NEW_EX,  /* ... with keyword arguments, which are not kept */
    TC_PK_DECIMAL, /* LONG: s is decimal */
    TC_PK_ORDERED, /* DICT: collections.OrderedDict; its attributes are `state` */
    TC_PK_COUNTER,
    TC_PK_DEFAULTDICT, /* state: what makes missing values */
    TC_PK_FROZEN       /* SET: frozenset */
} tc_pk_made;

struct tc_pk {
    tc_pk_kind kind;
    uint32_t len, cap; /* of items */
    uint8_t made;      /* tc_pk_made */
    union {
        bool b;
        int64_t i;
        double f;
        struct {
            const char *s; /* STRING, BYTES, LONG: not NUL-terminated, often inside the pickle; GLOBAL: "module.name", NUL-terminated */
            size_t n;      /* GLOBAL: of the module's name */
        };
        tc_pk **items; /* LIST, TUPLE, SET, DICT */
        tc_pk *args;   /* PERSISTENT */
        struct {
            tc_pk *callable, *arguments; /* OBJECT: what would be called, and a TUPLE (any kind after REDUCE of nonsense is refused) */
            struct tc_pk_more *more;
        };
    };
    tc_pk *state; /* DICT, OBJECT: of BUILD, the last one; else NULL */
};
/* What APPEND and SETITEM put into an object that is no list or dict of Python's own. */
typedef struct tc_pk_more {
    tc_pk list, dict;
} tc_pk_more;

typedef struct {
    tc_pk *root;
    tc_arena arena;
} tc_pickle;

enum { TC_PICKLE_MEMORY = 160 << 20 }; /* memory limit per pickle: about 50 bytes per value */

/* Reads the pickle at the beginning of n bytes, which must outlive p. place: file and offset of byte 0. *out_used: its length. TC_CONTENT with the
 * opcode's offset; p is then freed. */
tc_status tc_pickle_read(tc_pickle *p, tc_place place, const void *data, size_t n, size_t *out_used);
void tc_pickle_free(tc_pickle *p);

static inline bool tc_pk_is(const tc_pk *v, const char *s) {
    size_t n = strlen(s);
    return v && v->kind == TC_PK_STRING && v->n == n && memcmp(v->s, s, n) == 0;
}
/* Is v the global "torch._utils._rebuild_tensor_v2"? */
static inline bool tc_pk_is_global(const tc_pk *v, const char *name) { return v && v->kind == TC_PK_GLOBAL && strcmp(v->s, name) == 0; }
/* An object of that callable, or NULL. */
static inline const tc_pk *tc_pk_call(const tc_pk *v, const char *name) {
    return v && v->kind == TC_PK_OBJECT && tc_pk_is_global(v->callable, name) ? v : NULL;
}
const tc_pk *tc_pk_arg(const tc_pk *v, size_t i);        /* argument i of an OBJECT, item i of a TUPLE or LIST; NULL when there is none */
const tc_pk *tc_pk_get(const tc_pk *v, const char *key); /* value of a text key: of a DICT, or of the attributes (state) of an OBJECT; the last one */
bool tc_pk_to_int(const tc_pk *v, int64_t *out);         /* INT or BOOL */
bool tc_pk_to_sizes(const tc_pk *v, int64_t *out, int max,
                    int *out_n); /* tuple, list, torch.Size: false when it is no such thing or longer than max */
/* Appends text: JSON where possible, "(...)" for tuples, "<module.name>" for opaque objects; about `limit` bytes at most. */
void tc_pk_print(tc_buf *b, const tc_pk *v, size_t limit);

/* Is the global dangerous if looked up? Decided by module; plain data types of builtins are allowed. */
bool tc_pickle_forbidden(const char *module, const char *name);

#endif
