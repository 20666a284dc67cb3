/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens traffic: what tasks read and wrote, by kernel and buffer, and what a cache would have saved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/traffic/traffic_view.h"
#include "artifact/dfx_meta.h"
#include "base/count_of.h"
#include "base/pathname.h"
#include "cmd.h"
#include "view/find.h"
#include "opts.h"

#define COMMAND "traffic"
#define BUFFERS_SHOWN 20

struct traffic {
    const char *word; /* as given; NULL: none */
    struct tl_rank_pick which;
    uint64_t cache;
    int64_t buffers;
    bool json;
};

static int parse(struct traffic *t, int argc, char **argv)
{
    const struct tl_opt table[] = {
        {.name = "cache",
         .kind = TL_OPT_CALL,
         .target = &t->cache,
         .call = tl__opts_call_bytes,
         .value = "BYTES",
         .help = "what a cache of so many bytes (K, M, G) would have saved"},
        {.name = "buffers",
         .kind = TL_OPT_NUMBER,
         .target = &t->buffers,
         .max = INT32_MAX,
         .value = "N",
         .help = "lines of the list of buffers, 20 if not said"},
        TL_RANK_PICK_OPTIONS(&t->which),
        {.name = "json", .kind = TL_OPT_FLAG, .target = &t->json, .help = "for machines: every kernel and buffer"},
    };
    const struct tl_opts opts = {
        .command = COMMAND,
        .synopsis = "[DIR] [OPTION]...",
        .about =
            "Shows the bytes that tasks read and wrote, by kernel and by buffer, how far apart a buffer's uses are,\n"
            "and what a cache would have saved.\n"
            "DIR is the run's directory, or traffic.jsonl; without it, the newest in outputs/.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    size_t words = 0;
    int code = tl__opts_parse(&opts, argc, argv, &t->word, &words);

    if (words == 0)
        t->word = NULL;
    return code;
}

static int show(const struct traffic *t, const struct tl_traffic_view *view)
{
    struct tl_rendering out;
    struct tl_json json;
    int code, end;

    if (t->json) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        tl__traffic_json(&json, view);
        code = tl__json_finish(&json);
    } else {
        tl__rendering_init(&out, tl__cmd_text, stdout);
        code = tl__traffic_text(&out, view);
        end = tl__rendering_end(&out);
        tl__rendering_fini(&out);
        code = code != 0 ? code : end;
    }
    end = tl__cmd_finish(COMMAND);
    return end == TL_EXIT_OK && code != 0 ? tl__cmd_fail(COMMAND, "%s: %s", view->dir, tl_strerror(code)) : end;
}

static int view_and_show(const struct traffic *t, const struct tl_found *found, const struct tl_traffic *traffic)
{
    struct tl_traffic_view view = {.traffic = traffic, .dir = found->path, .buffers_shown = (uint64_t)t->buffers};
    struct tl_meta *meta = tl__found_meta(found);
    struct tl_name_map names = {0};
    struct tl_error error = {0};
    int code = tl__name_map_find(found->path, &names, &error);

    if (code != 0 && code != TL_ENOENT)
        tl__cmd_note(COMMAND, "kernels are shown by number: %s", error.msg);
    view.names = &names; /* without a map each kernel is its number */
    view.layout = meta != NULL ? tl__meta_layout(meta) : TL_TASK_RINGS;
    free(meta);
    code = tl__traffic_view_make(&view, t->cache);
    code = code == 0 ? show(t, &view) : tl__cmd_fail(COMMAND, "%s: out of memory", view.dir);
    tl__traffic_view_fini(&view);
    tl__name_map_fini(&names);
    return code;
}

static int open_and_show(const struct traffic *t, const struct tl_found *found)
{
    struct tl_traffic traffic;
    struct tl_error error = {0};
    char path[TL_PATHNAME_BYTES];
    int code;

    if (!tl__pathname(path, "%s/%s", found->path, TL_TRAFFIC_NAME))
        return tl__cmd_fail(COMMAND, "%.200s...: the path is too long", found->path);
    if (tl__traffic_file_read(path, &traffic, &error) != 0)
        return tl__cmd_fail(COMMAND, "%s", error.msg);
    code = view_and_show(t, found, &traffic);
    tl__traffic_fini(&traffic);
    return code;
}

static int run(int argc, char **argv)
{
    struct traffic t = {.buffers = BUFFERS_SHOWN, .which = TL_RANK_PICK_INIT};
    const struct tl_artifact artifact = {TL_TRAFFIC_NAME, "--enable-traffic", &t.which};
    struct tl_found found;
    int code = parse(&t, argc, argv);

    if (code != TL_OPTS_GO_ON)
        return code;
    code = tl__find_recording(COMMAND, t.word, &artifact, &found);
    if (code != 0)
        return code;
    tl__found_mention(COMMAND, &found);
    code = open_and_show(&t, &found);
    tl__found_fini(&found);
    return code;
}

const struct tl_cmd tl__cmd_traffic = {
    .name = COMMAND,
    .summary = "Show the bytes that tasks read and wrote, and what a cache would have saved",
    .run = run,
};
