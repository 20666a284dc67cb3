/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills `tasklens recover` at random moments, again and again on the same directory, until one comes to its end.
 *
 *     stress_recover [--kills N] [--seed S]      1000 kills, if not said
 *
 * What the last one leaves is what an undisturbed recovery leaves, byte by byte, with the same exit code. The journals:
 * that of a whole recording of all collectors, one that was cut, one with a damaged buffer, one without any record, and
 * one whose payload file is short.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"

#define COMMAND TL_TEST_BINARY_DIR "/tasklens"
#define JOURNAL_WAIT_NS UINT64_C(60000000000)

static char root[64];
static uint64_t seed_state;

static uint64_t draw(uint64_t below)
{
    uint64_t z = seed_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *format, ...)
{
    va_list args;

    (void)fflush(stdout);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n  what it left is in %s\n", root);
    _exit(1);
}

/* A shell command in the root. */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[1000];
    va_list args;
    int n = snprintf(command, sizeof(command), "cd '%s' && ", root);

    va_start(args, format);
    (void)vsnprintf(command + n, sizeof(command) - (size_t)n, format, args);
    va_end(args);
    return system(command);
}

static pid_t start(const char *const words[])
{
    pid_t pid = fork();

    if (pid < 0)
        wrong("fork: %s", strerror(errno));
    if (pid == 0) {
        int log = open("/dev/null", O_RDWR);

        if (log < 0 || dup2(log, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || chdir(root) != 0)
            _exit(99);
        (void)execv(COMMAND, (char *const *)(uintptr_t)words);
        _exit(99);
    }
    return pid;
}

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) != pid)
        if (errno != EINTR)
            wrong("waitpid: %s", strerror(errno));
    return status;
}

static off_t size_of(const char *name)
{
    char path[200];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    return stat(path, &st) == 0 ? st.st_size : -1;
}

/* A run whose host is killed once its journal holds `bytes`. */
static void make_cut(off_t bytes, const char *records)
{
    static const char *words[] = {"tasklens",
                                  "run",
                                  "vector_add",
                                  "--set",
                                  "elements=262144",
                                  "--set",
                                  "tiles=512",
                                  "--dump-args",
                                  "2",
                                  "--enable-chip-swimlane",
                                  "--enable-dep-gen",
                                  "--enable-pmu",
                                  "--enable-scope-stats",
                                  "--dfx-set",
                                  NULL,
                                  "--throttle-writer",
                                  "2M",
                                  "--out",
                                  "cut",
                                  NULL};
    uint64_t until = tl__now_ns() + JOURNAL_WAIT_NS;
    pid_t pid;

    (void)shell("rm -rf cut");
    words[14] = records;
    pid = start(words);
    while (size_of("cut/run.journal") < bytes && tl__now_ns() < until)
        usleep(500);
    (void)kill(pid, SIGKILL);
    (void)wait_for(pid);
    if (size_of("cut/run.journal") < bytes)
        wrong("no journal of %lld bytes came of a run", (long long)bytes);
}

/* What is done to the cut run before it is recovered. */
static const struct kind {
    const char *name, *records, *damage;
    off_t bytes;
    bool twice; /* with an earlier recording in the directory, to which this run never came */
} kinds[] = {
    {"cut short", "records=8", "true", 60000, false},
    {"torn", "records=8", "truncate -s -100 cut/run.journal", 60000, false},
    {"damaged", "records=8", "printf x | dd of=cut/run.journal bs=1 seek=20000 conv=notrunc 2>/dev/null", 60000, false},
    {"header damaged", "records=8", "printf x | dd of=cut/run.journal bs=1 seek=300 conv=notrunc 2>/dev/null", 60000,
     false},
    {"no records", "records=4096", "true", 1000, false},
    {"short payloads", "records=8", "truncate -s 50000 cut/args_dump/args.bin", 60000, false},
    {"not begun", "records=8", "truncate -s 800 cut/run.journal && rm -rf cut/args_dump && cp -r whole/. cut", 1000,
     true},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int recover_to_the_end(const char *dir)
{
    const char *const words[] = {"tasklens", "recover", dir, NULL};
    int status = wait_for(start(words));

    if (!WIFEXITED(status))
        wrong("recover %s: killed by signal %d", dir, WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* How long an undisturbed recovery takes. */
static uint64_t time_of_one(int *ret_code)
{
    uint64_t from = tl__now_ns();

    *ret_code = recover_to_the_end("undisturbed");
    return tl__now_ns() - from;
}

/* Kills one recovery of `disturbed` somewhere on its way. True: it was killed. */
static bool kill_one(uint64_t ns)
{
    static const char *const words[] = {"tasklens", "recover", "disturbed", NULL};
    uint64_t until = tl__now_ns() + draw(ns);
    pid_t pid = start(words);
    int status;

    while (tl__now_ns() < until)
        usleep(50);
    (void)kill(pid, SIGKILL);
    status = wait_for(pid);
    return WIFSIGNALED(status);
}

/* Up to `most` kills of recoveries of one directory. Returns how many. */
static unsigned torment(const struct kind *k, unsigned most)
{
    unsigned killed = 0, tries = 0;
    uint64_t ns;
    int code, again;

    if (shell("rm -rf undisturbed disturbed && cp -r cut undisturbed && cp -r cut disturbed") != 0)
        wrong("cp fails");
    ns = time_of_one(&code);
    while (tries++ < most)
        killed += kill_one(ns + ns / 8);
    again = recover_to_the_end("disturbed");
    if (again != code)
        wrong("%s: recover ends with %d, and after %u kills with %d", k->name, code, killed, again);
    if (shell("diff -r undisturbed disturbed") != 0)
        wrong("%s: after %u kills the recording is not that of an undisturbed recovery", k->name, killed);
    if (shell("test -z \"$(find disturbed -name '*.tmp')\"") != 0)
        wrong("%s: temporary files are left", k->name);
    if (recover_to_the_end("disturbed") != code)
        wrong("%s: another recovery does not end with %d", k->name, code);
    if (shell("diff -r undisturbed disturbed") != 0)
        wrong("%s: another recovery changed the recording", k->name);
    if (k->twice && shell("diff -r whole disturbed") != 0)
        wrong("%s: the earlier recording was touched", k->name);
    return killed;
}

static uint64_t number_after(int argc, char **argv, const char *name, uint64_t otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return strtoull(argv[i + 1], NULL, 10);
    return otherwise;
}

int main(int argc, char **argv)
{
    const uint64_t from = tl__now_ns(), kills = number_after(argc, argv, "--kills", 1000);
    static const char *const whole[] = {"tasklens",     "run",   "vector_add", "--dump-args", "2",
                                        "--enable-pmu", "--out", "whole",      NULL};
    unsigned killed[KINDS] = {0}, total = 0;

    seed_state = number_after(argc, argv, "--seed", from);
    printf("seed       %" PRIu64 ", %" PRIu64 " kills\n", seed_state, kills);
    (void)fflush(stdout);
    (void)snprintf(root, sizeof(root), "%s/tl_recover_XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(root) == NULL)
        wrong("cannot make %s", root);
    if (wait_for(start(whole)) != 0)
        wrong("a run fails");
    for (unsigned round = 0; total < kills; round++) {
        const struct kind *k = &kinds[round % KINDS];
        unsigned n;

        make_cut(k->bytes, k->records);
        if (shell("%s", k->damage) != 0)
            wrong("%s: %s fails", k->name, k->damage);
        n = torment(k, 1 + (unsigned)draw(12));
        killed[round % KINDS] += n;
        total += n;
    }
    for (unsigned i = 0; i < KINDS; i++)
        printf("%-14s %u kills\n", kinds[i].name, killed[i]);
    printf("good       %u kills in %.1f s\n", total, (double)(tl__now_ns() - from) / 1e9);
    return shell("rm -rf '%s'", root) == 0 ? 0 : 1;
}
