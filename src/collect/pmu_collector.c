/* SPDX-License-Identifier: Apache-2.0 */
/* The PMU as a collector: a record a subtask becomes a row of pmu.csv, and what the records say of their own origin
 * becomes pmu_meta.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/pmu_set.h"
#include "artifact/pmu.h"
#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "collect/collector.h"
#include "wire/pmu_record.h"

static const struct tl_record_field pmu_fields[] = {
    TL_FIELD_OF_KIND(struct tl_wire_pmu, task_id, TL_FIELD_TASK),
    TL_FIELD_SIGNED(struct tl_wire_pmu, func_id, 1, -1, INT32_MAX),
    TL_FIELD_OF_KIND(struct tl_wire_pmu, core_id, TL_FIELD_CORE),
    TL_FIELD__AT(struct tl_wire_pmu, measured, "record.measured", 1, TL_FIELD_COLUMNS, 0,
                 (1u << TL_WIRE_PMU_COUNTERS) - 1),
    TL_FIELD_OF_KIND(struct tl_wire_pmu, event, TL_FIELD_EVENT),
    TL_FIELD(struct tl_wire_pmu, core_type, 0, TL_AIV),
    TL_FIELD(struct tl_wire_pmu, counted, 0, 1),
    TL_FIELD(struct tl_wire_pmu, machine, 0, TL_MACHINE_COUNT - 1),
};
static const struct tl_record_table pmu_tables[] = {TL_RECORD_TABLE(pmu_fields)};

/* A record and the scheduler that wrote it. */
struct entry {
    const struct tl_wire_pmu *w;
    unsigned thread;
};

struct sheet {
    const struct tl_pmu_set *set;
    struct entry *entries;
    uint64_t count;
    struct tl_pmu rows;
    struct tl_pmu_meta meta;
};

static int by_task(const void *a, const void *b)
{
    const struct tl_wire_pmu *x = ((const struct entry *)a)->w, *y = ((const struct entry *)b)->w;

    if (x->task_id != y->task_id)
        return x->task_id < y->task_id ? -1 : 1;
    if (x->core_id != y->core_id)
        return x->core_id < y->core_id ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

/* ---- rows ---- */

static const struct tl_pmu_set *set_of(const struct tl_export *x)
{
    const struct tl_arch *arch = tl__facts_arch(x->facts);

    return arch != NULL ? tl__pmu_set(arch, x->own->level) : NULL;
}

static void take_rows(struct sheet *sheet)
{
    struct tl_pmu *out = &sheet->rows;

    for (uint32_t c = 0; c < out->n_counters; c++)
        out->names[c] = (char *)(uintptr_t)sheet->set->columns[c].name; /* the writer only reads */
    for (uint64_t i = 0; i < sheet->count; i++) {
        const struct tl_wire_pmu *w = sheet->entries[i].w;

        out->rows[i] = (struct tl_pmu_row){.task_id = w->task_id,
                                           .total_cycles = w->total_cycles,
                                           .thread_id = sheet->entries[i].thread,
                                           .core_id = w->core_id,
                                           .func_id = w->func_id,
                                           .core_type = w->core_type,
                                           .event_type = w->event};
        memcpy(out->counters + i * out->n_counters, w->counters, out->n_counters * sizeof(w->counters[0]));
    }
    out->n_rows = sheet->count;
}

/* ---- where they come from ---- */

static const char *machine_words(const struct sheet *sheet)
{
    static const char *const words[TL_MACHINE_COUNT] = {
        [TL_MACHINE_USED] = "used: perf_event_open, a group a thread, user mode",
        [TL_MACHINE_NOT_ASKED] = "not used: no counter of this event type is one of a machine",
        [TL_MACHINE_ABSENT] = "not used: this machine has no such hardware counters (virtual machines often have none)",
        [TL_MACHINE_DENIED] = "not used: the system forbids it (kernel.perf_event_paranoid above 2, or a container)",
        [TL_MACHINE_NO_NAMES] = "not used: libpfm4, which knows the machine's events, is not installed",
        [TL_MACHINE_FAILED] = "not used: the system refused the counters, or has too few of them at once",
    };

    return sheet->count != 0 ? words[sheet->entries[0].w->machine] : "not known: nothing ran";
}

static void event_words(const struct tl_pmu_machine *m, char *to, size_t size)
{
    struct tl_text t = tl__text(to, size);

    tl__text_put(&t, m->event);
    if (m->less != NULL) {
        tl__text_put(&t, " less ");
        tl__text_put(&t, m->less);
    }
    if (m->times == 0)
        tl__text_put(&t, ", core cycles converted to cycles of the device's clock");
    if (m->times > 1) {
        tl__text_put(&t, ", times ");
        tl__text_dec(&t, m->times);
    }
}

static void describe(const struct sheet *sheet, uint32_t column, uint64_t measured, struct tl_pmu_meta_column *out)
{
    static const char *const units[] = {
        [TL_PMU_CYCLES] = "cycles", [TL_PMU_COUNT] = "count", [TL_PMU_BYTES] = "bytes", [TL_PMU_OPS] = "ops"};
    const struct tl_pmu_column *c = &sheet->set->columns[column];
    struct tl_text t = tl__text(out->text, sizeof(out->text));

    (void)snprintf(out->name, sizeof(out->name), "%s", c->name);
    (void)snprintf(out->unit, sizeof(out->unit), "%s", units[c->unit]);
    if (measured != 0) {
        out->source = TL_PMU_MEASURED;
        out->rows_lacking = sheet->count - measured;
        event_words(&c->machine, out->text, sizeof(out->text));
    } else if (c->per != 0) {
        out->source = TL_PMU_MODELLED;
        (void)tl__pmu_formula(c, out->text, sizeof(out->text));
    } else {
        out->source = TL_PMU_UNAVAILABLE;
        tl__text_put(&t, c->lacking);
        if (c->machine.event != NULL) {
            tl__text_put(&t, "; ");
            tl__text_put(&t, machine_words(sheet));
        }
    }
}

static void describe_columns(struct sheet *sheet)
{
    struct tl_pmu_meta *m = &sheet->meta;

    m->columns[0] = (struct tl_pmu_meta_column){.name = "pmu_total_cycles",
                                                .unit = "cycles",
                                                .text = "the device's clock, around the kernel",
                                                .source = TL_PMU_MEASURED};
    m->n_columns = sheet->set->n_columns + 1;
    (void)snprintf(m->mode, sizeof(m->mode), "modelled");
    for (uint32_t c = 0; c < sheet->set->n_columns; c++) {
        uint64_t measured = 0;

        for (uint64_t i = 0; i < sheet->count; i++)
            measured += (unsigned)sheet->entries[i].w->measured >> c & 1u;
        describe(sheet, c, measured, &m->columns[c + 1]);
        if (measured != 0)
            (void)snprintf(m->mode, sizeof(m->mode), "measured");
    }
}

static int by_number(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Kernels of which no subtask reported anything: all that ran, less those that did. `room`: 2 x count. */
static void find_silent(struct sheet *sheet, int32_t *room)
{
    int32_t *all = room, *spoke = room + sheet->count;
    uint64_t n_spoke = 0, n = 0;

    for (uint64_t i = 0; i < sheet->count; i++) {
        all[i] = sheet->entries[i].w->func_id;
        if (sheet->entries[i].w->counted != 0)
            spoke[n_spoke++] = all[i];
    }
    qsort(all, sheet->count, sizeof(*all), by_number);
    qsort(spoke, n_spoke, sizeof(*spoke), by_number);
    for (uint64_t i = 0, k = 0; i < sheet->count; i++) {
        if (i > 0 && all[i] == all[i - 1])
            continue;
        while (k < n_spoke && spoke[k] < all[i])
            k++;
        if (k == n_spoke || spoke[k] != all[i])
            room[n++] = all[i]; /* n <= i: what is there has been looked at */
    }
    sheet->meta.silent = room;
    sheet->meta.n_silent = (uint32_t)n;
}

static bool has_model(const struct tl_pmu_set *set)
{
    for (uint32_t c = 0; c < set->n_columns; c++)
        if (set->columns[c].per != 0)
            return true;
    return false;
}

static void take_meta(struct sheet *sheet, const struct tl_export *x, int32_t *room)
{
    struct tl_pmu_meta *m = &sheet->meta;

    (void)snprintf(m->arch, sizeof(m->arch), "%.8s", x->facts->arch);
    (void)snprintf(m->event_name, sizeof(m->event_name), "%s", sheet->set->name);
    (void)snprintf(m->machine, sizeof(m->machine), "%s", machine_words(sheet));
    m->event_type = sheet->set->event;
    m->clock_freq_hz = x->facts->clock_freq_hz;
    m->run_epoch = x->format == TL_FORMAT_2026_09 ? x->epoch : 0;
    m->records = sheet->count;
    m->dropped = x->own->dropped;
    describe_columns(sheet);
    if (has_model(sheet->set))
        find_silent(sheet, room);
}

/* ---- export ---- */

static int write_both(const struct tl_export *x, struct sheet *sheet, struct tl_error *reterr)
{
    int32_t *room = tl__alloc(sheet->count + 1, 2 * sizeof(*room));
    int r = TL_ENOMEM;

    sheet->rows.n_counters = sheet->set->n_columns;
    sheet->rows.names = tl__alloc(sheet->set->n_columns, sizeof(*sheet->rows.names));
    sheet->rows.rows = tl__alloc(sheet->count + 1, sizeof(*sheet->rows.rows));
    sheet->rows.counters = tl__alloc(sheet->count + 1, sheet->set->n_columns * sizeof(*sheet->rows.counters));
    if (room == NULL || sheet->rows.names == NULL || sheet->rows.rows == NULL || sheet->rows.counters == NULL) {
        r = tl__fail(reterr, r, "%s: no memory for %llu rows of counters", x->dir, (unsigned long long)sheet->count);
    } else {
        take_rows(sheet);
        take_meta(sheet, x, room);
        /* The rows last: where they are, what they mean is there. */
        r = tl__pmu_meta_write(x->dir, &sheet->meta, reterr);
        if (r == 0)
            r = tl__pmu_write(x->dir, &sheet->rows, reterr);
    }
    tl__free(room);
    tl__free(sheet->rows.names);
    tl__free(sheet->rows.rows);
    tl__free(sheet->rows.counters);
    return r;
}

static int pmu_export(const struct tl_export *x, struct tl_export_figures *figures, struct tl_error *reterr)
{
    struct tl_record_walk walk = tl__record_walk(x->own, sizeof(struct tl_wire_pmu));
    struct sheet *sheet = tl__alloc(1, sizeof(*sheet));
    uint64_t n = tl__records_in(x->own);
    int r = TL_ENOMEM;

    if (sheet != NULL)
        sheet->entries = tl__alloc(n + 1, sizeof(*sheet->entries));
    if (sheet == NULL || sheet->entries == NULL) {
        r = tl__fail(reterr, r, "%s: no memory for %llu rows of counters", x->dir, (unsigned long long)n);
        goto out;
    }
    sheet->set = set_of(x);
    if (sheet->set == NULL) {
        r = tl__fail(reterr, TL_ECORRUPT, "%s: counters of event type %u on \"%.8s\", which is not known", x->dir,
                     x->own->level, x->facts->arch);
        goto out;
    }
    while (sheet->count < n) {
        sheet->entries[sheet->count].w = tl__record_next(&walk);
        sheet->entries[sheet->count++].thread = walk.lane;
    }
    qsort(sheet->entries, n, sizeof(*sheet->entries), by_task);
    figures->records = n;
    r = write_both(x, sheet, reterr);
out:
    if (sheet != NULL)
        tl__free(sheet->entries);
    tl__free(sheet);
    return r;
}

static const char *const pmu_files[] = {TL_PMU_NAME, TL_PMU_META_NAME, NULL};

const struct tl_collector_spec tl__pmu_collector = {
    .name = "pmu",
    .stream = TL_STREAM_PMU,
    .record_bytes = sizeof(struct tl_wire_pmu),
    .version = 1,
    .files = pmu_files,
    .tables = pmu_tables,
    .n_tables = 1,
    .export = pmu_export,
};
