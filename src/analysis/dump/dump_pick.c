/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_pick.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/env.h"
#include "base/error.h"

static bool is_of(const struct tl_dump_filter *f, unsigned range, const struct tl_dump_record *r)
{
    return r->task_id >= f->tasks[range].first && r->task_id <= f->tasks[range].last;
}

static bool of_a_task(const struct tl_dump_filter *f, const struct tl_dump_record *r)
{
    for (unsigned i = 0; i < f->n_tasks; i++)
        if (is_of(f, i, r))
            return true;
    return f->n_tasks == 0;
}

/* A kernel without a name is called func_3, as everywhere. */
static bool of_a_kernel(const struct tl_dump_filter *f, const regex_t *kernel, const struct tl_dump_record *r)
{
    for (unsigned i = 0; f->kernel != NULL && i < r->func_count && i < TL_DUMP_MAX_FUNCS; i++) {
        const char *name = f->names != NULL ? tl__name_of(f->names, r->func_id[i]) : NULL;
        char number[24];

        if (r->func_id[i] < 0)
            continue;
        (void)snprintf(number, sizeof(number), "func_%" PRId32, r->func_id[i]);
        if (regexec(kernel, name != NULL ? name : number, 0, NULL, 0) == 0)
            return true;
    }
    return f->kernel == NULL;
}

static bool passes(const struct tl_dump_filter *f, const regex_t *kernel, const struct tl_dump_record *r,
                   uint64_t index)
{
    return (!f->by_index || f->index == index) && (!f->by_arg || f->arg == r->arg_index) &&
           (f->stage < 0 || f->stage == r->stage) && (f->role < 0 || f->role == r->role) && of_a_task(f, r) &&
           of_a_kernel(f, kernel, r);
}

/* What the records have of what was asked for. */
struct seen {
    uint64_t first, last; /* tasks */
    bool arg, kernel;
    uint32_t last_arg; /* of the tasks that are named, or of all */
};

static struct seen look(const struct tl_recording *recording, const struct tl_dump_filter *f, const regex_t *kernel)
{
    uint64_t total = tl_recording_count(recording);
    struct seen s = {.first = UINT64_MAX};

    for (uint64_t i = 0; i < total; i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);

        s.first = r->task_id < s.first ? r->task_id : s.first;
        s.last = r->task_id > s.last ? r->task_id : s.last;
        s.kernel = s.kernel || of_a_kernel(f, kernel, r);
        if (!of_a_task(f, r))
            continue;
        s.arg = s.arg || r->arg_index == f->arg;
        s.last_arg = r->arg_index > s.last_arg ? r->arg_index : s.last_arg;
    }
    return s;
}

/* The first of the tasks or ranges that are named and have no record, or n_tasks. */
static unsigned first_unseen(const struct tl_recording *recording, const struct tl_dump_filter *f)
{
    uint64_t total = tl_recording_count(recording);

    for (unsigned range = 0; range < f->n_tasks; range++) {
        uint64_t i = 0;

        while (i < total && !is_of(f, range, tl_recording_at(recording, i)))
            i++;
        if (i == total)
            return range;
    }
    return f->n_tasks;
}

/* A task, kernel or argument that there is nowhere was most likely not meant. 0: they are there. */
static int explain_missing(const struct tl_recording *recording, const struct tl_dump_filter *f, const regex_t *kernel,
                           bool none, struct tl_error *reterr)
{
    unsigned range = tl_recording_count(recording) > 0 ? first_unseen(recording, f) : f->n_tasks;
    char a[TL_TASK_BYTES], b[TL_TASK_BYTES], first[TL_TASK_BYTES], last[TL_TASK_BYTES];
    struct seen s;

    if (tl_recording_count(recording) == 0 || (!none && range == f->n_tasks))
        return 0;
    s = look(recording, f, kernel);
    if (range < f->n_tasks) {
        bool one = f->tasks[range].first == f->tasks[range].last;

        return tl__fail(reterr, TL_ENOENT, "no record of task%s %s%s%s; the first that has records is %s, the last %s",
                        one ? "" : "s", tl__task_text(a, f->layout, f->tasks[range].first), one ? "" : " to ",
                        one ? "" : tl__task_text(b, f->layout, f->tasks[range].last),
                        tl__task_text(first, f->layout, s.first), tl__task_text(last, f->layout, s.last));
    }
    if (f->kernel != NULL && !s.kernel)
        return tl__fail(reterr, TL_ENOENT, "--kernel: no kernel of a recorded task matches \"%s\"%s", f->kernel,
                        f->names == NULL ? "; their names are not recorded, and they are called func_0, func_1, ..."
                                         : "");
    if (f->by_arg && !s.arg && f->n_tasks == 0)
        return tl__fail(reterr, TL_ENOENT, "no task has a record of argument %" PRIu64 "; the last one is %" PRIu32,
                        f->arg, s.last_arg);
    if (f->by_arg && !s.arg)
        return tl__fail(reterr, TL_ENOENT, "task%s %s%s no record of argument %" PRIu64 "; %s last one is %" PRIu32,
                        f->n_tasks == 1 ? "" : "s", tl__task_text(a, f->layout, f->tasks[0].first),
                        f->n_tasks == 1 && f->tasks[0].first == f->tasks[0].last ? " has" : " and the others have",
                        f->arg, f->n_tasks == 1 ? "its" : "the", s.last_arg);
    return 0;
}

static int check_index(const struct tl_dump_filter *f, uint64_t total, struct tl_error *reterr)
{
    if (!f->by_index || f->index < total)
        return 0;
    if (total == 0)
        return tl__fail(reterr, TL_ERANGE, "--index %llu: the recording has no arguments",
                        (unsigned long long)f->index);
    return tl__fail(reterr, TL_ERANGE, "--index %llu is out of range: the recording has %llu arguments, 0 to %llu",
                    (unsigned long long)f->index, (unsigned long long)total, (unsigned long long)total - 1);
}

static int pick_by(const struct tl_recording *recording, const struct tl_dump_filter *f, const regex_t *kernel,
                   struct tl_dump_pick *ret_pick, struct tl_error *reterr)
{
    struct tl_dump_pick pick = {0};
    uint64_t total = tl_recording_count(recording), n = 0;
    int code;

    for (uint64_t i = 0; i < total; i++)
        n += passes(f, kernel, tl_recording_at(recording, i), i);
    code = explain_missing(recording, f, kernel, n == 0, reterr);
    if (code != 0)
        return code;
    pick.index = tl__alloc(n > 0 ? n : 1, sizeof(*pick.index));
    if (pick.index == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory for %llu records", (unsigned long long)n);
    for (uint64_t i = 0; i < total; i++)
        if (passes(f, kernel, tl_recording_at(recording, i), i))
            pick.index[pick.count++] = i;
    *ret_pick = pick;
    return 0;
}

int tl__dump_pick(const struct tl_recording *recording, const struct tl_dump_filter *filter,
                  struct tl_dump_pick *ret_pick, struct tl_error *reterr)
{
    uint64_t total = tl_recording_count(recording);
    regex_t kernel;
    char why[200];
    int code = check_index(filter, total, reterr);

    if (code != 0)
        return code;
    if (!filter->by_index && filter->n_tasks == 0 && !filter->by_arg && filter->stage < 0 && filter->role < 0 &&
        filter->kernel == NULL) {
        *ret_pick = (struct tl_dump_pick){.count = total};
        return 0;
    }
    code = filter->kernel != NULL ? regcomp(&kernel, filter->kernel, REG_EXTENDED | REG_NOSUB) : 0;
    if (code != 0) {
        (void)regerror(code, &kernel, why, sizeof(why));
        return tl__fail(reterr, TL_EINVAL, "--kernel: \"%s\" is no extended regular expression: %s", filter->kernel,
                        why);
    }
    code = pick_by(recording, filter, &kernel, ret_pick, reterr);
    if (filter->kernel != NULL)
        regfree(&kernel);
    return code;
}

static int add_tasks(struct tl_dump_filter *f, const char *text)
{
    char *dots = strstr(text, "..");
    uint64_t first, last;

    if (dots != NULL)
        *dots = '\0';
    if (tl__task_parse(text, &first) != 0 || tl__task_parse(dots != NULL ? dots + 2 : text, &last) != 0)
        return TL_EPARSE;
    if (last < first || last >> 32 != first >> 32 || f->n_tasks == TL_DUMP_TASKS_MAX)
        return TL_ERANGE;
    f->tasks[f->n_tasks].first = first;
    f->tasks[f->n_tasks++].last = last;
    return 0;
}

int tl__dump_filter_tasks(struct tl_dump_filter *filter, const char *text)
{
    size_t bytes;
    int code = 0;

    do {
        char one[100];

        bytes = strcspn(text, ",");
        if (bytes >= sizeof(one))
            return TL_EPARSE;
        memcpy(one, text, bytes);
        one[bytes] = '\0';
        code = add_tasks(filter, one);
        text += bytes + 1;
    } while (code == 0 && text[-1] == ',');
    return code;
}

void tl__dump_pick_fini(struct tl_dump_pick *pick)
{
    tl__free(pick->index);
    *pick = (struct tl_dump_pick){0};
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
