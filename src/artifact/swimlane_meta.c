/* SPDX-License-Identifier: Apache-2.0 */
/* The swimlane's head: cores and clocks; and what the whole says: rows that appear twice. */
#include <stdio.h>
#include <string.h>

#include <tasklens/kernel.h>

#include "artifact/swimlane_impl.h"
#include "base/env.h"

/* ---- cores ---- */

static int take_core_types(struct tl_tape *t, uint32_t at, struct tl_swimlane *s)
{
    static const char *const field = "core_types";
    static const char *const types[] = {[TL_AIC] = "aic", [TL_AIV] = "aiv"};
    uint32_t count = 0, item = at + 1;
    unsigned type = 0;
    int code = tl__tape_array(t, at, field, &count);

    if (code == 0 && count != s->num_cores)
        return tl__tape_fail(t, TL_EPARSE, field, "%u entries for %u cores", count, s->num_cores);
    if (code != 0)
        return code;
    s->core_types = tl__alloc((size_t)count + 1, sizeof(*s->core_types)); /* never of 0 bytes */
    if (s->core_types == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        code = tl__tape_word(t, item, field, types, 2, &type);
        if (code == TL_ENOENT)
            code = tl__tape_fail(t, TL_EPARSE, field, "core %u: '%.40s' is neither aic nor aiv", i,
                                 t->text + t->tokens[item].start);
        s->core_types[i] = (uint8_t)type;
        item = t->tokens[item].next;
    }
    return code;
}

static int take_core_to_thread(struct tl_tape *t, uint32_t at, struct tl_swimlane *s)
{
    static const char *const field = "core_to_thread";
    uint32_t count = 0, item = at + 1;
    int code = tl__tape_array(t, at, field, &count);

    if (code == 0 && count != s->num_cores)
        return tl__tape_fail(t, TL_EPARSE, field, "%u entries for %u cores", count, s->num_cores);
    if (code != 0)
        return code;
    s->core_to_thread = tl__alloc((size_t)count + 1, sizeof(*s->core_to_thread));
    if (s->core_to_thread == NULL)
        return TL_ENOMEM;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        code = tl__tape_i32(t, item, field, &s->core_to_thread[i]);
        if (code == 0 && (s->core_to_thread[i] < -1 || s->core_to_thread[i] > TL_SWIM_THREAD_MAX))
            code = tl__tape_fail(t, TL_EPARSE, field, "core %u: %d is no thread", i, s->core_to_thread[i]);
        item = t->tokens[item].next;
    }
    return code;
}

/* ---- clocks ---- */

/* More than there is room for: the first ones and the very last stay, so that the run lies between them. */
static void keep_anchor(struct tl_swimlane *s, const struct tl_swim_anchor *anchor)
{
    if (s->n_anchors < TL_SWIM_MAX_ANCHORS)
        s->n_anchors++;
    s->anchors[s->n_anchors - 1] = *anchor;
}

static int take_anchor(struct tl_tape *t, uint32_t at, struct tl_swimlane *s)
{
    enum { POSITION, BEFORE, DEVICE, AFTER, UNCERTAINTY, ERROR, COUNT };
    static const char *const names[COUNT] = {"position",      "host_before_ns", "device_cycles",
                                             "host_after_ns", "uncertainty_ns", "error"};
    struct tl_swim_anchor a = {.position = ""};
    const char *position = NULL;
    size_t length = 0;
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, at, NULL, names, COUNT, f);

    if (code != 0 || !tl__tape_is_null(t, f[ERROR]))
        return code; /* a reading that failed says so */
    code = tl__tape_string(t, f[POSITION], names[POSITION], &position, &length);
    if (code == 0)
        code = tl__tape_u64(t, f[BEFORE], names[BEFORE], UINT64_MAX, &a.host_before_ns);
    if (code == 0)
        code = tl__tape_u64(t, f[DEVICE], names[DEVICE], UINT64_MAX, &a.device_cycles);
    if (code == 0)
        code = tl__tape_u64(t, f[AFTER], names[AFTER], UINT64_MAX, &a.host_after_ns);
    if (code == 0 && a.host_after_ns < a.host_before_ns)
        return tl__tape_fail(t, TL_EPARSE, names[AFTER], "before host_before_ns");
    a.uncertainty_ns = (a.host_after_ns - a.host_before_ns) / 2 + ((a.host_after_ns - a.host_before_ns) & 1);
    if (code == 0 && !tl__tape_is_null(t, f[UNCERTAINTY]))
        code = tl__tape_u64(t, f[UNCERTAINTY], names[UNCERTAINTY], UINT64_MAX, &a.uncertainty_ns);
    if (code != 0)
        return code;
    memcpy(a.position, position, length < sizeof(a.position) ? length : sizeof(a.position) - 1);
    keep_anchor(s, &a);
    return 0;
}

static int take_anchors(struct tl_tape *t, uint32_t at, struct tl_swimlane *s)
{
    enum { SCHEMA_VERSION, SAMPLES, COUNT };
    static const char *const names[COUNT] = {"schema_version", "samples"};
    uint32_t f[COUNT], version = 1, count = 0, item;
    int code = tl__tape_fields(t, at, "clock_anchors", names, COUNT, f);

    if (code == 0 && f[SCHEMA_VERSION] != TL_TAPE_ABSENT)
        code = tl__tape_u32(t, f[SCHEMA_VERSION], names[SCHEMA_VERSION], &version);
    if (code != 0 || version > 1)
        return code; /* a later form is not guessed at; the records are good without it */
    code = tl__tape_array(t, f[SAMPLES], names[SAMPLES], &count);
    item = f[SAMPLES] + 1;
    t->inner = "clock_anchors.samples";
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        t->inner_index = i;
        code = take_anchor(t, item, s);
        item = t->tokens[item].next;
    }
    if (code == 0)
        t->inner = NULL;
    return code;
}

static int take_host_capture(struct tl_tape *t, uint32_t at, struct tl_swimlane *s)
{
    enum { STATUS, DROPPED, COUNT };
    static const char *const names[COUNT] = {"status", "dropped_records"};
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, at, "host_capture", names, COUNT, f);

    if (code == 0 && !tl__tape_is_null(t, f[STATUS]))
        code = tl__tape_text(t, f[STATUS], names[STATUS], s->host_status, sizeof(s->host_status));
    if (code == 0 && !tl__tape_is_null(t, f[DROPPED]))
        code = tl__tape_u64(t, f[DROPPED], names[DROPPED], UINT64_MAX, &s->host_dropped);
    return code;
}

/* One moment on both clocks, where it is bounded and no anchor says it better: between `min` and `max` where these are
 * host times around it. */
static int take_alignment(struct tl_tape *t, uint32_t at, struct tl_swimlane *s)
{
    enum { STATUS, DEVICE, HOST, MIN, MAX, REASON, COUNT };
    static const char *const names[COUNT] = {"status", "device_anchor_cycles", "host_anchor_ns", "min", "max",
                                             "reason"};
    struct tl_swim_anchor a = {.position = "alignment"};
    uint32_t f[COUNT];
    int64_t least = 0, most = 0;
    int code = tl__tape_fields(t, at, "clock_alignment", names, COUNT, f);

    if (code != 0)
        return code;
    if (f[DEVICE] == TL_TAPE_ABSENT || f[HOST] == TL_TAPE_ABSENT) {
        (void)snprintf(s->unaligned, sizeof(s->unaligned), "no reason is given");
        return tl__tape_is_null(t, f[REASON])
                   ? 0
                   : tl__tape_text(t, f[REASON], names[REASON], s->unaligned, sizeof(s->unaligned));
    }
    code = tl__tape_u64(t, f[DEVICE], names[DEVICE], UINT64_MAX, &a.device_cycles);
    if (code == 0)
        code = tl__tape_u64(t, f[HOST], names[HOST], UINT64_MAX, &a.host_before_ns);
    if (code == 0 && !tl__tape_is_null(t, f[MIN]))
        code = tl__tape_i64(t, f[MIN], names[MIN], &least);
    if (code == 0 && !tl__tape_is_null(t, f[MAX]))
        code = tl__tape_i64(t, f[MAX], names[MAX], &most);
    a.host_after_ns = a.host_before_ns;
    if (most > least)
        a.uncertainty_ns = ((uint64_t)most - (uint64_t)least + 1) / 2;
    if (code == 0 && s->n_anchors == 0)
        keep_anchor(s, &a);
    return code;
}

int tl__swimlane_take_metadata(struct tl_tape *t, struct tl_swimlane *s)
{
    enum { CLOCK, NUM_CORES, CORE_TYPES, CORE_TO_THREAD, ANCHORS, RUNTIME, DOMAIN, CAPTURE, ALIGNMENT, COUNT };
    static const char *const names[COUNT] = {"clock_freq_hz",        "num_cores",     "core_types",
                                             "core_to_thread",       "clock_anchors", "runtime",
                                             "host_clock_domain_id", "host_capture",  "clock_alignment"};
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, 0, NULL, names, COUNT, f);

    if (code == 0)
        code = tl__tape_u64(t, f[CLOCK], names[CLOCK], UINT64_MAX, &s->clock_freq_hz);
    if (code == 0 && s->clock_freq_hz == 0)
        return tl__tape_fail(t, TL_EPARSE, names[CLOCK], "0: there is no time without it");
    if (code == 0)
        code = tl__tape_u32(t, f[NUM_CORES], names[NUM_CORES], &s->num_cores);
    if (code == 0)
        code = take_core_types(t, f[CORE_TYPES], s);
    if (code == 0 && !tl__tape_is_null(t, f[CORE_TO_THREAD]))
        code = take_core_to_thread(t, f[CORE_TO_THREAD], s);
    if (code == 0 && !tl__tape_is_null(t, f[ANCHORS]))
        code = take_anchors(t, f[ANCHORS], s);
    if (code == 0 && !tl__tape_is_null(t, f[RUNTIME]))
        code = tl__tape_text(t, f[RUNTIME], names[RUNTIME], s->runtime, sizeof(s->runtime));
    if (code == 0 && !tl__tape_is_null(t, f[DOMAIN]))
        code = tl__tape_text(t, f[DOMAIN], names[DOMAIN], s->host_domain, sizeof(s->host_domain));
    if (code == 0 && !tl__tape_is_null(t, f[CAPTURE]))
        code = take_host_capture(t, f[CAPTURE], s);
    if (code == 0 && !tl__tape_is_null(t, f[ALIGNMENT]))
        code = take_alignment(t, f[ALIGNMENT], s);
    return code;
}

/* ---- rows that appear twice ---- */

struct seat {
    uint64_t core_and_reg;
    uint32_t run_epoch;
    bool taken;
};

/* Adds the key to the open-addressing table; true if it was there. */
static bool add_key(struct seat *table, uint64_t mask, uint32_t run_epoch, uint32_t core_id, uint32_t reg_task_id)
{
    uint64_t key = (uint64_t)core_id << 32 | reg_task_id;
    uint64_t hash = (key ^ (uint64_t)run_epoch << 17) * 0x9e3779b97f4a7c15u, at = (hash ^ hash >> 32) & mask;

    for (; table[at].taken; at = (at + 1) & mask)
        if (table[at].core_and_reg == key && table[at].run_epoch == run_epoch)
            return true;
    table[at] = (struct seat){key, run_epoch, true};
    return false;
}

int tl__swimlane_count_duplicates(struct tl_swimlane *s)
{
    uint64_t rows = s->n_cores > s->n_aicpus ? s->n_cores : s->n_aicpus, slots = 16;
    struct seat *table;

    while (slots < rows * 2)
        slots *= 2;
    table = tl__alloc(slots, sizeof(*table));
    if (table == NULL)
        return TL_ENOMEM;
    s->duplicates = 0;
    for (uint64_t i = 0; i < s->n_cores; i++)
        s->duplicates += add_key(table, slots - 1, s->cores[i].run_epoch, s->cores[i].core_id, s->cores[i].reg_task_id);
    memset(table, 0, slots * sizeof(*table));
    for (uint64_t i = 0; i < s->n_aicpus; i++)
        s->duplicates +=
            add_key(table, slots - 1, s->aicpus[i].run_epoch, s->aicpus[i].core_id, s->aicpus[i].reg_task_id);
    tl__free(table);
    return 0;
}
