/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of name maps: every name that it has is found, and none beside them. */
#include "fuzz.h"

#include "artifact/name_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_error error = {0};
    struct tl_name_map map;
    int code = tl__name_map_parse(data, size, "fuzz", &map, &error);

    if (code != 0) {
        MUST(code == TL_EPARSE && error.code == code && error.msg[0] != 0);
        return 0;
    }
    for (uint32_t i = 0; i < map.count; i++)
        MUST(tl__name_of(&map, i) == map.names[i]);
    MUST(tl__name_of(&map, map.count) == NULL && tl__name_of(&map, -1) == NULL);
    tl__name_map_fini(&map);
    return 0;
}
