/* Internal to cmd/. */
#ifndef TC_CMD_INTERNAL_H
#define TC_CMD_INTERNAL_H

#include "cmd/cmd.h"

typedef enum { TC_OPTION_FLAG, TC_OPTION_VALUE, TC_OPTION_MANY, TC_OPTION_OPT } tc_option_kind;
typedef struct {
    const char *name;
    char letter; /* 0: none */
    tc_option_kind kind;
    const char *arg, *def, *sentence;
} tc_option;
extern const tc_option tc_options[TC_OPT_COUNT];

bool tc_option_listed(const tc_opt_id *all, tc_opt_id id); /* all: TC_OPT_NONE last, or NULL */
bool tc_option_is_common(tc_opt_id id);                    /* every program takes it */
bool tc_tool_takes(const tc_tool *t, tc_opt_id id);
tc_status tc_cmd_check_topics(const tc_cmd *c);        /* TC_USAGE: --log or TC_LOG names a topic that is none */
tc_status tc_cmd_check_environment(const tc_cmd *c);   /* TC_USAGE: a variable of tc's holds no number, or one out of range */
tc_status tc_cmd_log_open(tc_cmd *c);                  /* --log-dir: makes the directory; TC_USAGE, TC_ENV */
tc_status tc_cmd_log_close(tc_cmd *c);                 /* TC_ENV: writing failed */
tc_status tc_cmd_check_rules(const tc_cmd *c);         /* TC_USAGE: options that need or exclude each other (rules.c) */
void tc_cmd_trouble(const char *message, tc_buf *out); /* appends what the error usually means and what to do, if that is known */
tc_status tc_cmd_parse(tc_cmd *c, int argc, char **argv);
tc_status tc_cmd_print_help(const tc_cmd *c, const char *form); /* form NULL: text */

void tc_cmd_print_stats(tc_cmd *c); /* --stats */
void tc_cmd_steps_end(tc_cmd *c);   /* writes TC_STEPS_LOG */
void tc_cmd_watch_end(tc_cmd *c);

void tc_signals_install(const tc_tool *tool);

#endif
