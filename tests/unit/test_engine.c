/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors' engine against real producers on a fake chip: what comes out is what went in, byte for byte. */
#include <dirent.h>
#include <time.h>

#include "base/log.h"
#include "support/fake_test.h"

static const struct fake_script mixed = {.records = 700, .scalar_every = 3, .bytes_min = 0, .bytes_span = 5000};

static void values_come_out_as_they_went_in(void **state)
{
    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++)
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            struct fake_world w;
            struct tl_run_config c = small_config(fresh_dir(), 2);

            fake_world_init(&w, kind, threads, MEMORY);
            must_begin(&w, 1, 4, &c, &mixed);
            run_roles(&w, 0);
            expect_whole_run(&w, 1, &c, &mixed);
            fake_world_fini(&w);
        }
}

/* One buffer a lane, one record a buffer, an arena that holds a single page. */
static void tiny_pools_lose_nothing(void **state)
{
    const struct fake_script s = {.records = 90, .scalar_every = 4, .bytes_min = 1, .bytes_span = 4096};

    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_world w;
        struct tl_run_config c = small_config(fresh_dir(), 2);
        struct tl_run_result result = {0};
        struct fake_found found;

        c.dfx_records = c.dfx_buffers = c.dfx_free = c.dfx_ready = 1;
        c.dfx_avg_bytes = 4096;
        fake_world_init(&w, kind, 1, MEMORY);
        must_begin(&w, 1, 3, &c, &s);
        run_roles(&w, 0);
        assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(20)), 0);
        assert_int_equal(fake_export(w.engine, 1, 270, &result, NULL), 0);
        found = fake_check_dir(c.output_prefix, &s, 1, 4096);
        assert_string_equal(found.wrong, "");
        assert_int_equal(found.records, 270);
        fake_world_fini(&w);
    }
}

static unsigned thread_count(void)
{
    DIR *d = opendir("/proc/self/task");
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* Three runs on one engine: each complete on its own, no thread made, no device memory taken after the first. */
static void three_runs_share_one_engine(void **state)
{
    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_world w;
        unsigned threads, live;

        fake_world_init(&w, kind, 2, MEMORY);
        threads = thread_count();
        for (uint32_t epoch = 1; epoch <= 3; epoch++) {
            struct tl_run_config c = small_config(fresh_dir(), 2);
            struct fake_script s = mixed;

            s.records = 100 * epoch;
            must_begin(&w, epoch, 4, &c, &s);
            if (epoch == 1)
                live = w.chip.n_live;
            assert_int_equal(w.chip.n_live, live);
            run_roles(&w, 0);
            expect_whole_run(&w, epoch, &c, &s);
            assert_int_equal(thread_count(), threads);
        }
        fake_world_fini(&w);
    }
}

/* The second run begins and ends on the device before the first one is exported. */
static void a_run_begins_before_the_one_before_is_exported(void **state)
{
    struct fake_world w;
    struct tl_run_config one = small_config(fresh_dir(), 2), two = small_config(fresh_dir(), 2), other = two;
    struct fake_script s1 = mixed, s2 = mixed;
    struct tl_run_result result = {0};
    struct tl_error err;
    struct fake_found found;

    (void)state;
    s1.records = 333, s2.records = 77;
    fake_world_init(&w, FAKE_MAPPED, 2, MEMORY);
    must_begin(&w, 4, 4, &one, &s1);
    run_roles(&w, 0);
    other.dfx_buffers = 9;
    assert_int_equal(fake_begin(&w, 9, 4, &other, &s2, &err), TL_EBUSY);
    assert_int_equal(fake_begin(&w, 4, 4, &two, &s2, &err), TL_EINVAL);
    must_begin(&w, 5, 4, &two, &s2);
    run_roles(&w, 0);
    assert_int_equal(tl__engine_quiesce(w.engine, 4, in_seconds(20)), 0);
    assert_int_equal(fake_export(w.engine, 4, 4 * 333, &result, &err), 0);
    found = fake_check_dir(one.output_prefix, &s1, 4, SMALL_ARENA);
    assert_string_equal(found.wrong, "");
    assert_int_equal(found.records, 4 * 333);
    expect_whole_run(&w, 5, &two, &s2);
    /* another lane count builds the pools again */
    one = small_config(fresh_dir(), 2);
    must_begin(&w, 6, 2, &one, &s1);
    run_roles(&w, 0);
    expect_whole_run(&w, 6, &one, &s1);
    fake_world_fini(&w);
}

static void all_roles(void *world)
{
    run_roles(world, 0);
}

/* Each run is exported while the next one records. */
static void test_export_beside_a_run(void **state)
{
    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_world w;
        struct tl_run_config c[5];

        fake_world_init(&w, kind, 2, MEMORY);
        for (uint32_t epoch = 1; epoch <= 5; epoch++) {
            struct tl_thread *device;

            c[epoch - 1] = small_config(fresh_dir(), 2);
            must_begin(&w, epoch, 4, &c[epoch - 1], &mixed);
            assert_int_equal(tl__spawn("dev-all", all_roles, &w, &device), 0);
            if (epoch > 1)
                expect_whole_run(&w, epoch - 1, &c[epoch - 2], &mixed);
            tl__join(device);
        }
        expect_whole_run(&w, 5, &c[4], &mixed);
        fake_world_fini(&w);
    }
}

static unsigned nothing_marked;

static void count_nothing_marked(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    nothing_marked += level == TL_LOG_WARN && strstr(line, "nothing was marked") != NULL;
}

static void each_level_records_its_share(void **state)
{
    struct fake_world w;
    struct fake_script s = mixed;
    uint32_t epoch = 0;

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    for (int level = 1; level <= 3; level++)
        for (int payload = 0; payload < 2; payload++) {
            struct tl_run_config c = small_config(fresh_dir(), level);

            s.no_payload = !payload;
            must_begin(&w, ++epoch, 4, &c, &s);
            run_roles(&w, 0);
            expect_whole_run(&w, epoch, &c, &s);
            assert_int_equal(fake_exists(c.output_prefix, "args_dump/args.bin"), level != 3 || payload);
        }
    for (int level = 1; level <= 3; level++) {
        struct tl_run_config c = small_config(fresh_dir(), level);
        struct tl_run_result result = {0};

        s.records = 0;
        nothing_marked = 0;
        tl_log_set_sink(count_nothing_marked, NULL);
        must_begin(&w, ++epoch, 4, &c, &s);
        run_roles(&w, 0);
        assert_int_equal(tl__engine_quiesce(w.engine, epoch, in_seconds(20)), 0);
        assert_int_equal(fake_export(w.engine, epoch, 0, &result, NULL), 0);
        tl_log_set_sink(NULL, NULL);
        assert_int_equal(nothing_marked, level == 1);
        /* At level 1 nothing was marked; the others recorded all that there was, which is nothing. */
        assert_int_equal(fake_exists(c.output_prefix, "args_dump/args_dump.json"), level >= 2);
        assert_false(fake_exists(c.output_prefix, TL_JOURNAL_NAME));
    }
    fake_world_fini(&w);
}

static void payloads_in_pieces_are_put_together(void **state)
{
    const struct fake_script s = {
        .records = 60, .scalar_every = 4, .bytes_min = 100, .bytes_span = 900, .chunk_every = 10, .chunk_pieces = 9};

    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_world w;
        struct tl_run_config c = small_config(fresh_dir(), 2);

        fake_world_init(&w, kind, 2, MEMORY);
        must_begin(&w, 1, 4, &c, &s);
        run_roles(&w, 0);
        assert_int_equal(expect_whole_run(&w, 1, &c, &s).partial, 0);
        fake_world_fini(&w);
    }
}

static void a_payload_larger_than_the_arena_is_truncated(void **state)
{
    const struct fake_script s = {.records = 40, .bytes_min = 60000, .bytes_span = 20000};
    struct fake_world w;
    struct tl_run_config c = small_config(fresh_dir(), 2);
    struct tl_run_result result = {0};
    struct fake_found found;

    (void)state;
    fake_world_init(&w, FAKE_COPY, 1, MEMORY);
    must_begin(&w, 1, 2, &c, &s);
    run_roles(&w, 0);
    assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(20)), 0);
    assert_int_equal(fake_export(w.engine, 1, 80, &result, NULL), 0);
    found = fake_check_dir(c.output_prefix, &s, 1, SMALL_ARENA);
    assert_string_equal(found.wrong, "");
    assert_int_equal(found.records, 80);
    assert_in_range(found.truncated, 1, 79);
    assert_int_equal(result.payloads_truncated, found.truncated);
    fake_world_fini(&w);
}

static void pools_that_do_not_fit_name_the_shortfall(void **state)
{
    struct fake_world w;
    struct tl_run_config c = small_config(fresh_dir(), 2);
    struct tl_error err = {0};
    unsigned long long need, have, missing;
    const char *at;

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 1, (uint64_t)4 << 20);
    c.dfx_avg_bytes = 65536; /* 4 MiB a lane */
    assert_int_equal(fake_begin(&w, 1, 4, &c, &mixed, &err), TL_ENOMEM);
    at = strstr(err.msg, "need ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "need %llu bytes", &need), 1);
    at = strstr(err.msg, " and ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, " and %llu are free: %llu short", &have, &missing), 2);
    assert_int_equal(need - have, missing);
    assert_in_range(have, ((uint64_t)4 << 20) - 8192, (uint64_t)4 << 20);
    assert_int_equal(w.chip.n_live, 0);
    /* the engine is as good as new */
    c = small_config(fresh_dir(), 2);
    must_begin(&w, 1, 4, &c, &mixed);
    run_roles(&w, 0);
    expect_whole_run(&w, 1, &c, &mixed);
    fake_world_fini(&w);
}

static void what_cannot_begin_is_refused(void **state)
{
    struct fake_world w;
    struct tl_run_config c = small_config(fresh_dir(), 2);
    struct tl_run_result result = {0};
    struct tl_error err;

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    c.output_prefix = NULL;
    assert_int_equal(fake_begin(&w, 1, 4, &c, &mixed, &err), TL_EINVAL);
    c = small_config(fresh_dir(), 0);
    assert_int_equal(fake_begin(&w, 1, 4, &c, &mixed, &err), TL_EINVAL);
    c = small_config("/nonexistent/tl", 2);
    assert_int_equal(fake_begin(&w, 1, 4, &c, &mixed, &err), TL_ENOENT);
    c = small_config(fresh_dir(), 2);
    c.dfx_records = 1u << 30;
    assert_int_equal(fake_begin(&w, 1, 4, &c, &mixed, &err), TL_ERANGE);
    assert_non_null(strstr(err.msg, "records="));
    c = small_config(fresh_dir(), 2);
    assert_int_equal(fake_begin(&w, 1, 65, &c, &mixed, &err), TL_ERANGE);
    assert_int_equal(tl__engine_quiesce(w.engine, 7, 0), TL_ENOENT);
    assert_int_equal(fake_export(w.engine, 7, 0, &result, &err), TL_ENOENT);
    assert_int_equal(tl__engine_reconcile(w.engine, 7, &err), TL_ENOENT);
    tl__engine_abandon(w.engine, 7);
    /* a run that was never launched leaves nothing behind */
    must_begin(&w, 1, 4, &c, &mixed);
    assert_true(fake_exists(c.output_prefix, TL_JOURNAL_NAME));
    tl__engine_abandon(w.engine, 1);
    assert_false(fake_exists(c.output_prefix, TL_JOURNAL_NAME));
    must_begin(&w, 2, 4, &c, &mixed);
    run_roles(&w, 0);
    expect_whole_run(&w, 2, &c, &mixed);
    fake_world_fini(&w);
}

/* More, or fewer, records than the tasks call for is an error, whoever counted right. */
static void a_wrong_number_of_records_is_an_error(void **state)
{
    struct fake_world w;

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        struct tl_run_config c = small_config(fresh_dir(), 2);
        struct tl_run_result result = {0};
        struct tl_error err = {0};

        must_begin(&w, epoch, 2, &c, &mixed);
        run_roles(&w, 0);
        assert_int_equal(tl__engine_quiesce(w.engine, epoch, in_seconds(20)), 0);
        assert_int_equal(fake_export(w.engine, epoch, epoch == 1 ? 1399 : 1401, &result, &err), TL_ELOST);
        assert_non_null(strstr(err.msg, "1400"));
        assert_string_equal(fake_check_dir(c.output_prefix, &mixed, epoch, SMALL_ARENA).wrong, "");
    }
    fake_world_fini(&w);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void an_idle_engine_uses_no_processor(void **state)
{
    struct fake_world w;
    struct tl_run_config c = small_config(fresh_dir(), 2);
    struct timespec nap = {.tv_nsec = 500000000};
    uint64_t before;

    (void)state;
    fake_world_init(&w, FAKE_COPY, 2, MEMORY);
    must_begin(&w, 1, 4, &c, &mixed);
    run_roles(&w, 0);
    expect_whole_run(&w, 1, &c, &mixed);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    before = cpu_ns();
    nanosleep(&nap, NULL);
    assert_in_range(cpu_ns() - before, 0, 3000000);
    fake_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_out_as_they_went_in),
        cmocka_unit_test(tiny_pools_lose_nothing),
        cmocka_unit_test(three_runs_share_one_engine),
        cmocka_unit_test(a_run_begins_before_the_one_before_is_exported),
        cmocka_unit_test(test_export_beside_a_run),
        cmocka_unit_test(each_level_records_its_share),
        cmocka_unit_test(payloads_in_pieces_are_put_together),
        cmocka_unit_test(a_payload_larger_than_the_arena_is_truncated),
        cmocka_unit_test(pools_that_do_not_fit_name_the_shortfall),
        cmocka_unit_test(what_cannot_begin_is_refused),
        cmocka_unit_test(a_wrong_number_of_records_is_an_error),
        cmocka_unit_test(an_idle_engine_uses_no_processor),
    };

    return fake_main("engine", tests, sizeof(tests) / sizeof(tests[0]));
}
