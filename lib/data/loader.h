/* Batches put together ahead of whoever computes with them, by threads of the loader's own.
 *
 *     tc_loader *l;  tc_loader_create(&(tc_loader_options){.set = d, .draw = next_indices, ...}, &l); // threads as the set's keys say
 *     for (;;) { TC_TRY(tc_loader_next(l, columns, &number)); if (number < 0) break; ... }
 *     tc_loader_destroy(l);
 *
 *     draw ---- 0 1 2 3 ... (one thread at a time) ---> slots [ 1: made | 2: being made | 0: made | free ] ---> next
 *
 * Batches come in the order in which they were drawn, and are the same for any number of threads; with the set's any_order a batch comes as
 * soon as it is made, the earliest of those that are. Without workers a batch is made when it is asked for: by who takes it, or, where
 * that reads files, which may never come, by a thread that need not be waited for. */
#ifndef TC_DATA_LOADER_H
#define TC_DATA_LOADER_H

#include "data/data.h"

typedef struct tc_loader tc_loader;

typedef struct {
    const tc_dataset *set;
    int64_t room; /* the most samples of a batch */
    tc_dtype floats;
    /* The samples of the next batch into index[0..room); returns how many, 0 at the end. Called by one thread at a time, ahead of need. */
    int64_t (*draw)(void *ctx, int64_t *index);
    void *ctx;
    int64_t together; /* batches that are waited for at once; 0: one */
    /* Going on: the number of the first batch that draw gives, and (any_order) those from there on that were taken already, ascending. */
    int64_t begin;
    const int64_t *taken;
    int ntaken;
} tc_loader_options;

tc_status tc_loader_create(const tc_loader_options *options, tc_loader **out); /* copies `taken` */
/* The columns of a batch, owned by the caller, and its number; *out_number -1 at the end. An error is of that batch alone. */
tc_status tc_loader_next(tc_loader *l, tc_tensor *columns, int64_t *out_number);
/* Waits at most so many seconds until the next n calls of tc_loader_next would not, all together; true when they would not. */
bool tc_loader_wait(tc_loader *l, int64_t n, double seconds);
/* What to go on with after the batches that were taken so far: begin, and numbers of taken batches behind it (free them). */
void tc_loader_position(tc_loader *l, int64_t *out_begin, int64_t **out_taken, int *out_ntaken);
size_t tc_loader_bytes(const tc_loader *l); /* memory that batches made ahead may take, once one was made; before, and of NULL: 0 */
/* Ends the threads after what they are doing, and waits for them; NULL is allowed. */
void tc_loader_destroy(tc_loader *l);
/* The same without waiting, for a file may never come: nothing is drawn any more, and the last thread to end closes the set. */
void tc_loader_abandon(tc_loader *l, tc_dataset *set);

#endif
