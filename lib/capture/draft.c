/* --draft: decides data-dependent questions by example (draft.h). */
#include "capture/draft.h"

#include "capture/suggest.h"
#include "capture/torch.h"
#include "op/functionalise.h"

/* The program so far, with s as its only result. */
static tc_status so_far(C *c, tc_sym s, tc_program **out) {
    tc_program *p = tc_program_clone(c->torch->graph->program);
    tc_sym own = tc_sym_import(p->sym, s, c->torch->graph->program->sym);
    tc_output o = {.kind = TC_OUT_LEAF, .name = "value", .target = -1};
    if (tc_sym_type(own) == TC_SYM_INT) o.leaf = (tc_arg){.kind = TC_A_INT, .sym = own};
    else o.leaf = (tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = own};
    tc_program_add_output(p, o);
    tc_status st = tc_functionalise(p);
    for (int i = 0; i < p->noutputs; i++) /* mutations are dropped: the run must not change state */
        if (p->outputs[i].kind == TC_OUT_LEAF) o = p->outputs[i];
    p->outputs[0] = o;
    p->noutputs = 1, p->graph->noutputs = 0;
    if (!st) st = tc_program_verify(p);
    if (st) tc_program_release(p);
    else *out = p;
    return st;
}

static bool reported(C *c, tc_source at) {
    tc_draft *d = c->draft;
    V place = (V)tc_strf(c, "%s:%d:%d", at.file ? at.file : "", at.line, at.col);
    if (!d->seen) d->seen = tc_dict(c);
    if (tc_dict_get(c, d->seen, place)) return true;
    tc_dict_set(c, d->seen, place, c->true_);
    d->places++;
    tc_buf_printf(&d->report, "%s:%d:%d: ", at.file ? at.file : "?", at.line, at.col);
    return false;
}

void tc_draft_note(C *c, tc_source at, const char *text) {
    if (!c->draft || reported(c, at)) return;
    tc_buf_printf(&c->draft->report, "%s\n", text);
}

static void report(C *c, const char *what, tc_sym s, tc_symvalue v, const char *cure) {
    tc_buf *b = &c->draft->report;
    if (reported(c, tc_here(c))) return;
    tc_buf_printf(b, "%s depends on data: ", what);
    tc_sym_print(b, s);
    if (tc_sym_type(s) == TC_SYM_BOOL) tc_buf_printf(b, " was %s\n", v.i ? "True" : "False");
    else if (tc_sym_type(s) == TC_SYM_INT) tc_buf_printf(b, " was %lld\n", (long long)v.i);
    else tc_buf_printf(b, " was %.17g\n", v.f);
    for (const char *p = cure; p && *p;) {
        size_t n = strcspn(p, "\n");
        tc_buf_printf(b, "    %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

bool tc_draft_decide(C *c, tc_sym s, const char *what, const char *part, tc_symvalue *out) {
    struct tc_torch *T = c->torch;
    tc_program *p = NULL;
    if (!c->draft || !T->graph || T->graph != T->graph->program->graph) return false;
    tc_status st = so_far(c, s, &p);
    if (!st) st = c->draft->observe(c->draft->self, p, out);
    tc_program_release(p);
    if (st) tc_raise_status(c, "RuntimeError", tc_annotate(st, "running the example inputs up to here"));
    tc_symctx *x = T->graph->program->sym;
    tc_sym value = tc_sym_type(s) == TC_SYM_INT ? tc_sym_int(x, out->i) : tc_sym_float(x, out->f);
    tc_sym cond = tc_sym_type(s) != TC_SYM_BOOL ? tc_sym_op(x, TC_S_EQ, s, value, NULL) : out->i ? s : tc_sym_op(x, TC_S_NOT, s, NULL, NULL);
    bool branch = tc_sym_type(s) == TC_SYM_BOOL;
    report(c, what, s, *out, branch ? tc_suggest_branch(c, c->draft->of_tensor ? NULL : s, out->i != 0) : tc_suggest_number(c, s, part, &out->i));
    tc_source at = tc_here(c);
    V text = tc_strf(c, "the draft of this program took %s at %s:%d as the example inputs had it", what, at.file ? at.file : "?", at.line);
    tc_torch_calln(c, "aten::_assert_scalar", 2, tc_symv(c, cond), text);
    return true;
}
