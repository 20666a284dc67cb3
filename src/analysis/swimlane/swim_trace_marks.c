/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller adds to a trace: stretches of time on lanes of their own. */
#include "analysis/swimlane/swim_trace_internal.h"

static struct span band_span(const struct trace *t, const struct tl_swim_band *band)
{
    /* Whole nanoseconds of both, so that the difference is on the grid like the slices. */
    int64_t first_ps = t->join->clock.first_ps - t->join->clock.first_ps % TL_TRACE_GRID_PS;

    return (struct span){(int64_t)band->start_ns * TL_TRACE_GRID_PS - first_ps,
                         (int64_t)band->end_ns * TL_TRACE_GRID_PS - first_ps};
}

void tl__trace_marks(struct trace *t)
{
    const struct tl_swim_marks *marks = t->marks;
    struct tl_swim_band band;

    if (marks == NULL)
        return;
    tl__trace_process(t, PID_MARKS, marks->process);
    for (uint32_t i = 0; i < marks->n_lanes; i++)
        tl__trace_thread(t, PID_MARKS, TID_MARKS + i, marks->lanes[i]);
    for (uint32_t i = 0; i < marks->n_bands; i++) {
        marks->band(marks->ctx, i, &band);
        tl__trace_begin(t, band.name, "X", PID_MARKS, TID_MARKS + band.lane);
        tl__trace_span(t, band_span(t, &band));
        tl__json_member_string(t->json, "cat", "mark");
        tl__json_member_object(t->json, "args", TL_JSON_LINE);
        tl__json_member_string(t->json, "what", band.what);
        tl__json_member_string(t->json, "task", band.task);
        tl__json_object_end(t->json);
        tl__trace_end(t);
    }
}
