/* -v and --log memory: prints the memory that a run of the compiled program will need, from the plan. */
#include "tc-compile/compile.h"

/* Binds symbols to the lower or upper ends of their ranges, or as --dim says. False: an end is open or implausibly large. */
static bool sizes_at(compile_job *j, const tc_program *p, bool upper, tc_symvalue *vars, size_t n) {
    tc_status s = tc_cmd_bind(j->c, p, vars, n);
    bool known = !s;
    tc_status_free(s);
    for (size_t i = 0; i < n && known; i++) {
        tc_sym v = tc_sym_var_at(p->sym, i);
        int64_t lo, hi;
        if (vars[i].bound || tc_sym_type(v) != TC_SYM_INT) continue;
        tc_sym_range(p->sym, v, &lo, &hi);
        if (upper && (hi == TC_SYM_NO_HI || hi > (INT64_C(1) << 40))) known = false;
        vars[i] = (tc_symvalue){.i = upper ? hi : lo > 1 ? lo : 1, .bound = true};
    }
    return known;
}

static void say(compile_job *j, tc_exec *e, bool upper) {
    const tc_program *p = tc_exec_program(e);
    size_t n = tc_sym_var_count(p->sym);
    tc_symvalue *vars = TC_NEWN(&j->arena, tc_symvalue, n + 1);
    tc_exec_memory m;
    if (!sizes_at(j, p, upper, vars, n)) return;
    tc_status s = tc_exec_estimate(e, vars, n, &m);
    tc_buf b = {0};
    for (size_t i = 0; i < n; i++)
        if (tc_sym_type(tc_sym_var_at(p->sym, i)) == TC_SYM_INT)
            tc_buf_printf(&b, "%s%s=%lld", i ? " " : " at ", tc_sym_var_name(tc_sym_var_at(p->sym, i)), (long long)vars[i].i);
    if (s) tc_cmd_log(j->c, "memory", j->c->verbose, "%s%s: %s", p->name, tc_buf_str(&b), tc_status_message(s));
    else
        tc_cmd_log(
            j->c, "memory", j->c->verbose,
            "%s%s: weights %zu, arena %zu (%zu live at once, %zu of them kept for later runs, %zu without sharing), results %zu, scratch %zu bytes",
            p->name, tc_buf_str(&b), m.state, m.arena, m.live, m.kept, m.naive, m.results, m.scratch);
    tc_status_free(s);
    tc_buf_free(&b);
}

void say_memory(compile_job *j, tc_exec *e) {
    const tc_program *p = tc_exec_program(e);
    bool sizes = false;
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) sizes |= tc_sym_type(tc_sym_var_at(p->sym, i)) == TC_SYM_INT;
    say(j, e, false);
    if (sizes) say(j, e, true);
}
