/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of chip_swimlane_records.json: a row a line, lists by thread, the keys that the level calls for. */
#include <tasklens/kernel.h>

#include "artifact/file_out.h"
#include "artifact/swimlane_impl.h"
#include "base/env.h"
#include "base/error.h"

static void drop(struct tl_swim_by_thread *by)
{
    tl__free(by->order);
    tl__free(by->starts);
}

/* `least`: lists that are written even if they are empty. TL_ENOMEM leaves nothing to drop. */
static int sort_by_thread(const struct tl_swimlane *s, bool phases, uint32_t least, struct tl_swim_by_thread *by)
{
    uint64_t rows = phases ? s->n_phases : s->n_orchs;

#define THREAD_OF(i) (phases ? s->phases[i].thread : s->orchs[i].thread)
    by->threads = least;
    for (uint64_t i = 0; i < rows; i++)
        if (THREAD_OF(i) >= by->threads)
            by->threads = THREAD_OF(i) + 1;
    by->order = tl__alloc(rows + 1, sizeof(*by->order)); /* never of 0 bytes */
    by->starts = tl__alloc((size_t)by->threads + 2, sizeof(*by->starts));
    if (by->order == NULL || by->starts == NULL) {
        drop(by);
        return TL_ENOMEM;
    }
    /* Counts two places further on, so that after the placing starts[t] is where t begins. */
    for (uint64_t i = 0; i < rows; i++)
        by->starts[THREAD_OF(i) + 2]++;
    for (uint32_t t = 1; t <= by->threads; t++)
        by->starts[t + 1] += by->starts[t];
    for (uint64_t i = 0; i < rows; i++)
        by->order[by->starts[THREAD_OF(i) + 1]++] = i;
#undef THREAD_OF
    return 0;
}

/* ---- the head ---- */

static void put_anchors(struct tl_json *j, const struct tl_swimlane *s)
{
    tl__json_member_object(j, "clock_anchors", TL_JSON_BLOCK);
    tl__json_member_u64(j, "schema_version", 1);
    tl__json_member_array(j, "samples", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < s->n_anchors; i++) {
        const struct tl_swim_anchor *a = &s->anchors[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        tl__json_member_string(j, "position", a->position);
        tl__json_member_u64(j, "host_before_ns", a->host_before_ns);
        tl__json_member_u64(j, "device_cycles", a->device_cycles);
        tl__json_member_u64(j, "host_after_ns", a->host_after_ns);
        tl__json_member_u64(j, "uncertainty_ns", a->uncertainty_ns);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
    tl__json_object_end(j);
}

static void put_metadata(struct tl_json *j, const struct tl_swimlane *s)
{
    tl__json_member_object(j, "metadata", TL_JSON_BLOCK);
    if (s->form == TL_SWIM_2026_09) {
        tl__json_member_string(j, "runtime", s->runtime);
    }
    tl__json_member_u64(j, "clock_freq_hz", s->clock_freq_hz);
    tl__json_member_u64(j, "num_cores", s->num_cores);
    tl__json_member_array(j, "core_types", TL_JSON_LINE);
    for (uint32_t i = 0; i < s->num_cores; i++)
        tl__json_string(j, s->core_types[i] == TL_AIC ? "aic" : "aiv");
    tl__json_array_end(j);
    if (s->orch_is_host_clock) {
        tl__json_member_string(j, "orchestrator_source", "host");
        tl__json_member_string(j, "orchestrator_clock_domain", "host_monotonic_ns");
    }
    if (s->form == TL_SWIM_2026_09 && s->host_domain[0] != '\0') {
        tl__json_member_string(j, "host_clock_domain_id", s->host_domain);
    }
    if (s->n_anchors > 0)
        put_anchors(j, s);
    if (s->level >= 3 && s->core_to_thread != NULL) {
        tl__json_member_array(j, "core_to_thread", TL_JSON_LINE);
        for (uint32_t i = 0; i < s->num_cores; i++)
            tl__json_i64(j, s->core_to_thread[i]);
        tl__json_array_end(j);
    }
    tl__json_object_end(j);
}

/* ---- rows ---- */

static void put_cores(struct tl_json *j, const struct tl_swimlane *s)
{
    tl__json_member_array(j, "aicore_tasks", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < s->n_cores; i++) {
        const struct tl_swim_core *c = &s->cores[i];

        tl__json_array_begin(j, TL_JSON_LINE);
        tl__json_u64(j, c->core_id);
        tl__json_u64(j, c->task_id);
        tl__json_u64(j, c->reg_task_id);
        tl__json_u64(j, c->start_cycles);
        tl__json_u64(j, c->end_cycles);
        tl__json_u64(j, c->receive_cycles);
        if (s->form == TL_SWIM_2026_09)
            tl__json_u64(j, c->run_epoch);
        tl__json_array_end(j);
    }
    tl__json_array_end(j);
}

static void put_aicpus(struct tl_json *j, const struct tl_swimlane *s)
{
    tl__json_member_array(j, "aicpu_tasks", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < s->n_aicpus; i++) {
        const struct tl_swim_aicpu *a = &s->aicpus[i];

        tl__json_array_begin(j, TL_JSON_LINE);
        tl__json_u64(j, a->core_id);
        tl__json_u64(j, a->reg_task_id);
        tl__json_u64(j, a->dispatch_cycles);
        tl__json_u64(j, a->finish_cycles);
        tl__json_array_end(j);
    }
    tl__json_array_end(j);
}

static void put_shared(struct tl_json *j, const char *key, const uint32_t shared[3])
{
    tl__json_member_array(j, key, TL_JSON_LINE);
    for (unsigned i = 0; i < 3; i++)
        tl__json_u64(j, shared[i]);
    tl__json_array_end(j);
}

void tl__swimlane_put_metrics(struct tl_json *j, const struct tl_swim_phase *phase)
{
    if ((phase->has & TL_SWIM_HAS_POP) != 0) {
        tl__json_member_u64(j, "pop_hit", phase->pop_hit);
        tl__json_member_u64(j, "pop_miss", phase->pop_miss);
    }
    if ((phase->has & TL_SWIM_HAS_SHARED) != 0) {
        put_shared(j, "shared_at_start", phase->shared_at_start);
        put_shared(j, "shared_at_end", phase->shared_at_end);
    }
}

static void put_phase(struct tl_json *j, const struct tl_swimlane *s, const struct tl_swim_phase *p)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_string(j, "kind", tl__swim_phase_name(s, p));
    tl__json_member_u64(j, "start_cycles", p->start_cycles);
    tl__json_member_u64(j, "end_cycles", p->end_cycles);
    tl__json_member_u64(j, "loop_iter", p->loop_iter);
    tl__json_member_u64(j, "tasks_processed", p->tasks_processed);
    tl__swimlane_put_metrics(j, p);
    if ((p->has & TL_SWIM_HAS_TASK_ID) != 0) {
        tl__json_member_u64(j, "task_id", p->task_id);
    }
    tl__json_object_end(j);
}

static void put_orch(struct tl_json *j, const struct tl_swimlane *s, const struct tl_swim_orch *o)
{
    bool host_clock = s->orch_is_host_clock;

    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "submit_idx", o->submit_idx);
    tl__json_member_u64(j, "task_id", o->task_id);
    tl__json_member_u64(j, host_clock ? "start_host_ns" : "start_cycles", o->start_cycles);
    tl__json_member_u64(j, host_clock ? "end_host_ns" : "end_cycles", o->end_cycles);
    if (s->form == TL_SWIM_2026_09) {
        tl__json_member_u64(j, "run_epoch", o->run_epoch);
    }
    tl__json_object_end(j);
}

static void put_threads(struct tl_json *j, const struct tl_swimlane *s, bool phases, const struct tl_swim_by_thread *by)
{
    tl__json_member_array(j,
                          phases                  ? "aicpu_scheduler_phases"
                          : s->orch_is_host_clock ? "host_orchestrator_phases"
                                                  : "aicpu_orchestrator_phases",
                          TL_JSON_BLOCK);
    for (uint32_t t = 0; t < by->threads; t++) {
        tl__json_array_begin(j, TL_JSON_BLOCK);
        for (uint64_t i = by->starts[t]; i < by->starts[t + 1]; i++) {
            if (phases)
                put_phase(j, s, &s->phases[by->order[i]]);
            else
                put_orch(j, s, &s->orchs[by->order[i]]);
        }
        tl__json_array_end(j);
    }
    tl__json_array_end(j);
}

static void put_all(struct tl_json *j, const struct tl_swimlane *s, const struct tl_swim_by_thread *phases,
                    const struct tl_swim_by_thread *orchs)
{
    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_member_u64(j, "chip_swimlane_level", s->level);
    put_metadata(j, s);
    put_cores(j, s);
    if (s->level >= 2 && s->form == TL_SWIM_2026_09)
        tl__swimlane_put_scheduler_tasks(j, s);
    else if (s->level >= 2)
        put_aicpus(j, s);
    if (s->level >= 3 && s->form == TL_SWIM_2026_09)
        tl__swimlane_put_scheduler_records(j, s, phases);
    else if (s->level >= 3)
        put_threads(j, s, true, phases);
    if (s->level >= 4)
        put_threads(j, s, false, orchs);
    tl__json_object_end(j);
    tl__json_newline(j);
}

/* A scheduler without a record has a list all the same: threads are known by their position. */
static uint32_t schedulers(const struct tl_swimlane *s)
{
    int32_t most = -1;

    for (uint32_t i = 0; s->core_to_thread != NULL && i < s->num_cores; i++)
        if (s->core_to_thread[i] > most)
            most = s->core_to_thread[i];
    return (uint32_t)(most + 1);
}

int tl__swimlane_write(const char *dir, const struct tl_swimlane *s, struct tl_error *reterr)
{
    struct tl_swim_by_thread phases = {0}, orchs = {0};
    struct tl_out out;
    int code = sort_by_thread(s, true, schedulers(s), &phases);

    if (code != 0)
        return tl__fail(reterr, code, "%s: out of memory", TL_SWIMLANE_NAME);
    code = sort_by_thread(s, false, 0, &orchs);
    if (code != 0) {
        drop(&phases);
        return tl__fail(reterr, code, "%s: out of memory", TL_SWIMLANE_NAME);
    }
    code = tl__out_open_in(&out, dir, TL_SWIMLANE_NAME, reterr);
    if (code == 0) {
        put_all(&out.json, s, &phases, &orchs);
        code = tl__out_commit(&out, reterr);
    }
    drop(&phases);
    drop(&orchs);
    return code;
}
