/* Renaming and selection of tensors: sed-like s/REGEX/TO/ rules, a table of names (--rename), patterns (--select). */
#ifndef TC_FILE_RENAME_H
#define TC_FILE_RENAME_H

#include "base/mem.h"

#include <regex.h>

typedef struct {
    regex_t re;
    char *to;
    bool all;
} tc_rename_rule;
typedef struct {
    TC_VEC(tc_rename_rule) rules;
    tc_map table; /* old name -> new name; "": skip the tensor */
    tc_arena arena;
    const char *file; /* of the table, for messages */
} tc_rename;          /* {0}: no renaming */

/* "s/REGEX/TO/" or "s/REGEX/TO/g", any character for /, extended regular expressions, \1 to \9 refer to groups. TC_USAGE. */
tc_status tc_rename_add(tc_rename *r, const char *rule);
/* A file of lines "OLD<tab>NEW", or a JSON object {"OLD": "NEW"}. An empty NEW leaves the tensor out. */
tc_status tc_rename_add_table(tc_rename *r, const char *path);
/* Applies the table, then the rules in order; out: the new name. False: skip the tensor. */
bool tc_rename_apply(const tc_rename *r, const char *name, tc_buf *out);
void tc_rename_deinit(tc_rename *r);

/* Selection by name: "RE" includes, "!RE" excludes. */
typedef struct {
    regex_t re;
    bool without;
} tc_select_rule;
typedef struct {
    TC_VEC(tc_select_rule) rules;
} tc_select;                                             /* {0} takes everything */
tc_status tc_select_add(tc_select *s, const char *text); /* TC_USAGE: no extended regular expression */
bool tc_select_takes(const tc_select *s, const char *name);
void tc_select_deinit(tc_select *s);

#endif
