/* SPDX-License-Identifier: Apache-2.0 */
/* Two passes over the leaves: where each is, which only all together can say; then their events, one by one. */
#include "view/swimlane_ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/text/json_head.h"
#include "analysis/swimlane/rank_axis.h"
#include "analysis/swimlane/swim_trace.h"
#include "analysis/text/table.h"
#include "artifact/journal.h"
#include "cmd.h"
#include "view/output.h"
#include "view/swim_open.h"
#include "base/count_of.h"
#include "base/pathname.h"

/* What came of a leaf. */
struct part {
    uint32_t tasks;
    int64_t wall_ps;
};

struct merge {
    const char *command;
    const struct tl_rank_leaves *leaves;
    const struct tl_swimlane_ranks_opts *opts;
    struct part *parts;
    struct tl_rank_place *places;
    struct tl_swim_drawn drawn; /* sums */
    char trace[TL_PATHNAME_BYTES];
};

/* ---- whether all are there ---- */

static bool is_there(const char *dir, const char *name)
{
    char path[TL_PATHNAME_BYTES];

    return tl__pathname(path, "%s/%s", dir, name) && access(path, F_OK) == 0;
}

static int check_whole(const struct merge *m)
{
    const struct tl_rank_leaves *l = m->leaves;

    for (uint32_t r = 0; r < l->ranks; r++) {
        char dir[24];
        size_t i = 0;

        (void)snprintf(dir, sizeof(dir), "rank%" PRIu32, r);
        while (i < l->list.count && l->list.items[i].rank != r)
            i++;
        if (l->folders < l->ranks && i == l->list.count && !is_there(l->root, dir))
            return tl__cmd_fail(m->command,
                                "rank %" PRIu32 " of %" PRIu32 " is missing: no %s/%s; bring its directory here, or "
                                "name one dispatch to see it alone: tasklens %s %s",
                                r, l->ranks, l->root, dir, m->command, l->list.items[0].path);
    }
    for (size_t i = 0; i < l->list.count; i++) {
        const struct tl_rank_leaf *leaf = &l->list.items[i];

        if (is_there(leaf->path, TL_SWIMLANE_NAME))
            continue;
        if (tl__run_lives(leaf->path))
            return tl__cmd_fail(m->command,
                                "rank %" PRIu32 " has no " TL_SWIMLANE_NAME " in %s yet: its run is still going on",
                                leaf->rank, leaf->path);
        if (is_there(leaf->path, TL_JOURNAL_NAME))
            return tl__cmd_fail(m->command,
                                "rank %" PRIu32 " has no " TL_SWIMLANE_NAME
                                " in %s: its run was cut short; `tasklens recover %s` rebuilds it",
                                leaf->rank, leaf->path, leaf->path);
        return tl__cmd_fail(m->command,
                            "rank %" PRIu32 " has no " TL_SWIMLANE_NAME " in %s; run every rank with "
                            "--enable-chip-swimlane",
                            leaf->rank, leaf->path);
    }
    return 0;
}

/* ---- where each is ---- */

/* 0 with or without a clock.json; an exit code if it cannot be read. */
static int read_clock(const struct merge *m, const struct tl_rank_leaf *leaf, struct tl_rank_clock *room,
                      const struct tl_rank_clock **ret_clock)
{
    char dir[TL_PATHNAME_BYTES];
    struct tl_error err;
    int code;

    tl__rank_leaf_dir(leaf, dir, sizeof(dir));
    code = tl__rank_clock_read(dir, room, &err);
    *ret_clock = code == 0 ? room : NULL;
    return code == 0 || code == TL_ENOENT ? 0 : tl__cmd_fail(m->command, "%s", err.msg);
}

static bool alone(const struct merge *m)
{
    return m->leaves->folders <= 1;
}

/* Some recording of the rank of that number, or of `leaf` itself. */
static const struct tl_rank_leaf *leaf_of(const struct merge *m, uint32_t rank, const struct tl_rank_leaf *leaf)
{
    for (size_t i = 0; i < m->leaves->list.count; i++)
        if (m->leaves->list.items[i].rank == rank)
            return &m->leaves->list.items[i];
    return leaf;
}

static int place(struct merge *m, size_t i, const struct tl_swimlane *lane, struct tl_swim_clock *clock)
{
    const struct tl_rank_clock *rank_clock, *reference = NULL;
    struct tl_rank_clock own, other;
    const struct tl_rank_leaf *leaf = &m->leaves->list.items[i];
    int code = read_clock(m, leaf, &own, &rank_clock);

    if (code == 0 && rank_clock != NULL && rank_clock->reference_rank != rank_clock->rank)
        code = read_clock(m, leaf_of(m, rank_clock->reference_rank, leaf), &other, &reference);
    if (code != 0)
        return code;
    m->places[i].rank = leaf->rank;
    m->places[i].seat = leaf->seat;
    m->places[i].dispatch = leaf->dispatch;
    if (m->leaves->nodes)
        tl__rank_leaf_name(m->leaves, leaf, m->places[i].name, sizeof(m->places[i].name));
    tl__rank_place(lane, clock, rank_clock, reference, alone(m), &m->places[i]);
    return 0;
}

static int place_all(struct merge *m)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < m->leaves->list.count; i++) {
        struct tl_swim_clock clock;
        struct tl_swimlane lane;
        struct tl_error err;
        char path[TL_PATHNAME_BYTES];

        (void)tl__pathname(path, "%s/" TL_SWIMLANE_NAME, m->leaves->list.items[i].path);
        if (tl__swimlane_read(path, &lane, &err) != 0)
            return tl__cmd_fail(m->command, "rank %" PRIu32 ": %s", m->leaves->list.items[i].rank, err.msg);
        tl__swim_clock_init(&clock, &lane);
        code = place(m, i, &lane, &clock);
        tl__swimlane_fini(&lane);
    }
    if (code == 0)
        tl__rank_axes(m->places, (uint32_t)m->leaves->list.count);
    return code;
}

/* ---- the trace ---- */

static void add_up(struct tl_swim_drawn *sum, const struct tl_swim_drawn *d)
{
    sum->worker_slices += d->worker_slices;
    sum->sched_slices += d->sched_slices;
    sum->phases += d->phases;
    sum->submits += d->submits;
    sum->events += d->events;
    for (unsigned i = 0; i < TL_ARROW_COUNT; i++)
        sum->arrows[i] += d->arrows[i];
}

static int put_leaf(struct merge *m, struct tl_json *json, size_t i)
{
    const struct tl_rank_leaf *leaf = &m->leaves->list.items[i];
    struct tl_swim_trace_opts opts = {.overhead = m->opts->overhead, .part = (uint32_t)i};
    const struct tl_rank_place placed = m->places[i]; /* among all, which place() does not see */
    struct tl_swim_scheds scheds = {0};
    struct tl_swim_opened o;
    struct tl_swim_drawn drawn;
    char prefix[100], name[60];
    int code = tl__swim_open(m->command, leaf->path, false, NULL, &o);

    if (code == 0)
        code = place(m, i, &o.lane, &o.join.clock); /* once more, for its rate */
    m->places[i] = placed;
    opts.offset_ps = placed.offset_ps;
    tl__rank_leaf_name(m->leaves, leaf, name, sizeof(name));
    (void)snprintf(prefix, sizeof(prefix), "%s/d%" PRIu32 "%s ", name, leaf->dispatch,
                   placed.known ? "" : " (own clock)");
    opts.prefix = prefix;
    if (code == 0 &&
        (tl__swim_scheds(&o.join, &scheds) != 0 || tl__swim_trace_events(json, &scheds, &opts, &drawn) != 0))
        code = tl__cmd_fail(m->command, "out of memory");
    if (code == 0) {
        m->parts[i].tasks = o.join.n_tasks;
        m->parts[i].wall_ps = tl__swim_ps(&o.join.clock, o.join.end) - o.join.clock.first_ps;
        add_up(&m->drawn, &drawn);
    }
    tl__swim_scheds_fini(&scheds);
    tl__swim_close(&o);
    return code;
}

static void put_ns(struct tl_json *j, const char *key, int64_t ps)
{
    tl__json_member_i64(j, key, (ps + (ps < 0 ? -500 : 500)) / 1000);
}

/* Below the root. */
static const char *path_of(const struct merge *m, size_t i)
{
    const char *path = m->leaves->list.items[i].path + strlen(m->leaves->root);

    return path + strspn(path, "/");
}

static void put_identity(struct tl_json *j, const struct tl_rank_leaf *leaf)
{
    if (!leaf->has_identity)
        return;
    tl__json_member_string(j, "run_id", leaf->identity.run_id);
    tl__json_member_u64(j, "task_slot", leaf->identity.task_slot);
    tl__json_member_u64(j, "group_index", leaf->identity.group_index);
    tl__json_member_u64(j, "group_size", leaf->identity.group_size);
}

/* Where the ranks stand, for the trace's metadata and for --json. */
static void put_places(struct tl_json *j, const struct merge *m)
{
    tl__json_member_array(j, "ranks", TL_JSON_BLOCK);
    for (size_t i = 0; i < m->leaves->list.count; i++) {
        const struct tl_rank_place *p = &m->places[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        tl__json_member_u64(j, "rank", p->rank);
        tl__json_member_u64(j, "dispatch", p->dispatch);
        tl__json_member_string(j, "path", path_of(m, i));
        put_identity(j, &m->leaves->list.items[i]);
        tl__json_member_string(j, "program", m->leaves->list.items[i].program.program);
        tl__json_member_u64(j, "tasks", m->parts[i].tasks);
        put_ns(j, "begin_ns", p->offset_ps);
        put_ns(j, "wall_ns", m->parts[i].wall_ps);
        tl__json_member_string(j, "clock", tl__clock_method_name(p->method));
        tl__json_member_bool(j, "aligned", p->known);
        if (p->known) {
            tl__json_member_u64(j, "error_ns", p->error_ns);
            if (p->doubt[0] != '\0') {
                tl__json_member_string(j, "doubt", p->doubt);
            }
        } else {
            tl__json_member_string(j, "reason", p->why);
        }
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

/* As the one before it in the list. */
static bool same_rank(const struct merge *m, size_t i)
{
    return i > 0 && m->places[i].rank == m->places[i - 1].rank && m->places[i].seat == m->places[i - 1].seat;
}

/* The first dispatch of each rank against that of the first rank; calls with each line. */
static void each_order(const struct merge *m, void (*line)(void *ctx, const char *text), void *ctx)
{
    for (size_t i = 1; i < m->leaves->list.count; i++) {
        char text[TL_RANK_ORDER_BYTES];

        if (same_rank(m, i))
            continue;
        tl__rank_order_text(&m->places[0], &m->places[i], text);
        line(ctx, text);
    }
}

static void order_to_json(void *ctx, const char *text)
{
    tl__json_string(ctx, text);
}

static void put_orders(struct tl_json *j, const struct merge *m)
{
    tl__json_member_array(j, "order", TL_JSON_BLOCK);
    each_order(m, order_to_json, j);
    tl__json_array_end(j);
}

static int write_trace(struct merge *m)
{
    const struct tl_output_place place = {.command = m->command,
                                          .given = m->opts->out,
                                          .dir = m->leaves->root,
                                          .name = TL_TRACE_NAME,
                                          .way_out = "-o FILE writes it elsewhere"};
    struct tl_output output;
    struct tl_json *json = &output.out.json;
    int code = tl__output_open(&output, &place), failed = 0;

    if (code != 0)
        return code;
    if (!output.to_stdout)
        (void)tl__pathname(m->trace, "%s", output.out.path);
    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_member_array(json, "traceEvents", TL_JSON_BLOCK);
    for (size_t i = 0; failed == 0 && i < m->leaves->list.count; i++)
        failed = put_leaf(m, json, i);
    tl__json_array_end(json);
    tl__json_member_string(json, "displayTimeUnit", "ns");
    tl__json_member_object(json, "metadata", TL_JSON_BLOCK);
    tl__json_member_string(json, "writer", "tasklens swimlane");
    put_places(json, m);
    put_orders(json, m);
    tl__json_object_end(json);
    tl__json_object_end(json);
    tl__json_newline(json);
    if (failed != 0) { /* which has been said */
        tl__output_abandon(&output);
        return failed;
    }
    return tl__output_end(&output, 0, &place);
}

/* ---- the summary ---- */

/* "3", or where it is among nodes. */
static const char *rank_text(const struct merge *m, size_t i, char room[24])
{
    if (m->places[i].name[0] != '\0')
        return m->places[i].name;
    (void)snprintf(room, 24, "%" PRIu32, m->places[i].rank);
    return room;
}

static bool one_group(const struct tl_rank_leaf *a, const struct tl_rank_leaf *b)
{
    return a->has_identity && b->has_identity && a->identity.task_slot == b->identity.task_slot &&
           strcmp(a->identity.run_id, b->identity.run_id) == 0;
}

/* Dispatches that belong together, by dispatch_identity.json, where not all of them are here. */
static void put_groups(struct tl_rendering *page, const struct merge *m)
{
    const struct tl_rank_leaves *l = m->leaves;

    for (size_t i = 0; i < l->list.count; i++) {
        uint32_t here = 0;
        size_t first = l->list.count;

        for (size_t k = 0; k < l->list.count; k++) {
            if (!one_group(&l->list.items[i], &l->list.items[k]))
                continue;
            first = k < first ? k : first;
            here++;
        }
        if (first == i && here != l->list.items[i].identity.group_size && l->list.items[i].identity.group_size != 0)
            tl__put_format(page,
                           "note      run %s, task slot %" PRIu64 ": %" PRIu32 " of its %" PRIu32 " members are here\n",
                           l->list.items[i].identity.run_id, l->list.items[i].identity.task_slot, here,
                           l->list.items[i].identity.group_size);
    }
}

static void put_row(void *ctx, uint64_t i, struct tl_row *row)
{
    const struct merge *m = ctx;
    const struct tl_rank_place *p = &m->places[i];
    char rank[24];

    tl__put_str(&row->text, rank_text(m, (size_t)i, rank));
    tl__cell_end(row);
    tl__put_u64(&row->text, p->dispatch);
    tl__cell_end(row);
    tl__put_str(&row->text, m->leaves->list.items[i].has_program ? m->leaves->list.items[i].program.program : "?");
    tl__cell_end(row);
    tl__put_u64(&row->text, m->parts[i].tasks);
    tl__cell_end(row);
    tl__put_format(&row->text, "%.3f ms", (double)p->offset_ps / 1e9);
    tl__cell_end(row);
    tl__put_format(&row->text, "%.3f ms", (double)m->parts[i].wall_ps / 1e9);
    tl__cell_end(row);
    if (p->known)
        tl__put_format(&row->text, "%.3f us%s", (double)p->error_ns / 1e3, p->doubt[0] != '\0' ? "?" : "");
    else
        tl__put_str(&row->text, "own axis");
    tl__cell_end(row);
    tl__put_str(&row->text, tl__clock_method_name(p->method));
    tl__cell_end(row);
}

static void order_to_page(void *ctx, const char *text)
{
    tl__put_format(ctx, "order     %s\n", text);
}

static void put_summary(struct tl_rendering *page, const struct merge *m)
{
    static const struct tl_column columns[] = {
        {"rank", true, false},   {"dispatch", true, false}, {"program", false, false}, {"tasks", true, false},
        {"begins", true, false}, {"wall", true, false},     {"+-", true, false},       {"clock", false, false}};
    const struct tl_swim_drawn *d = &m->drawn;
    char rank[24];

    tl__put_format(page, "recording %s: %" PRIu32 " rank%s, %zu dispatch%s\n", m->leaves->root, m->leaves->ranks,
                   m->leaves->ranks == 1 ? "" : "s", m->leaves->list.count, m->leaves->list.count == 1 ? "" : "es");
    (void)tl__table_put(page, columns, COUNT_OF(columns), m->leaves->list.count, put_row, (void *)(uintptr_t)m);
    each_order(m, order_to_page, page);
    for (size_t i = 0; i < m->leaves->list.count; i++)
        if (!m->places[i].known && (!same_rank(m, i) || m->places[i - 1].known)) {
            tl__put_format(page,
                           "note      %s%s has an axis of its own, which begins at 0 and says nothing of the "
                           "others': %s\n",
                           m->places[i].name[0] != '\0' ? "" : "rank ", rank_text(m, i, rank), m->places[i].why);
        }
    put_groups(page, m);
    tl__put_format(page,
                   "merged    %" PRIu64 " slices in the Worker Views, %" PRIu64 " in the Scheduler Views, %" PRIu64
                   " scheduler phases, %" PRIu64 " submits\n",
                   d->worker_slices, d->sched_slices, d->phases, d->submits);
    tl__put_format(page, "one       dispatch alone, with all notes: tasklens %s %s\n", m->command,
                   m->leaves->list.items[0].path);
    tl__put_format(page, "open      in https://ui.perfetto.dev or chrome://tracing\n%s\n", m->trace);
}

static int report(const struct merge *m)
{
    struct tl_rendering page;
    struct tl_json json;

    if (m->opts->json) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        tl__json_object_begin(&json, TL_JSON_BLOCK);
        tl__json_head(&json, "swimlane", "ranks", m->leaves->root);
        tl__json_member_string(&json, "trace", m->trace);
        put_places(&json, m);
        put_orders(&json, m);
        tl__json_object_end(&json);
        tl__json_newline(&json);
        (void)tl__json_finish(&json);
    } else {
        tl__rendering_init(&page, tl__cmd_text, stdout);
        put_summary(&page, m);
        (void)tl__rendering_end(&page);
        tl__rendering_fini(&page);
    }
    return tl__cmd_finish(m->command);
}

int tl__swimlane_ranks(const char *command, const struct tl_rank_leaves *leaves,
                       const struct tl_swimlane_ranks_opts *opts)
{
    struct merge m = {.command = command, .leaves = leaves, .opts = opts};
    int code = check_whole(&m);

    if (code != 0)
        return code;
    m.parts = calloc(leaves->list.count, sizeof(*m.parts));
    m.places = calloc(leaves->list.count, sizeof(*m.places));
    if (m.parts == NULL || m.places == NULL) {
        free(m.parts);
        free(m.places);
        return tl__cmd_fail(command, "out of memory");
    }
    code = place_all(&m);
    if (code == 0)
        code = write_trace(&m);
    if (code == 0 && !tl__output_is_stdout(opts->out))
        code = report(&m);
    free(m.parts);
    free(m.places);
    return code;
}
