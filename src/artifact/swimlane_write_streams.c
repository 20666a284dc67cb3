/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer puts in the form of September 2026 in place of lists by thread. */
#include "artifact/swimlane_impl.h"

void tl__swimlane_put_scheduler_tasks(struct tl_json *j, const struct tl_swimlane *s)
{
    tl__json_member_object(j, "scheduler_tasks", TL_JSON_BLOCK);
    tl__json_member_string(j, "producer", s->cores_schedule ? "aicore" : "aicpu");
    tl__json_member_array(j, "records", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < s->n_aicpus; i++) {
        const struct tl_swim_aicpu *a = &s->aicpus[i];

        tl__json_array_begin(j, TL_JSON_LINE);
        tl__json_u64(j, a->core_id);
        tl__json_u64(j, a->reg_task_id);
        tl__json_u64(j, a->dispatch_cycles);
        tl__json_u64(j, a->finish_cycles);
        tl__json_u64(j, a->run_epoch);
        tl__json_array_end(j);
    }
    tl__json_array_end(j);
    tl__json_object_end(j);
}

static void put_record(struct tl_json *j, const struct tl_swimlane *s, const struct tl_swim_phase *p)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "start_cycles", p->start_cycles);
    tl__json_member_u64(j, "end_cycles", p->end_cycles);
    tl__json_member_u64(j, "run_epoch", p->run_epoch);
    tl__json_member_u64(j, "loop_iter", p->loop_iter);
    tl__json_member_string(j, "kind",
                           p->kind == TL_PHASE_RESOLVE_STANDALONE && !s->cores_schedule ? tl__phase_name(p->kind)
                                                                                        : tl__swim_phase_name(s, p));
    tl__json_member_u64(j, "tasks_processed", p->tasks_processed);
    tl__json_key(j, "task_id");
    if ((p->has & TL_SWIM_HAS_TASK_ID) != 0)
        tl__json_u64(j, p->task_id);
    else
        tl__json_null(j);
    tl__json_object_end(j);
}

static void put_metrics(struct tl_json *j, const struct tl_swimlane *s, const uint64_t *rows, uint64_t count)
{
    tl__json_member_array(j, "metrics", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < count; i++) {
        const struct tl_swim_phase *p = &s->phases[rows[i]];

        if ((p->has & (TL_SWIM_HAS_POP | TL_SWIM_HAS_SHARED)) == 0)
            continue;
        tl__json_object_begin(j, TL_JSON_LINE);
        tl__json_member_u64(j, "record_index", i);
        tl__swimlane_put_metrics(j, p);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

/* As its own capture says; where there is none, what is here is what was committed. */
static struct tl_swim_stream stream_of(const struct tl_swimlane *s, uint32_t scheduler, uint64_t count)
{
    for (uint64_t i = 0; i < s->n_streams; i++)
        if (s->streams[i].scheduler_id == scheduler)
            return s->streams[i];
    return (struct tl_swim_stream){.committed = count,
                                   .read = count,
                                   .worker_id = scheduler,
                                   .scheduler_id = (uint16_t)scheduler,
                                   .aicore = s->cores_schedule};
}

static void put_stream(struct tl_json *j, const struct tl_swimlane *s, uint32_t scheduler, const uint64_t *rows,
                       uint64_t count)
{
    struct tl_swim_stream of = stream_of(s, scheduler, count);

    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_member_string(j, "platform", s->platform);
    tl__json_member_string(j, "producer", of.aicore ? "aicore" : "aicpu");
    tl__json_member_u64(j, "scheduler_id", scheduler);
    tl__json_member_u64(j, "worker_id", of.worker_id);
    tl__json_member_string(j, "core_type", of.aicore ? "aicore" : "aicpu");
    tl__json_member_null(j, "physical_core_id");
    tl__json_member_object(j, "capture", TL_JSON_LINE);
    tl__json_member_u64(j, "committed", of.committed);
    tl__json_member_u64(j, "dropped", of.dropped);
    tl__json_member_bool(j, "truncated", of.truncated);
    tl__json_object_end(j);
    tl__json_member_array(j, "records", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < count; i++)
        put_record(j, s, &s->phases[rows[i]]);
    tl__json_array_end(j);
    put_metrics(j, s, rows, count);
    tl__json_object_end(j);
}

void tl__swimlane_put_scheduler_records(struct tl_json *j, const struct tl_swimlane *s,
                                        const struct tl_swim_by_thread *by)
{
    tl__json_member_object(j, "scheduler_records", TL_JSON_BLOCK);
    tl__json_member_array(j, "streams", TL_JSON_BLOCK);
    for (uint32_t t = 0; t < by->threads; t++)
        if (by->starts[t + 1] > by->starts[t])
            put_stream(j, s, t, &by->order[by->starts[t]], by->starts[t + 1] - by->starts[t]);
    tl__json_array_end(j);
    tl__json_object_end(j);
}
