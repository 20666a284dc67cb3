/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of run.journal (docs/formats/journal.md). Little endian, as the machine is: the header's byte order says
 * so. */
#ifndef TL_ARTIFACT_JOURNAL_FORMAT_H
#define TL_ARTIFACT_JOURNAL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/journal.h"

#define TL_JOURNAL_MAGIC "TLJOURNL"
#define TL_JOURNAL_BLOCK_MAGIC 0x4b424a54u /* "TJBK" */
#define TL_JOURNAL_BYTE_ORDER 0x01020304u
#define TL_JOURNAL_HEADER_MAX 65536u /* a header that claims more is damaged */
#define TL_JOURNAL_BODY_MAX ((uint64_t)1 << 32)

/* Version 1 has no block that says the run has begun (TL_JOURNAL_BEGUN); otherwise it is version 2, whose description
 * of the run is struct tl_journal_run_2. A later version may make the header longer; blocks start at header_bytes. */
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
_Static_assert(sizeof(struct tl_journal_run) == 832, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, facts) == 736, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, start_unix_ns) == 240, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, epoch) == 264, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, records_per_buffer) == 340, "is in the file");
_Static_assert(offsetof(struct tl_journal_run, streams) == 348, "is in the file");
_Static_assert(offsetof(struct tl_journal_header, run) == 32, "is in the file");
_Static_assert(sizeof(struct tl_journal_header) % 8 == 0, "blocks are aligned");

/* The run as versions 1 and 2 describe it. */
struct tl_journal_run_2 {
    char program[128], case_name[64], platform[16], runtime[32];
    uint64_t start_unix_ns, clock_freq_hz, arena_bytes;
    uint32_t epoch;
    uint8_t dump_level, swimlane_level, pmu_event, dep_gen, scope_stats, dump_hash, dump_chunk, stream_count;
    uint32_t records_per_buffer, lane_count;
    struct tl_journal_stream streams[TL_JOURNAL_MAX_STREAMS];
    uint32_t format;
    struct tl_run_facts facts;
};
_Static_assert(sizeof(struct tl_journal_run_2) == 768, "is in the file");
_Static_assert(offsetof(struct tl_journal_run_2, streams) == 284, "is in the file");
_Static_assert(offsetof(struct tl_journal_run_2, facts) == 672, "is in the file");

/* The run from `bytes` bytes of a header or of a begun block, whichever version they are of: the size says. False: of
 * none. */
bool tl__journal_run_take(const void *from, uint64_t bytes, struct tl_journal_run *ret_run);

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

/* Body of a begun block: a copy of the run in the header. Body of an end mark. Body of a records block:
 * count bin offsets if it has them, count records, zeros up to 8 bytes.
 */
struct tl_journal_end {
    uint64_t attempted, parked_ns;
    uint64_t losses[TL_JOURNAL_MAX_LOSSES];
};
_Static_assert(sizeof(struct tl_journal_end) == 80, "is in the file");

#endif
