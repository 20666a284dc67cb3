/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads against small arenas, end to end: truncation, --dump-oversize chunk, the wrap of the arena, lanes without
 * room, --dump-hash off. Every platform, transport and runtime; each payload is compared byte by byte.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/capture.h"

enum { FUNC_TOUCH };

#define ARENA 4096u /* 2 buffers of 4 records, 512 bytes on average */
#define ROWS 90u
#define COLS 100u
#define BIG (ROWS * COLS) /* more than two arenas */

/* The last argument's first byte grows by one. */
static void touch(const struct tl_kernel_args *k)
{
    TL_DATA(k, k->n_tensors - 1, uint8_t)[0]++;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_TOUCH, "touch", TL_AIV, touch, TL_IN, TL_IN, TL_IN, TL_IN, TL_INOUT),
};

static tl_task_id big_task;
static bool mark_some;

/* A big tensor as it is, turned round, as an odd number of nibbles, exactly one arena of it, and one as INOUT. */
static void submit_big(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor whole = in->tensors[0], turned = whole, nibbles = whole, one = whole, changed = in->tensors[1];
    const uint32_t odd = 2 * BIG - 1, exact = ARENA;
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    (void)tl_transpose(&whole, 0, 1, &turned);
    (void)tl_reshape(&whole, 1, &(const uint32_t){BIG}, &one);
    nibbles = one;
    nibbles.dtype = TL_FP4E2M1;
    nibbles.shape[0] = odd;
    one.shape[0] = exact;
    tl_add_input(&args, &whole);
    tl_add_input(&args, &turned);
    tl_add_input(&args, &nibbles);
    tl_add_input(&args, &one);
    tl_add_inout(&args, &changed);
    if (mark_some)
        tl_dump(&args, turned, changed);
    big_task = tl_submit_aiv(o, FUNC_TOUCH, &args);
}

static const struct tl_program big_program = CAPTURE_PROGRAM("big", kernels, submit_big);

struct big {
    uint8_t whole[BIG], turned[BIG], nibbles[BIG], changed[BIG];
    uint8_t before[BIG], after[BIG];
};
static struct big big;

static void fill_big(struct tl_host_tensor *t)
{
    for (unsigned i = 0; i < BIG; i++) {
        big.whole[i] = big.nibbles[i] = (uint8_t)(i * 31 + i / 256 * 7);
        big.changed[i] = big.before[i] = big.after[i] = (uint8_t)(i * 17 + i / 251);
        big.turned[i] = (uint8_t)((i % ROWS * COLS + i / ROWS) * 31 + (i % ROWS * COLS + i / ROWS) / 256 * 7);
    }
    big.nibbles[BIG - 1] &= 0x0f; /* the last nibble is not the tensor's */
    big.after[0]++;
    t[0] = capture_row("whole", TL_IN, TL_UINT8, big.whole, ROWS);
    t[0].rank = 2;
    t[0].shape[1] = COLS;
    t[1] = capture_row("changed", TL_INOUT, TL_UINT8, big.changed, BIG);
}

static void begin_small(struct capture *c, unsigned cell, int level)
{
    capture_begin(c, cell, level);
    c->config.dfx_records = 4;
    c->config.dfx_buffers = 2;
    c->config.dfx_avg_bytes = ARENA / 8;
}

/* Each argument that is larger than the arena has `kept` bytes, flagged if that is not all. */
static void expect_big(const struct capture *c, unsigned payloads, size_t kept)
{
    static const struct {
        uint8_t stage, arg, role;
        const uint8_t *bytes;
    } want[] = {
        {TL_STAGE_BEFORE, 0, TL_ROLE_INPUT, big.whole},   {TL_STAGE_BEFORE, 1, TL_ROLE_INPUT, big.turned},
        {TL_STAGE_BEFORE, 2, TL_ROLE_INPUT, big.nibbles}, {TL_STAGE_BEFORE, 3, TL_ROLE_INPUT, big.whole},
        {TL_STAGE_BEFORE, 4, TL_ROLE_INOUT, big.before},  {TL_STAGE_AFTER, 4, TL_ROLE_INOUT, big.after},
    };

    for (unsigned i = 0; i < 6; i++) {
        const struct tl_dump_record *r = capture_find(c, big_task, (enum tl_stage)want[i].stage, want[i].arg);
        bool has = payloads >> i & 1u;
        size_t size = want[i].arg == 3 ? ARENA : kept;

        if (!has && c->config.levels[TL_COLLECT_DUMP] == 1) {
            assert_null(r);
            continue;
        }
        assert_non_null(r);
        capture_payload(c, r, (enum tl_role)want[i].role, want[i].bytes, has ? size : 0);
        assert_int_equal((r->flags & TL_ARG_TRUNCATED) != 0, has && want[i].arg != 3 && kept != BIG);
        assert_int_equal((r->flags & TL_ARG_CONTIGUOUS) != 0, want[i].arg != 1);
    }
}

static const struct oversize {
    int level;
    bool chunk, hash_off;
    unsigned payloads, truncated;
} oversizes[] = {
    {2, false, false, 0x3f, 5}, {2, true, false, 0x3f, 0}, {2, true, true, 0x3f, 0},   {2, false, true, 0x3f, 5},
    {1, false, false, 0x32, 3}, {1, true, false, 0x32, 0}, {3, false, false, 0x32, 3}, {3, true, false, 0x32, 0},
};

static void larger_than_the_arena(void **state)
{
    struct tl_host_tensor t[2];
    struct capture c;

    (void)state;
    for (unsigned i = 0; i < CAPTURE_CELLS * TL_ARRAY_COUNT(oversizes); i++) {
        const struct oversize *at = &oversizes[i % TL_ARRAY_COUNT(oversizes)];

        fill_big(t);
        mark_some = at->level != 2;
        begin_small(&c, i / TL_ARRAY_COUNT(oversizes), at->level);
        c.config.dump_oversize_chunk = at->chunk;
        c.config.dump_hash_off = at->hash_off;
        if (capture_run(&c, &big_program, t, 2) != 0)
            fail_msg("%s", c.error.msg);
        capture_sound(&c);
        assert_int_equal(c.count, at->level == 1 ? 3 : 6);
        assert_int_equal(c.result.payloads_truncated, at->truncated);
        expect_big(&c, at->payloads, at->chunk ? BIG : ARENA / 2);
        assert_memory_equal(big.changed, big.after, BIG);
        capture_end(&c);
    }
}

/* --- many payloads through a small arena --------------------------------------------------------------------- */

#define TASKS 250u
#define CELLS 8u
#define MOST 1500u

static tl_task_id task[TASKS];

static uint32_t length_of(unsigned i)
{
    return 1 + i * 97 % MOST;
}

/* Task i takes the first bytes of row i % CELLS, which it changes; tasks of different rows run side by side. */
static void submit_many(struct tl_orch *o, const struct tl_program_args *in)
{
    for (unsigned i = 0; i < TASKS; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        struct tl_tensor same = in->tensors[CELLS], row = in->tensors[i % CELLS];

        same.shape[0] = length_of(i + 1);
        row.shape[0] = length_of(i);
        for (unsigned k = 0; k < 4; k++)
            tl_add_no_dep(&args, &same);
        tl_add_inout(&args, &row);
        task[i] = tl_submit_aiv(o, FUNC_TOUCH, &args);
    }
}

static const struct tl_program many_program = CAPTURE_PROGRAM("many", kernels, submit_many);

/* A lane goes on as the host takes over; nothing is lost, cut, or taken from the wrong place. */
static void many_through_a_small_arena(void **state)
{
    static uint8_t rows[CELLS + 1][MOST], want[MOST];
    struct tl_host_tensor t[CELLS + 1];
    struct capture c;

    (void)state;
    for (unsigned cell = 0; cell < CAPTURE_CELLS; cell++) {
        for (unsigned i = 0; i <= CELLS; i++) {
            for (unsigned at = 0; at < MOST; at++)
                rows[i][at] = (uint8_t)(at * 13 + i * 29);
            t[i] = capture_row("row", i < CELLS ? TL_INOUT : TL_IN, TL_UINT8, rows[i], MOST);
        }
        begin_small(&c, cell, 2);
        if (capture_run(&c, &many_program, t, CELLS + 1) != 0)
            fail_msg("%s", c.error.msg);
        capture_sound(&c);
        assert_int_equal(c.count, TASKS * 6);
        for (unsigned i = 0; i < TASKS; i++) {
            for (unsigned k = 0; k < 4; k++)
                capture_payload(&c, capture_get(&c, task[i], TL_STAGE_BEFORE, k), TL_ROLE_INPUT, rows[CELLS],
                                length_of(i + 1));
            for (unsigned at = 0; at < MOST; at++)
                want[at] = (uint8_t)(at * 13 + i % CELLS * 29);
            want[0] = (uint8_t)(want[0] + i / CELLS);
            capture_payload(&c, capture_get(&c, task[i], TL_STAGE_BEFORE, 4), TL_ROLE_INOUT, want, length_of(i));
            want[0]++;
            capture_payload(&c, capture_get(&c, task[i], TL_STAGE_AFTER, 4), TL_ROLE_INOUT, want, length_of(i));
        }
        capture_end(&c);
    }
}

static int close_chips(void **state)
{
    (void)state;
    capture_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(larger_than_the_arena),
        cmocka_unit_test(many_through_a_small_arena),
    };

    return cmocka_run_group_tests(tests, NULL, close_chips);
}
