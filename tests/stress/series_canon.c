/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tasklens/recording.h>

#include "artifact/deps.h"
#include "artifact/dfx_meta.h"
#include "artifact/pmu.h"
#include "artifact/scope_stats.h"
#include "artifact/swimlane.h"
#include "base/error.h"
#include "base/hash.h"

__attribute__((format(printf, 2, 3))) static void bad(struct canon *c, const char *format, ...)
{
    va_list args;

    if (c->bad)
        return;
    c->bad = true;
    va_start(args, format);
    (void)vsnprintf(c->fault, sizeof(c->fault), format, args);
    va_end(args);
}

void canon_line(struct canon *c, const char *format, ...)
{
    char text[1000];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (c->count == c->room) {
        c->room = c->room != 0 ? 2 * c->room : 256;
        c->lines = realloc(c->lines, c->room * sizeof(*c->lines));
    }
    if (c->lines == NULL || (c->lines[c->count++] = strdup(text)) == NULL)
        abort();
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void canon_end(struct canon *c)
{
    if (c->count > 0)
        qsort(c->lines, c->count, sizeof(*c->lines), by_text);
}

void canon_free(struct canon *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->lines[i]);
    free(c->lines);
    memset(c, 0, sizeof(*c));
}

bool canon_differ(const struct canon *a, const struct canon *b, char *text, size_t size)
{
    size_t i = 0;

    while (i < a->count && i < b->count && strcmp(a->lines[i], b->lines[i]) == 0)
        i++;
    if (i == a->count && i == b->count)
        return false;
    (void)snprintf(text, size, "%zu and %zu lines; here \"%s\", alone \"%s\"", a->count, b->count,
                   i < a->count ? a->lines[i] : "", i < b->count ? b->lines[i] : "");
    return true;
}

/* ---- Arguments ---- */

static bool sure(uint64_t task_id, uint64_t tasks)
{
    return (task_id & UINT32_MAX) < tasks; /* without its ring */
}

static void argument(struct canon *c, const struct tl_recording *r, uint64_t i)
{
    const struct tl_dump_record *d = tl_recording_at(r, i);
    const void *data = NULL;
    uint64_t hash = 0;
    char view[200] = "";
    size_t at = 0;

    if (d->bin_size != 0) {
        if (tl_recording_payload(r, i, &data, NULL) != 0)
            bad(c, "a payload of task %" PRIu64 " cannot be read", d->task_id);
        else
            hash = tl__hash64(data, d->bin_size);
    }
    for (unsigned k = 0; k < d->rank && k < TL_MAX_DIMS; k++)
        at += (size_t)snprintf(view + at, sizeof(view) - at, " %u/%" PRIu64, d->shape[k], d->strides[k]);
    canon_line(c,
               "arg %016" PRIx64 " %s %02u %s %s dtype %u [%d %d %d] flags %x cause %u value %" PRIx64 " at %" PRIu64
               ":%s bytes %" PRIu64 " %016" PRIx64,
               d->task_id, tl_stage_name(d->stage), d->arg_index, tl_role_name(d->role), tl_kind_name(d->kind),
               d->dtype, d->func_id[0], d->func_id[1], d->func_id[2], d->flags, d->cause, d->value_bits,
               d->start_offset, view, d->bin_size, hash);
}

static void arguments(struct canon *c, const char *dir, uint64_t tasks)
{
    struct tl_dump_verdict verdict;
    struct tl_recording *r;
    struct tl_error err;
    int rc = tl_recording_open(dir, &r, &err);

    if (rc == TL_ENOENT)
        return;
    if (rc != 0) {
        bad(c, "%s", err.msg);
        return;
    }
    if (tl_recording_verify(r, &verdict) != 0)
        bad(c, "args_dump: %s", verdict.first_fault);
    for (uint64_t i = 0; i < tl_recording_count(r); i++)
        if (sure(tl_recording_at(r, i)->task_id, tasks))
            argument(c, r, i);
    if (tasks == UINT64_MAX)
        canon_line(c, "args level %u count %" PRIu64, tl_recording_summary(r)->level, tl_recording_count(r));
    tl_recording_close(r);
}

/* ---- Swimlane ---- */

static void moment(struct canon *c, uint64_t start, uint64_t end)
{
    if (end < start)
        bad(c, "a row of the swimlane ends at %" PRIu64 ", before it starts at %" PRIu64, end, start);
    if (c->first_cycles == 0 || start < c->first_cycles)
        c->first_cycles = start;
    if (end > c->last_cycles)
        c->last_cycles = end;
}

static void phases(struct canon *c, const struct tl_swimlane *s)
{
    uint64_t of_kind[TL_PHASE_COUNT] = {0};

    for (uint64_t i = 0; i < s->n_phases; i++) {
        of_kind[s->phases[i].kind] += s->phases[i].tasks_processed;
        moment(c, s->phases[i].start_cycles, s->phases[i].end_cycles);
    }
    canon_line(c, "swim completed %" PRIu64, of_kind[TL_PHASE_COMPLETE]);
}

static void swimlane(struct canon *c, const char *dir, uint64_t tasks)
{
    struct tl_swimlane s;
    struct tl_error err;
    char path[1200];
    int rc;

    (void)snprintf(path, sizeof(path), "%s/chip_swimlane_records.json", dir);
    rc = tl__swimlane_read(path, &s, &err);
    if (rc != 0) {
        if (rc != TL_ENOENT)
            bad(c, "%s", err.msg);
        return;
    }
    canon_line(c, "swim level %u cores %u", s.level, s.num_cores);
    for (uint64_t i = 0; i < s.n_cores; i++) {
        const struct tl_swim_core *core = &s.cores[i];
        bool runs_on = core->end_cycles == 0 && tasks != UINT64_MAX; /* the run was given up while it ran */

        moment(c, core->start_cycles, runs_on ? core->start_cycles : core->end_cycles);
        if (sure(core->task_id, tasks))
            canon_line(c, "swim subtask %016" PRIx64 " on type %u", core->task_id, s.core_types[core->core_id]);
    }
    for (uint64_t i = 0; i < s.n_aicpus; i++)
        if (s.aicpus[i].finish_cycles != 0)
            moment(c, s.aicpus[i].dispatch_cycles, s.aicpus[i].finish_cycles);
    for (uint64_t i = 0; i < s.n_orchs; i++) {
        moment(c, s.orchs[i].start_cycles, s.orchs[i].end_cycles);
        if (tasks == UINT64_MAX)
            canon_line(c, "swim submit %08u of %016" PRIx64, s.orchs[i].submit_idx, s.orchs[i].task_id);
    }
    if (tasks == UINT64_MAX) {
        canon_line(c, "swim dispatched %" PRIu64, s.n_aicpus);
        if (s.level >= 3)
            phases(c, &s);
    }
    tl__swimlane_fini(&s);
}

/* ---- Dependencies ---- */

static void view_text(const struct tl_deps_view *v, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%u@%" PRIu64, v->dtype, v->start_offset);

    for (unsigned i = 0; i < v->rank && i < TL_MAX_DIMS; i++)
        at += (size_t)snprintf(text + at, size - at, " %u/%" PRIu64, v->shape[i], v->strides[i]);
}

static void edge(struct canon *c, const struct tl_deps_edge *e)
{
    char consumer[200], producer[200];

    view_text(&e->consumer, consumer, sizeof(consumer));
    view_text(&e->producer, producer, sizeof(producer));
    canon_line(c, "edge %016" PRIx64 " -> %016" PRIx64 " arg %d source %u overlap %u (%s) (%s)", e->pred, e->succ,
               e->arg, e->source, e->overlap, consumer, producer);
}

static void dependencies(struct canon *c, const char *dir, uint64_t tasks)
{
    struct tl_deps d;
    struct tl_error err;
    char path[1200], view[200];
    int rc;

    (void)snprintf(path, sizeof(path), "%s/deps.json", dir);
    rc = tl__deps_read(path, &d, &err);
    if (rc != 0) {
        if (rc != TL_ENOENT)
            bad(c, "%s", err.msg);
        return;
    }
    for (uint64_t i = 0; i < d.n_edges; i++) {
        if (d.edge_pred[i] == UINT32_MAX || d.edge_succ[i] == UINT32_MAX)
            bad(c, "deps.json: an edge from %" PRIx64 " to %" PRIx64 ", of which one is not its own", d.edges[i].pred,
                d.edges[i].succ);
        if (tasks == UINT64_MAX)
            edge(c, &d.edges[i]);
    }
    for (uint64_t i = 0; i < d.n_tasks && tasks == UINT64_MAX; i++) {
        const struct tl_deps_task *t = &d.tasks[i];

        canon_line(c, "task %" PRIu64 " %016" PRIx64 " kernels %d %d %d blocks %u args %u manual %d", i, t->task_id,
                   t->kernel_ids[0], t->kernel_ids[1], t->kernel_ids[2], t->block_num, t->n_args, t->manual);
        for (uint64_t k = t->first_arg; k < t->first_arg + t->n_args; k++) {
            view_text(&d.args[k].view, view, sizeof(view));
            canon_line(c, "task %016" PRIx64 " arg %u type %u (%s)", t->task_id, d.args[k].idx, d.args[k].type, view);
        }
    }
    tl__deps_fini(&d);
}

/* ---- Counters and scopes ---- */

static void counters(struct canon *c, const char *dir, uint64_t tasks)
{
    struct tl_error err;
    struct tl_pmu p;
    char path[1200];
    int rc;

    (void)snprintf(path, sizeof(path), "%s/pmu.csv", dir);
    rc = tl__pmu_read(path, &p, &err);
    if (rc != 0) {
        if (rc != TL_ENOENT)
            bad(c, "%s", err.msg);
        return;
    }
    for (uint32_t i = 0; i < p.n_counters; i++)
        canon_line(c, "pmu column %s", p.names[i]);
    for (uint64_t i = 0; i < p.n_rows; i++)
        if (sure(p.rows[i].task_id, tasks))
            canon_line(c, "pmu %016" PRIx64 " func %d type %u event %u", p.rows[i].task_id, p.rows[i].func_id,
                       p.rows[i].core_type, p.rows[i].event_type);
    tl__pmu_fini(&p);
}

static void scopes(struct canon *c, const char *dir, uint64_t tasks)
{
    struct tl_scope_stats s;
    struct tl_error err;
    char path[1200];
    int rc;

    (void)snprintf(path, sizeof(path), "%s/scope_stats/scope_stats.jsonl", dir);
    rc = tl__scope_stats_read(path, &s, &err);
    if (rc != 0) {
        if (rc != TL_ENOENT)
            bad(c, "%s", err.msg);
        return;
    }
    for (uint32_t i = 0; i < s.n_rings; i++)
        canon_line(c, "ring %u of %" PRIu64 " tasks, %" PRIu64 " bytes, %" PRIu64 " entries", i,
                   s.size[TL_RING_TASKS][i], s.size[TL_RING_HEAP][i], s.size[TL_RING_DEPS][i]);
    for (uint64_t i = 0; i < s.boundaries.count && tasks == UINT64_MAX; i++)
        canon_line(c, "scope %06" PRIu64 " %s ring %u depth %u %s after %" PRIu64 " tasks", i,
                   s.sites[s.boundaries.items[i].site], s.boundaries.items[i].ring, s.boundaries.items[i].depth,
                   s.boundaries.items[i].ends ? "ends" : "begins", s.boundaries.items[i].span[TL_RING_TASKS].head);
    tl__scope_stats_fini(&s);
}

/* ---- The rest ---- */

static void meta(struct canon *c, const char *dir, uint64_t tasks)
{
    struct tl_error err = {.msg = ""};
    struct tl_meta m;

    if (tl__meta_read(dir, &m, &err) != 0) {
        bad(c, "%s: %s", dir, err.msg);
        return;
    }
    canon_line(c, "meta %s %s %s %s %s %s level %u", m.program, m.case_name, m.platform, m.runtime, m.program_hash,
               m.status, m.level);
    if (tasks == UINT64_MAX)
        canon_line(c, "meta %" PRIu64 " tasks", m.tasks);
    for (uint32_t i = 0; i < m.stream_count; i++) {
        const struct tl_meta_stream *s = &m.streams[i];
        bool by_time = strcmp(s->name, "swim_phases") == 0; /* as many as there were turns */

        if (tasks == UINT64_MAX && (s->attempted != s->collected || s->losses[0].count != 0 || s->payloads_lost != 0))
            bad(c, "%s: %" PRIu64 " attempted, %" PRIu64 " collected, %" PRIu64 " payloads lost", s->name, s->attempted,
                s->collected, s->payloads_lost);
        canon_line(c, "stream %s", s->name);
        if (tasks == UINT64_MAX && !by_time)
            canon_line(c, "stream %s of %" PRIu64 " records, %" PRIu64 " bytes", s->name, s->attempted,
                       s->payload_bytes);
    }
}

static struct {
    struct canon *canon;
    size_t skip;
    bool failed;
} walking;

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)at;
    /* Nothing recorded, nothing written; and that is chance where the run ends before its first task does. */
    if (type == FTW_F && !(walking.failed && strncmp(path + walking.skip, "args_dump/", 10) == 0))
        canon_line(walking.canon, "file %s", path + walking.skip);
    if (strstr(path, "journal") != NULL || strstr(path, ".tmp") != NULL)
        bad(walking.canon, "left behind: %s", path);
    return 0;
}

void canon_of_dir(struct canon *c, const char *dir, uint64_t tasks)
{
    walking.canon = c;
    walking.skip = strlen(dir) + 1;
    walking.failed = tasks != UINT64_MAX;
    if (nftw(dir, visit, 8, FTW_PHYS) != 0) {
        bad(c, "%s: no such directory", dir);
        return;
    }
    arguments(c, dir, tasks);
    swimlane(c, dir, tasks);
    dependencies(c, dir, tasks);
    counters(c, dir, tasks);
    scopes(c, dir, tasks);
    meta(c, dir, tasks);
}
