/* SPDX-License-Identifier: Apache-2.0 */
#ifdef TASKLENS_CONTROLLED
/* The fortified longjmp takes a jump to another stack for an attack. */
#undef _FORTIFY_SOURCE

#include "base/fiber.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WITH_ASAN 1
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* At the low end of an unused stack. */
struct spare {
    struct spare *next;
    size_t bytes;
};

static _Thread_local struct spare *spares;
static _Thread_local struct tl_fiber *starting; /* makecontext passes ints only, so the fiber waits here */
static _Thread_local struct tl_fiber *left;     /* the fiber that the last switch came from */

static size_t guard_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Frames that were never returned from leave their marks in the shadow memory. */
static void forget_frames(void *stack, size_t bytes)
{
#ifdef WITH_ASAN
    __asan_unpoison_memory_region(stack, bytes);
#else
    (void)stack;
    (void)bytes;
#endif
}

static void *take_stack(size_t bytes)
{
    size_t guard = guard_bytes();
    char *map;

    for (struct spare **at = &spares; *at != NULL; at = &(*at)->next)
        if ((*at)->bytes == bytes) {
            struct spare *found = *at;

            *at = found->next;
            return found;
        }
    map = mmap(NULL, guard + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1,
               0);
    if (map == MAP_FAILED)
        return NULL;
    if (mprotect(map, guard, PROT_NONE) != 0) {
        (void)munmap(map, guard + bytes);
        return NULL;
    }
    return map + guard;
}

static void arrive(struct tl_fiber *here)
{
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(here->fake_stack, &left->bounds, &left->bounds_bytes);
#else
    (void)here;
#endif
}

static void first_frame(void)
{
    struct tl_fiber *here = starting;

    arrive(here);
    here->entry();
}

void tl__fiber_init_host(struct tl_fiber *fiber)
{
    *fiber = (struct tl_fiber){.started = true};
}

int tl__fiber_init(struct tl_fiber *fiber, size_t stack_bytes, void (*entry)(void))
{
    size_t page = guard_bytes();
    size_t bytes = (stack_bytes + page - 1) / page * page;

    *fiber = (struct tl_fiber){.stack_bytes = bytes};
    fiber->stack = take_stack(bytes);
    if (fiber->stack == NULL)
        return TL_ENOMEM;
    fiber->bounds = fiber->stack;
    fiber->bounds_bytes = bytes;
    fiber->entry = entry;
    return 0;
}

void tl__fiber_fini(struct tl_fiber *fiber)
{
    struct spare *spare = fiber->stack;

    if (spare == NULL)
        return;
    forget_frames(fiber->stack, fiber->stack_bytes);
    spare->bytes = fiber->stack_bytes;
    spare->next = spares;
    spares = spare;
    fiber->stack = NULL;
}

static _Noreturn void enter(struct tl_fiber *to)
{
    if (!to->started) {
        to->started = true;
        starting = to;
        (void)getcontext(&to->context);
        to->context.uc_stack.ss_sp = to->stack;
        to->context.uc_stack.ss_size = to->stack_bytes;
        to->context.uc_link = NULL;
        makecontext(&to->context, first_frame, 0);
        (void)setcontext(&to->context);
    }
    _longjmp(to->point, 1);
}

/* Not inlined: no variable of a caller may live in a register across the second return. */
__attribute__((noinline)) void tl__fiber_switch(struct tl_fiber *from, struct tl_fiber *to, bool ends)
{
    int kept = errno;

    left = from;
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(ends ? NULL : &from->fake_stack, to->bounds, to->bounds_bytes);
#else
    (void)ends;
#endif
    if (_setjmp(from->point) == 0)
        enter(to);
    arrive(from);
    errno = kept;
}

void tl__fiber_trim(void)
{
    size_t guard = guard_bytes();

    while (spares != NULL) {
        struct spare *next = spares->next;

        (void)munmap((char *)spares - guard, guard + spares->bytes);
        spares = next;
    }
}
#endif
