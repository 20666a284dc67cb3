/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded run that lasts, because its payloads go to the disk slowly: to be killed while it does. */
#ifndef TL_TESTS_SLOW_RUN_H
#define TL_TESTS_SLOW_RUN_H

#include "unit/artifact_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Starts it with the dump and `diagnostic` on; its recording goes to `out` in the test's directory, in this `format`.
 */
static inline pid_t slow_run_start_as(const char *format, const char *diagnostic, const char *out)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        const char *command = TL_TEST_BINARY_DIR "/tasklens";
        int null = open("/dev/null", O_RDWR);

        if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || chdir(fixture_dir) != 0)
            _exit(99);
        (void)execl(command, "tasklens", "run", "vector_add", "--set", "elements=4194304", "--set", "tiles=256",
                    "--dump-args", "2", diagnostic, "--dfx-set", "records=1", "--throttle-writer", "8M", "--format",
                    format, "--out", out, (char *)NULL);
        _exit(99);
    }
    return pid;
}

static inline pid_t slow_run_start(const char *diagnostic, const char *out)
{
    return slow_run_start_as("default", diagnostic, out);
}

/* Until its journal has `bytes`. */
static inline void slow_run_await(const char *out, off_t bytes)
{
    char name[100];
    struct stat st = {.st_size = 0};

    (void)snprintf(name, sizeof(name), "%s/run.journal", out);
    for (int i = 0; i < 2000 && (stat(fixture_path(name), &st) != 0 || st.st_size < bytes); i++)
        usleep(10000);
    assert_true(st.st_size >= bytes);
}

#endif
