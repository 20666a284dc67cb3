/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/json_head.h"
#include "analysis/scope/scope_view.h"

static const char *const keys[TL_RING_RESOURCES] = {
    [TL_RING_TASKS] = "task_window", [TL_RING_HEAP] = "heap", [TL_RING_DEPS] = "dep_pool"};

/* "high_water": {"task_window": 5, ...} */
static void put_three(struct tl_json *j, const char *key, const uint64_t *values)
{
    tl__json_member_object(j, key, TL_JSON_LINE);
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        tl__json_member_u64(j, keys[r], values[r]);
    tl__json_object_end(j);
}

static void put_use(struct tl_json *j, const struct tl_scope_usage *u, unsigned r, const struct tl_resource_use *use)
{
    tl__json_member_object(j, keys[r], TL_JSON_LINE);
    tl__json_member_u64(j, "peak", use->peak);
    tl__json_member_bool(j, "peak_is_bound", use->seen < use->peak);
    tl__json_member_u64(j, "seen", use->seen);
    tl__json_member_u64(j, "size", use->size);
    tl__json_member_u64(j, "held", use->held);
    tl__json_member_u64(j, "step", use->step);
    tl__json_member_u64(j, "total", use->turned);
    tl__json_member_u64(j, "enough", use->enough);
    tl__json_member_string(j, "flag", tl__ring_resource_flag(r));
    tl__json_member_string(j, "why", tl__scope_why(r, use, tl__scope_state(u)));
    if (use->peak_scope != TL_NO_SCOPE)
        tl__json_member_string(j, "site", u->stats->sites[u->scopes[use->peak_scope].site]);
    tl__json_object_end(j);
}

static void put_rings(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_member_array(j, "rings", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < u->stats->n_rings; i++) {
        if (!u->rings[i].used)
            continue;
        tl__json_object_begin(j, TL_JSON_BLOCK);
        tl__json_member_u64(j, "ring", i);
        tl__json_member_u64(j, "scopes", u->rings[i].scopes);
        tl__json_member_u64(j, "open", u->rings[i].open);
        for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
            put_use(j, u, r, &u->rings[i].use[r]);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

static void put_groups(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_member_array(j, "sites", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < u->n_groups; i++) {
        const struct tl_scope_group *g = &u->groups[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        tl__json_member_string(j, "site", u->stats->sites[g->site]);
        tl__json_member_u64(j, "depth", g->depth);
        tl__json_member_u64(j, "ring", g->ring);
        tl__json_member_u64(j, "scopes", g->scopes);
        tl__json_member_u64(j, "open", g->open);
        put_three(j, "peak", g->peak);
        put_three(j, "alloc", g->alloc);
        tl__json_member_u64(j, "tensormap", g->tensormap);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

static void put_scopes(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_member_array(j, "scopes", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < u->n_scopes; i++) {
        const struct tl_scope *s = &u->scopes[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        tl__json_member_string(j, "site", u->stats->sites[s->site]);
        tl__json_member_u64(j, "depth", s->depth);
        tl__json_member_u64(j, "ring", s->ring);
        tl__json_member_bool(j, "ended", !s->open);
        tl__json_member_u64(j, "begin", s->begin);
        tl__json_member_u64(j, "end", s->last);
        put_three(j, "peak", s->peak);
        put_three(j, "scope_high_water", s->high_water);
        put_three(j, "real_occupancy", s->occupancy);
        put_three(j, "scope_alloc", s->alloc);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

void tl__scope_json(struct tl_json *j, const struct tl_scope_view *view)
{
    const struct tl_scope_usage *u = view->usage;

    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_head(j, "scope", NULL, view->dir);
    tl__json_member_bool(j, "fatal", u->stats->fatal);
    tl__json_member_bool(j, "whole", tl__scope_state(u) == TL_SCOPE_WHOLE);
    tl__json_member_u64(j, "dropped", u->stats->dropped);
    tl__json_member_u64(j, "boundaries", u->stats->boundaries.count);
    tl__json_member_u64(j, "open", u->open);
    tl__json_member_u64(j, "unmatched_ends", u->endings);
    tl__json_member_u64(j, "backward", u->backward);
    tl__json_member_u64(j, "tensormap_peak", u->tensormap_peak);
    tl__json_member_u64(j, "tensormap_size", u->stats->tensormap_max);
    put_three(j, "enough", u->enough);
    put_rings(j, u);
    put_groups(j, u);
    put_scopes(j, u);
    tl__json_object_end(j);
    tl__json_newline(j);
}
