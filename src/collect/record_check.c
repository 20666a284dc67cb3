/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/record_check.h"

#include <string.h>

#include "arch/pmu_set.h"
#include "artifact/args_dump.h"
#include "artifact/journal.h"
#include "base/error.h"
#include "collect/collector.h"
#include "collect/engine_impl.h"
#include "graph/graph.h"

#define BIN_MAX (UINT64_C(1) << 62)   /* no file is longer */
#define BYTES_MAX (UINT64_C(1) << 56) /* nor a heap */

static uint64_t load(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, at, bytes); /* little endian, as device and journal are */
    return value;
}

static int64_t load_signed(const uint8_t *at, unsigned bytes)
{
    const unsigned shift = 64 - 8 * bytes;

    return (int64_t)(load(at, bytes) << shift) >> shift;
}

static bool value_is_possible(const struct tl_record_field *f, const struct tl_record_limits *limits, const uint8_t *at)
{
    const uint64_t value = f->kind != TL_FIELD_TEXT ? load(at, f->bytes) : 0;

    switch ((enum tl_field_kind)f->kind) {
    case TL_FIELD_UINT:
        return value >= (uint64_t)f->min && value <= f->max;
    case TL_FIELD_INT:
        return load_signed(at, f->bytes) >= f->min && load_signed(at, f->bytes) <= (int64_t)f->max;
    case TL_FIELD_FLAGS:
        return (value & ~f->max) == 0;
    case TL_FIELD_TEXT:
        return memchr(at, 0, f->bytes) != NULL;
    case TL_FIELD_TASK:
        return value >> 32 < TL_RINGS;
    case TL_FIELD_EVENT:
        return !limits->pmu || value == limits->pmu_event;
    case TL_FIELD_COLUMNS:
        return (value & ~(limits->pmu ? (uint64_t)limits->pmu_columns : f->max)) == 0;
    case TL_FIELD_CORE:
        return value < (limits->cores != 0 ? limits->cores : TL_CORES_MAX);
    }
    return false;
}

const struct tl_record_field *tl__fields_check(const struct tl_record_table *table,
                                               const struct tl_record_limits *limits, const void *record)
{
    for (uint32_t i = 0; i < table->n; i++) {
        const struct tl_record_field *f = &table->fields[i];

        for (uint32_t k = 0; k < f->count; k++)
            if (!value_is_possible(f, limits, (const uint8_t *)record + f->offset + (size_t)k * f->bytes))
                return f;
    }
    return NULL;
}

const struct tl_arch *tl__facts_arch(const struct tl_run_facts *facts)
{
    const struct tl_arch *arch;

    for (unsigned i = 0; (arch = tl__arch_at(i)) != NULL; i++)
        if (strncmp(facts->arch, arch->name, sizeof(facts->arch)) == 0)
            return arch;
    return NULL;
}

const struct tl_arch *tl__facts_cluster(const struct tl_run_facts *facts)
{
    const struct tl_arch *arch = tl__facts_arch(facts);

    return arch != NULL ? arch : tl__arch_at(0);
}

struct tl_record_limits tl__record_limits(const struct tl_run_facts *facts, uint32_t pmu_event, bool pieces)
{
    struct tl_record_limits limits = {.cores = tl__arch_cores(tl__facts_cluster(facts), facts->clusters),
                                      .no_pieces = !pieces};
    const struct tl_arch *arch = tl__facts_arch(facts);
    const struct tl_pmu_set *set = arch != NULL ? tl__pmu_set(arch, pmu_event) : NULL;

    limits.pmu = set != NULL;
    limits.pmu_event = pmu_event;
    for (uint32_t c = 0; set != NULL && c < set->n_columns; c++)
        if (set->columns[c].machine.event != NULL)
            limits.pmu_columns |= 1u << c;
    return limits;
}

const char *tl__record_check(const struct tl_collector_spec *spec, const struct tl_record_limits *limits,
                             const void *record, struct tl_payload *ret_payload)
{
    const unsigned kind = spec->n_tables == 1 ? 0 : *(const uint8_t *)record;
    const struct tl_record_field *bad;
    const char *name;

    *ret_payload = (struct tl_payload){.whole = true};
    if (kind >= spec->n_tables || spec->tables[kind].n == 0)
        return "record.kind";
    bad = tl__fields_check(&spec->tables[kind], limits, record);
    if (bad != NULL)
        return bad->name;
    name = spec->inspect != NULL ? spec->inspect(record, ret_payload) : NULL;
    if (name == NULL && limits->no_pieces && ret_payload->total != 0)
        return "record.flags";
    return name;
}

/* --- a journal's header --------------------------------------------------------------------------------------------
 */

#define RUN(member, min_, max_) TL_FIELD__AT(struct tl_journal_run, member, #member, 1, TL_FIELD_UINT, min_, max_)
#define RUN_RINGS(member, max_)                                                                                        \
    TL_FIELD__AT(struct tl_journal_run, member, #member, TL_FACTS_RINGS, TL_FIELD_UINT, 0, max_)

static const struct tl_record_field run_fields[] = {
    RUN(clock_freq_hz, 0, UINT64_C(1000000000000)),
    RUN(facts.clock_freq_hz, 0, UINT64_C(1000000000000)),
    RUN(arena_bytes, 0, BYTES_MAX),
    RUN(flags, 0, TL_JOURNAL_HASHES | TL_JOURNAL_PIECES),
    RUN(records_per_buffer, 0, 1u << 20),
    RUN(lane_count, 0, TL_DFX_MAX_LANES),
    RUN_RINGS(facts.heap_bytes, BYTES_MAX),
    RUN_RINGS(facts.task_window, TL_TASK_WINDOW_MAX),
    RUN_RINGS(facts.dep_pool, UINT32_MAX),
    RUN(facts.clusters, 0, TL_CORES_MAX / TL_CLUSTER_CORES_MAX),
    RUN(facts.schedulers, 0, TL_DFX_MAX_LANES),
    RUN(facts.host_build, 0, 1),
    RUN(facts.lane_streams, 0, (1u << TL_STREAM_COUNT) - 1),
    TL_FIELD__AT(struct tl_journal_run, facts.arch, "facts.arch", 1, TL_FIELD_TEXT, 0, 0),
};

/* The first lane of a stream; of TL_STREAM_COUNT: how many there are. */
static unsigned first_lane(const struct tl_journal_run *run, unsigned stream)
{
    unsigned first = 0;

    for (unsigned i = 0; i < stream; i++)
        if ((run->facts.lane_streams >> i & 1u) != 0)
            first += tl__lanes_of(i, run->facts.schedulers);
    return first;
}

int tl__journal_run_check(const struct tl_journal_run *run, const char *path, struct tl_error *reterr)
{
    static const struct tl_record_table table = TL_RECORD_TABLE(run_fields);
    static const struct tl_record_limits none = {0};
    const struct tl_record_field *bad = tl__fields_check(&table, &none, run);
    const int wrong = tl__levels_wrong(run->levels);
    unsigned lanes;

    if (wrong >= 0)
        return tl__fail(reterr, TL_EPARSE,
                        "%s: the header is damaged: the level of diagnostic %d (%s) is %d; %d is the most", path, wrong,
                        wrong < TL_COLLECT_COUNT ? tl__collect_rows[wrong].option : "unknown", run->levels[wrong],
                        wrong < TL_COLLECT_COUNT ? tl__collect_rows[wrong].max : 0);
    if (bad != NULL && bad->kind == TL_FIELD_TEXT)
        return tl__fail(reterr, TL_EPARSE, "%s: the header is damaged: its field %s does not end", path, bad->name);
    for (uint32_t k = 0; bad != NULL && k < bad->count; k++) {
        const uint8_t *at = (const uint8_t *)run + bad->offset + (size_t)k * bad->bytes;

        if (!value_is_possible(bad, &none, at))
            return tl__fail(reterr, TL_EPARSE, "%s: the header is damaged: its field %s is %llu; %llu is the most",
                            path, bad->name, (unsigned long long)load(at, bad->bytes), (unsigned long long)bad->max);
    }
    lanes = first_lane(run, TL_STREAM_COUNT);
    return lanes <= TL_DFX_MAX_LANES ? 0
                                     : tl__fail(reterr, TL_EPARSE,
                                                "%s: the header is damaged: %u schedulers make %u lanes; %u are the "
                                                "most",
                                                path, run->facts.schedulers, lanes, TL_DFX_MAX_LANES);
}

struct tl_record_limits tl__journal_limits(const struct tl_journal_run *run)
{
    return tl__record_limits(&run->facts, (uint32_t)run->levels[TL_COLLECT_PMU], (run->flags & TL_JOURNAL_PIECES) != 0);
}

bool tl__journal_lane_is(const struct tl_journal_run *run, unsigned stream, unsigned lane)
{
    const unsigned first = first_lane(run, stream);

    return (run->facts.lane_streams >> stream & 1u) != 0 && lane >= first &&
           lane - first < tl__lanes_of(stream, run->facts.schedulers);
}

bool tl__journal_counts_are(const struct tl_journal_block *block)
{
    uint64_t lost = 0;

    if (block->attempted > TL_COUNT_MAX)
        return false;
    for (unsigned i = 0; i < TL_JOURNAL_MAX_LOSSES; i++) {
        if (block->losses[i] > TL_COUNT_MAX)
            return false;
        lost += block->losses[i];
    }
    return lost <= block->attempted;
}

bool tl__journal_bin_is(uint64_t bin)
{
    if (TL_BIN_IS_LOST(bin))
        return TL_BIN_CAUSE(bin) != TL_DUMP_CAUSE_NONE && TL_BIN_CAUSE(bin) <= TL_DUMP_CAUSE_OTHER;
    return bin == TL_BIN_NONE || bin < BIN_MAX;
}
