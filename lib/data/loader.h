/* Data loader: threads of its own prefetch batches ahead of the training steps.
 *
 *     tc_loader *l;  tc_loader_create(&(tc_loader_options){.set = d, .draw = next_indices, ...}, &l); // workers and prefetch: the set's keys
 *     for (;;) { TC_TRY(tc_loader_next(l, columns, &number)); if (number < 0) break; ... }
 *     tc_loader_destroy(l);
 *
 *     draw ---- 0 1 2 3 ... (one thread at a time) ---> slots [ 1: made | 2: being made | 0: made | free ] ---> next
 *
 * Batches are handed out in the order in which they were drawn, independent of the number of threads; with the set's any_order as soon as they are made,
 * the earliest first. Without workers a batch is made on demand, by the caller or, where that reads files (which may block for ever), by a thread that
 * can be abandoned. */
#ifndef TC_DATA_LOADER_H
#define TC_DATA_LOADER_H

#include "data/data.h"

typedef struct tc_loader tc_loader;

typedef struct {
    const tc_dataset *set;
    int64_t room; /* most samples per batch */
    tc_dtype floats;
    /* Writes the samples of the next batch to index[0..room) and returns their number, 0 at the end. Called by one thread at a time, ahead of need. */
    int64_t (*draw)(void *ctx, int64_t *index);
    void *ctx;
    int64_t together; /* batches that are waited for at once; 0: one */
    /* For resuming: the number of the first batch that draw returns, and (any_order) the later ones that were taken already, ascending. */
    int64_t begin;
    const int64_t *taken;
    int ntaken;
} tc_loader_options;

tc_status tc_loader_create(const tc_loader_options *options, tc_loader **out); /* copies `taken` */
/* Takes a batch: its columns, owned by the caller, and its number; *out_number -1: end of data. An error concerns that batch only. */
tc_status tc_loader_next(tc_loader *l, tc_tensor *columns, int64_t *out_number);
/* Waits at most `seconds` until the next n calls of tc_loader_next would not block; true: they would not. */
bool tc_loader_wait(tc_loader *l, int64_t n, double seconds);
/* The position for resuming after the batches taken so far: `begin`, and the numbers of later batches that were taken (the caller frees the array). */
void tc_loader_position(tc_loader *l, int64_t *out_begin, int64_t **out_taken, int *out_ntaken);
size_t tc_loader_bytes(const tc_loader *l); /* memory that prefetched batches may take; 0 before the first one, and for NULL */
/* Stops the threads, waits for them and frees l; NULL is allowed. */
void tc_loader_destroy(tc_loader *l);
/* The same without waiting, since reading a file may block for ever; the last thread to end closes the set. */
void tc_loader_abandon(tc_loader *l, tc_dataset *set);

#endif
