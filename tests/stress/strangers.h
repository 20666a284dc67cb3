/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STRANGERS_H
#define TESTS_STRANGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"

/* Shared with the child. */
struct strangers {
    char dir[100], part[16];
    uint64_t seed, now;
    uint64_t done, hits, corrupt, kept, refused;
};
extern struct strangers *strangers;

uint64_t strangers_random(uint64_t *state);
/* Sets `bytes` bytes to an extreme value. */
void strangers_hit(uint64_t *random, void *at, unsigned bytes);
/* The same with one field of a record, by its table or by its place. */
void strangers_hit_record(uint64_t *random, const struct tl_collector_spec *spec, uint8_t *record);
/* Ends the child, with the input's number, unless it holds. */
void strangers_must(bool holds, const char *what);

void strangers_journal_begin(void);
void strangers_journal(uint64_t input);
void strangers_journal_end(void);
void strangers_memory_begin(void);
void strangers_memory(uint64_t input);
void strangers_memory_end(void);
int strangers_clean(void);

#endif
