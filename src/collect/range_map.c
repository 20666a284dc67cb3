/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/range_map.h"

#include <assert.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

/* Index of the first range that ends above `addr`. */
static size_t lower(const struct tl_range_map *map, uint64_t addr)
{
    size_t lo = 0, hi = map->ranges.count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (map->ranges.items[mid].addr + map->ranges.items[mid].bytes <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int tl__range_add(struct tl_range_map *map, uint64_t addr, uint64_t bytes, uint8_t *view)
{
    size_t at = lower(map, addr);

    if (bytes == 0 || addr + bytes < addr)
        return TL_EINVAL;
    if (at < map->ranges.count && map->ranges.items[at].addr < addr + bytes)
        return TL_EINVAL;
    if (tl_vec_reserve(&map->ranges, map->ranges.count + 1) != 0)
        return TL_ENOMEM;
    memmove(&map->ranges.items[at + 1], &map->ranges.items[at], (map->ranges.count - at) * sizeof(*map->ranges.items));
    map->ranges.items[at] = (struct tl_view_range){.addr = addr, .bytes = bytes, .view = view};
    map->ranges.count++;
    assert(at == 0 || map->ranges.items[at - 1].addr + map->ranges.items[at - 1].bytes <= addr); /* CI6 */
    assert(at + 1 == map->ranges.count || addr + bytes <= map->ranges.items[at + 1].addr);       /* CI6 */
    return 0;
}

uint8_t *tl__range_remove(struct tl_range_map *map, uint64_t addr, uint64_t *ret_bytes)
{
    size_t at = lower(map, addr);
    uint8_t *view;

    if (at == map->ranges.count || map->ranges.items[at].addr != addr)
        return NULL;
    view = map->ranges.items[at].view;
    *ret_bytes = map->ranges.items[at].bytes;
    assert(map->ranges.count > 0 && *ret_bytes > 0); /* CI6 */
    map->ranges.count--;
    memmove(&map->ranges.items[at], &map->ranges.items[at + 1], (map->ranges.count - at) * sizeof(*map->ranges.items));
    return view;
}

uint8_t *tl__range_view(const struct tl_range_map *map, uint64_t addr, uint64_t bytes)
{
    size_t at = lower(map, addr);
    const struct tl_view_range *r;

    if (at == map->ranges.count)
        return NULL;
    r = &map->ranges.items[at];
    if (addr < r->addr || bytes > r->bytes - (addr - r->addr))
        return NULL;
    return r->view + (addr - r->addr);
}

void tl__range_fini(struct tl_range_map *map)
{
    tl_vec_fini(&map->ranges);
}
