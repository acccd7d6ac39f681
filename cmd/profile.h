/* --profile: where the time of runs goes, group by group: time, bytes, FLOPs, and how near they are to what the machine can do. As a table
 * (groups, operators, source lines), a picture or a Chrome trace.
 *
 * tc-bench fills parts itself; tc-run and tc-train record while they run:
 *
 *     tc_recorder *r;
 *     TC_TRY(tc_recorder_open(c, "gpt.pt2", "records", rank, &r));     // NULL without --profile: every call then does nothing
 *     for each record:
 *         tc_exec_set_profile(e, tc_recorder_round(r) ? tc_recorder_event : NULL, r);
 *         ...read...; tc_recorder_mark(r, "reading inputs");            // what has passed since the last mark, without the groups in it
 *     s = tc_recorder_close(r, s);                                      // writes what is not written yet */
#ifndef TC_CMD_PROFILE_H
#define TC_CMD_PROFILE_H

#include "cmd/cmd.h"
#include "runtime/runtime.h"

/* What the machine can do with a pool's threads: float32 operations and bytes a second, measured in some 0.2 s. */
typedef struct {
    double flops, bytes;
} tc_limits;
tc_limits tc_limits_measure(tc_pool *pool);

/* A group, in one run or in several together; or (operators "") what a program did between groups. Both texts are owned. */
typedef struct {
    const char *name;
    char *operators, *source;
    double start, ns, whole; /* the first begin; own time; with the groups of its subgraphs */
    double bytes, flops;
    int64_t calls;
    bool compiled;
} tc_group_times;
typedef TC_VEC(tc_group_times) tc_group_list;
tc_group_times tc_group_times_of(const tc_exec_event *e);
void tc_group_list_free(tc_group_list *list);

/* Runs that belong together. */
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
tc_status tc_profile_options(tc_cmd *c, tc_profile_parts *out);   /* looks at --profile and --unit */
tc_status tc_profile_write(tc_cmd *c, const tc_profile_parts *p); /* to each --profile FILE, in the form of its suffix */
void tc_profile_parts_free(tc_profile_parts *p);

/* The forms (profile_forms.c). */
void tc_profile_trace(const tc_profile_parts *p, tc_buf *out); /* Chrome trace (chrome://tracing, Perfetto) */
void tc_profile_trace_name(tc_buf *out, int pid, const char *label);
void tc_profile_trace_slice(tc_buf *out, const tc_limits *limits, int pid, double at, const tc_group_times *r); /* limits NULL: not known; at: us */
void tc_profile_trace_counter(tc_buf *out, int pid, double at, const char *name, uint64_t bytes);
void tc_profile_table(const tc_profile_parts *p, tc_buf *out);
void tc_profile_svg(const tc_profile_parts *p, tc_buf *out); /* source lines above groups; width is time, colour the part of the limit */

/* ---- recording while a program runs ---- */
typedef struct tc_recorder tc_recorder;
/* rounds: what --skip-first and --wait count, for people. rank: of several, which write files of their own (FILE.1.json), or 0. */
tc_status tc_recorder_open(tc_cmd *c, const char *label, const char *rounds, int rank, tc_recorder **out);
bool tc_recorder_round(tc_recorder *r); /* a round begins: is it recorded? */
void tc_recorder_drop(tc_recorder *r);  /* there was no further round after all */
void tc_recorder_mark(tc_recorder *r, const char *what);
tc_status tc_recorder_event(void *recorder, const tc_exec_event *e);
tc_status tc_recorder_close(tc_recorder *r, tc_status s); /* s failing: nothing is written */

#endif
