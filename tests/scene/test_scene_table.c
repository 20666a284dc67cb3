/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four programs on each arch, runtime, dump level and device mode. The serial interpreter says, apart from the runtime,
 * what each recording must hold; every record of every run is compared with it, values included, by a key that does not
 * depend on the runtime: the number of the task in order of submission, stage, argument. Thread mode runs here, process
 * mode by the command, and the files that both leave are the same but for where a payload stands.
 */
#include "scene/cli.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include <tasklens/recording.h>
#include <tasklens/worker.h>

#include "artifact/dfx_meta.h"
#include "host/compare.h"
#include "host/data.h"
#include "host/params.h"
#include "support/submit_opts.h"

#if defined(__SANITIZE_THREAD__)
#define TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSAN 1
#endif
#endif
#ifndef TSAN
#define TSAN 0
#endif

static const struct scene {
    const char *program, *case_name;
} scenes[] = {{"vector_add", "ragged"}, {"bgemm", "ragged"}, {"paged_attention", "grouped"}, {"layer", "default"}};
static const char *const platforms[] = {"a2a3sim", "a5sim"};
static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};

/* --- what must be recorded --------------------------------------------------------------------------------------- */

/* One argument at one stage. */
struct want {
    uint64_t task, id;
    unsigned stage, role, kind, arg, dtype, marked, rank;
    int funcs[3];
    uint32_t shape[TL_MAX_DIMS];
    uint64_t strides[TL_MAX_DIMS], start, bytes, value; /* value: the payload's hash, the scalar's bits */
};

static struct {
    struct want *at;
    uint64_t count, tasks;
} wanted;

static bool parse_want(const char *line, struct want *w)
{
    int n = sscanf(
        line,
        "%" SCNu64 " %" SCNx64 " %u %u %u %u %u %u %d %d %d %u %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32
        " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNx64,
        &w->task, &w->id, &w->stage, &w->role, &w->kind, &w->arg, &w->dtype, &w->marked, &w->funcs[0], &w->funcs[1],
        &w->funcs[2], &w->rank, &w->shape[0], &w->shape[1], &w->shape[2], &w->shape[3], &w->shape[4], &w->strides[0],
        &w->strides[1], &w->strides[2], &w->strides[3], &w->strides[4], &w->start, &w->bytes, &w->value);

    return n == 25;
}

static int by_key(const void *a, const void *b)
{
    const struct want *x = a, *y = b;

    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return x->arg < y->arg ? -1 : x->arg > y->arg;
}

/* Asks the serial interpreter. */
static void learn(const struct scene *s)
{
    char command[1200], line[600];
    FILE *f;

    (void)snprintf(command, sizeof(command),
                   "'%s/tests/serial' '%s/examples/%s.so' --case %s --records '%s' >/dev/null", TL_TEST_BINARY_DIR,
                   TL_TEST_BINARY_DIR, s->program, s->case_name, fixture_path("records"));
    assert_int_equal(system(command), 0);
    f = fopen(fixture_path("records"), "r");
    assert_non_null(f);
    wanted.count = wanted.tasks = 0;
    while (fgets(line, sizeof(line), f) != NULL) {
        wanted.at = realloc(wanted.at, (wanted.count + 1) * sizeof(*wanted.at));
        assert_non_null(wanted.at);
        assert_true(parse_want(line, &wanted.at[wanted.count]));
        if (wanted.at[wanted.count].task >= wanted.tasks)
            wanted.tasks = wanted.at[wanted.count].task + 1;
        wanted.count++;
    }
    assert_int_equal(fclose(f), 0);
    assert_true(wanted.count > 0);
    qsort(wanted.at, wanted.count, sizeof(*wanted.at), by_key);
}

static bool is_due(const struct want *w, int level)
{
    return level >= 2 || (level == 1 && w->marked);
}

static uint64_t payload_due(const struct want *w, int level)
{
    return w->kind == TL_KIND_TENSOR && (level == 2 || w->marked) ? w->bytes : 0;
}

static uint64_t count_due(int level, uint64_t *ret_bytes)
{
    uint64_t n = 0;

    *ret_bytes = 0;
    for (uint64_t i = 0; i < wanted.count; i++)
        if (is_due(&wanted.at[i], level)) {
            n++;
            *ret_bytes += payload_due(&wanted.at[i], level);
        }
    return n;
}

/* --- what was recorded ------------------------------------------------------------------------------------------- */

/* Each record in the place of its key. An image numbers its tasks in order; rings by depth, as the interpreter does. */
static const struct tl_dump_record **in_order(const struct tl_recording *r, int level, bool image)
{
    uint64_t count = tl_recording_count(r), at = 0, last = UINT64_MAX, next = 0;
    const struct tl_dump_record **order = calloc(wanted.count, sizeof(struct tl_dump_record *));

    assert_non_null(order);
    for (uint64_t i = 0; i < count; i++) {
        const struct tl_dump_record *d = tl_recording_at(r, i);
        struct want key = {.id = d->task_id, .stage = d->stage, .arg = d->arg_index};
        const struct want *found;

        if (image && d->task_id != last) { /* the manifest is sorted by id: the next task that has records */
            for (at = next; at < wanted.count && !is_due(&wanted.at[at], level);)
                at++;
            assert_true(at < wanted.count);
            for (next = at; next < wanted.count && wanted.at[next].task == wanted.at[at].task;)
                next++;
        } else if (!image) {
            for (at = 0; at < wanted.count && wanted.at[at].id != d->task_id;)
                at++;
            assert_true(at < wanted.count);
        }
        last = d->task_id;
        key.task = wanted.at[at].task;
        found = bsearch(&key, wanted.at, wanted.count, sizeof(*wanted.at), by_key);
        assert_non_null(found);
        assert_null(order[found - wanted.at]);
        order[found - wanted.at] = d;
    }
    return order;
}

static void expect_record(const struct tl_dump_record *d, const struct want *w, int level)
{
    const unsigned bad =
        TL_ARG_TRUNCATED | TL_ARG_AMBIGUOUS | TL_ARG_PARTIAL | TL_ARG_LOST | TL_ARG_UNSUPPORTED | TL_ARG_MISMATCH;
    unsigned funcs = 0;

    assert_non_null(d);
    assert_false(d->flags & bad);
    assert_int_equal((d->flags & TL_ARG_MARKED) != 0, w->marked == 1 || (w->marked == 2 && level != 2));
    assert_int_equal(d->role, w->role);
    assert_int_equal(d->kind, w->kind);
    assert_int_equal(d->dtype, w->dtype);
    for (unsigned i = 0; i < 3 && w->funcs[i] >= 0; i++, funcs++)
        assert_int_equal(d->func_id[i], w->funcs[i]);
    assert_int_equal(d->func_count, funcs);
    if (w->kind == TL_KIND_SCALAR) {
        assert_true(d->value_bits == w->value);
        return;
    }
    assert_int_equal(d->rank, w->rank);
    assert_memory_equal(d->shape, w->shape, sizeof(w->shape));
    assert_memory_equal(d->strides, w->strides, sizeof(w->strides));
    assert_int_equal(d->start_offset, w->start);
    assert_int_equal(d->bin_size, payload_due(w, level));
    if (d->bin_size != 0) /* the hash is of the bytes: tl_recording_verify has seen to that */
        assert_true((d->flags & TL_ARG_HAS_HASH) && d->hash == w->value);
}

static void expect_recording(const char *dir, int level, bool image)
{
    const struct tl_dump_record **order;
    struct tl_dump_verdict verdict;
    struct tl_recording *r;
    struct tl_error err = {.msg = ""};
    uint64_t bytes, due = count_due(level, &bytes);

    if (tl_recording_open(fixture_path(dir), &r, &err) != 0)
        fail_msg("%s", err.msg);
    if (tl_recording_verify(r, &verdict) != 0)
        fail_msg("%s", verdict.first_fault);
    assert_int_equal(tl_recording_count(r), due);
    assert_int_equal(tl_recording_summary(r)->bin_bytes, bytes);
    assert_int_equal(tl_recording_summary(r)->level, level);
    order = in_order(r, level, image);
    for (uint64_t i = 0; i < wanted.count; i++)
        if (is_due(&wanted.at[i], level))
            expect_record(order[i], &wanted.at[i], level);
        else
            assert_null(order[i]);
    free(order);
    tl_recording_close(r);
}

static void expect_meta(const char *dir, const struct scene *s, const char *platform, int level)
{
    static struct tl_meta meta;
    uint64_t bytes, due = count_due(level, &bytes);

    assert_int_equal(tl__meta_read(fixture_path(dir), &meta, NULL), 0);
    assert_string_equal(meta.program, s->program);
    assert_string_equal(meta.case_name, s->case_name);
    assert_string_equal(meta.platform, platform);
    assert_string_equal(meta.status, "ok");
    assert_int_equal(meta.level, level);
    assert_int_equal(meta.clock_freq_hz, strcmp(platform, "a5sim") == 0 ? 1000000000 : 50000000);
    assert_true(meta.tasks >= wanted.tasks); /* memory without a kernel is a task too */
    assert_int_equal(meta.stream_count, 1);
    assert_int_equal(meta.streams[0].attempted, due);
    assert_int_equal(meta.streams[0].collected, due);
    assert_int_equal(meta.streams[0].payload_bytes, bytes);
    assert_int_equal(meta.truncated_total, 0);
}

/* The manifest without what the schedule decides: where a payload is in args.bin. Free it. */
static char *manifest_of(const char *dir)
{
    static const char key[] = "\"bin_offset\": ";
    char name[160], *text, *to, *from;

    (void)snprintf(name, sizeof(name), "%s/args_dump/args_dump.json", dir);
    text = fixture_read(name, NULL);
    assert_non_null(strstr(text, key));
    for (to = from = text; *from != '\0';)
        if (strncmp(from, key, sizeof(key) - 1) == 0) {
            memmove(to, key, sizeof(key) - 1);
            to += sizeof(key) - 1;
            for (from += sizeof(key) - 1; isdigit((unsigned char)*from);)
                from++;
        } else {
            *to++ = *from++;
        }
    *to = '\0';
    return text;
}

static char *files_below(const char *dir)
{
    char command[600];

    (void)snprintf(command, sizeof(command), "cd '%s/%s' && find . -type f | sort >'%s/files'", fixture_dir, dir,
                   fixture_dir);
    assert_int_equal(system(command), 0);
    return fixture_read("files", NULL);
}

/* Both modes leave the same. */
static void expect_same(const char *one, const char *other)
{
    char *a = files_below(one), *b = files_below(other);

    assert_string_equal(a, b);
    assert_non_null(strstr(a, "./args_dump/args_dump.json\n"));
    free(a);
    free(b);
    a = manifest_of(one);
    b = manifest_of(other);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

/* --- thread mode, here ------------------------------------------------------------------------------------------- */

/* One program on one chip, with its data: kept for all levels and runtimes. */
struct chip {
    struct tl_worker *worker;
    struct tl_loaded *loaded;
    const struct tl_program *program;
    struct tl_data *data;
    int64_t params[TL_MAX_PARAMS];
    const char *case_name;
};

static void open_chip(struct chip *c, const struct scene *s, const char *platform)
{
    const struct tl_param_request request = {.case_name = s->case_name};
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_error err = {.msg = ""};
    char path[600];

    opts.platform = platform;
    opts.mode = TL_DEVICE_THREAD;
    opts.sim_threads = 2;
    (void)snprintf(path, sizeof(path), "%s/examples/%s.so", TL_TEST_BINARY_DIR, s->program);
    if (tl_worker_open(&opts, &c->worker, &err) != 0 || tl_worker_load(c->worker, path, &c->loaded, &err) != 0)
        fail_msg("%s", err.msg);
    c->program = tl_loaded_program(c->loaded);
    if (tl__params_resolve(c->program, &request, c->params, &c->case_name, &err) != 0 ||
        tl__data_create(c->program, c->params, &c->data, &err) != 0 || tl__data_prepare(c->data, &err) != 0 ||
        tl__data_remember(c->data, &err) != 0 || tl__data_golden(c->data, &err) != 0)
        fail_msg("%s", err.msg);
}

static void close_chip(struct chip *c)
{
    tl__data_destroy(c->data);
    tl_worker_close(c->worker);
}

static void expect_golden(const struct chip *c)
{
    const struct tl_host_tensor *tensors = tl__data_tensors(c->data);
    unsigned checked = 0;

    for (uint32_t i = 0; i < tl__data_count(c->data); i++) {
        const void *want = tl__data_expected_of(c->data, i);
        const struct tl_tolerance tolerance = tl__tolerance_of(c->program, tensors[i].name);
        struct tl_comparison cmp;

        if (tensors[i].role == TL_IN || want == NULL)
            continue;
        assert_int_equal(
            tl__compare(tensors[i].dtype, tensors[i].rank, tensors[i].shape, tensors[i].data, want, &tolerance, &cmp),
            0);
        assert_int_equal(cmp.bad, 0);
        checked++;
    }
    assert_true(checked > 0);
}

static void run_here(struct chip *c, const char *runtime, int level, const char *dir)
{
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_run_result result;
    struct tl_error err = {.msg = ""};
    uint64_t bytes, due = count_due(level, &bytes);

    config.runtime = runtime;
    config.levels[TL_COLLECT_DUMP] = level;
    config.output_prefix = level > 0 ? fixture_path(dir) : NULL;
    config.case_name = c->case_name;
    config.dfx_avg_bytes = 4096;
    tl__data_reset(c->data);
    if (tl_worker_run(
            c->worker, c->loaded,
            SUBMIT_OPTS(tl__data_tensors(c->data), tl__data_count(c->data), c->params, c->program->n_params, &config),
            &result, &err) != 0)
        fail_msg("%s", err.msg);
    expect_golden(c);
    assert_int_equal(result.records_attempted, due * (level > 0));
    assert_int_equal(result.records_collected, due * (level > 0));
    assert_int_equal(result.payload_bytes, bytes * (level > 0));
    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        assert_int_equal(result.records_dropped[i], 0);
    assert_int_equal(result.payloads_lost + result.payloads_truncated, 0);
}

/* --- process mode, by the command --------------------------------------------------------------------------------- */

static void run_there(const struct scene *s, const char *platform, const char *runtime, int level, const char *dir)
{
    char words[400];

    (void)snprintf(words, sizeof(words),
                   "run %s --case %s -p %s --runtime %s --dump-args %d --dfx-set avg-bytes=4096 --out %s", s->program,
                   s->case_name, platform, runtime, level, dir);
    expect(0, words);
    assert_non_null(strstr(output, "agree with the golden"));
    assert_string_equal(message, "");
    if (level == 0)
        return;
    assert_non_null(strstr(output, "nothing lost"));
    (void)snprintf(words, sizeof(words), "dump --verify %s", dir);
    expect(0, words);
}

/* --- the table -----------------------------------------------------------------------------------------------------
 */

static void one_cell(struct chip *c, const struct scene *s, const char *platform, const char *runtime, int level)
{
    static unsigned serial;
    const bool image = strcmp(runtime, "host_build_graph") == 0;
    char here[32], there[32], command[700];

    (void)snprintf(here, sizeof(here), "here%u", serial);
    (void)snprintf(there, sizeof(there), "there%u", serial++);
    run_here(c, runtime, level, here);
    if (!TSAN)
        run_there(s, platform, runtime, level, there);
    if (level == 0) {
        assert_int_equal(access(fixture_path(here), F_OK), -1);
        assert_int_equal(access(fixture_path(there), F_OK), -1);
        return;
    }
    expect_recording(here, level, image);
    expect_meta(here, s, platform, level);
    if (!TSAN) {
        expect_recording(there, level, image);
        expect_meta(there, s, platform, level);
        expect_same(here, there);
    }
    (void)snprintf(command, sizeof(command), "rm -rf '%s/%s' '%s/%s'", fixture_dir, here, fixture_dir, there);
    assert_int_equal(system(command), 0);
}

static void scene_table(void **state)
{
    const struct scene *s = *state;

    learn(s);
    for (unsigned p = 0; p < TL_ARRAY_COUNT(platforms); p++) {
        struct chip c = {0};

        open_chip(&c, s, platforms[p]);
        for (unsigned r = 0; r < TL_ARRAY_COUNT(runtimes); r++)
            for (int level = 0; level <= 3; level++)
                one_cell(&c, s, platforms[p], runtimes[r], level);
        close_chip(&c);
    }
}

#define SCENE(i)                                                                                                       \
    {                                                                                                                  \
        .name = "scene " #i, .test_func = scene_table, .initial_state = (void *)(uintptr_t)&scenes[i]                  \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {SCENE(0), SCENE(1), SCENE(2), SCENE(3)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
