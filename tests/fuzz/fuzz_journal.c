/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's reader. Checksums would keep a fuzzer out of everything behind them, so each input is read twice: as it
 * is, and with the checksums of its header and of its blocks put right, as far as the blocks make sense.
 */
#include "fuzz.h"

#include <string.h>

#include "artifact/journal_format.h"
#include "base/hash.h"

static volatile uint8_t sink;

static void touch(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sink = (uint8_t)(sink + ((const uint8_t *)bytes)[i]);
}

static void read_journal(const uint8_t *image, size_t size)
{
    struct tl_journal_reader *r = NULL;
    const struct tl_journal_report *report;
    struct tl_journal_block b;
    struct tl_error error = {0};
    uint64_t blocks = 0;
    int code = tl__journal_open_memory(image, size, "fuzz", &r, &error);

    if (code != 0) {
        MUST(code < 0 && error.code == code && error.msg[0] != 0);
        return;
    }
    while ((code = tl__journal_next(r, &b)) == 1) {
        const struct tl_journal_run *run = tl__journal_run(r);

        blocks++;
        MUST(b.stream < run->stream_count && (b.kind == TL_JOURNAL_RECORDS || b.kind == TL_JOURNAL_END));
        if (b.count > 0) {
            touch(b.records, (size_t)b.count * run->streams[b.stream].record_bytes);
            if (b.bin_offsets != NULL)
                touch(b.bin_offsets, (size_t)b.count * sizeof(*b.bin_offsets));
        }
    }
    MUST(code == 0);
    report = tl__journal_report(r);
    MUST(report->blocks == blocks && report->bytes_good + report->bytes_dropped == size);
    MUST((report->bytes_dropped == 0) == (report->reason[0] == 0));
    MUST((report->torn || report->corrupt) == (report->bytes_dropped != 0) || report->bytes_dropped == 0);
    MUST(report->bytes_torn <= report->bytes_dropped && report->torn == (report->bytes_torn != 0));
    MUST(tl__journal_next(r, &b) == 0);
    tl__journal_reader_close(r);
}

/* Makes the checksums true. */
static void repair(uint8_t *image, size_t size)
{
    struct tl_journal_header header;
    size_t at;

    if (size < sizeof(header))
        return;
    memcpy(&header, image, sizeof(header));
    memcpy(header.magic, TL_JOURNAL_MAGIC, 8);
    header.byte_order = TL_JOURNAL_BYTE_ORDER;
    header.min_reader_version =
        header.header_bytes == offsetof(struct tl_journal_header, run) + sizeof(struct tl_journal_run_2)
            ? 2
            : TL_JOURNAL_VERSION;
    if (header.min_reader_version == TL_JOURNAL_VERSION &&
        (header.header_bytes < sizeof(header) || header.header_bytes > size || header.header_bytes % 8 != 0))
        header.header_bytes = sizeof(header);
    at = offsetof(struct tl_journal_header, run);
    header.checksum = tl__hash64(image + at, header.header_bytes - at);
    memcpy(image, &header, at);
    at = header.header_bytes;
    while (size - at >= sizeof(struct tl_journal_block_header)) {
        struct tl_journal_block_header h;
        uint8_t *block = image + at;

        memcpy(&h, block, sizeof(h));
        h.magic = TL_JOURNAL_BLOCK_MAGIC;
        h.header_checksum = (uint32_t)tl__hash64(block + TL_JOURNAL_CHECKED_FROM, sizeof(h) - TL_JOURNAL_CHECKED_FROM);
        memcpy(block, &h, TL_JOURNAL_CHECKED_FROM);
        if (h.body_bytes > size - at - sizeof(h) || h.body_bytes % 8 != 0)
            break;
        h.checksum =
            tl__hash64(block + TL_JOURNAL_CHECKED_FROM, sizeof(h) + (size_t)h.body_bytes - TL_JOURNAL_CHECKED_FROM);
        memcpy(block, &h, TL_JOURNAL_CHECKED_FROM);
        at += sizeof(h) + (size_t)h.body_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1); /* aligned, as a mapping is */

    MUST(copy != NULL);
    memcpy(copy, data, size);
    read_journal(copy, size);
    repair(copy, size);
    read_journal(copy, size);
    free(copy);
    return 0;
}
