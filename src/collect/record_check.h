/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are not trusted: they come out of device memory, where a kernel's stray write may have hit them, or out of a
 * journal, whose checksums say who wrote last and not that it is true. So each field is held against a table when a
 * record is read, by the live collectors and by recovery alike, and nothing behind this check looks at it again.
 *
 * A collector names its tables (one, or one a kind where the record's first byte is its kind) and adds by `inspect`
 * what several fields say together.
 */
#ifndef TL_COLLECT_RECORD_CHECK_H
#define TL_COLLECT_RECORD_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#include "base/count_of.h"

struct tl_arch;
struct tl_collector_spec;
struct tl_payload;
struct tl_journal_run;

#define TL_CORES_MAX 4096u /* beyond it a core's number is damage */

#define TL_COUNT_MAX (UINT64_C(1) << 48) /* nobody counts so many records in one run */

enum tl_field_kind {
    TL_FIELD_UINT,    /* min <= value <= max */
    TL_FIELD_INT,     /* the same, signed */
    TL_FIELD_FLAGS,   /* no bit beyond those of max */
    TL_FIELD_TEXT,    /* ends within its bytes */
    TL_FIELD_TASK,    /* a task's id: its ring is one */
    TL_FIELD_CORE,    /* a core of the run */
    TL_FIELD_EVENT,   /* the run's PMU event type */
    TL_FIELD_COLUMNS, /* bits of PMU columns that a machine can measure */
};

struct tl_record_field {
    const char *name;
    uint16_t offset, bytes, count; /* `count` values of `bytes` side by side */
    uint8_t kind;                  /* enum tl_field_kind */
    int64_t min;
    uint64_t max;
};

#define TL_FIELD__AT(type, member, name_, n, kind_, min_, max_)                                                        \
    {                                                                                                                  \
        .name = (name_), .offset = offsetof(type, member), .bytes = sizeof(((type *)NULL)->member) / (n),              \
        .count = (n), .kind = (kind_), .min = (min_), .max = (max_)                                                    \
    }
#define TL_FIELD(type, member, min_, max_) TL_FIELD__AT(type, member, "record." #member, 1, TL_FIELD_UINT, min_, max_)
#define TL_FIELD_SIGNED(type, member, n, min_, max_)                                                                   \
    TL_FIELD__AT(type, member, "record." #member, n, TL_FIELD_INT, min_, max_)
#define TL_FIELD_BITS(type, member, mask) TL_FIELD__AT(type, member, "record." #member, 1, TL_FIELD_FLAGS, 0, mask)
#define TL_FIELD_OF_KIND(type, member, kind_) TL_FIELD__AT(type, member, "record." #member, 1, kind_, 0, UINT64_MAX)

struct tl_record_table {
    const struct tl_record_field *fields;
    uint32_t n;
};
#define TL_RECORD_TABLE(fields_)                                                                                       \
    {                                                                                                                  \
        .fields = (fields_), .n = COUNT_OF(fields_)                                                                    \
    }

/* What the run sets beyond the tables. */
struct tl_record_limits {
    uint32_t cores; /* 0: not known */
    bool no_pieces; /* payloads are whole or truncated */
    bool pmu;       /* the next two are known */
    uint32_t pmu_event, pmu_columns;
};

struct tl_run_facts;
/* The chip's arch, or NULL: the facts do not name it, or name none that exists. */
const struct tl_arch *tl__facts_arch(const struct tl_run_facts *facts);
/* The arch whose clusters the run's are. A journal that names no arch was written when all archs had the same ones. */
const struct tl_arch *tl__facts_cluster(const struct tl_run_facts *facts);
/* Of a run on `facts->clusters` clusters of `facts->arch`, recorded with PMU event type `pmu_event`. */
struct tl_record_limits tl__record_limits(const struct tl_run_facts *facts, uint32_t pmu_event, bool pieces);

/* NULL and *ret_payload, or the name of the field that holds an impossible value. `record` must not change meanwhile:
 * a copy. */
const char *tl__record_check(const struct tl_collector_spec *spec, const struct tl_record_limits *limits,
                             const void *record, struct tl_payload *ret_payload);
/* NULL, or the first field of the table that holds an impossible value. */
const struct tl_record_field *tl__fields_check(const struct tl_record_table *table,
                                               const struct tl_record_limits *limits, const void *record);

/* A journal's header, which bounds all that is made from it. 0, or TL_EPARSE and the field, its value and its range. */
int tl__journal_run_check(const struct tl_journal_run *run, const char *path, struct tl_error *reterr);
struct tl_record_limits tl__journal_limits(const struct tl_journal_run *run);
/* Whether lane `lane` of that run was one of the stream's. */
bool tl__journal_lane_is(const struct tl_journal_run *run, unsigned stream, unsigned lane);
/* Whether the counts of an end mark can be. */
struct tl_journal_block;
bool tl__journal_counts_are(const struct tl_journal_block *block);
/* Whether `bin` can be where a record's payload went, as far as a journal can show: it is TL_BIN_NONE, a known loss,
 * or an offset of a file that can be. */
bool tl__journal_bin_is(uint64_t bin);

#endif
