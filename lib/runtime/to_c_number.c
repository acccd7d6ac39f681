/* Numbers that depend on data, as C: each symbol that has no value when the unit is written is a variable of STEM_run_on (n3 for symbol 3), which is set
 * where its value becomes known; an expression of such symbols is a C expression. */
#include "runtime/to_c_write.h"

/* The C text of an operation, with @ for each operand; NULL: no C form. */
static const char *form_of(tc_symop op) {
    static const char *const forms[] = {
        [TC_S_ADD] = "@ + @",
        [TC_S_MUL] = "@ * @",
        [TC_S_FLOORDIV] = "tc_c_floordiv(@, @, &broken)",
        [TC_S_MOD] = "tc_c_mod(@, @, &broken)",
        [TC_S_MIN] = "tc_c_min(@, @)",
        [TC_S_MAX] = "tc_c_max(@, @)",
        [TC_S_ABS] = "tc_c_max(@, -@)",
        [TC_S_TRUNC] = "tc_c_whole(@, &broken)",
        [TC_S_FLOOR] = "tc_c_whole(__builtin_floor(@), &broken)",
        [TC_S_CEIL] = "tc_c_whole(__builtin_ceil(@), &broken)",
        [TC_S_AND_BITS] = "@ & @",
        [TC_S_OR_BITS] = "@ | @",
        [TC_S_XOR_BITS] = "@ ^ @",
        [TC_S_TOFLOAT] = "(double)@",
        [TC_S_FADD] = "@ + @",
        [TC_S_FSUB] = "@ - @",
        [TC_S_FMUL] = "@ * @",
        [TC_S_FDIV] = "tc_c_quotient(@, @, &broken)",
        [TC_S_FNEG] = "-@",
        [TC_S_FABS] = "__builtin_fabs(@)",
        [TC_S_SQRT] = "__builtin_sqrt(@)",
        [TC_S_EQ] = "@ == @",
        [TC_S_NE] = "@ != @",
        [TC_S_LT] = "@ < @",
        [TC_S_LE] = "@ <= @",
        [TC_S_AND] = "@ && @",
        [TC_S_OR] = "@ || @",
        [TC_S_NOT] = "!@",
        [TC_S_WHERE] = "@ ? @ : @",
    };
    return (size_t)op < sizeof forms / sizeof *forms ? forms[op] : NULL;
}

static tc_status no_form(tc_sym s) {
    tc_buf b = {0};
    tc_sym_print(&b, s);
    tc_status st = tc_error(TC_UNSUPPORTED, "the number %s, which depends on data, as C", tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

static tc_status known(writer *w, tc_sym s, const tc_symvalue *v, const char **out) {
    if (tc_sym_type(s) == TC_SYM_FLOAT) *out = TC_TEXT(w, v->f < 0 ? "(%a)" : "%a", v->f);
    else if (v->i == INT64_MIN) *out = "(-INT64_C(9223372036854775807) - 1)";
    else *out = TC_TEXT(w, v->i < 0 ? "(%lld)" : "%lld", (long long)v->i);
    return tc_sym_type(s) == TC_SYM_FLOAT && !(v->f - v->f == 0) ? no_form(s) : NULL;
}

const char *to_c_variable(writer *w, tc_sym var) {
    const int k = tc_sym_var_index(var);
    w->variable[k] = true;
    return TC_TEXT(w, "n%d", k);
}

static tc_status text_of(writer *w, tc_sym s, int depth, const char **out) {
    tc_symvalue v;
    tc_status unknown = tc_sym_eval(s, w->e->vars, w->e->nvars, &v);
    if (!unknown) return known(w, s, &v, out);
    tc_status_free(unknown);
    if (tc_sym_opcode(s) == TC_S_VAR) return *out = to_c_variable(w, s), NULL;
    const char *form = form_of(tc_sym_opcode(s));
    const int n = tc_sym_arity(s);
    if (!form || depth > 200) return no_form(s);
    const char **arg = TC_NEWN(&w->a, const char *, (size_t)n + 1);
    for (int i = 0; i < n; i++) TC_TRY(text_of(w, tc_sym_arg(s, i), depth + 1, &arg[i]));
    tc_buf b = {0};
    tc_buf_putc(&b, '(');
    int at = 0;
    for (const char *c = form; *c; c++) {
        if (*c != '@') tc_buf_putc(&b, *c);
        else tc_buf_puts(&b, arg[at < n ? at++ : n - 1]); /* "tc_c_max(@, -@)" has its operand twice */
    }
    for (; at < n; at++) tc_buf_printf(&b, " %c %s", form[2], arg[at]);
    tc_buf_putc(&b, ')');
    *out = TC_TEXT(w, "%s", tc_buf_str(&b));
    tc_buf_free(&b);
    return NULL;
}

tc_status to_c_number(writer *w, tc_sym s, const char **out) { return text_of(w, s, 0, out); }

bool to_c_known(const writer *w, tc_sym s) {
    tc_symvalue v;
    tc_status unknown = tc_sym_eval(s, w->e->vars, w->e->nvars, &v);
    tc_status_free(unknown);
    return !unknown;
}

/* The element at an address, as a C expression. */
tc_status to_c_element(writer *w, tc_dtype d, const char *at, const char **out) {
    if (d == TC_F16 || d == TC_BF16) *out = TC_TEXT(w, "tc_x_cast_%s_f32(*(const uint16_t *)(%s))", tc_dtypes[d].name, at);
    else if (d == TC_BOOL) *out = TC_TEXT(w, "(*(const uint8_t *)(%s) != 0)", at);
    else if (tc_is_float(d) && d != TC_F32 && d != TC_F64) return tc_error(TC_UNSUPPORTED, "a number out of a tensor of %s as C", tc_dtypes[d].torch);
    else if (tc_is_complex(d)) return tc_error(TC_UNSUPPORTED, "a number out of a tensor of %s as C", tc_dtypes[d].torch);
    else *out = TC_TEXT(w, "*(const %s *)(%s)", to_c_type(d), at);
    return NULL;
}

/* An assertion about numbers: the run returns 4 if it is false. */
static tc_status write_assert(writer *w, const tc_node *n) {
    const tc_arg *a = &n->args[0];
    tc_sym s = a->kind == TC_A_VALUE ? a->value->sym : a->kind == TC_A_INT || a->is_sym ? a->sym : NULL;
    const char *text = s ? NULL : tc_scalar_to_int(a->scalar) ? "1" : "0";
    if (s) TC_TRY(to_c_number(w, s, &text));
    if (!strcmp(text, "1")) return NULL;
    tc_buf_printf(&w->calls, "    if (!%s) return 4;", text);
    if (n->nargs > 1 && n->args[1].kind == TC_A_STRING && n->args[1].string) {
        tc_buf_puts(&w->calls, " /* ");
        tc_emit_comment(&w->calls, n->args[1].string);
        tc_buf_puts(&w->calls, " */");
    }
    tc_buf_putc(&w->calls, '\n');
    return NULL;
}

tc_status to_c_item(writer *w, const tc_node *n) {
    if (!n->nouts) return write_assert(w, n);
    const tc_value *in = n->args[0].value, *out = n->outs[0];
    const char *at, *element, *expected;
    int64_t lo, hi;
    if (!out->sym) return NULL;
    TC_TRY(to_c_address(w, (int)in->id, &at));
    TC_TRY(to_c_element(w, w->b->t[in->id].dtype, at, &element));
    if (tc_sym_opcode(out->sym) != TC_S_VAR || to_c_known(w, out->sym)) { /* the program expects the value of an expression */
        TC_TRY(to_c_number(w, out->sym, &expected));
        tc_buf_printf(&w->calls, "    if (%s != %s) return 4;\n", element, expected);
        return NULL;
    }
    const char *name = to_c_variable(w, out->sym);
    tc_buf_printf(&w->calls, "    %s = %s;\n", name, element);
    if (tc_sym_type(out->sym) != TC_SYM_INT) return NULL;
    tc_sym_range(w->e->program->sym, out->sym, &lo, &hi);
    if (lo != TC_SYM_NO_LO) tc_buf_printf(&w->calls, "    if (%s < %lld) return 4;\n", name, (long long)lo);
    if (hi != TC_SYM_NO_HI) tc_buf_printf(&w->calls, "    if (%s > %lld) return 4;\n", name, (long long)hi);
    return NULL;
}

void to_c_variables(writer *w, tc_buf *c) {
    bool any = false;
    for (size_t i = 0; i < w->e->nvars; i++) {
        if (!w->variable[i]) continue;
        any = true;
        const tc_sym s = tc_sym_var_at(w->e->program->sym, i);
        const bool real = tc_sym_type(s) == TC_SYM_FLOAT;
        tc_buf_printf(c, "    %s n%zu = 0; /* ", real ? "double" : "int64_t", i);
        tc_emit_comment(c, tc_sym_var_name(s));
        tc_buf_puts(c, " */\n");
    }
    if (any) tc_buf_puts(c, "    int broken = 0; /* a number left its domain */\n    (void)broken;\n");
    w->numbers = any;
}
