/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "analysis/sched/sched.h"
#include "cmd.h"
#include "opts.h"
#include "view/swim_open.h"
#include "base/count_of.h"

#define NAME "sched"

static int show(const struct tl_sched *sched, const char *dir, bool as_json)
{
    struct tl_rendering out;
    struct tl_json json;
    int code = 0, end;

    if (as_json) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        tl__sched_json(&json, sched, dir);
        end = tl__json_finish(&json);
    } else {
        tl__rendering_init(&out, tl__cmd_text, stdout);
        code = tl__sched_text(&out, sched, dir);
        end = tl__rendering_end(&out);
        tl__rendering_fini(&out);
    }
    code = code != 0 ? code : end;
    if (code < 0 && code != TL_EIO)
        return tl__cmd_fail(NAME, "%s: %s", dir, tl_strerror(code));
    return tl__cmd_finish(NAME);
}

static int run(int argc, char **argv)
{
    static struct tl_swim_opened opened;
    static struct tl_sched sched;
    struct tl_error error = {0};
    struct tl_rank_pick which = TL_RANK_PICK_INIT;
    const char *word = NULL;
    bool json = false;
    const struct tl_opt table[] = {
        TL_RANK_PICK_OPTIONS(&which),
        {.name = "json", .kind = TL_OPT_FLAG, .target = &json, .help = "for machines: the same six parts"},
    };
    const struct tl_opts opts = {
        .command = NAME,
        .synopsis = "[DIR] [OPTION]...",
        .about =
            "Shows how well the schedulers kept the cores busy: overhead, core switch, head, tail, the loop of each\n"
            "scheduler, and where the time of the critical path went.\n"
            "DIR is the directory of a run with --enable-chip-swimlane; without it, the newest in outputs/. Level 4\n"
            "and --enable-dep-gen give all six parts; a part that lacks something says what.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    size_t words = 0;
    int code = tl__opts_parse(&opts, argc, argv, &word, &words);

    if (code != TL_OPTS_GO_ON)
        return code;
    code = tl__swim_open(NAME, words > 0 ? word : NULL, false, &which, &opened);
    if (code == 0 && tl__sched_make(&opened.join, &sched, &error) < 0)
        code = tl__cmd_fail(NAME, "%s: %s", opened.found.path, error.msg);
    else if (code == 0)
        code = show(&sched, opened.found.path, json);
    tl__sched_fini(&sched);
    tl__swim_close(&opened);
    return code;
}

const struct tl_cmd tl__cmd_sched = {
    .name = NAME,
    .summary = "Show how well the schedulers kept the cores busy",
    .run = run,
};
