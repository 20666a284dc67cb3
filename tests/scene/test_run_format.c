/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tasklens run --format 2026-09`: what is in the files, that a recovery writes the same form, and that every viewer
 * says of it what it says of the same recording in the older form.
 */
#include "scene/cli.h"
#include "scene/slow_run.h"

#include <ctype.h>
#include <signal.h>

#include "artifact/deps.h"
#include "artifact/swimlane.h"
#include "base/env.h"

#define ALL "--dump-args 2 --enable-chip-swimlane 4 --enable-dep-gen --enable-pmu --enable-scope-stats "

static const struct {
    const char *platform, *runtime;
} configs[] = {{"a2a3sim", "tensormap_and_ringbuffer"},
               {"a2a3sim", "host_build_graph"},
               {"a5sim", "tensormap_and_ringbuffer"},
               {"a5sim", "host_build_graph"}};

static void shell(const char *command)
{
    char line[1200];

    (void)snprintf(line, sizeof(line), "cd '%s' && %s", fixture_dir, command);
    assert_int_equal(system(line), 0);
}

static bool holds(const char *file, const char *text)
{
    char *all = fixture_read(file, NULL);
    bool is = all != NULL && strstr(all, text) != NULL;

    assert_non_null(all);
    free(all);
    return is;
}

static struct tl_swimlane swimlane_of(const char *file)
{
    struct tl_swimlane s = {0};
    struct tl_error err = {0};

    if (tl__swimlane_read(fixture_path(file), &s, &err) != 0)
        fail_msg("%s", err.msg);
    return s;
}

/* b/rec: the recording in a/rec, in the older form. */
static void make_older(void)
{
    struct tl_swimlane s;
    struct tl_deps d = {0};
    struct tl_error err = {0};

    shell("rm -rf b && cp -r a b && sed -i '/\"run_epoch\"/d' b/rec/args_dump/args_dump.json b/rec/pmu_meta.json && "
          "sed -i 's/\"2026-09\"/\"default\"/' b/rec/dfx_meta.json");
    s = swimlane_of("a/rec/" TL_SWIMLANE_NAME);
    s.form = TL_SWIM_OLDER;
    if (tl__swimlane_write(fixture_path("b/rec"), &s, &err) != 0 ||
        tl__deps_read(fixture_path("a/rec/" TL_DEPS_NAME), &d, &err) != 0)
        fail_msg("%s", err.msg);
    d.runtime[0] = '\0';
    if (tl__deps_write(fixture_path("b/rec"), &d, &err) != 0)
        fail_msg("%s", err.msg);
    tl__swimlane_fini(&s);
    tl__deps_fini(&d);
}

/* Takes out what is to differ: the directory, the ring of the only image's tasks, and the columns' widths with it. */
static void normalise(char *text)
{
    char *to = text;

    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, "b/rec", 5) == 0) {
            *to++ = 'a';
            at++;
        } else if (strncmp(at, "r0t", 3) == 0 && isdigit((unsigned char)at[3]) &&
                   (at == text || !isalnum((unsigned char)at[-1]))) {
            at += 2;
        } else if (*at == ' ' && (at[1] == ' ' || at[1] == '\n')) {
            at++;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
}

static const char *const viewers[] = {
    "swimlane %s/rec -o t.json",
    "swimlane %s/rec -o t.json --overhead --json",
    "critical-path %s/rec",
    "critical-path %s/rec --json",
    "sched %s/rec",
    "sched %s/rec --json",
    "deps %s/rec",
    "deps %s/rec --json",
    "deps %s/rec -t %s",
    "pmu %s/rec --json",
    "dump %s/rec",
    "dump %s/rec --json",
    "dump %s/rec -t %s",
    "dump %s/rec --verify",
    "scope %s/rec --json",
};

static void viewers_say_the_same(const char *task)
{
    for (size_t i = 0; i < sizeof(viewers) / sizeof(viewers[0]); i++) {
        char words[200], *newer;

        (void)snprintf(words, sizeof(words), viewers[i], "a", task);
        expect(0, words);
        newer = strdup(output);
        (void)snprintf(words, sizeof(words), viewers[i], "b", task);
        expect(0, words);
        assert_true(strlen(output) > 20);
        normalise(newer);
        normalise(output);
        assert_string_equal(newer, output);
        free(newer);
    }
}

/* Every row of its own width, of run 1; the members that the form has and the older one has not. */
static void check_form(const char *runtime, bool a5)
{
    bool host = strcmp(runtime, "host_build_graph") == 0;
    struct tl_swimlane s = swimlane_of("a/rec/" TL_SWIMLANE_NAME);
    char *deps = fixture_read("a/rec/deps.json", NULL), first[80];
    uint64_t received = 0;

    assert_int_equal(s.form, TL_SWIM_2026_09);
    assert_string_equal(s.runtime, runtime);
    assert_string_equal(s.platform, a5 ? "a5" : "a2a3");
    assert_non_null(s.core_to_thread);
    for (uint64_t i = 0; i < s.n_cores; i++) {
        assert_int_equal(s.cores[i].run_epoch, 1);
        assert_true(s.cores[i].receive_cycles < s.cores[i].start_cycles);
        received += s.cores[i].receive_cycles != 0;
    }
    assert_true(s.n_cores > 20 && (!a5 || received > s.n_cores / 2)); /* a cycle of a5 is 1 ns */
    for (uint64_t i = 0; i < s.n_aicpus; i++)
        assert_int_equal(s.aicpus[i].run_epoch, 1);
    for (uint64_t i = 0; i < s.n_phases; i++)
        assert_int_equal(s.phases[i].run_epoch, 1);
    for (uint64_t i = 0; i < s.n_orchs; i++)
        assert_int_equal(s.orchs[i].run_epoch, 1);
    assert_true(s.n_aicpus == s.n_cores && s.n_phases > 0 && s.n_orchs > 0 && s.n_streams > 0);
    for (uint64_t i = 0; i < s.n_streams; i++)
        assert_true(s.streams[i].committed == s.streams[i].read && s.streams[i].dropped == 0);
    tl__swimlane_fini(&s);
    (void)snprintf(first, sizeof(first), "{\n  \"runtime\": \"%s\",\n  \"tasks\": [", runtime);
    assert_int_equal(strncmp(deps, first, strlen(first)), 0);
    assert_true((strstr(deps, "\"flags\"") == NULL) == host);
    free(deps);
    assert_true(holds("a/rec/args_dump/args_dump.json", "\"run_epoch\": 1,"));
    assert_true(holds("a/rec/pmu_meta.json", "\"run_epoch\": 1,"));
    assert_true(holds("a/rec/dfx_meta.json", "\"format\": \"2026-09\","));
}

static void both_forms_of_one_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        char words[400];
        bool host = strcmp(configs[i].runtime, "host_build_graph") == 0;

        (void)snprintf(words, sizeof(words),
                       "run paged_attention -p %s --runtime %s " ALL "--format 2026-09 --out a/rec",
                       configs[i].platform, configs[i].runtime);
        expect(0, words);
        check_form(configs[i].runtime, strcmp(configs[i].platform, "a5sim") == 0);
        make_older();
        viewers_say_the_same(host ? "1" : "r1t1");
        expect(0, host ? "dump a/rec -t t1" : "dump a/rec -t r1t1");
        assert_true((strstr(output, host ? "  t1 " : "  r1t1 ") != NULL) && (!host || strstr(output, "r0t1") == NULL));
        shell("rm -rf a b");
    }
}

/* A part that its level does not have is not there. */
static void levels_have_their_parts(void **state)
{
    (void)state;
    for (unsigned level = 1; level <= 4; level++) {
        struct tl_swimlane s;
        uint64_t received = 0;
        static const struct {
            const char *member;
            unsigned from;
        } parts[] = {{"\"runtime\"", 1},        {"\"aicore_tasks\"", 1},           {"\"scheduler_tasks\"", 2},
                     {"\"core_to_thread\"", 3}, {"\"scheduler_records\"", 3},      {"\"aicpu_orchestrator_phases\"", 4},
                     {"\"aicpu_tasks\"", 99},   {"\"aicpu_scheduler_phases\"", 99}};
        char words[200];

        (void)snprintf(words, sizeof(words), "run vector_add --enable-chip-swimlane %u --format 2026-09 --out level",
                       level);
        expect(0, words);
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            assert_int_equal(holds("level/" TL_SWIMLANE_NAME, parts[i].member), level >= parts[i].from);
        expect(0, "swimlane level -o t.json");
        s = swimlane_of("level/" TL_SWIMLANE_NAME);
        for (uint64_t i = 0; i < s.n_cores; i++)
            received += s.cores[i].receive_cycles;
        assert_int_equal(received != 0, level >= 2);
        tl__swimlane_fini(&s);
    }
}

static void each_round_is_an_epoch(void **state)
{
    (void)state;
    expect(0, "run vector_add --rounds 2 --enable-chip-swimlane 1 --dump-args 2 --format 2026-09 --out rounds");
    for (unsigned i = 0; i < 2; i++) {
        struct tl_swimlane s =
            swimlane_of(i == 0 ? "rounds/round0/" TL_SWIMLANE_NAME : "rounds/round1/" TL_SWIMLANE_NAME);

        assert_true(s.n_cores > 0 && s.cores[0].run_epoch == i + 1);
        tl__swimlane_fini(&s);
    }
    assert_true(holds("rounds/round1/args_dump/args_dump.json", "\"run_epoch\": 2,"));
}

static void the_default_is_the_older_form(void **state)
{
    (void)state;
    expect(0, "run vector_add " ALL "--out plain");
    shell("! grep -rlE 'run_epoch|scheduler_tasks' plain --include=*.json");
    shell("! grep -q '\"runtime\"' plain/deps.json plain/" TL_SWIMLANE_NAME);
    assert_true(holds("plain/dfx_meta.json", "\"format\": \"default\","));
    refuses("run vector_add --format 2026-10", "default, 2026-09");
}

static void a_recovery_writes_the_same_form(void **state)
{
    pid_t pid = slow_run_start_as("2026-09", "--enable-chip-swimlane", "host");
    struct tl_swimlane s;
    int status;

    (void)state;
    slow_run_await("host", 60000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    tasklens("recover host"); /* 4: payloads that were under way */
    assert_true(exit_code == 0 || exit_code == 4);
    assert_true(holds("host/dfx_meta.json", "\"format\": \"2026-09\","));
    assert_true(holds("host/args_dump/args_dump.json", "\"run_epoch\": 1,"));
    s = swimlane_of("host/" TL_SWIMLANE_NAME);
    assert_int_equal(s.form, TL_SWIM_2026_09);
    assert_true(s.n_cores > 0 && s.cores[0].run_epoch == 1);
    tl__swimlane_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_of_one_run),           cmocka_unit_test(levels_have_their_parts),
        cmocka_unit_test(each_round_is_an_epoch),          cmocka_unit_test(the_default_is_the_older_form),
        cmocka_unit_test(a_recovery_writes_the_same_form),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
