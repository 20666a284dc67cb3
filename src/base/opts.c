/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opts.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"

int tl__copy_opts(void *to, size_t size, const void *from, const char *name, const char *init, struct tl_error *reterr)
{
    const unsigned char *bytes = from;
    uint32_t given = 0;

    if (from != NULL)
        memcpy(&given, from, sizeof(given));
    if (given < sizeof(given))
        return tl__fail(reterr, TL_EINVAL, "struct %s begins with its size: %s", name, init);
    for (size_t i = size; i < given; i++)
        if (bytes[i] != 0)
            return tl__fail(reterr, TL_EVERSION, "struct %s asks for what this version does not know", name);
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    return 0;
}
