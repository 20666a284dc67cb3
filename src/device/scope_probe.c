/* SPDX-License-Identifier: Apache-2.0 */
/* The scope statistics' hooks: a record whenever a scope begins or ends. */

#include <string.h>

#include "device/device_impl.h"
#include "device/orch.h"
#include "device/probes.h"
#include "wire/scope_record.h"

#define WHOLE "(orchestration)" /* what is outside any scope */

static void fill_file(struct tl_wire_scope_record *r, const char *file)
{
    size_t n = strlen(file), at = n >= sizeof(r->file) ? n - (sizeof(r->file) - 1) : 0;

    memcpy(r->file, file + at, n - at);
}

static void fill(struct tl_wire_scope_record *r, const struct tl_graph *graph, const struct tl_scope_info *scope,
                 uint8_t phase)
{
    uint32_t ring = scope != NULL ? scope->ring : 0;
    struct tl_ring_usage usage = tl__graph_usage(graph, ring);

    memset(r, 0, sizeof(*r));
    r->task_tail = usage.task_tail;
    r->task_head = usage.task_head;
    /* Bytes that an empty heap skips when it begins again at its start are not used. */
    r->heap_tail = usage.heap_tail - usage.heap_skipped;
    r->heap_head = usage.heap_head - usage.heap_skipped;
    r->dep_tail = usage.dep_tail;
    r->dep_head = usage.dep_head;
    r->tensormap = tl__graph_writers(graph);
    r->depth = scope != NULL ? scope->depth + 1 : 0;
    r->line = scope != NULL ? (uint32_t)scope->line : 0;
    r->phase = phase;
    r->ring = (uint8_t)ring;
    fill_file(r, scope != NULL ? scope->file : WHOLE);
}

static void scope_record(struct tl_orch *o, const struct tl_scope_info *scope, unsigned phase)
{
    struct tl_wire_scope_record record, *place;

    (void)tl__reclaim(o); /* so that usage does not include what could be reclaimed */
    fill(&record, o->graph, scope, (uint8_t)phase);
    place = tl__orch_reserve(o, TL_STREAM_SCOPE);
    if (place == NULL)
        return;
    *place = record;
    tl__orch_commit(o, TL_STREAM_SCOPE);
}

/* The open scopes of a failed orchestration, and the orchestration itself, end where it failed. */
static void record_open(struct tl_orch *o)
{
    const struct tl_scope_info *scope;

    for (uint32_t depth = tl__graph_depth(o->graph); depth > 0; depth--) {
        scope = tl__graph_scope_at(o->graph, depth - 1);
        scope_record(o, scope, TL_WIRE_SCOPE_END);
    }
    scope_record(o, NULL, TL_WIRE_SCOPE_END);
}

/* After a success: how many records there must be, by the graph's own count of scopes. */
static void scope_end(struct tl_orch *o, bool failed)
{
    if (failed)
        record_open(o);
    else
        o->device->orch_record.rec.expected[TL_STREAM_SCOPE] = 2 * ((uint64_t)tl__graph_scopes(o->graph) + 1);
}

const struct tl_probe_ops tl__scope_probe = {.scope = scope_record, .end = scope_end};
