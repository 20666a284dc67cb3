/* SPDX-License-Identifier: Apache-2.0 */
/* A small recording that holds one of everything a viewer has to show. */
#ifndef TL_TESTS_RECORDING_FIXTURE_H
#define TL_TESTS_RECORDING_FIXTURE_H

#include "artifact/args_dump.h"
#include "base/hash.h"
#include "tensor/convert.h"
#include "unit/artifact_fixture.h"

struct fixture_recording {
    struct tl_dump_record records[64];
    uint64_t count;
    uint8_t bin[1 << 16];
    uint64_t bin_bytes;
    uint64_t dropped;
};

static struct tl_dump_record *fixture_record(struct fixture_recording *f, uint64_t task, int stage, int role,
                                             uint32_t arg, unsigned dtype)
{
    struct tl_dump_record *r = &f->records[f->count++];

    tl__dump_record_init(r);
    r->task_id = task;
    r->stage = (uint8_t)stage;
    r->role = (uint8_t)role;
    r->arg_index = arg;
    r->dtype = (uint8_t)dtype;
    return r;
}

/* A dense shape, and a payload with its hash behind the others. */
static void fixture_tensor(struct fixture_recording *f, struct tl_dump_record *r, unsigned rank, const uint32_t *shape,
                           const void *payload, size_t bytes)
{
    struct tl_tensor t = tl_tensor_make((enum tl_dtype)r->dtype, rank, shape);

    r->rank = (uint8_t)rank;
    memcpy(r->shape, t.shape, sizeof(r->shape));
    memcpy(r->strides, t.strides, sizeof(r->strides));
    if (bytes == 0)
        return;
    r->bin_offset = f->bin_bytes;
    r->bin_size = bytes;
    r->hash = tl__hash64(payload, bytes);
    r->flags |= TL_ARG_HAS_HASH;
    assert_true(f->bin_bytes + bytes <= sizeof(f->bin));
    memcpy(f->bin + f->bin_bytes, payload, bytes);
    f->bin_bytes += bytes;
}

static void fixture_scalar(struct fixture_recording *f, uint64_t task, uint32_t arg, unsigned dtype, uint64_t bits,
                           unsigned flags)
{
    struct tl_dump_record *r = fixture_record(f, task, TL_STAGE_BEFORE, TL_ROLE_INPUT, arg, dtype);

    r->kind = TL_KIND_SCALAR;
    r->value_bits = bits;
    r->flags = (uint16_t)(r->flags | flags);
}

static void fixture_funcs(struct fixture_recording *f, uint64_t task, unsigned count, int32_t a, int32_t b, int32_t c)
{
    for (uint64_t i = 0; i < f->count; i++)
        if (f->records[i].task_id == task) {
            const int32_t ids[] = {a, b, c};

            f->records[i].func_count = (uint8_t)count;
            memcpy(f->records[i].func_id, ids, sizeof(ids));
        }
}

/* Every dtype, rank 0 to 6, strides, cut, lost, partial, marked, ambiguous: tasks r0t0, r0t1, r1t7. */
static void fixture_everything(struct fixture_recording *f)
{
    const uint64_t t0 = 0, t1 = 1, mix = (uint64_t)1 << 32 | 7;
    const float f32[] = {0.5f, -1.25f, 3e10f, 0.1f, 0.0f, 1e-7f}, cut[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const uint16_t f16[] = {0x2e66, 0x7e00, 0x7c00, 0xfc00}, bf16[] = {0x3f80, 0x3dcd, 0xc2f7};
    const int32_t i32[] = {-7}, cube[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const uint64_t u64[] = {UINT64_MAX, 9007199254740993u};
    const uint8_t fp8[] = {0x38, 0x7e, 0x7f, 0x01}, fp4[] = {0x72, 0x0a}, scale[] = {127, 130}, flags[] = {0, 1, 2};
    struct tl_dump_record *r;

    memset(f, 0, sizeof(*f));
    r = fixture_record(f, t0, TL_STAGE_BEFORE, TL_ROLE_INPUT, 0, TL_FLOAT32);
    fixture_tensor(f, r, 2, (const uint32_t[]){2, 3}, f32, sizeof(f32));
    r = fixture_record(f, t0, TL_STAGE_BEFORE, TL_ROLE_INPUT, 1, TL_FLOAT16);
    fixture_tensor(f, r, 2, (const uint32_t[]){2, 2}, f16, sizeof(f16));
    r->strides[0] = 4;
    r->start_offset = 2;
    r->flags = (uint16_t)((r->flags & ~TL_ARG_CONTIGUOUS) | TL_ARG_MARKED);
    fixture_scalar(f, t0, 3, TL_FLOAT32, tl__bits_of_f32(0.1f), TL_ARG_AMBIGUOUS);
    fixture_scalar(f, t0, 4, TL_INT64, (uint64_t)-9007199254740993, 0);
    fixture_scalar(f, t0, 5, TL_BOOL, 1, 0);
    fixture_scalar(f, t0, 6, TL_FLOAT32, 0x7fc00000, 0);
    r = fixture_record(f, t0, TL_STAGE_AFTER, TL_ROLE_OUTPUT, 2, TL_BFLOAT16);
    fixture_tensor(f, r, 1, (const uint32_t[]){3}, bf16, sizeof(bf16));
    r = fixture_record(f, t1, TL_STAGE_BEFORE, TL_ROLE_INPUT, 0, TL_FLOAT32);
    fixture_tensor(f, r, 1, (const uint32_t[]){25}, cut, sizeof(cut));
    r->flags |= TL_ARG_TRUNCATED;
    r = fixture_record(f, t1, TL_STAGE_BEFORE, TL_ROLE_INPUT, 1, TL_INT32);
    fixture_tensor(f, r, 0, NULL, i32, sizeof(i32));
    r = fixture_record(f, t1, TL_STAGE_BEFORE, TL_ROLE_INPUT, 2, TL_INT8);
    fixture_tensor(f, r, 2, (const uint32_t[]){0, 4}, NULL, 0);
    r = fixture_record(f, t1, TL_STAGE_BEFORE, TL_ROLE_INPUT, 3, TL_FLOAT32);
    r->rank = 6;
    r->flags |= TL_ARG_UNSUPPORTED;
    r = fixture_record(f, t1, TL_STAGE_AFTER, TL_ROLE_OUTPUT, 4, TL_FLOAT32);
    fixture_tensor(f, r, 1, (const uint32_t[]){4}, NULL, 0);
    r->flags |= TL_ARG_LOST;
    r->cause = TL_DUMP_CAUSE_DISK;
    r = fixture_record(f, mix, TL_STAGE_BEFORE, TL_ROLE_INOUT, 0, TL_INT32);
    fixture_tensor(f, r, 3, (const uint32_t[]){2, 2, 3}, cube, sizeof(cube));
    r = fixture_record(f, mix, TL_STAGE_BEFORE, TL_ROLE_INPUT, 1, TL_FP8E4M3FN);
    fixture_tensor(f, r, 1, (const uint32_t[]){4}, fp8, sizeof(fp8));
    r = fixture_record(f, mix, TL_STAGE_BEFORE, TL_ROLE_INPUT, 2, TL_FP4E2M1);
    fixture_tensor(f, r, 1, (const uint32_t[]){3}, fp4, sizeof(fp4));
    r = fixture_record(f, mix, TL_STAGE_BEFORE, TL_ROLE_INPUT, 3, TL_FP8E8M0);
    fixture_tensor(f, r, 1, (const uint32_t[]){2}, scale, sizeof(scale));
    r = fixture_record(f, mix, TL_STAGE_BEFORE, TL_ROLE_INPUT, 4, TL_BOOL);
    fixture_tensor(f, r, 1, (const uint32_t[]){3}, flags, sizeof(flags));
    r = fixture_record(f, mix, TL_STAGE_AFTER, TL_ROLE_INOUT, 0, TL_INT32);
    fixture_tensor(f, r, 3, (const uint32_t[]){2, 2, 3}, cube, sizeof(cube));
    r->flags |= TL_ARG_PARTIAL;
    r = fixture_record(f, mix, TL_STAGE_AFTER, TL_ROLE_OUTPUT, 5, TL_UINT64);
    fixture_tensor(f, r, 1, (const uint32_t[]){2}, u64, sizeof(u64));
    fixture_funcs(f, t0, 1, 0, -1, -1);
    fixture_funcs(f, mix, 3, 1, 2, 3);
    f->dropped = 2;
}

/* Writes NAME/args_dump below the fixture's directory. */
static void fixture_save(struct fixture_recording *f, const char *name)
{
    struct tl_dump_summary summary = {.level = 2, .dropped_records = f->dropped, .bin_file = "args.bin"};
    struct tl_error error = {0};
    char dir[100], file[130];

    (void)snprintf(dir, sizeof(dir), "%s", name);
    for (char *p = dir;; p++) { /* mkdir -p */
        char c = *p;

        if (c != '/' && c != 0)
            continue;
        *p = 0;
        (void)mkdir(fixture_path(dir), 0777);
        *p = c;
        if (c == 0)
            break;
    }
    (void)snprintf(file, sizeof(file), "%s/args_dump", dir);
    assert_int_equal(mkdir(fixture_path(file), 0777), 0);
    assert_int_equal(tl__dump_sort(f->records, f->count), 0);
    if (tl__dump_write_manifest(fixture_path(file), &summary, f->records, f->count, &error) != 0)
        fail_msg("%s", error.msg);
    (void)snprintf(file, sizeof(file), "%s/args_dump/args.bin", dir);
    fixture_write(file, f->bin, f->bin_bytes);
}

#endif
