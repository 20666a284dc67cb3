/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/range_map.h"

#include <assert.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

/* Index of the first range that ends above `addr`. */
static uint32_t lower(const struct tl_range_map *map, uint64_t addr)
{
    uint32_t lo = 0, hi = map->count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (map->ranges[mid].addr + map->ranges[mid].bytes <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int tl__range_add(struct tl_range_map *map, uint64_t addr, uint64_t bytes, uint8_t *view)
{
    uint32_t at = lower(map, addr);

    if (bytes == 0 || addr + bytes < addr)
        return TL_EINVAL;
    if (at < map->count && map->ranges[at].addr < addr + bytes)
        return TL_EINVAL;
    if (map->count == map->capacity) {
        uint32_t capacity = map->capacity ? map->capacity * 2 : 8;
        struct tl_view_range *moved = tl__realloc(map->ranges, capacity * sizeof(*moved));

        if (moved == NULL)
            return TL_ENOMEM;
        map->ranges = moved;
        map->capacity = capacity;
    }
    memmove(&map->ranges[at + 1], &map->ranges[at], (map->count - at) * sizeof(*map->ranges));
    map->ranges[at] = (struct tl_view_range){.addr = addr, .bytes = bytes, .view = view};
    map->count++;
    assert(at == 0 || map->ranges[at - 1].addr + map->ranges[at - 1].bytes <= addr); /* CI6 */
    assert(at + 1 == map->count || addr + bytes <= map->ranges[at + 1].addr);        /* CI6 */
    return 0;
}

uint8_t *tl__range_remove(struct tl_range_map *map, uint64_t addr, uint64_t *ret_bytes)
{
    uint32_t at = lower(map, addr);
    uint8_t *view;

    if (at == map->count || map->ranges[at].addr != addr)
        return NULL;
    view = map->ranges[at].view;
    *ret_bytes = map->ranges[at].bytes;
    assert(map->count > 0 && *ret_bytes > 0); /* CI6 */
    map->count--;
    memmove(&map->ranges[at], &map->ranges[at + 1], (map->count - at) * sizeof(*map->ranges));
    return view;
}

uint8_t *tl__range_view(const struct tl_range_map *map, uint64_t addr, uint64_t bytes)
{
    uint32_t at = lower(map, addr);
    const struct tl_view_range *r;

    if (at == map->count)
        return NULL;
    r = &map->ranges[at];
    if (addr < r->addr || bytes > r->bytes - (addr - r->addr))
        return NULL;
    return r->view + (addr - r->addr);
}

void tl__range_fini(struct tl_range_map *map)
{
    tl__free(map->ranges);
    memset(map, 0, sizeof(*map));
}
