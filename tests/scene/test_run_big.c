/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The case of the drain-rate issue at its full size: 64 sequences of 8,192 tokens, two caches of 1 GiB, everything
 * recorded, default budgets. Takes 8 GiB of memory, 22 GB of disk below TMPDIR or /tmp and some minutes, so it runs
 * only when asked for with TASKLENS_BIG_TESTS=1. test_run_drain.c has a small twin.
 *
 * Prints what the command said, the wall time, the drain rate, and its ratio to a plain write of the same bytes right
 * after.
 */
#include "scene/cli.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/env.h"

#define MIB ((uint64_t)1 << 20)
#define MEMORY_KIB (UINT64_C(8) << 20)
#define DISK_BYTES UINT64_C(22000000000)
#define WINDOW (32 * MIB)
/*
 * Of the 128 steps each records, in MiB: q 2, half an arena of each cache 64 + 64, scores and probs twice 3, weighted
 * twice 8, acc before and after 8, and in KiB: the block table twice 64, maxima and sums 128, lengths 3/4. Then init
 * (4 MiB and 32 KiB) and finish (16 KiB, 4 MiB, 2 MiB).
 */
#define PAYLOAD_BYTES (128 * (149 * MIB + (64 + 128) * 1024 + 768) + 10 * MIB + 48 * 1024)

static uint64_t memory_kib(void)
{
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    char line[200];

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (f != NULL)
        (void)fclose(f);
    return kib;
}

/* Why the test cannot run here; NULL: it can. */
static const char *missing(void)
{
    const char *wanted = getenv("TASKLENS_BIG_TESTS");
    struct statvfs fs;

    if (wanted == NULL || strcmp(wanted, "1") != 0)
        return "TASKLENS_BIG_TESTS=1 is not set";
    if (memory_kib() < MEMORY_KIB)
        return "less than 8 GiB of memory are available";
    if (statvfs(fixture_dir, &fs) != 0 || (uint64_t)fs.f_bavail * fs.f_frsize < DISK_BYTES)
        return "less than 22 GB are free on the disk";
    return NULL;
}

/* Seconds of a loop of 1 MiB writes with the writer's rolling window. */
static double plain_write(uint64_t bytes)
{
    uint8_t *data = malloc(MIB);
    int fd = open(fixture_path("plain"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    uint64_t start = tl__now_ns(), end = 0;
    size_t written;

    assert_non_null(data);
    assert_true(fd >= 0);
    memset(data, 0x5a, MIB);
    for (uint64_t at = 0; at < bytes; at += MIB) {
        assert_int_equal(tl__write(fd, data, bytes - at < MIB ? bytes - at : MIB, at, &written), 0);
        for (; at + MIB - end >= WINDOW; end += WINDOW)
            tl__sync_window(fd, end, WINDOW, end >= WINDOW ? end - WINDOW : 0, end >= WINDOW ? WINDOW : end);
    }
    assert_int_equal(tl__sync(fd), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(fixture_path("plain")), 0);
    free(data);
    return (double)(tl__now_ns() - start) / 1e9;
}

static void the_drain_rate_case(void **state)
{
    const char *why = missing(), *line;
    double seconds, plain;
    struct stat st;

    (void)state;
    if (why != NULL) {
        printf("skipped: %s\n", why);
        (void)fixture_teardown(NULL);
        exit(77);
    }
    expect(0, "run paged_attention --case spmd_64bat_8192ctx --dump-args 2 --block-dim 24 --out big");
    assert_non_null(strstr(output, "1048576 bfloat16 agree with the golden"));
    assert_non_null(strstr(output, "256 payloads larger than the arena"));
    assert_null(strstr(output, "lost  "));
    line = strstr(output, "514 retired in ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "514 retired in %lf s", &seconds), 1);
    assert_int_equal(stat(fixture_path("big/args_dump/args.bin"), &st), 0);
    assert_int_equal(st.st_size, PAYLOAD_BYTES);
    printf("%s%s", message, output);
    expect(0, "dump --verify big");
    assert_non_null(strstr(output, " hashes checked, 0 payloads without one; 0 faults"));
    assert_int_equal(unlink(fixture_path("big/args_dump/args.bin")), 0);
    plain = plain_write(PAYLOAD_BYTES);
    printf("%llu bytes of payload in %.1f s: %.1f MB/s; a plain write of as many %.1f s: %.1f MB/s; ratio %.2f\n",
           (unsigned long long)PAYLOAD_BYTES, seconds, (double)PAYLOAD_BYTES / 1e6 / seconds, plain,
           (double)PAYLOAD_BYTES / 1e6 / plain, plain / seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_drain_rate_case)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
