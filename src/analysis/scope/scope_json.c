/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/json_head.h"
#include "analysis/scope/scope_view.h"

static const char *const keys[TL_RING_RESOURCES] = {
    [TL_RING_TASKS] = "task_window", [TL_RING_HEAP] = "heap", [TL_RING_DEPS] = "dep_pool"};

static void put_number(struct tl_json *j, const char *key, uint64_t value)
{
    tl__json_key(j, key);
    tl__json_u64(j, value);
}

static void put_text(struct tl_json *j, const char *key, const char *text)
{
    tl__json_key(j, key);
    tl__json_string(j, text);
}

/* "high_water": {"task_window": 5, ...} */
static void put_three(struct tl_json *j, const char *key, const uint64_t *values)
{
    tl__json_key(j, key);
    tl__json_object_begin(j, TL_JSON_LINE);
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        put_number(j, keys[r], values[r]);
    tl__json_object_end(j);
}

static void put_use(struct tl_json *j, const struct tl_scope_usage *u, unsigned r, const struct tl_resource_use *use)
{
    tl__json_key(j, keys[r]);
    tl__json_object_begin(j, TL_JSON_LINE);
    put_number(j, "peak", use->peak);
    tl__json_key(j, "peak_is_bound");
    tl__json_bool(j, use->seen < use->peak);
    put_number(j, "seen", use->seen);
    put_number(j, "size", use->size);
    put_number(j, "held", use->held);
    put_number(j, "step", use->step);
    put_number(j, "total", use->turned);
    put_number(j, "enough", use->enough);
    put_text(j, "flag", tl__ring_resource_flag(r));
    put_text(j, "why", tl__scope_why(r, use, tl__scope_state(u)));
    if (use->peak_scope != TL_NO_SCOPE)
        put_text(j, "site", u->stats->sites[u->scopes[use->peak_scope].site]);
    tl__json_object_end(j);
}

static void put_rings(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_key(j, "rings");
    tl__json_array_begin(j, TL_JSON_BLOCK);
    for (uint32_t i = 0; i < u->stats->n_rings; i++) {
        if (!u->rings[i].used)
            continue;
        tl__json_object_begin(j, TL_JSON_BLOCK);
        put_number(j, "ring", i);
        put_number(j, "scopes", u->rings[i].scopes);
        put_number(j, "open", u->rings[i].open);
        for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
            put_use(j, u, r, &u->rings[i].use[r]);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

static void put_groups(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_key(j, "sites");
    tl__json_array_begin(j, TL_JSON_BLOCK);
    for (uint64_t i = 0; i < u->n_groups; i++) {
        const struct tl_scope_group *g = &u->groups[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        put_text(j, "site", u->stats->sites[g->site]);
        put_number(j, "depth", g->depth);
        put_number(j, "ring", g->ring);
        put_number(j, "scopes", g->scopes);
        put_number(j, "open", g->open);
        put_three(j, "peak", g->peak);
        put_three(j, "alloc", g->alloc);
        put_number(j, "tensormap", g->tensormap);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

static void put_scopes(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_key(j, "scopes");
    tl__json_array_begin(j, TL_JSON_BLOCK);
    for (uint64_t i = 0; i < u->n_scopes; i++) {
        const struct tl_scope *s = &u->scopes[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        put_text(j, "site", u->stats->sites[s->site]);
        put_number(j, "depth", s->depth);
        put_number(j, "ring", s->ring);
        tl__json_key(j, "ended");
        tl__json_bool(j, !s->open);
        put_number(j, "begin", s->begin);
        put_number(j, "end", s->last);
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
    tl__json_key(j, "fatal");
    tl__json_bool(j, u->stats->fatal);
    tl__json_key(j, "whole");
    tl__json_bool(j, tl__scope_state(u) == TL_SCOPE_WHOLE);
    put_number(j, "dropped", u->stats->dropped);
    put_number(j, "boundaries", u->stats->count);
    put_number(j, "open", u->open);
    put_number(j, "unmatched_ends", u->endings);
    put_number(j, "backward", u->backward);
    put_number(j, "tensormap_peak", u->tensormap_peak);
    put_number(j, "tensormap_size", u->stats->tensormap_max);
    put_three(j, "enough", u->enough);
    put_rings(j, u);
    put_groups(j, u);
    put_scopes(j, u);
    tl__json_object_end(j);
    tl__json_newline(j);
}
