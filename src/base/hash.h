/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3-64 without a seed: what payloads, programs and journal frames are hashed with. A streamed hash equals the hash
 * of the same bytes at once. Any thread; one state belongs to one thread at a time and needs no end.
 */
#ifndef TL_BASE_HASH_H
#define TL_BASE_HASH_H

#ifndef XXH_STATIC_LINKING_ONLY
#define XXH_STATIC_LINKING_ONLY /* the size of the state, so that it may be in our structs */
#endif
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>

/* 64-byte aligned, about 600 bytes. */
struct tl_hash {
    XXH3_state_t state;
};

static inline uint64_t tl__hash64(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

static inline void tl__hash_init(struct tl_hash *hash)
{
    XXH3_INITSTATE(&hash->state);
    (void)XXH3_64bits_reset(&hash->state); /* fails for NULL only, as the update does */
}

static inline void tl__hash_update(struct tl_hash *hash, const void *data, size_t bytes)
{
    if (bytes != 0)
        (void)XXH3_64bits_update(&hash->state, data, bytes);
}

/* The hash of all bytes so far; more may follow. */
static inline uint64_t tl__hash_value(const struct tl_hash *hash)
{
    return XXH3_64bits_digest(&hash->state);
}

#endif
