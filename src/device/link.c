/* SPDX-License-Identifier: Apache-2.0 */
/* Linking a new task to its predecessors, and taking slots back. Orchestrator's thread only. */
#include "device/device_impl.h"
#include "device/orch.h"

/* Adds `dep` to its predecessor's fanout. False: the predecessor is complete, there is nothing to wait for. */
static bool join_fanout(struct tl_dep *dep)
{
    struct tl_dep *head = tl_load_acq(&dep->pred->fanout); /* D3: see a closed list whole */

    assert(dep->succ != dep->pred && (dep->flags & TL_EDGE_WAIT) != 0); /* DI6 */
    do {
        if (head == TL_FANOUT_CLOSED)
            return false;
        dep->next = head;
        /* D2: the entry before it can be found; pairs with the exchange in tl__retire. */
    } while (!tl_cas_acq_rel(&dep->pred->fanout, &head, dep));
    return true;
}

bool tl__connect(struct tl_device *d, struct tl_slot *slot)
{
    const struct tl_ring *ring = &d->rings[slot->ring];
    uint32_t waits = 1, met = 1, before; /* the submission's own count */

    for (uint32_t i = 0, at = slot->dep_at; i < slot->n_deps; i++, at = tl__dep_next(ring, at))
        waits += (ring->deps[at].flags & TL_EDGE_WAIT) != 0;
    tl_store_rlx(&slot->waits, waits); /* relaxed: joining a fanout publishes it (D2) */
    for (uint32_t i = 0, at = slot->dep_at; i < slot->n_deps; i++, at = tl__dep_next(ring, at)) {
        struct tl_dep *dep = &ring->deps[at];

        if (dep->flags & TL_EDGE_RETAIN)
            (void)tl_add_rlx(&dep->pred->holds, 1u); /* relaxed: reclaiming is this thread's own work */
        if ((dep->flags & TL_EDGE_WAIT) && !join_fanout(dep))
            met++;
    }
    assert(met <= waits && waits <= slot->n_deps + 1); /* DI1 */
    if (met == waits)                                  /* no other thread knows the slot: no shared count down */
        tl_store_rlx(&slot->waits, 0u);
    else {
        before = tl_sub_acq_rel(&slot->waits, met); /* D1/D2 */
        assert(before >= met);                      /* DI1 */
        if (before != met)
            return false;
    }
    tl__make_ready(d, NULL, slot);
    return true;
}

bool tl__link(struct tl_orch *o, struct tl_slot *slot, const struct tl_plan *plan)
{
    struct tl_device *d = o->device;
    struct tl_ring *ring = &d->rings[plan->ring];

    assert(slot->n_deps == plan->n_preds && slot == &ring->slots[plan->slot]); /* DI6 */
    for (uint32_t i = 0, at = slot->dep_at; i < plan->n_preds; i++, at = tl__dep_next(ring, at)) {
        const struct tl_pred *pred = &plan->preds[i];
        struct tl_dep *dep = &ring->deps[at];

        assert((pred->flags & (TL_EDGE_WAIT | TL_EDGE_RETAIN)) != 0); /* GI3 */
        dep->succ = slot;
        dep->pred = &d->rings[tl__task_ring(pred->id)].slots[pred->slot];
        dep->flags = pred->flags;
    }
    return tl__connect(d, slot);
}

static bool reclaim_ring(struct tl_orch *o, uint32_t r)
{
    struct tl_ring *ring = &o->device->rings[r];
    uint32_t began = tl_load_rlx(&ring->tail), head = tl_load_rlx(&ring->head), tail = began; /* relaxed: own */

    tl__ring_assert(ring, tail, head);
    while (tail != head) {
        const uint32_t at = tail & (ring->window - 1);

        if (!ring->released[at] || tl_load_acq(&ring->slots[at].holds) != 0)
            break; /* D4: the last use of the slot is over; pairs with tl__hold_drop */
        assert(tl_load_rlx(&ring->slots[at].fanout) == TL_FANOUT_CLOSED); /* DI2: it has retired; relaxed: D4 */
        tail++;
    }
    if (tail == began)
        return false;
    tl_store_rlx(&ring->tail, tail);
    if (tail == head) /* empty: continue at the start, whose pages are cached */
        ring->payload_at = 0;
    tl__graph_retired(o->graph, r, tail);
    return true;
}

bool tl__reclaim(struct tl_orch *o)
{
    bool any = false;

    if (!o->policy->recycle)
        return false;
    for (uint32_t r = 0; r < TL_GRAPH_RINGS; r++)
        any |= reclaim_ring(o, r);
    return any;
}
