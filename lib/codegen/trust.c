/* The record of native code that this user compiled (trust.h). */
#include "codegen/trust.h"

#include "codegen/cache.h"
#include "codegen/tc_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_BYTES = 32 };

/* BLAKE2b over the code, the ABI version, the instruction set and the scope. */
static void hash_of(const tc_native_code *code, unsigned char out[HASH_BYTES]) {
    crypto_generichash_state h;
    uint32_t abi = TC_ABI_VERSION;
    crypto_generichash_init(&h, NULL, 0, HASH_BYTES);
    tc_hash_field(&h, "tc trust 1", 10);
    tc_hash_field(&h, &abi, sizeof abi);
    tc_hash_field(&h, code->isa, strlen(code->isa));
    tc_hash_field(&h, code->scope, strlen(code->scope));
    tc_hash_field(&h, code->data, code->len);
    crypto_generichash_final(&h, out, HASH_BYTES);
}

/* The file of the record that stands for the code. */
static tc_status entry(const tc_native_code *code, tc_buf *path) {
    unsigned char hash[HASH_BYTES];
    TC_TRY(tc_user_dir("XDG_DATA_HOME", ".local/share", "tc-trusted", path));
    hash_of(code, hash);
    tc_buf_putc(path, '/');
    for (int i = 0; i < HASH_BYTES; i++) tc_buf_printf(path, "%02x", hash[i]);
    return NULL;
}

tc_status tc_trust_add(const tc_native_code *code) {
    tc_buf path = {0};
    tc_status s = entry(code, &path);
    if (!s) {
        tc_user_clear(path.data);
        int fd = open(path.data, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0) s = tc_error(TC_ENV, "%s: %s", path.data, strerror(errno));
        else close(fd);
    }
    tc_buf_free(&path);
    return s;
}

bool tc_trust_known(const tc_native_code *code) {
    tc_buf path = {0};
    struct stat st;
    tc_status s = entry(code, &path);
    bool known = !s && !lstat(path.data, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    tc_status_free(s);
    tc_buf_free(&path);
    return known;
}
