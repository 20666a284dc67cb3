/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment: the only way to time, threads, waiting, file writes and big allocations. Two of them exist, behind
 * one table:
 *   real        pthreads, futex, the monotonic clock;
 *   controlled  (preset `controlled`) one flow of control at a time, chosen by a seeded generator at each park, wake
 *               and yield point; virtual time that jumps to the next deadline when all sleep; named faults.
 * The table is process-wide, set before the first thread is made, real by default.
 */
#ifndef TL_BASE_ENV_H
#define TL_BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"

struct tl_thread; /* made by tl__spawn, freed by tl__join */

#define TL_FOREVER UINT64_MAX

/* Monotonic nanoseconds. */
uint64_t tl__now_ns(void);

/*
 * Starts `fn(arg)`; `name` (static, at most 15 bytes) shows in debuggers and in controlled traces. The thread blocks
 * all signals but those that its own faults raise, and SIGPROF. 0 or TL_ENOMEM.
 */
int tl__spawn(const char *name, void (*fn)(void *arg), void *arg, struct tl_thread **ret_thread);
/* Waits for its end and frees it. NULL is fine. */
void tl__join(struct tl_thread *thread);

/*
 * Sleeps while *word == expected, until `deadline_ns` (tl__now_ns() scale, TL_FOREVER for none). May return early;
 * callers look again. Returns 0, or TL_ETIMEDOUT once the deadline has passed. The word may be shared between
 * processes. A short spin comes first. tl__wake wakes up to `n` sleepers (UINT32_MAX: all).
 */
int tl__park(tl_au32 *word, uint32_t expected, uint64_t deadline_ns);
void tl__wake(tl_au32 *word, uint32_t n);

/*
 * How long a waiter sleeps at most before it looks again by itself, where the other side might not ring: 100 ms. In the
 * controlled environment TL_FOREVER, so that a ring that is lost is found and not healed; there the fault look=NS sets
 * it.
 */
uint64_t tl__look_ns(void);

/* Lets others run; for bounded spins. */
void tl__relax(void);

/*
 * Files. tl__write writes all of it at `offset` (a short write is continued) and returns 0 or TL_EIO / TL_ENOSPC with
 * *ret_written bytes on the file, whole or not. tl__append is the same at the file's end, for O_APPEND files.
 * tl__sync: fdatasync. tl__sync_window starts write-back of a range and waits for an older one (rolling window).
 */
int tl__write(int fd, const void *data, size_t bytes, uint64_t offset, size_t *ret_written);
int tl__append(int fd, const void *data, size_t bytes);
int tl__sync(int fd);
void tl__sync_window(int fd, uint64_t start, uint64_t bytes, uint64_t wait_start, uint64_t wait_bytes);

/* Zeroed memory for pools and shadows, page-aligned, touched lazily; NULL when out of memory. Freed by tl__release. */
void *tl__reserve(size_t bytes);
void tl__release(void *memory, size_t bytes);
/* Takes away or gives back access to whole pages, whoever mapped them. 0; TL_ENOMEM: the system's limit on mappings. */
int tl__protect(void *memory, size_t bytes, bool access);
/* calloc / realloc / free with the environment's fault "fail the nth allocation". */
void *tl__alloc(size_t count, size_t bytes);
void *tl__realloc(void *old, size_t bytes);
void tl__free(void *memory);

/*
 * True when fault `name` is armed and due for its step; counts a step. Always false in the real environment. The value
 * given to a fault (name=value) is for whoever asks: bytes, nanoseconds; `absent` when there is none.
 */
#ifdef TASKLENS_CONTROLLED
bool tl__fault(const char *name);
uint64_t tl__fault_value(const char *name, uint64_t absent);
#else
#define tl__fault(name) false
#define tl__fault_value(name, absent) ((uint64_t)(absent))
#endif

#endif
