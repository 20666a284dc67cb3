/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_opts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/collectors.h"
#include "base/count_of.h"
#include "cmd.h"
#include "opts.h"

#define COMMAND "run"

/* What the table fills before it becomes options of the worker and the run. */
struct raw {
    struct tl_run_options *o;
    int64_t device, levels[TL_COLLECT_COUNT], old_swimlane, block_dim, aicpu_threads, sim_threads, dfx_threads,
        task_window, dep_pool, guard;
    uint64_t heap_bytes, memory_bytes, throttle;
    bool on[TL_COLLECT_COUNT]; /* of diagnostics whose option takes no level */
    int runtime, mode, hash, oversize, transport, format;
};

static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph", NULL};
static const char *const modes[] = {"process", "thread", NULL};
static const char *const on_off[] = {"on", "off", NULL};
static const char *const oversizes[] = {"truncate", "chunk", NULL};
static const char *const formats[TL_FORMAT_COUNT + 1] = {
    [TL_FORMAT_DEFAULT] = "default", [TL_FORMAT_2026_09] = "2026-09", [TL_FORMAT_COUNT] = NULL};
static const char *const transports[] = {"mapped", "copy", NULL};

/* Splits "name=value" of at most `size` - 1 bytes of name. Returns the value, or NULL. */
static char *split(char *text)
{
    char *equals = strchr(text, '=');

    if (equals == NULL || equals == text || equals[1] == '\0')
        return NULL;
    *equals = '\0';
    return equals + 1;
}

static int call_set(void *target, const char *value, char *ret_problem, size_t problem_bytes)
{
    struct tl_run_options *o = ((struct raw *)target)->o;
    char *name = (char *)(uintptr_t)value, *text = split(name); /* a word of argv, which is ours to cut */

    int code = text != NULL ? tl__opts_number(text, &o->settings[o->n_settings].value) : TL_OPTS_NO_NUMBER;

    if (code == TL_OPTS_TOO_LARGE)
        (void)snprintf(ret_problem, problem_bytes, "%.60s=%.60s: a number is %" PRId64 " to %" PRId64, name, text,
                       INT64_MIN, INT64_MAX);
    else if (code != 0)
        (void)snprintf(ret_problem, problem_bytes, "takes name=number");
    else if (o->n_settings == TL_RUN_MAX_SETTINGS - 1)
        (void)snprintf(ret_problem, problem_bytes, "is given too often");
    else {
        o->settings[o->n_settings++].name = name;
        return 0;
    }
    return TL_EINVAL;
}

static int call_arg(void *target, const char *value, char *ret_problem, size_t problem_bytes)
{
    struct tl_run_options *o = ((struct raw *)target)->o;
    char *name = (char *)(uintptr_t)value, *file = split(name);

    if (file == NULL)
        (void)snprintf(ret_problem, problem_bytes, "takes name=file.npy");
    else if (o->n_args == TL_RUN_MAX_ARGS)
        (void)snprintf(ret_problem, problem_bytes, "is given too often");
    else {
        o->arg_names[o->n_args] = name;
        o->arg_files[o->n_args++] = file;
        return 0;
    }
    return TL_EINVAL;
}

/* "A:B", rounds counted from 0. */
static int call_window(void *target, const char *value, char *ret_problem, size_t problem_bytes)
{
    struct tl_run_options *o = ((struct raw *)target)->o;
    char *first = (char *)(uintptr_t)value, *colon = strchr(first, ':'); /* a word of argv, which is ours to cut */

    if (colon != NULL)
        *colon = '\0';
    if (colon == NULL || tl__opts_number(first, &o->window_first) != 0 ||
        tl__opts_number(colon + 1, &o->window_last) != 0 || o->window_first < 0 || o->window_last < o->window_first) {
        (void)snprintf(ret_problem, problem_bytes,
                       "takes A:B, the first and the last round to record, 0 <= A <= B <= %" PRId64, INT64_MAX);
        return TL_EINVAL;
    }
    o->has_window = true;
    return 0;
}

/* Megabytes a second; or bytes with a suffix, as elsewhere. */
static int call_rate(void *target, const char *value, char *ret_problem, size_t problem_bytes)
{
    int64_t megabytes;

    if (tl__opts_number(value, &megabytes) == 0 && megabytes >= 1 && megabytes <= TL_OPTS_BYTES_MAX / 1000000) {
        *(uint64_t *)target = (uint64_t)megabytes * 1000000;
        return 0;
    }
    if (tl__opts_number(value, &megabytes) != 0 && tl__opts_bytes(value, target) == 0)
        return 0;
    (void)snprintf(ret_problem, problem_bytes,
                   "takes MB a second, 1 to %" PRId64 ", or bytes as 64K or 4M, not \"%.80s\"",
                   TL_OPTS_BYTES_MAX / 1000000, value);
    return TL_EINVAL;
}

#define KNOB_MOST (1u << 24)

/* One "key=value" of --dfx-set. */
static int set_knob(struct tl_run_config *c, char *word, char *ret_problem, size_t problem_bytes)
{
    const struct {
        const char *name;
        uint32_t *field;
    } knobs[] = {
        {"records", &c->dfx_records}, {"buffers", &c->dfx_buffers}, {"ready", &c->dfx_ready}, {"free", &c->dfx_free}};
    const char *text = split(word);
    bool is_bytes = strcmp(word, "avg-bytes") == 0, known = is_bytes;
    int64_t most = is_bytes ? TL_OPTS_BYTES_MAX : KNOB_MOST;
    uint64_t value = 0;

    if (text == NULL) {
        (void)snprintf(ret_problem, problem_bytes, "takes records=, buffers=, avg-bytes=, ready=, free= with a number");
        return TL_EINVAL;
    }
    if (tl__opts_bytes(text, &value) != 0)
        value = 0;
    if (is_bytes && value > 0) {
        c->dfx_avg_bytes = value;
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(knobs); i++) {
        if (strcmp(word, knobs[i].name) != 0)
            continue;
        *knobs[i].field = (uint32_t)value;
        if (value > 0 && value <= KNOB_MOST)
            return 0;
        known = true;
    }
    if (known) {
        (void)snprintf(ret_problem, problem_bytes, "%s=%.80s: takes a number from 1 to %" PRId64 ", as 4096, 4K or 1M",
                       word, text, most);
        return TL_EINVAL;
    }
    (void)snprintf(ret_problem, problem_bytes, "no knob %s=%s; the knobs: records, buffers, avg-bytes, ready, free",
                   word, text);
    return TL_EINVAL;
}

static int call_dfx_set(void *target, const char *value, char *ret_problem, size_t problem_bytes)
{
    struct tl_run_config *c = &((struct raw *)target)->o->config;
    char words[256], *next = words;

    if ((size_t)snprintf(words, sizeof(words), "%s", value) >= sizeof(words)) {
        (void)snprintf(ret_problem, problem_bytes, "is too long");
        return TL_EINVAL;
    }
    while (next != NULL) {
        char *word = next;

        next = strchr(word, ',');
        if (next != NULL)
            *next++ = '\0';
        if (set_knob(c, word, ret_problem, problem_bytes) != 0)
            return TL_EINVAL;
    }
    return 0;
}

/* What the raw values mean. Exit code or TL_OPTS_GO_ON. */
static int interpret(struct raw *raw)
{
    struct tl_run_options *o = raw->o;
    struct tl_run_config *c = &o->config;

    if (raw->old_swimlane >= 0) {
        if (raw->levels[TL_COLLECT_SWIMLANE] == 0)
            raw->levels[TL_COLLECT_SWIMLANE] = raw->old_swimlane;
        (void)fprintf(stderr, "tasklens run: --enable-l2-swimlane is the former name of --enable-chip-swimlane; "
                              "use that, the values are the same\n");
    }
    for (int i = 0; i < TL_COLLECT_COUNT; i++)
        c->levels[i] = raw->on[i] ? tl__collect_rows[i].bare : (int32_t)raw->levels[i];
    o->recording = tl__levels_first(c->levels) >= 0;
    if (o->pin != NULL && o->chips == 0)
        return tl__cmd_fail(COMMAND, "--pin names chips, and there is one: add --chips N");
    if (o->chips > 0 && !o->rounds_given)
        o->rounds = o->chips;
    if (o->has_window && o->window_last >= o->rounds)
        return tl__cmd_fail(COMMAND, "--window %" PRId64 ":%" PRId64 " needs --rounds %" PRId64 " or more",
                            o->window_first, o->window_last, o->window_last + 1);
    if (o->has_window && !o->recording)
        return tl__cmd_fail(COMMAND,
                            "--window says which rounds to record, and nothing is recorded: add --dump-args 2");
    if (!TASKLENS_DFX && o->recording)
        return tl__cmd_fail(COMMAND, "this build records nothing; --%s needs one with -DTASKLENS_DFX=ON",
                            tl__collect_rows[tl__levels_first(c->levels)].option);
    c->runtime = runtimes[raw->runtime];
    c->dump_hash_off = raw->hash == 1;
    c->dump_oversize_chunk = raw->oversize == 1;
    c->format = (unsigned)raw->format;
    c->block_dim = (unsigned)raw->block_dim;
    c->aicpu_threads = (unsigned)raw->aicpu_threads;
    o->throttle_writer_bytes_s = raw->throttle;
    c->task_window = (uint32_t)raw->task_window;
    c->dep_pool = (uint32_t)raw->dep_pool;
    c->heap_bytes = raw->heap_bytes;
    c->guard = (unsigned)raw->guard;
    o->worker.device_id = (int)raw->device;
    o->worker.mode = raw->mode == 1 ? TL_DEVICE_THREAD : TL_DEVICE_PROCESS;
    o->worker.transport = raw->transport >= 0 ? transports[raw->transport] : NULL;
    o->worker.memory_bytes = raw->memory_bytes;
    o->worker.sim_threads = (unsigned)raw->sim_threads;
    o->worker.dfx_threads = (unsigned)raw->dfx_threads;
    if (o->case_name != NULL && strcmp(o->case_name, "list") == 0)
        o->list_cases = true;
    return TL_OPTS_GO_ON;
}

/* Several words are one program's source files. */
static int take_sources(struct tl_run_options *o, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (n > 1 && !tl__compile_takes(words[i]))
            return tl__cmd_fail(
                COMMAND, "several programs, or a program of several files? \"%s\" is no C or C++ source", words[i]);
        o->sources[i] = words[i];
    }
    if (!tl__compile_takes(words[0]) && o->compile.debug)
        return tl__cmd_fail(COMMAND, "--debug says how to compile, and %s is compiled already", words[0]);
    o->compile.sources = o->sources;
    o->compile.count = n;
    return 0;
}

/* A diagnostic's row as an option. */
#define COLLECT_OPTION(id, words, option, argument, bare_, max_, help, file, viewers, streams)                         \
    {0,                                                                                                                \
     option,                                                                                                           \
     (argument) != NULL ? TL_OPT_LEVEL : TL_OPT_FLAG,                                                                  \
     (argument) != NULL ? (void *)&raw.levels[TL_COLLECT_##id] : (void *)&raw.on[TL_COLLECT_##id],                     \
     argument,                                                                                                         \
     help,                                                                                                             \
     .max = (max_),                                                                                                    \
     .bare = (bare_)},

/* size: one flat table */
int tl__run_options(int argc, char **argv, struct tl_run_options *o)
{
    struct raw raw = {.o = o, .transport = -1, .old_swimlane = -1};
    const struct tl_opt table[] = {
        {'p', "platform", TL_OPT_TEXT, &o->worker.platform, "NAME", "a2a3sim (default), a5sim", .hidden = false},
        {'d', "device", TL_OPT_NUMBER, &raw.device, "ID", "number of the device, for messages", .max = 1 << 20},
        {0, "runtime", TL_OPT_CHOICE, &raw.runtime, "NAME", "tensormap_and_ringbuffer (default), host_build_graph",
         .choices = runtimes},
        {0, "case", TL_OPT_TEXT, &o->case_name, "NAME", "case of the program; `list` shows them", .hidden = false},
        {0, "rounds", TL_OPT_NUMBER, &o->rounds, "N",
         "runs on one worker, recordings in round0/, round1/, ...;\nwith --chips, dispatches in all (N chips: N)",
         .min = 1, .max = 1000000, .given = &o->rounds_given},
        {0, "chips", TL_OPT_NUMBER, &o->chips, "N",
         "one process, N chips, rounds dealt to them in turn; recordings in\nrank<chip>/d<dispatch>/", .min = 1,
         .max = TL_RUN_MAX_CHIPS},
        {0, "pin", TL_OPT_TEXT, &o->pin, "LIST", "chip of each dispatch, as 0,1,1; one number: of all",
         .hidden = false},
        {0, "window", TL_OPT_CALL, &raw, "A:B", "record only rounds A to B", .call = call_window},
        {0, "set", TL_OPT_CALL, &raw, "NAME=N", "a parameter of the program", .call = call_set},
        {0, "arg", TL_OPT_CALL, &raw, "NAME=FILE", "an input from a .npy file", .call = call_arg},
        TL__COLLECTORS(COLLECT_OPTION, TL__COLLECT_NONE,
                       TL__COLLECT_NONE){0, "format", TL_OPT_CHOICE, &raw.format, "NAME",
                                         "form of the recording's files: default, or 2026-09, which current "
                                         "tools\nelsewhere write; all viewers here "
                                         "open "
                                         "both",
                                         .choices = formats},
        {0, "debug", TL_OPT_FLAG, &o->compile.debug, NULL, "compile without optimization", .hidden = false},
        {0, "sanitize", TL_OPT_FLAG, &o->compile.sanitize, NULL,
         "find the program's errors of memory and undefined behaviour by compiler\nsanitizers: compiled with them, "
         "or an object that is",
         .hidden = false},
        {'v', "verbose", TL_OPT_FLAG, &o->compile.verbose, NULL, "show the line that compiles", .hidden = false},
        {0, "out", TL_OPT_TEXT, &o->out, "DIR", "directory of the recording; else outputs/PROGRAM_CASE_TIME",
         .hidden = false},
        {0, "device-mode", TL_OPT_CHOICE, &raw.mode, "MODE", "process (default), or thread for debuggers",
         .choices = modes},
        {0, "transport", TL_OPT_CHOICE, &raw.transport, "NAME", "mapped or copy; else the platform's own",
         .choices = transports},
        {0, "guard", TL_OPT_LEVEL, &raw.guard, "ALIGN",
         "a page that nothing may touch behind each buffer; buffers aligned to\ntheir elements, or to ALIGN bytes",
         .max = 4096, .bare = 1},
        {0, "block-dim", TL_OPT_NUMBER, &raw.block_dim, "N", "clusters used; else all", .min = 1, .max = 1 << 16},
        {0, "aicpu-threads", TL_OPT_NUMBER, &raw.aicpu_threads, "N", "control threads; else the platform's", .min = 2,
         .max = 8},
        {0, "sim-threads", TL_OPT_NUMBER, &raw.sim_threads, "N", "threads that simulate the chip; else the CPUs",
         .min = 1, .max = 1024},
        {0, "dfx-threads", TL_OPT_NUMBER, &raw.dfx_threads, "N", "service threads of the recording, beside its writer",
         .min = 1, .max = 8},
        {0, "dfx-set", TL_OPT_CALL, &raw, "K=V,...",
         "records=, buffers=, avg-bytes=, ready=, free=: sizes of the recording's queues", .call = call_dfx_set},
        {0, "dump-hash", TL_OPT_CHOICE, &raw.hash, "on|off", "hash of each payload (on)", .choices = on_off},
        {0, "dump-oversize", TL_OPT_CHOICE, &raw.oversize, "HOW",
         "a tensor larger than the arena: truncate (default) or chunk", .choices = oversizes},
        {0, "task-window", TL_OPT_NUMBER, &raw.task_window, "N", "task slots of a ring, a power of two", .min = 2,
         .max = 1 << 24},
        {0, "dep-pool", TL_OPT_NUMBER, &raw.dep_pool, "N", "dependency entries of a ring", .min = 1, .max = 1 << 28},
        {0, "heap-bytes", TL_OPT_CALL, &raw.heap_bytes, "BYTES", "heap of a ring, as 256M",
         .call = tl__opts_call_bytes},
        {0, "device-memory", TL_OPT_CALL, &raw.memory_bytes, "BYTES", "memory of the device (16G)",
         .call = tl__opts_call_bytes},
        {0, "throttle-writer", TL_OPT_CALL, &raw.throttle, "RATE",
         "as if the disk took only RATE of payload: MB a second, or bytes a\nsecond as 64K or 4M; for tests",
         .call = call_rate},
        {0, "chip-swimlane-level", TL_OPT_LEVEL, &raw.levels[TL_COLLECT_SWIMLANE], "L", "", .max = 4, .bare = 4,
         .hidden = true},
        {0, "enable-l2-swimlane", TL_OPT_LEVEL, &raw.old_swimlane, "L", "", .max = 4, .bare = 4, .hidden = true},
    };
    const struct tl_opts opts = {
        .command = COMMAND,
        .synopsis = "PROGRAM [FILE]... [OPTION]...",
        .about =
            "Runs a program's task graph on a simulated chip and checks its results.\n"
            "PROGRAM is a shared object, a C or C++ file, with more FILEs of it (compiled on the spot, with CFLAGS\n"
            "or CXXFLAGS and LDFLAGS of the environment), or the name of a bundled example.",
        .after = "Exit codes: 0 good; 1 results differ from the golden; 2 bad usage or input; 3 the device failed;\n"
                 "4 the recording is incomplete.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = TL_COMPILE_MAX_SOURCES,
    };
    const char *words[TL_COMPILE_MAX_SOURCES];
    size_t n = 0;
    int rc;

    memset(o, 0, sizeof(*o));
    o->worker = (struct tl_worker_opts)TL_WORKER_OPTS_INIT;
    o->config = (struct tl_run_config)TL_RUN_CONFIG_INIT;
    o->rounds = 1;
    rc = tl__opts_parse(&opts, argc, argv, words, &n);
    if (rc != TL_OPTS_GO_ON)
        return rc;
    if (n == 0)
        return tl__cmd_fail(COMMAND, "which program? `tasklens run vector_add` is a start");
    o->program = words[0];
    return take_sources(o, words, n) == 0 ? interpret(&raw) : TL_EXIT_USAGE;
}
