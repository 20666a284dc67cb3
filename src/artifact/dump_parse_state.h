/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the manifest's parser share. dump_parse.c: the object and the top; dump_parse_record.c: records;
 * dump_parse_line.c: the short cut for lines that our own writer made. */
#ifndef TL_ARTIFACT_DUMP_PARSE_STATE_H
#define TL_ARTIFACT_DUMP_PARSE_STATE_H

#include <stdbool.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "artifact/args_dump.h"
#include "artifact/dump_parse.h"
#include "artifact/dump_value.h"
#include "base/json_memory.h"

enum tl_event { EV_NULL, EV_TRUE, EV_FALSE, EV_NUMBER, EV_STRING, EV_MAP, EV_MAP_END, EV_ARRAY, EV_ARRAY_END, EV_KEY };

/* Where the parser stands. */
enum tl_place { AT_START, AT_TOP, AT_BIN_FORMAT, AT_ARGS, AT_RECORD, AT_LIST, AT_END };

/* X(field, name) of a record. The order is the writer's, which makes the next key easy to guess. */
#define RECORD_FIELDS(X)                                                                                               \
    X(F_TASK_ID, "task_id")                                                                                            \
    X(F_FUNC_ID, "func_id")                                                                                            \
    X(F_ROLE, "role")                                                                                                  \
    X(F_STAGE, "stage")                                                                                                \
    X(F_ARG_INDEX, "arg_index")                                                                                        \
    X(F_KIND, "kind")                                                                                                  \
    X(F_DTYPE, "dtype")                                                                                                \
    X(F_VALUE, "value")                                                                                                \
    X(F_SHAPE, "shape")                                                                                                \
    X(F_STRIDES, "strides")                                                                                            \
    X(F_START_OFFSET, "start_offset")                                                                                  \
    X(F_IS_CONTIGUOUS, "is_contiguous")                                                                                \
    X(F_TRUNCATED, "truncated")                                                                                        \
    X(F_BIN_OFFSET, "bin_offset")                                                                                      \
    X(F_BIN_SIZE, "bin_size")                                                                                          \
    X(F_HASH, "hash")                                                                                                  \
    X(F_RANK, "rank")                                                                                                  \
    X(F_PAYLOAD, "payload")                                                                                            \
    X(F_CAUSE, "cause")                                                                                                \
    X(F_PARTIAL, "partial")                                                                                            \
    X(F_AMBIGUOUS, "arg_index_ambiguous")                                                                              \
    X(F_MISMATCH, "layout_mismatch")                                                                                   \
    X(F_MARKED, "marked")                                                                                              \
    X(F_OVERWRITTEN, "overwritten")

/* X(field, name) of the top. */
#define TOP_FIELDS(X)                                                                                                  \
    X(T_RUN_DIR, "run_dir")                                                                                            \
    X(T_BIN_FORMAT, "bin_format")                                                                                      \
    X(T_VERSION, "version")                                                                                            \
    X(T_LEVEL, "dump_args_level")                                                                                      \
    X(T_TOTAL, "total_args")                                                                                           \
    X(T_BEFORE, "before_dispatch")                                                                                     \
    X(T_AFTER, "after_completion")                                                                                     \
    X(T_INPUT, "input_args")                                                                                           \
    X(T_OUTPUT, "output_args")                                                                                         \
    X(T_INOUT, "inout_args")                                                                                           \
    X(T_TRUNCATED, "truncated_args")                                                                                   \
    X(T_DROPPED, "dropped_records")                                                                                    \
    X(T_OVERWRITE, "dropped_overwrite")                                                                                \
    X(T_BIN_FILE, "bin_file")                                                                                          \
    X(T_EPOCH, "run_epoch")                                                                                            \
    X(T_ARGS, "args")                                                                                                  \
    X(T_TENSORS, "tensors")

#define TL_FIELD_ENUM(field, name) field,
#define TL_FIELD_NAME(field, name) {name, sizeof(name) - 1},
struct tl_field_name {
    const char *text;
    size_t length;
};
enum tl_record_field { RECORD_FIELDS(TL_FIELD_ENUM) F_COUNT };
enum tl_top_field { TOP_FIELDS(TL_FIELD_ENUM) T_COUNT };

#define BIT(field) (1u << (field))

struct tl_dump_parser {
    const char *name;
    yajl_handle yajl;
    struct tl_json_memory memory; /* yajl's */
    struct tl_error error;        /* code 0: none yet */
    uint64_t size_hint;
    enum tl_place place;
    bool no_short_cut;    /* for tests: everything goes through yajl */
    char tail[2];         /* the last bytes that went to yajl */
    unsigned skip;        /* depth inside a value that we do not know */
    int key;              /* of the enum that belongs to the place; its COUNT: unknown */
    unsigned top_seen;    /* BIT(top_field) */
    unsigned format_seen; /* 1: type, 2: byte_order */

    struct tl_dump_summary summary;
    struct tl_dump_record *records;
    uint64_t count, capacity;

    /* The record that is being read. */
    struct tl_dump_record now;
    unsigned seen;       /* BIT(record_field) */
    unsigned list_count; /* entries of the list so far */
    unsigned stride_count;
    uint64_t list[TL_MAX_DIMS + 1];
    uint64_t stated_rank;
    enum tl_value_form value_form;
    char value[TL_VALUE_TEXT_MAX];

    uint8_t after[F_COUNT + 1]; /* which key followed this one last time: the guess for the next record */
    int last_key;
    char dtype_text[24]; /* the last dtype's spelling and what it meant */
    size_t dtype_length;
    uint8_t dtype;
};

/* All of these return 0, which stops yajl. The message gets the file, the record's index where there is one, and the
 * field (NULL: none). */
int tl__dump_parse_fail(struct tl_dump_parser *p, int code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int tl__dump_parse_fail_type(struct tl_dump_parser *p, const char *field, const char *expected, enum tl_event found);

/* Position of a name, or `count`. */
int tl__dump_find_name(const struct tl_field_name *names, int count, const char *text, size_t length);
/* An integer in decimal digits, nothing else. */
bool tl__dump_digits(const char *text, size_t length, uint64_t *ret_value);
/* At most 16 hex digits, nothing else. */
bool tl__dump_hex(const char *text, size_t length, uint64_t *ret_value);
/* 1 and an integer of at most `max`, or a failure that names the field. */
int tl__dump_take_u64(struct tl_dump_parser *p, const char *field, enum tl_event ev, const char *text, size_t length,
                      uint64_t max, uint64_t *ret_value);

static inline bool tl__text_is(const char *text, size_t length, const char *expected)
{
    return strlen(expected) == length && memcmp(text, expected, length) == 0;
}

/* Starts a record, and takes an event inside one or inside one of its lists. 1, or 0 after a failure. */
void tl__dump_record_begin(struct tl_dump_parser *p);
int tl__dump_record_event(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length);
int tl__dump_list_event(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length);
/* Appends p->now. False when out of memory. */
bool tl__dump_record_push(struct tl_dump_parser *p);

/*
 * Takes the records at the start of `bytes` that our writer wrote, a line each, as long as another record follows:
 * what remains is the same list without them, and yajl reads it. Returns the number of bytes taken, 0 if there is none
 * or memory is short (the slow way then says so).
 */
size_t tl__dump_take_lines(struct tl_dump_parser *p, const char *bytes, size_t count);

#endif
