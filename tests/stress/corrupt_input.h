/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORRUPT_INPUT_H
#define TESTS_CORRUPT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"

/* Shared with the child. */
struct corrupt_input {
    char dir[100], part[16];
    uint64_t seed, now;
    uint64_t done, hits, corrupt, kept, refused;
};
extern struct corrupt_input *corrupt_input;

uint64_t corrupt_random(uint64_t *state);
/* Sets `bytes` bytes to an extreme value. */
void corrupt_hit(uint64_t *random, void *at, unsigned bytes);
/* The same with one field of a record, by its table or by its place. */
void corrupt_hit_record(uint64_t *random, const struct tl_collector_spec *spec, uint8_t *record);
/* Ends the child, with the input's number, unless it holds. */
void corrupt_must(bool holds, const char *what);

void corrupt_journal_begin(void);
void corrupt_journal(uint64_t input);
void corrupt_journal_end(void);
void corrupt_memory_begin(void);
void corrupt_memory(uint64_t input);
void corrupt_memory_end(void);
int corrupt_clean(void);

#endif
