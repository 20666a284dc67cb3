/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hardware counter read without a system call: the kernel keeps a page for each event that says which register holds
 * it now and what is to be added, under a sequence number that is odd or different while it changes. The event counts
 * the calling thread, which alone reads the page.
 */
#ifndef TL_SIM_COUNTER_PAGE_H
#define TL_SIM_COUNTER_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <perfmon/perf_event.h>

#define TL_COUNTER_PAGE_TRIES 16u
#define TL_COUNTER_PAGE_REGISTERS UINT64_C(4) /* cap_user_rdpmc: programs may read registers */

/* The register's bits, `pmc` reading it by number. False: the kernel does not allow it, the event is in no register
 * just now, or the page changed again and again: then the event must be read by the system. */
static inline bool tl__counter_page_read(const volatile struct perf_event_mmap_page *page,
                                         uint64_t (*pmc)(uint32_t number), uint64_t *ret_value)
{
    for (unsigned i = 0; i < TL_COUNTER_PAGE_TRIES; i++) {
        uint32_t seq = page->lock, index;
        int64_t count, bits;

        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* the same thread's: the kernel writes when it is not running */
        index = page->index;
        count = page->offset;
        if ((page->capabilities & TL_COUNTER_PAGE_REGISTERS) == 0 || index == 0 || page->pmc_width == 0 ||
            page->pmc_width > 64)
            return false;
        bits = (int64_t)(pmc(index - 1) << (64 - page->pmc_width));
        count += bits >> (64 - page->pmc_width); /* the register is narrower than 64 bits, and signed */
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (page->lock == seq) {
            *ret_value = (uint64_t)count;
            return true;
        }
    }
    return false;
}

#endif
