/* The module torch: dtypes, devices, and the lookup of any other name as an operator. Its private part: torch_private.c; generators:
 * torch_generator.c. */
#include "capture/capture.h"
#include "capture/torch_bind.h"
#include "capture/torch_data.h"
#include "op/shape.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* ---- hints of symbols ---- */
bool tc_torch_hint(C *c, tc_sym var, tc_symvalue *out) {
    struct tc_torch *T = c->torch;
    int i = tc_sym_var_index(var);
    if (i < 0 || (size_t)i >= T->nhint || !T->hint[i].bound) return false;
    if (out) *out = T->hint[i];
    return true;
}

bool tc_torch_eval_hint(C *c, tc_sym s, tc_symvalue *out) {
    tc_status st = tc_sym_eval(s, c->torch->hint, c->torch->nhint, out);
    tc_status_free(st);
    return st == NULL;
}

/* ---- small objects ---- */
V tc_torch_device(C *c, const char *name, V index);
V tc_torch_device(C *c, const char *name, V index) {
    device *d = tc_new(c, K_DEVICE, sizeof *d);
    d->kindname = tc_intern(c, name, strlen(name));
    d->index = index;
    return (V)d;
}

V tc_torch_dtype_object(C *c, tc_dtype d) {
    dtypeobj *o = tc_new(c, K_DTYPE, sizeof *o);
    o->d = d;
    return (V)o;
}

const char tc_torch_device_types[] = "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
                                     "mtia, privateuseone";
bool tc_torch_device_parse(const char *s, size_t *out_type) {
    const size_t n = *out_type = strcspn(s, ":");
    const char *at = tc_torch_device_types;
    while (n && at && (strncmp(at, s, n) || (at[n] && at[n] != ','))) at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL;
    if (!n || !at) return *out_type = 0, false;
    const char *index = s + n + 1;
    return !s[n] || (*index && !index[strspn(index, "0123456789")] && (*index != '0' || !index[1]));
}

V tc_torch_device_named(C *c, str *s, V index) {
    size_t n;
    if (!s->len) tc_raise(c, "RuntimeError", "Device string must not be empty");
    const bool ok = tc_torch_device_parse(s->s, &n);
    if (!n) tc_raise(c, "RuntimeError", "Expected one of %s device type at start of device string: %s", tc_torch_device_types, s->s);
    if (ok && s->s[n]) index = tc_int_parse(c, s->s + n + 1, s->len - n - 1, 10, false);
    if (!ok || (s->s[n] && !index)) tc_raise(c, "RuntimeError", "Invalid device string: '%s'", s->s);
    return tc_torch_device(c, tc_arena_strndup(&c->arena, s->s, n), index ? index : c->none);
}
static V device_new(C *c, args *A) {
    V v[3];
    tc_take(c, A, "device", "cls type index=", v);
    if (tc_kind_of(v[1]) == K_DEVICE) return v[1];
    if (tc_kind_of(v[1]) == K_INT) return tc_torch_device(c, "cuda", v[1]);
    if (tc_kind_of(v[1]) != K_STR) tc_raise(c, "TypeError", "device(): argument 'type' must be str, not %s", tc_type_name(c, v[1]));
    return tc_torch_device_named(c, tc_as_str(v[1]), v[2]);
}
static V device_attr(C *c, V o, str *name) {
    (void)c;
    device *d = (device *)o;
    return !strcmp(name->s, "type") ? (V)d->kindname : !strcmp(name->s, "index") ? d->index : NULL;
}

static V dtype_attr(C *c, V o, str *name) {
    tc_dtype d = ((dtypeobj *)o)->d;
    if (!strcmp(name->s, "is_floating_point")) return tc_bool(c, tc_is_float(d));
    if (!strcmp(name->s, "is_complex")) return tc_bool(c, tc_is_complex(d));
    if (!strcmp(name->s, "is_signed")) return tc_bool(c, tc_dtypes[d].is_signed);
    if (!strcmp(name->s, "itemsize")) return tc_int(c, tc_dtypes[d].size);
    return NULL;
}
static V dtype_to_real(C *c, args *A) { return tc_torch_dtype_object(c, tc_dtype_real(((dtypeobj *)A->a[0])->d)); }
static V dtype_to_complex(C *c, args *A) { return tc_torch_dtype_object(c, tc_dtype_to_complex(((dtypeobj *)A->a[0])->d)); }

static V size_new(C *c, args *A) {
    V v[2];
    tc_take(c, A, "Size", "cls sizes=", v);
    list *l = v[1] ? tc_to_list(c, v[1]) : tc_list(c, 0);
    V t = tc_tuple(c, l->n, l->a);
    t->type = c->types[K_SIZE];
    return t;
}
static V size_numel(C *c, args *A) {
    V n = tc_int(c, 1);
    for (size_t i = 0; i < ((tuple *)A->a[0])->n; i++) n = tc_binary(c, '*', n, ((tuple *)A->a[0])->a[i]);
    return n;
}

static V device_enter(C *c, args *A) {
    device *d = (device *)A->a[0];
    if (!d->left) d->left = tc_list(c, 0);
    tc_list_push(c, d->left, tc_bool(c, c->torch->on_meta));
    c->torch->on_meta = !strcmp(d->kindname->s, "meta");
    return (V)d;
}
static V device_exit(C *c, args *A) {
    device *d = (device *)A->a[0];
    if (d->left && d->left->n) c->torch->on_meta = tc_truth(c, d->left->a[--d->left->n]);
    return c->none;
}

/* ---- functions ---- */
tc_dtype tc_torch_want_dtype(C *c, V v) {
    if (!v || v == c->none) return TC_DTYPE_NONE;
    if (tc_kind_of(v) == K_DTYPE) return ((dtypeobj *)v)->d;
    if (v == (V)c->types[K_FLOAT]) return TC_F64;
    if (v == (V)c->types[K_INT]) return TC_I64;
    if (v == (V)c->types[K_BOOL]) return TC_BOOL;
    tc_raise(c, "TypeError", "argument 'dtype' must be torch.dtype, not %s", tc_type_name(c, v));
}
/* t with requires_grad= applied (NULL: not given) */
static V required(C *c, const char *name, V t, V requires_grad) {
    if (requires_grad && requires_grad != c->none && tc_kind_of(requires_grad) != K_BOOL)
        tc_raise(c, "TypeError", "%s(): argument 'requires_grad' must be bool, not %s", name, tc_type_name(c, requires_grad));
    if (requires_grad != c->true_) return t;
    if (!tc_is_float(tc_torch_dtype(t)) && !tc_is_complex(tc_torch_dtype(t)))
        tc_raise(c, "RuntimeError", "Only Tensors of floating point and complex dtype can require gradients");
    tc_torch_require_grad((tensor *)t, true);
    return t;
}
static V t_tensor(C *c, args *A) {
    V v[5];
    tc_take(c, A, "tensor", "data * dtype= device= requires_grad= pin_memory=", v);
    return tc_inference_made(c, required(c, "tensor", tc_torch_from_data(c, v[0], tc_torch_want_dtype(c, v[1])), v[3]));
}
static V t_scalar_tensor(C *c, args *A) { /* like torch.tensor, but numbers get the default float type */
    V v[6];
    tc_take(c, A, "scalar_tensor", "s * dtype= layout= device= pin_memory= requires_grad=", v);
    tc_dtype d = v[1] && v[1] != c->none ? tc_torch_want_dtype(c, v[1]) : c->torch->default_dtype;
    int64_t i;
    if (v[3] && tc_kind_of(v[3]) == K_STR) tc_torch_device_named(c, tc_as_str(v[3]), NULL);
    if (tc_kind_of(v[0]) == K_INT && !tc_int_fits(v[0], &i)) tc_raise(c, "OverflowError", "int too big to convert");
    if (tc_is_tensor(v[0]) ? tc_torch_rank(v[0]) : !tc_torch_is_number(v[0]))
        tc_raise(c, "TypeError", "scalar_tensor(): argument 's' (position 1) must be Number, not %s", tc_type_name(c, v[0]));
    return tc_inference_made(c, required(c, "scalar_tensor", tc_torch_full0(c, v[0], d), v[5]));
}
static V t_as_tensor(C *c, args *A) {
    V v[3];
    tc_take(c, A, "as_tensor", "data dtype= device=", v);
    tc_dtype d = tc_torch_want_dtype(c, v[1]);
    v[0] = tc_torch_of_array(c, v[0]);
    if (tc_is_tensor(v[0])) return d == TC_DTYPE_NONE ? v[0] : tc_torch_cast(c, v[0], d);
    return tc_inference_made(c, tc_torch_from_data(c, v[0], d));
}
static V t_is_tensor(C *c, args *A) { return tc_bool(c, A->n == 1 && tc_is_tensor(A->a[0])); }
static V tensor_method(C *c, args *A, const char *name) {
    V v[1];
    tc_take(c, A, name, "input", v);
    if (!tc_is_tensor(v[0])) tc_raise(c, "TypeError", "%s(): argument 'input' must be Tensor, not %s", name, tc_type_name(c, v[0]));
    return tc_call0(c, tc_getattr(c, v[0], tc_intern(c, name, strlen(name))));
}
static V t_is_floating(C *c, args *A) { return tensor_method(c, A, "is_floating_point"); }
static V t_is_complex(C *c, args *A) { return tensor_method(c, A, "is_complex"); }
static V t_numel(C *c, args *A) { return tensor_method(c, A, "numel"); }
static V t_get_default(C *c, args *A) {
    (void)A;
    return tc_torch_dtype_object(c, c->torch->default_dtype);
}
static V t_set_default(C *c, args *A) {
    tc_dtype d = tc_torch_want_dtype(c, A->n ? A->a[0] : NULL);
    if (d == TC_DTYPE_NONE || !tc_is_float(d)) tc_raise(c, "TypeError", "only floating-point types are supported as the default type");
    c->torch->default_dtype = d;
    return c->none;
}
static tc_dtype promote(C *c, tc_dtype a, tc_dtype b) {
    tc_dtype d = tc_dtype_promote(a, b);
    if (d == TC_DTYPE_NONE) tc_raise(c, "RuntimeError", "there is no type that %s and %s promote to", tc_dtypes[a].torch, tc_dtypes[b].torch);
    return d;
}
static V t_promote(C *c, args *A) {
    V v[2];
    tc_take(c, A, "promote_types", "type1 type2", v);
    return tc_torch_dtype_object(c, promote(c, tc_torch_want_dtype(c, v[0]), tc_torch_want_dtype(c, v[1])));
}

/* Category promotion: tensors with dimensions, then 0-d ones, then numbers; a lower group counts only by category. */
static V t_result_type(C *c, args *A) {
    tc_dtype best[3] = {TC_DTYPE_NONE, TC_DTYPE_NONE, TC_DTYPE_NONE};
    for (int i = 0; i < A->n; i++) {
        int g = 2;
        tc_dtype d;
        if (tc_is_tensor(A->a[i])) g = tc_torch_rank(A->a[i]) ? 0 : 1, d = tc_torch_dtype(A->a[i]);
        else switch (tc_kind_of(A->a[i])) {
            case K_BOOL: d = TC_BOOL; break;
            case K_FLOAT: d = c->torch->default_dtype; break;
            case K_COMPLEX: d = tc_dtype_to_complex(c->torch->default_dtype); break;
            case K_INT:
            case K_SYM: d = TC_I64; break;
            default: tc_raise(c, "TypeError", "result_type() takes tensors and numbers, not %s", tc_type_name(c, A->a[i]));
            }
        best[g] = best[g] == TC_DTYPE_NONE ? d : promote(c, best[g], d);
    }
    tc_promotion p = {.dim = best[0], .zero = best[1], .wrapped = best[2]};
    const tc_dtype r = tc_promotion_type(&p);
    if (p.clashes) promote(c, p.clash[0], p.clash[1]);
    return tc_torch_dtype_object(c, r);
}
static V t_can_cast(C *c, args *A) {
    V v[2];
    tc_take(c, A, "can_cast", "from_ to", v);
    tc_dtype a = tc_torch_want_dtype(c, v[0]), b = tc_torch_want_dtype(c, v[1]);
    return tc_bool(c, tc_dtype_kind(a) <= tc_dtype_kind(b));
}

/* finfo and iinfo: attributes on a plain object */
static V info_object(C *c, const char *name) {
    type *t = tc_type_new(c, name, K_OBJECT, c->types[K_OBJECT]);
    obj *o = tc_mem(c, sizeof *o);
    o->type = t;
    o->attrs = tc_dict(c);
    return o;
}
static V t_finfo(C *c, args *A) {
    static const struct {
        tc_dtype d;
        double eps, tiny;
        double resolution;
    } table[] = {{TC_F32, FLT_EPSILON, FLT_MIN, 1e-6}, {TC_F64, DBL_EPSILON, DBL_MIN, 1e-15}, {TC_F16, 0x1p-10, 0x1p-14, 1e-3},
                 {TC_BF16, 0x1p-7, 0x1p-126, 1e-2},    {TC_F8E4M3, 0x1p-3, 0x1p-6, 1},        {TC_F8E5M2, 0x1p-2, 0x1p-14, 1},
                 {TC_F8E4M3FNUZ, 0x1p-3, 0x1p-7, 1},   {TC_F8E5M2FNUZ, 0x1p-2, 0x1p-15, 1},   {TC_F8E8M0, 1, 0x1p-127, 1}};
    tc_dtype d = A->n ? tc_torch_want_dtype(c, A->a[0]) : c->torch->default_dtype;
    d = tc_dtype_real(d);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].d != d) continue;
        V o = info_object(c, "finfo");
        tc_dict_setc(c, o->attrs, "max", tc_float(c, tc_dtype_max(d)));
        tc_dict_setc(c, o->attrs, "min", tc_float(c, tc_dtypes[d].is_signed ? -tc_dtype_max(d) : table[i].tiny));
        tc_dict_setc(c, o->attrs, "eps", tc_float(c, table[i].eps));
        tc_dict_setc(c, o->attrs, "tiny", tc_float(c, table[i].tiny));
        tc_dict_setc(c, o->attrs, "smallest_normal", tc_float(c, table[i].tiny));
        tc_dict_setc(c, o->attrs, "resolution", tc_float(c, table[i].resolution));
        tc_dict_setc(c, o->attrs, "bits", tc_int(c, (int64_t)tc_dtype_size(d) * 8));
        tc_dict_setc(c, o->attrs, "dtype", tc_strz(c, tc_dtypes[d].torch));
        return o;
    }
    tc_raise(c, "TypeError", "torch.finfo() requires a floating point input type. Use torch.iinfo to handle '%s'", tc_dtypes[d].torch);
}
static V t_iinfo(C *c, args *A) {
    tc_dtype d = A->n ? tc_torch_want_dtype(c, A->a[0]) : TC_DTYPE_NONE;
    if (d == TC_DTYPE_NONE || tc_dtype_kind(d) != TC_KIND_INT) tc_raise(c, "TypeError", "torch.iinfo() requires an integer input type");
    V o = info_object(c, "iinfo");
    int bits = tc_dtypes[d].size * 8;
    bool sg = tc_dtypes[d].is_signed;
    V top = tc_int_op(c, '-', tc_int_op(c, 'l', tc_int(c, 1), tc_int(c, bits - sg)), tc_int(c, 1));
    tc_dict_setc(c, o->attrs, "max", top);
    tc_dict_setc(c, o->attrs, "min", sg ? tc_int_invert(c, top) : tc_int(c, 0));
    tc_dict_setc(c, o->attrs, "bits", tc_int(c, bits));
    tc_dict_setc(c, o->attrs, "dtype", tc_strz(c, tc_dtypes[d].torch));
    return o;
}

/* ---- tensors that classes make ---- */
/* Parameter(data=None, requires_grad=True) and Buffer(data=None, persistent=True): share the data's memory. */
static V tensor_like(C *c, V cls, V data) {
    tensor *o = tc_new(c, K_TENSOR, sizeof *o);
    o->h.type = (type *)cls;
    if (data && data != c->none) {
        if (!tc_is_tensor(data)) tc_raise(c, "TypeError", "Parameter data must be a tensor, not %s", tc_type_name(c, data));
        tensor *s = (tensor *)data;
        if (s->t.storage) {
            o->t = tc_tensor_share(&s->t);
            o->next_owned = c->torch->owned;
            c->torch->owned = o;
        }
        o->v = s->v;
        o->inference = s->inference, o->meta = s->meta;
    } else {
        int64_t zero = 0;
        tc_status st = tc_tensor_empty(c->torch->default_dtype, 1, &zero, &o->t);
        if (st) tc_raise_status(c, "RuntimeError", st);
        o->next_owned = c->torch->owned;
        c->torch->owned = o;
    }
    return (V)o;
}
static V parameter_new(C *c, args *A) {
    V v[3];
    tc_take(c, A, "Parameter", "cls data= requires_grad=", v);
    /* In a capture the parameter is a leaf of its own: no gradient goes through it to what computed the data. */
    const bool computed = c->torch->graph && tc_is_tensor(v[1]) && ((tensor *)v[1])->v;
    V p = tensor_like(c, v[0], computed ? tc_torch_calln(c, "aten::detach", 1, v[1]) : v[1]);
    tc_torch_require_grad((tensor *)p, !v[2] || tc_truth(c, v[2]));
    if (((tensor *)p)->requires_grad && !tc_is_float(tc_torch_dtype(p)) && !tc_is_complex(tc_torch_dtype(p)))
        tc_raise(c, "RuntimeError", "Only Tensors of floating point and complex dtype can require gradients");
    return p;
}
static V buffer_new(C *c, args *A) {
    V v[3];
    tc_take(c, A, "Buffer", "cls data= * persistent=", v);
    V p = tensor_like(c, v[0], v[1]);
    ((tensor *)p)->persistent = !v[2] || tc_truth(c, v[2]);
    return p;
}
static V tensor_new(C *c, args *A) {
    type *t = (type *)A->a[0];
    tc_refuse_taking_over(c, t);
    V kind_of = tc_type_lookup(c, t, tc_intern(c, "_dtype", 6));
    tc_dtype d = kind_of ? ((dtypeobj *)kind_of)->d : c->torch->default_dtype;
    const kind k = A->n == 2 ? tc_kind_of(A->a[1]) : K_TYPE;
    if (k == K_LIST || k == K_TUPLE || k == K_RANGE) return tc_torch_from_data(c, k == K_RANGE ? (V)tc_to_list(c, A->a[1]) : A->a[1], d);
    V from = A->n == 2 ? tc_torch_of_array(c, A->a[1]) : NULL;
    if (from && tc_is_tensor(from)) return tc_torch_cast(c, from, d);
    V size = A->n == 2 && tc_kind_of(A->a[1]) == K_SIZE ? A->a[1]
             : A->n == 1                                ? tc_tuple_of(c, 1, tc_int(c, 0))
                                                        : tc_tuple(c, (size_t)A->n - 1, A->a + 1);
    str *kn[1] = {tc_intern(c, "dtype", 5)};
    V kv[1] = {tc_torch_dtype_object(c, d)}, a[1] = {size};
    return tc_torch_call(c, "aten::empty", &(args){.a = a, .n = 1, .kn = kn, .kv = kv, .nk = 1}, false);
}

/* ---- operators as objects ---- */
static V opfn_attr(C *c, V o, str *name) {
    opfn *f = (opfn *)o;
    const char *plain = strstr(f->name, "::") ? strstr(f->name, "::") + 2 : f->name;
    if (name == c->n___name__ || name == c->n___qualname__) return tc_strz(c, plain);
    if (name == c->n___module__) return tc_strz(c, "torch");
    if (f->op || !strncmp(name->s, "__", 2)) return NULL;
    char full[192];
    if (strlen(f->name) + name->len + 2 > sizeof full) return NULL;
    snprintf(full, sizeof full, "%s.%s", f->name, name->s);
    if (tc_op_find(full)) return tc_torch_opfn(c, full, f->self, TC_IN_OPS);
    if (tc_op_is_known_to_pytorch(full) && tc_is_loading(c)) return tc_lacking(c, full, "an operator");
    if (tc_op_is_known_to_pytorch(full)) tc_raise_code(c, TC_UNSUPPORTED, "operator %s is not supported", full);
    return NULL;
}

static V aten_missing(C *c, module *m, str *name) {
    char full[192];
    const char *ns = strrchr(m->name->s, '.');
    if (name->len > 120 || !strncmp(name->s, "__", 2)) return NULL;
    snprintf(full, sizeof full, "%s::%s", ns ? ns + 1 : "aten", name->s);
    V v = tc_torch_opfn(c, full, NULL, TC_IN_OPS);
    if (v) tc_dict_set(c, m->d, (V)name, v);
    return v;
}
/* A name space of a file (torch.library) or of an extension. */
static V own_missing(C *c, module *m, str *name) {
    V v = aten_missing(c, m, name);
    const char *ns = strrchr(m->name->s, '.') + 1;
    if (!v && strncmp(name->s, "__", 2))
        tc_raise(c, "AttributeError", "'_OpNamespace' '%s' object has no attribute '%s': an extension that defines %s::%s is given with --ops", ns,
                 name->s, ns, name->s);
    return v;
}
static V ops_missing(C *c, module *m, str *name) {
    char full[192];
    if (name->len > 60 || !strncmp(name->s, "__", 2)) return NULL;
    if (!strcmp(name->s, "tc")) return NULL; /* what tc's passes make, which PyTorch lacks */
    snprintf(full, sizeof full, "torch.ops.%s", name->s);
    if (!strcmp(name->s, "load_library"))
        tc_raise_code(c, TC_UNSUPPORTED,
                      "torch.ops.load_library() is not part of the model language: a model loads no native code; give the extension with --ops");
    module *ns = tc_module(c, full);
    ns->missing = tc_op_is_own_space(name->s) ? aten_missing : own_missing;
    tc_dict_set(c, m->d, (V)name, (V)ns);
    return (V)ns;
}

static bool refused(C *c, const str *name) {
    static const char *const names[] = {"load", "save", "from_file", "import_ir_module"};
    (void)c;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name->s, names[i])) return true;
    return false;
}

static V from_source(C *c, const char *modname, str *name) {
    module *f = tc_import(c, modname, false);
    return f ? tc_dict_gets(c, f->d, name) : NULL;
}

static V torch_missing(C *c, module *m, str *name) {
    if (refused(c, name) && tc_is_loading(c)) return tc_lacking(c, tc_arena_printf(&c->arena, "torch.%s", name->s), "a name"); /* save = torch.save */
    if (refused(c, name)) tc_raise(c, "AttributeError", "torch.%s is not part of the model language: it reads files or runs foreign code", name->s);
    if (!strcmp(name->s, "__config__")) return tc_lacking(c, "torch.__config__", "a module");
    if (!strncmp(name->s, "__", 2)) return NULL;
    if (!strcmp(name->s, "random")) return (V)tc_import(c, "torch.random", true); /* the module, not the operator of that name */
    V v = NULL;
    if (name->s[0] != '_') {
        tc_dtype d = tc_dtype_parse(name->s, name->len);
        if (d != TC_DTYPE_NONE && !strchr(name->s, '.')) {
            static const char *const odd[] = {"f16", "f32",  "f64", "i8",   "i16", "i32",    "i64",    "u8",         "u16",        "u32",
                                              "u64", "bf16", "c64", "c128", "c32", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e8m0"};
            bool own = false;
            for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) own |= !strcmp(odd[i], name->s);
            if (!own) v = tc_torch_dtype_object(c, d);
        }
        if (!v) {
            module *f = tc_import(c, "torch.functional", false);
            V only = f && !f->loading ? tc_dict_gets(c, f->d, tc_intern(c, "_only_methods", 13)) : NULL;
            if (f && !(only && tc_contains(c, only, (V)name))) v = tc_dict_gets(c, f->d, name);
            if (v && (tc_kind_of(v) == K_MODULE || tc_kind_of(v) == K_SET)) v = NULL;
        }
    }
    if (!v) v = from_source(c, "torch.namespace", name);
    if (!v && name->len < 100) {
        char full[128];
        snprintf(full, sizeof full, "torch.%s", name->s);
        module *sub = tc_import(c, full, false);
        if (sub) v = (V)sub;
        snprintf(full, sizeof full, "aten::%s", name->s);
        if (!v) v = tc_torch_opfn(c, full, NULL, TC_IN_TORCH);
    }
    if (v) tc_dict_set(c, m->d, (V)name, v);
    return v;
}

/* F.name that functional.py lacks is an operator. */
static V functional_missing(C *c, module *m, str *name) {
    if (!strncmp(name->s, "__", 2) || name->len > 100) return NULL;
    char full[128];
    snprintf(full, sizeof full, "aten::%s", name->s);
    V v = tc_torch_opfn(c, full, NULL, TC_IN_NN);
    if (v) tc_dict_set(c, m->d, (V)name, v);
    return v;
}

/* torch._VF.name and torch._C._VariableFunctions.name, torch._C._nn.name: the operators behind torch.name and F.name. */
static V operator_of(C *c, module *m, str *name) {
    char full[128];
    if (!strncmp(name->s, "__", 2) || name->len > 100) return NULL;
    snprintf(full, sizeof full, "aten::%s", name->s);
    V v = tc_torch_opfn(c, full, NULL, strcmp(m->name->s, "torch._C._nn") ? TC_IN_TORCH : TC_IN_OPS);
    if (v) ((opfn *)v)->strict = false;
    if (v) tc_dict_set(c, m->d, (V)name, v);
    return v;
}

/* torch.special.expit -> aten::special_expit, torch.linalg.norm -> aten::linalg_norm, torch.fft.fft -> aten::fft_fft */
static V prefixed_missing(C *c, module *m, str *name) {
    char full[192];
    const char *ns = strrchr(m->name->s, '.');
    if (!strncmp(name->s, "__", 2) || name->len > 100) return NULL;
    snprintf(full, sizeof full, "aten::%s_%s", ns + 1, name->s);
    V v = tc_torch_opfn(c, full, NULL, TC_IN_OPS);
    if (v) ((opfn *)v)->strict = false;
    if (v) tc_dict_set(c, m->d, (V)name, v);
    return v;
}

static void constants(C *c, module *m) {
    tc_dict_setc(c, m->d, "pi", tc_float(c, M_PI));
    tc_dict_setc(c, m->d, "e", tc_float(c, M_E));
    tc_dict_setc(c, m->d, "inf", tc_float(c, INFINITY));
    tc_dict_setc(c, m->d, "nan", tc_float(c, NAN));
    tc_dict_setc(c, m->d, "newaxis", c->none);
    tc_dict_setc(c, m->d, "__version__", tc_strz(c, "2.15.0"));
    static const struct {
        const char *name;
        int code;
        bool mf;
    } layouts[] = {{"strided", 7, false},          {"sparse_coo", 1, false},   {"sparse_csr", 2, false},      {"jagged", 8, false},
                   {"contiguous_format", 1, true}, {"channels_last", 2, true}, {"channels_last_3d", 3, true}, {"preserve_format", 4, true}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        layoutobj *l = tc_new(c, K_LAYOUT, sizeof *l);
        l->code = layouts[i].code, l->name = layouts[i].name, l->memory_format = layouts[i].mf;
        l->h.attrs = tc_dict(c);
        tc_dict_set(c, l->h.attrs, (V)c->n_name, tc_strf(c, "torch.%s", layouts[i].name));
        tc_dict_setc(c, m->d, layouts[i].name, (V)l);
    }
}

static void tensor_classes(C *c, module *m, module *priv) {
    struct tc_torch *T = c->torch;
    T->tensor_type = c->types[K_TENSOR];
    T->tensor_type->module_name = tc_intern(c, "torch", 5);
    tc_dict_set(c, T->tensor_type->d, (V)c->n___new__, tc_native(c, "Tensor", tensor_new, NULL));
    tc_dict_setc(c, m->d, "Tensor", (V)T->tensor_type);
    T->parameter_type = tc_type_new(c, "Parameter", K_TENSOR, T->tensor_type);
    T->buffer_type = tc_type_new(c, "Buffer", K_TENSOR, T->tensor_type);
    T->parameter_type->module_name = T->buffer_type->module_name = tc_intern(c, "torch.nn.parameter", 18);
    tc_dict_set(c, T->parameter_type->d, (V)c->n___new__, tc_native(c, "Parameter", parameter_new, NULL));
    tc_dict_set(c, T->buffer_type->d, (V)c->n___new__, tc_native(c, "Buffer", buffer_new, NULL));
    tc_dict_setc(c, priv->d, "Parameter", (V)T->parameter_type);
    tc_dict_setc(c, priv->d, "Buffer", (V)T->buffer_type);
    static const struct {
        const char *name;
        tc_dtype d;
    } legacy[] = {{"FloatTensor", TC_F32}, {"DoubleTensor", TC_F64}, {"HalfTensor", TC_F16}, {"BFloat16Tensor", TC_BF16}, {"LongTensor", TC_I64},
                  {"IntTensor", TC_I32},   {"ShortTensor", TC_I16},  {"CharTensor", TC_I8},  {"ByteTensor", TC_U8},       {"BoolTensor", TC_BOOL}};
    for (size_t i = 0; i < sizeof legacy / sizeof *legacy; i++) {
        type *t = tc_type_new(c, legacy[i].name, K_TENSOR, T->tensor_type);
        tc_dict_setc(c, t->d, "_dtype", tc_torch_dtype_object(c, legacy[i].d));
        tc_dict_setc(c, m->d, legacy[i].name, (V)t);
    }
}

/* torch.device, torch.dtype, torch.Size ... in the module m. */
static void define_types(C *c, module *m) {
    c->types[K_DEVICE]->instance_attr = device_attr;
    c->types[K_DTYPE]->instance_attr = dtype_attr;
    c->types[K_OPFN]->instance_attr = opfn_attr;
    static const native_def dev[] = {{"__new__", device_new}, {"__enter__", device_enter}, {"__exit__", device_exit}, {NULL, NULL}};
    static const native_def dty[] = {{"to_real", dtype_to_real}, {"to_complex", dtype_to_complex}, {NULL, NULL}};
    static const native_def siz[] = {{"__new__", size_new}, {"numel", size_numel}, {NULL, NULL}};
    tc_type_methods(c, K_DEVICE, dev);
    tc_type_methods(c, K_DTYPE, dty);
    tc_type_methods(c, K_SIZE, siz);
    static const kind classes[] = {K_DEVICE, K_DTYPE, K_SIZE, K_GENERATOR, K_LAYOUT};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        c->types[classes[i]]->module_name = tc_intern(c, "torch", 5);
        tc_dict_set(c, m->d, (V)c->types[classes[i]]->name, (V)c->types[classes[i]]);
    }
    tc_dict_setc(c, m->d, "memory_format", (V)c->types[K_LAYOUT]);
    tc_dict_setc(c, m->d, "SymInt", (V)c->types[K_SYM]);
}

/* torch.ops, torch.linalg ...: modules whose names are found in the operators' schemas. */
static void define_namespaces(C *c, module *m, module *priv) {
    module *ops = tc_module(c, "torch.ops");
    ops->missing = ops_missing;
    tc_dict_setc(c, m->d, "ops", (V)ops);
    module *functions = tc_module(c, "torch._VF"), *nn = tc_module(c, "torch._C._nn");
    functions->missing = nn->missing = operator_of;
    tc_dict_setc(c, m->d, "_VF", (V)functions);
    tc_dict_setc(c, priv->d, "_VariableFunctions", (V)functions);
    tc_dict_setc(c, priv->d, "_nn", (V)nn);
    static const char *const families[] = {"torch.linalg", "torch.special", "torch.fft"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        module *f = tc_module(c, families[i]);
        f->missing = prefixed_missing;
        tc_dict_setc(c, m->d, strrchr(families[i], '.') + 1, (V)f);
    }
}

void tc_torch_init(C *c) {
    c->torch = tc_xcalloc(1, sizeof *c->torch);
    c->torch->default_dtype = TC_F32;
    c->torch->print = tc_print_default;
    c->torch->autocast = TC_DTYPE_NONE;
    module *m = tc_module(c, "torch"), *priv = tc_module(c, "torch._C");
    m->missing = torch_missing;
    tc_dict_setc(c, m->d, "_C", (V)priv);
    static const native_def fns[] = {{"tensor", t_tensor},
                                     {"scalar_tensor", t_scalar_tensor},
                                     {"as_tensor", t_as_tensor},
                                     {"asarray", t_as_tensor},
                                     {"from_numpy", t_as_tensor},
                                     {"is_tensor", t_is_tensor},
                                     {"is_floating_point", t_is_floating},
                                     {"is_complex", t_is_complex},
                                     {"numel", t_numel},
                                     {"get_default_dtype", t_get_default},
                                     {"set_default_dtype", t_set_default},
                                     {"promote_types", t_promote},
                                     {"result_type", t_result_type},
                                     {"can_cast", t_can_cast},
                                     {"finfo", t_finfo},
                                     {"iinfo", t_iinfo},
                                     {NULL, NULL}};
    tc_define(c, m->d, fns);
    tc_torch_generator_init(c, m);
    tc_torch_private_init(c, priv);
    constants(c, m);
    tc_torch_tensor_init(c);
    tensor_classes(c, m, priv);
    tc_torch_hop_init(c, priv);
    tc_torch_names_init(c, priv);
    define_types(c, m);
    define_namespaces(c, m, priv);
}

void tc_torch_functional(C *c, module *m) {
    (void)c;
    m->missing = functional_missing;
}

void tc_torch_names_deinit(C *c);
void tc_torch_deinit(C *c);
void tc_torch_deinit(C *c) {
    struct tc_torch *T = c->torch;
    if (!T) return;
    for (tensor *t = T->owned; t; t = t->next_owned) tc_tensor_deinit(&t->t);
    tc_program_release(T->scratch);
    tc_undrawn_free(T->undrawn);
    tc_map_free(&T->overloads);
    tc_map_free(&T->noted);
    tc_torch_names_deinit(c);
    free(T);
    c->torch = NULL;
}
