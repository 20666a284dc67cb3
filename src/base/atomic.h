/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomics with the order in the name. Every use carries a label at its site and names its partner:
 *     tl_store_rel(&l->ready_tail, t);   // R1: publishes the entry; pairs with A1 in tl__ring_pop
 * In the preset `controlled` each is also a yield point of the environment, so that one seed is one interleaving.
 */
#ifndef TL_BASE_ATOMIC_H
#define TL_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdint.h>

#ifdef TASKLENS_CONTROLLED
void tl__env_yield_point(void);
#define TL__POINT() tl__env_yield_point()
#else
#define TL__POINT() ((void)0)
#endif

typedef _Atomic uint32_t tl_au32;
typedef _Atomic uint64_t tl_au64;

#define tl_load_rlx(p) (TL__POINT(), atomic_load_explicit((p), memory_order_relaxed))
#define tl_load_acq(p) (TL__POINT(), atomic_load_explicit((p), memory_order_acquire))
#define tl_store_rlx(p, v) (TL__POINT(), atomic_store_explicit((p), (v), memory_order_relaxed))
#define tl_store_rel(p, v) (TL__POINT(), atomic_store_explicit((p), (v), memory_order_release))
#define tl_add_rlx(p, v) (TL__POINT(), atomic_fetch_add_explicit((p), (v), memory_order_relaxed))
#define tl_add_rel(p, v) (TL__POINT(), atomic_fetch_add_explicit((p), (v), memory_order_release))
#define tl_add_acq_rel(p, v) (TL__POINT(), atomic_fetch_add_explicit((p), (v), memory_order_acq_rel))
#define tl_sub_acq_rel(p, v) (TL__POINT(), atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel))
#define tl_or_acq_rel(p, v) (TL__POINT(), atomic_fetch_or_explicit((p), (v), memory_order_acq_rel))
#define tl_and_acq_rel(p, v) (TL__POINT(), atomic_fetch_and_explicit((p), (v), memory_order_acq_rel))
#define tl_xchg_acq_rel(p, v) (TL__POINT(), atomic_exchange_explicit((p), (v), memory_order_acq_rel))
#define tl_cas_acq_rel(p, expected, v)                                                                                 \
    (TL__POINT(),                                                                                                      \
     atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel, memory_order_acquire))
/* ThreadSanitizer does not model fences. There a fence is a read-modify-write of one word that all share: stronger than
 * what it stands for, and seen. */
#if defined(__SANITIZE_THREAD__)
#define TL__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TL__TSAN 1
#endif
#endif
#ifdef TL__TSAN
extern tl_au32 tl__tsan_fence; /* base/env.c */
#define TL__FENCE(order) ((void)atomic_fetch_add_explicit(&tl__tsan_fence, 0, memory_order_acq_rel))
#else
#define TL__FENCE(order) atomic_thread_fence(order)
#endif
#define tl_fence_acq() TL__FENCE(memory_order_acquire)
#define tl_fence_rel() TL__FENCE(memory_order_release)
#define tl_fence_full() (TL__POINT(), TL__FENCE(memory_order_seq_cst))

#endif
