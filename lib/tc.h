/* The public interface of libtc: programs that PyTorch's torch.export wrote, or tc-export, run from C.
 *
 *     tc_model *m;
 *     tc_array *x, *y = NULL;
 *     tc_check(tc_model_open("mlp.pt2", NULL, 0, &m));
 *     tc_check(tc_array_from_blob(data, "f32", 2, (int64_t[]){5, 16}, NULL, NULL, NULL, &x));
 *     tc_check(tc_model_run(m, &x, 1, &y, 1));
 *     use(tc_array_data(y), tc_array_size(y, 0));
 *     tc_array_release(y); tc_array_release(x); tc_model_close(m);
 *
 * Ownership: what a function puts in an out-parameter is the caller's, to be released with the function named. Strings that are
 * returned live as long as the handle they came from. Threads: any number may run one model and replace its weights; other handles are used
 * by one thread at a time; reference counts of arrays are atomic. Nothing here prints, exits or changes global state.
 * Versions are semantic: within TC_VERSION_MAJOR nothing that is declared here changes its meaning. */
#ifndef TC_H
#define TC_H

#include <stddef.h>
#include <stdint.h>

#define TC_VERSION_MAJOR 0
#define TC_VERSION_MINOR 1

#ifdef __cplusplus
extern "C" {
#endif
#define TC_API __attribute__((visibility("default")))

/* ---- failures: NULL is success; anything else is released by tc_failure_release ---- */
typedef struct tc_failure tc_failure;
TC_API int tc_failure_code(const tc_failure *f);            /* the exit codes of the programs: 1 environment, 2 usage, 3 content, 5 not supported */
TC_API const char *tc_failure_message(const tc_failure *f); /* one line */
TC_API void tc_failure_release(tc_failure *f);              /* NULL is allowed */

/* ---- arrays: reference-counted, strided, of any element type of tc (names as on the command line: "f32", "i64", "bf16", "bool", ...) ---- */
typedef struct tc_array tc_array;
/* Wraps memory without copying. strides in elements, not negative; NULL: contiguous. deleter(ctx, data) is called once, when the last
 * reference is gone, or at once on failure; NULL: the caller keeps data alive. */
TC_API tc_failure *tc_array_from_blob(void *data, const char *dtype, int rank, const int64_t *size, const int64_t *strides,
                                      void (*deleter)(void *ctx, void *data), void *ctx, tc_array **out);
TC_API tc_failure *tc_array_empty(const char *dtype, int rank, const int64_t *size, tc_array **out); /* uninitialised, 64-byte aligned */
TC_API tc_array *tc_array_retain(tc_array *a);
TC_API void tc_array_release(tc_array *a); /* NULL is allowed */
TC_API const char *tc_array_dtype(const tc_array *a);
TC_API int tc_array_rank(const tc_array *a);
TC_API int64_t tc_array_size(const tc_array *a, int dim);
TC_API int64_t tc_array_stride(const tc_array *a, int dim);
TC_API void *tc_array_data(const tc_array *a); /* the first element */
/* DLPack 1.x (struct DLManagedTensorVersioned of dlpack.h). to: the caller calls its deleter. from: takes m over, also on failure. An array that
 * was lent as read-only is lent on as read-only, and refused (code 2) where a run would write to it. */
struct DLManagedTensorVersioned;
TC_API tc_failure *tc_array_to_dlpack(const tc_array *a, struct DLManagedTensorVersioned **out);
TC_API tc_failure *tc_array_from_dlpack(struct DLManagedTensorVersioned *m, tc_array **out);

/* ---- models: one program of a .pt2 archive, with its weights mapped and its state (buffers) kept between runs ---- */
typedef struct tc_model tc_model;
/* name NULL: the only program, else "model". threads 0: as many as this process may use. Native code in the archive is not run. */
TC_API tc_failure *tc_model_open(const char *path, const char *name, int threads, tc_model **out);
TC_API void tc_model_close(tc_model *m); /* NULL is allowed; arrays that a run made stay valid */
TC_API int tc_model_input_count(const tc_model *m);
TC_API const char *tc_model_input_name(const tc_model *m, int i); /* "x", "past.0" */
TC_API const char *tc_model_input_type(const tc_model *m, int i); /* "f32[B, 16]" */
TC_API int tc_model_output_count(const tc_model *m);
TC_API const char *tc_model_output_name(const tc_model *m, int i);
TC_API const char *tc_model_output_type(const tc_model *m, int i);
TC_API void tc_model_seed(tc_model *m, uint64_t seed); /* torch.manual_seed for random operators; 0 until then */
/* One run. inputs in order, all given; outputs[i] is made, contiguous, when it is NULL (the caller's to release), else written into when its
 * type and sizes are right. Inputs that the program mutates are written in place, others are only read. Runs of several threads go on at
 * once, each with intermediate memory of its own, kept for the next; those of a program that changes its buffers or draws random numbers
 * wait for each other. */
TC_API tc_failure *tc_model_run(tc_model *m, tc_array *const *inputs, int ninputs, tc_array **outputs, int noutputs);
/* Weights, buffers and constants by name, all n or none: code 3 naming the first that the model lacks or whose type or sizes differ. Shares
 * the arrays, which must not be written afterwards; of a model whose runs wait for each other copies are taken. Runs that have begun end with the old ones, those that begin later have all the new. */
TC_API tc_failure *tc_model_set_weights(tc_model *m, const char *const *names, tc_array *const *arrays, int n);

/* ---- tuning, and products of the caller's own ---- */
/* c[i * c_row + j] = sum over l of a[i * a_row + l * a_col] b[l * b_row + j * b_col]: m x k by k x n, float32, none of them 0; what c held is not read.
 * Called from one thread of a run at a time, of several runs at once; may use `threads` threads. Returns 0, or not 0 for sizes or steps that it does
 * not compute, before it writes. */
typedef int (*tc_gemm_fn)(void *ctx, int threads, int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b,
                          int64_t b_row, int64_t b_col, float *c, int64_t c_row);
/* A candidate for every product of float32 of models that are tuned afterwards; at most six, for the life of the process. */
TC_API tc_failure *tc_gemm_register(tc_gemm_fn fn, void *ctx);
/* Runs the model, which has not run yet, for at most about so many seconds with these inputs, which are only read, and keeps for its runs
 * at their sizes how loops, products and convolutions were fastest: tiles, packing, registered products. rounds 0: results keep their bits,
 * and a product with others is not chosen; else it may be. */
TC_API tc_failure *tc_model_tune(tc_model *m, tc_array *const *inputs, int ninputs, double seconds, int rounds);

#ifdef __cplusplus
}
#endif
#endif
