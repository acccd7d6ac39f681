/* Example inputs of an archive, ((args...), {kwargs}) as torch.save writes it in data/sample_inputs/NAME.pt: ExportedProgram.example_inputs in
 * PyTorch. They are read as data and written anew, so that no class or function that a pickle names gets into an archive of tc's. */
#include "file/content.h"
#include "file/pt2_read.h"
#include "file/pt2_write.h"

typedef struct {
    const tc_program *p;
    int next; /* input of the program that the next leaf is */
    const tc_tensors *tensors;
} fit;

/* Is n a value for the input? A tensor's node gets the index of its head. */
static bool leaf_fits(const fit *f, const tc_input *in, tc_saved_node *n) {
    if (in->kind == TC_IN_LEAF) return n->kind <= TC_SAVED_TEXT;
    if (in->value->kind != TC_V_TENSOR) return n->kind == TC_SAVED_BOOL || n->kind == TC_SAVED_INT || n->kind == TC_SAVED_FLOAT;
    const tc_meta *m = &in->value->meta;
    const tc_tensor *x = n->kind == TC_SAVED_TENSOR && !n->items.len ? tc_tensors_find(f->tensors, n->text) : NULL;
    bool fits = x && x->dtype == m->dtype && x->rank == m->rank;
    for (int d = 0; fits && d < m->rank; d++) {
        int64_t size;
        fits = !tc_sym_const_int(m->size[d], &size) || size == x->size[d];
    }
    if (fits) n->i = (int64_t)(uintptr_t)tc_map_get(&f->tensors->by_name, n->text, strlen(n->text)) - 1;
    return fits;
}

static tc_saved_node *entry_of(const tc_saved_node *dict, const char *key) {
    for (size_t i = 0; i < dict->items.len; i++) {
        tc_saved_node *n = dict->items.data[i];
        if (n->key && n->nkey == strlen(key) && !memcmp(n->key, key, n->nkey)) return n;
    }
    return NULL;
}

/* Are these values of the program's inputs, in containers of the same kinds? Only those of Python's own and OrderedDict. */
static bool fits(fit *f, const tc_tree *t, tc_saved_node *n) {
    if (t->kind == TC_TREE_LEAF) {
        while (f->next < f->p->ninputs && f->p->inputs[f->next].kind != TC_IN_USER && f->p->inputs[f->next].kind != TC_IN_LEAF) f->next++;
        return f->next < f->p->ninputs && leaf_fits(f, &f->p->inputs[f->next++], n);
    }
    const bool dict = n->kind == TC_SAVED_DICT && !n->state, ordered = dict && n->made_by && strstr(n->made_by, "OrderedDict");
    const bool same = t->kind == TC_TREE_TUPLE  ? n->kind == TC_SAVED_TUPLE
                      : t->kind == TC_TREE_LIST ? n->kind == TC_SAVED_LIST
                      : t->kind == TC_TREE_DICT ? dict && !n->made_by
                                                : ordered && t->type && strstr(t->type, "OrderedDict");
    bool fit_all = same && !n->named && n->items.len == (size_t)t->n && (!dict || !t->n || t->keys);
    for (int i = 0; fit_all && i < t->n; i++) {
        tc_saved_node *child = dict ? entry_of(n, t->keys[i]) : n->items.data[i];
        fit_all = child && fits(f, t->children[i], child);
    }
    return fit_all;
}

static tc_status rewrite(const tc_program *p, const tc_tensors *t, tc_buf *out) {
    fit f = {.p = p, .tensors = t};
    if (!t->tree || !p->in_tree || !fits(&f, p->in_tree, t->tree)) return NULL;
    tc_head *heads;
    const tc_content content = tc_content_of(t, &heads);
    tc_out *o = tc_out_memory(out);
    tc_status st = tc_out_finish(o, tc_saved_write_tree(o, &content, t->tree));
    free(heads);
    return st;
}

tc_status tc_pt2_write_examples(const tc_archive *from, const tc_program *p, tc_buf *out) {
    bool found = false;
    tc_arena arena = {0};
    tc_tensors t = {.keep_tree = true, .leave_wide = true, .raw = true};
    tc_status st = NULL;
    if (from->zip) st = tc_pt2_read_saved(from, tc_arena_printf(&arena, "data/sample_inputs/%s.pt", tc_pt2_name_of(from, p->name)), &t, &found);
    if (!st && found) st = rewrite(p, &t, out);
    tc_tensors_deinit(&t);
    tc_arena_free(&arena);
    return st;
}
