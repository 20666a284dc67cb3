/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of tasks that touch, on clocks of any rate: all times are whole nanoseconds, slices that touch in cycles
 * touch in the trace, none overlaps another of its lane, and both ends of each arrow lie in a slice of their lane,
 * before its end. TL_SEED and TL_SEEDS choose the seeds; a failure names its own.
 */
#include "unit/swim_world.h"

#include "analysis/swimlane/swim_trace.h"

#define CORES 3u
#define TASKS 60u
#define SLICES_MAX 1000u
#define EVENTS_MAX 4000u

static uint64_t random_state;

static uint64_t any(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t n)
{
    return any() % n;
}

struct slice {
    uint32_t pid, tid;
    uint64_t start_ns, end_ns;
};

static struct swim_world w;
static struct slice slices[SLICES_MAX];
static const char *events[EVENTS_MAX]; /* each a line of the trace */
static unsigned n_events, n_slices, n_arrow_ends;

/* ---- a recording ---- */

/* Clocks as chips have them, the same ones as another rank's clock sees them, and any. */
static uint64_t some_clock(void)
{
    static const uint64_t clocks[] = {50000000, 19200000, 3700000, 1000000000, 998300000, 1001700000, 19232640};

    return below(3) == 0 ? 1000000 + below(2000000000) : clocks[below(sizeof(clocks) / sizeof(clocks[0]))];
}

/* Tasks one after the other on each core, each begun in the cycle in which the one before ended or a little later; each
 * waits for the task that was made before it if that has ended. Phases of the scheduler touch in the same way. */
static void make_recording(void)
{
    uint64_t free_at[CORES], last_end = 0, submitted = 900000, at;

    world_init(&w, 4, 0, CORES);
    w.lane.clock_freq_hz = some_clock();
    for (unsigned c = 0; c < CORES; c++)
        free_at[c] = 1000000 + below(5000000);
    for (unsigned i = 0; i < TASKS; i++) {
        unsigned core = (unsigned)below(CORES);
        uint64_t start = free_at[core] + (below(2) == 0 ? 0 : below(9)), end = start + below(40);

        (void)world_task(&w, i, -1, 0, -1, 1);
        world_slice(&w, core, i, i + 1, start, end, below(6), below(6));
        world_submit(&w, i, submitted, submitted + 15);
        submitted += 15;
        if (i > 0 && last_end <= start)
            (void)world_edge(&w, i - 1, i);
        last_end = end;
        free_at[core] = end;
    }
    at = 999900;
    while (w.lane.n_phases < WORLD_ROWS / 2) {
        uint64_t end = at + 1 + below(30) * 40;

        (void)world_phase(&w, 0, w.lane.n_phases % 2 == 0 ? TL_PHASE_DISPATCH : TL_PHASE_COMPLETE, at, end, 1);
        at = end;
    }
}

/* ---- the trace, read back by its text ---- */

static void split(char *text)
{
    char *rest = NULL;

    n_events = 0;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *event = strstr(line, "{\"name\": \"");

        if (event == NULL)
            continue;
        assert_true(n_events < EVENTS_MAX);
        events[n_events++] = event;
    }
}

static const char *field(const char *event, const char *key)
{
    char text[24];
    const char *at;

    (void)snprintf(text, sizeof(text), "\"%s\": ", key);
    at = strstr(event, text);
    return at == NULL ? NULL : at + strlen(text);
}

/* A decimal number of microseconds as whole nanoseconds; a fourth digit behind the point fails. */
static uint64_t ns_of(const char *event, const char *key, uint64_t seed)
{
    const char *at = field(event, key);
    uint64_t ns = 0;
    char *end;

    if (at == NULL)
        fail_msg("seed %llu: no %s in %.200s", (unsigned long long)seed, key, event);
    ns = strtoull(at, &end, 10) * 1000;
    if (*end == '.') {
        uint64_t place = 100;

        for (end++; *end >= '0' && *end <= '9'; end++, place /= 10) {
            if (place == 0)
                fail_msg("seed %llu: %s finer than a nanosecond in %.200s", (unsigned long long)seed, key, event);
            ns += (uint64_t)(*end - '0') * place;
        }
    }
    return ns;
}

static uint32_t number(const char *event, const char *key)
{
    return (uint32_t)strtoul(field(event, key), NULL, 10);
}

static void read_slices(uint64_t seed)
{
    n_slices = 0;
    for (unsigned i = 0; i < n_events; i++) {
        const char *at = events[i];
        const char *ph = field(at, "ph");
        struct slice *s = &slices[n_slices];

        if (ph == NULL || ph[1] != 'X')
            continue;
        assert_true(n_slices < SLICES_MAX);
        *s = (struct slice){number(at, "pid"), number(at, "tid"), ns_of(at, "ts", seed), 0};
        s->end_ns = s->start_ns + ns_of(at, "dur", seed);
        n_slices++;
    }
}

static void check_overlaps(uint64_t seed)
{
    for (unsigned i = 0; i < n_slices; i++)
        for (unsigned k = 0; k < n_slices; k++) {
            const struct slice *a = &slices[i], *b = &slices[k];

            if (a->pid == b->pid && a->tid == b->tid && a->start_ns < b->start_ns && b->start_ns < a->end_ns)
                fail_msg("seed %llu, %llu Hz: process %u, lane %u: a slice begins at %llu ns, one ends at %llu ns",
                         (unsigned long long)seed, (unsigned long long)w.lane.clock_freq_hz, a->pid, a->tid,
                         (unsigned long long)b->start_ns, (unsigned long long)a->end_ns);
        }
}

/* Slices of the Worker View are all on their core's first lane; those that touch in cycles touch. */
static void check_touching(uint64_t seed)
{
    const struct slice *on[TASKS];
    unsigned n = 0;

    for (unsigned i = 0; i < n_slices; i++) {
        if (slices[i].pid != 4)
            continue;
        if (slices[i].tid % 10 != 0)
            fail_msg("seed %llu: a slice on lane %u: it was taken to overlap one", (unsigned long long)seed,
                     slices[i].tid);
        assert_true(n < TASKS);
        on[n++] = &slices[i];
    }
    assert_int_equal(n, TASKS);
    for (unsigned c = 0; c < CORES; c++) {
        const struct tl_swim_core *before = NULL;
        unsigned at = 0;

        while (at < n && on[at]->tid != 10000 + 10 * c)
            at++;
        for (uint64_t i = 0; i < w.lane.n_cores; i++) {
            const struct tl_swim_core *row = &w.cores[i];

            if (row->core_id != c)
                continue;
            if (before != NULL && before->end_cycles == row->start_cycles &&
                (at == 0 || on[at - 1]->end_ns != on[at]->start_ns))
                fail_msg("seed %llu, %llu Hz, core %u: task %llu touches the one before; the trace has %llu and %llu "
                         "ns",
                         (unsigned long long)seed, (unsigned long long)w.lane.clock_freq_hz, c,
                         (unsigned long long)row->task_id, (unsigned long long)on[at - 1]->end_ns,
                         (unsigned long long)on[at]->start_ns);
            before = row;
            at++;
        }
    }
}

static void check_arrow_ends(uint64_t seed)
{
    n_arrow_ends = 0;
    for (unsigned event = 0; event < n_events; event++) {
        const char *at = events[event];
        const char *ph = field(at, "ph");
        uint32_t pid, tid;
        uint64_t ns;
        bool found = false;

        if (ph == NULL || (ph[1] != 's' && ph[1] != 'f'))
            continue;
        pid = number(at, "pid");
        tid = number(at, "tid");
        ns = ns_of(at, "ts", seed);
        for (unsigned i = 0; i < n_slices && !found; i++)
            found = slices[i].pid == pid && slices[i].tid == tid && slices[i].start_ns <= ns &&
                    (ns < slices[i].end_ns || (slices[i].start_ns == slices[i].end_ns && ns == slices[i].end_ns));
        if (!found)
            fail_msg("seed %llu, %llu Hz: an arrow's end at %llu ns in no slice of process %u, lane %u: %.150s",
                     (unsigned long long)seed, (unsigned long long)w.lane.clock_freq_hz, (unsigned long long)ns, pid,
                     tid, at);
        n_arrow_ends++;
    }
}

static void check(uint64_t seed, int64_t offset_ps)
{
    const struct tl_swim_trace_opts opts = {.offset_ps = offset_ps};
    struct tl_swim_scheds scheds;
    struct tl_swim_drawn drawn;
    struct tl_swim_join join;
    struct tl_error error = {0};
    struct tl_json json;
    const char *bytes;
    char *text;
    size_t n = 0;

    assert_int_equal(tl__swim_join(&w.lane, &w.deps, &w.names, &join, &error), 0);
    assert_int_equal(tl__swim_scheds(&join, &scheds), 0);
    tl__json_init(&json, NULL, NULL);
    assert_int_equal(tl__swim_trace_write(&json, &scheds, &opts, &drawn), 0);
    bytes = tl__json_text(&json, &n);
    assert_non_null(bytes);
    text = calloc(1, n + 1);
    assert_non_null(text);
    memcpy(text, bytes, n);
    assert_null(strstr(text, "bind_id"));
    split(text);
    read_slices(seed);
    check_overlaps(seed);
    check_touching(seed);
    check_arrow_ends(seed);
    assert_true(n_arrow_ends > 0);
    free(text);
    assert_int_equal(tl__json_finish(&json), 0);
    tl__swim_scheds_fini(&scheds);
    tl__swim_join_fini(&join);
}

static void slices_that_touch_touch_on_every_clock(void **state)
{
    const char *first = getenv("TL_SEED"), *count = getenv("TL_SEEDS");
    uint64_t seed = first != NULL ? strtoull(first, NULL, 10) : 1, n = count != NULL ? strtoull(count, NULL, 10) : 300;

    (void)state;
    for (; n > 0; n--, seed++) {
        random_state = seed * 7919;
        make_recording();
        check(seed, below(2) == 0 ? 0 : (int64_t)below(1000000000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slices_that_touch_touch_on_every_clock)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
