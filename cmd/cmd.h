/* Framework of the six programs: options, streams, messages, progress, exit codes. A program is a table and a function:
 *
 *     static tc_status run(tc_cmd *c) {
 *         tc_blob *b;
 *         TC_TRY(tc_cmd_read(c, c->noperands ? c->operands[0] : "-", "the program", &b));
 *         ...
 *         return NULL;
 *     }
 *     static const tc_opt_id options[] = {TC_OPT_input, TC_OPT_output, TC_OPT_dim, TC_OPT_NONE};
 *     static const tc_tool tool = {.name = "tc-run", .operands = "[PROGRAM]", .max_operands = 1, .summary = "...", .options = options, .run = run};
 *     int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
 *
 * From the table follow parsing, --help, usage errors, shell completion, exit codes, error messages, signal handling and closing of stdout. The options
 * help, version, verbose, quiet, log, time, stats, json and threads belong to every program and are not listed. */
#ifndef TC_CMD_CMD_H
#define TC_CMD_CMD_H

#include <stdio.h>
#include "base/file.h"
#include "base/pool.h"
#include "base/steps.h"
#include "base/status.h"

typedef enum {
#define X(id, ...) TC_OPT_##id,
#include "cmd/options.def"
#undef X
    TC_OPT_COUNT,
    TC_OPT_NONE = -1
} tc_opt_id;

typedef struct {
    const char *name, *operands, *summary;
    int min_operands, max_operands; /* max -1: any number */
    const tc_opt_id *options;       /* own options, TC_OPT_NONE last; or NULL */
} tc_subcommand;

typedef struct {
    const char *what;
    double seconds;
} tc_phase; /* of --stats */
typedef struct tc_cmd tc_cmd;
enum { TC_CMD_SIDES = 8 }; /* most programs per mode, for models that branch on sizes */
typedef struct {
    const char *name;               /* "tc-run" */
    const char *operands;           /* "[PROGRAM]"; ignored with commands */
    int min_operands, max_operands; /* max -1: any number */
    const char *summary;            /* one sentence, for --help */
    const char *details;            /* further text of --help, or NULL */
    const tc_opt_id *options;       /* own options, TC_OPT_NONE last; NULL with commands */
    const tc_subcommand *commands;  /* tc-ckpt: the first operand chooses; {0} last; or NULL */
    tc_status (*run)(tc_cmd *c);
    void (*unparsed)(tc_cmd *c, tc_status s); /* called when the command line is wrong, before s is reported; or NULL */
} tc_tool;

struct tc_cmd {
    const tc_tool *tool;
    const tc_subcommand *command; /* chosen one, or NULL */
    const char **operands;
    int noperands;  /* operands, without the subcommand's name */
    int onnx_sides; /* most programs to make of an ONNX model that branches on sizes; 0: one */
    bool verbose, quiet, json;
    bool told; /* the error that ends the program was reported already, here or by another rank */
    /* private to cmd/ */
    TC_VEC(const char *) values[TC_OPT_COUNT];
    const char *given_at[TC_OPT_COUNT]; /* location of a value that does not come from the command line, "mlp.yaml:3:8: input"; else NULL */
    const char *stdin_claim;            /* the option or operand that reads stdin, or NULL */
    tc_pool *pool;
    int threads;
    double started, phase_ended;
    TC_VEC(tc_phase) phases;
    tc_stepping steps;
    struct tc_watch *watch; /* of --dump (crash_dump.c), or NULL */
    FILE **log_files;       /* of --log-dir, by topic; NULL without --log-dir */
    char **argv;
    const char **words; /* storage that operands points into */
};

/* Runs the whole program; returns the exit code for main. */
int tc_cmd_main(int argc, char **argv, const tc_tool *tool);

/* From now on INT, TERM and USR1 end the program with exit 75 (nothing to save yet) instead of 128+N, until it handles them itself. c outlives the program. */
void tc_cmd_stops_early(const tc_cmd *c);

/* Loads the extensions of --ops, each a FILE.so that this user named on the command line. */
tc_status tc_cmd_ops(tc_cmd *c);

/* ---- options ---- */
bool tc_cmd_has(const tc_cmd *c, tc_opt_id id);
const char *tc_cmd_get(const tc_cmd *c, tc_opt_id id); /* the last value; NULL when not given (also a FLAG, or OPT without "=") */
int tc_cmd_count(const tc_cmd *c, tc_opt_id id);
const char *tc_cmd_value(const tc_cmd *c, tc_opt_id id, int i); /* i-th given, in the order of the command line */
/* Sets an option as if it stood last on the command line (value NULL for a FLAG; value must outlive c), or removes it: for settings from files and
 * recipes. */
void tc_cmd_set(tc_cmd *c, tc_opt_id id, const char *value);
void tc_cmd_unset(tc_cmd *c, tc_opt_id id);
/* The same for one command-line word, --NAME or --NAME=VALUE. TC_USAGE: unknown option, or a missing value. */
tc_status tc_cmd_give(tc_cmd *c, char *word);
tc_status tc_cmd_seed(const tc_cmd *c, uint64_t *out); /* --seed, or 0 */
/* Value as a number in [lo, hi], or `def` when not given. TC_USAGE naming option, value and range. */
tc_status tc_cmd_int(const tc_cmd *c, tc_opt_id id, int64_t lo, int64_t hi, int64_t def, int64_t *out);
tc_status tc_cmd_double(const tc_cmd *c, tc_opt_id id, double lo, double hi, double def, double *out);
/* Index of the value in a NULL-terminated list, or `def` when not given. TC_USAGE listing them, with a suggestion. */
tc_status tc_cmd_choice(const tc_cmd *c, tc_opt_id id, const char *const *names, int def, int *out);
/* A format that --to may name, and the file suffixes that imply it: ".pt.pth", or NULL. */
typedef struct {
    const char *name, *suffixes;
} tc_cmd_form;
/* The output format for path (NULL: stdout), as an index of `all` (NULL name last): that of --to, else of the suffix, else `def`. TC_USAGE: --to names
 * an unknown format or contradicts the suffix, or the suffix is of a format that only other programs write. */
tc_status tc_cmd_format(const tc_cmd *c, const tc_cmd_form *all, const char *path, int def, int *out);
tc_status tc_cmd_seconds(const tc_cmd *c, tc_opt_id id, double *out); /* "90", "30m", "2h", "1:30:00"; -1 when not given */
/* A usage error: exit 2, with a line that points to --help. */
tc_status tc_usage(const tc_cmd *c, const char *fmt, ...) TC_PRINTF(2, 3);
bool tc_cmd_logs(const tc_cmd *c, const char *topic); /* --log TOPIC was given, TC_LOG names it, or --log-dir asks for all */
/* Logs one or more whole lines under a topic; also: as text on stderr even if the topic is not logged. */
void tc_cmd_log(const tc_cmd *c, const char *topic, bool also, const char *fmt, ...) TC_PRINTF(4, 5);
void tc_cmd_log_text(const tc_cmd *c, const char *topic, bool also, const char *text, size_t n);

/* ---- streams ---- */
/* Claims stdin for `who` ("the program", "--input x"). TC_USAGE, naming both, when it is claimed already. */
tc_status tc_cmd_claim_stdin(tc_cmd *c, const char *who);
/* Reads or maps all of path; "-": stdin, claimed for `who`. *out_blob is the caller's. TC_CONTENT on empty stdin: "nothing arrived: did the command
 * before fail?". */
tc_status tc_cmd_read(tc_cmd *c, const char *path, const char *who, tc_blob **out_blob);
/* Opens an output; path NULL or "-": stdout. TC_USAGE: binary data to a terminal. The temporary file is removed when the program is interrupted. */
tc_status tc_cmd_create(tc_cmd *c, const char *path, bool binary, tc_out **out_file);
tc_status tc_cmd_finish(tc_cmd *c, tc_out *o, tc_status s); /* tc_out_finish for a file of tc_cmd_create */

/* ---- talking to people ---- */
/* Writes text that may reach a terminal: control characters (from files) are shown as \xNN. JSON has none (base/json_write.h). */
void tc_cmd_show(FILE *to, const char *text, size_t n);
tc_status tc_cmd_write_text(tc_cmd *c, const char *path, const tc_buf *text); /* writes the whole file; path NULL or "-": stdout */
void tc_cmd_say(const tc_cmd *c, const char *fmt, ...) TC_PRINTF(2, 3);       /* "tc-run: ..." */
void tc_cmd_note(const tc_cmd *c, const char *fmt, ...) TC_PRINTF(2, 3);      /* "tc-run: ..."; silent with -q */
void tc_cmd_verbose(const tc_cmd *c, const char *fmt, ...) TC_PRINTF(2, 3);   /* only with -v */
/* Prints a status as main does; tc_cmd_report frees it too and returns its code: for programs that report several failures and continue. */
void tc_cmd_tell(const tc_cmd *c, tc_status s);
tc_code tc_cmd_report(const tc_cmd *c, tc_status s);

tc_pool *tc_cmd_pool(tc_cmd *c); /* the thread pool, created on first use; NULL: one thread (--threads 1, or no other could be started) */
int tc_cmd_threads(tc_cmd *c);
/* counter of optional plan steps, restarted, as $TC_STEPS and $TC_STEPS_LOG say (steps.c); NULL when neither is set */
tc_stepping *tc_cmd_steps(tc_cmd *c);

/* For --stats: books the time since the last call (or the start) under `what`, a static string: "reading inputs". */
void tc_cmd_phase(tc_cmd *c, const char *what);
void tc_cmd_phase_part(tc_cmd *c, const char *what, double seconds); /* books so many seconds of that time */

/* ---- progress: one line with rate and ETA, on a terminal only ---- */
typedef struct {
    const tc_cmd *c;
    const char *label, *unit;
    int64_t total;
    double start, shown;
    bool active;
} tc_progress;
tc_progress tc_progress_start(const tc_cmd *c, const char *label, const char *unit, int64_t total /* 0: unknown */);
void tc_progress_update(tc_progress *p, int64_t done, const char *extra /* "loss 2.31", or NULL */);
void tc_progress_end(tc_progress *p); /* clears the line */

#endif
