/* YAML for recipes: the core of YAML 1.2 through libyaml, typed by whoever reads it and not by guessing.
 *
 *     tc_yaml *y; TC_TRY(tc_yaml_parse(&arena, "gpt.yaml", text, len, &y));
 *     static const tc_yaml_field fields[] = {{"steps", TC_Y_INT, offsetof(R, steps)}, ..., {0}};
 *     TC_TRY(tc_yaml_read(y, fields, &recipe));    // unknown keys are refused with line and suggestion
 *
 * Anchors, aliases, tags, duplicate keys, several documents and nesting above 32 are refused with their line. */
#ifndef TC_BASE_YAML_H
#define TC_BASE_YAML_H

#include "base/mem.h"

typedef enum { TC_YAML_SCALAR, TC_YAML_LIST, TC_YAML_MAP } tc_yaml_kind;
typedef struct tc_yaml tc_yaml;
struct tc_yaml {
    tc_yaml_kind kind;
    const char *text; /* scalar, NUL-terminated */
    bool quoted;      /* a string whatever it looks like; a block scalar counts as quoted */
    tc_yaml **items;
    int n;             /* list elements, or map values */
    const char **keys; /* map */
    int *key_lines;
    const char *file;
    int line, col; /* from 1 */
    char *path;    /* "data.train.batch", for messages */
    bool argument; /* the VALUE of an argument KEY=VALUE: `file` ends in its path */
};

/* The one document in text, owned by the arena; an empty document is an empty map. TC_USAGE with file:line:col. */
tc_status tc_yaml_parse(tc_arena *a, const char *file, const char *text, size_t len, tc_yaml **out);
/* The value of `key` of a map, or NULL. */
tc_yaml *tc_yaml_get(const tc_yaml *map, const char *key);
bool tc_yaml_is_null(const tc_yaml *y); /* plain null, ~ or nothing; also NULL itself */

/* "FILE:LINE: PATH", or "argument PATH" for an argument's value: where the text of y stands, for messages about a place in it. */
const char *tc_yaml_place(tc_arena *a, const tc_yaml *y);

/* Values by type; TC_USAGE with file:line: path, found, expected. */
tc_status tc_yaml_int(const tc_yaml *y, int64_t *out);
tc_status tc_yaml_double(const tc_yaml *y, double *out);                         /* 1, 1e-3, .5, inf, .inf, nan */
tc_status tc_yaml_string(const tc_yaml *y, const char **out);                    /* any scalar but null */
tc_status tc_yaml_error(const tc_yaml *y, const char *fmt, ...) TC_PRINTF(2, 3); /* a TC_USAGE at y's place, "path: ..." */

typedef enum {
    TC_Y_INT,    /* int64_t */
    TC_Y_SEED,   /* uint64_t: tc_parse_seed */
    TC_Y_DOUBLE, /* double */
    TC_Y_BOOL,   /* bool */
    TC_Y_STRING, /* const char * */
    TC_Y_NODE    /* tc_yaml *: any value, read by the caller */
} tc_yaml_type;
typedef struct {
    const char *key; /* NULL ends the table */
    tc_yaml_type type;
    size_t offset; /* of the field in the struct */
} tc_yaml_field;
/* Fills the fields whose keys are present (null counts as absent) and leaves the others. */
tc_status tc_yaml_read(const tc_yaml *map, const tc_yaml_field *fields, void *out_struct);
/* "KEY=VALUE" as on the command line: KEY is a dotted path, VALUE is YAML, or, where KEY is a TC_Y_STRING of `fields` (NULL: none), the string itself; makes
 * maps on the way. TC_USAGE. */
tc_status tc_yaml_override(tc_arena *a, tc_yaml *root, const tc_yaml_field *fields, const char *assignment);
/* The document as JSON text. */
void tc_yaml_to_json(const tc_yaml *y, tc_buf *b);
/* The document as YAML text that reads back equal. */
void tc_yaml_print(const tc_yaml *y, tc_buf *b);

#endif
