/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device ranges and their host views, sorted by address: what both transports keep. Changed at build time alone, by
 * one thread; looked up by any thread in between.
 */
#ifndef TL_COLLECT_RANGE_MAP_H
#define TL_COLLECT_RANGE_MAP_H

#include <stdint.h>

#include "base/vec.h"

struct tl_view_range {
    uint64_t addr, bytes;
    uint8_t *view; /* the transport knows what it is and frees it */
};

struct tl_range_map {
    TL_VEC(struct tl_view_range) ranges; /* sorted, disjoint */
};

/* TL_EINVAL: empty, wraps or overlaps another range; TL_ENOMEM. */
int tl__range_add(struct tl_range_map *map, uint64_t addr, uint64_t bytes, uint8_t *view);
/* Removes the range that starts at `addr`; its view, or NULL if there is none. */
uint8_t *tl__range_remove(struct tl_range_map *map, uint64_t addr, uint64_t *ret_bytes);
/* View of [addr, addr + bytes), or NULL if that is not inside one range. */
uint8_t *tl__range_view(const struct tl_range_map *map, uint64_t addr, uint64_t bytes);
void tl__range_fini(struct tl_range_map *map);

#endif
