/* SPDX-License-Identifier: Apache-2.0 */
/* The two parts of stress_strangers: a journal that is recovered, and a run whose device memory is hit. */
#include <fcntl.h>
#include <sys/stat.h>

#include "artifact/journal_format.h"
#include "artifact/swimlane.h"
#include "base/hash.h"
#include "collect/engine_impl.h"
#include "stress/strangers.h"
#include "support/stream_records.h"

#define HITS_MAX 6u
#define CASES 4096u

static char dir[128];

static uint64_t expected_of(const struct stream_row *row)
{
    return STREAM_RECORDS * (uint64_t)stream_roles(row);
}

static uint64_t expected_all(void)
{
    uint64_t n = 0;

    for (size_t i = 0; i < STREAM_ROWS; i++)
        n += expected_of(&stream_rows[i]);
    return n;
}

int strangers_clean(void)
{
    char command[200];

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", strangers->dir);
    return system(command);
}

static void make_dir(const char *name)
{
    (void)snprintf(dir, sizeof(dir), "%s/%s%d", strangers->dir, name, (int)getpid()); /* fresh for each child */
    (void)mkdir(dir, 0777);
}

/* --- what came out -------------------------------------------------------------------------------------------------
 */

/* The parts' rows that are as they were recorded. */
static uint64_t good_parts(void)
{
    struct tl_swimlane lanes;
    struct tl_error err = {0};
    char path[200];
    uint64_t good = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_SWIMLANE_NAME);
    strangers_must(tl__swimlane_read(path, &lanes, &err) == 0, err.msg);
    for (uint64_t k = 0; k < lanes.n_cores; k++) {
        const struct tl_swim_core *c = &lanes.cores[k];
        const uint32_t role = c->core_id % STREAM_CLUSTERS, odd = c->core_id / STREAM_CLUSTERS;
        struct tl_wire_part w;

        if (role >= STREAM_SCHEDULERS || odd > 1 || c->reg_task_id == 0 || c->reg_task_id > STREAM_RECORDS / 2)
            continue;
        part_of(&w, role, (STREAM_RECORDS / 2 - c->reg_task_id) * 2 + odd);
        good += c->task_id == w.task_id && c->start_cycles == w.start && c->end_cycles == w.end;
    }
    tl__swimlane_fini(&lanes);
    return good;
}

/* The same of the dump's entries. */
static uint64_t good_entries(void)
{
    struct tl_dump_reader *reader = NULL;
    struct tl_error err = {0};
    char path[200];
    uint64_t good = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_DUMP_DIR_NAME);
    strangers_must(tl__dump_open(path, &reader, &err) == 0, err.msg);
    for (uint64_t k = 0; k < tl__dump_record_count(reader); k++) {
        const struct tl_dump_record *r = &tl__dump_records(reader)[k];

        good += r->kind == TL_KIND_SCALAR && r->task_id >> 32 < STREAM_SCHEDULERS &&
                r->value_bits == (uint32_t)r->task_id && r->value_bits < STREAM_RECORDS;
    }
    tl__dump_close(reader);
    return good;
}

static void check_values(unsigned hits)
{
    const uint64_t all = (uint64_t)STREAM_SCHEDULERS * STREAM_RECORDS;

    strangers_must(good_parts() + hits >= all, "parts that were not hit are not as they were recorded");
    strangers_must(good_entries() + hits >= all, "entries that were not hit are not as they were recorded");
}

/* --- journals ------------------------------------------------------------------------------------------------------
 */

static struct {
    uint8_t *image, *copy;
    size_t bytes;
} journal;

static void record_one(void)
{
    struct tl_run_config c = stream_config(dir);
    struct fake_world w;
    char path[200];
    int fd;
    struct stat st;

    c.dfx_records = 16;
    c.dump_oversize_chunk = false;
    fake_world_init(&w, FAKE_MAPPED, 1, (uint64_t)64 << 20);
    stream_push_all(&w, stream_begin(&w, &c), true);
    (void)tl__engine_quiesce(w.engine, 1, in_seconds(20));
    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_JOURNAL_NAME);
    fd = open(path, O_RDONLY);
    strangers_must(fd >= 0 && fstat(fd, &st) == 0, "no journal to begin with");
    journal.bytes = (size_t)st.st_size;
    journal.image = malloc(journal.bytes);
    journal.copy = malloc(journal.bytes);
    strangers_must(read(fd, journal.image, journal.bytes) == (ssize_t)journal.bytes, "the journal cannot be read");
    (void)close(fd);
    tl__engine_abandon(w.engine, 1);
    fake_world_fini(&w);
}

void strangers_journal_begin(void)
{
    make_dir("journal");
    record_one();
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

/* Hits the n-th block: one of its records, a bin offset, or (`headers`) a field of its header or end mark. True: only a
 * record was hit. */
static bool hit_block(uint64_t *random, struct tl_journal_block_header *h, bool headers)
{
    static const struct {
        uint8_t at, bytes;
    } fields[] = {{24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 2}, {42, 1}, {43, 1}, {44, 1}};
    const struct tl_collector_spec *spec = tl__collector_at(h->stream);
    uint8_t *body = (uint8_t *)(h + 1);
    const uint64_t r = strangers_random(random);

    strangers->hits++;
    if (spec == NULL || (headers && r % 4 != 0) || h->count == 0 || h->count > STREAM_RECORDS) {
        if (h->body_bytes == sizeof(struct tl_journal_end) && r % 2 == 0)
            strangers_hit(random, body + (r >> 8) % 10 * 8, 8);
        else
            strangers_hit(random, (uint8_t *)h + fields[(r >> 8) % 8].at, fields[(r >> 8) % 8].bytes);
        return false;
    }
    if (h->has_bin_offsets && r % 4 == 0) {
        strangers_hit(random, body + (r >> 8) % h->count * 8, 8);
        return true;
    }
    strangers_hit_record(random, spec,
                         body + (h->has_bin_offsets ? (size_t)h->count * 8 : 0) +
                             (r >> 8) % h->count * spec->record_bytes);
    return true;
}

static size_t blocks_of(uint8_t *image, size_t *ret_at)
{
    const struct tl_journal_header *header = (const void *)image;
    size_t n = 0;

    for (size_t at = header->header_bytes; at < journal.bytes && n < CASES;
         at += sizeof(struct tl_journal_block_header) + (size_t)block_at(image, at)->body_bytes)
        ret_at[n++] = at;
    return n;
}

static void write_journal(void)
{
    char path[200];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, TL_JOURNAL_NAME);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    strangers_must(fd >= 0 && write(fd, journal.copy, journal.bytes) == (ssize_t)journal.bytes, "cannot write");
    (void)close(fd);
}

void strangers_journal(uint64_t input)
{
    static size_t at[CASES];
    uint64_t random = strangers->seed * UINT64_C(1000003) + input;
    const unsigned hits = 1 + (unsigned)(strangers_random(&random) % HITS_MAX);
    const unsigned what = (unsigned)(strangers_random(&random) % 8); /* 0: the header, 1: block headers, else records */
    struct tl_recover_result result;
    struct tl_error err = {0};
    bool only_records = what > 1;
    size_t n;
    int code;

    memcpy(journal.copy, journal.image, journal.bytes);
    n = blocks_of(journal.copy, at);
    for (unsigned i = 0; i < hits; i++) {
        struct tl_journal_header *header = (void *)journal.copy;
        const uint64_t r = strangers_random(&random);

        if (what == 0) {
            const unsigned bytes = 1u << r % 4;

            strangers_hit(&random, (uint8_t *)&header->run + (r >> 8) % (sizeof(header->run) / bytes) * bytes, bytes);
            header->checksum = tl__hash64(&header->run, sizeof(header->run));
            strangers->hits++;
        } else {
            struct tl_journal_block_header *h = block_at(journal.copy, at[r % n]);
            const uint64_t body = h->body_bytes;

            only_records &= hit_block(&random, h, what == 1);
            h->body_bytes = body;
            seal_block(h);
        }
    }
    write_journal();
    code = tl__engine_recover(dir, NULL, &result, &err);
    strangers_must(code <= 0 && (code == 0 || err.msg[0] != '\0'), "no reason for a refusal");
    strangers->refused += code != 0;
    if (code != 0)
        return;
    strangers->corrupt += result.records_corrupt;
    strangers->kept += result.records;
    if (!only_records)
        return;
    strangers_must(result.records_corrupt <= hits, "more records are left out than were hit");
    strangers_must(result.records + result.records_corrupt == expected_all(), "records are missing");
    if (input % 8 == 0)
        check_values(hits);
}

/* --- device memory -------------------------------------------------------------------------------------------------
 */

static struct {
    struct fake_world w;
    uint32_t epoch;
    bool open;
} memory;

void strangers_memory_begin(void)
{
    make_dir("memory");
    fake_world_init(&memory.w, FAKE_MAPPED, 1, (uint64_t)64 << 20);
    memory.epoch = 0;
}

/* One lane's records, all in one buffer that is not published yet. */
static void fill_lane(struct tl_producer *p, uint64_t dfx, const struct stream_row *row, uint32_t role)
{
    const int lane = tl__lane_find(&memory.w.chip.mem, dfx, row->stream, role);

    strangers_must(lane >= 0 &&
                       tl__producer_attach(p, &memory.w.chip.mem, dfx, (uint32_t)lane, memory.w.chip.bells) == 0,
                   "a lane cannot be attached");
    tl__producer_begin(p, memory.epoch);
    for (uint32_t i = 0; i < STREAM_RECORDS; i++) {
        uint64_t offset;
        void *payload;

        while (tl__producer_reserve(p, 0, &payload, &offset) == TL_EAGAIN)
            stream_wait(&memory.w, p);
        memset(tl__producer_record(p), 0, p->record_bytes);
        row->fill(tl__producer_record(p), role, i);
        tl__producer_commit(p, 0);
    }
}

struct lane_at {
    struct tl_producer p;
    const struct stream_row *row;
};

/* `where`: 0 lanes' words and queues, 1 buffers' headers, else records. */
static void hit_lane(uint64_t *random, struct lane_at *l, unsigned where)
{
    const uint64_t r = strangers_random(random);

    strangers->hits++;
    if (where == 0 && r % 3 == 0)
        strangers_hit(random, l->p.ready + (r >> 8) % l->p.lane->ready_depth, 8);
    else if (where == 0)
        strangers_hit(random, (uint8_t *)l->p.lane + 192 + (r >> 8) % 24 * 8, 8);
    else if (where == 1)
        strangers_hit(random, (uint8_t *)l->p.buffer + (r >> 8) % 32 * 4, 4);
    else
        strangers_hit_record(random, tl__collector_at(l->row->stream),
                             (uint8_t *)(l->p.buffer + 1) + (r >> 8) % STREAM_RECORDS * l->p.record_bytes);
}

static void end_run(bool only_records, unsigned hits)
{
    uint64_t expected[TL_STREAM_COUNT];
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    uint64_t dropped = 0;
    int code = tl__engine_quiesce(memory.w.engine, memory.epoch,
                                  tl__now_ns() + (only_records ? UINT64_C(15000000000) : UINT64_C(3000000)));

    strangers_must(!only_records || code == 0, "the run does not end");
    if (code != 0)
        (void)tl__engine_reconcile(memory.w.engine, memory.epoch, &err);
    for (size_t i = 0; i < STREAM_ROWS; i++)
        expected[stream_rows[i].stream] = expected_of(&stream_rows[i]);
    code = tl__engine_export(memory.w.engine, memory.epoch, expected, &result, &err);
    strangers_must(code <= 0 && (code == 0 || err.msg[0] != '\0'), "no reason for a failure");
    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        dropped += result.records_dropped[i];
    strangers->corrupt += result.records_dropped[TL_LOSS_CORRUPT];
    strangers->kept += result.records_collected;
    strangers->refused += code == TL_ECORRUPT;
    if (!only_records)
        return;
    strangers_must(dropped <= hits, err.msg);
    strangers_must(result.records_collected + dropped == expected_all(), "records are missing");
    if (memory.epoch % 8 == 0)
        check_values(hits);
}

/* Words that live on in a lane, and are found later. */
static void start_anew(void)
{
    fake_world_fini(&memory.w);
    fake_world_init(&memory.w, FAKE_MAPPED, 1, (uint64_t)64 << 20);
    memory.epoch = 0;
}

void strangers_memory(uint64_t input)
{
    static struct lane_at lanes[STREAM_ROWS * STREAM_SCHEDULERS];
    uint64_t random = strangers->seed * UINT64_C(1000003) + input, dfx = 0;
    const unsigned hits = 1 + (unsigned)(strangers_random(&random) % HITS_MAX);
    const unsigned where = (unsigned)(strangers_random(&random) % 8);
    struct tl_run_config c = stream_config(dir);
    struct tl_engine_run run;
    struct tl_error err = {0};
    size_t n = 0;

    c.dfx_records = STREAM_RECORDS + 6;
    c.dump_oversize_chunk = false;
    run = stream_run(&c);
    run.epoch = ++memory.epoch;
    strangers_must(tl__engine_begin(memory.w.engine, &run, &dfx, &err) == 0, err.msg);
    for (size_t i = 0; i < STREAM_ROWS; i++)
        for (uint32_t role = 0; role < stream_roles(&stream_rows[i]); role++, n++) {
            lanes[n].row = &stream_rows[i];
            fill_lane(&lanes[n].p, dfx, &stream_rows[i], role);
        }
    for (unsigned i = 0; i < hits; i++)
        hit_lane(&random, &lanes[strangers_random(&random) % n], where);
    for (size_t i = 0; i < n; i++)
        (void)tl__producer_end(&lanes[i].p); /* one that must wait has been hit, and is left where it is */
    end_run(where > 1, hits);
    if (where <= 1)
        start_anew();
}
