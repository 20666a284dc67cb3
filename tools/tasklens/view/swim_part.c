/* SPDX-License-Identifier: Apache-2.0 */
#include "view/swim_part.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/swimlane/swim_kernels.h"
#include "base/count_of.h"
#include "base/task_id.h"
#include "cmd.h"

#define PS_MAX (INT64_MAX / 4)

/* "12", "1.5ms": from the first event of the recording on, in us without a unit. Digits behind the twelfth do not
 * count. Not strtod: it follows the locale. */
static bool parse_time(const char *text, int64_t *ret_ps)
{
    static const struct {
        const char *unit;
        int64_t ps;
    } units[] = {{"ns", 1000}, {"us", 1000000}, {"", 1000000}, {"ms", 1000000000}, {"s", 1000000000000}};
    const char *at = text, *unit;
    __int128 value = 0, scale = 1;

    for (; *at >= '0' && *at <= '9' && value < PS_MAX; at++)
        value = value * 10 + (*at - '0');
    if (at == text)
        return false;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++)
            if (scale < 1000000000000) {
                value = value * 10 + (*at - '0');
                scale *= 10;
            }
    unit = at;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(unit, units[i].unit) == 0) {
            value = value * units[i].ps / scale;
            *ret_ps = value > PS_MAX ? PS_MAX : (int64_t)value;
            return true;
        }
    return false;
}

/* A task means its first dispatch or start, or, with `last`, its last end. */
static int moment(const char *command, const char *option, const char *text, const struct tl_swim_join *join, bool last,
                  int64_t *ret_ps)
{
    const struct tl_swim_task *task;
    uint64_t id, cycles;
    uint32_t at;

    if (parse_time(text, ret_ps))
        return 0;
    if (tl__task_parse(text, &id) != 0)
        return tl__cmd_fail(command, "%s %s: neither a time (200us, 1.5ms, 2s; us without a unit) nor a task (r1t5)",
                            option, text);
    at = tl__swim_find(join, id);
    if (at == TL_SWIM_NONE)
        return tl__cmd_fail(command, "%s %s: the recording has no such task", option, text);
    task = &join->tasks[at];
    cycles = last ? task->end : task->start;
    if (!last && (task->flags & TL_SWIM_SENT) != 0 && task->dispatch < cycles)
        cycles = task->dispatch;
    *ret_ps = tl__swim_ps(&join->clock, cycles) - join->clock.first_ps;
    return 0;
}

static int keep_kernels(const char *command, struct tl_swim_part *part, const struct tl_swim_join *join)
{
    uint32_t found = 0;
    char said[200];
    regex_t re;
    int code = regcomp(&re, part->kernel, REG_EXTENDED | REG_NOSUB);

    if (code != 0) {
        (void)regerror(code, &re, said, sizeof(said));
        return tl__cmd_fail(command, "--kernel %s: %s", part->kernel, said);
    }
    part->kept = calloc((size_t)join->n_slices + 1, 1);
    for (uint32_t i = 0; part->kept != NULL && i < join->n_slices; i++) {
        const struct tl_swim_kernel kernel = {.name = join->slices[i].name, .func_id = join->slices[i].func_id};
        char room[24];

        part->kept[i] = regexec(&re, tl__swim_kernel_name(&kernel, room), 0, NULL, 0) == 0;
        found += part->kept[i];
    }
    regfree(&re);
    if (part->kept == NULL)
        return tl__cmd_fail(command, "out of memory");
    return found > 0 ? 0 : tl__cmd_fail(command, "--kernel %s: no kernel of the recording matches", part->kernel);
}

static void describe(struct tl_swim_part *part)
{
    int n = 0;

    if (part->from != NULL)
        n += snprintf(part->words, 200, "--from %.150s ", part->from);
    if (part->to != NULL)
        n += snprintf(part->words + n, 200, "--to %.150s ", part->to);
    if (part->kernel != NULL)
        n += snprintf(part->words + n, 200, "--kernel %.150s ", part->kernel);
    if (n > 0)
        part->words[n - 1] = 0;
}

int tl__swim_part(const char *command, struct tl_swim_part *part, const struct tl_swim_join *join,
                  struct tl_swim_trace_opts *opts)
{
    int code = 0;

    opts->windowed = part->from != NULL || part->to != NULL;
    opts->from_ps = 0;
    opts->to_ps = PS_MAX;
    if (part->from != NULL)
        code = moment(command, "--from", part->from, join, false, &opts->from_ps);
    if (code == 0 && part->to != NULL)
        code = moment(command, "--to", part->to, join, true, &opts->to_ps);
    if (code == 0 && opts->from_ps > opts->to_ps)
        code = tl__cmd_fail(command, "--from %s is after --to %s", part->from, part->to);
    if (code == 0 && part->kernel != NULL)
        code = keep_kernels(command, part, join);
    opts->kept = part->kept;
    describe(part);
    return code;
}

void tl__swim_part_fini(struct tl_swim_part *part)
{
    free(part->kept);
    part->kept = NULL;
}
