/* The record of native code that this user compiled (trust.h). */
#include "codegen/trust.h"

#include "codegen/cache.h"
#include "codegen/tc_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

void tc_trust_hash(const void *code, size_t len, const char *isa, const void *scope, size_t scope_len, unsigned char out[TC_TRUST_BYTES]) {
    crypto_generichash_state h;
    uint32_t abi = TC_ABI_VERSION;
    crypto_generichash_init(&h, NULL, 0, TC_TRUST_BYTES);
    tc_hash_field(&h, "tc trust 1", 10);
    tc_hash_field(&h, &abi, sizeof abi);
    tc_hash_field(&h, isa, strlen(isa));
    tc_hash_field(&h, scope, scope_len);
    tc_hash_field(&h, code, len);
    crypto_generichash_final(&h, out, TC_TRUST_BYTES);
}

static tc_status entry(const unsigned char *hash, tc_buf *path) {
    TC_TRY(tc_user_dir("XDG_DATA_HOME", ".local/share", "tc-trusted", path));
    tc_buf_putc(path, '/');
    for (int i = 0; i < TC_TRUST_BYTES; i++) tc_buf_printf(path, "%02x", hash[i]);
    return NULL;
}

tc_status tc_trust_add(const unsigned char hash[TC_TRUST_BYTES]) {
    tc_buf path = {0};
    tc_status s = entry(hash, &path);
    if (!s) {
        int fd = open(path.data, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0) s = tc_error(TC_ENV, "%s: %s", path.data, strerror(errno));
        else close(fd);
    }
    tc_buf_free(&path);
    return s;
}

bool tc_trust_known(const unsigned char hash[TC_TRUST_BYTES]) {
    tc_buf path = {0};
    struct stat st;
    tc_status s = entry(hash, &path);
    bool known = !s && !lstat(path.data, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    tc_status_free(s);
    tc_buf_free(&path);
    return known;
}
