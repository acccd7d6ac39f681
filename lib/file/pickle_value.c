/* Reads values of a pickle: arguments, keys, sizes; prints them for messages; and the list of globals that no data file needs. */
#include "base/json_write.h"
#include "base/text.h"
#include "file/pickle.h"

#include <math.h>

const tc_pk *tc_pk_arg(const tc_pk *v, size_t i) {
    if (v && v->kind == TC_PK_OBJECT) v = v->arguments;
    return v && (v->kind == TC_PK_TUPLE || v->kind == TC_PK_LIST) && i < v->len ? v->items[i] : NULL;
}

const tc_pk *tc_pk_get(const tc_pk *v, const char *key) {
    if (v && v->kind == TC_PK_OBJECT) v = v->state && v->state->kind == TC_PK_TUPLE ? tc_pk_arg(v->state, 0) : v->state;
    for (size_t i = v && v->kind == TC_PK_DICT ? v->len : 0; i >= 2; i -= 2)
        if (tc_pk_is(v->items[i - 2], key)) return v->items[i - 1];
    return NULL;
}

bool tc_pk_to_int(const tc_pk *v, int64_t *out) {
    if (!v || (v->kind != TC_PK_INT && v->kind != TC_PK_BOOL)) return false;
    *out = v->kind == TC_PK_INT ? v->i : v->b;
    return true;
}

bool tc_pk_to_sizes(const tc_pk *v, int64_t *out, int max, int *out_n) {
    const tc_pk *size = tc_pk_call(v, "torch.Size");
    if (size) v = tc_pk_arg(size, 0);
    if (!v || (v->kind != TC_PK_TUPLE && v->kind != TC_PK_LIST) || v->len > (uint32_t)max) return false;
    for (uint32_t i = 0; i < v->len; i++)
        if (v->items[i]->kind != TC_PK_INT || !tc_pk_to_int(v->items[i], &out[i])) return false;
    *out_n = (int)v->len;
    return true;
}

/* ---- text ---- */
static void print_items(tc_buf *b, tc_pk *const *items, size_t n, const char *marks, size_t limit, int depth);

static void print_text(tc_buf *b, const char *s, size_t n) {
    tc_json w = {.b = b};
    tc_json_stringn(&w, s, n);
}

static void print_dict(tc_buf *b, const tc_pk *v, size_t limit, int depth);

static void print(tc_buf *b, const tc_pk *v, size_t limit, int depth) {
    if (b->len > limit || depth > 32) {
        tc_buf_puts(b, "...");
        return;
    }
    switch (v->kind) {
    case TC_PK_NONE: tc_buf_puts(b, "null"); break;
    case TC_PK_BOOL: tc_buf_puts(b, v->b ? "true" : "false"); break;
    case TC_PK_INT: tc_buf_printf(b, "%lld", (long long)v->i); break;
    case TC_PK_LONG: tc_buf_printf(b, "<an integer of %zu bytes>", v->n); break;
    case TC_PK_FLOAT: tc_double_text(b, v->f); break;
    case TC_PK_STRING: print_text(b, v->s, v->n < limit ? v->n : limit); break;
    case TC_PK_BYTES: tc_buf_printf(b, "<%zu bytes>", v->n); break;
    case TC_PK_LIST: print_items(b, v->items, v->len, "[]", limit, depth); break;
    case TC_PK_SET: print_items(b, v->items, v->len, "{}", limit, depth); break;
    case TC_PK_TUPLE: print_items(b, v->items, v->len, "()", limit, depth); break;
    case TC_PK_DICT: print_dict(b, v, limit, depth); break;
    case TC_PK_GLOBAL: tc_buf_printf(b, "<%s>", v->s); break;
    case TC_PK_OBJECT:
        tc_buf_putc(b, '<');
        tc_buf_puts(b, v->callable->kind == TC_PK_GLOBAL ? v->callable->s : "object");
        if (v->arguments->len) print_items(b, v->arguments->items, v->arguments->len, "()", limit, depth);
        tc_buf_putc(b, '>');
        break;
    case TC_PK_PERSISTENT: tc_buf_puts(b, "<storage>"); break;
    }
}

static void print_items(tc_buf *b, tc_pk *const *items, size_t n, const char *marks, size_t limit, int depth) {
    tc_buf_putc(b, marks[0]);
    for (size_t i = 0; i < n; i++) {
        if (i) tc_buf_puts(b, ", ");
        print(b, items[i], limit, depth + 1);
        if (b->len > limit) break;
    }
    tc_buf_putc(b, marks[1]);
}

static void print_dict(tc_buf *b, const tc_pk *v, size_t limit, int depth) {
    tc_buf_putc(b, '{');
    for (size_t i = 0; i + 1 < v->len; i += 2) {
        if (i) tc_buf_puts(b, ", ");
        print(b, v->items[i], limit, depth + 1);
        tc_buf_puts(b, ": ");
        print(b, v->items[i + 1], limit, depth + 1);
        if (b->len > limit) break;
    }
    tc_buf_putc(b, '}');
}

void tc_pk_print(tc_buf *b, const tc_pk *v, size_t limit) { print(b, v, b->len + limit, 0); }

/* ---- forbidden globals ---- */
/* Types and values in builtins and types are data; functions and types of code objects are not (eval, exec, getattr, open, CodeType, ...). */
static const char plain[] = " set frozenset dict list tuple int float bool str bytes bytearray complex object slice range long unicode xrange type "
                            "NoneType NotImplemented Ellipsis Exception ValueError KeyError RuntimeError SimpleNamespace MappingProxyType ";
/* Modules that hold no data, including everything inside them. */
static const char modules[] =
    " os posix nt posixpath ntpath subprocess _posixsubprocess commands popen2 sys shutil socket _socket ssl _ssl runpy "
    "importlib imp _imp pkgutil zipimport pickle _pickle cPickle marshal shelve dill cloudpickle joblib ctypes _ctypes cffi "
    "code codeop pty tty pdb bdb cmd trace profile cProfile timeit doctest webbrowser antigravity httplib http urllib urllib2 "
    "requests aiohttp ftplib smtplib telnetlib xmlrpc asyncio threading _thread multiprocessing concurrent signal _signal "
    "tempfile fileinput glob io _io pip setuptools distutils venv ensurepip idlelib lib2to3 site inspect gc atexit "
    "operator _operator linecache tarfile zipfile sqlite3 dbm torch.hub torch.utils.cpp_extension "
    "torch.utils.data.datapipes.utils.decoder torch._dynamo torch._inductor torch.utils.collect_env torch.utils.bottleneck "
    "torch.testing torch.package numpy.testing numpy.f2py numpy.distutils numpy.ctypeslib ";
/* Functions in modules that otherwise hold data. */
static const char functions[] = " torch.load torch.save torch.compile torch.serialization.load torch.serialization.save numpy.load numpy.save "
                                "numpy.fromfile numpy.memmap numpy.loadtxt torch.from_file torch.jit.load torch.jit.save "
                                "torch.jit.unsupported_tensor_ops.execWrapper functools.reduce pathlib.Path.unlink ";

/* Is the module in the list, or inside a module of the list ("os" and "os.path")? */
static bool module_listed(const char *module) {
    char head[64];
    for (size_t n = 1; n < sizeof head && module[n - 1]; n++) {
        if (module[n] && module[n] != '.') continue;
        memcpy(head, module, n);
        head[n] = 0;
        if (tc_word_in(modules, head)) return true;
    }
    return false;
}

bool tc_pickle_forbidden(const char *module, const char *name) {
    if (tc_word_in(" builtins __builtin__ types ", module)) return !tc_word_in(plain, name);
    if (module_listed(module)) return true;
    if (strchr(name, '.') && strstr(name, "__"))
        return true; /* a dunder attribute of an attribute, from which any other object of Python can be reached */
    tc_buf b = {0};
    tc_buf_printf(&b, "%s.%s", module, name);
    bool bad = tc_word_in(functions, tc_buf_str(&b));
    tc_buf_free(&b);
    return bad;
}
