/* SPDX-License-Identifier: Apache-2.0 */
#include <tasklens/error.h>
#include <tasklens/tensor.h>

#include <strings.h>

TL_API unsigned tl_dtype_bits(unsigned dtype)
{
    static const uint8_t bits[TL_DTYPE_COUNT] = {
#define ROW(name, value, text, width) [value] = (width),
        TL_DTYPE_LIST(ROW)
#undef ROW
    };

    return dtype < TL_DTYPE_COUNT ? bits[dtype] : 0;
}

TL_API const char *tl_dtype_name(unsigned dtype)
{
    static const char *const names[TL_DTYPE_COUNT] = {
#define ROW(name, value, text, width) [value] = (text),
        TL_DTYPE_LIST(ROW)
#undef ROW
    };

    return dtype < TL_DTYPE_COUNT ? names[dtype] : "unknown";
}

TL_API int tl_dtype_parse(const char *name)
{
    if (name == NULL)
        return TL_ENOENT;
    for (unsigned i = 0; i < TL_DTYPE_COUNT; i++)
        if (strcasecmp(name, tl_dtype_name(i)) == 0)
            return (int)i;
    return TL_ENOENT;
}
