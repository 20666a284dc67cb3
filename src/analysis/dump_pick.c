/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump_pick.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/env.h"
#include "base/error.h"

static bool passes(const struct tl_dump_filter *f, const struct tl_dump_record *r, uint64_t index)
{
    return (!f->by_index || f->index == index) && (!f->by_task || f->task_id == r->task_id) &&
           (!f->by_arg || f->arg == r->arg_index) && (f->stage < 0 || f->stage == r->stage) &&
           (f->role < 0 || f->role == r->role);
}

/* What the records have of what was asked for. */
struct seen {
    uint64_t first, last; /* tasks */
    bool task, arg;
    uint32_t last_arg; /* of the task, or of all tasks */
};

static struct seen look(const struct tl_recording *recording, const struct tl_dump_filter *f)
{
    uint64_t total = tl_recording_count(recording);
    struct seen s = {.first = UINT64_MAX};

    for (uint64_t i = 0; i < total; i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);

        s.first = r->task_id < s.first ? r->task_id : s.first;
        s.last = r->task_id > s.last ? r->task_id : s.last;
        if (f->by_task && r->task_id != f->task_id)
            continue;
        s.task = true;
        s.arg = s.arg || r->arg_index == f->arg;
        s.last_arg = r->arg_index > s.last_arg ? r->arg_index : s.last_arg;
    }
    return s;
}

/* Nothing passes: a task or an argument that there is nowhere was most likely not meant. 0: they are there. */
static int explain_none(const struct tl_recording *recording, const struct tl_dump_filter *f, struct tl_error *reterr)
{
    struct seen s = look(recording, f);
    char task[48];

    (void)snprintf(task, sizeof(task), "task r%" PRIu64 "t%" PRIu64, f->task_id >> 32, f->task_id & UINT32_MAX);
    if (tl_recording_count(recording) == 0)
        return 0;
    if (f->by_task && !s.task)
        return tl__fail(reterr, TL_ENOENT,
                        "no record of %s; the first that has records is r%" PRIu64 "t%" PRIu64 ", the last r%" PRIu64
                        "t%" PRIu64,
                        task, s.first >> 32, s.first & UINT32_MAX, s.last >> 32, s.last & UINT32_MAX);
    if (f->by_arg && !s.arg && !f->by_task)
        return tl__fail(reterr, TL_ENOENT, "no task has a record of argument %" PRIu64 "; the last one is %" PRIu32,
                        f->arg, s.last_arg);
    if (f->by_arg && !s.arg)
        return tl__fail(reterr, TL_ENOENT, "%s has no record of argument %" PRIu64 "; its last one is %" PRIu32, task,
                        f->arg, s.last_arg);
    return 0;
}

int tl__dump_pick(const struct tl_recording *recording, const struct tl_dump_filter *filter,
                  struct tl_dump_pick *ret_pick, struct tl_error *reterr)
{
    struct tl_dump_pick pick = {0};
    uint64_t total = tl_recording_count(recording), n = 0;
    int code;

    if (filter->by_index && filter->index >= total) {
        if (total == 0)
            return tl__fail(reterr, TL_ERANGE, "--index %llu: the recording has no arguments",
                            (unsigned long long)filter->index);
        return tl__fail(reterr, TL_ERANGE, "--index %llu is out of range: the recording has %llu arguments, 0 to %llu",
                        (unsigned long long)filter->index, (unsigned long long)total, (unsigned long long)total - 1);
    }
    if (!filter->by_index && !filter->by_task && !filter->by_arg && filter->stage < 0 && filter->role < 0) {
        pick.count = total;
        *ret_pick = pick;
        return 0;
    }
    for (uint64_t i = 0; i < total; i++)
        n += passes(filter, tl_recording_at(recording, i), i);
    if (n == 0) {
        code = explain_none(recording, filter, reterr);
        if (code != 0)
            return code;
    }
    pick.index = tl__alloc(n > 0 ? n : 1, sizeof(*pick.index));
    if (pick.index == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory for %llu records", (unsigned long long)n);
    for (uint64_t i = 0; i < total; i++)
        if (passes(filter, tl_recording_at(recording, i), i))
            pick.index[pick.count++] = i;
    *ret_pick = pick;
    return 0;
}

void tl__dump_pick_fini(struct tl_dump_pick *pick)
{
    tl__free(pick->index);
    *pick = (struct tl_dump_pick){0};
}

void tl__put_task(struct tl_page *page, uint64_t task_id)
{
    char text[TL_TASK_BYTES];

    tl__put_str(page, tl__task_text(text, task_id));
}

int tl__stage_parse(const char *text)
{
    if (strcasecmp(text, "before") == 0 || strcasecmp(text, tl_stage_name(TL_STAGE_BEFORE)) == 0)
        return TL_STAGE_BEFORE;
    if (strcasecmp(text, "after") == 0 || strcasecmp(text, tl_stage_name(TL_STAGE_AFTER)) == 0)
        return TL_STAGE_AFTER;
    return TL_EPARSE;
}

int tl__role_parse(const char *text)
{
    for (int role = TL_ROLE_INPUT; role <= TL_ROLE_INOUT; role++)
        if (strcasecmp(text, tl_role_name((unsigned)role)) == 0)
            return role;
    return TL_EPARSE;
}
