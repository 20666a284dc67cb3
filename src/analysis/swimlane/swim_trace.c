/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/swim_trace_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

void tl__trace_begin(struct trace *t, const char *name, const char *ph, uint32_t pid, uint32_t tid)
{
    tl__json_object_begin(t->json, TL_JSON_LINE);
    tl__json_key(t->json, "name");
    tl__json_string(t->json, name);
    tl__json_key(t->json, "ph");
    tl__json_string(t->json, ph);
    tl__json_key(t->json, "pid");
    tl__json_u64(t->json, pid + t->opts->part * TL_TRACE_PIDS_A_PART);
    tl__json_key(t->json, "tid");
    tl__json_u64(t->json, tid);
    t->drawn->events++;
}

void tl__trace_end(struct trace *t)
{
    tl__json_object_end(t->json);
}

void tl__trace_us(struct trace *t, const char *key, int64_t ps)
{
    char text[TL_SWIM_US_BYTES];

    tl__json_key(t->json, key);
    tl__json_raw(t->json, text, tl__swim_us_text(text, ps));
}

/* To the nearest whole nanosecond: the grid of all times of a trace. Readers keep nanoseconds; if each end of a slice
 * were rounded by the reader, a slice and the one that it touches could overlap or part. */
static int64_t on_grid(int64_t ps)
{
    int64_t part = ps % TL_TRACE_GRID_PS;

    if (part < 0)
        part += TL_TRACE_GRID_PS;
    return ps - part + (2 * part >= TL_TRACE_GRID_PS ? TL_TRACE_GRID_PS : 0);
}

void tl__trace_ts(struct trace *t, int64_t ps)
{
    tl__trace_us(t, "ts", ps + on_grid(t->opts->offset_ps));
}

void tl__trace_span(struct trace *t, struct span span)
{
    tl__trace_ts(t, span.start);
    tl__trace_us(t, "dur", span.end - span.start);
}

static void metadata(struct trace *t, const char *what, uint32_t pid, uint32_t tid, const char *name, int64_t index)
{
    tl__trace_begin(t, what, "M", pid, tid);
    tl__json_key(t->json, "cat");
    tl__json_string(t->json, "__metadata");
    tl__json_key(t->json, "args");
    tl__json_object_begin(t->json, TL_JSON_LINE);
    if (name != NULL) {
        tl__json_key(t->json, "name");
        tl__json_string(t->json, name);
    } else {
        tl__json_key(t->json, "sort_index");
        tl__json_i64(t->json, index);
    }
    tl__json_object_end(t->json);
    tl__trace_end(t);
}

void tl__trace_process(struct trace *t, uint32_t pid, const char *name)
{
    const char *prefix = t->opts->prefix != NULL ? t->opts->prefix : "";
    char whole[160];

    (void)snprintf(whole, sizeof(whole), "%s%s", prefix, name);
    metadata(t, "process_name", pid, 0, whole, 0);
    metadata(t, "process_sort_index", pid, 0, NULL,
             (int64_t)t->opts->part * TL_TRACE_PIDS_A_PART + (pid == PID_MARKS ? 0 : pid));
}

void tl__trace_thread(struct trace *t, uint32_t pid, uint32_t tid, const char *name)
{
    metadata(t, "thread_name", pid, tid, name, 0);
    metadata(t, "thread_sort_index", pid, tid, NULL, tid);
}

int64_t tl__trace_ps(const struct trace *t, uint64_t cycles)
{
    return on_grid(tl__swim_ps(&t->join->clock, cycles) - t->join->clock.first_ps);
}

bool tl__trace_in_window(const struct trace *t, struct span span)
{
    return !t->opts->windowed || (span.end >= t->opts->from_ps && span.start <= t->opts->to_ps);
}

struct span tl__trace_phase_span(const struct trace *t, const struct tl_swim_phase *phase)
{
    struct span span = {.start = tl__trace_ps(t, tl__swim_cycles(&t->join->clock, phase->start_cycles)),
                        .end = tl__trace_ps(t, tl__swim_cycles(&t->join->clock, phase->end_cycles))};

    if (span.end < span.start)
        span.end = span.start;
    return span;
}

static struct span stamped_span(const struct trace *t, uint64_t start, uint64_t end)
{
    const struct tl_swim_clock *clock = &t->join->clock;
    struct span span = {.start = on_grid(tl__swim_orch_ps(clock, start) - clock->first_ps),
                        .end = on_grid(tl__swim_orch_ps(clock, end) - clock->first_ps)};

    if (span.end < span.start)
        span.end = span.start;
    return span;
}

struct span tl__trace_submit_span(const struct trace *t, const struct tl_swim_orch *submit)
{
    return stamped_span(t, submit->start_cycles, submit->end_cycles);
}

struct span tl__trace_upload_span(const struct trace *t, const struct tl_swim_upload *upload)
{
    return stamped_span(t, upload->start_ns, upload->end_ns);
}

/* A chip with more cores than others' numbers leave room for moves them up. */
uint32_t tl__trace_aicpu_tid(const struct trace *t, uint32_t thread)
{
    uint64_t first = TID_CORE + (uint64_t)LANES_A_CORE * t->join->lane->num_cores;

    return (uint32_t)(first > TID_AICPU ? first : TID_AICPU) + thread;
}

static int index_fanout(struct trace *t)
{
    const struct tl_swim_join *join = t->join;

    t->fanout_first = tl__alloc((size_t)join->n_tasks + 2, sizeof(*t->fanout_first));
    t->fanout = tl__alloc((size_t)join->n_edges + 1, sizeof(*t->fanout));
    if (t->fanout_first == NULL || t->fanout == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < join->n_edges; i++)
        t->fanout_first[join->edges[i].pred + 2]++;
    for (uint32_t i = 2; i < join->n_tasks + 2; i++)
        t->fanout_first[i] += t->fanout_first[i - 1];
    for (uint32_t i = 0; i < join->n_edges; i++)
        t->fanout[t->fanout_first[join->edges[i].pred + 1]++] = i;
    return 0;
}

/* What the times are worth, for who reads the file without the recording. */
static void describe(struct trace *t)
{
    const struct tl_swim_join *join = t->join;
    static const char *const layouts[] = {[TL_SWIM_ORCH_DEVICE] = "device_clock",
                                          [TL_SWIM_ORCH_PLACED] = "clock_aligned",
                                          [TL_SWIM_ORCH_APART] = "apart"};

    tl__json_key(t->json, "displayTimeUnit");
    tl__json_string(t->json, "ns");
    tl__json_key(t->json, "metadata");
    tl__json_object_begin(t->json, TL_JSON_LINE);
    tl__json_key(t->json, "writer");
    tl__json_string(t->json, "tasklens swimlane");
    tl__json_key(t->json, "chip_swimlane_level");
    tl__json_u64(t->json, join->lane->level);
    tl__json_key(t->json, "clock_freq_hz");
    tl__json_u64(t->json, join->lane->clock_freq_hz);
    tl__json_key(t->json, "origin_cycles");
    tl__json_u64_string(t->json, join->clock.origin_cycles);
    tl__json_key(t->json, "layout");
    tl__json_string(t->json, layouts[join->clock.orch]);
    if (join->clock.orch == TL_SWIM_ORCH_PLACED) {
        tl__json_key(t->json, "clock_alignment");
        tl__json_object_begin(t->json, TL_JSON_LINE);
        tl__json_key(t->json, "status");
        tl__json_string(t->json, "calibrated");
        tl__json_key(t->json, "max_uncertainty_ns");
        tl__json_u64(t->json, join->clock.uncertainty_ns);
        tl__json_object_end(t->json);
    }
    tl__json_object_end(t->json);
}

/* Slices stand before the arrows: a reader that sorts by time alone finds the slice of the same moment open. */
static int put_events(struct trace *t)
{
    int code = 0;

    tl__trace_marks(t);
    tl__trace_tasks(t);
    tl__trace_scheds(t);
    if (t->opts->overhead)
        code = tl__trace_overhead(t);
    tl__trace_submits(t);
    tl__trace_uploads(t);
    tl__trace_flows(t);
    return code;
}

/* The events, and around them the document if it is the caller's wish. */
static int put(struct trace *t, bool whole)
{
    int code;

    if (!whole)
        return put_events(t);
    tl__json_object_begin(t->json, TL_JSON_BLOCK);
    tl__json_key(t->json, "traceEvents");
    tl__json_array_begin(t->json, TL_JSON_BLOCK);
    code = put_events(t);
    tl__json_array_end(t->json);
    describe(t);
    tl__json_object_end(t->json);
    tl__json_newline(t->json);
    return code;
}

static int write(struct tl_json *json, const struct tl_swim_scheds *scheds, const struct tl_swim_trace_opts *opts,
                 bool whole, struct tl_swim_drawn *ret_drawn)
{
    struct trace t = {.json = json,
                      .join = scheds->join,
                      .scheds = scheds,
                      .drawn = ret_drawn,
                      .opts = opts,
                      .marks = opts->marks,
                      .next_flow = (uint64_t)opts->part << 32};
    int code;

    memset(ret_drawn, 0, sizeof(*ret_drawn));
    code = tl__trace_plan(&t);
    if (code == 0)
        code = index_fanout(&t);
    if (code == 0)
        code = tl__trace_anchors(&t);
    if (code == 0)
        code = tl__trace_plan_phases(&t);
    if (code == 0)
        code = put(&t, whole);
    for (unsigned v = 0; v < VIEWS; v++) {
        tl__free(t.order[v]);
        tl__free(t.lane[v]);
    }
    tl__free(t.anchors);
    tl__free(t.sent_first);
    tl__free(t.ended_last);
    tl__free(t.finishes);
    tl__free(t.phase_lane);
    tl__free(t.fanout_first);
    tl__free(t.fanout);
    return code;
}

int tl__swim_trace_write(struct tl_json *json, const struct tl_swim_scheds *scheds,
                         const struct tl_swim_trace_opts *opts, struct tl_swim_drawn *ret_drawn)
{
    return write(json, scheds, opts, true, ret_drawn);
}

int tl__swim_trace_events(struct tl_json *json, const struct tl_swim_scheds *scheds,
                          const struct tl_swim_trace_opts *opts, struct tl_swim_drawn *ret_drawn)
{
    return write(json, scheds, opts, false, ret_drawn);
}
