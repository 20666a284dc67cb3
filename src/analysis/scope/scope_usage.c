/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/scope/scope_usage.h"

#include <stdlib.h>

#include "base/env.h"
#include "base/error.h"

#define HEAP_STEP UINT64_C(1024) /* of --heap-bytes */
#define WINDOW_LEAST UINT64_C(2) /* of --task-window, a power of two */

static const struct {
    const char *name, *flag;
} resources[TL_RING_RESOURCES] = {
    [TL_RING_TASKS] = {"task window", "--task-window"},
    [TL_RING_HEAP] = {"heap", "--heap-bytes"},
    [TL_RING_DEPS] = {"dep pool", "--dep-pool"},
};

const char *tl__ring_resource_name(unsigned resource)
{
    return resources[resource].name;
}

const char *tl__ring_resource_flag(unsigned resource)
{
    return resources[resource].flag;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- scopes from boundaries ---- */

struct pairing {
    struct tl_scope_usage *usage;
    uint64_t *open_at; /* by depth: 1 + scope, 0: none */
    uint32_t depths;   /* open_at from here on is 0 */
    uint64_t last[TL_SCOPE_MAX_RINGS];
    uint64_t inner[TL_SCOPE_MAX_RINGS]; /* 1 + the innermost open scope, 0: none */
};

static void lift(uint64_t *peak, const uint64_t *other)
{
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        peak[r] = larger(peak[r], other[r]);
}

/* A scope of its ring's innermost is over: what was taken in it was taken in the one around it too. */
static void leave(struct pairing *p, struct tl_scope *scope)
{
    p->inner[scope->ring] = scope->around;
    if (scope->around != 0)
        lift(p->usage->scopes[scope->around - 1].peak, scope->peak);
}

/* A bound on what was taken at once, of boundaries that may have seen places taken, given back and taken again: never
 * more than the ring has, where its size is known. */
static uint64_t held_at_most(const struct tl_scope_usage *u, uint32_t ring, unsigned resource, uint64_t bound)
{
    uint64_t size = u->stats->size[resource][ring];

    return size != 0 ? smaller(bound, size) : bound;
}

/* From the ring's last boundary to this one. */
static void advance(struct pairing *p, const struct tl_boundary *before, const struct tl_boundary *b)
{
    uint64_t most[TL_RING_RESOURCES];

    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        struct tl_resource_use *use = &p->usage->rings[b->ring].use[r];

        most[r] = held_at_most(p->usage, b->ring, r,
                               less(b->span[r].head, before != NULL ? before->span[r].tail : b->span[r].tail));
        use->peak = larger(use->peak, most[r]);
        use->seen = larger(use->seen, less(b->span[r].head, b->span[r].tail));
        if (before != NULL)
            use->step = larger(use->step, less(b->span[r].head, before->span[r].head));
    }
    if (p->inner[b->ring] != 0)
        lift(p->usage->scopes[p->inner[b->ring] - 1].peak, most);
}

/* From its two boundaries. */
static void measure(struct tl_scope_usage *u, struct tl_scope *scope)
{
    const struct tl_boundary *b = &u->stats->boundaries.items[scope->begin],
                             *e = &u->stats->boundaries.items[scope->last];

    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        scope->high_water[r] = held_at_most(u, scope->ring, r, less(e->span[r].head, b->span[r].tail));
        scope->occupancy[r] = held_at_most(u, scope->ring, r, less(e->span[r].head, e->span[r].tail));
        scope->alloc[r] = held_at_most(u, scope->ring, r, less(e->span[r].head, b->span[r].head));
    }
    scope->tensormap = e->tensormap;
}

/* The scopes of this depth and deeper are over, and we have not seen their ends. */
static void abandon(struct pairing *p, uint32_t depth)
{
    while (p->depths > depth) {
        uint64_t at = p->open_at[--p->depths];
        struct tl_scope *scope;

        if (at == 0)
            continue;
        p->open_at[p->depths] = 0;
        scope = &p->usage->scopes[at - 1];
        scope->last = p->last[scope->ring];
        scope->open = true;
        p->usage->open++;
        measure(p->usage, scope);
        leave(p, scope);
    }
}

static void begin(struct pairing *p, uint64_t i)
{
    const struct tl_boundary *b = &p->usage->stats->boundaries.items[i];
    struct tl_scope *scope = &p->usage->scopes[p->usage->n_scopes++];

    abandon(p, b->depth);
    *scope = (struct tl_scope){
        .begin = i, .last = i, .site = b->site, .depth = b->depth, .ring = b->ring, .around = p->inner[b->ring]};
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        scope->peak[r] = held_at_most(p->usage, b->ring, r, less(b->span[r].head, b->span[r].tail));
    p->inner[b->ring] = p->open_at[b->depth] = p->usage->n_scopes;
    p->depths = b->depth + 1;
}

static void end(struct pairing *p, uint64_t i)
{
    const struct tl_boundary *b = &p->usage->stats->boundaries.items[i];
    struct tl_scope *scope;

    if (b->depth >= p->depths || p->open_at[b->depth] == 0 ||
        p->usage->scopes[p->open_at[b->depth] - 1].ring != b->ring) {
        p->usage->endings++;
        return;
    }
    abandon(p, b->depth + 1);
    scope = &p->usage->scopes[p->open_at[b->depth] - 1];
    p->open_at[b->depth] = 0;
    p->depths = b->depth;
    scope->last = i;
    measure(p->usage, scope);
    leave(p, scope);
}

static bool goes_back(const struct tl_boundary *b, const struct tl_boundary *before)
{
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        if (b->span[r].head < b->span[r].tail ||
            (before != NULL && (b->span[r].head < before->span[r].head || b->span[r].tail < before->span[r].tail)))
            return true;
    return false;
}

static int pair(struct tl_scope_usage *u)
{
    const struct tl_scope_stats *s = u->stats;
    struct pairing p = {.usage = u};
    const struct tl_boundary *seen[TL_SCOPE_MAX_RINGS] = {NULL};
    uint32_t deepest = 0;

    for (uint64_t i = 0; i < s->boundaries.count; i++)
        deepest = s->boundaries.items[i].depth > deepest ? s->boundaries.items[i].depth : deepest;
    p.open_at = tl__alloc((size_t)deepest + 1, sizeof(*p.open_at));
    u->scopes = tl__alloc(s->boundaries.count + 1, sizeof(*u->scopes));
    if (p.open_at == NULL || u->scopes == NULL) {
        tl__free(p.open_at);
        return TL_ENOMEM;
    }
    for (uint64_t i = 0; i < s->boundaries.count; i++) {
        const struct tl_boundary *b = &s->boundaries.items[i];

        u->backward += goes_back(b, seen[b->ring]);
        advance(&p, seen[b->ring], b);
        u->tensormap_peak = larger(u->tensormap_peak, b->tensormap);
        seen[b->ring] = b;
        if (b->ends)
            end(&p, i);
        else
            begin(&p, i);
        p.last[b->ring] = i;
    }
    abandon(&p, 0);
    tl__free(p.open_at);
    return 0;
}

/* ---- peaks of rings, and what they ask for ---- */

/* Nine tenths: the next task may have asked for the rest. */
bool tl__scope_was_full(const struct tl_resource_use *use)
{
    return use->size != 0 && use->peak >= use->size - use->size / 10;
}

static uint64_t heap_steps(uint64_t bytes)
{
    return add(larger(bytes, 1), HEAP_STEP - 1) / HEAP_STEP * HEAP_STEP;
}

/* A run that ended had enough slots and entries, and so has one in another order. A heap may have been lucky with its
 * gaps: it is enough whatever the order if it holds what waiting never gives back, and a gap there. That is smaller
 * than the buffer after it, and what is kept begins with another one: in an empty heap allocation starts at 0 again. */
static uint64_t enough_before(unsigned resource, const struct tl_resource_use *use)
{
    uint64_t gap = less(smaller(use->step, less(use->kept, HEAP_STEP)), HEAP_STEP);

    return resource != TL_RING_HEAP ? use->size : larger(use->size, heap_steps(add(use->kept, gap)));
}

/* A size that holds the peak whatever the schedule. Places in a ring follow each other, so a task window and a dep pool
 * need no more than the peak. A buffer does not cross its heap's end, so that a heap which goes round may leave out as
 * much as a buffer there; no buffer is larger than all that was taken between two boundaries. */
static uint64_t enough(unsigned resource, const struct tl_resource_use *use, uint64_t reserved)
{
    uint64_t n = WINDOW_LEAST, round;

    switch (resource) {
    case TL_RING_TASKS:
        while (n < use->peak && n < UINT64_C(1) << 63)
            n *= 2;
        return n;
    case TL_RING_HEAP:
        round = add(use->peak, use->step);
        return heap_steps(smaller(use->turned, round));
    default:
        return larger(add(use->peak, reserved), 1);
    }
}

/* A run that stopped at a full ring needs more than it had: the next size that can be set. */
static uint64_t more_than(unsigned resource, uint64_t size)
{
    if (resource == TL_RING_HEAP)
        return heap_steps(add(size, 1));
    if (resource == TL_RING_DEPS)
        return add(size, 1);
    return size > UINT64_MAX / 2 ? size : 2 * size;
}

static void add_scope(struct tl_scope_usage *u, uint64_t index)
{
    const struct tl_scope *scope = &u->scopes[index];
    struct tl_ring_use *ring = &u->rings[scope->ring];

    ring->scopes++;
    ring->open += scope->open;
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        struct tl_resource_use *use = &ring->use[r];

        if (use->peak_scope == TL_NO_SCOPE || scope->peak[r] > u->scopes[use->peak_scope].peak[r])
            use->peak_scope = index;
        use->held = larger(use->held, scope->alloc[r]);
        use->kept = larger(use->kept, smaller(scope->alloc[r], scope->occupancy[r]));
    }
}

static void ask(struct tl_scope_usage *u, uint32_t ring, const struct tl_boundary *first)
{
    u->rings[ring].used = true;
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        /* A pool that begins at 1 keeps its first entry for itself. */
        bool keeps_one = r == TL_RING_DEPS && first->span[r].tail == 1;
        struct tl_resource_use *use = &u->rings[ring].use[r];

        use->enough = enough(r, use, keeps_one);
        if (!u->stats->fatal && use->size != 0)
            use->enough = smaller(use->enough, enough_before(r, use));
        if (u->stats->fatal && tl__scope_was_full(use))
            use->enough = larger(use->enough, more_than(r, use->size));
        u->enough[r] = larger(u->enough[r], use->enough);
    }
}

static void sum_rings(struct tl_scope_usage *u)
{
    const struct tl_scope_stats *s = u->stats;
    const struct tl_boundary *first[TL_SCOPE_MAX_RINGS] = {NULL};

    for (uint32_t ring = 0; ring < s->n_rings; ring++)
        for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
            u->rings[ring].use[r].size = s->size[r][ring];
    for (uint64_t i = 0; i < u->n_scopes; i++)
        add_scope(u, i);
    for (uint64_t i = 0; i < s->boundaries.count; i++) { /* boundaries without a partner count too */
        const struct tl_boundary *b = &s->boundaries.items[i];

        if (first[b->ring] == NULL)
            first[b->ring] = b;
        for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
            struct tl_resource_use *use = &u->rings[b->ring].use[r];

            use->turned = larger(use->turned, less(b->span[r].head, first[b->ring]->span[r].tail));
        }
    }
    for (uint32_t ring = 0; ring < s->n_rings; ring++)
        if (first[ring] != NULL)
            ask(u, ring, first[ring]);
}

/* ---- by site ---- */

static int by_key(const void *a, const void *b)
{
    const struct tl_scope_group *x = a, *y = b;

    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    if (x->ring != y->ring)
        return x->ring < y->ring ? -1 : 1;
    return x->most[0] < y->most[0] ? -1 : x->most[0] > y->most[0]; /* still a single scope each: its own */
}

/* The largest part of a ring that it takes of any resource; sizes that are not known count as the largest peak. */
static double share(const struct tl_scope_usage *u, const struct tl_scope_group *g)
{
    double most = 0;

    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        const struct tl_resource_use *use = &u->rings[g->ring].use[r];
        uint64_t size = use->size != 0 ? use->size : larger(use->peak, 1);
        double part = (double)g->peak[r] / (double)size;

        most = part > most ? part : most;
    }
    return most;
}

static int by_share(const void *a, const void *b, void *ctx)
{
    const struct tl_scope_group *x = a, *y = b;
    double sx = share(ctx, x), sy = share(ctx, y);

    if (sx < sy || sx > sy)
        return sx > sy ? -1 : 1;
    return x->most[0] < y->most[0] ? -1 : x->most[0] > y->most[0];
}

static void join(struct tl_scope_group *g, const struct tl_scope_group *other)
{
    g->scopes += other->scopes;
    g->open += other->open;
    g->tensormap = larger(g->tensormap, other->tensormap);
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        if (other->peak[r] > g->peak[r]) {
            g->peak[r] = other->peak[r];
            g->most[r] = other->most[r];
        }
        g->alloc[r] = larger(g->alloc[r], other->alloc[r]);
    }
}

static int group(struct tl_scope_usage *u)
{
    struct tl_scope_group *all = tl__alloc(u->n_scopes + 1, sizeof(*all));

    if (all == NULL)
        return TL_ENOMEM;
    for (uint64_t i = 0; i < u->n_scopes; i++) {
        const struct tl_scope *s = &u->scopes[i];

        all[i] = (struct tl_scope_group){.site = s->site,
                                         .depth = s->depth,
                                         .ring = s->ring,
                                         .scopes = 1,
                                         .open = s->open,
                                         .tensormap = s->tensormap};
        for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
            all[i].peak[r] = s->peak[r];
            all[i].alloc[r] = s->alloc[r];
            all[i].most[r] = i;
        }
    }
    qsort(all, u->n_scopes, sizeof(*all), by_key);
    for (uint64_t i = 0; i < u->n_scopes; i++) {
        struct tl_scope_group *last = u->n_groups > 0 ? &all[u->n_groups - 1] : NULL;

        if (last != NULL && last->site == all[i].site && last->depth == all[i].depth && last->ring == all[i].ring)
            join(last, &all[i]);
        else
            all[u->n_groups++] = all[i];
    }
    qsort_r(all, u->n_groups, sizeof(*all), by_share, u);
    u->groups = all;
    return 0;
}

int tl__scope_usage(const struct tl_scope_stats *stats, struct tl_scope_usage *ret_usage)
{
    struct tl_scope_usage *u = ret_usage;
    int code;

    *u = (struct tl_scope_usage){.stats = stats};
    for (uint32_t ring = 0; ring < TL_SCOPE_MAX_RINGS; ring++)
        for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
            u->rings[ring].use[r].peak_scope = TL_NO_SCOPE;
    code = pair(u);
    if (code == 0) {
        sum_rings(u);
        code = group(u);
    }
    if (code < 0)
        tl__scope_usage_fini(u);
    return code;
}

void tl__scope_usage_fini(struct tl_scope_usage *u)
{
    tl__free(u->scopes);
    tl__free(u->groups);
    *u = (struct tl_scope_usage){0};
}
