/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/text/json_head.h"
#include "analysis/text/phrases.h"
#include "artifact/args_dump.h"
#include "base/count_of.h"
#include "base/hash.h"

/* `record` NULL: the fault is the manifest's as a whole. */
typedef void (*fault_fn)(void *ctx, enum tl_task_layout layout, uint64_t index, const struct tl_dump_record *record,
                         const char *what);

struct result {
    uint64_t records, payloads, payload_bytes, hashed, unhashed, faults;
    uint64_t lost[TL_DUMP_CAUSE_OTHER + 1], cut, lost_total; /* payloads, by cause; in pieces that did not all come */
    uint64_t dropped;                                        /* records */
};

struct pass {
    const struct tl_dump_verify *verify;
    struct result result;
    fault_fn fn;
    void *ctx;
};

static void fault(struct pass *p, uint64_t index, const char *what)
{
    p->result.faults++;
    p->fn(p->ctx, p->verify->layout, index, tl_recording_at(p->verify->recording, index), what);
}

/* A whole payload has the size that its dtype and shape say; a cut one has less. */
static void check_size(struct pass *p, uint64_t index, const struct tl_dump_record *r)
{
    uint64_t whole = tl__dump_payload_bytes(r);
    bool may_be_cut = (r->flags & (TL_ARG_TRUNCATED | TL_ARG_PARTIAL | TL_ARG_LOST)) != 0;
    char what[160];

    if (tl_dtype_bits(r->dtype) == 0 || r->rank > TL_MAX_DIMS || r->bin_size == whole ||
        (may_be_cut && r->bin_size < whole))
        return;
    (void)snprintf(what, sizeof(what), "bin_size is %" PRIu64 ", dtype and shape say %" PRIu64, r->bin_size, whole);
    fault(p, index, what);
}

static void check_payload(struct pass *p, uint64_t index, const struct tl_dump_record *r)
{
    const void *data = NULL;
    struct tl_error error;
    uint64_t hash;
    char what[160];

    p->result.payloads++;
    p->result.payload_bytes += r->bin_size;
    check_size(p, index, r);
    if (tl_recording_payload(p->verify->recording, index, &data, &error) < 0) {
        fault(p, index, error.msg);
        return;
    }
    if ((r->flags & TL_ARG_HAS_HASH) == 0) {
        p->result.unhashed++;
        return;
    }
    p->result.hashed++;
    hash = tl__hash64(data, (size_t)r->bin_size);
    if (hash == r->hash)
        return;
    (void)snprintf(what, sizeof(what), "hash is xxh3:%016" PRIx64 ", the device wrote xxh3:%016" PRIx64, hash, r->hash);
    fault(p, index, what);
}

/* The sums in the head of the manifest against the records. */
static void check_counts(struct pass *p)
{
    const struct tl_recording *recording = p->verify->recording;
    const struct tl_dump_summary *said = tl_recording_summary(recording);
    struct tl_dump_summary real = {0};
    char what[160];

    if (p->result.records > 0)
        tl__dump_count(&real, tl_recording_at(recording, 0), p->result.records);
#define SAME(field)                                                                                                    \
    if (said->field != real.field) {                                                                                   \
        (void)snprintf(what, sizeof(what), #field " says %" PRIu64 ", the records say %" PRIu64, said->field,          \
                       real.field);                                                                                    \
        fault(p, UINT64_MAX, what);                                                                                    \
    }
    SAME(total_args)
    SAME(before_dispatch)
    SAME(after_completion)
    SAME(input_args)
    SAME(output_args)
    SAME(inout_args)
    SAME(truncated_args)
#undef SAME
}

/* ---- what is lost ---- */

static const char *payload_cause(unsigned cause)
{
    static const char *const words[] = {
        [TL_DUMP_CAUSE_NONE] = "nothing says why",
        [TL_DUMP_CAUSE_DISK] = "the disk was full, or failed",
        [TL_DUMP_CAUSE_HOST_DEAD] = "the host did not answer the device",
        [TL_DUMP_CAUSE_DEVICE_DEAD] = "the device died before they could be fetched",
        [TL_DUMP_CAUSE_CORRUPT] = "their records point outside the arena",
        [TL_DUMP_CAUSE_TORN] = "they were overwritten before they were fetched",
        [TL_DUMP_CAUSE_BAD_VIEW] = "their views reach past their buffers",
        [TL_DUMP_CAUSE_OTHER] = "they are not in args.bin",
    };

    return words[cause < COUNT_OF(words) ? cause : TL_DUMP_CAUSE_OTHER];
}

/* Of the causes in dfx_meta.json. */
static const char *record_cause(const char *name)
{
    static const struct {
        const char *name, *words;
    } causes[] = {{"host_dead", "the host did not answer the device"},
                  {"no_buffer", "no buffer was free; more: --dfx-set buffers="},
                  {"disk", "the disk was full, or failed"},
                  {"corrupt", "their lane was damaged"},
                  {"device_dead", "the device died before they could be fetched"}};

    for (size_t i = 0; i < COUNT_OF(causes); i++)
        if (strcmp(causes[i].name, name) == 0)
            return causes[i].words;
    return name;
}

/* A payload that was due and is not, or not all, there. Nothing is due of what the level left out, nor of what a cut
 * for the arena's size took. */
static void count_loss(struct pass *p, const struct tl_dump_record *r)
{
    bool lost = (r->flags & TL_ARG_LOST) != 0;
    bool cut = !lost && (r->flags & TL_ARG_PARTIAL) != 0 && (r->flags & (TL_ARG_TRUNCATED | TL_ARG_UNSUPPORTED)) == 0 &&
               r->bin_size > 0 && r->bin_size < tl__dump_payload_bytes(r);

    if (lost)
        p->result.lost[r->cause <= TL_DUMP_CAUSE_OTHER ? r->cause : TL_DUMP_CAUSE_OTHER]++;
    p->result.cut += cut;
    p->result.lost_total += lost || cut;
}

typedef void (*loss_fn)(void *ctx, const char *what, const char *cause, uint64_t count);

static const struct tl_meta_stream *dump_stream(const struct tl_meta *meta)
{
    for (uint32_t i = 0; meta != NULL && i < meta->stream_count; i++)
        if (strcmp(meta->streams[i].name, "args_dump") == 0)
            return &meta->streams[i];
    return NULL;
}

/* The manifest says how many records are missing, dfx_meta.json why. */
static void record_losses(const struct pass *p, loss_fn fn, void *ctx)
{
    const struct tl_meta_stream *stream = dump_stream(p->verify->meta);
    uint64_t told = 0;

    for (unsigned i = 0; stream != NULL && i < TL_META_MAX_LOSSES && stream->losses[i].cause[0] != '\0'; i++) {
        uint64_t count = stream->losses[i].count;

        if (count == 0 || count > p->result.dropped - told)
            continue;
        fn(ctx, "records", record_cause(stream->losses[i].cause), count);
        told += count;
    }
    if (told < p->result.dropped)
        fn(ctx, "records", payload_cause(TL_DUMP_CAUSE_NONE), p->result.dropped - told);
}

static void each_loss(const struct pass *p, loss_fn fn, void *ctx)
{
    for (unsigned i = 0; i <= TL_DUMP_CAUSE_OTHER; i++)
        if (p->result.lost[i] != 0)
            fn(ctx, "payloads", payload_cause(i), p->result.lost[i]);
    if (p->result.cut != 0)
        fn(ctx, "payloads", "not all of their pieces came", p->result.cut);
    record_losses(p, fn, ctx);
}

static int verdict(const struct pass *p)
{
    return p->result.faults != 0 ? TL_ECORRUPT : p->result.lost_total + p->result.dropped != 0 ? TL_ELOST : 0;
}

static void check_all(struct pass *p)
{
    const struct tl_recording *recording = p->verify->recording;
    uint64_t total = tl_recording_summary(recording)->bin_bytes;

    p->result.records = tl_recording_count(recording);
    p->result.dropped = tl_recording_summary(recording)->dropped_records;
    check_counts(p);
    for (uint64_t i = 0; i < p->result.records; i++) {
        uint64_t index = p->verify->pick != NULL ? tl__dump_pick_at(p->verify->pick, i) : i;
        const struct tl_dump_record *r = tl_recording_at(recording, index);

        if (index > 0 && tl__dump_compare(tl_recording_at(recording, index - 1), r) > 0)
            fault(p, index, "comes before its predecessor in (task_id, stage, arg_index, role)");
        if (r->bin_size > 0)
            check_payload(p, index, r);
        count_loss(p, r);
        if (p->verify->progress != NULL)
            p->verify->progress(p->verify->progress_ctx, p->result.payload_bytes, total);
    }
}

/* ---- text ---- */

static void put_fault(void *ctx, enum tl_task_layout layout, uint64_t index, const struct tl_dump_record *r,
                      const char *what)
{
    struct tl_rendering *out = ctx;

    if (r == NULL) {
        tl__put_format(out, "fault: %s\n", what);
        return;
    }
    tl__put_format(out, "fault: record %" PRIu64 " (", index);
    tl__put_task(out, layout, r->task_id);
    tl__put_format(out, " %s %s arg %" PRIu32 "): %s\n", tl_stage_name(r->stage), tl_role_name(r->role), r->arg_index,
                   what);
}

static void put_loss(void *ctx, const char *what, const char *cause, uint64_t count)
{
    bool payloads = strcmp(what, "payloads") == 0;

    tl__put_format(ctx, "lost: %s%" PRIu64 " %.*s: %s\n", payloads ? "all or part of " : "", count,
                   (int)(strlen(what) - (count == 1)), what, cause);
}

int tl__dump_verify_text(struct tl_rendering *out, const struct tl_dump_verify *verify)
{
    static const char *const words[] = {"good", "INCOMPLETE", "NOT GOOD"};
    struct pass p = {.verify = verify, .fn = put_fault, .ctx = out};
    int code;

    check_all(&p);
    code = verdict(&p);
    each_loss(&p, put_loss, out);
    tl__put_format(out,
                   "%s: %s: %" PRIu64 " record%s, %" PRIu64 " payload%s of %" PRIu64 " byte%s; %" PRIu64
                   " hash%s checked, %" PRIu64 " payload%s without one; %" PRIu64 " fault%s\n",
                   verify->dir,
                   words[code == 0          ? 0
                         : code == TL_ELOST ? 1
                                            : 2],
                   p.result.records, tl__plural(p.result.records), p.result.payloads, tl__plural(p.result.payloads),
                   p.result.payload_bytes, tl__plural(p.result.payload_bytes), p.result.hashed,
                   p.result.hashed == 1 ? "" : "es", p.result.unhashed, tl__plural(p.result.unhashed), p.result.faults,
                   tl__plural(p.result.faults));
    return out->error != 0 ? out->error : code;
}

/* ---- JSON ---- */

static void json_fault(void *ctx, enum tl_task_layout layout, uint64_t index, const struct tl_dump_record *r,
                       const char *what)
{
    struct tl_json *json = ctx;

    tl__json_object_begin(json, TL_JSON_LINE);
    if (r != NULL) {
        tl__json_member_u64(json, "index", index);
        tl__json_task(json, "task", layout, r->task_id);
        tl__json_member_string(json, "stage", tl_stage_name(r->stage));
        tl__json_member_string(json, "role", tl_role_name(r->role));
        tl__json_member_u64(json, "arg_index", r->arg_index);
    }
    tl__json_member_string(json, "fault", what);
    tl__json_object_end(json);
}

static void json_loss(void *ctx, const char *what, const char *cause, uint64_t count)
{
    struct tl_json *json = ctx;

    tl__json_object_begin(json, TL_JSON_LINE);
    tl__json_member_string(json, "what", what);
    tl__json_member_string(json, "cause", cause);
    tl__json_member_u64(json, "count", count);
    tl__json_object_end(json);
}

int tl__dump_verify_json(struct tl_json *json, const struct tl_dump_verify *verify)
{
    struct pass p = {.verify = verify, .fn = json_fault, .ctx = json};

    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "dump", "verify", verify->dir);
    tl__json_member_array(json, "faults", TL_JSON_BLOCK);
    check_all(&p);
    tl__json_array_end(json);
    tl__json_member_array(json, "lost", TL_JSON_BLOCK);
    each_loss(&p, json_loss, json);
    tl__json_array_end(json);

    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"records", p.result.records},
                  {"payloads", p.result.payloads},
                  {"payload_bytes", p.result.payload_bytes},
                  {"hashed", p.result.hashed},
                  {"unhashed", p.result.unhashed},
                  {"fault_count", p.result.faults},
                  {"lost_payloads", p.result.lost_total},
                  {"lost_records", p.result.dropped}};

    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        tl__json_member_u64(json, counts[i].key, counts[i].value);
    }
    tl__json_member_bool(json, "good", verdict(&p) == 0);
    tl__json_object_end(json);
    tl__json_newline(json);
    return json->error != 0 ? json->error : verdict(&p);
}
