/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_export.h"

#include <inttypes.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/dump/dump_payload.h"
#include "artifact/npy.h"
#include "base/env.h"
#include "base/error.h"
#include "tensor/convert.h"

/* As float32, in memory of its own: *ret_wide, which the caller frees. */
static int widen(const struct tl_dump_record *r, const void *data, uint64_t elements, float **ret_wide,
                 struct tl_error *reterr)
{
    float *wide = elements < SIZE_MAX / sizeof(float) ? tl__alloc(elements > 0 ? elements : 1, sizeof(float)) : NULL;

    if (wide == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory for %" PRIu64 " float32 values", elements);
    (void)tl__to_f32(r->dtype, data, 0, (size_t)elements, wide);
    *ret_wide = wide;
    return 0;
}

static void set_shape(struct tl_npy *npy, const struct tl_dump_record *r, uint64_t elements)
{
    npy->rank = r->rank;
    for (unsigned i = 0; i < r->rank; i++)
        npy->shape[i] = r->shape[i];
    if (r->kind == TL_KIND_SCALAR || elements == tl__dump_elements(r))
        return;
    npy->rank = 1;
    npy->shape[0] = elements;
}

int tl__dump_write_npy(const struct tl_recording *recording, uint64_t index, const char *path,
                       struct tl_dump_npy *ret_npy, struct tl_error *reterr)
{
    const struct tl_dump_record *r = tl_recording_at(recording, index);
    uint64_t elements = tl__dump_elements_here(r);
    struct tl_npy npy = {0};
    const void *data = &r->value_bits;
    float *wide = NULL;
    int code = 0, type = tl__npy_type_of_dtype(r->dtype);

    if (tl_dtype_bits(r->dtype) == 0 || r->rank > TL_MAX_DIMS)
        return TL_ENOTSUP;
    if (elements == 0 && tl__dump_elements(r) > 0)
        return TL_ENOENT;
    if (r->kind == TL_KIND_TENSOR)
        code = tl_recording_payload(recording, index, &data, reterr);
    if (code == 0 && type < 0)
        code = widen(r, data, elements, &wide, reterr);
    if (code < 0)
        return code == TL_ENOENT ? TL_EIO : code; /* due, and its file is gone */
    npy.type = type < 0 ? TL_NPY_F4 : (enum tl_npy_type)type;
    npy.bytes = elements * tl__npy_type_bytes(npy.type);
    memcpy(&npy.data, wide != NULL ? (const void *)&wide : &data, sizeof(npy.data)); /* the writer does not change it */
    set_shape(&npy, r, elements);
    code = tl__npy_write(path, &npy, reterr);
    tl__free(wide);
    if (code < 0)
        return code;
    ret_npy->widened = type < 0;
    ret_npy->flat = npy.rank != r->rank;
    return 0;
}
