/* Programs: any text as models/model.json, read, functionalised, verified and written again. */
#include "fuzz.h"

#include "file/pt2.h"
#include "file/pt2_write.h"
#include "op/functionalise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const char config[] = "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": false, \"tensor_meta\": "
                                 "{\"dtype\": 7, \"sizes\": [{\"as_int\": 4}, {\"as_int\": 4}],"
                                 " \"requires_grad\": true, \"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": [{\"as_int\": 4}, "
                                 "{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}}}}";
    static const float weight[16];
    tc_buf zip = {0}, text = {0};
    tc_archive *a;
    tc_program *p;
    make_zip(&zip,
             (member[]){{"a/data/weights/weight_0", weight, sizeof weight},
                        {"a/data/weights/model_weights_config.json", config, sizeof config - 1},
                        {"a/models/model.json", data, n}},
             3);
    tc_blob b = borrowed(zip.data, zip.len);
    tc_status st = tc_archive_open(&b, &a);
    if (!st) {
        st = tc_archive_program(a, "model", &p);
        if (!st) {
            st = tc_functionalise(p);
            if (!st) st = tc_program_verify(p);
            if (!st) st = tc_pt2_write_program(p, &text);
            tc_program_release(p);
        }
        tc_archive_close(a);
    }
    tc_status_free(st);
    tc_buf_free(&zip);
    tc_buf_free(&text);
    return 0;
}
