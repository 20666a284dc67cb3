/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording of a program must hold, said by the serial interpreter: one line an argument and stage at level 2,
 * in order of submission, by the rules of docs/formats/args_dump.md and nothing of the runtime.
 */
#ifndef TL_TESTS_SERIAL_RECORDS_H
#define TL_TESTS_SERIAL_RECORDS_H

#include <stdio.h>

#include "serial.h"

struct serial_records {
    const struct tl_program *program;
    FILE *to;
    uint64_t tasks; /* shown so far */
};

/*
 * Observer of a run that is not shuffled; context: a struct serial_records. A line's fields, separated by spaces:
 * number of the task, its id (hexadecimal), stage, role, kind, argument, dtype, marked (1 by tl_dump, 2 by tl_dump_tag
 * alone), three func ids in core order (those that are there first, then -1), rank, five sizes, five strides, start
 * offset, payload bytes, and the payload's XXH3-64 or the scalar's bits (hexadecimal). Elements must be whole bytes.
 */
void serial_records_observe(void *context, const struct serial_task *task, bool after);

#endif
