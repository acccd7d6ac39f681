/* --profile: time, bytes and FLOPs of runs, group by group, and how close they come to the machine's limits (roofline); written as a table (groups,
 * operators, source lines), an SVG picture or a Chrome trace.
 *
 * tc-bench fills tc_profile_parts itself; tc-run and tc-train record while running:
 *
 *     tc_recorder *r;
 *     TC_TRY(tc_recorder_open(c, "gpt.pt2", "records", rank, &r));     // NULL without --profile: every call then does nothing
 *     for each record:
 *         tc_exec_set_profile(e, tc_recorder_round(r) ? tc_recorder_event : NULL, r);
 *         ...read...; tc_recorder_mark(r, "reading inputs");            // books the time since the last mark, without groups
 *     s = tc_recorder_close(r, s);                                      // writes the files */
#ifndef TC_CMD_PROFILE_H
#define TC_CMD_PROFILE_H

#include "cmd/cmd.h"
#include "runtime/runtime.h"

/* Peak rates of the machine with a pool's threads: float32 operations and bytes per second; measuring takes about 0.2 s. */
typedef struct {
    double flops, bytes;
} tc_limits;
tc_limits tc_limits_measure(tc_pool *pool);

/* Totals of a group over one or more runs; or (operators "") of what a program did between groups. Owns both strings. */
typedef struct {
    const char *name;
    char *operators, *source;
    double start, ns, whole; /* first start; own time; time including the groups of its subgraphs */
    double bytes, flops;
    int64_t calls;
    bool compiled;
} tc_group_times;
typedef TC_VEC(tc_group_times) tc_group_list;
tc_group_times tc_group_times_of(const tc_exec_event *e);
void tc_group_list_free(tc_group_list *list);

/* Profile of one program or case. */
typedef struct {
    char *label;
    tc_group_list rows;
    double ns; /* of all of it */
} tc_profile_part;
typedef struct {
    TC_VEC(tc_profile_part) parts;
    tc_limits limits;
    int unit; /* of tables: TC_OPT_unit */
} tc_profile_parts;
tc_status tc_profile_options(tc_cmd *c, tc_profile_parts *out);   /* reads --profile and --unit */
tc_status tc_profile_write(tc_cmd *c, const tc_profile_parts *p); /* writes each --profile FILE in the format of its suffix */
void tc_profile_parts_free(tc_profile_parts *p);

/* Output formats (profile_forms.c). */
void tc_profile_trace(const tc_profile_parts *p, tc_buf *out); /* Chrome trace (chrome://tracing, Perfetto) */
void tc_profile_trace_name(tc_buf *out, int pid, const char *label);
void tc_profile_trace_slice(tc_buf *out, const tc_limits *limits, int pid, double at, const tc_group_times *r); /* limits may be NULL; at: us */
void tc_profile_trace_counter(tc_buf *out, int pid, double at, const char *name, uint64_t bytes);
void tc_profile_table(const tc_profile_parts *p, tc_buf *out);
void tc_profile_svg(const tc_profile_parts *p, tc_buf *out); /* source lines above groups; width: time, colour: fraction of the limit */

/* ---- recording while a program runs ---- */
typedef struct tc_recorder tc_recorder;
/* rounds: the unit of --skip-first and --wait in messages ("records"). rank: MPI rank (ranks above 0 write FILE.1.json and so on). *out NULL without
 * --profile, which all functions accept. */
tc_status tc_recorder_open(tc_cmd *c, const char *label, const char *rounds, int rank, tc_recorder **out);
bool tc_recorder_round(tc_recorder *r); /* starts a round; is it recorded? */
void tc_recorder_drop(tc_recorder *r);  /* takes back the last round: the input had ended */
void tc_recorder_mark(tc_recorder *r, const char *what);
tc_status tc_recorder_event(void *recorder, const tc_exec_event *e);
tc_status tc_recorder_close(tc_recorder *r, tc_status s); /* writes the files, unless s is an error; returns s or a new error; frees r */

#endif
