/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shortest.h"

#define EXACT_POWER_MAX 22 /* the last power of ten that a double holds exactly */

static const double powers[EXACT_POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                            "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

size_t tl__print_u64(char *to, uint64_t value)
{
    char text[20];
    size_t at = sizeof(text);

    while (value >= 100) {
        at -= 2;
        memcpy(text + at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(text + at, pairs + value * 2, 2);
    } else {
        text[--at] = (char)('0' + value);
    }
    memcpy(to, text + at, sizeof(text) - at);
    return sizeof(text) - at;
}

size_t tl__print_i64(char *to, int64_t value)
{
    if (value >= 0)
        return tl__print_u64(to, (uint64_t)value);
    *to = '-';
    return 1 + tl__print_u64(to + 1, 0 - (uint64_t)value);
}

size_t tl__print_hex(char *to, uint64_t value, unsigned digits)
{
    to[0] = '0';
    to[1] = 'x';
    for (unsigned i = 0; i < digits; i++)
        to[2 + i] = "0123456789abcdef"[value >> (digits - 1 - i) * 4 & 15];
    return 2 + digits;
}

static struct tl_decimal strip_zeros(struct tl_decimal d)
{
    while (d.digits != 0 && d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    return d;
}

/* The correctly rounded `precision` digits. Reads digits by their kind, because the locale chooses the point. */
static struct tl_decimal round_to(double value, int precision)
{
    struct tl_decimal d = {0, 0};
    char text[64];
    const char *c = text;

    (void)snprintf(text, sizeof(text), "%.*e", precision - 1, value);
    for (; *c != 'e'; c++)
        if (*c >= '0' && *c <= '9')
            d.digits = d.digits * 10 + (uint64_t)(*c - '0');
    d.exponent = (int)strtol(c + 1, NULL, 10) - (precision - 1);
    return d;
}

/* No point in it, so no locale either. */
static const char *plain_text(char *to, size_t size, struct tl_decimal d)
{
    (void)snprintf(to, size, "%" PRIu64 "e%d", d.digits, d.exponent);
    return to;
}

static double read_decimal(struct tl_decimal d)
{
    char text[64];

    return strtod(plain_text(text, sizeof(text), d), NULL);
}

static bool reads_as(struct tl_decimal d, double value, bool is_float)
{
    char text[64];

    return is_float ? strtof(plain_text(text, sizeof(text), d), NULL) == (float)value : read_decimal(d) == value;
}

static int exponent_of(double value) /* floor(log10(value)) for 1e-14 <= value < 1e22 */
{
    int e;

    if (value >= 1) {
        for (e = 0; value >= powers[e + 1]; e++)
            ;
        return e;
    }
    for (e = -1; value * powers[-e] < 1; e--)
        ;
    return e;
}

/*
 * Most doubles that people write have 15 digits or fewer. Such a text is the only one of its length for its value, so
 * it is found by rounding to 15 digits, and confirmed by one division: both operands are exact, so its result is what
 * reading the text would give.
 */
static bool few_digits(double value, struct tl_decimal *ret)
{
    struct tl_decimal d;
    int decimals;

    if (!(value >= 1e-5 && value < 1e15))
        return false;
    d = (struct tl_decimal){(uint64_t)value, 0};
    if ((double)d.digits != value) {
        decimals = 14 - exponent_of(value);
        d = (struct tl_decimal){(uint64_t)(value * powers[decimals] + 0.5), -decimals};
        if ((double)d.digits / powers[decimals] != value)
            return false;
    }
    *ret = strip_zeros(d);
    return true;
}

/* The interval of the numbers that read as a positive double. Below a power of two the doubles are twice as close as
 * above it. */
static struct tl_decimal shortest_f64(double value)
{
    struct tl_decimal d;
    struct tl_interval i;
    uint64_t significand;
    int exponent;

    if (few_digits(value, &d))
        return d;
    (void)frexp(value, &exponent);
    exponent = exponent - 53 > -1074 ? exponent - 53 : -1074;
    significand = (uint64_t)ldexp(value, -exponent);
    i.value = 4 * significand;
    i.low = i.value - (significand == UINT64_C(1) << 52 && exponent > -1074 ? 1 : 2);
    i.high = i.value + 2;
    i.exponent = exponent - 2;
    i.closed = significand % 2 == 0; /* a text halfway between two reads as the even one */
    return strip_zeros(tl__shortest(&i));
}

/* A positive value of a type narrower than double, and the midpoints to its neighbours: all of them doubles, exactly.
 */
struct narrow {
    double value, low, high;
    bool even;          /* a text that hits a midpoint reads as the value */
    bool lower_is_near; /* a power of two: the neighbour below is half as far away as the one above */
    bool is_f32;
};

static struct narrow narrow_of(float value, const struct tl_float_type *type)
{
    double v = (double)value, ulp, fraction;
    int exponent;
    struct narrow n = {.value = v, .is_f32 = type->bits == 24};

    fraction = frexp(v, &exponent); /* 0.5 <= fraction < 1 */
    ulp = ldexp(1, exponent - type->bits > type->ulp_exponent_min ? exponent - type->bits : type->ulp_exponent_min);
    n.even = fmod(v / ulp, 2) == 0;
    n.lower_is_near = fraction == 0.5 && exponent - type->bits > type->ulp_exponent_min;
    n.low = v - ulp / (n.lower_is_near ? 4 : 2);
    n.high = v + ulp / 2;
    return n;
}

/*
 * Whether a text whose nearest double is `read` reads as the value, by way of double and by way of float: a reader may
 * go either. Of a float32 a text on a midpoint is read by the C library: the double does not tell on which side it was.
 */
static bool reads_as_narrow(struct tl_decimal d, double read, const struct narrow *n)
{
    double again = (double)(float)read;

    if (n->is_f32)
        return (read > n->low && read < n->high) ||
               ((read == n->low || read == n->high) && reads_as(d, n->value, true));
    return ((read > n->low && read < n->high) || (n->even && (read == n->low || read == n->high))) &&
           ((again > n->low && again < n->high) || (n->even && (again == n->low || again == n->high)));
}

/* The integer next to value * 10^decimals, ties to even; the power is exact. */
static uint64_t nearest_scaled(double value, int decimals)
{
    double scaled = decimals >= 0 ? value * powers[decimals] : value / powers[-decimals];
    double whole = floor(scaled), rest = scaled - whole, error;

    if (rest != 0.5)
        return (uint64_t)whole + (rest > 0.5);
    /* What the one rounding of `scaled` left off: its sign decides. */
    error = decimals >= 0 ? fma(value, powers[decimals], -scaled) : -fma(scaled, powers[-decimals], -value);
    return (uint64_t)whole + (error > 0 || (error == 0 && fmod(whole, 2) != 0));
}

/* Digits and power are exact doubles, so one operation gives what reading the text would give. */
static bool narrow_in_double(const struct narrow *n, struct tl_decimal *ret)
{
    int e;

    if (!(n->value >= 1e-13 && n->value < 1e22))
        return false;
    e = exponent_of(n->value);
    for (int precision = 1; precision <= 9; precision++) {
        int decimals = precision - 1 - e;
        uint64_t digits = nearest_scaled(n->value, decimals);

        for (uint64_t more = 0; more <= n->lower_is_near; more++) {
            double read = decimals >= 0 ? (double)(digits + more) / powers[decimals]
                                        : (double)(digits + more) * powers[-decimals];

            *ret = strip_zeros((struct tl_decimal){digits + more, -decimals});
            if (reads_as_narrow(*ret, read, n))
                return true;
        }
    }
    return false;
}

/* Half of the distance of the floats at `v`. */
static double half_ulp_f32(double v)
{
    int exponent;

    (void)frexp(v, &exponent);
    return ldexp(1, (exponent - 24 > -149 ? exponent - 24 : -149) - 1);
}

/*
 * The same for values far from 1, exactly. Of a type narrower than float a text just inside the interval may become its
 * end on the way through float, which reads as the even neighbour: an odd value keeps away from its ends by that much.
 */
static struct tl_decimal narrow_exactly(const struct narrow *n)
{
    const double off = n->is_f32 || n->even ? 0 : half_ulp_f32(n->low), off_high = off > 0 ? half_ulp_f32(n->high) : 0;
    struct tl_interval i;
    int exponent;

    (void)frexp(n->value, &exponent);
    i.exponent = exponent - 60; /* all three have 26 bits or fewer */
    i.value = (uint64_t)ldexp(n->value, -i.exponent);
    i.low = (uint64_t)ldexp(n->low + off, -i.exponent);
    i.high = (uint64_t)ldexp(n->high - off_high, -i.exponent);
    i.closed = n->even;
    return strip_zeros(tl__shortest(&i));
}

static struct tl_decimal shortest_narrow(float value, const struct tl_float_type *type)
{
    struct narrow n;
    struct tl_decimal d;

    if (value < 0x1p24F && (float)(uint32_t)value == value)
        return strip_zeros((struct tl_decimal){(uint32_t)value, 0});
    n = narrow_of(value, type);
    return narrow_in_double(&n, &d) ? d : narrow_exactly(&n);
}

/* d.ddde+XX: the exponent with its sign and two digits or more. */
static size_t print_scientific(char *to, const char *text, size_t count, int e)
{
    size_t at = 0;

    to[at++] = text[0];
    if (count > 1) {
        to[at++] = '.';
        memcpy(to + at, text + 1, count - 1);
        at += count - 1;
    }
    to[at++] = 'e';
    to[at++] = e < 0 ? '-' : '+';
    e = e < 0 ? -e : e;
    if (e < 10)
        to[at++] = '0';
    return at + tl__print_u64(to + at, (uint64_t)e);
}

static size_t print_positional(char *to, const char *text, size_t count, int e)
{
    size_t whole = e < 0 ? 0 : (size_t)e + 1; /* digits before the point */
    size_t at = 0;

    if (whole == 0) {
        memcpy(to, "0.0000", 6);
        at = (size_t)(1 - e);
        memcpy(to + at, text, count);
        return at + count;
    }
    if (count <= whole) {
        memcpy(to, text, count);
        memset(to + count, '0', whole - count);
        memcpy(to + whole, ".0", 2);
        return whole + 2;
    }
    memcpy(to, text, whole);
    to[whole] = '.';
    memcpy(to + whole + 1, text + whole, count - whole);
    return count + 1;
}

static size_t print_decimal(char *to, struct tl_decimal d)
{
    char text[TL_NUMBER_BYTES];
    size_t count = tl__print_u64(text, d.digits);
    int e = d.exponent + (int)count - 1;

    return e >= -4 && e < 16 ? print_positional(to, text, count, e) : print_scientific(to, text, count, e);
}

/* Handles what has no digits: sign, zero, NaN, infinity. Returns the bytes; *ret_rest is set when digits must follow.
 */
static size_t print_special(char *to, double value, bool *ret_rest)
{
    size_t at = 0;

    *ret_rest = false;
    if (isnan(value)) {
        memcpy(to, "NaN", 3);
        return 3;
    }
    if (signbit(value))
        to[at++] = '-';
    if (isinf(value)) {
        memcpy(to + at, "Infinity", 8);
        return at + 8;
    }
    if (value == 0) {
        memcpy(to + at, "0.0", 3);
        return at + 3;
    }
    *ret_rest = true;
    return at;
}

const struct tl_float_type tl__float32 = {24, -149};

size_t tl__print_float(char *to, float value, const struct tl_float_type *type)
{
    bool rest;
    size_t at = print_special(to, (double)value, &rest);

    return rest ? at + print_decimal(to + at, shortest_narrow(fabsf(value), type)) : at;
}

size_t tl__print_f32(char *to, float value)
{
    return tl__print_float(to, value, &tl__float32);
}

size_t tl__print_f64(char *to, double value)
{
    bool rest;
    size_t at = print_special(to, value, &rest);

    return rest ? at + print_decimal(to + at, shortest_f64(fabs(value))) : at;
}

size_t tl__print_rounded(char *to, double value, int digits)
{
    struct tl_decimal d;
    size_t at = 0;
    bool rest;

    *to = '~';
    at = print_special(to + 1, value, &rest);
    if (rest) {
        d = round_to(fabs(value), digits);
        rest = read_decimal(d) != fabs(value);
        at += print_decimal(to + 1 + at, strip_zeros(d));
        if (rest && at > 2 && to[at] == '0' && to[at - 1] == '.') /* "~490015": nothing behind the point is known */
            at -= 2;
    }
    if (rest)
        return at + 1;
    memmove(to, to + 1, at);
    return at;
}

/* ---- reading ---- */

bool tl__read_u64(const char *text, size_t bytes, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (bytes == 0)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        unsigned digit = (unsigned)(text[i] - '0');

        if (digit > 9 || __builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool tl__read_hex(const char *text, size_t bytes, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (bytes == 0 || bytes > 16)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16;

        if (digit == 16)
            return false;
        value = value << 4 | digit;
    }
    *ret_value = value;
    return true;
}

bool tl__read_f64(const char *text, size_t bytes, double *ret_value)
{
    char plain[TL_READ_DIGITS_MAX + 32];
    size_t at = 0, n = 0;
    long exponent = 0, stated = 0;
    bool point = false, digit = false, minus;

    if (at < bytes && text[at] == '-')
        plain[n++] = text[at++];
    for (; at < bytes && ((text[at] >= '0' && text[at] <= '9') || (text[at] == '.' && !point)); at++) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        if (n >= TL_READ_DIGITS_MAX)
            return false;
        digit = true;
        exponent -= point;
        plain[n++] = text[at];
    }
    if (digit && at < bytes && (text[at] == 'e' || text[at] == 'E')) {
        minus = ++at < bytes && text[at] == '-';
        at += at < bytes && (text[at] == '-' || text[at] == '+');
        digit = at < bytes;
        for (; at < bytes && text[at] >= '0' && text[at] <= '9'; at++)
            stated = stated < 10000 ? stated * 10 + (text[at] - '0') : stated;
        exponent += minus ? -stated : stated;
    }
    if (!digit || at < bytes)
        return false;
    (void)snprintf(plain + n, sizeof(plain) - n, "e%ld", exponent);
    *ret_value = strtod(plain, NULL);
    return true;
}
