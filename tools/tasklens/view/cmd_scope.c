/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens scope: how full the rings were, and which sizes would have been enough. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/scope/scope_view.h"
#include "artifact/dfx_meta.h"
#include "cmd.h"
#include "view/find.h"
#include "opts.h"
#include "view/output.h"
#include "base/count_of.h"
#include "base/pathname.h"

#define COMMAND "scope"

struct scope {
    const char *word; /* as given; NULL: none */
    struct tl_rank_pick which;
    const char *out; /* file of the page; NULL: in the recording */
    int64_t sites;
    bool json, html, out_given;
};

static int parse(struct scope *s, int argc, char **argv)
{
    const struct tl_opt table[] = {
        {.name = "html",
         .kind = TL_OPT_FLAG,
         .target = &s->html,
         .help = "write a page with charts, scope.html, to the recording"},
        {.letter = 'o',
         .name = "output",
         .kind = TL_OPT_TEXT,
         .target = &s->out,
         .given = &s->out_given,
         .value = "FILE",
         .help = "the same to FILE; -: standard output"},
        {.name = "sites",
         .kind = TL_OPT_NUMBER,
         .target = &s->sites,
         .max = INT32_MAX,
         .value = "N",
         .help = "lines of the list of sites, 20 if not said"},
        TL_RANK_PICK_OPTIONS(&s->which),
        {.name = "json", .kind = TL_OPT_FLAG, .target = &s->json, .help = "for machines: every ring, site and scope"},
    };
    const struct tl_opts opts = {
        .command = COMMAND,
        .synopsis = "[DIR] [OPTION]...",
        .about = "Shows how full the rings of a run were, which scopes filled them, and sizes to set.\n"
                 "DIR is the run's directory, its scope_stats/, or scope_stats.jsonl; without it, the newest in "
                 "outputs/.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    size_t words = 0;
    int code = tl__opts_parse(&opts, argc, argv, &s->word, &words);

    if (code != TL_OPTS_GO_ON)
        return code;
    if (words == 0)
        s->word = NULL;
    s->html = s->html || s->out_given;
    if (s->html && s->json)
        return tl__cmd_fail(COMMAND, "--html and -o write a page: they take no --json");
    return code;
}

static int show(const struct scope *s, const struct tl_scope_view *view)
{
    struct tl_rendering page;
    struct tl_json json;
    int code, end;

    if (s->json) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        tl__scope_json(&json, view);
        code = tl__json_finish(&json);
    } else {
        tl__rendering_init(&page, tl__cmd_text, stdout);
        code = tl__scope_text(&page, view);
        end = tl__rendering_end(&page);
        tl__rendering_fini(&page);
        code = code != 0 ? code : end;
    }
    end = tl__cmd_finish(COMMAND);
    if (end == TL_EXIT_OK && code != 0)
        return tl__cmd_fail(COMMAND, "%s: %s", view->dir, tl_strerror(code));
    return end;
}

static int write_page(const struct scope *s, const struct tl_scope_view *view)
{
    const struct tl_output_place place = {.command = COMMAND,
                                          .given = s->out,
                                          .dir = view->dir,
                                          .name = TL_SCOPE_PAGE_NAME,
                                          .way_out = "-o FILE writes it elsewhere"};
    struct tl_output output;
    struct tl_rendering page;
    int code = tl__output_open(&output, &place), end;

    if (code != 0)
        return code;
    tl__rendering_init(&page, tl__output_bytes, &output);
    code = tl__scope_html(&page, view);
    end = tl__rendering_end(&page);
    tl__rendering_fini(&page);
    code = tl__output_end(&output, code != 0 ? code : end, &place);
    if (code != 0 || output.to_stdout)
        return code;
    printf("%s\n", output.out.path);
    return tl__cmd_finish(COMMAND);
}

/* The runtime of the run, if it is not the default: the sizes are for its rings. Empty where nothing says. */
static void name_runtime(const char *dir, char *text, size_t size)
{
    struct tl_meta *meta = calloc(1, sizeof(*meta));
    struct tl_error error;
    char run_dir[TL_PATHNAME_BYTES];

    text[0] = '\0';
    (void)tl__pathname(run_dir, "%s/..", dir);
    if (meta != NULL && tl__meta_read(run_dir, meta, &error) == 0 &&
        strcmp(meta->runtime, "tensormap_and_ringbuffer") != 0)
        (void)snprintf(text, size, "%s", meta->runtime);
    free(meta);
}

static int open_and_show(const struct scope *s, const char *dir)
{
    struct tl_scope_stats stats;
    struct tl_scope_usage usage;
    struct tl_error error = {0};
    char path[TL_PATHNAME_BYTES], runtime[64];
    int code;

    if (!tl__pathname(path, "%s/%s", dir, TL_SCOPE_NAME))
        return tl__cmd_fail(COMMAND, "%.200s...: the path is too long", dir);
    if (tl__scope_stats_read(path, &stats, &error) != 0)
        return tl__cmd_fail(COMMAND, "%s", error.msg);
    name_runtime(dir, runtime, sizeof(runtime));
    if (tl__scope_usage(&stats, &usage) == 0) {
        const struct tl_scope_view view = {.usage = &usage,
                                           .dir = dir,
                                           .runtime = runtime[0] != '\0' ? runtime : NULL,
                                           .sites_shown = (uint64_t)s->sites};

        code = s->html ? write_page(s, &view) : show(s, &view);
        tl__scope_usage_fini(&usage);
    } else {
        code = tl__cmd_fail(COMMAND, "%s: out of memory", path);
    }
    tl__scope_stats_fini(&stats);
    return code;
}

static int run(int argc, char **argv)
{
    struct scope s = {.sites = TL_SCOPE_SITES_SHOWN};
    struct tl_found found;
    const struct tl_artifact artifact = {TL_SCOPE_NAME, "--enable-scope-stats", &s.which};
    int code;

    s.which = (struct tl_rank_pick)TL_RANK_PICK_INIT;
    code = parse(&s, argc, argv);
    if (code != TL_OPTS_GO_ON)
        return code;
    code = tl__find_recording(COMMAND, s.word, &artifact, &found);
    if (code != 0)
        return code;
    tl__found_mention(COMMAND, &found);
    code = open_and_show(&s, found.path);
    tl__found_fini(&found);
    return code;
}

const struct tl_cmd tl__cmd_scope = {
    .name = COMMAND,
    .summary = "Show how full the rings were, and which sizes are enough",
    .run = run,
};
