/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasklens traffic: the bundled bgemm in every configuration, with figures counted by hand from its tiles, and a small
 * recording written by hand whose distances are counted by hand (tests/golden/traffic).
 */
#include "scene/cli.h"
#include "scene/golden.h"

/* 2 batches of 2 x 2 tiles of C, 2 steps along k, tiles of 16 x 16 floats: 1024 bytes. A step reads a tile of A and one
 * of B; the second reads and writes the partial sums that the first writes; a store reads them and writes a tile of
 * C. */
#define TILE 1024
#define TILES 8 /* of C; A and B have as many */

static void expect_text(const char *part)
{
    if (strstr(output, part) == NULL)
        fail_msg("no %s in:\n%s", part, output);
}

static unsigned times(const char *part)
{
    unsigned n = 0;

    for (const char *at = output; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

static void expect_kernel(const char *name, int read, int written)
{
    char text[300];

    (void)snprintf(text, sizeof(text),
                   "\"name\": \"%s\", \"tasks\": %d, \"subtasks\": %d, \"read_bytes\": %d, \"written_bytes\": %d, "
                   "\"counted_subtasks\": %d, \"counted_read_bytes\": %d, \"counted_written_bytes\": %d}",
                   name, TILES, TILES, TILES * read * TILE, TILES * written * TILE, TILES, TILES * read * TILE,
                   TILES * written * TILE);
    expect_text(text);
}

static void expect_bgemm(void)
{
    expect_text(
        "\"tasks\": 24,\n  \"subtasks\": 24,\n  \"accesses\": 64,\n  \"invalid_arguments\": 0,\n  \"slices\": 32,");
    expect_text("\"read_bytes\": 49152,\n  \"written_bytes\": 24576,\n");
    expect_kernel("gemm", 2, 1);
    expect_kernel("gemm_acc", 3, 1);
    expect_kernel("store", 1, 1);
    /* A and B: each tile is read by two steps. */
    assert_int_equal(times("\"owner\": null, \"accesses\": 16, \"slices\": 8, \"read_bytes\": 16384, "
                           "\"written_bytes\": 0, \"reuses\": 8,"),
                     2);
    assert_int_equal(times("\"owner\": null, \"accesses\": 8, \"slices\": 8, \"read_bytes\": 0, "
                           "\"written_bytes\": 8192, \"reuses\": 0, \"reuse_tasks\": null"),
                     1);
    assert_int_equal(times("\"accesses\": 3, \"slices\": 1, \"read_bytes\": 2048, \"written_bytes\": 2048, "
                           "\"reuses\": 2,"),
                     TILES);
}

/* In any order of its tasks a cache for everything finds all but the first reads: of A and B half, of sums all. */
static void bgemm_in_every_configuration(void **state)
{
    static const char *const platforms[] = {"a2a3sim", "a5sim"};
    static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};
    static const char *const modes[] = {"process", "thread"};

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        char words[300];

        (void)snprintf(words, sizeof(words),
                       "run bgemm -p %s --runtime %s --device-mode %s --enable-traffic --out run%u", platforms[i % 2],
                       runtimes[i / 2 % 2], modes[i / 4], i);
        expect(0, words);
        expect_text("24 records");
        (void)snprintf(words, sizeof(words), "traffic run%u --json --cache 1G", i);
        expect(0, words);
        expect_bgemm();
        expect_text("\"cache\": {\"bytes\": 1073741824, \"reads\": 48, \"found\": 32, \"saved_bytes\": 32768}");
        (void)snprintf(words, sizeof(words), "traffic run%u --json --cache 1", i);
        expect(0, words);
        expect_text("\"cache\": {\"bytes\": 1, \"reads\": 48, \"found\": 0, \"saved_bytes\": 0}");
    }
}

static void give(const char *dir)
{
    char command[2000];

    (void)snprintf(command, sizeof(command), "mkdir -p '%s/%s' && cp '%s/tests/golden/traffic/traffic.jsonl' '%s/%s/'",
                   fixture_dir, dir, TL_TEST_SOURCE_DIR, fixture_dir, dir);
    assert_int_equal(system(command), 0);
}

/* X of 100 bytes, Y of 50 and Z of 10: t0 reads X, writes Z; t1 reads Y, reads and writes Z; t2 reads X; t3 reads Z,
 * writes Y. Z again: Y lay between, 50 bytes, then X, 100. X again: Z and Y, 60. Y again: Z and X, 110. */
static void reuse_distances_are_those_worked_out_by_hand(void **state)
{
    (void)state;
    give("hand");
    expect(0, "traffic hand --json --cache 120");
    expect_text("\"buffer\": \"0x0000000000001000\", \"owner\": null, \"accesses\": 2, \"slices\": 1, "
                "\"read_bytes\": 200, \"written_bytes\": 0, \"reuses\": 1, "
                "\"reuse_tasks\": {\"min\": 2, \"median\": 2, \"max\": 2}, "
                "\"reuse_bytes\": {\"min\": 60, \"median\": 60, \"max\": 60}}");
    expect_text("\"buffer\": \"0x0000000000002000\", \"owner\": null, \"accesses\": 2, \"slices\": 1, "
                "\"read_bytes\": 50, \"written_bytes\": 50, \"reuses\": 1, "
                "\"reuse_tasks\": {\"min\": 2, \"median\": 2, \"max\": 2}, "
                "\"reuse_bytes\": {\"min\": 110, \"median\": 110, \"max\": 110}}");
    expect_text("\"owner\": \"r0t0\", \"accesses\": 3, \"slices\": 1, \"read_bytes\": 20, \"written_bytes\": 20, "
                "\"reuses\": 2, \"reuse_tasks\": {\"min\": 1, \"median\": 1, \"max\": 2}, "
                "\"reuse_bytes\": {\"min\": 50, \"median\": 50, \"max\": 100}}");
    expect_text("\"cache\": {\"bytes\": 120, \"reads\": 5, \"found\": 2, \"saved_bytes\": 20}");
    expect(0, "traffic hand --json --cache 160"); /* X and what lay between fit */
    expect_text("\"found\": 3, \"saved_bytes\": 120}");
    expect(0, "traffic hand --json --cache 59"); /* one less than Y and Z */
    expect_text("\"found\": 0, \"saved_bytes\": 0}");
}

static void the_text_is_golden(void **state)
{
    (void)state;
    give("hand");
    expect(0, "traffic hand --cache 120 --buffers 2");
    golden_is(output, "traffic/hand.txt");
}

static void mistakes_are_one_line(void **state)
{
    (void)state;
    refuses("traffic nowhere", "nowhere");
    refuses("traffic hand --cache 0", "takes bytes from 1");
    refuses("traffic hand --cache 12X", "12X");
    expect(0, "run vector_add --dump-args 1 --out other");
    refuses("traffic other", "--enable-traffic");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bgemm_in_every_configuration),
                                       cmocka_unit_test(reuse_distances_are_those_worked_out_by_hand),
                                       cmocka_unit_test(the_text_is_golden), cmocka_unit_test(mistakes_are_one_line)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
