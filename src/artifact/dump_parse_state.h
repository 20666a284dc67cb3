/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the manifest's parser share. Each calls those after it in this list only: dump_parse.c, the object
 * and the top; dump_parse_line.c, the short cut for lines that our own writer made; dump_parse_record.c, records. */
#ifndef TL_ARTIFACT_DUMP_PARSE_STATE_H
#define TL_ARTIFACT_DUMP_PARSE_STATE_H

#include <stdbool.h>
#include <string.h>

#include "artifact/args_dump.h"
#include "artifact/dump_parse.h"
#include "artifact/dump_value.h"
#include "base/json_tape.h"

struct tl_dump_parser {
    const char *name;
    struct tl_tape *tape;
    struct tl_tape_spec spec;
    uint64_t size_hint;
    bool no_short_cut; /* for tests: everything goes through the tape */
    bool old_form;     /* the list is called "tensors" */
    uint32_t seen;     /* at the end: the members of the top, by bit */

    struct tl_dump_summary summary;
    struct tl_dump_record *records;
    uint64_t count, capacity;

    char dtype_text[24]; /* the last dtype's spelling and what it meant */
    size_t dtype_length;
    uint8_t dtype;
};

/* The type of that spelling, TL_DTYPE_UNKNOWN if it is none of ours. The last one is remembered: a list has few. */
unsigned tl__dump_dtype(struct tl_dump_parser *p, const char *text, size_t length);
/* Appends a record. False when out of memory. */
bool tl__dump_record_push(struct tl_dump_parser *p, const struct tl_dump_record *record);
/* Reads the record that the tape holds and appends it. 0, or the error, which is noted. */
int tl__dump_record_take(struct tl_dump_parser *p, struct tl_tape *tape);

/*
 * Takes the records at the start of `bytes` that our writer wrote, a line each, as long as another record follows:
 * what remains is the same list without them, and the tape reads it. Returns the number of bytes taken, 0 if there is
 * none or memory is short (the slow way then says so); *ret_items: how many records.
 */
size_t tl__dump_take_lines(struct tl_dump_parser *p, const char *bytes, size_t count, uint64_t *ret_items);

#endif
