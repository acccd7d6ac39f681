/* Folders of checkpoints: any bytes as .metadata of torch.distributed.checkpoint beside a file of items, as an index of HuggingFace beside two
 * files of tensors, and as the one file of tensors of a folder without index. Everything that opens is read through. */
#include "fuzz.h"

#include "ckpt/ckpt.h"
#include "scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char dcp[256], hf[256], bare[256];

static void write_file(const char *dir, const char *name, const void *data, size_t n) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n) __builtin_trap();
    close(fd);
}

/* One item of torch.save: "tensor" of f32 [2, 3], as the seeds' metadata place it. */
static void make_folders(void) {
    static const char pickle[] =
        "\x80\2ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\6tQK\0K\2K\3\x86K\3K\1\x86\x89"
        "ccollections\nOrderedDict\n)RtR.";
    static const float six[6] = {1, 2, 3, 4, 5, 6};
    static const char tensors[] = "\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}    ####";
    tc_buf zip = {0};
    if (!scratch_folder(dcp, sizeof dcp, "tc-fuzz-dcp") || !scratch_folder(hf, sizeof hf, "tc-fuzz-hf") ||
        !scratch_folder(bare, sizeof bare, "tc-fuzz-bare"))
        __builtin_trap();
    make_zip(&zip, (member[]){{"archive/data.pkl", pickle, sizeof pickle - 1}, {"archive/data/0", six, sizeof six}}, 2);
    write_file(dcp, "__0_0.distcp", zip.data, zip.len);
    tc_buf_free(&zip);
    write_file(hf, "a.safetensors", tensors, sizeof tensors - 1);
    write_file(hf, "b.safetensors", tensors, sizeof tensors - 1);
}

static tc_status drop(void *self, const void *p, size_t n) {
    (void)p;
    *(size_t *)self += n;
    return NULL;
}

static void open_folder(const char *dir) {
    tc_ckpt *c;
    size_t bytes = 0;
    tc_status st = tc_ckpt_open_as(dir, (tc_ckpt_options){.raw = true, .check_all = true}, &c);
    for (size_t i = 0; !st && i < tc_ckpt_count(c); i++) {
        tc_ckpt_head h = tc_ckpt_entry_head(c, i);
        tc_status s = tc_ckpt_stream(c, i, NULL, h.dtype, (tc_sink){drop, &bytes});
        if (s) __builtin_trap();
    }
    if (!st) tc_ckpt_close(c);
    tc_status_free(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (!*dcp) make_folders();
    write_file(dcp, ".metadata", data, n);
    open_folder(dcp);
    write_file(hf, "model.safetensors.index.json", data, n);
    open_folder(hf);
    write_file(bare, "model-00001-of-00001.safetensors", data, n);
    open_folder(bare);
    return 0;
}
