/* SPDX-License-Identifier: Apache-2.0 */
/* The args dump as a collector: what its records may hold, which payload they bring, and how they become the manifest.
 */
#include "collect/dump_collector.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <errno.h>

#include "artifact/args_dump.h"
#include "artifact/dfx_meta.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pathname.h"
#include "collect/collector.h"
#include "wire/dump_record.h"
#include "wire/launch.h"

/* Level 3 makes the payload file with the first payload, the others with the first record. */
static bool dump_eager_bin(uint32_t level)
{
    return level != 3;
}

static uint64_t whole_bytes(const struct tl_wire_dump_record *w)
{
    struct tl_dump_record r;

    memset(&r, 0, sizeof(r));
    r.dtype = w->dtype;
    r.rank = w->rank;
    memcpy(r.shape, w->shape, sizeof(r.shape));
    return tl__dump_payload_bytes(&r);
}

static const struct tl_record_field dump_fields[] = {
    TL_FIELD_SIGNED(struct tl_wire_dump_record, func_id, 3, -1, INT32_MAX),
    TL_FIELD(struct tl_wire_dump_record, arg_index, 0, TL_MAX_TENSORS + TL_MAX_SCALARS - 1),
    TL_FIELD_BITS(struct tl_wire_dump_record, flags, 2 * TL_DUMP_BAD_VIEW - 1),
    TL_FIELD(struct tl_wire_dump_record, func_count, 0, TL_DUMP_MAX_FUNCS),
    TL_FIELD(struct tl_wire_dump_record, stage, 0, TL_WIRE_AFTER_COMPLETION),
    TL_FIELD(struct tl_wire_dump_record, role, 0, TL_WIRE_INOUT),
    TL_FIELD(struct tl_wire_dump_record, kind, 0, TL_WIRE_SCALAR),
};
static const struct tl_record_table dump_tables[] = {TL_RECORD_TABLE(dump_fields)};

static const char *dump_inspect(const void *record, struct tl_payload *ret_payload)
{
    const struct tl_wire_dump_record *w = record;
    uint64_t whole;

    memset(ret_payload, 0, sizeof(*ret_payload));
    ret_payload->whole = true;
    if (w->kind == TL_WIRE_SCALAR)
        return w->stage != TL_WIRE_BEFORE_DISPATCH ? "record.stage"
               : (w->flags & TL_DUMP_PIECE) != 0   ? "record.flags"
                                                   : NULL;
    whole = whole_bytes(w);
    if (w->payload_bytes > whole)
        return "record.payload_bytes";
    if ((w->flags & (TL_DUMP_PIECE | TL_DUMP_TRUNCATED)) == 0 && w->payload_bytes != 0 && w->payload_bytes != whole)
        return "record.payload_bytes";
    ret_payload->offset = w->payload;
    ret_payload->bytes = w->payload_bytes;
    if ((w->flags & TL_DUMP_PIECE) != 0) {
        ret_payload->total = whole;
        ret_payload->piece = w->piece;
        ret_payload->last = (w->flags & TL_DUMP_LAST_PIECE) != 0;
        ret_payload->whole = w->piece == 0; /* as the device counts: by its first piece */
        if (ret_payload->total == 0)
            return "record.shape";
    }
    return NULL;
}

/* --- records as the manifest has them ------------------------------------------------------------------------ */

static uint16_t flags_of(const struct tl_wire_dump_record *w)
{
    static const struct {
        uint16_t wire, ours;
    } map[] = {
        {TL_DUMP_TRUNCATED, TL_ARG_TRUNCATED},   {TL_DUMP_AMBIGUOUS, TL_ARG_AMBIGUOUS},
        {TL_DUMP_PARTIAL, TL_ARG_PARTIAL},       {TL_DUMP_HASHED, TL_ARG_HAS_HASH},
        {TL_DUMP_CONTIGUOUS, TL_ARG_CONTIGUOUS}, {TL_DUMP_UNSUPPORTED, TL_ARG_UNSUPPORTED},
        {TL_DUMP_MARKED, TL_ARG_MARKED},
    };
    uint16_t flags = 0;

    for (size_t i = 0; i < COUNT_OF(map); i++)
        if ((w->flags & map[i].wire) != 0)
            flags |= map[i].ours;
    return flags;
}

void tl__dump_of_wire(const struct tl_wire_dump_record *w, uint64_t bin, struct tl_dump_record *r)
{
    tl__dump_record_init(r);
    r->task_id = w->task_id;
    r->func_count = w->func_count != 0 ? w->func_count : 1;
    for (unsigned i = 0; i < w->func_count; i++)
        r->func_id[i] = w->func_id[i];
    r->arg_index = w->arg_index;
    r->stage = w->stage;
    r->role = w->role;
    r->kind = w->kind;
    r->dtype = w->dtype < TL_DTYPE_COUNT ? w->dtype : TL_DTYPE_UNKNOWN;
    r->flags = flags_of(w);
    if (w->kind == TL_WIRE_SCALAR) {
        r->value_bits = w->payload;
        r->flags = (uint16_t)((r->flags & ~TL_ARG_HAS_HASH) | TL_ARG_CONTIGUOUS);
        return;
    }
    r->rank = w->rank;
    r->start_offset = w->start_offset;
    for (unsigned d = 0; d < w->rank && w->rank <= TL_MAX_DIMS; d++) {
        r->shape[d] = w->shape[d];
        r->strides[d] = w->strides[d];
    }
    r->hash = w->hash;
    if (w->payload_bytes != 0 && !TL_BIN_IS_LOST(bin) && bin != TL_BIN_NONE) {
        r->bin_offset = bin;
        r->bin_size = w->payload_bytes;
        return;
    }
    r->flags &= (uint16_t)~TL_ARG_HAS_HASH;
    r->hash = 0;
    if (TL_BIN_IS_LOST(bin))
        tl__dump_lose(r, TL_BIN_CAUSE(bin));
    else if (w->payload_bytes != 0)
        tl__dump_lose(r, TL_DUMP_CAUSE_OTHER);
    else if ((w->flags & TL_DUMP_BAD_VIEW) != 0)
        tl__dump_lose(r, TL_DUMP_CAUSE_BAD_VIEW);
}

void tl__dump_lose(struct tl_dump_record *r, unsigned cause)
{
    r->flags = (uint16_t)((r->flags & ~(TL_ARG_HAS_HASH | TL_ARG_TRUNCATED)) | TL_ARG_LOST);
    r->cause = (uint8_t)cause;
    r->bin_offset = r->bin_size = r->hash = 0;
}

/* Joins the pieces of one payload: the first makes the record, the last completes it. */
struct joiner {
    struct tl_dump_record *records;
    uint64_t count, unfinished;
    struct tl_dump_record *open;
    uint32_t next; /* piece that `open` waits for */
    bool was_partial;
};

static void join_piece(struct joiner *j, const struct tl_wire_dump_record *w, uint64_t bin)
{
    struct tl_dump_record piece;

    if (w->piece != 0 && (j->open == NULL || w->piece != j->next)) {
        j->open = NULL; /* the pieces before it are lost: what there is of the payload ends there */
        return;
    }
    j->next = w->piece + 1;
    tl__dump_of_wire(w, bin, &piece);
    if (w->piece == 0) {
        j->open = &j->records[j->count++];
        *j->open = piece;
        j->was_partial = (w->flags & TL_DUMP_PARTIAL) != 0;
        j->open->flags |= TL_ARG_PARTIAL;
        j->unfinished++;
    } else if ((piece.flags & TL_ARG_LOST) != 0) {
        tl__dump_lose(j->open, piece.cause);
    } else if ((j->open->flags & TL_ARG_LOST) == 0) {
        j->open->bin_size += piece.bin_size;
        j->open->hash = piece.hash; /* each piece carries the hash of all bytes so far */
    }
    if ((w->flags & TL_DUMP_LAST_PIECE) == 0)
        return;
    j->unfinished--;
    if (!j->was_partial)
        j->open->flags &= (uint16_t)~TL_ARG_PARTIAL;
    j->open = NULL;
}

static void convert(const struct tl_export *x, struct joiner *j)
{
    for (unsigned lane = 0; lane < x->own->n_lanes; lane++) {
        j->open = NULL;
        for (const struct tl_batch *b = x->own->lanes[lane]; b != NULL; b = b->next)
            for (uint32_t i = 0; i < b->count; i++) {
                const struct tl_wire_dump_record *w = (const void *)(b->records + (size_t)i * sizeof(*w));

                if ((w->flags & TL_DUMP_PIECE) != 0) {
                    join_piece(j, w, b->bin[i]);
                    continue;
                }
                j->open = NULL;
                tl__dump_of_wire(w, b->bin[i], &j->records[j->count++]);
            }
    }
}

/* --- export -------------------------------------------------------------------------------------------------- */

static void figures_of(const struct tl_export *x, struct joiner *j, struct tl_export_figures *f)
{
    f->records = j->count;
    f->payloads_lost = j->unfinished;
    for (uint64_t i = 0; i < j->count; i++) {
        struct tl_dump_record *r = &j->records[i];

        if (r->bin_size != 0 && (r->bin_offset > x->bin_bytes || r->bin_size > x->bin_bytes - r->bin_offset)) {
            tl__dump_lose(r, TL_DUMP_CAUSE_OTHER);
            f->payloads_missing++;
        }
        f->payload_bytes += r->bin_size;
        if (r->bin_size != 0 && r->bin_offset + r->bin_size > f->payload_end)
            f->payload_end = r->bin_offset + r->bin_size;
        f->payloads_lost += (r->flags & TL_ARG_LOST) != 0;
        if ((r->flags & TL_ARG_TRUNCATED) == 0)
            continue;
        f->truncated++;
        if (f->meta != NULL && f->meta->truncated_listed < TL_META_MAX_TRUNCATED)
            f->meta->truncated[f->meta->truncated_listed++] =
                (struct tl_meta_tensor){.task_id = r->task_id,
                                        .arg_index = r->arg_index,
                                        .bytes = tl__dump_payload_bytes(r),
                                        .kept_bytes = r->bin_size};
    }
    if (f->meta != NULL)
        f->meta->truncated_total = f->truncated;
}

/* Leaves out what the manifest cannot say, and the rest stays. */
static void drop_corrupt(const struct tl_export *x, struct joiner *j, struct tl_export_figures *f)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < j->count; i++) {
        const char *fault = tl__dump_record_fault(&j->records[i], x->bin_created);

        if (fault == NULL) {
            j->records[kept++] = j->records[i];
            continue;
        }
        if (f->corrupt++ == 0)
            tl_log_warn("%s: a record of task 0x%llx, argument %u, is left out: its %s is impossible", x->dir,
                        (unsigned long long)j->records[i].task_id, j->records[i].arg_index, fault);
    }
    j->count = kept;
    f->records = kept;
}

static uint64_t capacity_of(const struct tl_export *x)
{
    uint64_t n = 0;

    for (unsigned lane = 0; lane < x->own->n_lanes; lane++)
        for (const struct tl_batch *b = x->own->lanes[lane]; b != NULL; b = b->next)
            n += b->count;
    return n;
}

static int dump_export(const struct tl_export *x, struct tl_export_figures *figures, struct tl_error *reterr)
{
    struct tl_dump_summary summary;
    struct joiner j = {0};
    uint64_t capacity = capacity_of(x);
    char dir[TL_PATHNAME_BYTES];
    int r;

    /* A run without tasks is recorded too: its manifest has no entries. */
    if (capacity == 0 && (x->own->level < 2 || x->run_failed)) {
        if (x->own->level == 1 && x->own->dropped == 0 && !x->run_failed)
            tl_log_warn(
                "%s: --dump-args 1 records what tl_dump() marks, and nothing was marked: no manifest is written "
                "(--dump-args 2 records everything)",
                x->dir);
        return 0;
    }
    j.records = tl__scratch_get(x->scratch, (capacity + 1) * sizeof(*j.records));
    if (j.records == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: no memory for %llu records of the manifest", x->dir,
                        (unsigned long long)capacity);
    convert(x, &j);
    figures_of(x, &j, figures);
    drop_corrupt(x, &j, figures);
    r = tl__dump_sort(j.records, j.count);
    if (r < 0)
        return tl__fail(reterr, r, "%s: sorting %llu records: %s", x->dir, (unsigned long long)j.count, tl_strerror(r));
    (void)tl__pathname(dir, "%s/%s", x->dir, TL_DUMP_DIR_NAME);
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: cannot be made: %s", dir, strerror(errno));
    memset(&summary, 0, sizeof(summary));
    summary.level = x->own->level;
    summary.run_epoch = x->format == TL_FORMAT_2026_09 ? x->epoch : 0;
    summary.dropped_records = x->own->dropped + figures->corrupt;
    if (x->bin_created)
        (void)snprintf(summary.bin_file, sizeof(summary.bin_file), "%s", TL_DUMP_BIN_NAME);
    return tl__dump_write_manifest(dir, &summary, j.records, j.count, reterr);
}

static const char *const dump_files[] = {TL_DUMP_DIR_NAME "/" TL_DUMP_MANIFEST_NAME,
                                         TL_DUMP_DIR_NAME "/" TL_DUMP_BIN_NAME, NULL};
static const char *const dump_derived[] = {TL_DUMP_DIR_NAME "/txt/*", TL_DUMP_DIR_NAME "/npy/*", NULL}; /* exports */

const struct tl_collector_spec tl__dump_collector = {
    .name = "args_dump",
    .stream = TL_STREAM_DUMP,
    .record_bytes = sizeof(struct tl_wire_dump_record),
    .version = 1,
    .has_arena = true,
    .files = dump_files,
    .derived = dump_derived,
    .tables = dump_tables,
    .n_tables = 1,
    .eager_bin = dump_eager_bin,
    .inspect = dump_inspect,
    .export = dump_export,
};
