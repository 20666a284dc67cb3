/* SPDX-License-Identifier: Apache-2.0 */
#include "device/guard.h"

#include "base/error.h"
#include "base/guard_layout.h"
#include "base/log.h"
#include "device/device_impl.h"

/* Each closed page adds two mappings. Linux gives a process 65,530 by default (vm.max_map_count), and memory allocation
 * needs some of them. */
#define MAX_CLOSED 24576u

/* Neighbouring bytes differ, so that a kernel's stray write hardly ever equals them. */
uint8_t tl__guard_canary(uint64_t address)
{
    return (uint8_t)(0xA5u + 29u * (unsigned)(address & 0xffu));
}

uint8_t *tl__guard_at(const struct tl_device *d, uint64_t address)
{
    return d->opts.memory.base + (address - TL_DEV_BASE);
}

static void fill(const struct tl_device *d, uint64_t start, uint64_t end)
{
    for (uint64_t a = start; a < end; a++)
        *tl__guard_at(d, a) = tl__guard_canary(a);
}

static void protect(struct tl_device *d, struct tl_guarded *g, uint64_t page)
{
    g->soft = d->guard.closed >= MAX_CLOSED || tl__protect(tl__guard_at(d, page), TL_GUARD_PAGE, false) != 0;
    if (!g->soft) {
        d->guard.closed++;
        return;
    }
    fill(d, page, page + TL_GUARD_PAGE);
    if (!d->guard.soft)
        tl_log_warn(
            "--guard: no guard page is left for a buffer (at most %u are used); from here on an access past a buffer "
            "may not fault, and is found when its task is finished",
            MAX_CLOSED);
    d->guard.soft = true;
}

/* Fills the rest of the pages and closes the guard page. No other buffer uses these pages. */
static void guard(struct tl_device *d, struct tl_guarded *g, uint64_t buffer, uint64_t bytes)
{
    uint64_t page = tl__guard_page(buffer, bytes);

    g->buffer = buffer;
    g->bytes = bytes;
    g->used = true;
    fill(d, tl__guard_first(buffer), buffer);
    fill(d, buffer + bytes, page);
    protect(d, g, page);
}

/* One entry a page of each heap, touched as far as the heap is used. */
static int make_heaps(struct tl_device *d)
{
    for (unsigned i = 0; i < TL_GRAPH_RINGS; i++) {
        struct tl_guard_heap *h = &d->guard.heap[i];
        uint64_t bytes = d->launch->heap_bytes[i];

        h->start = d->launch->heap[i];
        tl__guard_heap(d, &h->start, &bytes);
        h->pages = bytes / TL_GUARD_PAGE;
        h->of_page = h->pages != 0 ? tl__reserve(h->pages * sizeof(*h->of_page)) : NULL;
        if (h->pages != 0 && h->of_page == NULL)
            return TL_ENOMEM;
    }
    return 0;
}

int tl__guard_begin(struct tl_device *d)
{
    const struct tl_launch *l = d->launch;
    const struct tl_tensor *tensors = tl__dev_ptr(&d->opts.memory, l->tensors, l->n_tensors * sizeof(*tensors));

    d->guard.align = l->guard;
    d->guard.soft = false;
    d->guard.closed = 0;
    d->guard.n_program = 0;
    if (l->guard == 0)
        return 0;
    if (make_heaps(d) < 0)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < l->n_tensors && i < TL_MAX_PROGRAM_ARGS; i++) {
        const struct tl_tensor *t = &tensors[i];
        uint64_t before = tl__guard_first(t->buffer) - TL_GUARD_PAGE;
        uint64_t end = tl__guard_page(t->buffer, t->buffer_bytes) + TL_GUARD_PAGE;

        if (tl__dev_ptr(&d->opts.memory, before, end - before) == NULL)
            return TL_ECORRUPT;
        d->guard.program[i] = (struct tl_guarded){.owner = TL_NO_TASK, .arg = i};
        guard(d, &d->guard.program[i], t->buffer, t->buffer_bytes);
        /* The host has left a page before it too. If that cannot be closed, the canary guards it. */
        (void)tl__protect(tl__guard_at(d, before), TL_GUARD_PAGE, false);
        d->guard.n_program++;
    }
    return 0;
}

void tl__guard_heap(const struct tl_device *d, uint64_t *heap, uint64_t *bytes)
{
    uint64_t end = (*heap + *bytes) & ~(TL_GUARD_PAGE - 1), start = tl__guard_up(*heap, TL_GUARD_PAGE);

    if (d->launch->guard == 0 || *bytes == 0)
        return;
    *heap = start;
    *bytes = end > start ? end - start : 0;
}

static struct tl_guarded *entry_of(const struct tl_device *d, unsigned ring, uint64_t buffer)
{
    const struct tl_guard_heap *h = &d->guard.heap[ring];
    uint64_t page = (buffer - h->start) / TL_GUARD_PAGE;

    return buffer >= h->start && page < h->pages ? &h->of_page[page] : NULL;
}

static void guard_output(struct tl_device *d, const struct tl_plan *plan, uint32_t arg, uint64_t buffer, uint64_t bytes)
{
    struct tl_guarded *g = entry_of(d, plan->ring, buffer);
    uint64_t first = tl__guard_first(buffer), bytes_taken = tl__guard_page(buffer, bytes) + TL_GUARD_PAGE - first;

    if (g == NULL)
        return;
    for (uint64_t i = 0; i < bytes_taken / TL_GUARD_PAGE; i++) { /* buffers that were there before */
        d->guard.closed -= g[i].used && !g[i].soft;
        g[i].used = false;
    }
    /* Opens their guard pages too. That joins mappings and so cannot fail. */
    (void)tl__protect(tl__guard_at(d, first), bytes_taken, true);
    g->owner = plan->id;
    g->arg = arg;
    guard(d, g, buffer, bytes);
}

void tl__guard_plan(struct tl_device *d, const struct tl_plan *plan, struct tl_tensor *const *tensors, uint32_t count)
{
    if (d->guard.align == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        guard_output(d, plan, i, tensors[i]->buffer, tensors[i]->buffer_bytes);
    for (uint32_t i = 0; plan->args != NULL && i < plan->args->n_tensors; i++)
        if (plan->args->tensors[i].direction == TL_OUT)
            guard_output(d, plan, i, plan->out_buffer[i], plan->out_bytes[i]);
}

const struct tl_guarded *tl__guard_find(const struct tl_device *d, const struct tl_tensor *t)
{
    const struct tl_guarded *g = NULL;

    if (t->owner != TL_NO_TASK && tl__task_ring(t->owner) < TL_GRAPH_RINGS)
        g = entry_of(d, tl__task_ring(t->owner), t->buffer);
    for (uint32_t i = 0; t->owner == TL_NO_TASK && g == NULL && i < d->guard.n_program; i++)
        if (d->guard.program[i].buffer == t->buffer)
            g = &d->guard.program[i];
    return g != NULL && g->used && g->buffer == t->buffer && g->owner == t->owner ? g : NULL;
}

void tl__guard_end(struct tl_device *d)
{
    if (d->guard.align == 0 || d->stuck) /* a kernel still runs: the canaries mean nothing, and no run follows */
        return;
    if (tl_load_rlx(&d->status->code) == 0) /* relaxed: the run is over */
        tl__guard_check_all(d);
    (void)tl__protect(d->opts.memory.base, d->opts.memory.bytes, true);
    for (unsigned r = 0; r < TL_GRAPH_RINGS; r++) {
        tl__release(d->guard.heap[r].of_page, d->guard.heap[r].pages * sizeof(struct tl_guarded));
        d->guard.heap[r].of_page = NULL;
        d->guard.heap[r].pages = 0;
    }
    d->guard.align = 0;
}
