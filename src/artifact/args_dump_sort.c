/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting dump records. The keys are sorted, not the records: a least-significant-byte radix sort over 24-byte keys,
 * which is stable and skips the bytes that all keys share (of a task id's eight, most), and then each record moves
 * once, in place, along the cycles of the permutation.
 */
#include <string.h>

#include "artifact/args_dump.h"
#include "base/env.h"

struct key {
    uint64_t major; /* task_id */
    uint64_t minor; /* stage, arg_index, role */
    uint64_t index; /* where the record is */
};

static struct key key_of(const struct tl_dump_record *r, uint64_t index)
{
    return (struct key){r->task_id, (uint64_t)r->stage << 48 | (uint64_t)r->arg_index << 8 | r->role, index};
}

static bool is_sorted(const struct tl_dump_record *records, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++)
        if (tl__dump_compare(&records[i - 1], &records[i]) > 0)
            return false;
    return true;
}

/* One stable pass by the byte at `shift` of the major or minor word. */
static void pass(const struct key *from, struct key *to, uint64_t count, bool major, unsigned shift)
{
    uint64_t start[256] = {0}, sum = 0;

    for (uint64_t i = 0; i < count; i++)
        start[((major ? from[i].major : from[i].minor) >> shift) & 0xff]++;
    for (unsigned b = 0; b < 256; b++) {
        uint64_t n = start[b];

        start[b] = sum;
        sum += n;
    }
    for (uint64_t i = 0; i < count; i++)
        to[start[((major ? from[i].major : from[i].minor) >> shift) & 0xff]++] = from[i];
}

/* Returns which of the two arrays holds the sorted keys. */
static struct key *sort_keys(struct key *keys, struct key *other, uint64_t count)
{
    uint64_t differ[2] = {0, 0};

    for (uint64_t i = 1; i < count; i++) {
        differ[0] |= keys[i].minor ^ keys[0].minor;
        differ[1] |= keys[i].major ^ keys[0].major;
    }
    for (unsigned word = 0; word < 2; word++) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            if (((differ[word] >> shift) & 0xff) == 0)
                continue;
            pass(keys, other, count, word == 1, shift);

            struct key *swap = keys;

            keys = other;
            other = swap;
        }
    }
    return keys;
}

/* keys[i].index says which record belongs at i; a finished place is marked by pointing at itself. */
static void permute(struct tl_dump_record *records, struct key *keys, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t hole = i;
        struct tl_dump_record first;

        if (keys[i].index == i)
            continue;
        first = records[i];
        while (keys[hole].index != i) {
            uint64_t from = keys[hole].index;

            records[hole] = records[from];
            keys[hole].index = hole;
            hole = from;
        }
        records[hole] = first;
        keys[hole].index = hole;
    }
}

int tl__dump_sort(struct tl_dump_record *records, uint64_t count)
{
    struct key *keys;

    if (is_sorted(records, count))
        return 0;
    if (count > SIZE_MAX / (2 * sizeof(*keys)))
        return TL_ENOMEM;
    keys = tl__alloc((size_t)count, 2 * sizeof(*keys));
    if (keys == NULL)
        return TL_ENOMEM;
    for (uint64_t i = 0; i < count; i++)
        keys[i] = key_of(&records[i], i);
    permute(records, sort_keys(keys, keys + count, count), count);
    tl__free(keys);
    return 0;
}
