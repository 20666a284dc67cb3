/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/artifact_fixture.h"

#include <math.h>

#include "artifact/npy.h"
#include "tensor/convert.h"

/* Debian's, which has Debian's NumPy. */
#define PYTHON "/usr/bin/python3"

/* An image: magic, version `major`, a header as given, `data_bytes` counting bytes. Returns its size. */
static size_t image_of(uint8_t *to, unsigned major, const char *header, size_t data_bytes)
{
    size_t n = strlen(header), at = 10;

    memcpy(to, "\x93NUMPY", 6);
    to[6] = (uint8_t)major;
    to[7] = 0;
    to[8] = (uint8_t)n;
    to[9] = (uint8_t)(n >> 8);
    if (major > 1) {
        to[10] = to[11] = 0;
        at = 12;
    }
    memcpy(to + at, header, n);
    for (size_t i = 0; i < data_bytes; i++)
        to[at + n + i] = (uint8_t)i;
    return at + n + data_bytes;
}

static void every_type_comes_back(void **state)
{
    static const char *const names[] = {"float16", "float32", "float64",  "int8",           "int16",
                                        "int32",   "int64",   "uint8",    "uint16",         "uint32",
                                        "uint64",  "bool",    "bfloat16", "float of 1 byte"};
    uint8_t data[6 * 8];
    struct tl_error err = {0};

    (void)state;
    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(200 - i);
    for (unsigned t = 0; t < TL_NPY_TYPE_COUNT; t++) {
        struct tl_npy out = {.type = (enum tl_npy_type)t, .rank = 2, .shape = {2, 3}, .data = data}, in;
        int dtype = tl__npy_dtype_of_type((enum tl_npy_type)t);

        assert_string_equal(tl__npy_type_name(out.type), names[t]);
        out.bytes = 6 * tl__npy_type_bytes(out.type);
        assert_int_equal(tl__npy_write(fixture_path("a.npy"), &out, &err), 0);
        assert_int_equal(tl__npy_read(fixture_path("a.npy"), &in, &err), 0);
        assert_int_equal(in.type, t);
        assert_int_equal(in.rank, 2);
        assert_int_equal(in.shape[0], 2);
        assert_int_equal(in.shape[1], 3);
        assert_int_equal(in.bytes, out.bytes);
        assert_memory_equal(in.data, data, out.bytes);
        tl__npy_free(&in);
        assert_int_equal(dtype, t == TL_NPY_F8 || t >= TL_NPY_V2 ? TL_ENOTSUP : tl_dtype_parse(names[t]));
        if (dtype >= 0)
            assert_int_equal(tl__npy_type_of_dtype((unsigned)dtype), t);
    }
    assert_int_equal(tl__npy_type_of_dtype(TL_BFLOAT16), TL_ENOTSUP);
    assert_int_equal(tl__npy_type_of_dtype(255), TL_ENOTSUP);
    assert_string_equal(tl__npy_type_name(TL_NPY_TYPE_COUNT), "unknown");
}

static void the_header_is_as_numpy_writes_it(void **state)
{
    float value = 1;
    struct tl_npy npy = {.type = TL_NPY_F4, .rank = 1, .shape = {1}, .bytes = 4, .data = &value};
    struct tl_error err = {0};
    static const char expected[] = "\x93NUMPY\x01\x00\x76\x00"
                                   "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }  ";
    size_t size;
    char *bytes;

    (void)state;
    assert_int_equal(tl__npy_write(fixture_path("a.npy"), &npy, &err), 0);
    bytes = fixture_read("a.npy", &size);
    assert_int_equal(size, 128 + 4);
    assert_memory_equal(bytes, expected, sizeof(expected) - 1);
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, &value, 4);
    free(bytes);
    /* Rank 0 and empty arrays, and the longest header there is. */
    npy.rank = 0;
    assert_int_equal(tl__npy_write(fixture_path("a.npy"), &npy, &err), 0);
    bytes = fixture_read("a.npy", &size);
    assert_non_null(strstr(bytes + 10, "'shape': (), }"));
    free(bytes);
    npy.rank = TL_NPY_MAX_DIMS;
    for (unsigned d = 0; d < TL_NPY_MAX_DIMS; d++)
        npy.shape[d] = UINT64_MAX;
    npy.shape[0] = 0;
    npy.bytes = 0;
    npy.data = NULL;
    assert_int_equal(tl__npy_write(fixture_path("a.npy"), &npy, &err), 0);
    assert_int_equal(tl__npy_read(fixture_path("a.npy"), &npy, &err), 0);
    assert_int_equal(npy.rank, 32);
    assert_true(npy.shape[31] == UINT64_MAX);
    tl__npy_free(&npy);
}

static void every_version_and_spelling_is_read(void **state)
{
    static const struct {
        unsigned major;
        const char *header;
        unsigned rank, data;
    } good[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 2, 24},
        {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 2, 24},
        {3, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 2, 24},
        {1, "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"=f4\"}", 2, 24},
        {1, " { 'shape' : ( 6L , ) , 'descr' : '<f4' , 'fortran_order' : False }   \n", 1, 24},
        {1, "{'descr': '>i1', 'fortran_order': False, 'shape': ()}", 0, 1},
        {1, "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 9)}", 2, 0},
        {1, "{'descr': '>f4', 'fortran_order': True, 'shape': (2,)}", 1, 8},
        {1, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 0, 9)}", 3, 0},
        {1, "{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}", 1, 4},
        {1, "{'descr': 'bfloat16', 'fortran_order': True, 'shape': (2, 1)}", 2, 4},
    };
    uint8_t image[512];
    struct tl_error err = {0};
    struct tl_npy npy;

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        size_t size = image_of(image, good[i].major, good[i].header, good[i].data);

        assert_int_equal(tl__npy_parse(image, size, "x.npy", &npy, &err), 0);
        assert_int_equal(npy.rank, good[i].rank);
        assert_ptr_equal(npy.data, image + size - good[i].data);
        fixture_write("x.npy", image, size);
        assert_int_equal(tl__npy_read(fixture_path("x.npy"), &npy, &err), 0);
        tl__npy_free(&npy);
    }
}

static void bad_files_are_named_in_one_line(void **state)
{
    static const struct {
        unsigned major;
        const char *header;
        unsigned data;
        int code;
        const char *says;
    } bad[] = {
        {1, "{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", 16, TL_ENOTSUP, "dtype '<c8' is not supported"},
        {1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", 5, TL_EPARSE, "need 2 bytes, the file has 5"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2)}", 8, TL_EPARSE, "need 0 bytes, the file has 8"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} }", 8, TL_EPARSE, "behind the dict"},
        {1, "{'descr': '|V4', 'fortran_order': False, 'shape': (2,)}", 8, TL_ENOTSUP, "'|V4'"},
        {1, "{'descr': '|f4', 'fortran_order': False, 'shape': (2,)}", 8, TL_ENOTSUP, "'|f4'"},
        {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8, TL_ENOTSUP, "structured"},
        {1, "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}", 8, TL_EPARSE, "fortran_order"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': 2}", 8, TL_EPARSE, "tuple"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8, TL_EPARSE, "no number"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2", 8, TL_EPARSE, "no number"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", 8, TL_EPARSE, "no number"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 8, TL_EPARSE, "64 bits"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,4294967296)}", 8, TL_EPARSE,
         "cut"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 8, TL_EPARSE, "need 12 bytes, the file has 8"},
        {1, "{'descr': '<f4', 'fortran_order': False}", 8, TL_EPARSE, "shape is missing"},
        {1, "{'descr': '<f4', 'shape': (2,)}", 8, TL_EPARSE, "fortran_order is missing"},
        {1, "{'fortran_order': False, 'shape': (2,)}", 8, TL_EPARSE, "descr is missing"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", 8, TL_EPARSE, "unknown key"},
        {1, "{'descr': '<f4' 'fortran_order': False}", 8, TL_EPARSE, "comma"},
        {1, "{'descr': 4}", 8, TL_EPARSE, "descr is not a string"},
        {1, "{'descr", 8, TL_EPARSE, "dict"},
        {1, "[]", 8, TL_EPARSE, "dict"},
        {1, "", 8, TL_EPARSE, "dict"},
        {4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8, TL_EVERSION, "4.0"},
        {0, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8, TL_EVERSION, "0.0"},
        {1,
         "{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"
         ",1,1)}",
         8, TL_EPARSE, "32 dimensions"},
    };
    uint8_t image[512];
    struct tl_error err;
    struct tl_npy npy;
    size_t size;

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size = image_of(image, bad[i].major, bad[i].header, bad[i].data);
        memset(&err, 0, sizeof(err));
        assert_int_equal(tl__npy_parse(image, size, "x.npy", &npy, &err), bad[i].code);
        assert_non_null(strstr(err.msg, bad[i].says));
        assert_memory_equal(err.msg, "x.npy: ", 7);
        assert_null(strchr(err.msg, '\n'));
        fixture_write("x.npy", image, size);
        assert_int_equal(tl__npy_read(fixture_path("x.npy"), &npy, &err), bad[i].code);
    }
    /* Every cut of a good file. */
    size = image_of(image, 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(tl__npy_parse(image, cut, "x.npy", &npy, &err), TL_EPARSE);
        fixture_write("x.npy", image, cut);
        assert_int_equal(tl__npy_read(fixture_path("x.npy"), &npy, &err), TL_EPARSE);
    }
    image[10] = 255; /* a header of 16 MB */
    assert_int_equal(tl__npy_parse(image, size, "x.npy", &npy, &err), TL_EPARSE);
    assert_int_equal(tl__npy_read(fixture_path("absent.npy"), &npy, &err), TL_ENOENT);
    assert_int_equal(tl__npy_read(fixture_dir, &npy, &err), TL_EIO);
}

static void reading_into_a_tensor_checks_it(void **state)
{
    static const uint32_t shape[2] = {2, 3}, other[2] = {3, 2};
    float data[6] = {1, 2, 3, 4, 5, 6}, got[6] = {0};
    struct tl_npy npy = {.type = TL_NPY_F4, .rank = 2, .shape = {2, 3}, .bytes = 24, .data = data};
    struct tl_error err = {0};
    const char *path;

    (void)state;
    path = fixture_path("a.npy");
    assert_int_equal(tl__npy_write(path, &npy, &err), 0);
    assert_int_equal(tl__npy_read_into(path, TL_FLOAT32, 2, shape, got, 24, &err), 0);
    assert_memory_equal(got, data, 24);
    assert_int_equal(tl__npy_read_into(path, TL_INT32, 2, shape, got, 24, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "dtype is float32, expected int32"));
    assert_int_equal(tl__npy_read_into(path, TL_FLOAT32, 2, other, got, 24, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "shape is (2, 3), expected (3, 2)"));
    assert_int_equal(tl__npy_read_into(path, TL_FLOAT32, 1, shape, got, 24, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "expected (2,)"));
    assert_int_equal(tl__npy_read_into(path, TL_FLOAT32, 2, shape, got, 20, &err), TL_EINVAL);
    assert_int_equal(tl__npy_read_into(path, TL_BFLOAT16, 2, shape, got, 24, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "12 bytes for a buffer of 24"));
    assert_int_equal(tl__npy_read_into(path, (enum tl_dtype)99, 2, shape, got, 12, &err), TL_ENOTSUP);
    assert_int_equal(tl__npy_read_into(path, TL_FLOAT32, 6, shape, got, 24, &err), TL_EINVAL);
    assert_int_equal(tl__npy_read_into(fixture_path("b"), TL_FLOAT32, 2, shape, got, 24, &err), TL_ENOENT);
}

/* Floats that .npy does not have come from float32: to nearest, ties to even; more than one block of them. */
static void floats_without_a_type_are_rounded(void **state)
{
    static const uint32_t shape[2] = {2, 3}, many[1] = {3001};
    static const uint16_t bf16[6] = {0x3f80, 0x3f80, 0x3f82, 0xc020, 0x7f80, 0x3f81};
    static const uint8_t e4m3[6] = {0x38, 0x38, 0x38, 0xc2, 0x7f, 0x38}, e8m0[6] = {127, 127, 127, 255, 254, 127};
    static const uint8_t e2m1[3] = {0x22, 0xc2, 0x27};
    float data[6] = {1, 1 + 0x1p-8f, 1 + 0x3p-8f, -2.5f, (float)INFINITY, 1 + 0x1p-8f + 0x1p-20f}, *long_data;
    struct tl_npy npy = {.type = TL_NPY_F4, .rank = 2, .shape = {2, 3}, .bytes = 24, .data = data};
    struct tl_error err = {0};
    uint16_t got[6], *long_got;
    const char *path;

    (void)state;
    path = fixture_path("wide.npy");
    assert_int_equal(tl__npy_write(path, &npy, &err), 0);
    assert_int_equal(tl__npy_read_into(path, TL_BFLOAT16, 2, shape, got, 12, &err), 0);
    assert_memory_equal(got, bf16, 12);
    assert_int_equal(tl__npy_read_into(path, TL_FP8E4M3FN, 2, shape, got, 6, &err), 0);
    assert_memory_equal(got, e4m3, 6);
    assert_int_equal(tl__npy_read_into(path, TL_FP8E8M0, 2, shape, got, 6, &err), 0);
    assert_memory_equal(got, e8m0, 6);
    assert_int_equal(tl__npy_read_into(path, TL_FP4E2M1, 2, shape, got, 3, &err), 0);
    assert_memory_equal(got, e2m1, 3);
    npy = (struct tl_npy){.type = TL_NPY_I4, .rank = 2, .shape = {2, 3}, .bytes = 24, .data = data};
    assert_int_equal(tl__npy_write(path, &npy, &err), 0);
    assert_int_equal(tl__npy_read_into(path, TL_BFLOAT16, 2, shape, got, 12, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "dtype is int32, expected bfloat16 ('<V2'), or float32, to be rounded to it"));

    long_data = malloc(many[0] * sizeof(*long_data));
    long_got = malloc(many[0] * sizeof(*long_got));
    assert_true(long_data != NULL && long_got != NULL);
    for (uint32_t i = 0; i < many[0]; i++)
        long_data[i] = (float)(i % 256); /* exact in 8 bits */
    npy = (struct tl_npy){
        .type = TL_NPY_F4, .rank = 1, .shape = {many[0]}, .bytes = many[0] * sizeof(float), .data = long_data};
    assert_int_equal(tl__npy_write(path, &npy, &err), 0);
    assert_int_equal(tl__npy_read_into(path, TL_BFLOAT16, 1, many, long_got, 2 * many[0], &err), 0);
    for (uint32_t i = 0; i < many[0]; i++)
        assert_true(tl__f32_of_bf16(long_got[i]) == long_data[i]);
    free(long_data);
    free(long_got);
}

static void arrays_that_disagree_are_not_written(void **state)
{
    float data[6] = {0};
    struct tl_npy npy = {.type = TL_NPY_F4, .rank = 2, .shape = {2, 3}, .bytes = 20, .data = data};
    struct tl_error err = {0};

    (void)state;
    assert_int_equal(tl__npy_write(fixture_path("a.npy"), &npy, &err), TL_EINVAL);
    npy.bytes = 24;
    npy.data = NULL;
    assert_int_equal(tl__npy_write(fixture_path("a.npy"), &npy, &err), TL_EINVAL);
    npy.data = data;
    npy.type = TL_NPY_TYPE_COUNT;
    assert_int_equal(tl__npy_write(fixture_path("a.npy"), &npy, &err), TL_EINVAL);
    npy.type = TL_NPY_F4;
    npy.rank = 33;
    assert_int_equal(tl__npy_write(fixture_path("a.npy"), &npy, &err), TL_EINVAL);
    npy.rank = 2;
    assert_int_equal(access(fixture_path("a.npy"), F_OK), -1);
    assert_int_equal(tl__npy_write("/nonexistent/a.npy", &npy, &err), TL_ENOENT);
}

/* Bytes of the file -> what the tensor has. */
static void every_order_and_float_is_read(void **state)
{
    static const uint32_t shape[2] = {2, 3}, one[1] = {1}, none[2] = {0, 3};
    static const uint16_t fortran[6] = {1, 4, 2, 5, 3, 6}, in_order[6] = {1, 2, 3, 4, 5, 6};
    static const uint8_t swapped[12] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
    static const uint8_t fp4[6] = {1, 2, 3, 4, 5, 6};
    uint8_t image[256], nibbles[3] = {0};
    uint16_t got[6];
    struct tl_error err = {0};
    size_t size;

    (void)state;
    /* Fortran order, little endian. */
    size = image_of(image, 1, "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3)}", 12);
    memcpy(image + size - 12, fortran, 12);
    fixture_write("x.npy", image, size);
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_UINT16, 2, shape, got, 12, &err), 0);
    assert_memory_equal(got, in_order, 12);
    /* The same, big endian, in a float that is saved as bytes. */
    size = image_of(image, 3, "{'descr': '>V2', 'fortran_order': True, 'shape': (2, 3)}", 12);
    memcpy(image + size - 12, swapped, 12);
    fixture_write("x.npy", image, size);
    memset(got, 0, sizeof(got));
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_BFLOAT16, 2, shape, got, 12, &err), 0);
    assert_memory_equal(got, in_order, 12);
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_FP8E4M3FN, 2, shape, got, 6, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "dtype is bfloat16, expected fp8e4m3fn ('<V1'), or float32"));
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_FLOAT32, 2, shape, got, 24, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "dtype is bfloat16, expected float32"));
    /* A byte each, two of them in a byte of a tensor of fp4. */
    size = image_of(image, 2, "{'descr': 'float4_e2m1fn', 'fortran_order': True, 'shape': (2, 3)}", 6);
    for (unsigned i = 0; i < 6; i++)
        image[size - 6 + i] = fp4[i];
    fixture_write("x.npy", image, size);
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_FP4E2M1, 2, shape, nibbles, 3, &err), 0);
    assert_int_equal(nibbles[0], 0x31); /* columns were 1 2, 3 4, 5 6: rows are 1 3 5 and 2 4 6 */
    assert_int_equal(nibbles[1], 0x25);
    assert_int_equal(nibbles[2], 0x64);
    image[size - 1] = 16;
    fixture_write("x.npy", image, size);
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_FP4E2M1, 2, shape, nibbles, 3, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "element 5 is the byte 0x10"));
    /* One element without a dimension; none. */
    size = image_of(image, 1, "{'descr': '>u2', 'fortran_order': False, 'shape': ()}", 2);
    image[size - 2] = 1;
    image[size - 1] = 2;
    fixture_write("x.npy", image, size);
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_UINT16, 1, one, got, 2, &err), 0);
    assert_int_equal(got[0], 0x102);
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_UINT16, 2, shape, got, 12, &err), TL_EINVAL);
    assert_non_null(strstr(err.msg, "shape is (), expected (2, 3)"));
    size = image_of(image, 1, "{'descr': '>u2', 'fortran_order': True, 'shape': (0, 3)}", 0);
    fixture_write("x.npy", image, size);
    assert_int_equal(tl__npy_read_into(fixture_path("x.npy"), TL_UINT16, 2, none, got, 0, &err), 0);
}

/* Arrays of each order, byte order and dtype as NumPy saves them, beside the same in C order and little endian. */
static void files_of_numpy_are_read(void **state)
{
    static const char *const dtypes[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
    struct tl_error err = {0};
    char command[1500];

    (void)state;
    if (system(PYTHON " -c 'import numpy' >/dev/null 2>&1") != 0)
        skip();
    (void)snprintf(command, sizeof(command),
                   "cd '%s' && " PYTHON " -c \"import numpy as n\n"
                   "for t in 'f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1'.split():\n"
                   "  a = n.arange(24).reshape(2, 3, 4).astype('<' + t)\n"
                   "  n.save(t + '_c', a); n.save(t + '_f', n.asfortranarray(a).astype('>' + t))\n"
                   "  n.save(t + '_0', n.array(a[1, 2, 3]).astype('>' + t))\n"
                   "  n.save(t + '_e', n.asfortranarray(a[:, :0]))\n"
                   "  n.lib.format.write_array(open(t + '_v.npy', 'wb'), n.asfortranarray(a), version=(3, 0))\"",
                   fixture_dir);
    assert_int_equal(system(command), 0);
    for (unsigned i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        struct tl_npy plain, other;
        char name[16];

        (void)snprintf(name, sizeof(name), "%s_c.npy", dtypes[i]);
        assert_int_equal(tl__npy_read(fixture_path(name), &plain, &err), 0);
        for (const char *kind = "fv0e"; *kind != 0; kind++) {
            (void)snprintf(name, sizeof(name), "%s_%c.npy", dtypes[i], *kind);
            if (tl__npy_read(fixture_path(name), &other, &err) != 0)
                fail_msg("%s", err.msg);
            assert_int_equal(other.type, plain.type);
            assert_int_equal(other.rank, *kind == '0' ? 0 : 3);
            assert_int_equal(other.bytes, *kind == 'e' ? 0 : *kind == '0' ? plain.bytes / 24 : plain.bytes);
            assert_memory_equal(other.data, (const char *)plain.data + (plain.bytes - other.bytes), other.bytes);
            tl__npy_free(&other);
        }
        tl__npy_free(&plain);
    }
}

/* NumPy, where there is one, reads what we write and we what it writes. */
static void numpy_agrees(void **state)
{
    uint16_t data[6] = {1, 2, 3, 4, 5, 6};
    struct tl_npy npy = {.type = TL_NPY_U2, .rank = 3, .shape = {1, 2, 3}, .bytes = 12, .data = data}, in;
    struct tl_error err = {0};
    char command[1024];

    (void)state;
    if (system(PYTHON " -c 'import numpy' >/dev/null 2>&1") != 0)
        skip();
    assert_int_equal(tl__npy_write(fixture_path("a.npy"), &npy, &err), 0);
    (void)snprintf(command, sizeof(command),
                   PYTHON " -c \"import numpy as n; a=n.load('%s/a.npy'); assert a.dtype==n.uint16 and "
                          "a.tolist()==[[[1,2,3],[4,5,6]]]; n.save('%s/b.npy', a.astype(n.float64).reshape(6))\"",
                   fixture_dir, fixture_dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(tl__npy_read(fixture_path("b.npy"), &in, &err), 0);
    assert_int_equal(in.type, TL_NPY_F8);
    assert_int_equal(in.rank, 1);
    assert_int_equal(in.shape[0], 6);
    assert_true(((const double *)in.data)[5] == 6.0);
    tl__npy_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_comes_back, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(the_header_is_as_numpy_writes_it, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(every_version_and_spelling_is_read, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(bad_files_are_named_in_one_line, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(reading_into_a_tensor_checks_it, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(floats_without_a_type_are_rounded, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(arrays_that_disagree_are_not_written, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(every_order_and_float_is_read, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(files_of_numpy_are_read, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(numpy_agrees, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
