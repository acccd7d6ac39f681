/* Internal to tc-compile: the job, and what each file offers. */
#ifndef TC_COMPILE_COMPILE_H
#define TC_COMPILE_COMPILE_H

#include "base/cpu.h"
#include "cmd/program.h"
#include "codegen/cache.h"
#include "codegen/packed.h"
#include "codegen/trust.h"
#include "runtime/compile.h"
#include "version.h"

enum { MAX_TARGETS = 8 };

typedef struct {
    const char *key, *value, *from; /* value NULL: determined later; from: "default", FILE:LINE, an environment variable, an option */
    bool outside;                   /* from a file or variable */
} config_value;

typedef struct {
    tc_cmd *c;
    tc_archive *archive;
    const char *input; /* its name */
    tc_program **programs;
    tc_exec **execs;
    int n;
    const char *targets[MAX_TARGETS]; /* --targets: rows of isa.tab, or neon; default: this machine's best */
    tc_unit *units[MAX_TARGETS];      /* the groups for each */
    int ntargets;
    bool must_freeze, must_code; /* --require */
    bool sanitize, relu_zero;    /* --sanitize=overflow, --relu-nan=zero */
    config_value *config;        /* {0} last */
    tc_buf variants, tuning;     /* entries of the archive: lines SYM=N; tuning file */
    tc_arena arena;
} compile_job;

/* The program that an option or format for one program is for: the default one of the archive (tc_archive_choose). TC_USAGE: there is none, or several
 * --op. */
tc_status one_program(compile_job *j, const char *option, int *out_which);
bool is_extension_source(const tc_cmd *c);                      /* --ops FILE.c, ops.c */
tc_status build_extension(tc_cmd *c, const tc_opt_id *options); /* options: all that tc-compile takes */
tc_status configure(compile_job *j);                            /* config.c: settings of --config and the environment; first */
tc_status print_config(compile_job *j);                         /* --print-config */
tc_status compile_to_c(compile_job *j);                         /* STEM.c and STEM.h, to_c.c */
tc_status compile_to_native(compile_job *j, tc_cc_kind kind);   /* a library or object with STEM.h, or a filter program, to_c.c */
tc_status compile_text(compile_job *j, const tc_buf *text, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out); /* through the cache, unless not */
tc_status dump_stages(compile_job *j, int which);         /* --dump: writes a program after each stage, dump.c */
tc_status write_pt2_to(compile_job *j, const char *path); /* the programs with their code; path NULL: --out */
tc_status read_require(compile_job *j);                   /* --require */
tc_status freeze_programs(compile_job *j);                /* --freeze, freeze.c */
tc_status quantize_programs(compile_job *j);              /* --quantize, quantize.c */
tc_status read_switches(compile_job *j);                  /* --sanitize, --relu-nan */
tc_status relu_numbers(compile_job *j);                   /* --relu-nan */
tc_status tune(compile_job *j);                           /* --tune, --tuning: tune.c */
tc_status bisect(compile_job *j);                         /* --bisect CMD: finds the step that makes it fail */
tc_status minify(compile_job *j);                         /* --minify CMD: writes the smallest program with which it fails to --out */
/* variants.c: emits groups of a program specialised to the sizes of --variants and --dim; note (may be NULL) is called for groups that the emitter cannot write, and
 * out counts them. */
tc_status emit_variants(compile_job *j, int which, const tc_exec_options *o, void (*note)(void *ctx, const char *group, const char *why),
                        tc_emit_count *count);
/* Runs CMD by the shell with the program's path as $1; *out_code: its exit code, 128 + N for signal N. Its output is shown with -v. */
tc_status run_check(compile_job *j, const char *cmd, const char *program, int *out_code);
tc_status work_folder(compile_job *j, char **out_dir);      /* makes a new directory in $TMPDIR, which a signal removes too */
tc_status leave_work_folder(const char *dir);               /* removes it */
bool compile_says(const compile_job *j, const char *topic); /* is --log TOPIC or -v given? */
void say_memory(compile_job *j, tc_exec *e);                /* memory.c: -v: memory of a run at both ends of the size ranges */

#endif
