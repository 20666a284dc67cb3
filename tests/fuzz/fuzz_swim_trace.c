/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Join, trace and summary of recordings that no run makes: the input's bytes are rows. What the readers let through
 * must give a trace without negative times, with as many starts of arrows as ends, and sums that add up.
 */
#include "fuzz.h"

#include <string.h>

#include "analysis/swimlane/swim_summary.h"

#define CORES 8u
#define ROWS 64u

struct bytes {
    const uint8_t *at;
    size_t left;
};

static uint64_t take(struct bytes *b, unsigned count)
{
    uint64_t value = 0;

    while (count-- > 0 && b->left > 0) {
        value = value << 8 | *b->at++;
        b->left--;
    }
    return value;
}

/* Mostly close together, now and then anything. */
static uint64_t take_time(struct bytes *b)
{
    uint64_t kind = take(b, 1);

    return kind == 255 ? take(b, 8) : kind == 254 ? 0 : 1000 + take(b, 1) * 4 + kind % 4;
}

static uint64_t take_task(struct bytes *b)
{
    uint64_t value = take(b, 1);

    return (value % 3) << 32 | value / 3 % 12;
}

struct world {
    struct tl_swimlane lane;
    struct tl_deps deps;
    uint8_t types[CORES];
    int32_t threads[CORES];
    struct tl_swim_core cores[ROWS];
    struct tl_swim_aicpu aicpus[ROWS];
    struct tl_swim_phase phases[ROWS];
    struct tl_swim_orch orchs[ROWS];
    struct tl_deps_task tasks[36];
    struct tl_deps_edge edges[ROWS];
};

static void take_head(struct world *w, struct bytes *b)
{
    static const uint64_t clocks[] = {50000000, 1000000000, 3000000001, 1};
    uint64_t bits = take(b, 1);

    w->lane = (struct tl_swimlane){.level = (uint32_t)(1 + bits % 4),
                                   .num_cores = CORES,
                                   .clock_freq_hz = clocks[bits / 4 % 4],
                                   .core_types = w->types,
                                   .core_to_thread = (bits & 64) != 0 ? w->threads : NULL,
                                   .cores = w->cores,
                                   .aicpus = w->aicpus,
                                   .phases = w->phases,
                                   .orchs = w->orchs,
                                   .orch_is_host_clock = (bits & 128) != 0,
                                   .n_anchors = (uint32_t)(bits % 3)};
    for (unsigned i = 0; i < CORES; i++) {
        uint64_t core = take(b, 1);

        w->types[i] = core % 2;
        w->threads[i] = (int32_t)(core / 2 % 5) - 1;
    }
    for (unsigned i = 0; i < w->lane.n_anchors; i++) {
        struct tl_swim_anchor *a = &w->lane.anchors[i];

        a->position[0] = (char)('a' + take(b, 1) % 2);
        a->host_before_ns = take_time(b);
        a->host_after_ns = a->host_before_ns + take(b, 1);
        a->device_cycles = take_time(b);
        a->uncertainty_ns = take(b, 1);
    }
}

static void take_row(struct world *w, struct bytes *b)
{
    uint64_t kind = take(b, 1) % 6, core = take(b, 1) % CORES, reg = take(b, 1) % 16;

    if (kind == 0 && w->lane.n_cores < ROWS)
        w->cores[w->lane.n_cores++] = (struct tl_swim_core){
            take_task(b), take_time(b), take_time(b), take(b, 1), (uint32_t)core, (uint32_t)reg, 0, 0};
    else if (kind == 1 && w->lane.n_aicpus < ROWS)
        w->aicpus[w->lane.n_aicpus++] =
            (struct tl_swim_aicpu){take_time(b), take_time(b), (uint32_t)core, (uint32_t)reg, 0, 0};
    else if (kind == 2 && w->lane.n_phases < ROWS)
        w->phases[w->lane.n_phases++] = (struct tl_swim_phase){.start_cycles = take_time(b),
                                                               .end_cycles = take_time(b),
                                                               .task_id = take_task(b),
                                                               .thread = (uint16_t)(core % 4),
                                                               .kind = (uint8_t)(take(b, 1) % TL_PHASE_COUNT),
                                                               .has = (uint8_t)(reg % 8)};
    else if (kind == 3 && w->lane.n_orchs < ROWS)
        w->orchs[w->lane.n_orchs++] =
            (struct tl_swim_orch){take_task(b), take_time(b), take_time(b), (uint32_t)reg, (uint32_t)core, 0, 0};
    else if (kind == 4 && w->deps.n_edges < ROWS)
        w->edges[w->deps.n_edges++] =
            (struct tl_deps_edge){.pred = take_task(b), .succ = take_task(b), .flags = (uint8_t)take(b, 1)};
    else if (kind == 5 && w->deps.n_tasks < 36) {
        uint64_t n = w->deps.n_tasks++;

        w->tasks[n] = (struct tl_deps_task){.task_id = (n % 3) << 32 | n / 3, /* each once, as the reader sees to */
                                            .block_num = (uint32_t)core,
                                            .early_dispatch = reg > 8};
        for (unsigned i = 0; i < 3; i++)
            w->tasks[n].kernel_ids[i] = (int32_t)(take(b, 1) % 4) - 1;
    }
}

static unsigned count(const char *text, size_t size, const char *part)
{
    size_t n = strlen(part);
    unsigned found = 0;

    for (const char *at = text; (at = memmem(at, size - (size_t)(at - text), part, n)) != NULL; at += n)
        found++;
    return found;
}

static void check_sums(const struct tl_swim_scheds *scheds, const struct tl_swim_drawn *drawn)
{
    const struct tl_swim_overhead *o = &drawn->overhead;

    for (uint32_t i = 0; i < scheds->count; i++) {
        const struct tl_swim_sched *s = &scheds->list[i];

        MUST(s->overlaps > 0 || s->busy + s->idle == s->end - s->start);
    }
    MUST(o->all <= o->has && o->has <= o->active && o->active <= o->cycles);
    MUST(o->overhead[0] <= o->has && o->overhead[1] <= o->has);
}

static void draw(const struct tl_swim_scheds *scheds)
{
    const struct tl_swim_trace_opts opts = {.overhead = true};
    struct tl_swim_drawn drawn;
    struct tl_swim_summary summary = {.scheds = scheds, .drawn = &drawn, .dir = "d", .trace = "t", .overhead = true};
    struct tl_json json;
    const char *text;
    size_t size;
    uint64_t arrows = 0;

    tl__json_init(&json, NULL, NULL);
    MUST(tl__swim_trace_write(&json, scheds, &opts, &drawn) == 0);
    text = tl__json_text(&json, &size);
    MUST(text != NULL && count(text, size, "\"ts\": -") == 0 && count(text, size, "\"dur\": -") == 0);
    for (unsigned i = 0; i < TL_ARROW_COUNT; i++)
        arrows += drawn.arrows[i];
    MUST(count(text, size, "\"ph\": \"s\"") == arrows && count(text, size, "\"ph\": \"f\"") == arrows);
    MUST(count(text, size, "\"ph\": \"") == drawn.events);
    MUST(tl__json_finish(&json) == 0);
    check_sums(scheds, &drawn);
    tl__json_init(&json, NULL, NULL);
    tl__swim_summary_json(&json, &summary);
    MUST(tl__json_finish(&json) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    struct bytes b = {data, size};
    struct tl_swim_join join;
    struct tl_swim_scheds scheds;

    memset(&w, 0, sizeof(w));
    w.deps.tasks = w.tasks;
    w.deps.edges = w.edges;
    take_head(&w, &b);
    while (b.left > 0)
        take_row(&w, &b);
    for (unsigned i = 0; i < 2; i++) {
        MUST(tl__swim_join(&w.lane, i == 0 ? &w.deps : NULL, NULL, &join, NULL) == 0);
        MUST(tl__swim_scheds(&join, &scheds) == 0);
        draw(&scheds);
        tl__swim_scheds_fini(&scheds);
        tl__swim_join_fini(&join);
    }
    return 0;
}
