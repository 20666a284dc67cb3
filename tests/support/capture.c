/* SPDX-License-Identifier: Apache-2.0 */
#include "support/capture.h"
#include "support/scratch.h"
#include "support/submit_opts.h"

#include <stdarg.h>
#include <setjmp.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"
#include "host/worker_impl.h"

#define PROGRAMS_MAX 16u
#define LINES_MAX 64u

const struct capture_cell capture_cells[CAPTURE_CELLS] = {
    {"a2a3sim", "mapped", "tensormap_and_ringbuffer"}, {"a2a3sim", "mapped", "host_build_graph"},
    {"a5sim", "copy", "tensormap_and_ringbuffer"},     {"a5sim", "copy", "host_build_graph"},
    {"a2a3sim", "copy", "tensormap_and_ringbuffer"},   {"a2a3sim", "copy", "host_build_graph"},
    {"a5sim", "mapped", "tensormap_and_ringbuffer"},   {"a5sim", "mapped", "host_build_graph"},
};

struct chip {
    struct tl_worker *worker;
    const struct tl_program *programs[PROGRAMS_MAX];
    struct tl_loaded *loaded[PROGRAMS_MAX];
};

static struct chip chips[CAPTURE_CELLS];

static struct {
    pthread_mutex_t lock;
    char line[LINES_MAX][1100];
    unsigned count;
} lines = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the log ------------------------------------------------------------------------------------------------- */

static void keep_line(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    if (level < TL_LOG_WARN)
        return;
    pthread_mutex_lock(&lines.lock);
    (void)snprintf(lines.line[lines.count % LINES_MAX], sizeof(lines.line[0]), "%s", line);
    lines.count++;
    pthread_mutex_unlock(&lines.lock);
}

unsigned capture_logged(const char *part)
{
    unsigned n = 0;

    pthread_mutex_lock(&lines.lock);
    for (unsigned i = 0; i < lines.count && i < LINES_MAX; i++)
        n += strstr(lines.line[i], part) != NULL;
    pthread_mutex_unlock(&lines.lock);
    return n;
}

/* --- files ---------------------------------------------------------------------------------------------------------
 */

static struct {
    size_t skip;
    char *name[32];
    unsigned count;
} found;

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)at;
    if (type == FTW_F && found.count < 32)
        found.name[found.count++] = strdup(path + found.skip);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *capture_files(const struct capture *c, char *text, size_t size)
{
    size_t at = 0;

    found.skip = strlen(c->dir) + 1;
    found.count = 0;
    (void)nftw(c->dir, visit, 8, FTW_PHYS);
    qsort(found.name, found.count, sizeof(found.name[0]), compare_names);
    text[0] = '\0';
    for (unsigned i = 0; i < found.count; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? " " : "", found.name[i]);
        assert_true(at < size);
        free(found.name[i]);
    }
    return text;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* --- runs ----------------------------------------------------------------------------------------------------------
 */

static struct tl_worker *worker_of(unsigned cell)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_error err = {0};

    assert_true(cell < CAPTURE_CELLS);
    if (chips[cell].worker != NULL)
        return chips[cell].worker;
    tl_log_set_sink(keep_line, NULL); /* always the same: chips that exist notice nothing */
    opts.platform = capture_cells[cell].platform;
    opts.transport = capture_cells[cell].transport;
    opts.mode = TL_DEVICE_THREAD;
    opts.memory_bytes = UINT64_C(4) << 30;
    opts.sim_threads = 2;
    if (tl_worker_open(&opts, &chips[cell].worker, &err) != 0)
        fail_msg("%s", err.msg);
    return chips[cell].worker;
}

static struct tl_loaded *load(unsigned cell, const struct tl_program *program)
{
    struct chip *chip = &chips[cell];
    struct tl_error err = {0};
    unsigned i;

    for (i = 0; i < PROGRAMS_MAX && chip->programs[i] != NULL; i++)
        if (chip->programs[i] == program)
            return chip->loaded[i];
    assert_true(i < PROGRAMS_MAX);
    if (tl_worker_load_linked(worker_of(cell), program, &chip->loaded[i], &err) != 0)
        fail_msg("%s", err.msg);
    chip->programs[i] = program;
    return chip->loaded[i];
}

void capture_begin(struct capture *c, unsigned cell, int level)
{
    const struct tl_run_config config = TL_RUN_CONFIG_INIT;
    static unsigned serial;

    memset(c, 0, sizeof(*c));
    assert_true(cell < CAPTURE_CELLS);
    c->cell = cell;
    c->config = config;
    c->config.runtime = capture_cells[cell].runtime;
    c->config.levels[TL_COLLECT_DUMP] = level;
    c->config.dfx_avg_bytes = 4096; /* an arena of 8 MiB: less memory to touch */
    c->config.heap_bytes = UINT64_C(16) << 20;
    (void)snprintf(c->dir, sizeof(c->dir), "%s/%u", scratch(false), serial++);
    c->config.output_prefix = c->dir;
    pthread_mutex_lock(&lines.lock);
    lines.count = 0;
    pthread_mutex_unlock(&lines.lock);
}

void capture_open(struct capture *c)
{
    struct tl_error err = {0};
    char path[200];
    int r;

    (void)snprintf(path, sizeof(path), "%s/%s", c->dir, TL_DUMP_DIR_NAME);
    r = tl__dump_open(path, &c->dump, &err);
    if (r == 0) {
        c->records = tl__dump_records(c->dump);
        c->count = tl__dump_record_count(c->dump);
    } else if (r != TL_ENOENT) {
        fail_msg("%s", err.msg);
    }
}

void capture_submit(struct capture *c, const struct tl_program *program, const struct tl_host_tensor *tensors,
                    uint32_t n_tensors)
{
    if (tl_worker_submit(worker_of(c->cell), load(c->cell, program),
                         SUBMIT_OPTS(tensors, n_tensors, NULL, 0, &c->config), &c->run, &c->error) != 0)
        fail_msg("%s", c->error.msg);
}

int capture_wait(struct capture *c)
{
    const bool built_first = strcmp(capture_cells[c->cell].runtime, "host_build_graph") == 0;
    uint64_t foreseen;

    assert_int_equal(tl__run_settle(c->run, TL_FOREVER), 0);
    foreseen = c->run->end.estimated_bytes;
    c->code = tl_worker_wait(worker_of(c->cell), c->run, &c->result, &c->error);
    /* Told from the graph before its first task, by another count than the capturing one. */
    if (c->code == 0 && TASKLENS_DFX)
        assert_int_equal(foreseen, built_first ? c->result.payload_bytes : 0);
    capture_open(c);
    return c->code;
}

int capture_run(struct capture *c, const struct tl_program *program, const struct tl_host_tensor *tensors,
                uint32_t n_tensors)
{
    capture_submit(c, program, tensors, n_tensors);
    return capture_wait(c);
}

void capture_end(struct capture *c)
{
    tl__dump_close(c->dump);
    c->dump = NULL;
    (void)nftw(c->dir, remove_one, 8, FTW_PHYS | FTW_DEPTH);
}

int capture_worker(struct capture *c, unsigned sim_threads, unsigned dfx_threads, const struct tl_program *program,
                   struct tl_worker **ret_worker, struct tl_loaded **ret_loaded)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    int r;

    opts.platform = capture_cells[c->cell].platform;
    opts.transport = capture_cells[c->cell].transport;
    opts.mode = TL_DEVICE_THREAD;
    opts.memory_bytes = UINT64_C(64) << 20;
    opts.sim_threads = sim_threads;
    opts.dfx_threads = dfx_threads;
    r = tl_worker_open(&opts, ret_worker, &c->error);
    return r == 0 ? tl_worker_load_linked(*ret_worker, program, ret_loaded, &c->error) : r;
}

void capture_close(void)
{
    for (unsigned i = 0; i < CAPTURE_CELLS; i++)
        tl_worker_close(chips[i].worker);
    memset(chips, 0, sizeof(chips));
}

int capture_no_data(struct tl_data *d)
{
    (void)d;
    return 0;
}

struct tl_host_tensor capture_row(const char *name, enum tl_direction role, enum tl_dtype dtype, void *data,
                                  uint32_t count)
{
    return (struct tl_host_tensor){
        .name = name, .data = data, .shape = {count}, .dtype = (uint8_t)dtype, .rank = 1, .role = (uint8_t)role};
}

/* --- what was recorded ---------------------------------------------------------------------------------------------
 */

/* Payloads are side by side: each byte of args.bin is one payload's. */
static void check_places(const struct capture *c)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < c->count; i++) {
        const struct tl_dump_record *a = &c->records[i];

        bytes += a->bin_size;
        for (uint64_t k = 0; k < i && a->bin_size != 0; k++) {
            const struct tl_dump_record *b = &c->records[k];

            assert_true(b->bin_size == 0 || b->bin_offset + b->bin_size <= a->bin_offset ||
                        a->bin_offset + a->bin_size <= b->bin_offset);
        }
    }
    assert_int_equal(tl__dump_summary(c->dump)->bin_bytes, bytes);
    assert_int_equal(c->result.payload_bytes, bytes);
}

static void check_head(const struct capture *c)
{
    const struct tl_dump_summary *s = tl__dump_summary(c->dump);
    uint64_t stage[2] = {0}, role[3] = {0}, truncated = 0;

    for (uint64_t i = 0; i < c->count; i++) {
        stage[c->records[i].stage]++;
        role[c->records[i].role]++;
        truncated += (c->records[i].flags & TL_ARG_TRUNCATED) != 0;
        assert_false(c->records[i].flags & (TL_ARG_LOST | TL_ARG_PARTIAL | TL_ARG_OVERWRITTEN));
    }
    assert_int_equal(s->level, c->config.levels[TL_COLLECT_DUMP]);
    assert_int_equal(s->total_args, c->count);
    assert_int_equal(s->before_dispatch, stage[TL_STAGE_BEFORE]);
    assert_int_equal(s->after_completion, stage[TL_STAGE_AFTER]);
    assert_int_equal(s->input_args, role[TL_ROLE_INPUT]);
    assert_int_equal(s->output_args, role[TL_ROLE_OUTPUT]);
    assert_int_equal(s->inout_args, role[TL_ROLE_INOUT]);
    assert_int_equal(s->truncated_args, truncated);
    assert_int_equal(c->result.payloads_truncated, truncated);
    assert_int_equal(s->dropped_records, 0);
    assert_string_equal(s->run_dir, "args_dump");
}

void capture_sound(const struct capture *c)
{
    struct tl_dump_verdict verdict;
    uint64_t payloads = 0;
    char files[400];

    assert_int_equal(c->result.records_attempted, c->result.records_collected);
    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        assert_int_equal(c->result.records_dropped[i], 0);
    assert_int_equal(c->result.payloads_lost, 0);
    assert_int_equal(c->result.record_code, 0);
    assert_null(strstr(capture_files(c, files, sizeof(files)), "journal"));
    if (c->dump == NULL) {
        assert_int_equal(c->result.records_collected, 0);
        return;
    }
    assert_int_equal(c->result.records_collected, c->count);
    assert_string_equal(c->result.artifacts, c->dir);
    check_head(c);
    check_places(c);
    for (uint64_t i = 0; i < c->count; i++) {
        payloads += c->records[i].bin_size != 0;
        assert_int_equal((c->records[i].flags & TL_ARG_HAS_HASH) != 0,
                         c->records[i].bin_size != 0 && !c->config.dump_hash_off);
    }
    if (tl__dump_verify(c->dump, &verdict) != 0)
        fail_msg("%s", verdict.first_fault);
    assert_int_equal(verdict.checked, c->config.dump_hash_off ? 0 : payloads);
}

const struct tl_dump_record *capture_find(const struct capture *c, tl_task_id task, enum tl_stage stage, uint32_t arg)
{
    const struct tl_dump_record *r = NULL;

    for (uint64_t i = 0; i < c->count; i++) {
        const struct tl_dump_record *at = &c->records[i];

        if (at->task_id != task || at->stage != stage || at->arg_index != arg)
            continue;
        assert_null(r);
        r = at;
    }
    return r;
}

const struct tl_dump_record *capture_get(const struct capture *c, tl_task_id task, enum tl_stage stage, uint32_t arg)
{
    const struct tl_dump_record *r = capture_find(c, task, stage, arg);

    if (r == NULL)
        fail_msg("no record of task 0x%016llx, %s, argument %u", (unsigned long long)task, tl_stage_name(stage), arg);
    return r;
}

void capture_payload(const struct capture *c, const struct tl_dump_record *r, enum tl_role role, const void *bytes,
                     size_t size)
{
    struct tl_error err = {0};
    const void *data;

    assert_int_equal(r->kind, TL_KIND_TENSOR);
    assert_int_equal(r->role, role);
    assert_int_equal(r->bin_size, size);
    if (size == 0)
        return;
    if (tl__dump_payload(c->dump, r, &data, &err) != 0)
        fail_msg("%s", err.msg);
    assert_memory_equal(data, bytes, size);
    if (!c->config.dump_hash_off)
        assert_true(r->hash == tl__hash64(bytes, size));
}

void capture_scalar(const struct capture *c, tl_task_id task, uint32_t arg, enum tl_dtype dtype, uint64_t bits)
{
    const struct tl_dump_record *r = capture_get(c, task, TL_STAGE_BEFORE, arg);

    assert_int_equal(r->kind, TL_KIND_SCALAR);
    assert_int_equal(r->role, TL_ROLE_INPUT);
    assert_int_equal(r->rank, 0);
    assert_int_equal(r->bin_size, 0);
    assert_string_equal(tl_dtype_name(r->dtype), tl_dtype_name(dtype));
    assert_true(r->value_bits == bits);
    assert_null(capture_find(c, task, TL_STAGE_AFTER, arg));
}
