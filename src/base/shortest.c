/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shortest.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* 2^1,200 times a few digits, or 10^362 times 2^62: whatever a double's interval needs. */
#define WORDS 22u
#define WORD_BITS 64u

__extension__ typedef unsigned __int128 wide;

/* An integer, least significant word first; no leading zero words. */
struct big {
    uint32_t count;
    uint64_t word[WORDS];
};

static void set(struct big *b, uint64_t value)
{
    b->count = value != 0;
    b->word[0] = value;
}

static void multiply(struct big *b, uint64_t factor)
{
    uint64_t carry = 0;

    for (uint32_t i = 0; i < b->count; i++) {
        const wide product = (wide)b->word[i] * factor + carry;

        b->word[i] = (uint64_t)product;
        carry = (uint64_t)(product >> WORD_BITS);
    }
    if (carry != 0) {
        assert(b->count < WORDS);
        b->word[b->count++] = carry;
    }
}

static void multiply_pow10(struct big *b, unsigned exponent)
{
    static const uint64_t powers[20] = {
        1,
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        UINT64_C(10000000000000000000),
    };

    for (unsigned n = exponent / 19; n > 0; n--)
        multiply(b, powers[19]);
    if (exponent % 19 != 0)
        multiply(b, powers[exponent % 19]);
}

static void shift_left(struct big *b, unsigned bits)
{
    const unsigned words = bits / WORD_BITS;

    if (b->count == 0)
        return;
    if (bits % WORD_BITS != 0)
        multiply(b, UINT64_C(1) << bits % WORD_BITS);
    assert(b->count + words <= WORDS);
    memmove(b->word + words, b->word, b->count * sizeof(b->word[0]));
    memset(b->word, 0, words * sizeof(b->word[0]));
    b->count += words;
}

static int compare(const struct big *a, const struct big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (uint32_t i = a->count; i-- > 0;)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

static uint64_t word_at(const struct big *b, uint32_t i)
{
    return i < b->count ? b->word[i] : 0;
}

/*
 * a + b against c, from the first word on. `ahead` is how many units of the current word c is ahead: 0 and 1 leave it
 * to the words below, whose sum is below two units.
 */
static int compare_sum(const struct big *a, const struct big *b, const struct big *c)
{
    uint32_t n = a->count > b->count ? a->count : b->count;
    uint64_t ahead = 0;

    for (uint32_t i = n > c->count ? n : c->count; i-- > 0;) {
        const wide sum = (wide)word_at(a, i) + word_at(b, i), other = ((wide)ahead << WORD_BITS) + word_at(c, i);

        if (sum > other)
            return 1;
        if (other - sum > 1)
            return -1;
        ahead = (uint64_t)(other - sum);
    }
    return ahead == 0 ? 0 : -1;
}

/* a -= factor * b, which is not larger. */
static void subtract(struct big *a, const struct big *b, uint64_t factor)
{
    uint64_t carry = 0, borrow = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        const wide product = (wide)word_at(b, i) * factor + carry;
        const uint64_t low = (uint64_t)product, before = a->word[i], left = before - low;

        carry = (uint64_t)(product >> WORD_BITS);
        a->word[i] = left - borrow;
        borrow = (before < low) | (left < borrow);
    }
    assert(borrow == 0 && carry == 0);
    while (a->count > 0 && a->word[a->count - 1] == 0)
        a->count--;
}

/*
 * a / b, which is below 10, and the rest in a. The first word of b has its top bits set (first_word_is_large), so that
 * the first words give the quotient or one less.
 */
static uint32_t divide(struct big *a, const struct big *b)
{
    const uint32_t n = b->count;
    wide top;
    uint32_t quotient;

    assert(n > 0 && a->count <= n + 1 && b->word[n - 1] >> 59 != 0);
    if (a->count < n)
        return 0;
    top = (wide)word_at(a, n) << 32 | a->word[n - 1] >> 32; /* without the last 32 bits, to divide by one word */
    quotient = (uint32_t)((uint64_t)top / ((b->word[n - 1] >> 32) + 1));
    if (quotient > 0)
        subtract(a, b, quotient);
    if (compare(a, b) >= 0) {
        subtract(a, b, 1);
        quotient++;
    }
    assert(quotient < 10 && compare(a, b) < 0);
    return quotient;
}

/* Everything is a fraction of `whole`: the rest that has no digits yet, and the ways to both ends of the interval. */
struct printing {
    struct big rest, whole, below, longer;
    const struct big *above; /* below where both ways are equal, as they are but at a power of two */
};

/* What holds for all of them but the whole. */
static void each_times(struct printing *p, uint64_t factor, unsigned shift, unsigned pow10)
{
    struct big *all[] = {&p->rest, &p->below, &p->longer};

    for (unsigned i = 0; i < (p->above == &p->longer ? 3u : 2u); i++) {
        if (factor != 1)
            multiply(all[i], factor);
        if (shift != 0)
            shift_left(all[i], shift);
        multiply_pow10(all[i], pow10);
    }
}

static void first_word_is_large(struct printing *p)
{
    const unsigned zeros = (unsigned)__builtin_clzll(p->whole.word[p->whole.count - 1]);
    const unsigned bits = zeros >= 4 ? zeros - 4 : zeros + 60;

    shift_left(&p->whole, bits);
    each_times(p, 1, bits, 0);
}

/* Scales so that rest / whole is a fraction with its first digit right behind the point, and returns where that is. */
static int scale(struct printing *p, const struct tl_interval *i)
{
    const int bits = 64 - __builtin_clzll(i->value) + i->exponent;
    int place = (int)ceil((bits - 1) * 0.30102999566398120 - 1e-9), end;

    set(&p->rest, i->value);
    set(&p->below, i->value - i->low);
    set(&p->longer, i->high - i->value);
    set(&p->whole, 1);
    p->above = i->value - i->low == i->high - i->value ? &p->below : &p->longer;
    if (i->exponent < 0)
        shift_left(&p->whole, (unsigned)-i->exponent);
    if (place >= 0)
        multiply_pow10(&p->whole, (unsigned)place);
    each_times(p, 1, i->exponent >= 0 ? (unsigned)i->exponent : 0, place < 0 ? (unsigned)-place : 0);
    end = compare_sum(&p->rest, p->above, &p->whole);
    if (end > 0 || (end == 0 && i->closed)) { /* the estimate is one too small at most */
        multiply(&p->whole, 10);
        place++;
    }
    first_word_is_large(p);
    return place;
}

struct tl_decimal tl__shortest(const struct tl_interval *i)
{
    struct tl_decimal d = {0, 0};
    struct printing p;
    int place = scale(&p, i);

    assert(i->low < i->value && i->value < i->high && i->high >> 62 == 0);
    for (;;) {
        uint32_t digit;
        int low, high;

        each_times(&p, 10, 0, 0);
        digit = divide(&p.rest, &p.whole);
        place--;
        d.digits = d.digits * 10 + digit;
        low = compare(&p.rest, &p.below);
        high = compare_sum(&p.rest, p.above, &p.whole);
        if (d.digits == 0 || (i->closed ? low > 0 && high < 0 : low >= 0 && high <= 0))
            continue; /* also where 10^place is inside: the digit below is as short, and may be nearer */
        if (i->closed ? low > 0 : low >= 0) { /* only the number above is inside */
            d.digits++;
        } else if (i->closed ? high >= 0 : high > 0) { /* both are: the nearer one */
            const int half = compare_sum(&p.rest, &p.rest, &p.whole);

            d.digits += half > 0 || (half == 0 && digit % 2 != 0);
        }
        break;
    }
    d.exponent = place;
    return d;
}
