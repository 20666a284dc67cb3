/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines for the controlled environment: a stack each, and a switch without system call. All fibers of a group
 * stay on one thread. Stacks have a guard page below, and are kept by the thread for reuse.
 */
#ifndef TL_BASE_FIBER_H
#define TL_BASE_FIBER_H

#ifdef TASKLENS_CONTROLLED

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct tl_fiber {
    jmp_buf point;      /* where it left off, once started */
    ucontext_t context; /* where it starts */
    void (*entry)(void);
    bool started;
    void *stack; /* NULL for the thread's own */
    size_t stack_bytes;
    const void *bounds; /* the stack as AddressSanitizer knows it */
    size_t bounds_bytes;
    void *fake_stack; /* AddressSanitizer's */
};

/* The thread's own stack, as a fiber to come back to. */
void tl__fiber_init_host(struct tl_fiber *fiber);
/* Will run entry() on its first switch; entry must end by a switch with `ends`. 0 or TL_ENOMEM. */
int tl__fiber_init(struct tl_fiber *fiber, size_t stack_bytes, void (*entry)(void));
/* Gives its stack back; not the running one. What was on it is gone. */
void tl__fiber_fini(struct tl_fiber *fiber);
/* Leaves `from`, the running one, for `to`. With `ends`, `from` will not be switched to again. Keeps errno. */
void tl__fiber_switch(struct tl_fiber *from, struct tl_fiber *to, bool ends);
/* Unmaps the calling thread's unused stacks. */
void tl__fiber_trim(void);

#endif
#endif
