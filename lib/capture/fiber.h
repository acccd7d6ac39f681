/* Fibers: a function on a stack of its own, in the calling thread. Crossing between stacks costs less than a microsecond, where starting a thread and
 * waiting for it costs tens, and far more on a machine whose other cores sleep.
 *
 *     tc_fiber self, caller;
 *     tc_fiber_begin(&self, lowest, size, fn, arg);
 *     tc_fiber_cross(&caller, &self);      runs fn(arg) until it crosses back or returns
 *     tc_fiber_end(&self);                 after fn returned */
#ifndef TC_CAPTURE_FIBER_H
#define TC_CAPTURE_FIBER_H

#include <stddef.h>
#include <ucontext.h>

typedef struct tc_fiber {
    ucontext_t at;
    void (*fn)(void *);
    void *arg;
    struct tc_fiber *from; /* who crossed to it last */
    const void *bottom;    /* its stack */
    size_t size;
    void *fake;   /* of AddressSanitizer */
    void *thread; /* of ThreadSanitizer */
} tc_fiber;

void tc_fiber_begin(tc_fiber *f, void *lowest, size_t size, void (*fn)(void *), void *arg);
void tc_fiber_cross(tc_fiber *from, tc_fiber *to); /* returns when another fiber crosses to `from` */
void tc_fiber_end(tc_fiber *f);

#endif
