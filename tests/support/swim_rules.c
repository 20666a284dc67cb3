/* SPDX-License-Identifier: Apache-2.0 */
#include "support/swim_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tasklens/kernel.h>

static char text[300];

__attribute__((format(printf, 1, 2))) static const char *wrong(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return text;
}

/* Core by core, numbered from 1 without a gap; a core does one thing at a time. */
static const char *core_rules(const struct tl_swimlane *s)
{
    for (uint64_t i = 0; i < s->n_cores; i++) {
        const struct tl_swim_core *c = &s->cores[i], *before = i > 0 && c[-1].core_id == c->core_id ? c - 1 : NULL;

        if (c->core_id >= s->num_cores || (before == NULL && i > 0 && c->core_id < c[-1].core_id))
            return wrong("aicore row %llu: core %u is out of order", (unsigned long long)i, c->core_id);
        if (c->reg_task_id != (before != NULL ? before->reg_task_id + 1 : 1))
            return wrong("core %u: subtask %u comes after subtask %u", c->core_id, c->reg_task_id,
                         before != NULL ? before->reg_task_id : 0);
        if (c->start_cycles == 0 || c->end_cycles < c->start_cycles)
            return wrong("core %u, subtask %u: its end is before its start", c->core_id, c->reg_task_id);
        if (c->receive_cycles >= c->start_cycles)
            return wrong("core %u, subtask %u: taken %llu cycles before its start", c->core_id, c->reg_task_id,
                         (unsigned long long)c->receive_cycles);
        if (before != NULL && c->start_cycles - c->receive_cycles < before->end_cycles)
            return wrong("core %u: subtask %u is taken within the one before", c->core_id, c->reg_task_id);
    }
    return "";
}

/* Each core row has the AICPU row of its own token: the rows come in the same order. */
static const char *aicpu_rules(const struct tl_swimlane *s, unsigned in_flight)
{
    if (s->n_aicpus != (s->level >= 2 ? s->n_cores : 0))
        return wrong("%llu core rows and %llu AICPU rows", (unsigned long long)s->n_cores,
                     (unsigned long long)s->n_aicpus);
    for (uint64_t i = 0; i < s->n_aicpus; i++) {
        const struct tl_swim_aicpu *a = &s->aicpus[i];
        const struct tl_swim_core *c = &s->cores[i];

        if (a->core_id != c->core_id || a->reg_task_id != c->reg_task_id)
            return wrong("core %u, subtask %u has no AICPU row", c->core_id, c->reg_task_id);
        if (a->dispatch_cycles == 0 || a->dispatch_cycles > c->start_cycles - c->receive_cycles ||
            c->end_cycles > a->finish_cycles)
            return wrong("core %u, subtask %u: dispatch %llu start %llu end %llu finish %llu", c->core_id,
                         c->reg_task_id, (unsigned long long)a->dispatch_cycles, (unsigned long long)c->start_cycles,
                         (unsigned long long)c->end_cycles, (unsigned long long)a->finish_cycles);
        if (i >= in_flight && a[-(long)in_flight].core_id == a->core_id &&
            a[-(long)in_flight].finish_cycles > a->dispatch_cycles)
            return wrong("core %u has more than %u subtasks in flight at subtask %u", c->core_id, in_flight,
                         c->reg_task_id);
    }
    return "";
}

/* Rows of one thread come by start, an outer one before those within it. */
static const char *phase_rules(const struct tl_swimlane *s)
{
    const struct tl_swim_phase *outer = NULL;

    if (s->level < 3)
        return s->n_phases == 0 ? "" : wrong("phases below level 3");
    for (uint64_t i = 0; i < s->n_phases; i++) {
        const struct tl_swim_phase *p = &s->phases[i];

        if (outer != NULL && outer->thread != p->thread)
            outer = NULL;
        if (p->end_cycles < p->start_cycles)
            return wrong("phase row %llu of thread %u ends before it starts", (unsigned long long)i, p->thread);
        if (tl__phase_group(p->kind) == TL_PHASE_INNER) {
            if (outer == NULL || p->start_cycles < outer->start_cycles || p->end_cycles > outer->end_cycles)
                return wrong("phase row %llu of thread %u, %s, is within no outer one", (unsigned long long)i,
                             p->thread, tl__phase_name(p->kind));
            continue;
        }
        if (outer != NULL && (p->start_cycles < outer->end_cycles || p->loop_iter < outer->loop_iter))
            return wrong("phase row %llu of thread %u, %s, begins within the one before", (unsigned long long)i,
                         p->thread, tl__phase_name(p->kind));
        outer = p;
    }
    return "";
}

static const char *submit_rules(const struct tl_swimlane *s)
{
    if (s->level < 4)
        return s->n_orchs == 0 ? "" : wrong("submits below level 4");
    for (uint64_t i = 0; i < s->n_orchs; i++) {
        const struct tl_swim_orch *o = &s->orchs[i];

        if (o->submit_idx != i || o->thread != 0)
            return wrong("submit row %llu is number %u of thread %u", (unsigned long long)i, o->submit_idx, o->thread);
        if (o->start_cycles == 0 || o->end_cycles < o->start_cycles)
            return wrong("submit %llu ends before it starts", (unsigned long long)i);
        if (i > 0 && o->start_cycles < o[-1].end_cycles)
            return wrong("submit %llu starts within the one before", (unsigned long long)i);
    }
    return "";
}

/* Both moments were taken, and all that cores did lies between them. */
static const char *clock_rules(const struct tl_swimlane *s)
{
    if (s->n_anchors != 2 || strcmp(s->anchors[0].position, "begin") != 0 ||
        strcmp(s->anchors[1].position, "quiesce") != 0)
        return wrong("%u pairs of clocks, not those of begin and quiesce", s->n_anchors);
    for (unsigned i = 0; i < 2; i++)
        if (s->anchors[i].host_after_ns < s->anchors[i].host_before_ns || s->anchors[i].device_cycles == 0)
            return wrong("the pair of %s is no moment", s->anchors[i].position);
    for (uint64_t i = 0; i < s->n_cores; i++)
        if (s->cores[i].start_cycles < s->anchors[0].device_cycles ||
            s->cores[i].end_cycles > s->anchors[1].device_cycles)
            return wrong("core row %llu is not between the run's begin and end", (unsigned long long)i);
    return "";
}

/* At level 3 the subtask's core names the thread whose lane the record came on. */
static const char *thread_rules(const struct tl_swimlane *s)
{
    if (s->level < 3)
        return s->core_to_thread == NULL ? "" : wrong("core_to_thread below level 3");
    if (s->core_to_thread == NULL)
        return wrong("no core_to_thread");
    for (uint64_t i = 0; i < s->n_cores; i++)
        if (s->core_to_thread[s->cores[i].core_id] < 0)
            return wrong("core %u ran and has no thread", s->cores[i].core_id);
    return "";
}

uint64_t swim_phase_sum(const struct tl_swimlane *s, unsigned kind, uint64_t *ret_rows)
{
    uint64_t sum = 0, rows = 0;

    for (uint64_t i = 0; i < s->n_phases; i++)
        if (s->phases[i].kind == kind) {
            sum += s->phases[i].tasks_processed;
            rows++;
        }
    if (ret_rows != NULL)
        *ret_rows = rows;
    return sum;
}

static const char *sum_rules(const struct tl_swimlane *s)
{
    uint64_t complete = swim_phase_sum(s, TL_PHASE_COMPLETE, NULL);
    uint64_t dispatch = swim_phase_sum(s, TL_PHASE_DISPATCH, NULL);

    if (s->level >= 3 && (complete != s->n_cores || dispatch != s->n_cores))
        return wrong("%llu subtasks, %llu given out and %llu taken back in phases", (unsigned long long)s->n_cores,
                     (unsigned long long)dispatch, (unsigned long long)complete);
    return "";
}

const char *swim_rules(const struct tl_swimlane *s, unsigned in_flight)
{
    const char *said = core_rules(s);

    if (said[0] == '\0')
        said = aicpu_rules(s, in_flight);
    if (said[0] == '\0')
        said = thread_rules(s);
    if (said[0] == '\0')
        said = phase_rules(s);
    if (said[0] == '\0')
        said = sum_rules(s);
    if (said[0] == '\0')
        said = submit_rules(s);
    return said[0] == '\0' ? clock_rules(s) : said;
}
