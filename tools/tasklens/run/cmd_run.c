/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens run: one program on one simulated chip, checked and, if asked, recorded. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/count_of.h"
#include "base/format.h"
#include "base/log.h"
#include "base/pathname.h"
#include "base/safe_text.h"
#include "host/compile.h"
#include "host/files.h"
#include "host/launcher.h"
#include "host/worker_impl.h"
#include "cmd.h"
#include "opts.h"
#include "run/prefix.h"
#include "run/run_ranks.h"
#include "run/run_sanitize.h"
#include "run/run_setup.h"
#include "run/run_signal.h"
#include "run/run_way_out.h"

#define COMMAND "run"
#define PROGRESS_NS UINT64_C(200000000)
#define RATE_NS UINT64_C(1000000000)

/* ---- Messages ---- */

static void to_stderr(void *ctx, enum tl_log_level level, const char *line)
{
    static const char *const names[] = {"debug", "note", "warning", "error"};

    (void)ctx;
    if (level >= TL_LOG_INFO) /* on a terminal the progress line is there, and is shown again below */
        (void)fprintf(stderr, "%stasklens run: %s: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
                      names[level & TL_LOG_ERROR], line);
}

/* ---- Setting up ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

/* A file that is there and is no shared object, whatever it is called. */
static bool is_other_file(const char *path)
{
    char magic[4] = "";
    struct stat st;
    size_t n;
    FILE *f;

    if (ends_with(path, ".so") || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    f = fopen(path, "rbe");
    if (f == NULL)
        return false;
    n = fread(magic, 1, sizeof(magic), f);
    (void)fclose(f);
    return n != sizeof(magic) || memcmp(magic, "\177ELF", sizeof(magic)) != 0;
}

/* PROGRAM to a shared object. Exit code, 0 to go on. */
static int find_program(struct tl_run_session *s)
{
    const char *program = s->o.program;
    struct tl_error err;
    int rc = 0;

    if (tl__compile_takes(program)) {
        rc = tl__compile_files(&s->o.compile, s->path, sizeof(s->path), &s->compile_lock, &err);
        s->compiled = rc == 0;
    } else if (is_other_file(program)) {
        return tl__cmd_fail(
            COMMAND, "%s is neither C (NAME.c) or C++ (NAME.cc, .cpp, .cxx) nor a shared object made of it (NAME.so)",
            program);
    } else if (strchr(program, '/') != NULL || ends_with(program, ".so")) {
        if ((size_t)snprintf(s->path, sizeof(s->path), "%s", program) >= sizeof(s->path))
            return tl__cmd_fail(COMMAND, "the path of the program is too long");
    } else {
        rc = tl__bundled(program, s->path, sizeof(s->path), &err);
    }
    return rc == 0 ? 0 : tl__cmd_fail(COMMAND, "%s", err.msg);
}

static int list_cases(struct tl_run_session *s)
{
    struct tl_object object;
    struct tl_error err;
    char shown[TL_SHOWN_BYTES];

    if (tl__object_open(s->path, &object, &err) != 0)
        return tl__cmd_fail(COMMAND, "%s", err.msg);
    for (uint32_t i = 0; i < object.program->n_cases; i++) {
        const struct tl_case *c = &object.program->cases[i];

        printf("%-16s", tl__safe(shown, sizeof(shown), TL_SAFE_NAME, c->name));
        for (unsigned k = 0; k < COUNT_OF(c->settings) && c->settings[k].name != NULL; k++)
            printf(" %s=%" PRId64, c->settings[k].name, c->settings[k].value);
        printf("\n");
    }
    if (object.program->n_cases == 0)
        printf("default\n");
    tl__object_close(&object);
    return tl__cmd_finish(COMMAND);
}

static int set_up(struct tl_run_session *s)
{
    struct tl_error err;
    int rc = tl__run_open(s, &s->o.worker, &s->worker, &s->loaded);

    if (rc != 0)
        return rc;
    s->program = tl_loaded_program(s->loaded);
    rc = tl__run_data(s, &s->data);
    if (rc == 0 && s->o.recording &&
        tl__output_dir(s->o.out, s->program->name, s->case_name, s->dir, sizeof(s->dir), &err) != 0)
        return tl__cmd_fail(COMMAND, "%s", err.msg);
    return rc;
}

/* ---- Running ---- */

/* The drain rate of about the last second. */
struct rate {
    uint64_t since_ns, since_bytes;
    double mb_s;
};

static double rate_of(struct rate *r, uint64_t drained)
{
    uint64_t now = tl__now_ns(), past = now - r->since_ns;

    if (past >= RATE_NS || r->since_bytes == 0)
        r->mb_s = past != 0 ? (double)(drained - r->since_bytes) * 1e3 / (double)past : 0;
    if (past >= RATE_NS) {
        r->since_ns = now;
        r->since_bytes = drained;
    }
    return r->mb_s;
}

/* How far a run is: tasks, and its recording. */
static void show_progress(struct tl_run *run, struct rate *rate)
{
    locale_t before = tl__plain_begin();
    struct tl_engine_progress p;
    uint64_t retired, submitted;

    tl__run_progress(run, &retired, &submitted);
    (void)fprintf(stderr, "\r\033[K%" PRIu64 " of %" PRIu64 " tasks", retired, submitted);
    if (tl__run_recorded(run, &p))
        (void)fprintf(stderr, ", captured %.1f MB, drained %.1f MB at %.1f MB/s, %.1f MB queued",
                      (double)p.captured / 1e6, (double)p.drained / 1e6, rate_of(rate, p.drained),
                      (double)p.queued / 1e6);
    (void)fflush(stderr);
    tl__plain_end(before);
}

/* Waits for device and recording, with a line that shows how far they are if somebody looks at it. */
static void watch(struct tl_run *run)
{
    struct rate rate = {.since_ns = tl__now_ns()};
    bool shown = false;

    if (!isatty(STDERR_FILENO))
        return; /* tl_worker_wait waits */
    while (tl__run_settle(run, tl__now_ns() + PROGRESS_NS) == TL_ETIMEDOUT ||
           tl__run_drain(run, tl__now_ns() + PROGRESS_NS) == TL_ETIMEDOUT) {
        show_progress(run, &rate);
        shown = true;
    }
    if (shown)
        (void)fprintf(stderr, "\r\033[K");
}

static int round_dir(struct tl_run_session *s, int64_t round, char *dir, size_t size)
{
    if (!s->o.recording)
        dir[0] = '\0';
    else if ((size_t)snprintf(dir, size, s->o.rounds > 1 ? "%s/round%" PRId64 : "%s", s->dir, round) >= size)
        return tl__cmd_fail(COMMAND, "the path of the output directory is too long");
    return 0;
}

/* Opens and closes the recording of a series. */
static void move_window(struct tl_run_session *s, int64_t round)
{
    if (!s->o.has_window)
        return;
    if (round == s->o.window_first)
        tl_worker_capture_begin(s->worker);
    else if (round == 0 || round == s->o.window_last + 1)
        tl_worker_capture_end(s->worker);
}

static bool in_window(const struct tl_run_session *s, int64_t round)
{
    return s->o.recording && (!s->o.has_window || (round >= s->o.window_first && round <= s->o.window_last));
}

/* One round. 0, or the exit code that ends the command. */
static int run_round(struct tl_run_session *s, int64_t round)
{
    struct tl_submit_opts given = TL_SUBMIT_OPTS_INIT;
    struct tl_run_config config = s->o.config;
    struct tl_run_result result;
    struct tl_error err;
    struct tl_run *run;
    char dir[TL_PATHNAME_BYTES];
    int rc = round_dir(s, round, dir, sizeof(dir));

    if (rc != 0)
        return rc;
    move_window(s, round);
    config.output_prefix = s->o.recording ? dir : NULL;
    config.case_name = s->case_name;
    if (round > 0)
        tl__data_reset(s->data);
    given.tensors = tl__data_tensors(s->data);
    given.n_tensors = tl__data_count(s->data);
    given.params = s->params;
    given.n_params = s->program->n_params;
    given.config = &config;
    rc = tl_worker_submit(s->worker, s->loaded, &given, &run, &err);
    if (rc != 0) {
        (void)tl__cmd_fail(COMMAND, "%s", err.msg);
        return tl__run_refused(rc, s->o.recording && round > 0);
    }
    if (!s->launched)
        tl__report_head(s);
    s->launched = true;
    if (in_window(s, round))
        tl__signal_tells(dir);
    watch(run);
    rc = tl_worker_wait(s->worker, run, &result, &err);
    tl__signal_tells_nothing();
    if (rc == TL_ENOSPC && result.tasks == 0 && result.artifacts[0] == '\0') { /* refused before its first task */
        s->launched = s->launched && round > 0;
        return tl__cmd_fail(COMMAND, "%s", err.msg);
    }
    tl__report_round(s, round, dir, &result);
    if (rc != 0)
        (void)tl__cmd_fail(COMMAND, "%s", err.msg);
    s->incomplete = s->incomplete || result.record_code != 0;
    return result.run_code != 0 ? tl__run_exit(result.run_code) : 0;
}

static int run_session(struct tl_run_session *s)
{
    int rc = set_up(s);
    int64_t round;

    if (rc == 0)
        rc = tl__run_golden(s, s->data);
    if (rc != 0)
        return rc;
    for (round = 0; rc == 0 && round < s->o.rounds; round++)
        rc = run_round(s, round);
    if (rc != 0 && round < s->o.rounds)
        (void)tl__cmd_fail(COMMAND, "round %" PRId64 " of %" PRId64 " failed, and the rest was not run", round - 1,
                           s->o.rounds);
    if (s->launched)
        tl__report_tail(s);
    else if (s->o.out == NULL && s->dir[0] != '\0')
        (void)rmdir(s->dir); /* made for a run that never began */
    if (rc == 0)
        rc = s->incomplete ? TL_EXIT_INCOMPLETE : s->differs ? TL_EXIT_DIFFERS : TL_EXIT_OK;
    if (fflush(stdout) != 0)
        rc = tl__cmd_finish(COMMAND);
    return rc;
}

/* Which of a launcher's ranks this is; what it prints says so from here on. */
static int find_rank(const struct tl_run_session *s, struct tl_launcher *ret_launcher)
{
    struct tl_error err;
    char prefix[40];

    if (tl__launcher_here(ret_launcher, &err) != 0)
        return tl__cmd_fail(COMMAND, "%s", err.msg);
    if (ret_launcher->ranks < 2)
        return 0;
    tl__ranks_prefix(s, ret_launcher, prefix, sizeof(prefix));
    tl__prefix_output(prefix);
    return 0;
}

static int run_main(int argc, char **argv)
{
    static struct tl_run_session s; /* zeroed, and larger than a stack should carry */
    struct tl_launcher launcher;
    bool poisoned = false, go_on;
    char **words;
    int rc;

    words = tl__run_words(argc, argv);
    rc = tl__run_options(argc, argv, &s.o);
    go_on = rc == TL_OPTS_GO_ON;
    if (go_on)
        rc = tl__run_sanitize(&s.o, words);
    tl__free(words);
    if (go_on && rc == 0)
        rc = find_rank(&s, &launcher);
    if (!go_on || rc != 0)
        return rc;
    tl_log_set_sink(to_stderr, NULL);
    tl__way_out_install();
    rc = find_program(&s);
    if (rc == 0)
        rc = s.o.list_cases                        ? list_cases(&s)
             : s.o.chips > 0 || launcher.ranks > 1 ? tl__run_ranks(&s, &launcher, &poisoned)
                                                   : run_session(&s);
    poisoned |= s.worker != NULL && tl__worker_poisoned(s.worker);
    tl_worker_close(s.worker);
    if (s.compiled)
        tl__compile_discard(s.path, s.compile_lock);
    if (poisoned)
        _exit(TL_EXIT_DEVICE); /* a thread of ours is in a kernel that never returns */
    tl__data_destroy(s.data);
    return rc;
}

const struct tl_cmd tl__cmd_run = {COMMAND, "Run a program on a simulated chip, and record it", run_main};
