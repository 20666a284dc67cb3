/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/swim_trace_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

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

    tl__json_member_string(t->json, "displayTimeUnit", "ns");
    tl__json_member_object(t->json, "metadata", TL_JSON_LINE);
    tl__json_member_string(t->json, "writer", "tasklens swimlane");
    tl__json_member_u64(t->json, "chip_swimlane_level", join->lane->level);
    tl__json_member_u64(t->json, "clock_freq_hz", join->lane->clock_freq_hz);
    tl__json_key(t->json, "origin_cycles");
    tl__json_u64_string(t->json, join->clock.origin_cycles);
    tl__json_member_string(t->json, "layout", layouts[join->clock.orch]);
    if (join->clock.orch == TL_SWIM_ORCH_PLACED) {
        tl__json_member_object(t->json, "clock_alignment", TL_JSON_LINE);
        tl__json_member_string(t->json, "status", "calibrated");
        tl__json_member_u64(t->json, "max_uncertainty_ns", join->clock.uncertainty_ns);
        tl__json_object_end(t->json);
    }
    tl__json_object_end(t->json);
}

/* Slices come before the arrows: a reader that sorts by time alone finds the slice of the same moment open. */
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

/* The events, and around them the document if the caller asks for it. */
static int put(struct trace *t, bool whole)
{
    int code;

    if (!whole)
        return put_events(t);
    tl__json_object_begin(t->json, TL_JSON_BLOCK);
    tl__json_member_array(t->json, "traceEvents", TL_JSON_BLOCK);
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
