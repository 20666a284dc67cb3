/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "artifact/journal_format.h"
#include "base/env.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/pathname.h"

struct tl_journal_writer {
    struct tl_journal_run run;
    uint64_t bytes; /* whole blocks in the file */
    int fd;
    int broken; /* the file could not be cut back to a block's end: nothing may follow */
    uint8_t *scratch;
    size_t scratch_bytes;
    char path[TL_PATHNAME_BYTES];
};

static int check_run(const struct tl_journal_run *run)
{
    if (run->stream_count > TL_JOURNAL_MAX_STREAMS)
        return TL_EINVAL;
    for (unsigned i = 0; i < run->stream_count; i++)
        if (run->streams[i].name[0] != 0 && run->streams[i].record_bytes == 0)
            return TL_EINVAL;
    return 0;
}

static int write_header(struct tl_journal_writer *w)
{
    struct tl_journal_header header = {
        .magic = TL_JOURNAL_MAGIC,
        .version = TL_JOURNAL_VERSION,
        .min_reader_version = 3,
        .header_bytes = sizeof(header),
        .byte_order = TL_JOURNAL_BYTE_ORDER,
        .run = w->run,
    };
    int code;

    header.checksum = tl__hash64(&header.run, sizeof(header.run));
    code = tl__append(w->fd, &header, sizeof(header));
    if (code == 0)
        w->bytes = sizeof(header);
    return code;
}

int tl__journal_create(const char *dir, const struct tl_journal_run *run, struct tl_journal_writer **ret_writer,
                       struct tl_error *reterr)
{
    struct tl_journal_writer *w;
    int n, code;

    if (check_run(run) != 0)
        return tl__fail(reterr, TL_EINVAL, "%s/%s: a stream without a record size, or too many", dir, TL_JOURNAL_NAME);
    w = tl__alloc(1, sizeof(*w));
    if (w == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s/%s: out of memory", dir, TL_JOURNAL_NAME);
    w->run = *run;
    n = snprintf(w->path, sizeof(w->path), "%s/%s", dir, TL_JOURNAL_NAME);
    if (n < 0 || (size_t)n >= sizeof(w->path)) {
        tl__free(w);
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    }
    w->fd = open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        int err = errno;

        code = tl__fail(reterr, tl__code_of_errno(err), "%s: cannot create: %s", w->path, strerror(err));
        tl__free(w);
        return code;
    }
    /* New, so free, but for a moment in which somebody asks whether it lives. Where a file system has no locks, nobody
     * finds out. */
    (void)flock(w->fd, LOCK_EX);
    code = write_header(w);
    if (code != 0) {
        code = tl__fail(reterr, code, "%s: cannot write: %s", w->path, tl_strerror(code));
        tl__journal_close(w, true);
        return code;
    }
    *ret_writer = w;
    return 0;
}

static int grow_scratch(struct tl_journal_writer *w, size_t bytes)
{
    uint8_t *grown;

    if (bytes <= w->scratch_bytes)
        return 0;
    grown = tl__realloc(w->scratch, bytes);
    if (grown == NULL)
        return TL_ENOMEM;
    w->scratch = grown;
    w->scratch_bytes = bytes;
    return 0;
}

/* Lays the body out behind the header in the scratch. */
static void fill_body(uint8_t *body, uint64_t body_bytes, const struct tl_journal_block *block, uint32_t record_bytes)
{
    size_t offsets = block->bin_offsets != NULL ? (size_t)block->count * sizeof(uint64_t) : 0;
    size_t records = (size_t)block->count * record_bytes;
    struct tl_journal_end end = {.attempted = block->attempted, .parked_ns = block->parked_ns};

    if (block->kind == TL_JOURNAL_END) {
        memcpy(end.losses, block->losses, sizeof(end.losses));
        memcpy(body, &end, sizeof(end));
        return;
    }
    if (offsets > 0)
        memcpy(body, block->bin_offsets, offsets);
    if (records > 0)
        memcpy(body + offsets, block->records, records);
    memset(body + offsets + records, 0, (size_t)body_bytes - offsets - records);
}

/* What a failed append left behind is cut off, so that the file always ends at a block's end. */
static int cut_back(struct tl_journal_writer *w, int code)
{
    if (ftruncate(w->fd, (off_t)w->bytes) != 0)
        w->broken = code;
    return code;
}

/* Checksums of the block that is in the scratch, and its bytes into the file. */
static int append_scratch(struct tl_journal_writer *w, size_t total)
{
    struct tl_journal_block_header header;
    int code;

    memcpy(&header, w->scratch, sizeof(header));
    header.header_checksum =
        (uint32_t)tl__hash64(w->scratch + TL_JOURNAL_CHECKED_FROM, sizeof(header) - TL_JOURNAL_CHECKED_FROM);
    header.checksum = tl__hash64(w->scratch + TL_JOURNAL_CHECKED_FROM, total - TL_JOURNAL_CHECKED_FROM);
    memcpy(w->scratch, &header, TL_JOURNAL_CHECKED_FROM);
    code = tl__append(w->fd, w->scratch, total);
    if (code != 0)
        return cut_back(w, code);
    w->bytes += total;
    return 0;
}

int tl__journal_begun(struct tl_journal_writer *w)
{
    const struct tl_journal_block_header header = {
        .magic = TL_JOURNAL_BLOCK_MAGIC, .body_bytes = sizeof(w->run), .epoch = w->run.epoch, .kind = TL_JOURNAL_BEGUN};
    int code = w->broken != 0 ? w->broken : grow_scratch(w, sizeof(header) + sizeof(w->run));

    if (code != 0)
        return code;
    memcpy(w->scratch, &header, sizeof(header));
    memcpy(w->scratch + sizeof(header), &w->run, sizeof(w->run));
    return append_scratch(w, sizeof(header) + sizeof(w->run));
}

int tl__journal_append(struct tl_journal_writer *w, const struct tl_journal_block *block)
{
    struct tl_journal_block_header header = {
        .magic = TL_JOURNAL_BLOCK_MAGIC,
        .seq = block->seq,
        .epoch = block->epoch,
        .count = block->count,
        .lane = block->lane,
        .kind = block->kind,
        .stream = block->stream,
        .has_bin_offsets = block->bin_offsets != NULL,
    };
    size_t total;
    int code;

    if (w->broken != 0)
        return w->broken;
    if (block->stream >= w->run.stream_count || w->run.streams[block->stream].record_bytes == 0 ||
        (block->kind != TL_JOURNAL_RECORDS && block->kind != TL_JOURNAL_END) ||
        (block->kind == TL_JOURNAL_END && (block->count != 0 || block->bin_offsets != NULL)) ||
        (block->count > 0 && block->records == NULL))
        return TL_EINVAL;
    header.record_bytes = w->run.streams[block->stream].record_bytes;
    header.body_bytes = block->kind == TL_JOURNAL_END
                            ? sizeof(struct tl_journal_end)
                            : (uint64_t)block->count * header.record_bytes +
                                  (block->bin_offsets != NULL ? (uint64_t)block->count * sizeof(uint64_t) : 0);
    header.body_bytes = (header.body_bytes + 7) & ~(uint64_t)7;
    if (header.body_bytes > TL_JOURNAL_BODY_MAX)
        return TL_EINVAL;
    total = sizeof(header) + (size_t)header.body_bytes;
    code = grow_scratch(w, total);
    if (code != 0)
        return code;
    memcpy(w->scratch, &header, sizeof(header));
    fill_body(w->scratch + sizeof(header), header.body_bytes, block, header.record_bytes);
    return append_scratch(w, total);
}

uint64_t tl__journal_bytes(const struct tl_journal_writer *w)
{
    return w->bytes;
}

void tl__journal_close(struct tl_journal_writer *w, bool unlink_it)
{
    if (w == NULL)
        return;
    (void)close(w->fd);
    if (unlink_it)
        (void)unlink(w->path);
    tl__free(w->scratch);
    tl__free(w);
}
