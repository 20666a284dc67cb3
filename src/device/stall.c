/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a run without progress: one line for each stuck task, and the outputs of tasks that still run. */
#include "device/stall.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "base/log.h"
#include "device/device_impl.h"
#include "device/dump_probe.h"

#define MAX_LINES 16u /* tasks reported one by one; the rest are counted */

/* A line under construction; what does not fit is cut. */
struct line {
    char *text;
    size_t size, used;
};

static void put(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *l, const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = tl__vformat(l->text + l->used, l->size - l->used, format, ap);
    va_end(ap);
    assert(l->used < l->size);
    if (n > 0)
        l->used += (size_t)n < l->size - l->used ? (size_t)n : l->size - l->used - 1;
}

static void put_task(struct line *l, const struct tl_slot *slot)
{
    const char *between = "";

    put(l, "task r%ut%u ", tl__task_ring(slot->payload->id), tl__task_local(slot->payload->id));
    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        if (slot->kernels[k] != NULL) {
            put(l, "%s\"%s\"", between, slot->kernels[k]->name);
            between = " + ";
        }
}

static void put_args(struct line *l, const struct tl_slot *slot)
{
    static const char *const direction[] = {"no_dep", "in", "out", "inout", "out", "scalar"};
    const struct tl_task_payload *p = slot->payload;
    const uint64_t *scalars = tl__payload_scalars(p);

    for (uint32_t i = 0; i < p->n_tensors; i++) {
        put(l, "%s %u %s %s[", i == 0 ? "; args:" : ",", i, direction[p->direction[i] % 6],
            tl_dtype_name(p->tensors[i].dtype));
        for (unsigned k = 0; k < p->tensors[i].rank && k < TL_MAX_DIMS; k++)
            put(l, "%s%u", k == 0 ? "" : ",", p->tensors[i].shape[k]);
        put(l, "]");
    }
    for (uint32_t i = 0; i < p->n_scalars; i++) {
        float f;

        put(l, "%s %u ", i + p->n_tensors == 0 ? "; args:" : ",", p->n_tensors + i);
        if (p->scalar_dtype[i] == TL_FLOAT32) {
            memcpy(&f, &scalars[i], sizeof(f));
            put(l, "%g", (double)f);
        } else {
            put(l, "%s 0x%llx", tl_dtype_name(p->scalar_dtype[i]), (unsigned long long)scalars[i]);
        }
    }
}

/* A core that has a subtask of `slot` and has not finished it, preferably one that runs it; *ret_n: the number of the
 * subtask on that core. */
static struct tl_core_role *core_of(struct tl_device *d, const struct tl_slot *slot, uint32_t *ret_n)
{
    struct tl_core_role *found = NULL;

    for (uint32_t i = 0; i < d->n_cores; i++) {
        struct tl_core_role *core = &d->cores[i];

        assert(core->sent - core->seen <= 2); /* DI3 */
        for (uint32_t n = core->seen; n != core->sent; n++) {
            bool runs = n == core->seen && tl_load_rlx(&core->running) != 0; /* relaxed: nothing moves */

            if (core->token[n & 1].slot != slot || (found != NULL && !runs))
                continue;
            found = core;
            *ret_n = n;
            if (runs)
                return core;
        }
    }
    return found;
}

static void put_waits(struct line *l, const struct tl_device *d, const struct tl_slot *slot)
{
    const struct tl_ring *ring = &d->rings[slot->ring];
    unsigned reported = 0;

    put(l, "WAITING");
    for (uint32_t i = 0, at = slot->dep_at; i < slot->n_deps && reported < 4; i++, at = tl__dep_next(ring, at)) {
        const struct tl_dep *dep = &ring->deps[at];

        if ((dep->flags & TL_EDGE_WAIT) == 0 || tl_load_acq(&dep->pred->fanout) == TL_FANOUT_CLOSED) /* D3 */
            continue;
        put(l, "%s r%ut%u", reported == 0 ? " for" : "", tl__task_ring(dep->pred->payload->id),
            tl__task_local(dep->pred->payload->id));
        reported++;
    }
    put(l, reported == 0 ? ", although all before it is complete" : "");
}

static unsigned threads_in_kernels(struct tl_device *d)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < d->n_cores; i++)
        n += tl_load_rlx(&d->cores[i].running); /* relaxed: nothing moves */
    return n;
}

static void put_state(struct line *l, struct tl_device *d, struct tl_slot *slot)
{
    uint32_t n = 0;
    struct tl_core_role *core = core_of(d, slot, &n);
    const char *type = core != NULL && core->kind == TL_KIND_AIC ? "AIC" : "AIV";

    put(l, " ");
    if (tl_load_rlx(&slot->waits) != 0) { /* relaxed, all: nothing moves */
        put_waits(l, d, slot);
    } else if (core == NULL) {
        put(l, "READY, but no core takes it");
    } else if (n != core->seen) {
        const struct tl_task_payload *first = core->token[core->seen & 1].slot->payload;

        put(l, "PENDING on %s core %u behind r%ut%u", type, core->id, tl__task_ring(first->id),
            tl__task_local(first->id));
    } else if (tl_load_rlx(&core->running) != 0) {
        put(l, "RUNNING on %s core %u: its kernel does not return", type, core->id);
    } else {
        put(l, "DISPATCHED to %s core %u, which does not acknowledge it", type, core->id);
        if (threads_in_kernels(d) >= d->opts.threads)
            put(l, ": every thread of the simulator is in a kernel (--sim-threads)");
    }
}

static bool is_stuck(const struct tl_slot *slot)
{
    return slot->payload != NULL && tl_load_acq(&slot->fanout) != TL_FANOUT_CLOSED; /* D3 */
}

/* Running tasks first: they are the cause, the waiting ones the consequence. */
static unsigned report_tasks(struct tl_device *d, bool waiting, unsigned stuck, struct line *first)
{
    for (unsigned r = 0; r < TL_GRAPH_RINGS; r++) {
        struct tl_ring *ring = &d->rings[r];
        uint32_t head = tl_load_acq(&ring->head); /* S2: the slots below */

        assert(tl__sched_is_locked(&d->scheds[0])); /* DI4: what the lines report does not change */
        for (uint32_t local = tl_load_rlx(&ring->tail); ring->slots != NULL && local != head; local++) {
            struct tl_slot *slot = &ring->slots[local & (ring->window - 1)];
            char text[800];
            struct line l = {text, sizeof(text), 0};

            if (!is_stuck(slot) || (tl_load_rlx(&slot->waits) != 0) != waiting)
                continue;
            if (stuck++ >= MAX_LINES)
                continue;
            put_task(&l, slot);
            put_state(&l, d, slot);
            if (first->used == 0)
                put(first, "%s", text);
            put_args(&l, slot);
            tl_log_error("[STALL] %s", text);
        }
    }
    return stuck;
}

/* With every scheduler's lock, what the lines report does not change. No role blocks, so each lock is released soon. */
static void lock_all(struct tl_device *d)
{
    for (uint32_t i = 0; i < d->n_scheds; i++) {
        uint32_t unlocked = 0;

        while (!tl_cas_acq_rel(&d->scheds[i].lock, &unlocked, 1u)) { /* D7 */
            unlocked = 0;
            tl__relax();
        }
    }
}

static void unlock_all(struct tl_device *d)
{
    for (uint32_t i = 0; i < d->n_scheds; i++)
        tl_store_rel(&d->scheds[i].lock, 0u); /* D7 */
}

void tl__stall_lines(struct tl_device *d, uint64_t still_ns, char *text, size_t n)
{
    char first[500] = "";
    struct line l = {first, sizeof(first), 0};
    unsigned active, stuck;

    lock_all(d);
    active = report_tasks(d, false, 0, &l);
    stuck = report_tasks(d, true, active, &l);
    unlock_all(d);
    if (stuck > MAX_LINES)
        tl_log_error("[STALL] and %u more", stuck - MAX_LINES);
    (void)tl__format(text, n, "no progress for %.1f s with %u of %llu tasks unfinished%s: %s", (double)still_ns / 1e9,
                     stuck, (unsigned long long)(tl_load_rlx(&d->submitted) - tl_load_rlx(&d->retired_early)),
                     active == 0 && stuck != 0 ? ", all of which wait for others (deadlocked dependencies)" : "",
                     first);
}

int tl__stall_capture(struct tl_scheduler *s)
{
    while (s->next_stalled < s->n_clusters * TL_KIND_COUNT) {
        uint32_t i = s->next_stalled++;
        struct tl_core_role *core = s->cores[i % TL_KIND_COUNT][i / TL_KIND_COUNT];
        struct tl_slot *slot;
        uint32_t no = 0;

        assert(tl_load_rlx(&s->device->hung) != 0 && tl__sched_is_locked(s)); /* DI4; relaxed: drained() saw it */
        /* relaxed: nothing moves */
        if (core == NULL || core->seen == core->sent || tl_load_rlx(&core->running) == 0)
            continue;
        slot = core->token[core->seen & 1].slot;
        if (!tl_cas_acq_rel(&slot->stalled, &no, 1u)) /* S1: other cores run subtasks of it too; one records it */
            continue;
        if (tl__probe_partial(s, slot) == TL_EAGAIN)
            return TL_EAGAIN;
    }
    return 0;
}
