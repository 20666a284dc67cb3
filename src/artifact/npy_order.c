/* SPDX-License-Identifier: Apache-2.0 */
/* How the data of a .npy file is laid out: byte order, and which index runs fastest. */
#include "artifact/npy.h"

#include <string.h>

#include "base/env.h"
#include "base/error.h"

static void swap_bytes(uint8_t *data, uint64_t bytes, unsigned width)
{
    for (uint64_t at = 0; at + width <= bytes; at += width)
        for (unsigned i = 0; i < width / 2; i++) {
            uint8_t byte = data[at + i];

            data[at + i] = data[at + width - 1 - i];
            data[at + width - 1 - i] = byte;
        }
}

/* From the first index running fastest to the last. */
static void transpose(const struct tl_npy *npy, unsigned width, const uint8_t *from, uint8_t *to)
{
    uint64_t index[TL_NPY_MAX_DIMS] = {0}, stride[TL_NPY_MAX_DIMS], at = 0, step = width;

    for (uint32_t d = 0; d < npy->rank; d++) {
        stride[d] = step;
        step *= npy->shape[d];
    }
    for (uint64_t done = 0; done < npy->bytes; done += width) {
        memcpy(to + done, from + at, width);
        for (uint32_t d = npy->rank; d-- > 0;) {
            at += stride[d];
            if (++index[d] < npy->shape[d])
                break;
            at -= stride[d] * npy->shape[d];
            index[d] = 0;
        }
    }
}

int tl__npy_arrange(struct tl_npy *npy)
{
    unsigned width = tl__npy_type_bytes(npy->type);

    if (npy->big_endian)
        swap_bytes(npy->data, npy->bytes, width);
    if (npy->fortran_order && npy->rank > 1 && npy->bytes > 0) {
        uint8_t *arranged = tl__alloc(1, (size_t)npy->bytes);

        if (arranged == NULL)
            return TL_ENOMEM;
        transpose(npy, width, npy->data, arranged);
        tl__free(npy->data);
        npy->data = arranged;
    }
    npy->big_endian = npy->fortran_order = false;
    return 0;
}
