/* SPDX-License-Identifier: Apache-2.0 */
/* What of a recording the paths could not use, and what its level lacks. */
#include <inttypes.h>

#include "analysis/text/phrases.h"
#include "analysis/path/path_show.h"

struct note {
    uint64_t count;
    const char *noun;
    const char *key;  /* in JSON */
    const char *text; /* behind count and noun, of one or of many */
};

#define NOTES 12u

static void collect(const struct tl_path_run *run, struct note *notes)
{
    const struct tl_swim_counts *c = &run->join->counts;
    const struct tl_path_graph *g = &run->graph;
    const struct note all[NOTES] = {
        {c->tasks_unseen, "task", "tasks_without_slices",
         "of deps.json with a kernel, but no core ran it as far as the recording says: weighs nothing"},
        {c->tasks_unlisted, "task", "tasks_not_in_deps", "with slices, but not in deps.json: producers not known"},
        {c->tasks_reused, "task id", "task_ids_reused",
         "used for several tasks: weighs from the first start to the last end of all of them"},
        {c->same_key, "row", "rows_with_the_same_key",
         "with the core and register id of an earlier one: joined in the file's order"},
        {c->aicpu_alone, "task", "never_ended", "dispatched and never ended on its core: on no path"},
        {c->core_alone, "slice", "slices_without_dispatch",
         "without dispatch time: the wait before counts as dispatch wait"},
        {c->unfinished, "slice", "without_finish", "that no scheduler saw finish"},
        {c->backward, "record", "ends_before_start", "with an end before the start: taken as of no length"},
        {run->join->lane->falls, "record", "far_before_the_one_before",
         "far before what came before it on its core or in its loop"},
        {run->edges_unlisted, "edge", "edges_with_unlisted_tasks",
         "from or to a task that deps.json does not list: left out"},
        {g->early_edges, "edge", "edges_that_did_not_wait",
         "whose consumer began before the producer ended: the observed path does not follow it there"},
        {g->overlaps, "slice", "slices_that_overlap",
         "begun before the one before it on its core ended: the observed path does not follow it there"},
    };

    for (unsigned i = 0; i < NOTES; i++)
        notes[i] = all[i];
}

/* What the level leaves out. */
static const char *lacking(const struct tl_swimlane *lane)
{
    if (lane->level <= 1)
        return "level 1 has no dispatch times: what the scheduler took is part of dispatch wait, and of the head "
               "(--enable-chip-swimlane 4 tells them apart)";
    if (lane->level <= 3)
        return "below level 4 the orchestrator is not seen: its delays count as scheduler and head "
               "(--enable-chip-swimlane 4 tells them apart)";
    if (lane->orch_is_host_clock)
        return "the orchestrator ran on the host, before the device: its time is not part of the wall";
    return NULL;
}

void tl__put_path_notes(struct tl_rendering *out, const struct tl_path_run *run, const char *lead)
{
    const char *level = lacking(run->join->lane);
    struct note notes[NOTES];

    collect(run, notes);
    for (unsigned i = 0; i < NOTES; i++) {
        if (notes[i].count == 0)
            continue;
        tl__put_str(out, lead);
        tl__put_count(out, notes[i].count, notes[i].noun);
        tl__put_format(out, " %s\n", notes[i].text);
    }
    if (level != NULL)
        tl__put_format(out, "%s%s\n", lead, level);
}

void tl__path_notes_json(struct tl_json *json, const struct tl_path_run *run)
{
    struct note notes[NOTES];

    collect(run, notes);
    tl__json_object_begin(json, TL_JSON_LINE);
    for (unsigned i = 0; i < NOTES; i++) {
        tl__json_member_u64(json, notes[i].key, notes[i].count);
    }
    tl__json_object_end(json);
}
