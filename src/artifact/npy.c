/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .npy: 6 bytes of magic, 2 of version, the header's length (2 bytes in version 1, 4 later), the header (a Python dict
 * literal, padded with spaces so that the data starts at a multiple of 64), the data.
 */
#include "artifact/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/file_out.h"
#include "artifact/open.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"
#include "base/number.h"
#include "tensor/convert.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define PREFIX_MAX 12                  /* magic, version, length */
#define HEADER_MAX ((uint32_t)1 << 16) /* ours are under 1,000; numpy's own limit is 10,000 */
#define ALIGNMENT 64

/* X(type, descr without its byte order, name, bytes, dtype that it is, or -1) */
#define TYPES(X)                                                                                                       \
    X(TL_NPY_F2, "f2", "float16", 2, TL_FLOAT16)                                                                       \
    X(TL_NPY_F4, "f4", "float32", 4, TL_FLOAT32)                                                                       \
    X(TL_NPY_F8, "f8", "float64", 8, -1)                                                                               \
    X(TL_NPY_I1, "i1", "int8", 1, TL_INT8)                                                                             \
    X(TL_NPY_I2, "i2", "int16", 2, TL_INT16)                                                                           \
    X(TL_NPY_I4, "i4", "int32", 4, TL_INT32)                                                                           \
    X(TL_NPY_I8, "i8", "int64", 8, TL_INT64)                                                                           \
    X(TL_NPY_U1, "u1", "uint8", 1, TL_UINT8)                                                                           \
    X(TL_NPY_U2, "u2", "uint16", 2, TL_UINT16)                                                                         \
    X(TL_NPY_U4, "u4", "uint32", 4, TL_UINT32)                                                                         \
    X(TL_NPY_U8, "u8", "uint64", 8, TL_UINT64)                                                                         \
    X(TL_NPY_B1, "b1", "bool", 1, TL_BOOL)                                                                             \
    X(TL_NPY_V2, "V2", "bfloat16", 2, -1)                                                                              \
    X(TL_NPY_V1, "V1", "float of 1 byte", 1, -1)

/* What some writers call the floats that .npy has no letter for. */
static const struct {
    const char *name;
    uint8_t type;
} float_names[] = {
    {"bfloat16", TL_NPY_V2},
    {"float8_e4m3fn", TL_NPY_V1},
    {"float8_e8m0fnu", TL_NPY_V1},
    {"float4_e2m1fn", TL_NPY_V1},
};

static const struct {
    char descr[3];
    const char *name;
    uint8_t bytes;
    int8_t dtype;
} types[TL_NPY_TYPE_COUNT] = {
#define ROW(type, descr, name, bytes, dtype) [type] = {descr, name, bytes, dtype},
    TYPES(ROW)
#undef ROW
};

const char *tl__npy_type_name(enum tl_npy_type type)
{
    return (unsigned)type < TL_NPY_TYPE_COUNT ? types[type].name : "unknown";
}

unsigned tl__npy_type_bytes(enum tl_npy_type type)
{
    return (unsigned)type < TL_NPY_TYPE_COUNT ? types[type].bytes : 0;
}

int tl__npy_type_of_dtype(unsigned dtype)
{
    for (unsigned i = 0; i < TL_NPY_TYPE_COUNT; i++)
        if (types[i].dtype >= 0 && (unsigned)types[i].dtype == dtype)
            return (int)i;
    return TL_ENOTSUP;
}

int tl__npy_dtype_of_type(enum tl_npy_type type)
{
    return (unsigned)type < TL_NPY_TYPE_COUNT && types[type].dtype >= 0 ? types[type].dtype : TL_ENOTSUP;
}

/* ---- the header ---- */

struct scan {
    const char *at, *end;
    const char *name; /* of the file */
    struct tl_error *reterr;
};

static int bad_header(struct scan *s, const char *what)
{
    return tl__fail(s->reterr, TL_EPARSE, "%s: bad .npy header: %s", s->name, what);
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

/* Takes `c`, blanks around it included. */
static bool take_char(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    skip_blanks(s);
    return true;
}

/* A string in either quotes, without escapes: the header's keys and dtypes have none. */
static bool take_string(struct scan *s, const char **ret_text, size_t *ret_length)
{
    const char *close;

    skip_blanks(s);
    if (s->at == s->end || (*s->at != '\'' && *s->at != '"'))
        return false;
    close = memchr(s->at + 1, *s->at, (size_t)(s->end - s->at - 1));
    if (close == NULL)
        return false;
    *ret_text = s->at + 1;
    *ret_length = (size_t)(close - s->at - 1);
    s->at = close + 1;
    skip_blanks(s);
    return true;
}

static bool take_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    skip_blanks(s);
    return true;
}

static int take_descr(struct scan *s, struct tl_npy *npy)
{
    const char *text;
    size_t length;

    skip_blanks(s);
    if (s->at < s->end && *s->at == '[')
        return tl__fail(s->reterr, TL_ENOTSUP, "%s: a structured dtype is not supported", s->name);
    if (!take_string(s, &text, &length))
        return bad_header(s, "descr is not a string");
    for (unsigned i = 0; i < COUNT_OF(float_names); i++)
        if (length == strlen(float_names[i].name) && memcmp(text, float_names[i].name, length) == 0) {
            npy->type = (enum tl_npy_type)float_names[i].type;
            return 0;
        }
    for (unsigned i = 0; i < TL_NPY_TYPE_COUNT; i++) {
        bool any_order = types[i].bytes == 1 || i == TL_NPY_V2;

        if (length != 3 || memcmp(text + 1, types[i].descr, 2) != 0)
            continue;
        if (text[0] == '<' || text[0] == '=' || text[0] == '>' || (text[0] == '|' && any_order)) {
            npy->type = (enum tl_npy_type)i;
            npy->big_endian = text[0] == '>' && types[i].bytes > 1;
            return 0;
        }
    }
    return tl__fail(s->reterr, TL_ENOTSUP, "%s: dtype '%.*s' is not supported", s->name,
                    (int)(length < 40 ? length : 40), text);
}

static int take_order(struct scan *s, struct tl_npy *npy)
{
    npy->fortran_order = take_word(s, "True");
    if (npy->fortran_order || take_word(s, "False"))
        return 0;
    return bad_header(s, "fortran_order is neither True nor False");
}

static int take_shape(struct scan *s, struct tl_npy *npy)
{
    npy->rank = 0;
    if (!take_char(s, '('))
        return bad_header(s, "shape is not a tuple");
    while (!take_char(s, ')')) {
        uint64_t extent = 0;
        const char *start = s->at;

        for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
            if (__builtin_mul_overflow(extent, 10u, &extent) ||
                __builtin_add_overflow(extent, (uint64_t)(*s->at - '0'), &extent))
                return bad_header(s, "an extent that does not fit 64 bits");
        if (s->at == start)
            return bad_header(s, "shape holds something that is no number");
        if (s->at < s->end && *s->at == 'L') /* Python 2 */
            s->at++;
        if (npy->rank == TL_NPY_MAX_DIMS)
            return bad_header(s, "more than 32 dimensions");
        npy->shape[npy->rank++] = extent;
        skip_blanks(s);
        if (s->at < s->end && *s->at != ')' && !take_char(s, ','))
            return bad_header(s, "shape holds something that is no number");
    }
    return 0;
}

static int parse_dict(struct scan *s, struct tl_npy *npy)
{
    unsigned seen = 0;

    if (!take_char(s, '{'))
        return bad_header(s, "it is not a dict");
    while (!take_char(s, '}')) {
        const char *key;
        size_t length;
        int code;

        if (!take_string(s, &key, &length) || !take_char(s, ':'))
            return bad_header(s, "it is not a dict");
        if (length == 5 && memcmp(key, "descr", 5) == 0) {
            code = take_descr(s, npy);
            seen |= 1;
        } else if (length == 13 && memcmp(key, "fortran_order", 13) == 0) {
            code = take_order(s, npy);
            seen |= 2;
        } else if (length == 5 && memcmp(key, "shape", 5) == 0) {
            code = take_shape(s, npy);
            seen |= 4;
        } else {
            code = bad_header(s, "an unknown key");
        }
        if (code != 0)
            return code;
        skip_blanks(s);
        if (s->at < s->end && *s->at != '}' && !take_char(s, ','))
            return bad_header(s, "no comma between its items");
    }
    if (seen != 7)
        return bad_header(s, (seen & 1) == 0   ? "descr is missing"
                             : (seen & 2) == 0 ? "fortran_order is missing"
                                               : "shape is missing");
    skip_blanks(s);
    return s->at == s->end ? 0 : bad_header(s, "something behind the dict");
}

/* Bytes of the data; UINT64_MAX if they do not fit. */
static uint64_t data_bytes(const struct tl_npy *npy)
{
    __uint128_t n = tl__npy_type_bytes(npy->type);

    for (uint32_t d = 0; d < npy->rank; d++)
        if (npy->shape[d] == 0)
            return 0;
    for (uint32_t d = 0; d < npy->rank; d++) {
        n *= npy->shape[d];
        if (n > UINT64_MAX)
            return UINT64_MAX;
    }
    return (uint64_t)n;
}

/* The fixed part: where the header starts and how long it is. */
static int parse_prefix(const uint8_t *bytes, size_t size, const char *name, uint32_t *ret_start, uint32_t *ret_length,
                        struct tl_error *reterr)
{
    uint32_t length, start;

    if (size < MAGIC_BYTES + 2 || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return tl__fail(reterr, TL_EPARSE, "%s: not a .npy file", name);
    if (bytes[6] < 1 || bytes[6] > 3)
        return tl__fail(reterr, TL_EVERSION, "%s: .npy format %u.%u is not supported", name, bytes[6], bytes[7]);
    start = bytes[6] == 1 ? 10 : 12;
    if (size < start)
        return tl__fail(reterr, TL_EPARSE, "%s: cut inside the .npy header", name);
    length = (uint32_t)bytes[8] | (uint32_t)bytes[9] << 8;
    if (start == 12)
        length |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
    if (length > HEADER_MAX)
        return tl__fail(reterr, TL_EPARSE, "%s: bad .npy header: %u bytes long", name, length);
    *ret_start = start;
    *ret_length = length;
    return 0;
}

/* `available`: bytes in the file behind the header. */
static int parse_header(const char *header, uint32_t length, uint64_t available, const char *name, struct tl_npy *npy,
                        struct tl_error *reterr)
{
    struct scan s = {header, header + length, name, reterr};
    int code;

    memset(npy, 0, sizeof(*npy));
    code = parse_dict(&s, npy);
    if (code != 0)
        return code;
    npy->bytes = data_bytes(npy);
    if (npy->bytes > available)
        return tl__fail(reterr, TL_EPARSE, "%s: cut: dtype and shape need %llu bytes, the file has %llu", name,
                        (unsigned long long)npy->bytes, (unsigned long long)available);
    if (npy->bytes < available)
        return tl__fail(reterr, TL_EPARSE, "%s: too long: dtype and shape need %llu bytes, the file has %llu", name,
                        (unsigned long long)npy->bytes, (unsigned long long)available);
    return 0;
}

int tl__npy_parse(const void *image, size_t size, const char *name, struct tl_npy *ret_npy, struct tl_error *reterr)
{
    const uint8_t *bytes = image;
    uint32_t start = 0, length = 0;
    struct tl_npy npy = {0};
    int code = parse_prefix(bytes, size, name, &start, &length, reterr);

    if (code != 0)
        return code;
    if (size - start < length)
        return tl__fail(reterr, TL_EPARSE, "%s: cut inside the .npy header", name);
    code = parse_header((const char *)bytes + start, length, size - start - length, name, &npy, reterr);
    if (code != 0)
        return code;
    npy.data = (void *)(uintptr_t)(bytes + start + length);
    *ret_npy = npy;
    return 0;
}

/* ---- files ---- */

static int read_all(int fd, void *buffer, uint64_t bytes, uint64_t offset, const char *path, struct tl_error *reterr)
{
    uint8_t *to = buffer;

    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, to + done, (size_t)(bytes - done), (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tl__fail(reterr, TL_EIO, "%s: cannot read: %s", path, n < 0 ? strerror(errno) : "it became shorter");
        done += (uint64_t)n;
    }
    return 0;
}

/* Opens and parses; *ret_offset is where the data starts. The caller closes *ret_fd, -1 on failure. */
static int open_npy(const char *path, int *ret_fd, uint64_t *ret_offset, struct tl_npy *npy, struct tl_error *reterr)
{
    uint8_t prefix[PREFIX_MAX];
    uint32_t start = 0, length = 0;
    struct stat st;
    uint64_t size, head;
    char *header = NULL;
    int fd = tl__open_to_read(path), code;

    *ret_fd = -1;
    if (fd < 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: cannot open: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        code = tl__fail(reterr, TL_EIO, "%s: not a regular file", path);
        goto out;
    }
    size = (uint64_t)st.st_size;
    head = size < sizeof(prefix) ? size : sizeof(prefix);
    code = read_all(fd, prefix, head, 0, path, reterr);
    if (code == 0)
        code = parse_prefix(prefix, (size_t)head, path, &start, &length, reterr);
    if (code != 0)
        goto out;
    if (size - start < length) {
        code = tl__fail(reterr, TL_EPARSE, "%s: cut inside the .npy header", path);
        goto out;
    }
    header = tl__alloc(1, (size_t)length + 1);
    code = header == NULL ? tl__fail(reterr, TL_ENOMEM, "%s: out of memory", path)
                          : read_all(fd, header, length, start, path, reterr);
    if (code == 0)
        code = parse_header(header, length, size - start - length, path, npy, reterr);
    if (code == 0) {
        *ret_fd = fd;
        *ret_offset = (uint64_t)start + length;
        fd = -1;
    }
out:
    tl__free(header);
    if (fd >= 0)
        (void)close(fd);
    return code;
}

int tl__npy_read(const char *path, struct tl_npy *ret_npy, struct tl_error *reterr)
{
    struct tl_npy npy = {0};
    uint64_t offset = 0;
    int fd, code = open_npy(path, &fd, &offset, &npy, reterr);

    if (code != 0)
        return code;
    npy.data = tl__alloc(1, npy.bytes > 0 ? (size_t)npy.bytes : 1);
    code = npy.data == NULL
               ? tl__fail(reterr, TL_ENOMEM, "%s: no memory for %llu bytes", path, (unsigned long long)npy.bytes)
               : read_all(fd, npy.data, npy.bytes, offset, path, reterr);
    (void)close(fd);
    if (code == 0 && tl__npy_arrange(&npy) != 0)
        code = tl__fail(reterr, TL_ENOMEM, "%s: no memory for %llu bytes", path, (unsigned long long)npy.bytes);
    if (code != 0)
        tl__npy_free(&npy);
    else
        *ret_npy = npy;
    return code;
}

/* "(2, 3)", cut with "..." when it is long. */
static void shape_text(char *text, size_t size, unsigned rank, const uint64_t *shape)
{
    char *p = text, *end = text + size - 32;

    *p++ = '(';
    for (unsigned d = 0; d < rank; d++) {
        if (p >= end) {
            memcpy(p, "...", 3);
            p += 3;
            break;
        }
        if (d > 0) {
            memcpy(p, ", ", 2);
            p += 2;
        }
        p += tl__print_u64(p, shape[d]);
    }
    if (rank == 1)
        *p++ = ',';
    *p++ = ')';
    *p = 0;
}

/* Whether the file's type can be read into the dtype: as it is, or as floats that are rounded. */
static bool type_fits(enum tl_npy_type type, enum tl_dtype dtype)
{
    int own = tl__npy_type_of_dtype(dtype);

    if (own >= 0)
        return type == (enum tl_npy_type)own;
    return type == TL_NPY_F4 || type == (dtype == TL_BFLOAT16 ? TL_NPY_V2 : TL_NPY_V1);
}

static int check_type(const struct tl_npy *npy, const char *path, enum tl_dtype dtype, struct tl_error *reterr)
{
    bool own = tl__npy_type_of_dtype(dtype) >= 0;

    if (!own && !tl__dtype_is_float(dtype))
        return tl__fail(reterr, TL_ENOTSUP, "%s: a %s tensor cannot be given as .npy", path, tl_dtype_name(dtype));
    if (type_fits(npy->type, dtype))
        return 0;
    if (own)
        return tl__fail(reterr, TL_EINVAL, "%s: dtype is %s, expected %s", path, tl__npy_type_name(npy->type),
                        tl_dtype_name(dtype));
    return tl__fail(reterr, TL_EINVAL, "%s: dtype is %s, expected %s ('<%s'), or float32, to be rounded to it", path,
                    tl__npy_type_name(npy->type), tl_dtype_name(dtype), dtype == TL_BFLOAT16 ? "V2" : "V1");
}

/* An array of rank 0 is one element: a tensor of shape (1,) takes it. */
static bool same_shape(const struct tl_npy *npy, unsigned rank, const uint32_t *shape)
{
    if (npy->rank == 0)
        return rank == 0 || (rank == 1 && shape[0] == 1);
    if (npy->rank != rank)
        return false;
    for (unsigned d = 0; d < rank; d++)
        if (npy->shape[d] != shape[d])
            return false;
    return true;
}

static int check_match(const struct tl_npy *npy, const char *path, enum tl_dtype dtype, unsigned rank,
                       const uint32_t *shape, size_t bytes, struct tl_error *reterr)
{
    char expected[160], found[160];
    uint64_t wide[TL_MAX_DIMS], needed = npy->bytes;
    int code = check_type(npy, path, dtype, reterr);

    if (code != 0)
        return code;
    if (rank > TL_MAX_DIMS)
        return tl__fail(reterr, TL_EINVAL, "%s: rank %u", path, rank);
    for (unsigned d = 0; d < rank; d++)
        wide[d] = shape[d];
    if (!same_shape(npy, rank, shape)) {
        shape_text(expected, sizeof(expected), rank, wide);
        shape_text(found, sizeof(found), npy->rank, npy->shape);
        return tl__fail(reterr, TL_EINVAL, "%s: shape is %s, expected %s", path, found, expected);
    }
    if (tl__npy_type_of_dtype(dtype) < 0)
        needed = (npy->bytes / tl__npy_type_bytes(npy->type) * tl_dtype_bits(dtype) + 7) / 8;
    if (needed != bytes)
        return tl__fail(reterr, TL_EINVAL, "%s: %llu bytes for a buffer of %zu", path, (unsigned long long)needed,
                        bytes);
    return 0;
}

/* The bits that a dtype that .npy does not have gives a float. */
static uint32_t bits_of(enum tl_dtype dtype, float value)
{
    switch (dtype) {
    case TL_BFLOAT16:
        return tl__bf16_of_f32(value);
    case TL_FP8E4M3FN:
        return tl__fp8e4m3fn_of_f32(value);
    case TL_FP8E8M0:
        return tl__fp8e8m0_of_f32(value);
    default:
        return tl__fp4e2m1_of_f32(value);
    }
}

/* Element `k` of `to`; fp4e2m1: the low four bits come first, and elements are put in their order. */
static void put_bits(enum tl_dtype dtype, uint8_t *to, uint64_t k, uint32_t bits)
{
    if (dtype == TL_BFLOAT16) {
        to[2 * k] = (uint8_t)bits;
        to[2 * k + 1] = (uint8_t)(bits >> 8);
    } else if (dtype == TL_FP4E2M1) {
        to[k / 2] = (uint8_t)(k % 2 == 0 ? bits : to[k / 2] | bits << 4);
    } else {
        to[k] = (uint8_t)bits;
    }
}

/* The values of `npy`, arranged, into a tensor of a dtype that .npy does not have. */
static int convert(const struct tl_npy *npy, const char *path, enum tl_dtype dtype, uint8_t *to,
                   struct tl_error *reterr)
{
    unsigned width = tl__npy_type_bytes(npy->type);

    for (uint64_t k = 0; width != 0 && k < npy->bytes / width; k++) {
        const uint8_t *from = (const uint8_t *)npy->data + k * width;
        uint32_t bits;
        float value;

        if (npy->type == TL_NPY_F4) {
            memcpy(&value, from, sizeof(value));
            bits = bits_of(dtype, value);
        } else {
            bits = width == 2 ? (uint32_t)from[0] | (uint32_t)from[1] << 8 : from[0];
        }
        if (dtype == TL_FP4E2M1 && bits > 15)
            return tl__fail(reterr, TL_EINVAL,
                            "%s: element %llu is the byte 0x%02x; a fp4e2m1 has its value in the low four bits", path,
                            (unsigned long long)k, bits);
        put_bits(dtype, to, k, bits);
    }
    return 0;
}

/* With the whole file in memory: it is in another order, or of another type. */
static int read_converted(const char *path, enum tl_dtype dtype, void *buffer, struct tl_error *reterr)
{
    struct tl_npy npy = {0};
    int code = tl__npy_read(path, &npy, reterr);

    if (code != 0)
        return code;
    if (tl__npy_type_of_dtype(dtype) < 0)
        code = convert(&npy, path, dtype, buffer, reterr);
    else
        memcpy(buffer, npy.data, npy.bytes);
    tl__npy_free(&npy);
    return code;
}

int tl__npy_read_into(const char *path, enum tl_dtype dtype, unsigned rank, const uint32_t *shape, void *buffer,
                      size_t bytes, struct tl_error *reterr)
{
    struct tl_npy npy = {0};
    uint64_t offset = 0;
    int fd, code = open_npy(path, &fd, &offset, &npy, reterr);
    bool plain = !npy.fortran_order && !npy.big_endian && tl__npy_type_of_dtype(dtype) >= 0;

    if (code != 0)
        return code;
    code = check_match(&npy, path, dtype, rank, shape, bytes, reterr);
    if (code == 0 && plain)
        code = read_all(fd, buffer, npy.bytes, offset, path, reterr);
    (void)close(fd);
    if (code == 0 && !plain)
        code = read_converted(path, dtype, buffer, reterr);
    return code;
}

void tl__npy_free(struct tl_npy *npy)
{
    tl__free(npy->data);
    npy->data = NULL;
}

/* The whole header for an array, padded: at most 12 + 64 + 32 * 22 + 64 bytes, so always format 1.0. Returns its size.
 */
static size_t make_header(const struct tl_npy *npy, char *header, size_t room)
{
    char dict[TL_NPY_MAX_DIMS * 24 + 128], *p;
    size_t total;
    uint16_t length;

    p = dict + snprintf(dict, sizeof(dict), "{'descr': '%c%.2s', 'fortran_order': False, 'shape': (",
                        types[npy->type].bytes == 1 ? '|' : '<', types[npy->type].descr);
    for (uint32_t d = 0; d < npy->rank; d++) {
        if (d > 0) {
            memcpy(p, ", ", 2);
            p += 2;
        }
        p += tl__print_u64(p, npy->shape[d]);
    }
    if (npy->rank == 1)
        *p++ = ',';
    memcpy(p, "), }", 4);
    p += 4;
    total = (10 + (size_t)(p - dict) + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (total > room)
        return 0;
    length = (uint16_t)(total - 10);
    memset(header, ' ', total);
    memcpy(header, MAGIC "\x01\x00", 8);
    memcpy(header + 8, &length, 2);
    memcpy(header + 10, dict, (size_t)(p - dict));
    header[total - 1] = '\n';
    return total;
}

int tl__npy_write(const char *path, const struct tl_npy *npy, struct tl_error *reterr)
{
    char header[2048];
    struct tl_out out;
    size_t n;
    int code;

    if ((unsigned)npy->type >= TL_NPY_TYPE_COUNT || npy->fortran_order || npy->big_endian ||
        npy->rank > TL_NPY_MAX_DIMS || npy->bytes != data_bytes(npy) || (npy->bytes > 0 && npy->data == NULL))
        return tl__fail(reterr, TL_EINVAL, "%s: type, shape and bytes of the array disagree", path);
    n = make_header(npy, header, sizeof(header));
    code = tl__out_open(&out, path, reterr);
    if (code != 0)
        return code;
    tl__out_bytes(&out, header, n);
    if (npy->bytes > 0)
        tl__out_bytes(&out, npy->data, (size_t)npy->bytes);
    return tl__out_commit(&out, reterr);
}
