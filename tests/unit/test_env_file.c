/* SPDX-License-Identifier: Apache-2.0 */
/* The real environment's files: whole writes, what is on the file after a failure, which code says why. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/error.h"

static int open_scratch(int flags)
{
    char path[] = "/tmp/tasklens-env-XXXXXX";
    int fd = mkostemp(path, flags);

    assert_true(fd >= 0);
    (void)unlink(path);
    return fd;
}

static void write_is_at_its_offset(void **state)
{
    int fd = open_scratch(0);
    char back[8] = {0};
    size_t written = 99;

    (void)state;
    assert_int_equal(tl__write(fd, "world", 5, 3, &written), 0);
    assert_int_equal(written, 5);
    assert_int_equal(tl__write(fd, "abc", 3, 0, NULL), 0);
    assert_int_equal(tl__write(fd, "", 0, 100, &written), 0);
    assert_int_equal(written, 0);
    assert_int_equal(pread(fd, back, sizeof(back), 0), 8);
    assert_memory_equal(back, "abcworld", 8);
    assert_int_equal(tl__sync(fd), 0);
    tl__sync_window(fd, 0, 8, 0, 8);
    tl__sync_window(fd, 0, 0, 0, 0);
    (void)close(fd);
}

static void append_is_at_the_end(void **state)
{
    int fd = open_scratch(O_APPEND);
    char back[8];

    (void)state;
    assert_int_equal(tl__append(fd, "abc", 3), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(tl__append(fd, "world", 5), 0);
    assert_int_equal(pread(fd, back, sizeof(back), 0), 8);
    assert_memory_equal(back, "abcworld", 8);
    (void)close(fd);
}

/*
 * A pipe takes 64 KiB and no more until somebody reads. A signal that comes while the writer waits makes the write a
 * short one, or an interrupted one; both must be continued.
 */
struct sink {
    int fd;
    size_t bytes;
    int wrong;
};

static void read_slowly(void *arg)
{
    struct sink *sink = arg;
    unsigned char buffer[10000];
    ssize_t n;

    (void)usleep(10000); /* meanwhile the writer is interrupted without a byte written */
    while ((n = read(sink->fd, buffer, sizeof(buffer))) > 0) {
        for (ssize_t i = 0; i < n; i++, sink->bytes++)
            sink->wrong += buffer[i] != (unsigned char)(sink->bytes % 251);
        (void)usleep(500);
    }
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal_number)
{
    (void)signal_number;
    alarms++;
}

static void short_writes_are_continued(void **state)
{
    struct sigaction interrupting = {.sa_handler = on_alarm}; /* no SA_RESTART */
    struct itimerval often = {.it_interval = {0, 1000}, .it_value = {0, 1000}}, never = {0};
    size_t bytes = 1000003;
    unsigned char *data = tl__alloc(bytes, 1);
    struct tl_thread *reader;
    struct sink sink = {0};
    int ends[2];

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i % 251);
    assert_int_equal(pipe(ends), 0);
    sink.fd = ends[0];
    assert_int_equal(sigaction(SIGALRM, &interrupting, NULL), 0);
    assert_int_equal(tl__spawn("reader", read_slowly, &sink, &reader), 0); /* blocks the signal: it is ours */
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_int_equal(tl__append(ends[1], data, bytes), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_true(alarms > 3);
    assert_int_equal(tl__sync(ends[1]), 0); /* a pipe has nothing to sync: success */
    (void)close(ends[1]);
    tl__join(reader);
    (void)close(ends[0]);
    assert_int_equal(sink.bytes, bytes);
    assert_int_equal(sink.wrong, 0);
    tl__free(data);
}

static void a_full_device_is_no_space(void **state)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    size_t written = 99;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(tl__write(fd, "abc", 3, 0, &written), TL_ENOSPC);
    assert_int_equal(written, 0);
    assert_int_equal(tl__append(fd, "abc", 3), TL_ENOSPC);
    (void)close(fd);
}

static void a_file_at_its_limit_keeps_what_fits(void **state)
{
    struct rlimit before, small;
    int fd = open_scratch(0);
    char data[3000], back[3000];
    size_t written = 0;

    (void)state;
    memset(data, 'x', sizeof(data));
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 2000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    /* The kernel cuts the first write at the limit; the continued one gets EFBIG. */
    assert_int_equal(tl__write(fd, data, sizeof(data), 0, &written), TL_ENOSPC);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(written, 2000);
    assert_int_equal(pread(fd, back, sizeof(back), 0), 2000);
    assert_memory_equal(back, data, 2000);
    (void)close(fd);
}

static void other_failures_are_io(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    size_t written = 99;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(tl__write(fd, "abc", 3, 0, &written), TL_EIO);
    assert_int_equal(written, 0);
    (void)close(fd);
    assert_int_equal(tl__write(-1, "abc", 3, 0, NULL), TL_EIO);
    assert_int_equal(tl__write(-1, "abc", 3, UINT64_MAX / 2, NULL), TL_ENOSPC);
    assert_int_equal(tl__append(-1, "abc", 3), TL_EIO);
    assert_int_equal(tl__sync(-1), TL_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_is_at_its_offset),
        cmocka_unit_test(append_is_at_the_end),
        cmocka_unit_test(short_writes_are_continued),
        cmocka_unit_test(a_full_device_is_no_space),
        cmocka_unit_test(a_file_at_its_limit_keeps_what_fits),
        cmocka_unit_test(other_failures_are_io),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
