/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of a dump: the manifest in memory, the payload file mapped, and what can be checked between them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/args_dump.h"
#include "artifact/dump_parse.h"
#include "artifact/open.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/pathname.h"

#define CHUNK_BYTES (256u << 10)

struct tl_dump_reader {
    struct tl_dump_summary summary;
    struct tl_dump_record *records;
    uint64_t count;
    int bin_fd;         /* -1: none */
    int bin_errno;      /* why it could not be opened */
    const uint8_t *bin; /* all of the payload file; NULL: none, empty, or it cannot be mapped */
    char name[1024];    /* of the manifest, for messages */
};

static int feed_file(struct tl_dump_parser *parser, int fd, const char *name, struct tl_error *reterr)
{
    uint8_t *chunk = tl__alloc(1, CHUNK_BYTES);
    int code = 0;

    if (chunk == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", name);
    for (uint64_t offset = 0; code == 0;) {
        ssize_t n = pread(fd, chunk, CHUNK_BYTES, (off_t)offset);

        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            code = tl__fail(reterr, TL_EIO, "%s: cannot read: %s", name, strerror(errno));
            break;
        }
        code = tl__dump_parser_feed(parser, chunk, (size_t)n, reterr);
        offset += (uint64_t)n;
    }
    tl__free(chunk);
    return code;
}

static int parse_file(struct tl_dump_reader *reader, struct tl_error *reterr)
{
    int fd = tl__open_to_read(reader->name), code;
    struct tl_dump_parser *parser = NULL;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0) {
        int err = errno;

        if (fd >= 0)
            (void)close(fd);
        return tl__fail(reterr, tl__code_of_errno(err), "%s: cannot open: %s", reader->name, strerror(err));
    }
    parser = tl__dump_parser_create(reader->name, (uint64_t)st.st_size);
    if (parser == NULL)
        code = tl__fail(reterr, TL_ENOMEM, "%s: out of memory", reader->name);
    else
        code = feed_file(parser, fd, reader->name, reterr);
    if (code == 0)
        code = tl__dump_parser_finish(parser, &reader->summary, &reader->records, &reader->count, reterr);
    tl__dump_parser_destroy(parser);
    (void)close(fd);
    return code;
}

/* No payload file, or a short one, leaves a manifest that can still be listed: it is an error of the access. */
static void open_bin(struct tl_dump_reader *reader, const char *dir)
{
    char path[TL_PATHNAME_BYTES];
    struct stat st;
    void *map;

    (void)tl__pathname(path, "%s/%s", dir, reader->summary.bin_file);
    reader->bin_fd = tl__open_to_read(path);
    if (reader->bin_fd < 0 || fstat(reader->bin_fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        reader->bin_errno = reader->bin_fd < 0 ? errno : EINVAL;
        return;
    }
    reader->summary.bin_bytes = (uint64_t)st.st_size;
    if (st.st_size == 0)
        return;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, reader->bin_fd, 0);
    reader->bin = map != MAP_FAILED ? map : NULL;
}

int tl__dump_open(const char *dir, struct tl_dump_reader **ret_reader, struct tl_error *reterr)
{
    struct tl_dump_reader *reader = tl__alloc(1, sizeof(*reader));
    int n, code;

    if (reader == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", dir);
    reader->bin_fd = -1;
    n = snprintf(reader->name, sizeof(reader->name), "%s/%s", dir, TL_DUMP_MANIFEST_NAME);
    if (n < 0 || (size_t)n >= sizeof(reader->name))
        code = tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    else
        code = parse_file(reader, reterr);
    if (code != 0) {
        tl__dump_close(reader);
        return code;
    }
    if (reader->summary.bin_file[0] != 0)
        open_bin(reader, dir);
    *ret_reader = reader;
    return 0;
}

int tl__dump_parse(const void *bytes, size_t size, const char *name, struct tl_dump_reader **ret_reader,
                   struct tl_error *reterr)
{
    struct tl_dump_reader *reader = tl__alloc(1, sizeof(*reader));
    struct tl_dump_parser *parser = tl__dump_parser_create(name, size);
    int code;

    if (reader == NULL || parser == NULL) {
        tl__free(reader);
        tl__dump_parser_destroy(parser);
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", name);
    }
    reader->bin_fd = -1;
    reader->bin_errno = ENOENT;
    (void)snprintf(reader->name, sizeof(reader->name), "%s", name);
    code = tl__dump_parser_feed(parser, bytes, size, reterr);
    if (code == 0)
        code = tl__dump_parser_finish(parser, &reader->summary, &reader->records, &reader->count, reterr);
    tl__dump_parser_destroy(parser);
    if (code != 0)
        tl__dump_close(reader);
    else
        *ret_reader = reader;
    return code;
}

void tl__dump_close(struct tl_dump_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->bin != NULL)
        (void)munmap((void *)(uintptr_t)reader->bin, (size_t)reader->summary.bin_bytes);
    if (reader->bin_fd >= 0)
        (void)close(reader->bin_fd);
    tl__free(reader->records);
    tl__free(reader);
}

const struct tl_dump_summary *tl__dump_summary(const struct tl_dump_reader *reader)
{
    return &reader->summary;
}

const struct tl_dump_record *tl__dump_records(const struct tl_dump_reader *reader)
{
    return reader->records;
}

uint64_t tl__dump_record_count(const struct tl_dump_reader *reader)
{
    return reader->count;
}

/* ---- payloads ---- */

static int payload_in_file(const struct tl_dump_reader *reader, const struct tl_dump_record *record,
                           struct tl_error *reterr)
{
    const struct tl_dump_summary *s = &reader->summary;

    if (s->bin_file[0] == 0)
        return tl__fail(reterr, TL_ENOENT, "%s: names no payload file (bin_file is null)", reader->name);
    if (reader->bin_errno != 0)
        return tl__fail(reterr, TL_ENOENT, "%s: payload file %s: %s", reader->name, s->bin_file,
                        strerror(reader->bin_errno));
    if (record->bin_offset > s->bin_bytes || record->bin_size > s->bin_bytes - record->bin_offset)
        return tl__fail(reterr, TL_ERANGE,
                        "%s: payload of task r%llut%llu arg %u at bytes %llu+%llu reaches past the end of %s (%llu)",
                        reader->name, (unsigned long long)(record->task_id >> 32),
                        (unsigned long long)(record->task_id & UINT32_MAX), record->arg_index,
                        (unsigned long long)record->bin_offset, (unsigned long long)record->bin_size, s->bin_file,
                        (unsigned long long)s->bin_bytes);
    return 0;
}

/* Whoever reads behind the end of a mapped file that has been cut since gets SIGBUS. */
static int still_there(const struct tl_dump_reader *reader, uint64_t end, struct tl_error *reterr)
{
    struct stat st;

    if (fstat(reader->bin_fd, &st) != 0)
        return tl__fail(reterr, TL_EIO, "%s: payload file %s: %s", reader->name, reader->summary.bin_file,
                        strerror(errno));
    if ((uint64_t)st.st_size < end)
        return tl__fail(reterr, TL_ERANGE,
                        "%s: payload file %s has been cut to %llu bytes since it was opened with %llu", reader->name,
                        reader->summary.bin_file, (unsigned long long)st.st_size,
                        (unsigned long long)reader->summary.bin_bytes);
    return 0;
}

int tl__dump_payload(const struct tl_dump_reader *reader, const struct tl_dump_record *record, const void **ret_data,
                     struct tl_error *reterr)
{
    int code;

    if (record->bin_size == 0) {
        *ret_data = NULL;
        return 0;
    }
    code = payload_in_file(reader, record, reterr);
    if (code != 0)
        return code;
    if (reader->bin == NULL)
        return tl__fail(reterr, TL_EIO, "%s: payload file %s cannot be mapped", reader->name, reader->summary.bin_file);
    code = still_there(reader, record->bin_offset + record->bin_size, reterr);
    if (code != 0)
        return code;
    *ret_data = reader->bin + record->bin_offset;
    return 0;
}

int tl__dump_read(const struct tl_dump_reader *reader, const struct tl_dump_record *record, uint64_t offset,
                  void *buffer, size_t bytes, struct tl_error *reterr)
{
    uint8_t *to = buffer;
    int code;

    if (offset > record->bin_size || bytes > record->bin_size - offset)
        return tl__fail(reterr, TL_ERANGE, "%s: bytes %llu+%zu of a payload of %llu", reader->name,
                        (unsigned long long)offset, bytes, (unsigned long long)record->bin_size);
    if (bytes == 0)
        return 0;
    code = payload_in_file(reader, record, reterr);
    if (code != 0)
        return code;
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(reader->bin_fd, to + done, bytes - done, (off_t)(record->bin_offset + offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tl__fail(reterr, TL_EIO, "%s: cannot read %s: %s", reader->name, reader->summary.bin_file,
                            n < 0 ? strerror(errno) : "it became shorter");
        done += (size_t)n;
    }
    return 0;
}

/* ---- checks ---- */

/* Only the first is put into words. */
static void fault(struct tl_dump_verdict *v, uint64_t *counter, uint64_t index, const char *what)
{
    ++*counter;
    if (v->first_fault[0] != 0)
        return;
    v->first_bad = index;
    if (index != UINT64_MAX)
        (void)snprintf(v->first_fault, sizeof(v->first_fault), "record %llu: %.220s", (unsigned long long)index, what);
    else
        (void)snprintf(v->first_fault, sizeof(v->first_fault), "%.255s", what);
}

static void check_counts(const struct tl_dump_reader *reader, struct tl_dump_verdict *v)
{
    struct tl_dump_summary real = {0};
    const struct tl_dump_summary *said = &reader->summary;
    char what[160];

    tl__dump_count(&real, reader->records, reader->count);

    const struct {
        const char *name;
        uint64_t said, real;
    } counts[] = {
        {"total_args", said->total_args, real.total_args},
        {"before_dispatch", said->before_dispatch, real.before_dispatch},
        {"after_completion", said->after_completion, real.after_completion},
        {"input_args", said->input_args, real.input_args},
        {"output_args", said->output_args, real.output_args},
        {"inout_args", said->inout_args, real.inout_args},
        {"truncated_args", said->truncated_args, real.truncated_args},
    };

    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        if (counts[i].said == counts[i].real)
            continue;
        (void)snprintf(what, sizeof(what), "%s says %llu, the records say %llu", counts[i].name,
                       (unsigned long long)counts[i].said, (unsigned long long)counts[i].real);
        fault(v, &v->bad_counts, UINT64_MAX, what);
    }
}

/* A whole payload has the size that its dtype and shape say; a cut one has less. */
static bool size_is_right(const struct tl_dump_record *r)
{
    uint64_t whole = tl__dump_payload_bytes(r);

    if (r->bin_size == 0 || tl_dtype_bits(r->dtype) == 0 || r->rank > TL_MAX_DIMS)
        return true;
    if ((r->flags & (TL_ARG_TRUNCATED | TL_ARG_PARTIAL | TL_ARG_LOST)) != 0)
        return r->bin_size <= whole;
    return r->bin_size == whole;
}

static void check_record(const struct tl_dump_reader *reader, uint64_t i, bool hashes, struct tl_dump_verdict *v)
{
    const struct tl_dump_record *r = &reader->records[i];
    struct tl_error error;
    const void *data = NULL;

    if (i > 0 && tl__dump_compare(r - 1, r) > 0)
        fault(v, &v->out_of_order, i, "comes before its predecessor in (task_id, stage, arg_index, role)");
    if (!size_is_right(r))
        fault(v, &v->bad_size, i, "bin_size is not what dtype and shape say");
    if (r->bin_size == 0)
        return;
    if (payload_in_file(reader, r, v->first_fault[0] == 0 ? &error : NULL) != 0) {
        fault(v, &v->out_of_bounds, i, error.msg);
        return;
    }
    if ((r->flags & TL_ARG_HAS_HASH) == 0) {
        v->unhashed++;
    } else if (hashes && tl__dump_payload(reader, r, &data, &error) == 0) {
        v->checked++;
        if (tl__hash64(data, (size_t)r->bin_size) != r->hash)
            fault(v, &v->bad_hash, i, "the payload is not what the device hashed");
    } else if (hashes) {
        fault(v, &v->out_of_bounds, i, error.msg);
    }
}

static int check_all(const struct tl_dump_reader *reader, bool hashes, struct tl_dump_verdict *v)
{
    memset(v, 0, sizeof(*v));
    v->first_bad = UINT64_MAX;
    check_counts(reader, v);
    for (uint64_t i = 0; i < reader->count; i++)
        check_record(reader, i, hashes, v);
    return v->first_fault[0] == 0 ? 0 : TL_ECORRUPT;
}

int tl__dump_check(const struct tl_dump_reader *reader, struct tl_dump_verdict *ret_verdict)
{
    return check_all(reader, false, ret_verdict);
}

int tl__dump_verify(const struct tl_dump_reader *reader, struct tl_dump_verdict *ret_verdict)
{
    return check_all(reader, true, ret_verdict);
}
