/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy .npy files, format 1.0, 2.0 and 3.0, of the plain numeric dtypes:
 * '<f4' '<f8' '<f2' '|i1' '<i2' '<i4' '<i8' '|u1' '<u2' '<u4' '<u8' '|b1', and those that NumPy has no letter for and
 * saves as bytes: bfloat16 as 'V2', floats of a byte as 'V1', or by name ('bfloat16', 'float8_e4m3fn',
 * 'float8_e8m0fnu', 'float4_e2m1fn': a byte each). Files are read in C and in Fortran order, little and big endian; in
 * memory, and in what we write, arrays are in C order and little endian.
 */
#ifndef TL_ARTIFACT_NPY_H
#define TL_ARTIFACT_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>
#include <tasklens/tensor.h>

#define TL_NPY_MAX_DIMS 32

enum tl_npy_type {
    TL_NPY_F2,
    TL_NPY_F4,
    TL_NPY_F8,
    TL_NPY_I1,
    TL_NPY_I2,
    TL_NPY_I4,
    TL_NPY_I8,
    TL_NPY_U1,
    TL_NPY_U2,
    TL_NPY_U4,
    TL_NPY_U8,
    TL_NPY_B1,
    TL_NPY_V2, /* bfloat16 */
    TL_NPY_V1, /* one of the floats of a byte: the file does not say which */
    TL_NPY_TYPE_COUNT
};

/* An array in memory or in a file. */
struct tl_npy {
    enum tl_npy_type type;
    uint32_t rank;
    uint64_t shape[TL_NPY_MAX_DIMS];
    uint64_t bytes;                 /* of the data */
    void *data;                     /* after tl__npy_read: ours, see tl__npy_free. Writers borrow it. */
    bool fortran_order, big_endian; /* how the data is laid out; always false after tl__npy_read, and for writers */
};

/* "float32", ... Never NULL. */
const char *tl__npy_type_name(enum tl_npy_type type);
unsigned tl__npy_type_bytes(enum tl_npy_type type);
/* The .npy type that we write a dtype as; TL_ENOTSUP for bfloat16, fp8 and fp4 (widen them to float32 first). */
int tl__npy_type_of_dtype(unsigned dtype);
/* The dtype of a .npy type; TL_ENOTSUP for float64, V2 and V1. */
int tl__npy_dtype_of_type(enum tl_npy_type type);

/* Parses the header of an image of `size` bytes. *ret_npy gets type, rank, shape, bytes and data = into the image.
 * One-line errors name `name`. TL_EPARSE: not a .npy, bad header, cut, longer than dtype and shape say; TL_ENOTSUP:
 * dtype; TL_EVERSION.
 */
int tl__npy_parse(const void *image, size_t size, const char *name, struct tl_npy *ret_npy, struct tl_error *reterr);
/* Brings the data of a file, in memory of ours, into C order and little endian. 0 or TL_ENOMEM. */
int tl__npy_arrange(struct tl_npy *npy);
/* Reads a file, arranged. Free *ret_npy with tl__npy_free. Also TL_ENOENT, TL_EIO, TL_ENOMEM. */
int tl__npy_read(const char *path, struct tl_npy *ret_npy, struct tl_error *reterr);
/* Reads into `buffer`, checking that the file is exactly of this dtype and shape: TL_EINVAL says how it differs. For
 * bfloat16, fp8 and fp4 it is of V2 or V1, or of float32, which is rounded to nearest, ties to even. An array of rank 0
 * fits a tensor of shape (1,). */
int tl__npy_read_into(const char *path, enum tl_dtype dtype, unsigned rank, const uint32_t *shape, void *buffer,
                      size_t bytes, struct tl_error *reterr);
/* Frees the data; NULL data is fine. */
void tl__npy_free(struct tl_npy *npy);
/* Writes `npy` (format 1.0: our headers always fit it), replacing the file by rename. TL_EINVAL: bytes disagree
 * with type and shape. */
int tl__npy_write(const char *path, const struct tl_npy *npy, struct tl_error *reterr);

#endif
