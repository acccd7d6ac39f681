/* Refuses options that need or exclude each other. One table for all programs; a rule applies where a program takes both options. Only the command line
 * is checked: settings from files may have no effect. */
#include "cmd/internal.h"

/* NEEDS: all of the others must be given; EXCLUDES: none of them; TAKES: only them and the common ones */
typedef enum { NEEDS, EXCLUDES, TAKES } kind;
typedef struct {
    tc_opt_id id;
    kind kind;
    const char *why; /* the reason, a clause about the option: "--other cannot be used with --id, which WHY"; NULL: they contradict each other */
    const tc_opt_id *others; /* TC_OPT_NONE last */
} rule;

#define OPTIONS(...) \
    (const tc_opt_id[]) { __VA_ARGS__ __VA_OPT__(, ) TC_OPT_NONE }
static const rule rules[] = {
    {TC_OPT_unit, NEEDS, NULL, OPTIONS(TC_OPT_profile)},
    {TC_OPT_skip_first, NEEDS, NULL, OPTIONS(TC_OPT_profile)},
    {TC_OPT_wait, NEEDS, NULL, OPTIONS(TC_OPT_profile)},
    {TC_OPT_rtol, NEEDS, NULL, OPTIONS(TC_OPT_expect)},
    {TC_OPT_atol, NEEDS, NULL, OPTIONS(TC_OPT_expect)},
    {TC_OPT_select, NEEDS, NULL, OPTIONS(TC_OPT_weights)},
    {TC_OPT_partition, NEEDS, NULL, OPTIONS(TC_OPT_joint)},
    {TC_OPT_grad_of, NEEDS, NULL, OPTIONS(TC_OPT_joint)},
    {TC_OPT_saved_as, NEEDS, NULL, OPTIONS(TC_OPT_joint)},
    {TC_OPT_print, EXCLUDES, NULL, OPTIONS(TC_OPT_summary)},
    {TC_OPT_jvp, EXCLUDES, NULL, OPTIONS(TC_OPT_joint)},
    {TC_OPT_bisect, EXCLUDES, NULL, OPTIONS(TC_OPT_minify)},
    {TC_OPT_compare, EXCLUDES, NULL, OPTIONS(TC_OPT_executor)},
    {TC_OPT_trace, EXCLUDES, NULL, OPTIONS(TC_OPT_debug_values)},
    {TC_OPT_output, EXCLUDES, "says where an output goes", OPTIONS(TC_OPT_out)},
    {TC_OPT_signature, EXCLUDES, "runs nothing",
     OPTIONS(TC_OPT_profile, TC_OPT_trace, TC_OPT_debug_values, TC_OPT_check, TC_OPT_profile_shapes, TC_OPT_out)},
    {TC_OPT_profile, EXCLUDES, "times groups as they run when no value is looked at", OPTIONS(TC_OPT_trace, TC_OPT_debug_values, TC_OPT_check)},
    {TC_OPT_print_config, EXCLUDES, "compiles nothing", OPTIONS(TC_OPT_out, TC_OPT_bisect, TC_OPT_minify)},
    {TC_OPT_bisect, EXCLUDES, "writes no program", OPTIONS(TC_OPT_out, TC_OPT_tune, TC_OPT_meta)},
    {TC_OPT_minify, EXCLUDES, "compiles nothing", OPTIONS(TC_OPT_variants, TC_OPT_targets, TC_OPT_dump, TC_OPT_tune)},
    {TC_OPT_op, EXCLUDES, "is a program of its own", OPTIONS(TC_OPT_weights, TC_OPT_rename, TC_OPT_model, TC_OPT_mode, TC_OPT_store_weights)},
    {TC_OPT_data, TAKES, "only times the reading of a recipe's data",
     OPTIONS(TC_OPT_repeat, TC_OPT_warmup, TC_OPT_min_time, TC_OPT_trust, TC_OPT_to, TC_OPT_out)},
    {TC_OPT_calibrate, TAKES, "only measures the machine", OPTIONS(TC_OPT_tuning, TC_OPT_out)},
    {TC_OPT_accuracy, TAKES, "only measures the library", OPTIONS(TC_OPT_to, TC_OPT_out)},
    {TC_OPT_opcheck, NEEDS, NULL, OPTIONS(TC_OPT_ops)},
    {TC_OPT_opcheck, TAKES, "times nothing", OPTIONS(TC_OPT_ops, TC_OPT_trust)},
    {TC_OPT_ops_list, NEEDS, NULL, OPTIONS(TC_OPT_ops)},
    {TC_OPT_ops_list, TAKES, "runs nothing", OPTIONS(TC_OPT_ops, TC_OPT_trust)},
    {TC_OPT_plot, TAKES, "only draws the losses of earlier runs", OPTIONS()},
};

static tc_status check(const tc_cmd *c, const rule *r) {
    const char *name = tc_options[r->id].name;
    for (int i = 0; i < TC_OPT_COUNT; i++) {
        const bool among = tc_option_listed(r->others, (tc_opt_id)i), given = tc_cmd_has(c, (tc_opt_id)i);
        const char *other = tc_options[i].name;
        if (r->kind == NEEDS && among && !given && tc_tool_takes(c->tool, (tc_opt_id)i)) return tc_usage(c, "--%s needs --%s", name, other);
        const bool wrong = r->kind == EXCLUDES ? among : r->kind == TAKES && !among && i != (int)r->id && !tc_option_is_common((tc_opt_id)i);
        if (!given || !wrong) continue;
        if (r->why) return tc_usage(c, "--%s cannot be used with --%s, which %s", other, name, r->why);
        return tc_usage(c, "--%s and --%s cannot be used together", name, other);
    }
    return NULL;
}

/* Refuses options that belong to other subcommands. */
static tc_status check_command(const tc_cmd *c) {
    for (int i = 0; c->command && i < TC_OPT_COUNT; i++)
        if (tc_cmd_has(c, (tc_opt_id)i) && !tc_option_is_common((tc_opt_id)i) && !tc_option_listed(c->command->options, (tc_opt_id)i))
            return tc_usage(c, "--%s is not an option of %s %s", tc_options[i].name, c->tool->name, c->command->name);
    return NULL;
}

tc_status tc_cmd_check_rules(const tc_cmd *c) {
    TC_TRY(check_command(c));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (tc_cmd_has(c, rules[i].id)) TC_TRY(check(c, &rules[i]));
    return NULL;
}
