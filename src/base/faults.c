/* SPDX-License-Identifier: Apache-2.0 */
#include "base/faults.h"

#include <string.h>

#include "base/error.h"

#define PPM UINT32_C(1000000)

uint64_t tl__random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_number(const char **at, uint64_t *ret)
{
    uint64_t n = 0;

    if (!is_digit(**at))
        return false;
    for (; is_digit(**at); (*at)++)
        if (__builtin_mul_overflow(n, UINT64_C(10), &n) || __builtin_add_overflow(n, (uint64_t)(**at - '0'), &n))
            return false;
    *ret = n;
    return true;
}

/* "2.5" is 25,000 parts in a million; at most 100. */
static bool read_percent(const char **at, uint32_t *ret_ppm)
{
    uint64_t whole, ppm;

    if (!read_number(at, &whole) || whole > 100)
        return false;
    ppm = whole * (PPM / 100);
    if (**at == '.') {
        (*at)++;
        if (!is_digit(**at))
            return false;
        for (uint32_t unit = PPM / 1000; is_digit(**at); (*at)++, unit /= 10)
            ppm += (uint64_t)(**at - '0') * unit;
    }
    if (ppm > PPM)
        return false;
    *ret_ppm = (uint32_t)ppm;
    return true;
}

static bool read_name(const char **at, char *to)
{
    size_t bytes = strcspn(*at, "@%=+, ");

    if (bytes == 0 || bytes >= TL_FAULT_NAME_BYTES)
        return false;
    memcpy(to, *at, bytes);
    to[bytes] = '\0';
    *at += bytes;
    return true;
}

static bool read_fault(const char **at, struct tl__fault_entry *fault)
{
    *fault = (struct tl__fault_entry){.first = 1, .count = UINT64_MAX, .chance_ppm = PPM};
    if (!read_name(at, fault->name))
        return false;
    if (**at == '@') {
        (*at)++;
        if (!read_number(at, &fault->first) || fault->first == 0)
            return false;
        fault->count = **at == '%' ? UINT64_MAX : 1;
        if (**at == '+') {
            (*at)++;
            fault->count = UINT64_MAX;
            if (is_digit(**at) && !read_number(at, &fault->count))
                return false;
        }
    }
    if (**at == '%') {
        (*at)++;
        if (!read_percent(at, &fault->chance_ppm))
            return false;
    }
    if (**at == '=') {
        (*at)++;
        fault->has_value = true;
        if (!read_number(at, &fault->value))
            return false;
    }
    return **at == '\0' || **at == ',';
}

int tl__faults_parse(const char *list, struct tl__faults *ret, size_t *reterr_at)
{
    const char *at = list;

    *ret = (struct tl__faults){0};
    while (at != NULL && *at != '\0') {
        if (ret->count == TL_FAULTS_MAX || !read_fault(&at, &ret->entries[ret->count]) ||
            (*at == ',' && at[1] == '\0')) {
            *reterr_at = (size_t)(at - list);
            return TL_EINVAL;
        }
        ret->count++;
        if (*at == ',')
            at++;
    }
    return 0;
}

const struct tl__fault_entry *tl__faults_ask(struct tl__faults *faults, const char *name, uint64_t *random)
{
    const struct tl__fault_entry *due = NULL;

    for (uint32_t i = 0; i < faults->count; i++) {
        struct tl__fault_entry *fault = &faults->entries[i];

        if (strcmp(fault->name, name) != 0)
            continue;
        fault->asked++;
        if (fault->asked < fault->first || fault->asked - fault->first >= fault->count)
            continue;
        if (fault->chance_ppm < PPM && tl__random_next(random) % PPM >= fault->chance_ppm)
            continue;
        fault->fired++;
        due = due != NULL ? due : fault;
    }
    return due;
}

const struct tl__fault_entry *tl__faults_find(const struct tl__faults *faults, const char *name)
{
    for (uint32_t i = 0; i < faults->count; i++)
        if (strcmp(faults->entries[i].name, name) == 0)
            return &faults->entries[i];
    return NULL;
}
