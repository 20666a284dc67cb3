/* SPDX-License-Identifier: Apache-2.0 */
/* An engine over a fake chip: runs of scripted roles, and the check of what came out, byte for byte. */
#ifndef TESTS_FAKE_RUN_H
#define TESTS_FAKE_RUN_H

#include <stdio.h>

#include "artifact/args_dump.h"
#include "artifact/journal.h"
#include "collect/engine.h"
#include "support/fake_chip.h"

#define FAKE_LANES 8

struct fake_world {
    struct fake_chip chip;
    struct tl_engine *engine;
    struct fake_role roles[FAKE_LANES];
    unsigned lanes;
};

/* TL_ENOMEM, with nothing made, when the engine could not be. */
static inline int fake_world_try(struct fake_world *w, enum fake_kind kind, unsigned threads, uint64_t memory)
{
    struct tl_engine_opts opts = {.transport = &w->chip.transport, .threads = threads};
    int r;

    memset(w, 0, sizeof(*w));
    r = fake_chip_try(&w->chip, kind, memory);
    if (r == 0)
        r = tl__engine_create(&opts, &w->engine, NULL);
    if (r < 0)
        fake_chip_fini(&w->chip);
    return r;
}

static inline void fake_world_init(struct fake_world *w, enum fake_kind kind, unsigned threads, uint64_t memory)
{
    if (fake_world_try(w, kind, threads, memory) < 0)
        abort();
}

static inline void fake_world_fini(struct fake_world *w)
{
    tl__engine_destroy(w->engine);
    fake_chip_fini(&w->chip);
}

/* begin, and every role attached and in the epoch. */
static inline int fake_begin(struct fake_world *w, uint32_t epoch, unsigned lanes, const struct tl_run_config *config,
                             const struct fake_script *script, struct tl_error *reterr)
{
    struct tl_engine_run run = {.epoch = epoch,
                                .config = config,
                                .lanes = lanes,
                                .program = "fake",
                                .case_name = "case",
                                .platform = "fakesim",
                                .facts.clock_freq_hz = 50000000};
    uint64_t dfx;
    int r = tl__engine_begin(w->engine, &run, &dfx, reterr);

    if (r < 0)
        return r;
    w->lanes = lanes;
    for (unsigned i = 0; i < lanes; i++) {
        if (fake_role_attach(&w->roles[i], &w->chip, dfx, i) < 0)
            return TL_ECORRUPT;
        fake_role_begin(&w->roles[i], script, epoch);
    }
    return 0;
}

/* tl__engine_export with what is expected of the dump alone. */
static inline int fake_export(struct tl_engine *e, uint32_t epoch, uint64_t expected_dump, struct tl_run_result *result,
                              struct tl_error *reterr)
{
    uint64_t expected[TL_STREAM_COUNT] = {[TL_STREAM_DUMP] = expected_dump};

    return tl__engine_export(e, epoch, expected, result, reterr);
}

static inline uint64_t fake_expected(const struct fake_world *w)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < w->lanes; i++)
        n += w->roles[i].script.records;
    return n;
}

/* One record of the manifest against its script. "" or what is wrong. */
static inline const char *fake_check_record(struct tl_dump_reader *reader, const struct tl_dump_record *r,
                                            const struct fake_script *s, uint32_t epoch, uint64_t arena_bytes)
{
    uint32_t lane = (uint32_t)(r->task_id >> 32) & 0xffff, i = (uint32_t)r->task_id;
    uint64_t bytes = fake_bytes(s, epoch, lane, i);
    const void *data;

    if (r->task_id >> 48 != epoch || lane >= FAKE_LANES || i >= s->records)
        return "a record of another run";
    if (r->func_count != 1 || r->func_id[0] != (int32_t)lane)
        return "func_id";
    if (fake_is_scalar(s, i))
        return r->kind == TL_KIND_SCALAR && r->value_bits == fake_mix(epoch, lane, i) ? "" : "a scalar's value";
    if (r->kind != TL_KIND_TENSOR)
        return "kind";
    if (fake_is_chunk(s, i))
        bytes = arena_bytes / 4 * s->chunk_pieces;
    if (r->shape[0] != bytes)
        return "shape";
    if (s->no_payload)
        return r->bin_size == 0 && (r->flags & TL_ARG_LOST) == 0 ? "" : "a payload nobody asked for";
    if ((r->flags & TL_ARG_LOST) != 0)
        return r->bin_size == 0 && r->cause != 0 ? "" : "a lost payload with bytes";
    if ((r->flags & TL_ARG_TRUNCATED) != 0) {
        if (bytes <= arena_bytes || r->bin_size != arena_bytes / 2)
            return "truncated";
    } else if ((r->flags & TL_ARG_PARTIAL) == 0 && r->bin_size != bytes) {
        return "bin_size";
    }
    if (r->bin_size == 0)
        return bytes == 0 ? "" : "an empty payload";
    if (tl__dump_payload(reader, r, &data, NULL) < 0)
        return "the payload is not in the file";
    for (uint64_t k = 0; k < r->bin_size; k++)
        if (((const uint8_t *)data)[k] != fake_byte(r->task_id, k))
            return "a payload byte";
    if ((r->flags & TL_ARG_HAS_HASH) != 0 && r->hash != tl__hash64(data, r->bin_size))
        return "the hash";
    return "";
}

struct fake_found {
    uint64_t records, lost, truncated, partial, dropped;
    char wrong[200]; /* "" */
};

/* Reads DIR's manifest, checks every record's values, and that none is there twice. */
static inline struct fake_found fake_check_dir(const char *dir, const struct fake_script *s, uint32_t epoch,
                                               uint64_t arena_bytes)
{
    struct fake_found found = {0};
    struct tl_dump_reader *reader;
    struct tl_error err = {0};
    char path[1200];

    snprintf(path, sizeof(path), "%s/args_dump", dir);
    if (tl__dump_open(path, &reader, &err) < 0) {
        snprintf(found.wrong, sizeof(found.wrong), "%.190s", err.msg);
        return found;
    }
    found.records = tl__dump_record_count(reader);
    found.dropped = tl__dump_summary(reader)->dropped_records;
    for (uint64_t i = 0; i < found.records && found.wrong[0] == '\0'; i++) {
        const struct tl_dump_record *r = &tl__dump_records(reader)[i];
        const char *wrong = fake_check_record(reader, r, s, epoch, arena_bytes);

        if (wrong[0] == '\0' && i > 0 && r->task_id <= r[-1].task_id)
            wrong = "a record twice, or out of order";
        if (wrong[0] != '\0')
            snprintf(found.wrong, sizeof(found.wrong), "record %llu (task %llx): %s", (unsigned long long)i,
                     (unsigned long long)r->task_id, wrong);
        found.lost += (r->flags & TL_ARG_LOST) != 0;
        found.truncated += (r->flags & TL_ARG_TRUNCATED) != 0;
        found.partial += (r->flags & TL_ARG_PARTIAL) != 0;
    }
    tl__dump_close(reader);
    return found;
}

static inline bool fake_exists(const char *dir, const char *name)
{
    char path[1200];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

#endif
