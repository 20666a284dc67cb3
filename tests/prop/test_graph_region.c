/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random pairs of views of one small buffer against the sets of bytes that they touch. TL_SEED and TL_SEEDS choose the
 * seeds; a failure names its own.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <stdlib.h>

#include "graph/region.h"

#define BYTES 2048u

static uint64_t random_state, last_seed;

static uint32_t below(uint32_t n)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

struct bytes {
    uint8_t at[BYTES];
    uint32_t count;
};

static const uint32_t bits_of[TL_DTYPE_COUNT] = {
#define BITS(name, value, text, bits) [value] = (bits),
    TL_DTYPE_LIST(BITS)
#undef BITS
};

/* Visits every element by its indices. False if one lies past the buffer. */
static bool touch(const struct tl_tensor *t, struct bytes *b)
{
    uint32_t index[TL_MAX_DIMS] = {0};
    uint64_t numel = 1, bits = bits_of[t->dtype];

    memset(b, 0, sizeof(*b));
    for (unsigned d = 0; d < t->rank; d++)
        numel *= t->shape[d];
    for (uint64_t i = 0; i < numel; i++) {
        uint64_t rest = i, at = t->start_offset;

        for (unsigned d = t->rank; d-- > 0;) {
            index[d] = (uint32_t)(rest % t->shape[d]);
            rest /= t->shape[d];
            at += index[d] * t->strides[d];
        }
        for (uint64_t byte = at * bits / 8; byte * 8 < (at + 1) * bits; byte++) {
            if (byte >= BYTES)
                return false;
            b->count += b->at[byte] == 0;
            b->at[byte] = 1;
        }
    }
    return true;
}

/* Half of them tiles of arrays (what programs do), half of them anything. */
static struct tl_tensor random_view(unsigned dtype, const uint64_t *array_strides)
{
    struct tl_tensor t = {.buffer = 64, .buffer_bytes = BYTES, .owner = TL_NO_TASK, .dtype = (uint8_t)dtype};

    if (below(2) == 0) {
        t.rank = (uint8_t)below(4);
        for (unsigned d = 0; d < t.rank; d++) {
            t.shape[d] = 1 + below(5);
            t.strides[d] = array_strides[d + 3 - t.rank];
            t.start_offset += below(4) * t.strides[d];
        }
        if (t.rank == 3 && below(4) == 0) {
            uint64_t stride = t.strides[0];

            t.strides[0] = t.strides[2];
            t.strides[2] = stride;
        }
    } else {
        t.rank = (uint8_t)below(TL_MAX_DIMS + 1);
        for (unsigned d = 0; d < t.rank; d++) {
            t.shape[d] = below(12) == 0 ? 0 : 1 + below(4);
            t.strides[d] = below(24);
        }
        t.start_offset = below(40);
    }
    return t;
}

struct counts {
    uint64_t pairs, overlaps, maybes, covered, proved;
};

static void check_rect(const struct tl_region *r, const struct tl_extent *e, const struct bytes *b, uint64_t pitch)
{
    struct tl_rect rect;

    tl__region_rect(r, e, pitch, &rect);
    for (uint64_t byte = 0; byte < BYTES; byte++) {
        uint64_t row = pitch == 0 ? 0 : byte / pitch, col = pitch == 0 ? byte : byte % pitch;

        if (b->at[byte] && (row < rect.row || row >= rect.row_end || col < rect.col || col >= rect.col_end))
            fail_msg("byte %u lies outside of the rectangle at pitch %u", (unsigned)byte, (unsigned)pitch);
    }
}

static void check_extent(const struct tl_extent *e, const struct bytes *b)
{
    assert_int_equal(e->empty, b->count == 0);
    for (uint64_t byte = 0; byte < BYTES; byte++)
        if (b->at[byte] && (byte < e->lo || byte >= e->hi))
            fail_msg("byte %u lies outside of the extent", (unsigned)byte);
    if (!e->empty)
        assert_true(b->at[e->lo] && b->at[e->hi - 1]);
    if (e->dense)
        assert_int_equal(e->hi - e->lo, b->count);
}

static void check_pair(const struct tl_tensor *x, const struct tl_tensor *y, struct counts *counts)
{
    static struct bytes bx, by;
    struct tl_region rx, ry;
    struct tl_extent ex, ey;
    enum tl_overlap overlap, mirrored;
    bool meet = false, covers = true, proved;

    if (!touch(x, &bx) || !touch(y, &by))
        return;
    counts->pairs++;
    assert_true(tl__region_measure(x, &ex));
    assert_true(tl__region_measure(y, &ey));
    tl__region_of(x, &rx);
    tl__region_of(y, &ry);
    check_extent(&ex, &bx);
    for (uint32_t i = 0; i < BYTES; i++) {
        meet |= bx.at[i] && by.at[i];
        covers &= bx.at[i] || !by.at[i];
    }
    overlap = tl__region_overlap(&rx, &ex, &ry, &ey);
    mirrored = tl__region_overlap(&ry, &ey, &rx, &ex);
    if (overlap != TL_OVERLAP_MAYBE && mirrored != TL_OVERLAP_MAYBE)
        assert_int_equal(overlap, mirrored);
    if (overlap == TL_OVERLAP_MAYBE)
        counts->maybes++;
    else
        assert_int_equal(overlap == TL_OVERLAP_SURE, meet);
    counts->overlaps += meet;
    proved = tl__region_covers(&rx, &ex, &ry, &ey);
    if (proved && !covers)
        fail_msg("a cover that is none");
    counts->covered += covers && by.count > 0;
    counts->proved += proved && by.count > 0;
    if (!ex.empty) {
        uint64_t pitch = ey.empty ? 0 : tl__region_pitch(&ry, &ey);

        check_rect(&rx, &ex, &bx, 0);
        check_rect(&rx, &ex, &bx, pitch);
        check_rect(&rx, &ex, &bx, 1 + below(64));
    }
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

static void say_view(const char *name, const struct tl_tensor *t)
{
    print_message("%s: dtype %u, start %llu, dims", name, t->dtype, (unsigned long long)t->start_offset);
    for (unsigned d = 0; d < t->rank; d++)
        print_message(" %u*%llu", t->shape[d], (unsigned long long)t->strides[d]);
    print_message("\n");
}

static void views_are_their_bytes(void **state)
{
    uint64_t first = setting("TL_SEED", 1), n = setting("TL_SEEDS", 60000);
    struct counts counts = {0};

    (void)state;
    for (uint64_t seed = first; seed < first + n; seed++) {
        uint64_t strides[3] = {0, 0, 1};
        unsigned dtype;
        struct tl_tensor x, y;

        last_seed = seed;
        random_state = seed * 0x2545f4914f6cdd1du;
        strides[1] = 1 + below(10);
        strides[0] = strides[1] * (1 + below(8));
        dtype = below(TL_DTYPE_COUNT);
        x = random_view(dtype, strides);
        y = random_view(below(8) == 0 ? below(TL_DTYPE_COUNT) : dtype, strides);
        if (n == 1) {
            say_view("x", &x);
            say_view("y", &y);
        }
        check_pair(&x, &y, &counts);
    }
    print_message("%llu pairs, %llu overlap, %llu unsettled, %llu covered, %llu of them proved\n",
                  (unsigned long long)counts.pairs, (unsigned long long)counts.overlaps,
                  (unsigned long long)counts.maybes, (unsigned long long)counts.covered,
                  (unsigned long long)counts.proved);
    if (n > 1000) { /* neither escape may become the rule */
        assert_true(counts.pairs > n / 2);
        assert_true(counts.maybes * 50 < counts.pairs);
        assert_true(counts.proved * 10 > counts.covered * 7);
    }
}

/* Runs after a failure too. */
static int say_seed(void **state)
{
    (void)state;
    print_message("last seed: TL_SEED=%llu TL_SEEDS=1\n", (unsigned long long)last_seed);
    return 0;
}

/* Equal strides: exact both ways, which is what tiles of one array are. */
static void boxes_of_one_array_are_exact(void **state)
{
    const uint32_t outer = 12, inner = 10;

    (void)state;
    for (uint32_t i = 0; i < 40000; i++) {
        struct tl_tensor t[2] = {{0}};
        uint32_t lo[2][2], n[2][2];
        struct tl_region r[2];
        struct tl_extent e[2];
        bool meet, covers;

        random_state = i + 1;
        for (int k = 0; k < 2; k++) {
            lo[k][0] = below(outer);
            lo[k][1] = below(inner);
            n[k][0] = 1 + below(outer - lo[k][0]);
            n[k][1] = 1 + below(inner - lo[k][1]);
            t[k] = (struct tl_tensor){.buffer_bytes = 1024, .rank = 2, .dtype = TL_INT32};
            t[k].start_offset = lo[k][0] * inner + lo[k][1];
            t[k].shape[0] = n[k][0];
            t[k].shape[1] = n[k][1];
            t[k].strides[0] = inner;
            t[k].strides[1] = 1;
            assert_true(tl__region_measure(&t[k], &e[k]));
            tl__region_of(&t[k], &r[k]);
        }
        meet = lo[0][0] < lo[1][0] + n[1][0] && lo[1][0] < lo[0][0] + n[0][0] && lo[0][1] < lo[1][1] + n[1][1] &&
               lo[1][1] < lo[0][1] + n[0][1];
        covers = lo[0][0] <= lo[1][0] && lo[0][1] <= lo[1][1] && lo[0][0] + n[0][0] >= lo[1][0] + n[1][0] &&
                 lo[0][1] + n[0][1] >= lo[1][1] + n[1][1];
        assert_int_equal(tl__region_overlap(&r[0], &e[0], &r[1], &e[1]), meet ? TL_OVERLAP_SURE : TL_OVERLAP_NONE);
        assert_int_equal(tl__region_covers(&r[0], &e[0], &r[1], &e[1]), covers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(views_are_their_bytes, say_seed),
        cmocka_unit_test(boxes_of_one_array_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
