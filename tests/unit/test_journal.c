/* SPDX-License-Identifier: Apache-2.0 */
/* What is appended comes back; a torn tail, damage and duplicates are found and counted. */
#include "unit/artifact_fixture.h"

#include <signal.h>
#include <sys/resource.h>

#include "artifact/journal_format.h"
#include "base/hash.h"

#define RECORD_BYTES 20 /* not a multiple of 8: the body is padded */

static struct tl_journal_run test_run(void)
{
    struct tl_journal_run run = {
        .program = "vector_add",
        .case_name = "small",
        .platform = "a2a3sim",
        .runtime = "tensormap_and_ringbuffer",
        .start_unix_ns = 123456789,
        .clock_freq_hz = 50000000,
        .arena_bytes = 1 << 27,
        .epoch = 3,
        .levels = {[TL_COLLECT_DUMP] = 2},
        .flags = TL_JOURNAL_HASHES,
        .stream_count = 2,
        .records_per_buffer = 256,
        .lane_count = 4,
        .streams = {{"args_dump", RECORD_BYTES, 1}, {"pmu", 8, 5}},
    };

    return run;
}

static uint8_t records[64 * RECORD_BYTES];
static uint64_t offsets[64];

static struct tl_journal_block test_block(uint16_t lane, uint32_t seq, uint32_t count)
{
    struct tl_journal_block b = {
        .kind = TL_JOURNAL_RECORDS,
        .stream = 0,
        .lane = lane,
        .seq = seq,
        .epoch = 3,
        .count = count,
        .bin_offsets = offsets,
        .records = records,
    };

    for (unsigned i = 0; i < sizeof(records); i++)
        records[i] = (uint8_t)(i * 7 + seq);
    for (unsigned i = 0; i < 64; i++)
        offsets[i] = i % 3 == 0 ? TL_JOURNAL_NO_BIN : i * 1000 + seq;
    return b;
}

static struct tl_journal_writer *create(void)
{
    struct tl_journal_run run = test_run();
    struct tl_journal_writer *w = NULL;
    struct tl_error err = {0};

    assert_int_equal(tl__journal_create(fixture_dir, &run, &w, &err), 0);
    return w;
}

/* A journal of three blocks and an end mark: its bytes and where each block starts. */
static char *write_four(size_t *ret_size, uint64_t starts[5])
{
    struct tl_journal_writer *w = create();
    struct tl_journal_block b;

    for (uint32_t i = 0; i < 3; i++) {
        starts[i] = tl__journal_bytes(w);
        b = test_block(1, i, 5 + i);
        assert_int_equal(tl__journal_append(w, &b), 0);
    }
    starts[3] = tl__journal_bytes(w);
    b = (struct tl_journal_block){
        .kind = TL_JOURNAL_END, .lane = 1, .seq = 3, .epoch = 3, .attempted = 20, .parked_ns = 7};
    b.losses[2] = 2;
    assert_int_equal(tl__journal_append(w, &b), 0);
    starts[4] = tl__journal_bytes(w);
    tl__journal_close(w, false);
    return fixture_read(TL_JOURNAL_NAME, ret_size);
}

static void what_went_in_comes_out(void **state)
{
    struct tl_journal_writer *w = create();
    struct tl_journal_run run = test_run();
    struct tl_journal_reader *r = NULL;
    struct tl_journal_block b, got;
    struct tl_error err = {0};
    uint8_t small[24] = "abcdefghijklmnopqrstuvw";

    (void)state;
    assert_int_equal(tl__journal_create(fixture_dir, &run, &(struct tl_journal_writer *){NULL}, &err), TL_EEXIST);
    for (uint32_t i = 0; i < 300; i++) {
        b = test_block((uint16_t)(i % 4), i / 4, i % 65);
        assert_int_equal(tl__journal_append(w, &b), 0);
    }
    b = (struct tl_journal_block){.kind = TL_JOURNAL_RECORDS, .stream = 1, .epoch = 3, .count = 3, .records = small};
    assert_int_equal(tl__journal_append(w, &b), 0);
    b = (struct tl_journal_block){
        .kind = TL_JOURNAL_END, .stream = 1, .seq = 9, .epoch = 3, .attempted = 11, .parked_ns = 5};
    b.losses[TL_JOURNAL_MAX_LOSSES - 1] = 8;
    assert_int_equal(tl__journal_append(w, &b), 0);
    tl__journal_close(w, false);

    assert_int_equal(tl__journal_open(fixture_path(TL_JOURNAL_NAME), &r, &err), 0);
    assert_memory_equal(tl__journal_run(r), &run, sizeof(run));
    for (uint32_t i = 0; i < 300; i++) {
        b = test_block((uint16_t)(i % 4), i / 4, i % 65);
        assert_int_equal(tl__journal_next(r, &got), 1);
        assert_int_equal(got.kind, TL_JOURNAL_RECORDS);
        assert_int_equal(got.lane, b.lane);
        assert_int_equal(got.seq, b.seq);
        assert_int_equal(got.epoch, 3);
        assert_int_equal(got.count, b.count);
        assert_memory_equal(got.records, b.records, b.count * RECORD_BYTES);
        assert_memory_equal(got.bin_offsets, b.bin_offsets, b.count * sizeof(uint64_t));
    }
    assert_int_equal(tl__journal_next(r, &got), 1);
    assert_null(got.bin_offsets);
    assert_int_equal(got.stream, 1);
    assert_memory_equal(got.records, small, 24);
    assert_int_equal(tl__journal_next(r, &got), 1);
    assert_int_equal(got.kind, TL_JOURNAL_END);
    assert_int_equal(got.attempted, 11);
    assert_int_equal(got.parked_ns, 5);
    assert_int_equal(got.losses[TL_JOURNAL_MAX_LOSSES - 1], 8);
    assert_int_equal(tl__journal_next(r, &got), 0);
    assert_int_equal(tl__journal_next(r, &got), 0);
    assert_int_equal(tl__journal_report(r)->blocks, 302);
    assert_int_equal(tl__journal_report(r)->bytes_dropped, 0);
    assert_string_equal(tl__journal_report(r)->reason, "");
    tl__journal_reader_close(r);
}

static void duplicates_are_dropped(void **state)
{
    struct tl_journal_writer *w = create();
    struct tl_journal_reader *r = NULL;
    struct tl_journal_block b, got;
    struct tl_error err = {0};
    unsigned blocks = 0;

    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        b = test_block((uint16_t)(i % 2), i % 500, 1); /* (lane, seq) comes four times */
        b.epoch = 3 + i / 1000;                        /* of which two are another epoch's */
        assert_int_equal(tl__journal_append(w, &b), 0);
    }
    b = (struct tl_journal_block){.kind = TL_JOURNAL_END, .lane = 1, .seq = 1, .epoch = 3}; /* another kind */
    assert_int_equal(tl__journal_append(w, &b), 0);
    tl__journal_close(w, false);
    assert_int_equal(tl__journal_open(fixture_path(TL_JOURNAL_NAME), &r, &err), 0);
    while (tl__journal_next(r, &got) == 1)
        blocks++;
    assert_int_equal(blocks, 1001);
    assert_int_equal(tl__journal_report(r)->duplicates, 1000);
    assert_false(tl__journal_report(r)->corrupt);
    tl__journal_reader_close(r);
}

/* Blocks that can be read of an image, and how the reading ended. */
static unsigned count_blocks(const char *bytes, size_t size, struct tl_journal_report *ret_report)
{
    struct tl_journal_reader *r = NULL;
    struct tl_journal_block got;
    struct tl_error err = {0};
    unsigned blocks = 0;

    assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), 0);
    while (tl__journal_next(r, &got) == 1)
        blocks++;
    *ret_report = *tl__journal_report(r);
    tl__journal_reader_close(r);
    return blocks;
}

static void a_torn_tail_costs_only_itself(void **state)
{
    struct tl_journal_report report;
    uint64_t starts[5];
    size_t size;
    char *bytes = write_four(&size, starts);

    (void)state;
    assert_int_equal(size, starts[4]);
    for (size_t cut = sizeof(struct tl_journal_header); cut <= size; cut++) {
        unsigned whole = 0;

        while (whole < 4 && starts[whole + 1] <= cut)
            whole++;
        assert_int_equal(count_blocks(bytes, cut, &report), whole);
        assert_int_equal(report.bytes_good, starts[whole]);
        assert_int_equal(report.bytes_dropped, cut - starts[whole]);
        assert_int_equal(report.torn, cut != starts[whole]);
        assert_false(report.corrupt);
    }
    /* A tail of zeros is no torn one: a lost power leaves it, and takes what had been written. */
    memset(bytes + starts[2], 0, size - starts[2]);
    assert_int_equal(count_blocks(bytes, size, &report), 2);
    assert_true(report.corrupt);
    assert_false(report.torn);
    assert_int_equal(report.bytes_dropped, size - starts[2]);
    free(bytes);
}

/* A changed byte costs the block that it is in, which is named by its number, and no other. */
static void any_changed_byte_costs_its_block_alone(void **state)
{
    struct tl_journal_report report;
    uint64_t starts[5];
    size_t size;
    char *bytes = write_four(&size, starts);
    bool header;

    (void)state;
    for (size_t i = starts[1]; i < starts[2]; i++) {
        bytes[i] ^= 0x10;
        assert_int_equal(count_blocks(bytes, size, &report), 3);
        assert_true(report.corrupt);
        assert_false(report.torn);
        assert_int_equal(report.bytes_dropped, starts[2] - starts[1]);
        assert_int_equal(report.bytes_good, size - (starts[2] - starts[1]));
        assert_int_equal(report.places, 1);
        assert_int_equal(report.blocks_lost, 1);
        header = i - starts[1] < 8 || (i - starts[1] >= 16 && i - starts[1] < sizeof(struct tl_journal_block_header));
        assert_int_equal(report.records_lost, header ? 0 : 6); /* the checksum of the whole is not the header's */
        assert_true(strlen(report.reason) > 10);
        bytes[i] ^= 0x10;
    }
    assert_int_equal(count_blocks(bytes, size, &report), 4);
    free(bytes);
}

/* Where bytes are gone or were put in, what follows is not aligned, and is still read. */
static void moved_blocks_are_found(void **state)
{
    struct tl_journal_report report;
    uint64_t starts[5];
    size_t size;
    char *bytes = write_four(&size, starts), *image = malloc(size + 64);

    (void)state;
    assert_non_null(image);
    for (size_t n = 1; n < 40; n++) { /* put in, between two blocks */
        memcpy(image, bytes, starts[2]);
        memset(image + starts[2], (int)n, n);
        memcpy(image + starts[2] + n, bytes + starts[2], size - starts[2]);
        assert_int_equal(count_blocks(image, size + n, &report), 4);
        assert_int_equal(report.bytes_dropped, n);
        assert_true(report.corrupt);
        assert_int_equal(report.blocks_lost, 0);
    }
    for (size_t n = 1; n < 40; n++) { /* taken out of a block, behind its header */
        memcpy(image, bytes, starts[1] + 60);
        memcpy(image + starts[1] + 60, bytes + starts[1] + 60 + n, size - starts[1] - 60 - n);
        assert_int_equal(count_blocks(image, size - n, &report), 3);
        assert_int_equal(report.bytes_dropped, starts[2] - starts[1] - n);
        assert_int_equal(report.blocks_lost, 1);
        assert_int_equal(report.records_lost, 6);
    }
    /* A whole block is gone, and no byte looks wrong: its number is missing. */
    memcpy(image, bytes, starts[1]);
    memcpy(image + starts[1], bytes + starts[2], size - starts[2]);
    assert_int_equal(count_blocks(image, size - (starts[2] - starts[1]), &report), 3);
    assert_false(report.corrupt);
    assert_int_equal(report.blocks_lost, 1);
    free(image);
    free(bytes);
}

#define MANY 110

/* A journal of 110 blocks; starts[i] is where block i is, starts[MANY] the end. */
static char *write_many(size_t *ret_size, uint64_t starts[MANY + 1])
{
    struct tl_journal_writer *w = create();

    for (uint32_t i = 0; i < MANY; i++) {
        struct tl_journal_block b = test_block((uint16_t)(i % 4), i, 1 + i % 64);

        starts[i] = tl__journal_bytes(w);
        assert_int_equal(tl__journal_append(w, &b), 0);
    }
    starts[MANY] = tl__journal_bytes(w);
    tl__journal_close(w, false);
    return fixture_read(TL_JOURNAL_NAME, ret_size);
}

/* Damages [from, to) of the image, or puts bytes in at `from`; the image's new size. */
static size_t damage(char *image, size_t size, unsigned how, size_t from, size_t to)
{
    switch (how) {
    case 0: /* a bit */
        image[from] ^= 4;
        return size;
    case 1:
        memset(image + from, 0, to - from);
        return size;
    case 2: /* cut out */
        memmove(image + from, image + to, size - to);
        return size - (to - from);
    case 3: /* put in */
        memmove(image + to, image + from, size - from);
        memset(image + from, 0x4a, to - from);
        return size + (to - from);
    default: /* what is before it, over it: pieces of other blocks, too */
        memmove(image + from, image + from / 2, to - from);
        return size;
    }
}

/* Whatever is done to a stretch of bytes: each block that it does not touch is handed out as it was. */
static void untouched_blocks_are_all_read(void **state)
{
    uint64_t starts[MANY + 1], seed = 12345;
    size_t size;
    char *bytes = write_many(&size, starts), *image = malloc(2 * size);

    (void)state;
    assert_non_null(image);
    for (unsigned i = 0; i < 3000; i++) {
        struct tl_journal_reader *r = NULL;
        struct tl_journal_block got;
        struct tl_error err = {0};
        bool seen[MANY] = {false};
        const unsigned how = i % 5;
        size_t from, to, damaged;

        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        from = sizeof(struct tl_journal_header) + (size_t)((seed >> 33) % (size - sizeof(struct tl_journal_header)));
        to = from + 1 + (how == 0 ? 0 : (size_t)(seed >> 20 & 0x1fff));
        if (to > size)
            to = size;
        memcpy(image, bytes, size);
        damaged = damage(image, size, how, from, to);
        assert_int_equal(tl__journal_open_memory(image, damaged, "image", &r, &err), 0);
        while (tl__journal_next(r, &got) == 1) {
            const struct tl_journal_block b = test_block(got.lane, got.seq, got.count);

            assert_true(got.seq < MANY && !seen[got.seq] && got.count == 1 + got.seq % 64);
            assert_memory_equal(got.records, b.records, got.count * RECORD_BYTES);
            seen[got.seq] = true;
        }
        if (how == 3) /* between two bytes: it may be within a block, or within none */
            to = from;
        for (unsigned k = 0; k < MANY; k++)
            if (!seen[k] && (starts[k + 1] <= from || starts[k] >= to))
                fail_msg("seed %u, damage %u at %zu to %zu: block %u is not read", i, how, from, to, k);
        assert_int_equal(tl__journal_report(r)->bytes_good + tl__journal_report(r)->bytes_dropped, damaged);
        tl__journal_reader_close(r);
    }
    free(image);
    free(bytes);
}

/* The first block holds a copy of the header. */
static void a_damaged_header_is_made_good(void **state)
{
    struct tl_journal_writer *w = create();
    struct tl_journal_block b = test_block(0, 0, 3), got;
    struct tl_journal_run run = test_run();
    struct tl_journal_reader *r = NULL;
    struct tl_error err = {0};
    size_t size;
    char *bytes;

    (void)state;
    assert_int_equal(tl__journal_begun(w), 0);
    assert_int_equal(tl__journal_append(w, &b), 0);
    tl__journal_close(w, false);
    bytes = fixture_read(TL_JOURNAL_NAME, &size);
    for (size_t i = 0; i < sizeof(struct tl_journal_header); i++) {
        if (i >= 8 && i < 12) /* the writer's version is for people */
            continue;
        bytes[i] ^= 0x40;
        assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), 0);
        assert_memory_equal(tl__journal_run(r), &run, sizeof(run));
        assert_int_equal(tl__journal_next(r, &got), 1);
        assert_int_equal(got.count, 3);
        assert_memory_equal(got.records, b.records, 3 * RECORD_BYTES);
        assert_int_equal(tl__journal_next(r, &got), 0);
        assert_true(tl__journal_report(r)->corrupt);
        assert_true(tl__journal_report(r)->begun);
        assert_int_equal(tl__journal_report(r)->bytes_dropped, sizeof(struct tl_journal_header));
        tl__journal_reader_close(r);
        bytes[i] ^= 0x40;
    }
    free(bytes);
}

static void a_consistent_lie_is_found(void **state)
{
    struct tl_journal_report report;
    struct tl_journal_block_header h;
    uint64_t starts[5];
    size_t size;
    char *bytes = write_four(&size, starts), *block = bytes + starts[1];
    static const struct {
        size_t offset;
        uint8_t value;
    } lies[] = {
        {offsetof(struct tl_journal_block_header, kind), 3},
        {offsetof(struct tl_journal_block_header, stream), 1},
        {offsetof(struct tl_journal_block_header, stream), 9},
        {offsetof(struct tl_journal_block_header, count), 200},
        {offsetof(struct tl_journal_block_header, kind), TL_JOURNAL_END},
        {offsetof(struct tl_journal_block_header, has_bin_offsets), 0},
        {offsetof(struct tl_journal_block_header, body_bytes), 8},
    };

    (void)state;
    memcpy(&h, block, sizeof(h));
    for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct tl_journal_block_header lie = h;
        size_t total = sizeof(h) + (size_t)h.body_bytes;

        ((uint8_t *)&lie)[lies[i].offset] = lies[i].value;
        memcpy(block, &lie, sizeof(lie));
        lie.header_checksum =
            (uint32_t)tl__hash64(block + TL_JOURNAL_CHECKED_FROM, sizeof(h) - TL_JOURNAL_CHECKED_FROM);
        lie.checksum = tl__hash64(block + TL_JOURNAL_CHECKED_FROM, total - TL_JOURNAL_CHECKED_FROM);
        memcpy(block, &lie, sizeof(lie));
        assert_int_equal(count_blocks(bytes, size, &report), 3);
        assert_true(report.corrupt);
        assert_int_equal(report.bytes_dropped, starts[2] - starts[1]);
    }
    free(bytes);
}

static void damaged_headers_are_refused(void **state)
{
    uint64_t starts[5];
    size_t size;
    char *bytes = write_four(&size, starts);
    struct tl_journal_header *h = (struct tl_journal_header *)(void *)bytes, good = *h;
    struct tl_journal_reader *r = NULL;
    struct tl_error err = {0};

    (void)state;
    for (size_t cut = 0; cut < sizeof(*h); cut++)
        assert_int_equal(tl__journal_open_memory(bytes, cut, "image", &r, &err), TL_EPARSE);
    h->magic[0] = 'X';
    assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), TL_EPARSE);
    *h = good;
    h->byte_order = 0x04030201;
    assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), TL_ENOTSUP);
    *h = good;
    h->version = h->min_reader_version = TL_JOURNAL_VERSION + 1;
    assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), TL_EVERSION);
    *h = good;
    h->header_bytes = 8;
    assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), TL_EPARSE);
    *h = good;
    h->run.epoch++;
    assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), TL_EPARSE);
    *h = good;
    h->run.stream_count = 17;
    h->checksum = tl__hash64(&h->run, sizeof(h->run));
    assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), TL_EPARSE);
    *h = good;
    /* A newer writer that this reader still understands. */
    h->version = 7;
    assert_int_equal(tl__journal_open_memory(bytes, size, "image", &r, &err), 0);
    tl__journal_reader_close(r);
    free(bytes);

    assert_int_equal(tl__journal_open(fixture_path("absent"), &r, &err), TL_ENOENT);
    fixture_write_text("empty", "");
    assert_int_equal(tl__journal_open(fixture_path("empty"), &r, &err), TL_EPARSE);
    assert_non_null(strstr(err.msg, "/empty: not a journal"));
    assert_int_equal(tl__journal_open(fixture_dir, &r, &err), TL_EIO);
}

/* The file of a writer that is killed in the middle of the header is distinguished from a damaged journal. */
static void a_beginning_of_a_header_is_known(void **state)
{
    struct tl_journal_writer *w;
    struct tl_journal_run run;
    size_t size;
    char *bytes;

    (void)state;
    run = test_run();
    assert_int_equal(tl__journal_create(fixture_dir, &run, &w, NULL), 0);
    tl__journal_close(w, false);
    bytes = fixture_read(TL_JOURNAL_NAME, &size);
    assert_false(tl__journal_not_begun(fixture_path(TL_JOURNAL_NAME)));
    for (size_t n = 0; n < size; n += n < 20 ? 1 : 97) {
        fixture_write("cut", bytes, n);
        assert_true(tl__journal_not_begun(fixture_path("cut")));
        if (n == 0)
            continue;
        bytes[0] ^= 1;
        fixture_write("cut", bytes, n);
        bytes[0] ^= 1;
        assert_false(tl__journal_not_begun(fixture_path("cut")));
    }
    assert_false(tl__journal_not_begun(fixture_path("absent")));
    free(bytes);
}

/* Whoever asks does not disturb: the writer still has its lock, and two may ask at once. */
static void a_writer_that_lives_is_known(void **state)
{
    const char *path = fixture_path(TL_JOURNAL_NAME);
    struct tl_journal_writer *w;
    char name[400];

    (void)state;
    (void)snprintf(name, sizeof(name), "%s", path);
    assert_false(tl__journal_lives(name));
    w = create();
    assert_true(tl__journal_lives(name));
    assert_true(tl__journal_lives(name));
    tl__journal_close(w, false);
    assert_false(tl__journal_lives(name));
}

static void wrong_blocks_are_refused(void **state)
{
    struct tl_journal_writer *w = create();
    struct tl_journal_block b = test_block(0, 0, 1);
    struct tl_journal_run run = test_run();
    struct tl_error err = {0};
    uint64_t before = tl__journal_bytes(w);

    (void)state;
    b.stream = 2;
    assert_int_equal(tl__journal_append(w, &b), TL_EINVAL);
    b.stream = 0;
    b.kind = 0;
    assert_int_equal(tl__journal_append(w, &b), TL_EINVAL);
    b.kind = TL_JOURNAL_END;
    assert_int_equal(tl__journal_append(w, &b), TL_EINVAL);
    b.kind = TL_JOURNAL_RECORDS;
    b.records = NULL;
    assert_int_equal(tl__journal_append(w, &b), TL_EINVAL);
    assert_int_equal(tl__journal_bytes(w), before);
    tl__journal_close(w, true);
    assert_int_equal(access(fixture_path(TL_JOURNAL_NAME), F_OK), -1);
    tl__journal_close(NULL, true);
    tl__journal_reader_close(NULL);

    run.streams[1].record_bytes = 0;
    assert_int_equal(tl__journal_create(fixture_dir, &run, &w, &err), TL_EINVAL);
    run.stream_count = 17;
    assert_int_equal(tl__journal_create(fixture_dir, &run, &w, &err), TL_EINVAL);
    run = test_run();
    assert_int_equal(tl__journal_create("/nonexistent", &run, &w, &err), TL_ENOENT);
}

/* A file size limit plays the full disk: the append fails halfway, and the file still ends at a block's end. */
static void a_failed_append_is_cut_off(void **state)
{
    struct tl_journal_writer *w = create();
    struct tl_journal_block b = test_block(0, 0, 64);
    struct rlimit old, tight;
    struct tl_journal_report report;
    size_t size;
    char *bytes;

    (void)state;
    assert_int_equal(tl__journal_append(w, &b), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = tl__journal_bytes(w) + 100;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    b.seq = 1;
    assert_true(tl__journal_append(w, &b) < 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    b.seq = 2;
    assert_int_equal(tl__journal_append(w, &b), 0);
    tl__journal_close(w, false);
    bytes = fixture_read(TL_JOURNAL_NAME, &size);
    assert_int_equal(count_blocks(bytes, size, &report), 2);
    assert_false(report.torn || report.corrupt);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_went_in_comes_out, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(duplicates_are_dropped, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_torn_tail_costs_only_itself, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(any_changed_byte_costs_its_block_alone, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_consistent_lie_is_found, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(moved_blocks_are_found, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_consistent_lie_is_found, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(untouched_blocks_are_all_read, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_header_is_made_good, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_consistent_lie_is_found, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(damaged_headers_are_refused, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_beginning_of_a_header_is_known, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_writer_that_lives_is_known, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(wrong_blocks_are_refused, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_failed_append_is_cut_off, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
