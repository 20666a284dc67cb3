/* SPDX-License-Identifier: Apache-2.0 */
/* The .npy header: what is accepted is inside the input and fits its own shape. */
#include "fuzz.h"

#include <string.h>

#include "artifact/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_npy npy;
    struct tl_error error = {0};
    int code = tl__npy_parse(data, size, "fuzz", &npy, &error);
    uint64_t n;

    if (code != 0) {
        MUST(code < 0 && error.code == code && strncmp(error.msg, "fuzz: ", 6) == 0);
        return 0;
    }
    MUST((unsigned)npy.type < TL_NPY_TYPE_COUNT && npy.rank <= TL_NPY_MAX_DIMS);
    MUST((const uint8_t *)npy.data >= data && npy.bytes <= (size_t)(data + size - (const uint8_t *)npy.data));
    n = tl__npy_type_bytes(npy.type);
    for (uint32_t d = 0; d < npy.rank && n != 0; d++)
        n = npy.shape[d] == 0 ? 0 : n * npy.shape[d];
    MUST(n == npy.bytes || npy.bytes == 0);
    return 0;
}
