/* Loads compiled modules (module.h). */
#include "codegen/module.h"

#include "base/cpu.h"
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    void *handle;
    const tc_abi_module *m;
    int fd;
} loaded; /* fd stays open: dlopen identifies libraries by path, here /proc/self/fd/N, so N must not be reused */
struct tc_modules {
    TC_VEC(loaded) all;
};

tc_modules *tc_modules_create(void) { return tc_xcalloc(1, sizeof(tc_modules)); }

void tc_modules_destroy(tc_modules *m) {
    if (!m) return;
    for (size_t i = 0; i < m->all.len; i++) {
        dlclose(m->all.data[i].handle);
        close(m->all.data[i].fd);
    }
    tc_vec_free(&m->all);
    free(m);
}

static bool can_run(const char *isa) {
    for (int i = 0; i < TC_ROW_COUNT; i++)
        if (!strcmp(tc_isa_name((tc_isa_row)i), isa)) return tc_isa_supported((tc_isa_row)i);
    return false;
}

/* Checks a module's table once, so that later uses need no checks. */
static tc_status check(const tc_abi_module *m, const char *isa) {
    if (!m) return tc_error(TC_CONTENT, "compiled code without %s", TC_ABI_SYMBOL);
    if (m->version != TC_ABI_VERSION) return tc_error(TC_CONTENT, "compiled code of interface %u, expected %d", m->version, TC_ABI_VERSION);
    if (!m->isa || strcmp(m->isa, isa)) return tc_error(TC_CONTENT, "compiled code for %s, expected %s", m->isa ? m->isa : "nothing", isa);
    for (uint32_t i = 0; i < m->ngroups; i++) {
        if (!m->groups[i].run || !m->groups[i].name) return tc_error(TC_CONTENT, "compiled code: group %u is empty", i);
        if (i && memcmp(m->groups[i - 1].key, m->groups[i].key, TC_ABI_KEY_BYTES) >= 0)
            return tc_error(TC_CONTENT, "compiled code: its table is not sorted");
    }
    return NULL;
}

static tc_status load_fd(tc_modules *m, int fd, const char *isa) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) return tc_error(TC_CONTENT, "compiled code cannot be loaded: %s", dlerror());
    loaded one = {h, dlsym(h, TC_ABI_SYMBOL), fd};
    tc_status s = check(one.m, isa);
    if (s) {
        dlclose(h);
        return s;
    }
    tc_vec_push(&m->all, one);
    return NULL;
}

tc_status tc_code_seal(const tc_native_code *code, bool trusted, int *out_fd, bool *out_runs) {
    *out_runs = trusted || !code->len;
    int fd = memfd_create("tc-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return tc_error(TC_ENV, "memory for compiled code: %s", strerror(errno));
    tc_status s = tc_write_all(fd, code->data, code->len, "memory for compiled code");
    if (!s && fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
        s = tc_error(TC_ENV, "sealing compiled code: %s", strerror(errno));
    if (!s && !*out_runs) { /* looks at the sealed copy, which nobody can change any more */
        tc_native_code sealed = *code;
        void *copy = mmap(NULL, code->len, PROT_READ, MAP_SHARED, fd, 0);
        if (copy == MAP_FAILED) s = tc_error(TC_ENV, "memory for compiled code: %s", strerror(errno));
        else {
            sealed.data = copy;
            *out_runs = tc_trust_known(&sealed);
            munmap(copy, code->len);
        }
    }
    if (s) close(fd);
    else *out_fd = fd;
    return s;
}

tc_status tc_modules_load(tc_modules *m, const tc_native_code *code, bool trusted, const char **out_note) {
    *out_note = NULL;
    if (!can_run(code->isa)) {
        *out_note = "it is for another instruction set";
        return NULL;
    }
    int fd;
    bool runs;
    TC_TRY(tc_code_seal(code, trusted, &fd, &runs));
    if (!runs) *out_note = "this user did not compile it";
    const size_t before = m->all.len;
    tc_status s = runs ? load_fd(m, fd, code->isa) : NULL;
    if (m->all.len == before) close(fd);
    return s;
}

const tc_abi_group *tc_modules_find(void *modules, const uint8_t key[TC_ABI_KEY_BYTES]) {
    const tc_modules *m = modules;
    for (size_t i = 0; i < m->all.len; i++) {
        const tc_abi_module *mod = m->all.data[i].m;
        uint32_t lo = 0, hi = mod->ngroups;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            int c = memcmp(mod->groups[mid].key, key, TC_ABI_KEY_BYTES);
            if (!c) return &mod->groups[mid];
            if (c < 0) lo = mid + 1;
            else hi = mid;
        }
    }
    return NULL;
}

size_t tc_modules_groups(const tc_modules *m) {
    size_t n = 0;
    for (size_t i = 0; i < m->all.len; i++) n += m->all.data[i].m->ngroups;
    return n;
}
