/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of run.journal (docs/formats/journal.md). Little endian, as the machine is: the header's byte order says
 * so. */
#ifndef TL_ARTIFACT_JOURNAL_FORMAT_H
#define TL_ARTIFACT_JOURNAL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "artifact/journal.h"

#define TL_JOURNAL_MAGIC "TLJOURNL"
#define TL_JOURNAL_BLOCK_MAGIC 0x4b424a54u /* "TJBK" */
#define TL_JOURNAL_BYTE_ORDER 0x01020304u
#define TL_JOURNAL_HEADER_MAX 65536u /* a header that claims more is damaged */
#define TL_JOURNAL_BODY_MAX ((uint64_t)1 << 32)

/* Version 1 has no block that says the run has begun (TL_JOURNAL_BEGUN); otherwise it is the same. A later version may
 * make the header longer; blocks start at header_bytes. */
struct tl_journal_header {
    char magic[8];
    uint32_t version;
    uint32_t min_reader_version;
    uint32_t header_bytes;
    uint32_t byte_order;
    uint64_t checksum; /* XXH3-64 of what follows, up to header_bytes */
    struct tl_journal_run run;
};
_Static_assert(sizeof(struct tl_journal_stream) == 24, "is in the file");
_Static_assert(sizeof(struct tl_journal_run) == 768, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, facts) == 672, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, start_unix_ns) == 240, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, epoch) == 264, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, records_per_buffer) == 276, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, streams) == 284, "is in the file");
_Static_assert(offsetof(struct tl_journal_header, run) == 32, "is in the file");
_Static_assert(sizeof(struct tl_journal_header) % 8 == 0, "blocks are aligned");

/* The first checksum is of the header alone, so that a damaged length is not taken for a torn tail. The second is of
 * all bytes of the block behind itself. */
struct tl_journal_block_header {
    uint32_t magic;
    uint32_t header_checksum; /* low half of XXH3-64 of the header behind `checksum` */
    uint64_t checksum;        /* XXH3-64 of the rest of the header and the body */
    uint64_t body_bytes;      /* a multiple of 8 */
    uint32_t seq, epoch, count, record_bytes;
    uint16_t lane;
    uint8_t kind, stream;
    uint8_t has_bin_offsets;
    uint8_t reserved[3];
};
_Static_assert(sizeof(struct tl_journal_block_header) == 48, "is in the file");
#define TL_JOURNAL_CHECKED_FROM offsetof(struct tl_journal_block_header, body_bytes)

/* Body of a begun block: a copy of the header's struct tl_journal_run. Body of an end mark. Body of a records block:
 * count bin offsets if it has them, count records, zeros up to 8 bytes.
 */
struct tl_journal_end {
    uint64_t attempted, parked_ns;
    uint64_t losses[TL_JOURNAL_MAX_LOSSES];
};
_Static_assert(sizeof(struct tl_journal_end) == 80, "is in the file");

#endif
