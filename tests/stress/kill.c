/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills chips and hosts of recording runs at random moments, and looks at what is left.
 *
 *     stress_kill [--device N] [--host N] [--seed S]      200 of each, if not said
 *
 * Device killed: the host ends with 3, and the recording has every record that reached the journal and every one that
 * the dead device's memory still held. Host killed: `tasklens recover` rebuilds what the journal has. Either way each
 * payload verifies and is that of an undisturbed run, and nothing of the dead run stays: no process, no file.
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

#include "artifact/journal_format.h"
#include "base/env.h"
#include "kill.h"

#define COMMAND TL_TEST_BINARY_DIR "/tasklens"
#define MAX_WORDS 48
#define HOST_END_NS UINT64_C(120000000000) /* a host that takes longer to end hangs */
#define JOURNAL_BYTES_A_RECORD 140u

/* ---- What is run ---- */

static const struct work {
    const char *program, *settings[2], *oversize;
} works[] = {
    {"vector_add", {"elements=1048576", "tiles=4096"}, "truncate"},
    {"vector_add", {"elements=2097152", "tiles=512"}, "truncate"},
    {"paged_attention", {"batch=24", "max_context=96"}, "truncate"},
    {"vector_add", {"elements=2097152", "tiles=64"}, "chunk"},
};
static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};
static const char *const platforms[] = {"a2a3sim", "a5sim"};
static const char *const transports[] = {"mapped", "copy"};
/* Small, so that buffers reach the host all the time and lanes wait; the last is as large as usual. */
static const char *const sizes[] = {"records=4,buffers=4,avg-bytes=4096", "records=16,buffers=4,avg-bytes=1024",
                                    "records=32,buffers=2,avg-bytes=8192", "records=256,buffers=8,avg-bytes=4096"};
static const char *const rates[] = {NULL, NULL, "64M", "16M"};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static struct truth undisturbed[COUNT(works)][COUNT(runtimes)];
static uint64_t unrecorded[COUNT(works)][COUNT(runtimes)]; /* tasks without arguments */

/* One run that is going to die. */
struct shot {
    unsigned work, runtime;
    bool of_device, in_thread;
    pid_t host, target;
    uint64_t started_ns;
    bool has_journal; /* it was seen, and `kept` is it */
    bool killed;      /* before it ended by itself */
    int status;       /* of the host */
};

static char root[64], run_dir[96], out_dir[112], tmp_dir[96], kept[96], log_file[96];
static uint64_t seed_state;
static struct {
    unsigned device_mid, device_early, device_closing, device_late, host_mid, host_early, host_late,
        host_after_manifest;
    unsigned torn_by_kill, torn_by_us, recover_killed, next_runs;
    uint64_t device_records, device_rescued, device_lost, host_records, payload_bytes, blocks, slowest_ns;
} sum;

static uint64_t draw(uint64_t below)
{
    uint64_t z = seed_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* ---- Messages ---- */

static char doing[400];
static char run_mark[64]; /* in the environment of the processes of the run that is on */

void now(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(doing, sizeof(doing), format, args);
    va_end(args);
}

void wrong(const char *format, ...)
{
    char command[300];
    static bool ending;
    va_list args;
    pid_t one;

    while (!ending && run_mark[0] != '\0') {
        ending = true; /* what goes wrong in here goes wrong but once */
        if (marked_processes(run_mark, &one) == 0)
            break;
        (void)kill(one, SIGKILL);
        usleep(1000);
        ending = false;
    }
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s:\n  ", doing);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n  what it left is in %s; the last command said:\n", root);
    (void)snprintf(command, sizeof(command), "cat '%s' >&2", log_file);
    _exit(system(command) == 0 ? 1 : 2);
}

/* ---- Processes ---- */

static pid_t start(const char *mark, char *const words[])
{
    pid_t pid = fork();

    if (pid < 0)
        wrong("fork: %s", strerror(errno));
    if (pid == 0) {
        int log = open(log_file, O_WRONLY | O_CREAT | O_TRUNC, 0666), null = open("/dev/null", O_RDONLY);

        if (log < 0 || null < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || chdir(run_dir) != 0 ||
            setenv("TMPDIR", tmp_dir, 1) != 0 || putenv((char *)(uintptr_t)mark) != 0)
            _exit(99);
        (void)close(log);
        (void)execv(COMMAND, words);
        _exit(99);
    }
    return pid;
}

/* False: it still runs at `deadline_ns`. */
static bool ended(pid_t pid, uint64_t deadline_ns, int *ret_status)
{
    for (;;) {
        pid_t got = waitpid(pid, ret_status, WNOHANG);

        if (got == pid)
            return true;
        if (got < 0 && errno != EINTR)
            wrong("waitpid: %s", strerror(errno));
        if (tl__now_ns() >= deadline_ns)
            return false;
        usleep(500);
    }
}

/* Runs a command to its end; its exit code. */
static int command(char *const words[])
{
    pid_t pid = start("TL_STRESS=command", words);
    int status = 0;

    if (!ended(pid, tl__now_ns() + HOST_END_NS, &status))
        wrong("tasklens %s does not end", words[1]);
    if (!WIFEXITED(status))
        wrong("tasklens %s: killed by signal %d", words[1], WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* ---- A run and its moment ---- */

static const char *in_out(const char *name)
{
    static char path[200];

    (void)snprintf(path, sizeof(path), "%s/%s", out_dir, name);
    return path;
}

static void launch(struct shot *s, const char *what, unsigned number)
{
    const struct work *w = &works[s->work];
    const char *platform = platforms[draw(2)], *transport = transports[draw(2)], *size = sizes[draw(COUNT(sizes))];
    const char *rate = rates[draw(COUNT(rates))], *threads = draw(2) == 0 ? "1" : "2";
    const char *words[MAX_WORDS] = {"tasklens",
                                    "run",
                                    w->program,
                                    "--set",
                                    w->settings[0],
                                    "--set",
                                    w->settings[1],
                                    "--dump-args",
                                    "2",
                                    "--dump-oversize",
                                    w->oversize,
                                    "--runtime",
                                    runtimes[s->runtime],
                                    "-p",
                                    platform,
                                    "--transport",
                                    transport,
                                    "--dfx-set",
                                    size,
                                    "--dfx-threads",
                                    threads,
                                    "--device-mode",
                                    s->in_thread ? "thread" : "process",
                                    "--out",
                                    "out"};
    unsigned n = 0;

    while (words[n] != NULL)
        n++;
    if (rate != NULL) {
        words[n++] = "--throttle-writer";
        words[n++] = rate;
    }
    now("%s %u: %s %s %s, %s, %s, %s, %s, %s, rate %s", what, number, w->program, w->settings[0], w->settings[1],
        runtimes[s->runtime], platform, transport, s->in_thread ? "thread" : "process", size,
        rate != NULL ? rate : "full");
    (void)snprintf(run_mark, sizeof(run_mark), "TL_STRESS=%ld-%s-%u", (long)getpid(), what, number);
    s->started_ns = tl__now_ns();
    s->host = start(run_mark, (char *const *)(uintptr_t)words);
}

/* A second name keeps the journal's bytes for us, whatever becomes of the first. */
static void look_for_journal(struct shot *s)
{
    if (!s->has_journal)
        s->has_journal = link(in_out(TL_JOURNAL_NAME), kept) == 0;
}

/* Sleeps until `reached`; false if the host ended before. */
static bool until(struct shot *s, bool (*reached)(struct shot *s, uint64_t value), uint64_t value)
{
    while (!reached(s, value)) {
        look_for_journal(s);
        if (waitpid(s->host, &s->status, WNOHANG) == s->host)
            return false;
        usleep(150);
    }
    return true;
}

static bool time_is(struct shot *s, uint64_t ns)
{
    (void)s;
    return tl__now_ns() >= ns;
}

static bool journal_is(struct shot *s, uint64_t bytes)
{
    struct stat st;

    return s->has_journal && stat(kept, &st) == 0 && (uint64_t)st.st_size >= bytes;
}

static bool target_is(struct shot *s, uint64_t unused)
{
    (void)unused;
    s->target = s->of_device ? chip_of(s->host) : s->host;
    return s->target != 0;
}

/* The recording is exported: what is left to the host is to close the chip and to end. */
static bool closing(struct shot *s, uint64_t unused)
{
    (void)unused;
    return s->has_journal && access(in_out(TL_JOURNAL_NAME), F_OK) != 0;
}

/* Kills at a random moment: after a time from the start, after a time from the launch, after so much was recorded, or
 * while host and chip end in good order. */
static void shoot(struct shot *s)
{
    const uint64_t bytes = undisturbed[s->work][s->runtime].count * JOURNAL_BYTES_A_RECORD;
    const uint64_t kind = draw(9), early = draw(60000000), late = draw(250000000), part = draw(bytes),
                   after = draw(3000000);
    bool alive;

    if (kind == 0)
        alive = until(s, time_is, s->started_ns + early);
    else if (kind < 4)
        alive = until(s, journal_is, 1) && until(s, time_is, tl__now_ns() + late);
    else if (kind < 8)
        alive = until(s, journal_is, part) && until(s, time_is, tl__now_ns() + after);
    else
        alive = until(s, closing, 0) && until(s, time_is, tl__now_ns() + after * 4);
    alive = alive && until(s, target_is, 0);
    if (alive)
        (void)kill(s->target, SIGKILL);
    s->killed = alive;
    while (alive && !ended(s->host, tl__now_ns() + 1000000, &s->status)) {
        look_for_journal(s);
        if (tl__now_ns() - s->started_ns > HOST_END_NS)
            wrong("the host does not end");
    }
}

static void expect_nothing_left(void)
{
    uint64_t ns = await_gone(run_mark);

    if (ns > sum.slowest_ns)
        sum.slowest_ns = ns;
    only_entry(run_dir, "out");
    only_entry(tmp_dir, NULL);
}

/* The recording is sound and what it should be: the journal's records, each as in an undisturbed run. Returns how many
 * there are; *ret_lost: with the device. */
static uint64_t judge(const struct shot *s, bool has_journal, uint64_t *ret_lost)
{
    const struct truth *whole = &undisturbed[s->work][s->runtime];
    struct truth manifest, journal = {0};
    uint64_t tasks = 0, complete, count;
    bool there = truth_of_manifest(out_dir, &manifest);

    if (has_journal)
        has_journal = truth_of_journal(kept, &journal);
    if (there != (journal.count != 0))
        wrong("%llu records reached the journal and there is %s manifest", (unsigned long long)journal.count,
              there ? "a" : "no");
    if (there) {
        truth_same(&manifest, &journal);
        *ret_lost = truth_of_meta(out_dir, &manifest, &tasks);
        complete = truth_within(&manifest, whole, s->of_device);
        if (complete + unrecorded[s->work][s->runtime] < tasks)
            wrong("%llu tasks retired and only %llu have all their records", (unsigned long long)tasks,
                  (unsigned long long)complete);
    }
    if (!there && access(in_out("args_dump"), F_OK) == 0)
        wrong("payloads that no manifest names are left");
    only_artifacts(out_dir);
    sum.payload_bytes += manifest.payload_bytes;
    sum.blocks += journal.blocks;
    count = manifest.count;
    truth_free(&manifest);
    truth_free(&journal);
    return count;
}

/* A fresh run beside what the dead one left: it works, and takes nothing away. */
static void run_next(bool beside)
{
    char *const words[] = {"tasklens", "run", "vector_add", "--dump-args", "2", "--out", "../next", NULL};
    uint64_t before = beside ? fingerprint(out_dir) : 0;
    struct truth manifest;
    char next[96];

    (void)snprintf(next, sizeof(next), "%s/next", root);
    if (command(words) != 0)
        wrong("the next run fails");
    if (!truth_of_manifest(next, &manifest) || manifest.count != 20)
        wrong("the next run's recording is not whole");
    if (beside && fingerprint(out_dir) != before)
        wrong("the next run changed what the dead one had left");
    truth_free(&manifest);
    remove_tree(next);
    sum.next_runs++;
}

static void begin(void)
{
    remove_tree(out_dir);
    (void)unlink(kept);
}

static void draw_work(struct shot *s)
{
    s->work = (unsigned)draw(COUNT(works));
    s->runtime = (unsigned)draw(COUNT(runtimes));
}

/* ---- The device is killed ---- */

static void kill_device(unsigned number)
{
    struct shot s = {.of_device = true};
    uint64_t lost = 0, records, journalled = 0;
    struct stat st;
    bool there;

    begin();
    draw_work(&s);
    launch(&s, "device", number);
    shoot(&s);
    if (s.has_journal && stat(kept, &st) == 0)
        journalled = (uint64_t)st.st_size;
    if (!WIFEXITED(s.status) || (WEXITSTATUS(s.status) != 3 && WEXITSTATUS(s.status) != 0))
        wrong("the host ended with status %#x", (unsigned)s.status);
    expect_nothing_left();
    there = access(out_dir, F_OK) == 0;
    records = there ? judge(&s, s.has_journal, &lost) : 0;
    if (WEXITSTATUS(s.status) == 0) {
        if (records != undisturbed[s.work][s.runtime].count || lost != 0)
            wrong("a whole run has %llu records", (unsigned long long)records);
        sum.device_closing += s.killed;
        sum.device_late += !s.killed;
        return;
    }
    if (!file_says(log_file, "killed by SIGKILL"))
        wrong("the host does not say how the device ended");
    sum.device_mid += s.has_journal;
    sum.device_early += !s.has_journal;
    sum.device_records += records;
    sum.device_lost += lost;
    sum.device_rescued += journalled > sizeof(struct tl_journal_header) && records > 0;
    if (number % 8 == 0)
        run_next(there);
}

/* ---- The host is killed ---- */

/* Cuts the journal inside its last block, as a kill in the middle of a write does, now and then inside its header. */
static void tear_journal(void)
{
    struct stat st;
    uint64_t size, cut;

    if (stat(kept, &st) != 0)
        wrong("the journal is gone");
    size = (uint64_t)st.st_size;
    cut = draw(8) == 0
              ? size - draw(size < sizeof(struct tl_journal_header) ? size + 1 : sizeof(struct tl_journal_header))
              : 1 + draw(200);
    if (cut > size)
        cut = size;
    if (truncate(kept, (off_t)(size - cut)) != 0)
        wrong("truncate: %s", strerror(errno));
    sum.torn_by_us++;
}

static void recover(bool kill_it)
{
    char *const words[] = {"tasklens", "recover", "out", NULL};
    struct truth journal;
    char line[128];
    int status;
    bool whole = truth_of_journal(kept, &journal);

    if (kill_it) {
        pid_t pid = start("TL_STRESS=recover", words);

        usleep((useconds_t)draw(15000));
        (void)kill(pid, SIGKILL);
        if (waitpid(pid, &status, 0) != pid)
            wrong("waitpid: %s", strerror(errno));
        sum.recover_killed += WIFSIGNALED(status);
    }
    if (access(in_out(TL_JOURNAL_NAME), F_OK) == 0) {
        int code = command(words);

        /* 4: all was in buffers that were not full yet, and payloads had been written. */
        if (code != 0 && (code != 4 || !file_says(log_file, "given up")))
            wrong("recover fails: exit code %d", code);
        (void)snprintf(line, sizeof(line), "recovered  %llu records in %llu buffers", (unsigned long long)journal.count,
                       (unsigned long long)journal.blocks);
        if (whole && !file_says(log_file, line) && !file_says(log_file, "the run had ended"))
            wrong("recover does not tell of %llu records in %llu buffers", (unsigned long long)journal.count,
                  (unsigned long long)journal.blocks);
        if (journal.torn_bytes != 0 && !file_says(log_file, "torn") && !file_says(log_file, "the run had ended"))
            wrong("recover does not tell of the torn tail");
    }
    truth_free(&journal);
}

static void check_host_kill(struct shot *s)
{
    bool journal = access(in_out(TL_JOURNAL_NAME), F_OK) == 0;
    struct truth t;
    uint64_t lost = 0;

    look_for_journal(s); /* it may have been made after we looked last */
    if (journal) {
        struct truth manifest;

        /* Between the manifest's rename and the journal's removal. */
        sum.host_after_manifest += truth_of_manifest(out_dir, &manifest);
        truth_free(&manifest);
        if (truth_of_journal(kept, &t))
            sum.torn_by_kill += t.torn_bytes != 0;
        truth_free(&t);
        if (draw(3) == 0)
            tear_journal();
        recover(draw(4) == 0);
    }
    sum.host_records += judge(s, s->has_journal, &lost);
}

static void kill_host(unsigned number)
{
    struct shot s = {.in_thread = draw(3) == 0};

    begin();
    draw_work(&s);
    launch(&s, "host", number);
    shoot(&s);
    expect_nothing_left();
    if (!WIFSIGNALED(s.status)) {
        if (!WIFEXITED(s.status) || WEXITSTATUS(s.status) != 0)
            wrong("the host ended with status %#x", (unsigned)s.status);
        sum.host_late++;
        return;
    }
    if (s.has_journal || access(in_out(TL_JOURNAL_NAME), F_OK) == 0)
        sum.host_mid++;
    else
        sum.host_early++;
    if (access(out_dir, F_OK) == 0) {
        check_host_kill(&s);
        if (number % 8 == 0)
            run_next(true);
    }
}

/* ---- All of it ---- */

static void run_undisturbed(unsigned work, unsigned runtime)
{
    const struct work *w = &works[work];
    const char *words[] = {"tasklens",        "run",          w->program,    "--set", w->settings[0],
                           "--set",           w->settings[1], "--dump-args", "2",     "--runtime",
                           runtimes[runtime], "--out",        "out",         NULL};
    struct truth *t = &undisturbed[work][runtime];
    uint64_t tasks = 0, complete;

    begin();
    now("undisturbed: %s %s %s, %s", w->program, w->settings[0], w->settings[1], runtimes[runtime]);
    if (command((char *const *)(uintptr_t)words) != 0)
        wrong("it fails");
    if (!truth_of_manifest(out_dir, t) || truth_of_meta(out_dir, t, &tasks) != 0)
        wrong("its recording is not whole");
    complete = truth_within(t, t, true);
    if (complete > tasks)
        wrong("%llu tasks in the recording, %llu retired", (unsigned long long)complete, (unsigned long long)tasks);
    unrecorded[work][runtime] = tasks - complete;
}

static void report(uint64_t from_ns)
{
    printf("device     %u kills in the middle, %u before the run, %u in its good end, %u after it\n", sum.device_mid,
           sum.device_early, sum.device_closing, sum.device_late);
    printf("           %" PRIu64 " records kept, %" PRIu64 " lost that were being written, %" PRIu64
           " recordings not empty\n",
           sum.device_records, sum.device_lost, sum.device_rescued);
    printf("host       %u kills in the middle, %u before the run, %u after it, %u between manifest and journal\n",
           sum.host_mid, sum.host_early, sum.host_late, sum.host_after_manifest);
    printf("           %" PRIu64 " records recovered, torn tails: %u by the kill, %u by us, %u recoveries killed too\n",
           sum.host_records, sum.torn_by_kill, sum.torn_by_us, sum.recover_killed);
    printf("both       %" PRIu64 " journal entries, %" PRIu64 " bytes of payload verified, %u runs beside\n",
           sum.blocks, sum.payload_bytes, sum.next_runs);
    printf("           the last process of a dead run was gone after %.1f ms at most\n", (double)sum.slowest_ns / 1e6);
    printf("good       in %.1f s\n", (double)(tl__now_ns() - from_ns) / 1e9);
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
    const uint64_t from = tl__now_ns();
    const unsigned devices = (unsigned)number_after(argc, argv, "--device", 200);
    const unsigned hosts = (unsigned)number_after(argc, argv, "--host", 200);

    seed_state = number_after(argc, argv, "--seed", from);
    printf("seed       %" PRIu64 ", %u kills of the device, %u of the host\n", seed_state, devices, hosts);
    (void)fflush(stdout);
    check_chip_of();
    (void)snprintf(root, sizeof(root), "%s/tl_kill_XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(root) == NULL)
        wrong("cannot make %s", root);
    (void)snprintf(run_dir, sizeof(run_dir), "%s/run", root);
    (void)snprintf(out_dir, sizeof(out_dir), "%s/out", run_dir);
    (void)snprintf(tmp_dir, sizeof(tmp_dir), "%s/tmp", root);
    (void)snprintf(kept, sizeof(kept), "%s/kept.journal", root);
    (void)snprintf(log_file, sizeof(log_file), "%s/log", root);
    if (mkdir(run_dir, 0777) != 0 || mkdir(tmp_dir, 0777) != 0)
        wrong("no directory in %s", root);
    for (unsigned w = 0; w < COUNT(works); w++)
        for (unsigned r = 0; r < COUNT(runtimes); r++)
            run_undisturbed(w, r);
    for (unsigned i = 0; i < devices || i < hosts; i++) {
        if (i < devices)
            kill_device(i);
        if (i < hosts)
            kill_host(i);
    }
    report(from);
    for (unsigned w = 0; w < COUNT(works); w++)
        for (unsigned r = 0; r < COUNT(runtimes); r++)
            truth_free(&undisturbed[w][r]);
    remove_tree(root);
    return 0;
}
