/* SPDX-License-Identifier: Apache-2.0 */
/* The scope statistics as a collector: what a record may hold, and how they become scope_stats.jsonl. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <tasklens/kernel.h>

#include "artifact/scope_stats.h"
#include "base/error.h"
#include "base/pathname.h"
#include "collect/collector.h"
#include "wire/scope_record.h"

static const struct tl_record_field scope_fields[] = {
    TL_FIELD(struct tl_wire_scope_record, depth, 0, TL_SCOPE_MAX_DEPTH),
    TL_FIELD(struct tl_wire_scope_record, phase, 0, TL_WIRE_SCOPE_END),
    TL_FIELD(struct tl_wire_scope_record, ring, 0, TL_RINGS - 1),
    TL_FIELD_OF_KIND(struct tl_wire_scope_record, file, TL_FIELD_TEXT),
};
static const struct tl_record_table scope_tables[] = {TL_RECORD_TABLE(scope_fields)};

static const char *scope_inspect(const void *record, struct tl_payload *ret_payload)
{
    const struct tl_wire_scope_record *w = record;

    memset(ret_payload, 0, sizeof(*ret_payload));
    ret_payload->whole = true;
    if (w->task_tail > w->task_head)
        return "record.task_tail";
    if (w->heap_tail > w->heap_head)
        return "record.heap_tail";
    if (w->dep_tail > w->dep_head)
        return "record.dep_tail";
    return NULL;
}

/* The rings that the run used, and what they held at most. */
static void sizes_of(const struct tl_run_facts *facts, struct tl_scope_stats *s)
{
    s->n_rings = TL_RINGS;
    for (unsigned i = 0; i < TL_RINGS; i++) {
        if (facts->host_build && i > 0)
            break;
        s->size[TL_RING_TASKS][i] = facts->task_window[i];
        s->size[TL_RING_HEAP][i] = facts->heap_bytes[i];
        s->size[TL_RING_DEPS][i] = facts->dep_pool[i];
        s->tensormap_max += (uint64_t)facts->task_window[i] * TL_MAX_TENSORS;
    }
}

static int add(struct tl_scope_stats *s, const struct tl_wire_scope_record *w)
{
    struct tl_boundary b = {.span = {[TL_RING_TASKS] = {w->task_tail, w->task_head},
                                     [TL_RING_HEAP] = {w->heap_tail, w->heap_head},
                                     [TL_RING_DEPS] = {w->dep_tail, w->dep_head}},
                            .tensormap = w->tensormap,
                            .depth = w->depth,
                            .ring = w->ring,
                            .ends = w->phase == TL_WIRE_SCOPE_END};
    char site[TL_WIRE_SITE_BYTES + 16];
    int n = snprintf(site, sizeof(site), "%s:%u", w->file, w->line);

    return tl__scope_stats_site(s, site, (size_t)n, &b.site) < 0 || tl__scope_stats_add(s, &b) < 0 ? TL_ENOMEM : 0;
}

/* One lane, whose buffers come in their order. */
static int convert(const struct tl_export_stream *own, struct tl_scope_stats *s)
{
    for (unsigned lane = 0; lane < own->n_lanes; lane++)
        for (const struct tl_batch *b = own->lanes[lane]; b != NULL; b = b->next)
            for (uint32_t i = 0; i < b->count; i++)
                if (add(s, (const void *)(b->records + (size_t)i * sizeof(struct tl_wire_scope_record))) < 0)
                    return TL_ENOMEM;
    return 0;
}

static int write(const struct tl_export *x, const struct tl_scope_stats *s, struct tl_error *reterr)
{
    char dir[TL_PATHNAME_BYTES];

    (void)tl__pathname(dir, "%s/%s", x->dir, TL_SCOPE_DIR_NAME);
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: cannot be made: %s", dir, strerror(errno));
    return tl__scope_stats_write(dir, s, reterr);
}

static int scope_export(const struct tl_export *x, struct tl_export_figures *figures, struct tl_error *reterr)
{
    struct tl_scope_stats stats = {.fatal = x->run_failed, .dropped = x->own->dropped};
    int r = convert(x->own, &stats);

    sizes_of(x->facts, &stats);
    figures->records = stats.boundaries.count;
    if (r < 0)
        r = tl__fail(reterr, r, "%s: no memory for the boundaries of its scopes", x->dir);
    else if (stats.boundaries.count > 0) /* killed before its orchestration began: there is nothing to write */
        r = write(x, &stats, reterr);
    tl__scope_stats_fini(&stats);
    return r;
}

static int scope_reread(const char *path, uint64_t *ret_records, struct tl_error *reterr)
{
    struct tl_scope_stats stats = {0};
    int r = tl__scope_stats_read(path, &stats, reterr);

    *ret_records = stats.boundaries.count;
    tl__scope_stats_fini(&stats);
    return r;
}

static const char *const scope_files[] = {TL_SCOPE_DIR_NAME "/" TL_SCOPE_NAME, TL_SCOPE_DIR_NAME "/" TL_SCOPE_PAGE_NAME,
                                          NULL};

const struct tl_collector_spec tl__scope_collector = {
    .name = "scope_stats",
    .stream = TL_STREAM_SCOPE,
    .record_bytes = sizeof(struct tl_wire_scope_record),
    .version = 1,
    .files = scope_files,
    .tables = scope_tables,
    .n_tables = 1,
    .inspect = scope_inspect,
    .export = scope_export,
    .reread = scope_reread,
};
