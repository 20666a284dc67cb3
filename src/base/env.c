/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/env_ops.h"
#include "base/error.h"

/* A huge page of x86-64 and of AArch64 with 4 KiB pages. Elsewhere the hint is merely not followed. */
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

#ifdef TL__TSAN
tl_au32 tl__tsan_fence;
#endif

#ifdef TASKLENS_CONTROLLED
static _Thread_local const struct tl_env_ops *env = &tl__env_real;

void tl__env_set_ops(const struct tl_env_ops *ops)
{
    env = ops != NULL ? ops : &tl__env_real;
}
#else
static const struct tl_env_ops *const env = &tl__env_real;
#endif

uint64_t tl__now_ns(void)
{
    return env->now_ns();
}

int tl__spawn(const char *name, void (*fn)(void *arg), void *arg, struct tl_thread **ret_thread)
{
    return env->spawn(name, fn, arg, ret_thread);
}

void tl__join(struct tl_thread *thread)
{
    if (thread != NULL)
        env->join(thread);
}

int tl__park(tl_au32 *word, uint32_t expected, uint64_t deadline_ns)
{
    return env->park(word, expected, deadline_ns);
}

void tl__wake(tl_au32 *word, uint32_t n)
{
    if (n != 0)
        env->wake(word, n);
}

uint64_t tl__look_ns(void)
{
    return env->look_ns();
}

void tl__relax(void)
{
    env->relax();
}

int tl__write(int fd, const void *data, size_t bytes, uint64_t offset, size_t *ret_written)
{
    const char *from = data;
    size_t done = 0;
    int rc = 0;

    while (done < bytes) {
        ssize_t n = env->write_some(fd, from + done, bytes - done, offset + done);

        if (n < 0) {
            rc = (int)n;
            break;
        }
        done += (size_t)n;
    }
    if (ret_written != NULL)
        *ret_written = done;
    return rc;
}

int tl__append(int fd, const void *data, size_t bytes)
{
    const char *from = data;
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = env->write_some(fd, from + done, bytes - done, TL_ENV_APPEND);

        if (n < 0)
            return (int)n;
        done += (size_t)n;
    }
    return 0;
}

int tl__sync(int fd)
{
    return env->sync(fd);
}

void tl__sync_window(int fd, uint64_t start, uint64_t bytes, uint64_t wait_start, uint64_t wait_bytes)
{
    env->sync_window(fd, start, bytes, wait_start, wait_bytes);
}

static bool may_alloc(void)
{
    return env->may_alloc == NULL || env->may_alloc();
}

static void *counted(void *made)
{
    if (made != NULL && env->count_alloc != NULL)
        env->count_alloc(1);
    return made;
}

static void count_freed(void)
{
    if (env->count_alloc != NULL)
        env->count_alloc(-1);
}

static size_t page_round(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (bytes == 0)
        return page;
    return bytes > SIZE_MAX - page ? 0 : (bytes + page - 1) / page * page;
}

static void *map_lazily(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

void *tl__reserve(size_t bytes)
{
    size_t size = page_round(bytes), before, after;
    char *raw, *start;

    if (size == 0 || !may_alloc())
        return NULL;
    if (size < HUGE_PAGE_BYTES)
        return counted(map_lazily(size));
    if (size > SIZE_MAX - HUGE_PAGE_BYTES)
        return NULL;
    /* Only whole, aligned huge pages can be huge: map some more, and give back what is around. */
    raw = map_lazily(size + HUGE_PAGE_BYTES);
    if (raw == NULL)
        return NULL;
    before = (HUGE_PAGE_BYTES - (uintptr_t)raw % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    after = HUGE_PAGE_BYTES - before;
    start = raw + before;
    if (before != 0)
        (void)munmap(raw, before);
    if (after != 0)
        (void)munmap(start + size, after);
    /* A hint; systems without transparent huge pages refuse it and lose speed only. */
    (void)madvise(start, size, MADV_HUGEPAGE);
    return counted(start);
}

void tl__release(void *memory, size_t bytes)
{
    if (memory == NULL)
        return;
    (void)munmap(memory, page_round(bytes));
    count_freed();
}

int tl__protect(void *memory, size_t bytes, bool access)
{
    return mprotect(memory, bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE) == 0 ? 0 : TL_ENOMEM;
}

void *tl__alloc(size_t count, size_t bytes)
{
    if (!may_alloc())
        return NULL;
    /* Never NULL for nothing: callers take NULL for "out of memory". */
    return counted(count == 0 || bytes == 0 ? calloc(1, 1) : calloc(count, bytes));
}

void *tl__realloc(void *old, size_t bytes)
{
    if (!may_alloc())
        return NULL;
    bytes = bytes == 0 ? 1 : bytes;
    return old == NULL ? counted(malloc(bytes)) : realloc(old, bytes);
}

void tl__free(void *memory)
{
    if (memory == NULL)
        return;
    free(memory);
    count_freed();
}
