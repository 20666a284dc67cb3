/* SPDX-License-Identifier: Apache-2.0 */
/* Every rendering of a dump with the nth allocation failing, for every n: TL_ENOMEM, nothing leaked, no crash. */
#include "scene/recording_fixture.h"

#include "analysis/dump/dump_entry.h"
#include "analysis/dump/dump_export.h"
#include "analysis/dump/dump_list.h"
#include "analysis/dump/dump_verify.h"
#include "base/env_controlled.h"

static int list_text(const struct tl_recording *recording, const struct tl_dump_pick *pick, size_t *ret_bytes)
{
    struct tl_dump_list list = {.scan = {.recording = recording, .pick = pick, .values = true}, .dir = "d"};
    struct tl_error error;
    struct tl_rendering out;
    int code, end;

    tl__rendering_init(&out, NULL, NULL);
    code = tl__dump_list_text(&out, &list, &error);
    end = tl__rendering_end(&out);
    *ret_bytes = out.used;
    tl__rendering_fini(&out);
    return code != 0 ? code : end;
}

static int list_json(const struct tl_recording *recording, const struct tl_dump_pick *pick, size_t *ret_bytes)
{
    struct tl_dump_list list = {.scan = {.recording = recording, .pick = pick, .values = true}, .dir = "d"};
    struct tl_error error;
    struct tl_json json;
    int code, end;

    tl__json_init(&json, NULL, NULL);
    code = tl__dump_list_json(&json, &list, &error);
    (void)tl__json_text(&json, ret_bytes);
    end = tl__json_finish(&json);
    return code != 0 ? code : end;
}

static int entries(const struct tl_recording *recording, const struct tl_dump_pick *pick, size_t *ret_bytes)
{
    struct tl_error error;
    struct tl_rendering out;
    int code = 0;

    tl__rendering_init(&out, NULL, NULL);
    for (uint64_t i = 0; i < pick->count && code == 0; i++)
        code = tl__dump_entry_file(&out, recording, tl__dump_pick_at(pick, i), TL_TASK_RINGS, &error);
    *ret_bytes = out.used;
    tl__rendering_fini(&out);
    return code;
}

static int verification(const struct tl_recording *recording, const struct tl_dump_pick *pick, size_t *ret_bytes)
{
    struct tl_dump_verify verify = {.recording = recording, .dir = "d"};
    struct tl_rendering out;
    int code;

    (void)pick;
    tl__rendering_init(&out, NULL, NULL);
    code = tl__dump_verify_text(&out, &verify);
    *ret_bytes = out.used;
    tl__rendering_fini(&out);
    return code == TL_ELOST ? 0 : code; /* the recording has losses, and they are reported */
}

static int npy(const struct tl_recording *recording, const struct tl_dump_pick *pick, size_t *ret_bytes)
{
    struct tl_dump_npy what;
    struct tl_error error;

    (void)pick;
    *ret_bytes = 1;
    return tl__dump_write_npy(recording, 6, fixture_path("x.npy"), &what, &error); /* bfloat16: widened */
}

struct attempt {
    int (*render)(const struct tl_recording *recording, const struct tl_dump_pick *pick, size_t *ret_bytes);
    int code;
    size_t bytes;
};

static void attempt(void *arg)
{
    struct attempt *a = arg;
    struct tl_dump_filter filter = TL_DUMP_FILTER_INIT;
    struct tl_recording *recording = NULL;
    struct tl_dump_pick pick = {0};
    struct tl_error error;

    filter.stage = TL_STAGE_BEFORE;
    a->code = tl_recording_open(fixture_path("run"), &recording, &error);
    if (a->code == 0)
        a->code = tl__dump_pick(recording, &filter, &pick, &error);
    if (a->code == 0)
        a->code = a->render(recording, &pick, &a->bytes);
    tl__dump_pick_fini(&pick);
    tl_recording_close(recording);
}

static void fails_cleanly(int (*render)(const struct tl_recording *recording, const struct tl_dump_pick *pick,
                                        size_t *ret_bytes))
{
    static struct tl_controlled_report report;

    struct attempt good = {.render = render};
    unsigned refused = 0;

    attempt(&good);
    assert_int_equal(good.code, 0);
    for (unsigned n = 1; n < 10000; n++) {
        struct attempt a = {.render = render};
        char faults[40];
        struct tl_controlled_opts opts = {.faults = faults};

        (void)snprintf(faults, sizeof(faults), "alloc@%u", n);
        if (tl__controlled_run(&opts, attempt, &a, &report) != 0)
            fail_msg("%s: %s", faults, report.text);
        assert_int_equal(report.allocs_live, 0);
        /* A failure that can be lived with, such as of giving memory back, must leave the answer whole. */
        if (a.code != TL_ENOMEM && (a.code != 0 || a.bytes != good.bytes))
            fail_msg("%s: %s, %zu bytes", faults, tl_errname(a.code), a.bytes);
        refused += a.code == TL_ENOMEM;
        if (report.faults.entries[0].fired == 0) {
            assert_true(refused > 3);
            return;
        }
    }
    fail();
}

static void each_rendering_fails_cleanly_without_memory(void **state)
{
    (void)state;
    fails_cleanly(list_text);
    fails_cleanly(list_json);
    fails_cleanly(entries);
    fails_cleanly(verification);
    fails_cleanly(npy);
}

static int setup(void **state)
{
    static struct fixture_recording f;

    if (fixture_setup(state) != 0)
        return -1;
    fixture_everything(&f);
    fixture_save(&f, "run");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_rendering_fails_cleanly_without_memory)};

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
