/* Crossing between stacks by ucontext, as the sanitizers must be told. See fiber.h. */
#include "capture/fiber.h"

#include <stdbool.h>
#include <stdint.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define TC_FIBERS_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TC_FIBERS_TSAN 1
#endif

/* last: `from` will not be resumed. */
static void leave(tc_fiber *from, tc_fiber *to, bool last) {
    (void)from, (void)to, (void)last;
#ifdef TC_FIBERS_ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &from->fake, to->bottom, to->size);
#endif
#ifdef TC_FIBERS_TSAN
    from->thread = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->thread, 0);
#endif
}

static void arrive(tc_fiber *self, void *fake) {
    (void)self, (void)fake;
#ifdef TC_FIBERS_ASAN
    __sanitizer_finish_switch_fiber(fake, &self->from->bottom, &self->from->size);
#endif
}

static void swap(tc_fiber *from, tc_fiber *to) {
#ifdef TC_FIBERS_ASAN
    volatile bool back = false; /* AddressSanitizer warns on stderr of any swapcontext */
    getcontext(&from->at);
    if (back) return;
    back = true;
    setcontext(&to->at);
#else
    swapcontext(&from->at, &to->at);
#endif
}

void tc_fiber_cross(tc_fiber *from, tc_fiber *to) {
    to->from = from;
    leave(from, to, false);
    swap(from, to);
    arrive(from, from->fake);
}

static void entry(unsigned high, unsigned low) {
    tc_fiber *f = (tc_fiber *)(((uintptr_t)high << 32) | low);
    arrive(f, NULL);
    f->fn(f->arg);
    f->from->from = f;
    leave(f, f->from, true);
    setcontext(&f->from->at);
}

void tc_fiber_begin(tc_fiber *f, void *lowest, size_t size, void (*fn)(void *), void *arg) {
    f->fn = fn, f->arg = arg, f->from = NULL, f->fake = NULL, f->thread = NULL;
    f->bottom = lowest, f->size = size;
#ifdef TC_FIBERS_TSAN
    f->thread = __tsan_create_fiber(0);
#endif
    getcontext(&f->at);
    f->at.uc_stack.ss_sp = lowest, f->at.uc_stack.ss_size = size;
    f->at.uc_link = NULL;
    makecontext(&f->at, (void (*)(void))entry, 2, (unsigned)((uintptr_t)f >> 32), (unsigned)(uintptr_t)f);
}

void tc_fiber_end(tc_fiber *f) {
    (void)f;
#ifdef TC_FIBERS_TSAN
    __tsan_destroy_fiber(f->thread);
#endif
}
