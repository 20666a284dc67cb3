/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a journal: every intact block, wherever it is. Where a block is not what it says, the reader looks for
 * the next one behind it (journal_resync.c) and counts what is between. A file that ends inside a block is torn: its
 * writer was killed, and that block had not reached the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/journal_impl.h"
#include "artifact/open.h"
#include "base/env.h"
#include "base/error.h"
#include "base/hash.h"

/* ---- the header ---- */

static void take_old(const struct tl_journal_run_2 *old, struct tl_journal_run *run)
{
    *run = (struct tl_journal_run){.start_unix_ns = old->start_unix_ns,
                                   .clock_freq_hz = old->clock_freq_hz,
                                   .arena_bytes = old->arena_bytes,
                                   .epoch = old->epoch,
                                   .flags = (old->dump_hash != 0 ? TL_JOURNAL_HASHES : 0) |
                                            (old->dump_chunk != 0 ? TL_JOURNAL_PIECES : 0),
                                   .stream_count = old->stream_count,
                                   .records_per_buffer = old->records_per_buffer,
                                   .lane_count = old->lane_count,
                                   .format = old->format,
                                   .facts = old->facts};
    memcpy(run->program, old->program, sizeof(run->program));
    memcpy(run->case_name, old->case_name, sizeof(run->case_name));
    memcpy(run->platform, old->platform, sizeof(run->platform));
    memcpy(run->runtime, old->runtime, sizeof(run->runtime));
    memcpy(run->streams, old->streams, sizeof(run->streams));
    run->levels[TL_COLLECT_DUMP] = old->dump_level;
    run->levels[TL_COLLECT_SWIMLANE] = old->swimlane_level;
    run->levels[TL_COLLECT_DEPS] = old->dep_gen;
    run->levels[TL_COLLECT_PMU] = old->pmu_event;
    run->levels[TL_COLLECT_SCOPE] = old->scope_stats;
}

bool tl__journal_run_take(const void *from, uint64_t bytes, struct tl_journal_run *ret_run)
{
    struct tl_journal_run_2 old;

    if (bytes == sizeof(old)) {
        memcpy(&old, from, sizeof(old));
        take_old(&old, ret_run);
        return true;
    }
    if (bytes < sizeof(*ret_run))
        return false;
    memcpy(ret_run, from, sizeof(*ret_run));
    return true;
}

/* Texts end, whoever wrote them. */
static int take_run(struct tl_journal_reader *r, const struct tl_journal_run *run, const char *name,
                    struct tl_error *reterr)
{
    r->run = *run;
    if (r->run.stream_count > TL_JOURNAL_MAX_STREAMS)
        return tl__fail(reterr, TL_EPARSE, "%s: %u streams in the header", name, r->run.stream_count);
    r->run.program[sizeof(r->run.program) - 1] = 0;
    r->run.case_name[sizeof(r->run.case_name) - 1] = 0;
    r->run.platform[sizeof(r->run.platform) - 1] = 0;
    r->run.runtime[sizeof(r->run.runtime) - 1] = 0;
    for (unsigned i = 0; i < TL_JOURNAL_MAX_STREAMS; i++)
        r->run.streams[i].name[sizeof(r->run.streams[i].name) - 1] = 0;
    return 0;
}

/* What is wrong with the header, or 0 and the run is taken. */
static int read_header(struct tl_journal_reader *r, const char *name, struct tl_error *reterr)
{
    struct tl_journal_header header;
    struct tl_journal_run run;
    uint64_t body, wanted;
    int code;

    if (r->size < offsetof(struct tl_journal_header, run))
        return tl__fail(reterr, TL_EPARSE, "%s: not a journal: only %llu bytes", name, (unsigned long long)r->size);
    memset(&header, 0, sizeof(header));
    memcpy(&header, r->image, r->size < sizeof(header) ? (size_t)r->size : sizeof(header));
    if (memcmp(header.magic, TL_JOURNAL_MAGIC, sizeof(header.magic)) != 0)
        return tl__fail(reterr, TL_EPARSE, "%s: not a journal", name);
    if (header.byte_order == __builtin_bswap32(TL_JOURNAL_BYTE_ORDER))
        return tl__fail(reterr, TL_ENOTSUP, "%s: written in another byte order", name);
    if (header.byte_order != TL_JOURNAL_BYTE_ORDER || header.min_reader_version > header.version)
        return tl__fail(reterr, TL_EPARSE, "%s: the header is damaged", name);
    if (header.min_reader_version > TL_JOURNAL_VERSION)
        return tl__fail(reterr, TL_EVERSION, "%s: needs a reader of version %u or later, this one is %d", name,
                        header.min_reader_version, TL_JOURNAL_VERSION);
    wanted = offsetof(struct tl_journal_header, run) +
             (header.min_reader_version < 3 ? sizeof(struct tl_journal_run_2) : sizeof(struct tl_journal_run));
    if (header.header_bytes < wanted || (header.min_reader_version < 3 && header.header_bytes != wanted) ||
        header.header_bytes > TL_JOURNAL_HEADER_MAX || header.header_bytes % 8 != 0 || header.header_bytes > r->size)
        return tl__fail(reterr, TL_EPARSE, "%s: the header is cut or damaged", name);
    body = header.header_bytes - offsetof(struct tl_journal_header, run);
    if (header.checksum != tl__hash64(r->image + offsetof(struct tl_journal_header, run), (size_t)body))
        return tl__fail(reterr, TL_EPARSE, "%s: the header is damaged (checksum)", name);
    if (!tl__journal_run_take(r->image + offsetof(struct tl_journal_header, run), body, &run))
        return tl__fail(reterr, TL_EPARSE, "%s: the header is damaged", name);
    code = take_run(r, &run, name, reterr);
    if (code != 0)
        return code;
    r->at = header.header_bytes;
    r->report.bytes_good = r->at;
    /* Before version 2 nothing said that the directory had been cleared. */
    r->report.says_begun = header.min_reader_version >= 2;
    return 0;
}

/* The header, or the copy of it that the first block holds: then reading starts at the file's first byte, and what was
 * the header is damage. */
static int find_run(struct tl_journal_reader *r, const char *name, struct tl_error *reterr)
{
    struct tl_error why = {0};
    int code = read_header(r, name, &why);
    struct tl_journal_run copy;

    if (code == TL_EPARSE && tl__journal_find_begun(r, &copy) && take_run(r, &copy, name, NULL) == 0) {
        r->report.says_begun = true;
        return 0;
    }
    return code == 0 ? 0 : tl__fail(reterr, code, "%s", why.msg);
}

int tl__journal_open_memory(const void *image, size_t size, const char *name, struct tl_journal_reader **ret_reader,
                            struct tl_error *reterr)
{
    struct tl_journal_reader *r = tl__alloc(1, sizeof(*r));
    int code;

    if (r == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", name);
    r->image = image;
    r->size = size;
    code = find_run(r, name, reterr);
    if (code != 0) {
        tl__journal_reader_close(r);
        return code;
    }
    *ret_reader = r;
    return 0;
}

int tl__journal_open(const char *path, struct tl_journal_reader **ret_reader, struct tl_error *reterr)
{
    int fd = tl__open_to_read(path), err = 0, code;
    struct stat st;
    void *map = NULL;

    if (fd < 0 || fstat(fd, &st) != 0)
        err = errno;
    else if (!S_ISREG(st.st_mode))
        err = EINVAL;
    else if (st.st_size > 0 && (map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        err = errno;
    if (fd >= 0)
        (void)close(fd);
    if (err != 0)
        return tl__fail(reterr, tl__code_of_errno(err), "%s: cannot open: %s", path, strerror(err));
    if (map == NULL)
        return tl__fail(reterr, TL_EPARSE, "%s: not a journal: it is empty", path);
    code = tl__journal_open_memory(map, (size_t)st.st_size, path, ret_reader, reterr);
    if (code != 0)
        (void)munmap(map, (size_t)st.st_size);
    else
        (*ret_reader)->mapped = true;
    return code;
}

bool tl__journal_not_begun(const char *path)
{
    char start[sizeof(struct tl_journal_header)], magic[sizeof(TL_JOURNAL_MAGIC) - 1];
    int fd = tl__open_to_read(path);
    ssize_t n = -1;

    if (fd < 0)
        return false;
    n = read(fd, start, sizeof(start)); /* a regular file's bytes come at once */
    (void)close(fd);
    memcpy(magic, TL_JOURNAL_MAGIC, sizeof(magic));
    return n >= 0 && (size_t)n < sizeof(start) &&
           memcmp(start, magic, (size_t)n < sizeof(magic) ? (size_t)n : sizeof(magic)) == 0;
}

bool tl__journal_lives(const char *path)
{
    int fd = tl__open_to_read(path);
    bool lives;

    if (fd < 0)
        return false;
    lives = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; /* shared: several may ask at once */
    (void)close(fd);
    return lives;
}

void tl__journal_reader_close(struct tl_journal_reader *r)
{
    if (r == NULL)
        return;
    if (r->mapped)
        (void)munmap((void *)(uintptr_t)r->image, (size_t)r->size);
    while (r->copies != NULL) {
        struct tl_journal_copy *next = r->copies->next;

        tl__free(r->copies);
        r->copies = next;
    }
    tl__free(r->keys);
    tl_vec_fini(&r->lost);
    tl__free(r);
}

const struct tl_journal_run *tl__journal_run(const struct tl_journal_reader *r)
{
    return &r->run;
}

const struct tl_journal_report *tl__journal_report(const struct tl_journal_reader *r)
{
    return &r->report;
}

/* ---- duplicates ---- */

static uint64_t slot_of(const struct tl_journal_reader *r, struct tl_journal_key key)
{
    uint64_t mixed = (key.where ^ ((uint64_t)key.seq << 20 | key.seq)) * 0x9e3779b97f4a7c15ull;
    uint64_t slot = (mixed >> 32) & (r->key_capacity - 1);

    while (r->keys[slot].where != 0 && (r->keys[slot].where != key.where || r->keys[slot].seq != key.seq))
        slot = (slot + 1) & (r->key_capacity - 1);
    return slot;
}

static int grow_keys(struct tl_journal_reader *r)
{
    struct tl_journal_key *old = r->keys;
    uint64_t old_capacity = r->key_capacity, capacity = old_capacity == 0 ? 256 : old_capacity * 2;
    struct tl_journal_key *grown = tl__alloc((size_t)capacity, sizeof(*grown));

    if (grown == NULL)
        return TL_ENOMEM;
    r->keys = grown;
    r->key_capacity = capacity;
    for (uint64_t i = 0; i < old_capacity; i++)
        if (old[i].where != 0)
            r->keys[slot_of(r, old[i])] = old[i];
    tl__free(old);
    return 0;
}

bool tl__journal_seen(const struct tl_journal_reader *r, struct tl_journal_key key)
{
    return r->key_capacity != 0 && r->keys[slot_of(r, key)].where != 0;
}

/* 1: seen before; 0: new, and noted; TL_ENOMEM. */
static int note_key(struct tl_journal_reader *r, const struct tl_journal_block_header *h)
{
    struct tl_journal_key key = tl__journal_key(h);
    uint64_t slot;

    if (r->key_count * 2 >= r->key_capacity && grow_keys(r) != 0)
        return TL_ENOMEM;
    slot = slot_of(r, key);
    if (r->keys[slot].where != 0)
        return 1;
    r->keys[slot] = key;
    r->key_count++;
    return 0;
}

/* ---- blocks ---- */

/* A block as it is handed out. */
static void hand_out(const struct tl_journal_block_header *h, const uint8_t *body, struct tl_journal_block *block)
{
    memset(block, 0, sizeof(*block));
    block->kind = h->kind;
    block->stream = h->stream;
    block->lane = h->lane;
    block->seq = h->seq;
    block->epoch = h->epoch;
    block->count = h->count;
    if (h->kind == TL_JOURNAL_END) {
        struct tl_journal_end end;

        memcpy(&end, body, sizeof(end));
        block->attempted = end.attempted;
        block->parked_ns = end.parked_ns;
        memcpy(block->losses, end.losses, sizeof(end.losses));
        return;
    }
    if (h->has_bin_offsets != 0)
        block->bin_offsets = (const uint64_t *)(const void *)body; /* aligned: see aligned_body() */
    block->records = body + (h->has_bin_offsets != 0 ? (size_t)h->count * 8 : 0);
}

/* Blocks and bodies start at multiples of 8 of an aligned image, but where bytes were put in or taken out. NULL: no
 * memory. */
static const uint8_t *aligned_body(struct tl_journal_reader *r, const struct tl_journal_block_header *h)
{
    const uint8_t *body = r->image + r->at + sizeof(*h);
    struct tl_journal_copy *copy;

    if (r->at % 8 == 0)
        return body;
    copy = tl__alloc(1, sizeof(*copy) + (size_t)h->body_bytes);
    if (copy == NULL)
        return NULL;
    copy->next = r->copies;
    r->copies = copy;
    return memcpy(copy + 1, body, (size_t)h->body_bytes);
}

/* One block: 1 handed out, 2 skipped, 0 the end, TL_ENOMEM. */
static int step(struct tl_journal_reader *r, struct tl_journal_block *ret_block)
{
    struct tl_journal_block_header h;
    const uint8_t *body;
    int seen;

    if (r->at == r->size) {
        r->ended = true;
        return tl__journal_count_missing(r);
    }
    if (tl__journal_look(r, r->at, &h) != TL_JOURNAL_INTACT)
        return tl__journal_resync(r);
    body = aligned_body(r, &h);
    seen = body == NULL ? TL_ENOMEM : note_key(r, &h);
    if (seen < 0)
        return seen;
    r->at += sizeof(h) + h.body_bytes;
    r->report.bytes_good += sizeof(h) + h.body_bytes;
    if (h.kind == TL_JOURNAL_BEGUN) {
        r->report.begun = true;
        return 2;
    }
    if (seen != 0) {
        r->report.duplicates++;
        return 2;
    }
    r->report.blocks++;
    hand_out(&h, body, ret_block);
    return 1;
}

int tl__journal_next(struct tl_journal_reader *r, struct tl_journal_block *ret_block)
{
    int code = 2;

    while (code == 2 && !r->ended)
        code = step(r, ret_block);
    return code == 2 ? 0 : code;
}
