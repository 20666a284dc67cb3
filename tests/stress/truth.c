/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording says, what its journal says, and what it should have said. */
#include "kill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/args_dump.h"
#include "artifact/dfx_meta.h"
#include "artifact/journal.h"
#include "collect/dump_collector.h"
#include "wire/launch.h"

#define AICPU_LANES 5u /* at most: each may be in the middle of one record when the device dies */

void truth_free(struct truth *t)
{
    free(t->records);
    *t = (struct truth){0};
}

static struct tl_dump_record *grow(struct truth *t, uint64_t *room)
{
    if (t->count == *room) {
        *room = *room != 0 ? *room * 2 : 4096;
        t->records = realloc(t->records, *room * sizeof(*t->records));
        if (t->records == NULL)
            wrong("out of memory");
    }
    return &t->records[t->count++];
}

static const char *name_of(const struct tl_dump_record *r)
{
    static char text[96];

    (void)snprintf(text, sizeof(text), "task %#llx %s argument %u (%s)", (unsigned long long)r->task_id,
                   tl_stage_name(r->stage), r->arg_index, tl_role_name(r->role));
    return text;
}

bool truth_of_manifest(const char *dir, struct truth *t)
{
    struct tl_recording *recording;
    struct tl_dump_verdict verdict;
    struct tl_error error = {.msg = ""};
    uint64_t room = 0;
    int rc = tl_recording_open(dir, &recording, &error);

    *t = (struct truth){0};
    if (rc == TL_ENOENT)
        return false;
    if (rc != 0)
        wrong("the manifest is not whole: %s", error.msg);
    if (tl_recording_verify(recording, &verdict) != 0)
        wrong("the recording does not verify: %s", verdict.first_fault);
    for (uint64_t i = 0; i < tl_recording_count(recording); i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);

        if (i > 0 && tl__dump_compare(r - 1, r) == 0)
            wrong("twice in the manifest: %s", name_of(r));
        *grow(t, &room) = *r;
        t->payload_bytes += r->bin_size;
    }
    tl_recording_close(recording);
    return true;
}

static void take_block(const struct tl_journal_block *b, struct truth *t, uint64_t *room)
{
    const struct tl_wire_dump_record *w = b->records;

    for (uint32_t i = 0; b->kind == TL_JOURNAL_RECORDS && b->stream == TL_STREAM_DUMP && i < b->count; i++)
        if ((w[i].flags & TL_DUMP_PIECE) == 0 || w[i].piece == 0)
            tl__dump_of_wire(&w[i], b->bin_offsets != NULL ? b->bin_offsets[i] : TL_JOURNAL_NO_BIN, grow(t, room));
}

bool truth_of_journal(const char *path, struct truth *t)
{
    struct tl_journal_reader *reader;
    struct tl_journal_block block;
    struct tl_error error;
    uint64_t room = 0;
    int rc = tl__journal_open(path, &reader, &error);

    *t = (struct truth){0};
    if (rc == TL_EPARSE)
        return false;
    if (rc != 0)
        wrong("the journal cannot be read: %s", error.msg);
    while ((rc = tl__journal_next(reader, &block)) == 1)
        take_block(&block, t, &room);
    if (rc != 0 || tl__journal_report(reader)->corrupt || tl__journal_report(reader)->duplicates != 0)
        wrong("the journal is damaged: %s", tl__journal_report(reader)->reason);
    t->blocks = tl__journal_report(reader)->blocks;
    t->torn_bytes = tl__journal_report(reader)->bytes_dropped;
    tl__journal_reader_close(reader);
    if (tl__dump_sort(t->records, t->count) != 0)
        wrong("out of memory");
    return true;
}

void truth_same(const struct truth *manifest, const struct truth *journal)
{
    if (manifest->count != journal->count)
        wrong("%llu records reached the journal and %llu are in the manifest", (unsigned long long)journal->count,
              (unsigned long long)manifest->count);
    for (uint64_t i = 0; i < manifest->count; i++) {
        const struct tl_dump_record *m = &manifest->records[i], *j = &journal->records[i];

        if (tl__dump_compare(m, j) != 0)
            wrong("in the journal and not in the manifest: %s", name_of(j));
        if (m->bin_offset != j->bin_offset)
            wrong("its payload is elsewhere than the journal says: %s", name_of(m));
    }
}

/* What a payload's bytes are is known from its hash where all of it is there. */
static bool whole(const struct tl_dump_record *r)
{
    return (r->flags & (TL_ARG_PARTIAL | TL_ARG_TRUNCATED | TL_ARG_LOST)) == 0;
}

static void expect_same(const struct tl_dump_record *r, const struct tl_dump_record *w)
{
    const uint16_t kept = TL_ARG_CONTIGUOUS | TL_ARG_MARKED | TL_ARG_AMBIGUOUS | TL_ARG_UNSUPPORTED;

    if (r->dtype != w->dtype || r->rank != w->rank || r->kind != w->kind || r->func_count != w->func_count ||
        r->start_offset != w->start_offset || r->value_bits != w->value_bits ||
        (r->flags & kept) != (w->flags & kept) || memcmp(r->shape, w->shape, sizeof(r->shape)) != 0 ||
        memcmp(r->strides, w->strides, sizeof(r->strides)) != 0 ||
        memcmp(r->func_id, w->func_id, sizeof(r->func_id)) != 0)
        wrong("not as in an undisturbed run: %s", name_of(r));
    if (whole(r) && whole(w) && (r->bin_size != w->bin_size || r->hash != w->hash))
        wrong("its payload is not that of an undisturbed run: %s", name_of(r));
}

uint64_t truth_within(const struct truth *part, const struct truth *all, bool causal)
{
    uint64_t complete = 0, at = 0, i = 0;

    while (i < all->count) {
        const uint64_t task = all->records[i].task_id;
        uint64_t expected[2] = {0, 0}, found[2] = {0, 0};

        for (; i < all->count && all->records[i].task_id == task; i++) {
            const struct tl_dump_record *w = &all->records[i];

            expected[w->stage]++;
            if (at == part->count || tl__dump_compare(&part->records[at], w) != 0)
                continue;
            expect_same(&part->records[at++], w);
            found[w->stage]++;
        }
        if (causal && found[TL_STAGE_AFTER] != 0 && found[TL_STAGE_BEFORE] != expected[TL_STAGE_BEFORE])
            wrong("task %#llx has outputs and only %llu of %llu records from before it ran", (unsigned long long)task,
                  (unsigned long long)found[TL_STAGE_BEFORE], (unsigned long long)expected[TL_STAGE_BEFORE]);
        complete +=
            found[TL_STAGE_AFTER] == expected[TL_STAGE_AFTER] && found[TL_STAGE_BEFORE] == expected[TL_STAGE_BEFORE];
    }
    if (at != part->count)
        wrong("no undisturbed run has it: %s", name_of(&part->records[at]));
    return complete;
}

uint64_t truth_of_meta(const char *dir, const struct truth *manifest, uint64_t *ret_tasks)
{
    struct tl_meta meta;
    struct tl_error error;
    const struct tl_meta_stream *s = &meta.streams[0];
    uint64_t dropped = 0, device_dead = 0;

    if (tl__meta_read(dir, &meta, &error) != 0)
        wrong("dfx_meta.json: %s", error.msg);
    for (unsigned i = 0; i < TL_META_MAX_LOSSES && s->losses[i].cause[0] != '\0'; i++) {
        dropped += s->losses[i].count;
        if (strcmp(s->losses[i].cause, "device_dead") == 0)
            device_dead += s->losses[i].count;
    }
    if (meta.stream_count != 1 || strcmp(s->name, "args_dump") != 0 || s->collected != manifest->count)
        wrong("dfx_meta.json tells of %llu records, the manifest of %llu", (unsigned long long)s->collected,
              (unsigned long long)manifest->count);
    if (s->attempted != s->collected + dropped)
        wrong("attempted %llu, collected %llu, dropped %llu", (unsigned long long)s->attempted,
              (unsigned long long)s->collected, (unsigned long long)dropped);
    if (dropped != device_dead || device_dead > AICPU_LANES)
        wrong("%llu records were dropped, %llu of them with the device", (unsigned long long)dropped,
              (unsigned long long)device_dead);
    if (s->payload_bytes != manifest->payload_bytes)
        wrong("dfx_meta.json tells of %llu bytes of payload, the manifest of %llu",
              (unsigned long long)s->payload_bytes, (unsigned long long)manifest->payload_bytes);
    *ret_tasks = meta.tasks;
    return device_dead;
}
