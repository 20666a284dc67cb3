/* SPDX-License-Identifier: Apache-2.0 */
/* The two parts of stress_corrupt_input: a journal that is recovered, and a run whose device memory is hit. */
#include <fcntl.h>
#include <sys/stat.h>

#include "artifact/journal_format.h"
#include "artifact/pmu.h"
#include "artifact/swimlane.h"
#include "base/hash.h"
#include "collect/engine_impl.h"
#include "graph/graph.h"
#include "stress/corrupt_input.h"
#include "support/stream_records.h"

#define HITS_MAX 6u
#define CASES 4096u
#define TENSOR_BYTES 24u

static char dir[160];

/* What an input begins with: a run with one collector, or (the last) with all of them. */
enum { BASE_DUMP, BASE_SWIMLANE, BASE_DEPS, BASE_SCOPE, BASE_PMU, BASE_ALL, BASES };

static struct tl_run_config config_of(unsigned base)
{
    struct tl_run_config c = stream_config(dir);

    c.dump_oversize_chunk = false;
    c.levels[TL_COLLECT_DUMP] = base == BASE_DUMP || base == BASE_ALL ? 2 : 0;
    c.levels[TL_COLLECT_SWIMLANE] = base == BASE_SWIMLANE || base == BASE_ALL ? 4 : 0;
    c.levels[TL_COLLECT_DEPS] = base == BASE_DEPS || base == BASE_ALL;
    c.levels[TL_COLLECT_SCOPE] = base == BASE_SCOPE || base == BASE_ALL;
    c.levels[TL_COLLECT_PMU] = base == BASE_PMU || base == BASE_ALL ? 2 : 0;
    return c;
}

static bool records(const struct tl_run_config *c, const struct stream_row *row)
{
    return tl__stream_level(c->levels, row->stream) != 0;
}

static uint64_t expected_of(const struct stream_row *row)
{
    return STREAM_RECORDS * (uint64_t)stream_roles(row);
}

static uint64_t expected_all(const struct tl_run_config *c)
{
    uint64_t n = 0;

    for (size_t i = 0; i < STREAM_ROWS; i++)
        n += records(c, &stream_rows[i]) ? expected_of(&stream_rows[i]) : 0;
    return n;
}

/* --- the records ---------------------------------------------------------------------------------------------------
 */

/* A tensor with a payload in every third place, scalars between. */
static bool is_tensor(const struct stream_row *row, uint32_t i)
{
    return row->stream == TL_STREAM_DUMP && i % 3 == 1;
}

static void put_tensor(struct tl_producer *p, uint32_t role, uint32_t i, uint8_t *payload, uint64_t offset)
{
    struct tl_wire_dump_record *w = tl__producer_record(p);

    dump_of(w, role, i);
    w->flags = TL_DUMP_CONTIGUOUS | TL_DUMP_HASHED;
    w->kind = TL_WIRE_TENSOR;
    w->role = TL_WIRE_OUTPUT;
    w->dtype = TL_UINT8;
    w->rank = 2;
    w->shape[0] = 3;
    w->shape[1] = TENSOR_BYTES / 3;
    w->strides[0] = TENSOR_BYTES / 3;
    w->strides[1] = 1;
    fake_fill(payload, w->task_id, 0, TENSOR_BYTES);
    w->payload = offset;
    w->payload_bytes = TENSOR_BYTES;
    w->hash = tl__hash64(payload, TENSOR_BYTES);
}

/* Five tasks; the last depends on all others, by more than its head has room for. */
static void put_deps(void *record, uint32_t i)
{
    static const uint8_t tasks[] = {0, 0, 1, 2, 3, 4};
    union tl_wire_deps_record *w = record;

    if (i == 1)
        w->arg = (struct tl_wire_deps_arg){.kind = TL_WIRE_DEPS_ARG,
                                           .direction = TL_IN,
                                           .tensor = {.buffer = UINT64_C(0x100000),
                                                      .buffer_bytes = 64,
                                                      .strides = {1},
                                                      .owner = TL_NO_TASK,
                                                      .shape = {16},
                                                      .dtype = TL_FLOAT32,
                                                      .rank = 1}};
    else if (i == 6)
        w->ids = (struct tl_wire_deps_ids){.kind = TL_WIRE_DEPS_IDS, .count = 2, .first = 2, .ids = {2, 3}};
    else if (i == 7)
        w->edges = (struct tl_wire_deps_edges){.kind = TL_WIRE_DEPS_EDGES,
                                               .count = 1,
                                               .first = 3,
                                               .task_id = 4,
                                               .edges = {{.pred = 3, .arg = -1, .flags = TL_EDGE_WAIT}}};
    else
        deps_of(record, 0, tasks[i]);
    w->task.n_args = i == 0 ? 1 : w->task.n_args;
    if (i != 5)
        return;
    w->task.n_deps = w->task.n_edges = 4;
    w->task.deps[1] = 1;
    for (uint32_t k = 0; k < TL_WIRE_DEPS_TASK_EDGES; k++)
        w->task.edges[k] = (struct tl_wire_deps_edge){.pred = k, .arg = -1, .flags = TL_EDGE_WAIT};
}

static void put_record(struct fake_world *w, struct tl_producer *p, const struct stream_row *row, uint32_t role,
                       uint32_t i)
{
    const uint64_t bytes = is_tensor(row, i) ? TENSOR_BYTES : 0;
    uint64_t offset;
    void *payload;

    while (tl__producer_reserve(p, bytes, &payload, &offset) == TL_EAGAIN)
        stream_wait(w, p);
    memset(tl__producer_record(p), 0, p->record_bytes);
    if (bytes != 0)
        put_tensor(p, role, i, payload, offset);
    else if (row->stream == TL_STREAM_DEPS)
        put_deps(tl__producer_record(p), i);
    else
        row->fill(tl__producer_record(p), role, i);
    tl__producer_commit(p, bytes);
}

/* One lane's records, without its end. */
static void fill_lane(struct fake_world *w, struct tl_producer *p, uint64_t dfx, uint32_t epoch,
                      const struct stream_row *row, uint32_t role)
{
    const int lane = tl__lane_find(&w->chip.mem, dfx, row->stream, role);

    corrupt_must(lane >= 0 && tl__producer_attach(p, &w->chip.mem, dfx, (uint32_t)lane, w->chip.bells) == 0,
                 "a lane cannot be attached");
    tl__producer_begin(p, epoch);
    for (uint32_t i = 0; i < STREAM_RECORDS; i++)
        put_record(w, p, row, role, i);
}

int corrupt_clean(void)
{
    char command[240];

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", corrupt_input->dir);
    return system(command);
}

static void make_dir(const char *name)
{
    (void)snprintf(dir, sizeof(dir), "%s/%s%d", corrupt_input->dir, name, (int)getpid()); /* fresh for each child */
    (void)mkdir(dir, 0777);
}

/* --- what came out -------------------------------------------------------------------------------------------------
 */

/* The subtasks' rows that are as they were recorded. */
static uint64_t good_subtasks(void)
{
    struct tl_swimlane lanes;
    struct tl_error err = {0};
    char path[240];
    uint64_t good = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_SWIMLANE_NAME);
    corrupt_must(tl__swimlane_read(path, &lanes, &err) == 0, err.msg);
    for (uint64_t k = 0; k < lanes.n_cores; k++) {
        const struct tl_swim_core *c = &lanes.cores[k];
        const uint32_t role = c->core_id % STREAM_CLUSTERS, odd = c->core_id / STREAM_CLUSTERS;
        struct tl_wire_subtask w;

        if (role >= STREAM_SCHEDULERS || odd > 1 || c->reg_task_id == 0 || c->reg_task_id > STREAM_RECORDS / 2)
            continue;
        subtask_of(&w, role, (STREAM_RECORDS / 2 - c->reg_task_id) * 2 + odd);
        /* A time that was hit may look as if a counter of 32 bits had begun again; the reader says so (`wrapped`). */
        good += c->task_id == w.task_id && c->start_cycles - w.start == c->end_cycles - w.end &&
                (c->start_cycles == w.start || (lanes.wrapped && c->start_cycles - w.start == UINT64_C(1) << 32));
    }
    tl__swimlane_fini(&lanes);
    return good;
}

static bool is_whole_tensor(const struct tl_dump_reader *reader, const struct tl_dump_record *r)
{
    uint8_t expected[TENSOR_BYTES];
    const void *data = NULL;
    struct tl_error err = {0};

    fake_fill(expected, r->task_id, 0, TENSOR_BYTES);
    return r->kind == TL_KIND_TENSOR && r->bin_size == TENSOR_BYTES && tl__dump_payload(reader, r, &data, &err) == 0 &&
           memcmp(data, expected, TENSOR_BYTES) == 0;
}

/* The same of the dump's entries. */
static uint64_t good_entries(void)
{
    struct tl_dump_reader *reader = NULL;
    struct tl_error err = {0};
    char path[240];
    uint64_t good = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_DUMP_DIR_NAME);
    corrupt_must(tl__dump_open(path, &reader, &err) == 0, err.msg);
    for (uint64_t k = 0; k < tl__dump_record_count(reader); k++) {
        const struct tl_dump_record *r = &tl__dump_records(reader)[k];

        if (r->task_id >> 32 >= STREAM_SCHEDULERS || (uint32_t)r->task_id >= STREAM_RECORDS)
            continue;
        good += is_tensor(&stream_rows[0], (uint32_t)r->task_id)
                    ? is_whole_tensor(reader, r)
                    : r->kind == TL_KIND_SCALAR && r->value_bits == (uint32_t)r->task_id;
    }
    tl__dump_close(reader);
    return good;
}

/* The same of what the cores counted. */
static uint64_t good_counts(void)
{
    struct tl_pmu pmu;
    struct tl_error err = {0};
    char path[240];
    uint64_t good = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_PMU_NAME);
    corrupt_must(tl__pmu_read(path, &pmu, &err) == 0, err.msg);
    for (uint64_t k = 0; k < pmu.n_rows; k++) {
        const struct tl_pmu_row *r = &pmu.rows[k];

        good += r->task_id < STREAM_RECORDS && r->total_cycles == 100 + r->task_id && r->event_type == 2 &&
                r->core_type == TL_AIV && r->core_id - STREAM_CLUSTERS < STREAM_SCHEDULERS &&
                pmu.counters[k * pmu.n_counters] == r->task_id;
    }
    tl__pmu_fini(&pmu);
    return good;
}

static void check_values(const struct tl_run_config *c, unsigned hits)
{
    const uint64_t all = (uint64_t)STREAM_SCHEDULERS * STREAM_RECORDS;

    if (c->levels[TL_COLLECT_SWIMLANE] != 0)
        corrupt_must(good_subtasks() + hits >= all, "subtasks that were not hit are not as they were recorded");
    if (c->levels[TL_COLLECT_DUMP] != 0)
        corrupt_must(good_entries() + hits >= all, "entries that were not hit are not as they were recorded");
    if (c->levels[TL_COLLECT_PMU] != 0)
        corrupt_must(good_counts() + hits >= all, "counts that were not hit are not as they were recorded");
}

/* --- journals ------------------------------------------------------------------------------------------------------
 */

static struct base_journal {
    uint8_t *image;
    size_t bytes;
    char dir[sizeof(dir)];
    struct tl_run_config config;
} journals[BASES], *journal;

static uint8_t copy[1 << 20]; /* of the one that is hit */
static uint8_t payloads[1 << 12];
static size_t payload_bytes;

static void bin_path(char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/" TL_DUMP_DIR_NAME "/" TL_DUMP_BIN_NAME, dir);
}

static void keep_payloads(void)
{
    char path[240];
    int fd;
    ssize_t n;

    bin_path(path, sizeof(path));
    fd = open(path, O_RDONLY);
    n = fd >= 0 ? read(fd, payloads, sizeof(payloads)) : -1;
    corrupt_must(n > 0, "no payloads to begin with");
    payload_bytes = (size_t)n;
    (void)close(fd);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    corrupt_must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n, "cannot write");
    (void)close(fd);
}

/* As the run left them: a recovery in which no record was left has removed them. */
static void put_payloads(void)
{
    char path[240];

    (void)snprintf(path, sizeof(path), "%s/" TL_DUMP_DIR_NAME, dir);
    (void)mkdir(path, 0777);
    bin_path(path, sizeof(path));
    if (access(path, F_OK) != 0)
        write_file(path, payloads, payload_bytes);
}

static void record_one(struct base_journal *j)
{
    struct fake_world w;
    char path[240];
    uint64_t dfx;
    int fd;
    struct stat st;

    fake_world_init(&w, FAKE_MAPPED, 1, (uint64_t)64 << 20);
    dfx = stream_begin(&w, &j->config);
    for (size_t i = 0; i < STREAM_ROWS; i++)
        for (uint32_t role = 0; records(&j->config, &stream_rows[i]) && role < stream_roles(&stream_rows[i]); role++) {
            struct tl_producer p = {0};

            fill_lane(&w, &p, dfx, 1, &stream_rows[i], role);
            while (tl__producer_end(&p) == TL_EAGAIN)
                stream_wait(&w, &p);
        }
    corrupt_must(tl__engine_quiesce(w.engine, 1, in_seconds(20)) == 0, "no run to begin with");
    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_JOURNAL_NAME);
    fd = open(path, O_RDONLY);
    corrupt_must(fd >= 0 && fstat(fd, &st) == 0, "no journal to begin with");
    j->bytes = (size_t)st.st_size;
    j->image = malloc(j->bytes);
    corrupt_must(j->bytes <= sizeof(copy) && read(fd, j->image, j->bytes) == (ssize_t)j->bytes,
                 "the journal cannot be read");
    (void)close(fd);
    if (j->config.levels[TL_COLLECT_DUMP] != 0)
        keep_payloads();
    tl__engine_abandon(w.engine, 1);
    fake_world_fini(&w);
}

void corrupt_journal_begin(void)
{
    for (unsigned base = 0; base < BASES && journals[base].image == NULL; base++) {
        char name[20];

        (void)snprintf(name, sizeof(name), "journal%u_", base);
        make_dir(name);
        memcpy(journals[base].dir, dir, sizeof(dir));
        journals[base].config = config_of(base);
        journals[base].config.output_prefix = journals[base].dir;
        record_one(&journals[base]);
    }
}

/* The journals stay for the next chunk. */
void corrupt_journal_end(void)
{
}

static struct tl_journal_block_header *block_at(uint8_t *image, size_t at)
{
    return (struct tl_journal_block_header *)(void *)(image + at);
}

static void seal_block(struct tl_journal_block_header *h)
{
    uint8_t *from = (uint8_t *)h + TL_JOURNAL_CHECKED_FROM;

    h->header_checksum = (uint32_t)tl__hash64(from, sizeof(*h) - TL_JOURNAL_CHECKED_FROM);
    h->checksum = tl__hash64(from, sizeof(*h) + (size_t)h->body_bytes - TL_JOURNAL_CHECKED_FROM);
}

/* Hits a block, whose header was as `was` says: one of its records, a bin offset, or (`headers`) a field of its header
 * or end mark. True: only a record was hit. */
static bool hit_block(uint64_t *random, struct tl_journal_block_header *h, const struct tl_journal_block_header *was,
                      bool headers)
{
    static const struct {
        uint8_t at, bytes;
    } fields[] = {{24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 2}, {42, 1}, {43, 1}, {44, 1}};
    const struct tl_collector_spec *spec = tl__collector_at(was->stream);
    uint8_t *body = (uint8_t *)(h + 1);
    const uint64_t r = corrupt_random(random);

    corrupt_input->hits++;
    if (spec == NULL || (headers && r % 4 != 0) || was->count == 0) {
        if (was->body_bytes == sizeof(struct tl_journal_end) && r % 2 == 0)
            corrupt_hit(random, body + (r >> 8) % 10 * 8, 8);
        else
            corrupt_hit(random, (uint8_t *)h + fields[(r >> 8) % 8].at, fields[(r >> 8) % 8].bytes);
        return false;
    }
    if (was->has_bin_offsets && r % 4 == 0) {
        corrupt_hit(random, body + (r >> 8) % was->count * 8, 8);
        return true;
    }
    corrupt_hit_record(random, spec,
                       body + (was->has_bin_offsets ? (size_t)was->count * 8 : 0) +
                           (r >> 8) % was->count * spec->record_bytes);
    return true;
}

static size_t blocks_of(uint8_t *image, size_t *ret_at)
{
    const struct tl_journal_header *header = (const void *)image;
    size_t n = 0;

    for (size_t at = header->header_bytes; at < journal->bytes && n < CASES;
         at += sizeof(struct tl_journal_block_header) + (size_t)block_at(image, at)->body_bytes)
        ret_at[n++] = at;
    return n;
}

static void write_journal(void)
{
    char path[240];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_JOURNAL_NAME);
    write_file(path, copy, journal->bytes);
    if (journal->config.levels[TL_COLLECT_DUMP] != 0)
        put_payloads();
}

/* One input in four has all collectors. */
static unsigned base_of(uint64_t *random)
{
    const uint64_t r = corrupt_random(random);

    return r % 4 == 0 ? BASE_ALL : (unsigned)((r >> 8) % BASE_ALL);
}

void corrupt_journal(uint64_t input)
{
    static size_t at[CASES];
    uint64_t random = corrupt_input->seed * UINT64_C(1000003) + input;
    const unsigned hits = 1 + (unsigned)(corrupt_random(&random) % HITS_MAX);
    const unsigned what = (unsigned)(corrupt_random(&random) % 8); /* 0: the header, 1: block headers, else records */
    struct tl_recover_result result;
    struct tl_error err = {0};
    bool only_records = what > 1;
    size_t n;
    int code;

    journal = &journals[base_of(&random)];
    memcpy(dir, journal->dir, sizeof(dir));
    memcpy(copy, journal->image, journal->bytes);
    n = blocks_of(copy, at);
    for (unsigned i = 0; i < hits; i++) {
        struct tl_journal_header *header = (void *)copy;
        const uint64_t r = corrupt_random(&random);

        if (what == 0) {
            const unsigned bytes = 1u << r % 4;

            corrupt_hit(&random, (uint8_t *)&header->run + (r >> 8) % (sizeof(header->run) / bytes) * bytes, bytes);
            header->checksum = tl__hash64(&header->run, sizeof(header->run));
            corrupt_input->hits++;
        } else {
            struct tl_journal_block_header *h = block_at(copy, at[r % n]);
            const struct tl_journal_block_header *was = block_at(journal->image, at[r % n]);

            only_records &= hit_block(&random, h, was, what == 1);
            h->body_bytes = was->body_bytes;
            seal_block(h);
        }
    }
    write_journal();
    code = tl__engine_recover(dir, NULL, &result, &err);
    corrupt_must(code <= 0 && (code == 0 || err.msg[0] != '\0'), "no reason for a refusal");
    corrupt_input->refused += code != 0;
    if (code != 0)
        return;
    corrupt_input->corrupt += result.records_corrupt;
    corrupt_input->kept += result.records;
    if (!only_records)
        return;
    corrupt_must(result.records_corrupt <= hits, "more records are left out than were hit");
    corrupt_must(result.records + result.records_corrupt == expected_all(&journal->config), "records are missing");
    if (input % 8 == 0)
        check_values(&journal->config, hits);
}

/* --- device memory -------------------------------------------------------------------------------------------------
 */

static struct {
    struct fake_world w;
    uint32_t epoch;
} memory;

void corrupt_memory_begin(void)
{
    make_dir("memory");
    fake_world_init(&memory.w, FAKE_MAPPED, 1, (uint64_t)64 << 20);
    memory.epoch = 0;
}

struct lane_at {
    struct tl_producer p;
    const struct stream_row *row;
};

/* `where`: 0 lanes' words and queues, 1 buffers' headers, else records. */
static void hit_lane(uint64_t *random, struct lane_at *l, unsigned where)
{
    const uint64_t r = corrupt_random(random);

    corrupt_input->hits++;
    if (where == 0 && r % 3 == 0)
        corrupt_hit(random, l->p.ready + (r >> 8) % l->p.lane->ready_depth, 8);
    else if (where == 0)
        corrupt_hit(random, (uint8_t *)l->p.lane + 192 + (r >> 8) % 24 * 8, 8);
    else if (where == 1)
        corrupt_hit(random, (uint8_t *)l->p.buffer + (r >> 8) % 32 * 4, 4);
    else
        corrupt_hit_record(random, tl__collector_at(l->row->stream),
                           (uint8_t *)(l->p.buffer + 1) + (r >> 8) % STREAM_RECORDS * l->p.record_bytes);
}

static void end_run(const struct tl_run_config *c, bool only_records, unsigned hits)
{
    uint64_t expected[TL_STREAM_COUNT];
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    uint64_t dropped = 0;
    int code = tl__engine_quiesce(memory.w.engine, memory.epoch,
                                  tl__now_ns() + (only_records ? UINT64_C(15000000000) : UINT64_C(3000000)));

    corrupt_must(!only_records || code == 0, "the run does not end");
    if (code != 0)
        (void)tl__engine_reconcile(memory.w.engine, memory.epoch, &err);
    for (size_t i = 0; i < STREAM_ROWS; i++)
        expected[stream_rows[i].stream] = records(c, &stream_rows[i]) ? expected_of(&stream_rows[i]) : 0;
    code = tl__engine_export(memory.w.engine, memory.epoch, expected, &result, &err);
    corrupt_must(code <= 0 && (code == 0 || err.msg[0] != '\0'), "no reason for a failure");
    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        dropped += result.records_dropped[i];
    corrupt_input->corrupt += result.records_dropped[TL_LOSS_CORRUPT];
    corrupt_input->kept += result.records_collected;
    corrupt_input->refused += code == TL_ECORRUPT;
    if (!only_records)
        return;
    corrupt_must(dropped <= hits, err.msg);
    corrupt_must(result.records_collected + dropped == expected_all(c), "records are missing");
    if (memory.epoch % 8 == 0)
        check_values(c, hits);
}

void corrupt_memory_end(void)
{
    fake_world_fini(&memory.w);
}

/* Words that live on in a lane, and are found later. */
static void start_anew(void)
{
    corrupt_memory_end();
    fake_world_init(&memory.w, FAKE_MAPPED, 1, (uint64_t)64 << 20);
    memory.epoch = 0;
}

void corrupt_memory(uint64_t input)
{
    static struct lane_at lanes[STREAM_ROWS * STREAM_SCHEDULERS];
    uint64_t random = corrupt_input->seed * UINT64_C(1000003) + input, dfx = 0;
    const unsigned hits = 1 + (unsigned)(corrupt_random(&random) % HITS_MAX);
    const unsigned where = (unsigned)(corrupt_random(&random) % 8);
    struct tl_run_config c = config_of(base_of(&random));
    struct tl_engine_run run;
    struct tl_error err = {0};
    size_t n = 0;

    c.dfx_records = STREAM_RECORDS + 6; /* all of a lane in a buffer that is not published yet */
    run = stream_run(&c);
    run.epoch = ++memory.epoch;
    corrupt_must(tl__engine_begin(memory.w.engine, &run, &dfx, &err) == 0, err.msg);
    for (size_t i = 0; i < STREAM_ROWS; i++)
        for (uint32_t role = 0; records(&c, &stream_rows[i]) && role < stream_roles(&stream_rows[i]); role++, n++) {
            lanes[n].row = &stream_rows[i];
            fill_lane(&memory.w, &lanes[n].p, dfx, memory.epoch, &stream_rows[i], role);
        }
    for (unsigned i = 0; i < hits; i++)
        hit_lane(&random, &lanes[corrupt_random(&random) % n], where);
    for (size_t i = 0; i < n; i++)
        (void)tl__producer_end(&lanes[i].p); /* one that must wait has been hit, and is left where it is */
    end_run(&c, where > 1, hits);
    if (where <= 1)
        start_anew();
}
