/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chip swimlane as a collector: three streams, by who saw what, and one artifact of them all
 * (artifact/swimlane.h). Subtasks name their thread by the lane they came on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "artifact/swimlane.h"
#include "base/env.h"
#include "base/error.h"
#include "collect/collector.h"
#include "wire/swimlane_record.h"

static const struct tl_record_field subtask_fields[] = {
    TL_FIELD_OF_KIND(struct tl_wire_subtask, task_id, TL_FIELD_TASK),
    TL_FIELD_OF_KIND(struct tl_wire_subtask, core_id, TL_FIELD_CORE),
};
static const struct tl_record_field phase_fields[] = {
    TL_FIELD(struct tl_wire_phase, kind, 0, TL_WIRE_PHASE_COUNT - 1),
};
static const struct tl_record_field submit_fields[] = {
    TL_FIELD_OF_KIND(struct tl_wire_submit, task_id, TL_FIELD_TASK),
};
static const struct tl_record_table subtask_tables[] = {TL_RECORD_TABLE(subtask_fields)};
static const struct tl_record_table phase_tables[] = {TL_RECORD_TABLE(phase_fields)};
static const struct tl_record_table submit_tables[] = {TL_RECORD_TABLE(submit_fields)};

static const char *subtasks_inspect(const void *record, struct tl_payload *ret_payload)
{
    const struct tl_wire_subtask *w = record;

    *ret_payload = (struct tl_payload){.whole = true};
    if (w->receive > w->start)
        return "record.receive";
    return w->end != 0 && w->end < w->start ? "record.end" : NULL;
}

static const char *phases_inspect(const void *record, struct tl_payload *ret_payload)
{
    const struct tl_wire_phase *w = record;

    *ret_payload = (struct tl_payload){.whole = true};
    return w->end < w->start ? "record.end" : NULL;
}

static const char *submits_inspect(const void *record, struct tl_payload *ret_payload)
{
    const struct tl_wire_submit *w = record;

    *ret_payload = (struct tl_payload){.whole = true};
    return w->end < w->start ? "record.end" : NULL;
}

/* --- rows ------------------------------------------------------------------------------------------------------ */

static void take_subtasks(const struct tl_export_stream *s, uint32_t epoch, struct tl_swimlane *out)
{
    struct tl_record_walk walk = tl__record_walk(s, sizeof(struct tl_wire_subtask));
    const struct tl_wire_subtask *w;

    while ((w = tl__record_next(&walk)) != NULL) {
        out->cores[out->n_cores++] = (struct tl_swim_core){.task_id = w->task_id,
                                                           .start_cycles = w->start,
                                                           .end_cycles = w->end,
                                                           .receive_cycles = w->receive,
                                                           .core_id = w->core_id,
                                                           .reg_task_id = w->reg_task_id,
                                                           .run_epoch = epoch};
        if (out->core_to_thread != NULL && w->core_id < out->num_cores)
            out->core_to_thread[w->core_id] = (int32_t)walk.lane;
        if (s->level >= 2)
            out->aicpus[out->n_aicpus++] = (struct tl_swim_aicpu){.dispatch_cycles = w->dispatch,
                                                                  .finish_cycles = w->finish,
                                                                  .core_id = w->core_id,
                                                                  .reg_task_id = w->reg_task_id,
                                                                  .run_epoch = epoch};
    }
}

static void take_phases(const struct tl_export_stream *s, uint32_t epoch, struct tl_swimlane *out)
{
    static const uint8_t kinds[TL_WIRE_PHASE_COUNT] = {[TL_WIRE_PHASE_COMPLETE] = TL_PHASE_COMPLETE,
                                                       [TL_WIRE_PHASE_DISPATCH] = TL_PHASE_DISPATCH,
                                                       [TL_WIRE_PHASE_RESOLVE] = TL_PHASE_RESOLVE};
    struct tl_record_walk walk = tl__record_walk(s, sizeof(struct tl_wire_phase));
    const struct tl_wire_phase *w;

    while ((w = tl__record_next(&walk)) != NULL)
        out->phases[out->n_phases++] =
            (struct tl_swim_phase){.start_cycles = w->start,
                                   .end_cycles = w->end,
                                   .loop_iter = w->loop_iter,
                                   .tasks_processed = w->tasks,
                                   .run_epoch = epoch,
                                   .pop_hit = w->pop_hit,
                                   .pop_miss = w->pop_miss,
                                   .thread = (uint16_t)walk.lane,
                                   .kind = kinds[w->kind],
                                   .has = w->kind == TL_WIRE_PHASE_DISPATCH ? TL_SWIM_HAS_POP : 0};
}

static void take_submits(const struct tl_export_stream *s, uint32_t epoch, struct tl_swimlane *out)
{
    struct tl_record_walk walk = tl__record_walk(s, sizeof(struct tl_wire_submit));
    const struct tl_wire_submit *w;

    while ((w = tl__record_next(&walk)) != NULL)
        out->orchs[out->n_orchs++] = (struct tl_swim_orch){.task_id = w->task_id,
                                                           .start_cycles = w->start,
                                                           .end_cycles = w->end,
                                                           .submit_idx = w->submit_idx,
                                                           .thread = walk.lane,
                                                           .run_epoch = epoch};
}

static int by_core(const void *a, const void *b)
{
    const struct tl_swim_core *x = a, *y = b;

    if (x->core_id != y->core_id)
        return x->core_id < y->core_id ? -1 : 1;
    return x->reg_task_id < y->reg_task_id ? -1 : x->reg_task_id > y->reg_task_id;
}

static int by_aicpu(const void *a, const void *b)
{
    const struct tl_swim_aicpu *x = a, *y = b;

    if (x->core_id != y->core_id)
        return x->core_id < y->core_id ? -1 : 1;
    return x->reg_task_id < y->reg_task_id ? -1 : x->reg_task_id > y->reg_task_id;
}

/* By thread, and by start within one: an inner phase is noted before the outer one that holds it. */
static int by_thread(const void *a, const void *b)
{
    const struct tl_swim_phase *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_cycles != y->start_cycles)
        return x->start_cycles < y->start_cycles ? -1 : 1;
    return x->end_cycles > y->end_cycles ? -1 : x->end_cycles < y->end_cycles;
}

/* --- export ---------------------------------------------------------------------------------------------------- */

static int make_room(struct tl_swimlane *out, const struct tl_export *x)
{
    const struct tl_export_stream *s = x->streams;
    uint64_t subtasks = tl__records_in(&s[TL_STREAM_SUBTASKS]);

    out->core_types = tl__alloc(out->num_cores + 1u, sizeof(*out->core_types));
    out->cores = tl__alloc(subtasks + 1, sizeof(*out->cores));
    out->aicpus = tl__alloc(subtasks + 1, sizeof(*out->aicpus));
    out->phases = tl__alloc(tl__records_in(&s[TL_STREAM_PHASES]) + 1, sizeof(*out->phases));
    out->orchs = tl__alloc(tl__records_in(&s[TL_STREAM_SUBMITS]) + 1, sizeof(*out->orchs));
    if (out->level >= 3)
        out->core_to_thread = tl__alloc(out->num_cores + 1u, sizeof(*out->core_to_thread));
    return out->core_types != NULL && out->cores != NULL && out->aicpus != NULL && out->phases != NULL &&
                   out->orchs != NULL && (out->level < 3 || out->core_to_thread != NULL)
               ? 0
               : TL_ENOMEM;
}

static void take_clock(const struct tl_clock_pair *clock, struct tl_swimlane *out)
{
    static const char *const names[TL_CLOCK_MOMENTS] = {"begin", "quiesce"};

    for (unsigned i = 0; i < TL_CLOCK_MOMENTS; i++) {
        struct tl_swim_anchor *a = &out->anchors[out->n_anchors];

        if (clock[i].host_after_ns == 0)
            continue;
        (void)strncpy(a->position, names[i], sizeof(a->position) - 1);
        a->host_before_ns = clock[i].host_before_ns;
        a->device_cycles = clock[i].device_cycles;
        a->host_after_ns = clock[i].host_after_ns;
        a->uncertainty_ns = (clock[i].host_after_ns - clock[i].host_before_ns + 1) / 2;
        out->n_anchors++;
    }
}

static void fill(struct tl_swimlane *out, const struct tl_export *x)
{
    const uint32_t epoch = out->form == TL_SWIM_2026_09 ? x->epoch : 0;
    const uint32_t aics = tl__arch_aics(tl__facts_cluster(x->facts), x->facts->clusters);

    (void)snprintf(out->runtime, sizeof(out->runtime), "%.31s", x->runtime);
    (void)snprintf(out->platform, sizeof(out->platform), "%.8s", x->facts->arch);
    for (uint32_t i = 0; i < out->num_cores; i++) {
        out->core_types[i] = i < aics ? TL_AIC : TL_AIV;
        if (out->core_to_thread != NULL)
            out->core_to_thread[i] = -1;
    }
    take_subtasks(&x->streams[TL_STREAM_SUBTASKS], epoch, out);
    take_phases(&x->streams[TL_STREAM_PHASES], epoch, out);
    take_submits(&x->streams[TL_STREAM_SUBMITS], epoch, out);
    take_clock(x->clock, out);
    qsort(out->cores, out->n_cores, sizeof(*out->cores), by_core);
    qsort(out->aicpus, out->n_aicpus, sizeof(*out->aicpus), by_aicpu);
    qsort(out->phases, out->n_phases, sizeof(*out->phases), by_thread);
}

static int swimlane_export(const struct tl_export *x, struct tl_export_figures *figures, struct tl_error *reterr)
{
    struct tl_swimlane out = {
        .level = x->own->level,
        .form = x->format == TL_FORMAT_2026_09 ? TL_SWIM_2026_09 : TL_SWIM_OLDER,
        .clock_freq_hz = x->facts->clock_freq_hz,
        .num_cores = tl__arch_cores(tl__facts_cluster(x->facts), x->facts->clusters),
    };
    int r = make_room(&out, x);

    if (r < 0) {
        r = tl__fail(reterr, r, "%s: no memory for %llu rows of the swimlane", x->dir,
                     (unsigned long long)tl__records_in(x->own));
    } else {
        fill(&out, x);
        figures->records = out.n_cores;
        r = tl__swimlane_write(x->dir, &out, reterr);
    }
    tl__swimlane_fini(&out);
    return r;
}

static const char *const swimlane_files[] = {TL_SWIMLANE_NAME, TL_SWIMLANE_TRACE_NAME, TL_SWIMLANE_REPORT_NAME, NULL};

const struct tl_collector_spec tl__subtasks_collector = {
    .name = "swim_parts", /* as journals have it since version 1; subtasks */
    .stream = TL_STREAM_SUBTASKS,
    .record_bytes = sizeof(struct tl_wire_subtask),
    .version = 2,
    .files = swimlane_files,
    .tables = subtask_tables,
    .n_tables = 1,
    .inspect = subtasks_inspect,
    .export = swimlane_export,
};

const struct tl_collector_spec tl__phases_collector = {
    .name = "swim_phases",
    .stream = TL_STREAM_PHASES,
    .record_bytes = sizeof(struct tl_wire_phase),
    .version = 1,
    .tables = phase_tables,
    .n_tables = 1,
    .inspect = phases_inspect,
};

const struct tl_collector_spec tl__submits_collector = {
    .name = "swim_submits",
    .stream = TL_STREAM_SUBMITS,
    .record_bytes = sizeof(struct tl_wire_submit),
    .version = 1,
    .tables = submit_tables,
    .n_tables = 1,
    .inspect = submits_inspect,
};
