/* Training data sets: named columns over samples, gathered into batches. Called by lib/train and tc-bench --data.
 *
 *     tc_dataset *d;  TC_TRY(tc_data_open(yaml of `data.train`, &options, &d));
 *     tc_sampler s;   tc_sampler_init(&s, d, batch, seed);
 *     for each micro-batch: tc_sampler_next(&s, index); tc_data_gather(d, index, batch, tensors);
 *
 * Kinds, by the key that names the file:
 *     idx          {x: IMAGES, y: LABELS}   one sample a row                                   table
 *     csv          columns of numbers, categories as one-hot                                   table
 *     names        words, one per line: windows of `context` characters, or whole words padded   table or sequences
 *     text         tokens are bytes or the characters present: windows of `block`              windows
 *     safetensors  tensors by key; a row is a sample, or a whole micro-batch (`batches: true`) table or batches
 *     images       files of a folder a class, or of a list; decoded when a batch is gathered              table */
#ifndef TC_DATA_DATA_H
#define TC_DATA_DATA_H

#include "base/file.h"
#include "base/rng.h"
#include "base/yaml.h"
#include "tensor/tensor.h"

typedef enum { TC_DATA_TABLE, TC_DATA_WINDOWS, TC_DATA_SEQUENCES, TC_DATA_BATCHES } tc_data_kind;
typedef enum { TC_ORDER_SHUFFLE, TC_ORDER_RANDOM, TC_ORDER_SEQUENTIAL, TC_ORDER_WEIGHTED } tc_data_order;

enum { TC_DATA_MAX_COLUMNS = 64, TC_DATA_MAX_WORKERS = 256 };
typedef struct {
    const char *name;
    tc_tensor data; /* leading dimension: samples (TABLE), micro-batches (BATCHES); tokens (WINDOWS, SEQUENCES; column 0) */
    bool scaled;    /* ((v / divide) - mean) / std, computed in f32 when a batch is gathered */
    double divide, mean, std;
} tc_column;

typedef struct tc_image_set tc_image_set; /* images.c */

typedef struct tc_dataset {
    tc_arena arena;
    tc_data_kind kind;
    tc_data_order order;
    tc_column col[TC_DATA_MAX_COLUMNS];
    int ncols;       /* tensors of a batch; WINDOWS and SEQUENCES: x and y */
    int64_t count;   /* samples; WINDOWS: possible starts; BATCHES: micro-batches */
    int64_t block;   /* WINDOWS: tokens of x; y is shifted by one */
    int64_t pad;     /* SEQUENCES: fills y behind the end (x: 0) */
    int64_t *offset; /* SEQUENCES: count + 1 places in the tokens; a word is its tokens with a boundary on both sides */
    int64_t limit;   /* validation: at most that many samples; 0: all */
    uint32_t *vocab;
    int64_t nvocab;        /* vocab: characters present, ascending; token t is vocab[t]. NULL: bytes */
    tc_image_set *images;  /* for column 0, whose `data` then has a dtype and no storage; or NULL */
    double *mean, *std;    /* csv: statistics of the numeric columns, for the validation rows */
    tc_tensor weights;     /* WEIGHTED: of the samples, f64 */
    int64_t draws;         /* WEIGHTED: samples of an epoch */
    bool replacement;      /* WEIGHTED: draw with replacement */
    int workers, prefetch; /* loader.h: threads that make batches, and how many batches each is ahead */
    bool any_order;        /* batches may be taken out of order */
} tc_dataset;

typedef struct {
    const char *dir;         /* base of relative paths; NULL: the working directory */
    const tc_dataset *train; /* of a validation set: vocabulary and statistics are taken from it; or NULL */
    bool commands;           /* allow "cmd:..." in place of a file */
} tc_data_options;

/* Opens a data set; node: its keys, with common keys merged in (tc_data_merge). *out is the caller's. TC_USAGE: bad recipe; TC_CONTENT: bad file. */
tc_status tc_data_open(const tc_yaml *node, const tc_data_options *options, tc_dataset **out);
void tc_data_close(tc_dataset *d); /* NULL is allowed */
/* Refuses unknown keys of `data` itself; those of its parts are checked by tc_data_open. */
tc_status tc_data_check(const tc_yaml *data);
/* The keys of `data` except train and val, overridden by those of data.`part`; NULL when there is no such part (part "train": data itself). */
tc_yaml *tc_data_merge(tc_arena *a, const tc_yaml *data, const char *part);

/* Seconds spent in stages of a gather; the rest is copying and scaling. */
typedef struct {
    double read, decode, resample;
} tc_data_times;
/* Gathers the samples index[0..n) into contiguous tensors, one per column, owned by the caller; floats in dtype `floats` (f32 or f64). times NULL: not
 * measured. Thread-safe. */
tc_status tc_data_gather(const tc_dataset *d, const int64_t *index, int64_t n, tc_dtype floats, tc_tensor *out, tc_data_times *times);
int tc_data_find(const tc_dataset *d, const char *column); /* -1 when absent */

/* ---- order ---- */
typedef struct {
    const tc_dataset *d;
    int64_t batch;
    tc_generator gen;
    int64_t *perm;     /* permutation of the current epoch */
    int64_t per_epoch; /* batches in an epoch; a last short one is dropped */
    int64_t given;     /* batches drawn so far */
} tc_sampler;

/* An epoch is one randperm of one generator(seed); RANDOM draws `batch` starts with randint; SEQUENTIAL goes through in order; WEIGHTED is
 * torch.utils.data.WeightedRandomSampler(weights, num_samples, replacement, generator), one multinomial an epoch. */
tc_status tc_sampler_init(tc_sampler *s, const tc_dataset *d, int64_t batch, uint64_t seed);
void tc_sampler_next(tc_sampler *s, int64_t *index);  /* batch entries; BATCHES: one entry, the number of the micro-batch */
void tc_sampler_seek(tc_sampler *s, int64_t batches); /* to the state after that many batches from the start */
void tc_sampler_deinit(tc_sampler *s);

/* ---- internal to lib/data: the readers ---- */
typedef struct {
    const char *dir;
    const tc_dataset *train;
    tc_yaml *idx, *normalize, *shape, *columns, *rows, *range, *size, *weights;
    const char *text, *names, *csv, *safetensors, *images, *as, *order, *target;
    int64_t block, context, pad, limit, channels, num_samples, workers, prefetch;
    bool batches, standardize, has_pad, replacement, in_order, commands;
    double target_scale;
    const tc_yaml *node, *part;
} tc_data_spec;
tc_status tc_data_read_idx(tc_dataset *d, const tc_data_spec *s);
tc_status tc_data_read_text(tc_dataset *d, const tc_data_spec *s);
tc_status tc_data_read_names(tc_dataset *d, const tc_data_spec *s);
tc_status tc_data_read_csv(tc_dataset *d, const tc_data_spec *s);
tc_status tc_data_read_safetensors(tc_dataset *d, const tc_data_spec *s);
tc_status tc_data_read_images(tc_dataset *d, const tc_data_spec *s);
tc_status tc_image_set_get(const tc_image_set *s, int64_t i, unsigned char *to, tc_data_times *times); /* as [channels, height, width] */
void tc_image_set_close(tc_image_set *s);                                                              /* NULL is allowed */
tc_status tc_data_read_order(tc_dataset *d, const tc_data_spec *s);
tc_status tc_data_read_weights(tc_dataset *d, const tc_data_spec *s); /* once the samples are known */
/* COMMAND of "cmd:COMMAND", or NULL: a file's name. */
const char *tc_data_command(const char *name);
/* The stdout of /bin/sh -c COMMAND, run in dir (NULL: the working directory) with empty stdin. TC_ENV if it fails. */
tc_status tc_data_run(const char *command, const char *dir, tc_blob **out);
/* Opens the bytes of a file or of a command's output. */
tc_status tc_data_blob(const tc_data_spec *s, const char *name, tc_blob **out);
/* Reads all of it, decompressing gzip; the caller frees out. */
tc_status tc_data_load(const tc_data_spec *s, const char *name, tc_buf *out);
/* Does row i belong to this set? `rows: {every: 10, only: 9}` or `{every: 10, except: 9}`. */
bool tc_data_takes(const tc_data_spec *s, int64_t i);

#endif
