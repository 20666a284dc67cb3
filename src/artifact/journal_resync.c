/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the next intact block behind damage, whatever the damage is: changed bytes, bytes that are gone or that were
 * put in. A block is taken where its magic, its header's checksum, its size and its body's checksum all agree, at any
 * byte of the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/journal_impl.h"
#include "base/env.h"
#include "base/hash.h"

/* Headers that are intact before bodies that are not cost a hash each. A file made of them would take for ever. */
#define SEARCH_MIN ((uint64_t)64 << 20)
#define SEARCH_FACTOR 16u

static const uint32_t magic = TL_JOURNAL_BLOCK_MAGIC;

/* ---- one block ---- */

/* Whether the header says something that a block of this run can be. */
static bool header_is_sane(const struct tl_journal_reader *r, const struct tl_journal_block_header *h)
{
    uint64_t body;

    if (h->kind == TL_JOURNAL_BEGUN)
        return (h->body_bytes == sizeof(struct tl_journal_run) || h->body_bytes == sizeof(struct tl_journal_run_2)) &&
               h->count == 0;
    if (h->kind != TL_JOURNAL_RECORDS && h->kind != TL_JOURNAL_END)
        return false;
    if (h->stream >= r->run.stream_count || h->record_bytes != r->run.streams[h->stream].record_bytes ||
        h->record_bytes == 0)
        return false;
    body = h->kind == TL_JOURNAL_END ? sizeof(struct tl_journal_end)
                                     : (uint64_t)h->count * (h->record_bytes + (h->has_bin_offsets != 0 ? 8ull : 0));
    return ((body + 7) & ~(uint64_t)7) == h->body_bytes && (h->kind != TL_JOURNAL_END || h->count == 0);
}

enum tl_journal_sight tl__journal_look(struct tl_journal_reader *r, uint64_t at, struct tl_journal_block_header *h)
{
    const uint64_t left = r->size - at;
    const uint8_t *block = r->image + at;

    if (memcmp(block, &magic, left < sizeof(magic) ? (size_t)left : sizeof(magic)) != 0)
        return TL_JOURNAL_BAD;
    if (left < sizeof(*h)) {
        memset(h, 0, sizeof(*h));
        return TL_JOURNAL_CUT;
    }
    memcpy(h, block, sizeof(*h));
    if (h->header_checksum !=
            (uint32_t)tl__hash64(block + TL_JOURNAL_CHECKED_FROM, sizeof(*h) - TL_JOURNAL_CHECKED_FROM) ||
        !header_is_sane(r, h))
        return TL_JOURNAL_BAD;
    if (h->body_bytes > left - sizeof(*h))
        return TL_JOURNAL_CUT;
    if (h->checksum ==
        tl__hash64(block + TL_JOURNAL_CHECKED_FROM, sizeof(*h) + (size_t)h->body_bytes - TL_JOURNAL_CHECKED_FROM))
        return TL_JOURNAL_INTACT;
    r->searched += h->body_bytes;
    return TL_JOURNAL_BAD_BODY;
}

/* ---- the next one ---- */

/* Where the magic is next, from `at` on; the size if nowhere. */
static uint64_t next_magic(const struct tl_journal_reader *r, uint64_t at)
{
    const uint8_t *found = at < r->size ? memmem(r->image + at, (size_t)(r->size - at), &magic, sizeof(magic)) : NULL;

    return found != NULL ? (uint64_t)(found - r->image) : r->size;
}

/* A block that was there, and how many records it had. */
static int note_lost(struct tl_journal_reader *r, const struct tl_journal_block_header *h)
{
    return tl_vec_push(&r->lost, tl__journal_key(h));
}

static void say_reason(struct tl_journal_reader *r, uint64_t from, const char *why)
{
    struct tl_journal_report *report = &r->report;

    if (report->reason[0] == '\0')
        (void)snprintf(report->reason, sizeof(report->reason), "%s at byte %llu", why, (unsigned long long)from);
}

/* r->at .. `to` is not readable. */
static void skip(struct tl_journal_reader *r, uint64_t to, bool torn, const char *why)
{
    say_reason(r, r->at, why);
    r->report.bytes_dropped += to - r->at;
    if (torn) {
        r->report.torn = true;
        r->report.bytes_torn = to - r->at;
    } else {
        r->report.corrupt = true;
        r->report.places++;
    }
    r->at = to;
}

int tl__journal_resync(struct tl_journal_reader *r)
{
    const uint64_t budget = SEARCH_MIN > r->size * SEARCH_FACTOR ? SEARCH_MIN : r->size * SEARCH_FACTOR;
    struct tl_journal_block_header h;
    const enum tl_journal_sight first = tl__journal_look(r, r->at, &h);
    const uint64_t lost_before = r->lost.count;
    const char *why = first == TL_JOURNAL_CUT ? "the file ends inside a block" : "a damaged block";
    uint64_t at = next_magic(r, r->at);

    while (at < r->size) {
        enum tl_journal_sight sight = tl__journal_look(r, at, &h);

        if (sight == TL_JOURNAL_INTACT)
            break;
        if (sight == TL_JOURNAL_BAD_BODY && note_lost(r, &h) != 0)
            return TL_ENOMEM;
        if (r->searched > budget) {
            at = r->size;
            why = "too many damaged blocks";
            break;
        }
        at = next_magic(r, at + 1);
    }
    skip(r, at, at == r->size && first == TL_JOURNAL_CUT && r->searched <= budget && r->lost.count == lost_before, why);
    return 2;
}

bool tl__journal_find_begun(struct tl_journal_reader *r, struct tl_journal_run *ret_run)
{
    for (uint64_t at = next_magic(r, 0); at < r->size; at = next_magic(r, at + 1)) {
        struct tl_journal_block_header h;

        if (tl__journal_look(r, at, &h) != TL_JOURNAL_INTACT || h.kind != TL_JOURNAL_BEGUN)
            continue;
        if (tl__journal_run_take(r->image + at + sizeof(h), h.body_bytes, ret_run))
            return true;
    }
    return false;
}

/* ---- what is missing ---- */

static int by_lane(const void *a, const void *b)
{
    const struct tl_journal_key *x = a, *y = b;

    if (x->where != y->where)
        return x->where < y->where ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Buffers of a lane are numbered without gaps. `keys` are sorted. */
static uint64_t count_gaps(const struct tl_journal_key *keys, uint64_t count)
{
    uint64_t missing = 0;

    for (uint64_t i = 1; i < count; i++)
        if (keys[i].where == keys[i - 1].where && keys[i].seq > keys[i - 1].seq)
            missing += keys[i].seq - keys[i - 1].seq - 1;
    return missing;
}

static bool has_records(struct tl_journal_key key)
{
    return key.where >> 56 == TL_JOURNAL_RECORDS;
}

int tl__journal_count_missing(struct tl_journal_reader *r)
{
    struct tl_journal_key *all = tl__alloc((size_t)(r->key_count + r->lost.count + 1), sizeof(*all));
    uint64_t n = 0;

    if (all == NULL)
        return TL_ENOMEM;
    for (uint64_t i = 0; i < r->key_capacity; i++)
        if (has_records(r->keys[i]))
            all[n++] = r->keys[i];
    for (uint64_t i = 0; i < r->lost.count; i++) {
        if (!has_records(r->lost.items[i]) || tl__journal_seen(r, r->lost.items[i]))
            continue;
        r->report.blocks_lost++;
        r->report.records_lost += r->lost.items[i].count;
        r->report.records_lost_in[r->lost.items[i].where >> 48 & 0xf] += r->lost.items[i].count;
        all[n++] = r->lost.items[i];
    }
    qsort(all, (size_t)n, sizeof(*all), by_lane);
    r->report.blocks_lost += count_gaps(all, n);
    tl__free(all);
    return 0;
}
