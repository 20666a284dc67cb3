/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image of host_build_graph: 131,072 tasks and what is said of one more; and rounds of one program, which
 * orchestrate once and record the same each time.
 */
#include "scene/cli.h"

#include <tasklens/recording.h>

static const char *const platforms[] = {"a2a3sim", "a5sim"};
static const char *const modes[] = {"process", "thread"};

static unsigned count_of(const char *text, const char *part)
{
    unsigned n = 0;

    while ((text = strstr(text, part)) != NULL) {
        text++;
        n++;
    }
    return n;
}

static void an_image_of_131072_tasks_runs(void **state)
{
    struct tl_recording *r;

    (void)state;
    expect(0, "run independent --runtime host_build_graph --set n=131072 --set scope_tasks=1048576 --dump-args 3 "
              "--out full");
    assert_non_null(strstr(output, "131072 retired in "));
    assert_non_null(strstr(output, "131072 int32 agree with the golden"));
    assert_int_equal(tl_recording_open(fixture_path("full"), &r, NULL), 0);
    assert_int_equal(tl_recording_count(r), 131072 * 2);
    for (uint64_t i = 0; i < 131072; i++) { /* an output and a scalar each, nothing recycled: ids in order */
        const struct tl_dump_record *scalar = tl_recording_at(r, 2 * i), *out = tl_recording_at(r, 2 * i + 1);

        assert_int_equal(scalar->task_id, i);
        assert_int_equal(scalar->kind, TL_KIND_SCALAR);
        assert_int_equal(scalar->dtype, TL_INT32);
        assert_int_equal(scalar->value_bits, i);
        assert_int_equal(out->task_id, i);
        assert_int_equal(out->role, TL_ROLE_OUTPUT);
        assert_int_equal(out->start_offset, i);
        assert_int_equal(out->func_count, 1);
        assert_int_equal(out->func_id[0], 0);
    }
    tl_recording_close(r);
    /* Scopes give nothing back. */
    expect(2, "run independent --runtime host_build_graph --set n=131073 --dump-args 2 --out over");
    assert_non_null(strstr(message,
                           "task window of ring 0 is full: 131072 of 131072 slots used, 1 more needed; nothing "
                           "is given back before the run; set --task-window to at least 262144, which holds this task; "
                           "later ones may need more"));
    expect(0, "run independent --runtime host_build_graph --set n=131073 --task-window 262144");
    assert_non_null(strstr(output, "131073 retired in "));
    expect(2, "run independent --runtime host_build_graph --task-window 100000");
    expect(0, "run independent --set n=131073"); /* rings are recycled */
}

/* A manifest without the places of its payloads; free it. */
static char *manifest_of(const char *dir)
{
    char name[80], *text, *to;
    const char *from;

    (void)snprintf(name, sizeof(name), "%s/args_dump/args_dump.json", dir);
    text = fixture_read(name, NULL);
    for (from = to = text; *from != '\0';) {
        bool place = strncmp(from, "\"bin_offset\": ", 14) == 0;

        for (int i = 0; i < (place ? 14 : 1); i++)
            *to++ = *from++;
        if (place)
            from += strspn(from, "0123456789");
    }
    *to = '\0';
    return text;
}

static void rounds_orchestrate_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        int level = (int)(i & 3);
        char words[700], dir[40], *first = NULL;

        (void)snprintf(words, sizeof(words),
                       "run '%s/tests/hangs.so' --set tell=1 --set stuck=0 --set tasks=20 --rounds 4 -p %s "
                       "--runtime host_build_graph --device-mode %s --dump-args %d --out image%u",
                       TL_TEST_BINARY_DIR, platforms[i >> 2 & 1], modes[i >> 3], level, i);
        expect(0, words);
        assert_int_equal(count_of(message, "orchestrated\n"), 1);
        for (unsigned round = 0; round < 4 && level > 0; round++) {
            char *text;

            (void)snprintf(dir, sizeof(dir), "image%u/round%u", i, round);
            (void)snprintf(words, sizeof(words), "dump --verify %s", dir);
            expect(0, words);
            text = manifest_of(dir);
            assert_int_equal(count_of(text, "\"task_id\""), 20 * (level == 1 ? 3 : 4));
            if (first == NULL) {
                first = text;
                continue;
            }
            assert_string_equal(text, first);
            free(text);
        }
        free(first);
    }
}

/* Rings are built again each time. */
static void rings_do_not_keep(void **state)
{
    char words[500];

    (void)state;
    (void)snprintf(words, sizeof(words), "run '%s/tests/hangs.so' --set tell=1 --set stuck=0 --rounds 4",
                   TL_TEST_BINARY_DIR);
    expect(0, words);
    assert_int_equal(count_of(message, "orchestrated\n"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_of_131072_tasks_runs),
        cmocka_unit_test(rounds_orchestrate_once),
        cmocka_unit_test(rings_do_not_keep),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
