/* SPDX-License-Identifier: Apache-2.0 */
/* One event of a trace, as JSON. */
#include "analysis/swimlane/swim_trace_internal.h"

#include <stdio.h>

void tl__trace_begin(struct trace *t, const char *name, const char *ph, uint32_t pid, uint32_t tid)
{
    tl__json_object_begin(t->json, TL_JSON_LINE);
    tl__json_member_string(t->json, "name", name);
    tl__json_member_string(t->json, "ph", ph);
    tl__json_member_u64(t->json, "pid", pid + t->opts->part * TL_TRACE_PIDS_A_PART);
    tl__json_member_u64(t->json, "tid", tid);
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

void tl__trace_ts(struct trace *t, int64_t ps)
{
    tl__trace_us(t, "ts", ps + tl__trace_on_grid(t->opts->offset_ps));
}

void tl__trace_span(struct trace *t, struct span span)
{
    tl__trace_ts(t, span.start);
    tl__trace_us(t, "dur", span.end - span.start);
}

static void metadata(struct trace *t, const char *what, uint32_t pid, uint32_t tid, const char *name, int64_t index)
{
    tl__trace_begin(t, what, "M", pid, tid);
    tl__json_member_string(t->json, "cat", "__metadata");
    tl__json_member_object(t->json, "args", TL_JSON_LINE);
    if (name != NULL) {
        tl__json_member_string(t->json, "name", name);
    } else {
        tl__json_member_i64(t->json, "sort_index", index);
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
