/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/deps/deps_show.h"
#include "analysis/dump/dump_pick.h"
#include "cmd.h"
#include "view/deps_draw.h"
#include "view/find.h"
#include "opts.h"
#include "base/count_of.h"
#include "base/pathname.h"

#define NAME "deps"
#define LINES 40 /* of a list, where nothing is said */

struct command {
    const char *output;
    int engine;
    int format; /* position in formats */
    const char *kernel, *tensor, *word;
    struct tl_rank_pick which;
    uint64_t task_id, ends[2];
    unsigned n_ends; /* of the path, given */
    bool by_task, json, jsonl, up_given, down_given, engine_given;
    int64_t up, down, limit;
    /* What was opened. */
    struct tl_found found;
    struct tl_deps deps;
    struct tl_deps_graph graph;
    struct tl_name_map names;
    struct tl_deps_subject subject;
    struct tl_deps_filter filter;
    uint32_t task, from, to;
};

enum format { TEXT, HTML, DOT };
static const char *const formats[] = {[TEXT] = "text", [HTML] = "html", [DOT] = "dot", NULL};

static int parse_task(const char *value, uint64_t *ret_task_id, char *ret_problem, size_t bytes)
{
    if (tl__task_parse(value, ret_task_id) == 0)
        return 0;
    (void)snprintf(ret_problem, bytes,
                   "a task is 0x..., a number, r<ring>t<local>, t<local>, g<parent>t<local> or p<local>, not \"%s\"",
                   value);
    return -1;
}

static int set_task(void *target, const char *value, char *ret_problem, size_t bytes)
{
    struct command *c = target;

    c->by_task = true;
    return parse_task(value, &c->task_id, ret_problem, bytes);
}

static int set_end(void *target, const char *value, char *ret_problem, size_t bytes)
{
    struct command *c = target;

    return parse_task(value, &c->ends[c->n_ends++ % 2], ret_problem, bytes);
}

static int check_options(const struct command *c)
{
    bool filtered = c->kernel != NULL || c->tensor != NULL;

    if (!c->by_task && (c->up_given || c->down_given))
        return tl__cmd_fail(NAME, "--up and --down go from a task: -t TASK");
    if (c->n_ends > 0 && (c->by_task || filtered || c->format != TEXT))
        return tl__cmd_fail(NAME, "--path is a question of its own: it takes no -t, --kernel, --tensor or --format");
    if (c->format == TEXT && filtered && (c->up_given || c->down_given))
        return tl__cmd_fail(NAME, "--kernel and --tensor filter the edges of a task, not --up and --down");
    if (c->format != TEXT && (c->json || c->jsonl))
        return tl__cmd_fail(NAME, "--json and --jsonl are text for machines: they take no --format");
    if (c->jsonl && (c->json || c->by_task || c->n_ends > 0))
        return tl__cmd_fail(NAME, "--jsonl lists tasks: it takes no --json, -t or --path");
    if (c->format == TEXT && c->output != NULL)
        return tl__cmd_fail(NAME, "-o names the file of --format html or dot");
    if (c->format != HTML && c->engine_given)
        return tl__cmd_fail(NAME, "--engine lays out the page of --format html");
    return TL_OPTS_GO_ON;
}

static int parse(struct command *c, int argc, char **argv)
{
    const struct tl_opt table[] = {
        {.letter = 't',
         .name = "task",
         .kind = TL_OPT_CALL,
         .target = c,
         .call = set_task,
         .value = "TASK",
         .help = "what feeds this task and what it feeds: r0t5, 5 or 0x5"},
        {.name = "up",
         .kind = TL_OPT_LEVEL,
         .target = &c->up,
         .min = 1,
         .max = UINT32_MAX - 1,
         .bare = 3,
         .given = &c->up_given,
         .value = "N",
         .help = "with -t: what feeds it over up to N edges, as a tree; 3 if not said"},
        {.name = "down",
         .kind = TL_OPT_LEVEL,
         .target = &c->down,
         .min = 1,
         .max = UINT32_MAX - 1,
         .bare = 3,
         .given = &c->down_given,
         .value = "N",
         .help = "with -t: what it feeds over up to N edges, as a tree; 3 if not said"},
        {.name = "path",
         .kind = TL_OPT_PAIR,
         .target = c,
         .call = set_end,
         .value = "A B",
         .help = "one way along the edges from task A to task B"},
        {.name = "kernel",
         .kind = TL_OPT_TEXT,
         .target = &c->kernel,
         .value = "NAME",
         .help = "only tasks that run this kernel; its name or func_id"},
        {.name = "tensor",
         .kind = TL_OPT_TEXT,
         .target = &c->tensor,
         .value = "ADDR",
         .help = "only what is about the buffer at this address, or around it"},
        {.name = "limit",
         .kind = TL_OPT_NUMBER,
         .target = &c->limit,
         .max = UINT32_MAX,
         .value = "N",
         .help = "lines of a list, 40 if not said; 0: all"},
        TL_RANK_PICK_OPTIONS(&c->which),
        {.name = "json", .kind = TL_OPT_FLAG, .target = &c->json, .help = "for machines: the same, and all of it"},
        {.name = "jsonl",
         .kind = TL_OPT_FLAG,
         .target = &c->jsonl,
         .help = "for machines: the tasks that --kernel and --tensor leave, a JSON object a line"},
        {.name = "format",
         .kind = TL_OPT_CHOICE,
         .target = &c->format,
         .choices = formats,
         .value = "FORMAT",
         .help = "text; html: a page to look at, laid out by Graphviz; dot: text for Graphviz.\n"
                 "With -t, --kernel or --tensor a picture of that part"},
        {.letter = 'o',
         .name = "output",
         .kind = TL_OPT_TEXT,
         .target = &c->output,
         .value = "FILE",
         .help = "of a picture; -: standard output; deps.html in the recording if not said, of dot: -"},
        {.name = "engine",
         .kind = TL_OPT_CHOICE,
         .target = &c->engine,
         .choices = tl__deps_engines,
         .given = &c->engine_given,
         .value = "ENGINE",
         .help = "of the page, as long as it takes: dot, for few lines that cross; sfdp, for thousands of tasks;\n"
                 "levels, without Graphviz and at once. Not said: dot or sfdp, and levels after 5 s"},
    };
    const struct tl_opts opts = {
        .command = NAME,
        .synopsis = "[DIR] [OPTION]...",
        .about =
            "Shows the task graph that a run with --enable-dep-gen recorded: who feeds whom, and by which tensor.\n"
            "DIR is the run's directory or its deps.json; without it, the newest in outputs/.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    size_t words = 0;
    int code;

    c->limit = LINES;
    code = tl__opts_parse(&opts, argc, argv, &c->word, &words);
    if (words == 0)
        c->word = NULL;
    if (code != TL_OPTS_GO_ON)
        return code;
    return check_options(c);
}

/* ---- opening ---- */

/* Position of a task that was named; or the exit code after a message, in *ret_exit. */
static bool find_task(const struct command *c, uint64_t task_id, uint32_t *ret_task, int *ret_exit)
{
    const struct tl_deps *d = &c->deps;
    char name[48] = "";
    uint64_t edges = 0;

    *ret_task = tl__deps_find(d, task_id);
    if (*ret_task != UINT32_MAX)
        return true;
    for (uint64_t e = 0; e < d->n_edges; e++)
        edges += d->edges[e].pred == task_id || d->edges[e].succ == task_id;
    (void)snprintf(name, sizeof(name), "r%" PRIu64 "t%" PRIu64, task_id >> 32, task_id & UINT32_MAX);
    if (edges > 0)
        *ret_exit = tl__cmd_fail(NAME, "task %s is not listed, though %" PRIu64 " edges name it", name, edges);
    else if (d->n_tasks == 0)
        *ret_exit = tl__cmd_fail(NAME, "no task %s: the recording has none", name);
    else
        *ret_exit = tl__cmd_fail(
            NAME, "no task %s; there are %" PRIu64 ", first r%" PRIu64 "t%" PRIu64 ", last r%" PRIu64 "t%" PRIu64, name,
            d->n_tasks, d->tasks[0].task_id >> 32, d->tasks[0].task_id & UINT32_MAX,
            d->tasks[d->n_tasks - 1].task_id >> 32, d->tasks[d->n_tasks - 1].task_id & UINT32_MAX);
    return false;
}

static int resolve_filter(struct command *c)
{
    struct tl_error error = {0};
    uint64_t address = 0;

    if (c->kernel != NULL) {
        c->filter.by_kernel = true;
        c->filter.kernel = tl__deps_kernel_of(&c->subject, c->kernel, &error);
        if (c->filter.kernel < 0)
            return tl__cmd_fail(NAME, "--kernel: %s", error.msg);
    }
    if (c->tensor != NULL) {
        c->filter.by_tensor = true;
        if (c->tensor[0] == 'r' || tl__task_parse(c->tensor, &address) != 0)
            return tl__cmd_fail(NAME, "--tensor takes an address, 0x... or decimal, not \"%s\"", c->tensor);
        if (tl__deps_buffer_of(&c->subject, address, &c->filter.buffer_addr, &error) < 0)
            return tl__cmd_fail(NAME, "--tensor: %s", error.msg);
    }
    return 0;
}

static int resolve(struct command *c)
{
    int code = 0;

    if (c->by_task && !find_task(c, c->task_id, &c->task, &code))
        return code;
    if (c->n_ends > 0 && (!find_task(c, c->ends[0], &c->from, &code) || !find_task(c, c->ends[1], &c->to, &code)))
        return code;
    return resolve_filter(c);
}

/* One line for what is wrong with the graph; it can still be shown. */
static void mention_cycle(const struct command *c)
{
    struct tl_rendering out;

    if (c->graph.unlevelled == 0)
        return;
    tl__rendering_init(&out, NULL, NULL);
    tl__put_deps_cycle(&out, &c->subject);
    if (tl__rendering_end(&out) == 0)
        tl__cmd_note(NAME, "%s: the tasks wait in a cycle: %.*s; %" PRIu32 " could never start", c->found.path,
                     (int)out.used, out.data, c->graph.unlevelled);
    tl__rendering_fini(&out);
}

static int open_graph(struct command *c)
{
    struct tl_error error = {0};
    size_t n = strlen(c->found.path);
    char path[TL_PATHNAME_BYTES];
    int code;

    while (n > 1 && c->found.path[n - 1] == '/')
        c->found.path[--n] = 0;
    if (!tl__pathname(path, "%s/%s", c->found.path, TL_DEPS_NAME))
        return tl__cmd_fail(NAME, "%.200s...: the path is too long", c->found.path);
    if (tl__deps_read(path, &c->deps, &error) < 0 || tl__deps_graph(&c->deps, &c->graph, &error) < 0)
        return tl__cmd_fail(NAME, "%s", error.msg);
    code = tl__name_map_find(c->found.path, &c->names, &error);
    if (code < 0 && code != TL_ENOENT)
        tl__cmd_note(NAME, "kernels are shown without their names: %s", error.msg);
    c->subject = (struct tl_deps_subject){.deps = &c->deps,
                                          .graph = &c->graph,
                                          .names = &c->names,
                                          .dir = c->found.path,
                                          .limit = c->limit > 0 ? (uint64_t)c->limit : UINT64_MAX};
    mention_cycle(c);
    return resolve(c);
}

/* ---- answers ---- */

static int put_text(const struct command *c, struct tl_rendering *out)
{
    const struct tl_deps_subject *s = &c->subject;

    if (c->n_ends > 0)
        return tl__deps_path_text(out, s, c->from, c->to);
    if (c->up_given || c->down_given)
        return tl__deps_tree_text(out, s, c->task, (uint32_t)c->up, (uint32_t)c->down);
    if (c->by_task)
        return tl__deps_task_text(out, s, c->task, &c->filter);
    if (c->filter.by_kernel || c->filter.by_tensor)
        return tl__deps_list_text(out, s, &c->filter);
    return tl__deps_summary_text(out, s);
}

static int put_json(const struct command *c, struct tl_json *json)
{
    const struct tl_deps_subject *s = &c->subject;

    if (c->jsonl)
        return tl__deps_list_jsonl(json, s, &c->filter);
    if (c->n_ends > 0)
        return tl__deps_path_json(json, s, c->from, c->to);
    if (c->up_given || c->down_given)
        return tl__deps_tree_json(json, s, c->task, (uint32_t)c->up, (uint32_t)c->down);
    if (c->by_task)
        return tl__deps_task_json(json, s, c->task, &c->filter);
    if (c->filter.by_kernel || c->filter.by_tensor)
        return tl__deps_list_json(json, s, &c->filter);
    return tl__deps_summary_json(json, s);
}

static int draw(const struct command *c)
{
    bool near = !c->up_given && !c->down_given; /* then its neighbours, as the text has it */
    const struct tl_deps_part_of of = {.task = c->by_task ? c->task : TL_DEPS_NONE,
                                       .up = near ? 1 : (uint32_t)c->up,
                                       .down = near ? 1 : (uint32_t)c->down,
                                       .filter = &c->filter};
    const struct tl_deps_draw d = {.command = NAME,
                                   .subject = &c->subject,
                                   .of = &of,
                                   .output = c->output,
                                   .engine = c->engine,
                                   .engine_given = c->engine_given};

    return c->format == HTML ? tl__deps_draw_html(&d) : tl__deps_draw_dot(&d);
}

static int put_answer(const struct command *c)
{
    struct tl_rendering out;
    struct tl_json json;
    int code, end;

    if (c->json || c->jsonl) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        code = put_json(c, &json);
        end = tl__json_finish(&json);
    } else {
        tl__rendering_init(&out, tl__cmd_text, stdout);
        code = put_text(c, &out);
        end = tl__rendering_end(&out);
        tl__rendering_fini(&out);
    }
    if (code == 0 && end == 0)
        return tl__cmd_finish(NAME);
    return tl__cmd_fail(NAME, "%s: %s", c->found.path, tl_strerror(code != 0 ? code : end));
}

static int run(int argc, char **argv)
{
    struct command c = {0};
    const struct tl_artifact artifact = {TL_DEPS_NAME, "--enable-dep-gen", &c.which};
    int code;

    c.which = (struct tl_rank_pick)TL_RANK_PICK_INIT;
    code = parse(&c, argc, argv);
    if (code != TL_OPTS_GO_ON)
        return code;
    code = tl__find_recording(NAME, c.word, &artifact, &c.found);
    if (code != 0)
        return code;
    tl__found_mention(NAME, &c.found);
    code = open_graph(&c);
    if (code == 0)
        code = c.format == TEXT ? put_answer(&c) : draw(&c);
    tl__deps_graph_fini(&c.graph);
    tl__deps_fini(&c.deps);
    tl__name_map_fini(&c.names);
    tl__found_fini(&c.found);
    return code;
}

const struct tl_cmd tl__cmd_deps = {
    .name = NAME,
    .summary = "Show the task graph: which task feeds which, and by which tensor",
    .run = run,
};
