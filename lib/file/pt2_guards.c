/* Reads guards_code: conditions on the inputs that torch.export found, as Python expressions:
 *
 *     "L['y'].size()[0] + L['cfg']['x'].size()[0] > 5"
 *
 * Each input is given by its path, followed by a size, stride or number of it. No type in the file depends on these conditions: they are only
 * checked before a run. */
#include "file/pt2_read.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct {
    const char *p, *end;
} cursor;

static bool eat(cursor *c, const char *text) { return tc_eat(&c->p, c->end, text); }

static bool eat_index(cursor *c, const char *close, tc_str *out) {
    out->s = c->p;
    while (c->p < c->end && isdigit((unsigned char)*c->p)) c->p++;
    out->n = (size_t)(c->p - out->s);
    return out->n && out->n < 10 && eat(c, close);
}

/* [-3]: a key of a dictionary. */
static bool eat_number(cursor *c, tc_str *out) {
    const char *begin = c->p;
    const bool ok = (eat(c, "-"), eat_index(c, "]", out));
    out->n += (size_t)(out->s - begin);
    out->s = begin;
    return ok;
}

/* One component of a path: ['key'], ["key"], [3] or .field (not followed by a call). */
static bool eat_step(cursor *c, tc_str *out) {
    const cursor before = *c;
    const char *quote = eat(c, "['") ? "']" : eat(c, "[\"") ? "\"]" : NULL;
    if (quote) {
        const char *close = memmem(c->p, (size_t)(c->end - c->p), quote, 2);
        *out = close ? (tc_str){c->p, (size_t)(close - c->p)} : (tc_str){0};
        c->p = close ? close + 2 : c->p;
        if (close) return true;
    } else if (eat(c, "[")) {
        if (eat_number(c, out)) return true;
    } else if (eat(c, ".")) {
        out->s = c->p;
        while (c->p < c->end && (isalnum((unsigned char)*c->p) || *c->p == '_')) c->p++;
        out->n = (size_t)(c->p - out->s);
        if (out->n && !(c->p < c->end && *c->p == '(')) return true;
    }
    *c = before;
    return false;
}

/* Elements of *args are written args.0 or args_0. */
static bool same_path(const char *a, const char *b) {
    for (; *a && (*a == *b || (strchr("._", *a) && *b && strchr("._", *b))); a++) b++;
    return !*a && !*b;
}

/* flat_args.N is the Nth leaf; keyword arguments in **kwargs are written without its name. An exact match is preferred to a similar name: an input
 * x_1 may exist besides a list x. */
static const tc_input *input_at(const tc_program *p, const char *path) {
    static const char flat[] = "flat_args.";
    const char *rest = strchr(path, '.');
    const long nth = strncmp(path, flat, sizeof flat - 1) ? -1 : strtol(path + sizeof flat - 1, NULL, 10);
    const tc_input *found = NULL, *like = NULL;
    long leaf = 0;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_USER && in->kind != TC_IN_LEAF) continue;
        if (!strcmp(in->name, path)) return in;
        if (!like && same_path(in->name, path)) like = in;
        if (leaf++ == nth || (!found && rest && same_path(in->name, rest + 1))) found = in;
    }
    return like ? like : found;
}

static bool put_number(const tc_arg *a, tc_buf *out) {
    if (a->kind == TC_A_INT || (a->kind == TC_A_SCALAR && a->is_sym)) tc_sym_print(out, a->sym);
    else if (a->kind != TC_A_SCALAR || a->scalar.kind == TC_KIND_COMPLEX) return false;
    else if (a->scalar.kind == TC_KIND_FLOAT) tc_buf_printf(out, "%.17g", a->scalar.f);
    else if (a->scalar.kind == TC_KIND_BOOL) tc_buf_puts(out, a->scalar.i ? "True" : "False");
    else tc_buf_printf(out, "%lld", (long long)a->scalar.i);
    return true;
}

/* Puts the expression of an input (a number), or of its size or stride, over the program's symbols. */
static bool put_source(tc_pt2_reader *r, const tc_input *in, cursor *c, tc_buf *out) {
    tc_symctx *y = r->program->sym;
    const bool size = eat(c, ".size()["), stride = !size && eat(c, ".stride()[");
    tc_str index;
    tc_sym is = NULL;
    if (size || stride) {
        if (!eat_index(c, "]", &index) || !in->value || in->value->kind != TC_V_TENSOR) return false;
        const tc_meta *m = &in->value->meta;
        const long d = strtol(index.s, NULL, 10);
        if (d >= m->rank) return false;
        is = size ? m->size[d] : m->stride ? m->stride[d] : tc_contiguous_sym_strides(y, &r->scratch, m->rank, m->size)[d];
    } else if (eat(c, ".storage_offset()")) {
        is = tc_sym_int(y, 0);
    } else if (in->value && in->value->kind != TC_V_TENSOR) {
        is = in->value->sym;
    }
    tc_buf_putc(out, '(');
    const bool known = is ? (tc_sym_print(out, is), true) : in->kind == TC_IN_LEAF && put_number(&in->leaf, out);
    tc_buf_putc(out, ')');
    return known;
}

/* Copies text, with each L[...] replaced by the program's symbol. */
static bool resolve(tc_pt2_reader *r, tc_str text, tc_buf *out) {
    cursor c = {text.s, text.s + text.n};
    tc_buf path = {0};
    bool ok = true;
    while (c.p < c.end && ok) {
        const bool word = c.p > text.s && (isalnum((unsigned char)c.p[-1]) || c.p[-1] == '_');
        if (word || *c.p != 'L' || c.end - c.p < 2 || c.p[1] != '[') {
            tc_buf_putc(out, *c.p++);
            continue;
        }
        path.len = 0;
        c.p++;
        for (tc_str step; eat_step(&c, &step);) tc_buf_printf(&path, "%s%.*s", path.len ? "." : "", (int)step.n, step.s);
        const tc_input *in = input_at(r->program, tc_buf_str(&path));
        ok = in && put_source(r, in, &c, out);
    }
    tc_buf_free(&path);
    return ok;
}

static void parse(tc_jread *j, tc_symctx *y, const tc_buf *text, tc_sym *out) {
    tc_status s = tc_sym_parse(y, text->data, text->len, out);
    if (s) tc_jr_fail(j, tc_status_code(s), "%s", tc_status_message(s));
    tc_status_free(s);
}

void tc_pt2_guards_code(tc_pt2_reader *r) {
    tc_jread *j = &r->j;
    tc_buf b = {0};
    for (tc_jr_array(j); tc_jr_item(j);) {
        const tc_str text = tc_jr_string(j);
        tc_sym cond = NULL;
        if (!tc_jr_ok(j)) break;
        b.len = 0;
        if (!resolve(r, text, &b)) tc_jr_fail(j, TC_CONTENT, "a condition on what is no input: %.*s", (int)(text.n < 200 ? text.n : 200), text.s);
        else parse(j, r->program->sym, &b, &cond);
        if (!tc_jr_ok(j)) break;
        if (tc_sym_type(cond) != TC_SYM_BOOL) tc_jr_fail(j, TC_CONTENT, "a guard that is not a condition");
        else tc_program_guard(r->program, (tc_guard){.cond = cond, .apart = true});
    }
    tc_buf_free(&b);
}
