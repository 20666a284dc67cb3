/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of named faults: parsing, and when one is due. Used by the controlled environment; pure, one thread at a time.
 *
 *     list  = fault {"," fault}
 *     fault = name ["@" step ["+" [count]]] ["%" percent] ["=" value]
 *
 * A fault counts how often it is asked for, from 1. It is due at `step`, or for `count` steps from there ("+" alone:
 * for ever); with `%` by chance from there on; with neither always. `value` is for whoever asks: bytes, nanoseconds.
 */
#ifndef TL_BASE_FAULTS_H
#define TL_BASE_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TL_FAULTS_MAX 16
#define TL_FAULT_NAME_BYTES 40

struct tl__fault_entry {
    char name[TL_FAULT_NAME_BYTES];
    uint64_t first, count; /* due for asks first .. first + count - 1 */
    uint32_t chance_ppm;   /* of those, parts in a million */
    bool has_value;
    uint64_t value;
    uint64_t asked, fired;
};

struct tl__faults {
    uint32_t count;
    struct tl__fault_entry entries[TL_FAULTS_MAX];
};

/* 0, or TL_EINVAL with *reterr_at = the offset in `list` that cannot be read. NULL is an empty list. */
int tl__faults_parse(const char *list, struct tl__faults *ret, size_t *reterr_at);
/*
 * Counts an ask for `name`, and returns the entry that is due, or NULL. `random` is the state of the generator that
 * chances are drawn from.
 */
const struct tl__fault_entry *tl__faults_ask(struct tl__faults *faults, const char *name, uint64_t *random);
/* The first entry of that name, or NULL. */
const struct tl__fault_entry *tl__faults_find(const struct tl__faults *faults, const char *name);

/* The next number of a generator (splitmix64); any state is a good seed. */
uint64_t tl__random_next(uint64_t *state);

#endif
