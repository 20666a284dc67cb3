/* SPDX-License-Identifier: Apache-2.0 */
/* One record of the manifest: its fields, what must be there, and what they must say together. */
#include "artifact/dump_parse_state.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/number.h"

#define SHOWN 40 /* bytes of a value that a message repeats */

/* No record is shorter, so that a file cannot make us reserve more than it could fill. */
#define RECORD_MIN_BYTES 64u

/* X(field, name). The order is the writer's, which makes the next key easy to guess. */
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

#define FIELD_ENUM(field, name) field,
#define FIELD_NAME(field, name) name,
enum record_field { RECORD_FIELDS(FIELD_ENUM) F_COUNT };
static const char *const names[F_COUNT] = {RECORD_FIELDS(FIELD_NAME)};

#define BIT(field) (1u << (field))
/* What must be there: every field of the format; the old form with `tensors` knew fewer. */
#define TENSOR_REQUIRED                                                                                                \
    (BIT(F_TASK_ID) | BIT(F_FUNC_ID) | BIT(F_ROLE) | BIT(F_STAGE) | BIT(F_ARG_INDEX) | BIT(F_KIND) | BIT(F_DTYPE) |    \
     BIT(F_SHAPE) | BIT(F_STRIDES) | BIT(F_START_OFFSET) | BIT(F_IS_CONTIGUOUS) | BIT(F_TRUNCATED) |                   \
     BIT(F_BIN_OFFSET) | BIT(F_BIN_SIZE))
#define SCALAR_REQUIRED                                                                                                \
    (BIT(F_TASK_ID) | BIT(F_FUNC_ID) | BIT(F_ROLE) | BIT(F_STAGE) | BIT(F_ARG_INDEX) | BIT(F_KIND) | BIT(F_DTYPE) |    \
     BIT(F_VALUE) | BIT(F_SHAPE))
#define OLD_REQUIRED                                                                                                   \
    (BIT(F_TASK_ID) | BIT(F_ROLE) | BIT(F_STAGE) | BIT(F_ARG_INDEX) | BIT(F_DTYPE) | BIT(F_SHAPE) |                    \
     BIT(F_BIN_OFFSET) | BIT(F_BIN_SIZE))

/* The record that is being read, and where its fields are on the tape. */
struct reading {
    struct tl_tape *tape;
    uint32_t at[F_COUNT]; /* TL_TAPE_ABSENT: not there */
    struct tl_dump_record record;
    unsigned stride_count;
    uint64_t stated_rank;
};

static bool has(const struct reading *r, enum record_field field)
{
    return r->at[field] != TL_TAPE_ABSENT;
}

static uint32_t type_of(const struct reading *r, enum record_field field)
{
    return r->tape->tokens[r->at[field]].type;
}

/* ---- values ---- */

static int take_u64(struct reading *r, enum record_field field, uint64_t max, uint64_t *ret_value)
{
    return has(r, field) ? tl__tape_u64(r->tape, r->at[field], names[field], max, ret_value) : 0;
}

/* Absent: `*ret_text` stays NULL. */
static int take_text(struct reading *r, enum record_field field, const char **ret_text, size_t *ret_length)
{
    *ret_text = NULL;
    return has(r, field) ? tl__tape_string(r->tape, r->at[field], names[field], ret_text, ret_length) : 0;
}

/* One of the names that name_of() gives for 0..count-1. */
static int take_name(struct reading *r, enum record_field field, const char *(*name_of)(unsigned), unsigned count,
                     uint8_t *ret_value)
{
    const char *text;
    size_t length;
    int code = take_text(r, field, &text, &length);

    if (code != 0 || text == NULL)
        return code;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(text, name_of(i)) == 0) {
            *ret_value = (uint8_t)i;
            return 0;
        }
    }
    return tl__tape_fail(r->tape, TL_EPARSE, names[field], "'%.*s' is not known", SHOWN, text);
}

static int take_flags(struct reading *r)
{
    static const struct {
        enum record_field field;
        uint16_t flag;
    } flags[] = {
        {F_IS_CONTIGUOUS, TL_ARG_CONTIGUOUS}, {F_TRUNCATED, TL_ARG_TRUNCATED}, {F_PARTIAL, TL_ARG_PARTIAL},
        {F_AMBIGUOUS, TL_ARG_AMBIGUOUS},      {F_MISMATCH, TL_ARG_MISMATCH},   {F_MARKED, TL_ARG_MARKED},
        {F_OVERWRITTEN, TL_ARG_OVERWRITTEN},
    };
    bool value = false;

    for (unsigned i = 0; i < COUNT_OF(flags); i++) {
        if (!has(r, flags[i].field))
            continue;
        if (tl__tape_bool(r->tape, r->at[flags[i].field], names[flags[i].field], &value) != 0)
            return TL_EPARSE;
        r->record.flags = (uint16_t)(value ? r->record.flags | flags[i].flag : r->record.flags & ~flags[i].flag);
    }
    return 0;
}

unsigned tl__dump_dtype(struct tl_dump_parser *p, const char *text, size_t length)
{
    char copy[sizeof(p->dtype_text)];
    int dtype;

    if (length >= sizeof(copy))
        return TL_DTYPE_UNKNOWN;
    if (length != p->dtype_length || memcmp(text, p->dtype_text, length) != 0) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        dtype = tl_dtype_parse(copy);
        memcpy(p->dtype_text, text, length);
        p->dtype_length = length;
        p->dtype = dtype >= 0 ? (uint8_t)dtype : TL_DTYPE_UNKNOWN;
    }
    return p->dtype;
}

static int take_dtype(struct tl_dump_parser *p, struct reading *r)
{
    const char *text;
    size_t length;
    int code = take_text(r, F_DTYPE, &text, &length);

    if (code == 0 && text != NULL)
        r->record.dtype = (uint8_t)tl__dump_dtype(p, text, length);
    return code;
}

/* ---- lists: a number, or an array of at most 255 ---- */

/* The array of the field: its first item and its length; 0 of them if it is absent. */
static int find_list(struct reading *r, enum record_field field, uint32_t *ret_at, uint32_t *ret_count)
{
    int code = has(r, field) ? tl__tape_array(r->tape, r->at[field], names[field], ret_count) : 0;

    *ret_at = r->at[field] + 1;
    if (!has(r, field))
        *ret_count = 0;
    if (code == 0 && *ret_count > UINT8_MAX)
        code = tl__tape_fail(r->tape, TL_EPARSE, names[field], "more than %d entries", UINT8_MAX);
    return code;
}

static int take_func_ids(struct reading *r)
{
    uint32_t at = r->at[F_FUNC_ID], count = 1;
    int code = 0;

    if (!has(r, F_FUNC_ID))
        return 0;
    if (type_of(r, F_FUNC_ID) == TL_TAPE_ARRAY)
        code = find_list(r, F_FUNC_ID, &at, &count);
    if (code == 0 && count == 0)
        return tl__tape_fail(r->tape, TL_EPARSE, names[F_FUNC_ID], "empty");
    if (code == 0 && count > TL_DUMP_MAX_FUNCS)
        return tl__tape_fail(r->tape, TL_EPARSE, names[F_FUNC_ID], "more than %d ids", TL_DUMP_MAX_FUNCS);
    for (uint32_t i = 0; code == 0 && i < count; i++, at = r->tape->tokens[at].next)
        code = tl__tape_i32(r->tape, at, names[F_FUNC_ID], &r->record.func_id[i]);
    r->record.func_count = (uint8_t)count;
    return code;
}

static int take_shape(struct reading *r)
{
    uint32_t at = 0, count = 0;
    uint64_t value = 0;
    int code = find_list(r, F_SHAPE, &at, &count);

    r->record.rank = (uint8_t)count;
    for (uint32_t i = 0; code == 0 && i < count; i++, at = r->tape->tokens[at].next) {
        code = tl__tape_u64(r->tape, at, names[F_SHAPE], UINT32_MAX, &value);
        if (i < TL_MAX_DIMS)
            r->record.shape[i] = (uint32_t)value;
    }
    if (code == 0)
        code = find_list(r, F_STRIDES, &at, &count);
    r->stride_count = count;
    for (uint32_t i = 0; code == 0 && i < count; i++, at = r->tape->tokens[at].next) {
        code = tl__tape_u64(r->tape, at, names[F_STRIDES], UINT64_MAX, &value);
        if (i < TL_MAX_DIMS)
            r->record.strides[i] = value;
    }
    return code;
}

/* Shape, strides and a stated rank must agree. */
static int settle_geometry(struct reading *r)
{
    struct tl_dump_record *record = &r->record;
    unsigned rank = record->rank;

    if (has(r, F_STRIDES) && r->stride_count != rank)
        return tl__tape_fail(r->tape, TL_EPARSE, names[F_STRIDES], "%u entries, but shape has %u", r->stride_count,
                             rank);
    if (rank == 0 && r->stated_rank > TL_MAX_DIMS)
        record->rank = (uint8_t)r->stated_rank;
    else if (has(r, F_RANK) && r->stated_rank != rank)
        return tl__tape_fail(r->tape, TL_EPARSE, names[F_RANK], "%llu, but shape has %u entries",
                             (unsigned long long)r->stated_rank, rank);
    if (record->rank > TL_MAX_DIMS) {
        memset(record->shape, 0, sizeof(record->shape));
        memset(record->strides, 0, sizeof(record->strides));
    } else if (!has(r, F_STRIDES)) {
        uint64_t stride = 1;

        /* An old file: the view was dense. What overflows is no real tensor, and its size will say so. */
        for (unsigned d = record->rank; d-- > 0; stride *= record->shape[d])
            record->strides[d] = stride;
    }
    return 0;
}

/* ---- ours alone; what it does not understand, it does not claim ---- */

static int take_own(struct reading *r)
{
    static const char prefix[] = "xxh3:";
    const size_t n = sizeof(prefix) - 1;
    const char *text;
    size_t length;

    if (take_text(r, F_HASH, &text, &length) != 0)
        return TL_EPARSE;
    if (text != NULL && length == n + 16 && memcmp(text, prefix, n) == 0 && tl__read_hex(text + n, 16, &r->record.hash))
        r->record.flags |= TL_ARG_HAS_HASH;
    if (take_text(r, F_PAYLOAD, &text, &length) != 0)
        return TL_EPARSE;
    if (text != NULL && strcmp(text, "lost") == 0)
        r->record.flags |= TL_ARG_LOST;
    else if (text != NULL && strcmp(text, "unsupported") == 0)
        r->record.flags |= TL_ARG_UNSUPPORTED;
    if (take_text(r, F_CAUSE, &text, &length) != 0)
        return TL_EPARSE;
    if (text != NULL)
        r->record.cause = TL_DUMP_CAUSE_OTHER;
    for (unsigned i = TL_DUMP_CAUSE_DISK; text != NULL && i < TL_DUMP_CAUSE_OTHER; i++)
        if (strcmp(text, tl_dump_cause_name(i)) == 0)
            r->record.cause = (uint8_t)i;
    return 0;
}

/* ---- a record ---- */

static int settle_scalar(struct reading *r)
{
    const struct tl_tape_token *token = &r->tape->tokens[r->at[F_VALUE]];
    const char *text = r->tape->text + token->start;
    const bool is_bool = token->type == TL_TAPE_TRUE || token->type == TL_TAPE_FALSE;
    const enum tl_value_form form = token->type == TL_TAPE_TRUE     ? TL_VALUE_TRUE
                                    : token->type == TL_TAPE_FALSE  ? TL_VALUE_FALSE
                                    : token->type == TL_TAPE_NUMBER ? TL_VALUE_NUMBER
                                                                    : TL_VALUE_STRING;

    if (!is_bool && token->type != TL_TAPE_NUMBER && token->type != TL_TAPE_STRING)
        return tl__tape_fail_type(r->tape, r->at[F_VALUE], names[F_VALUE], "a number");
    if (!is_bool && token->length >= TL_VALUE_TEXT_MAX)
        return tl__tape_fail(r->tape, TL_EPARSE, names[F_VALUE], "longer than %d characters", TL_VALUE_TEXT_MAX - 1);
    if (r->record.rank != 0)
        return tl__tape_fail(r->tape, TL_EPARSE, names[F_SHAPE], "expected [] for a scalar");
    if (r->record.bin_size != 0)
        return tl__tape_fail(r->tape, TL_EPARSE, names[F_BIN_SIZE], "expected 0 for a scalar");
    if (tl__dump_value_parse(r->record.dtype, form, is_bool ? "" : text, &r->record.value_bits) != 0)
        return tl__tape_fail(r->tape, TL_EPARSE, names[F_VALUE], "'%.*s' is not a value of %s", SHOWN,
                             form == TL_VALUE_TRUE    ? "true"
                             : form == TL_VALUE_FALSE ? "false"
                                                      : text,
                             tl_dtype_name(r->record.dtype));
    return 0;
}

static int take_numbers(struct reading *r)
{
    struct tl_dump_record *record = &r->record;
    uint64_t arg_index = 0;
    int code = take_u64(r, F_TASK_ID, UINT64_MAX, &record->task_id);

    if (code == 0)
        code = take_u64(r, F_ARG_INDEX, UINT32_MAX, &arg_index);
    record->arg_index = (uint32_t)arg_index;
    if (code == 0)
        code = take_u64(r, F_START_OFFSET, UINT64_MAX, &record->start_offset);
    if (code == 0)
        code = take_u64(r, F_BIN_OFFSET, UINT64_MAX, &record->bin_offset);
    if (code == 0)
        code = take_u64(r, F_BIN_SIZE, UINT64_MAX, &record->bin_size);
    if (code == 0)
        code = take_u64(r, F_RANK, UINT8_MAX, &r->stated_rank);
    return code;
}

static int take_words(struct tl_dump_parser *p, struct reading *r)
{
    int code = take_name(r, F_ROLE, tl_role_name, 3, &r->record.role);

    if (code == 0)
        code = take_name(r, F_STAGE, tl_stage_name, 2, &r->record.stage);
    if (code == 0)
        code = take_name(r, F_KIND, tl_kind_name, 2, &r->record.kind);
    if (code == 0)
        code = take_dtype(p, r);
    return code;
}

static int check_missing(const struct tl_dump_parser *p, struct reading *r)
{
    const bool scalar = r->record.kind == TL_KIND_SCALAR;
    unsigned missing = p->old_form ? OLD_REQUIRED : scalar ? SCALAR_REQUIRED : TENSOR_REQUIRED;

    if (scalar)
        missing |= BIT(F_VALUE);
    for (unsigned field = 0; field < F_COUNT; field++)
        if ((missing & BIT(field)) != 0 && !has(r, field))
            return tl__tape_fail(r->tape, TL_EPARSE, names[field], "missing");
    return 0;
}

static bool make_room(struct tl_dump_parser *p)
{
    uint64_t most = p->size_hint / RECORD_MIN_BYTES + 1, want;
    void *grown;

    if (p->count < p->capacity)
        return true;
    want = p->capacity == 0 ? p->summary.total_args : p->capacity * 2;
    if (want > most)
        want = most;
    if (want < p->count + 64)
        want = p->count + 64;
    grown = tl__realloc(p->records, (size_t)want * sizeof(*p->records));
    if (grown == NULL)
        return false;
    p->records = grown;
    p->capacity = want;
    return true;
}

bool tl__dump_record_push(struct tl_dump_parser *p, const struct tl_dump_record *record)
{
    if (!make_room(p))
        return false;
    p->records[p->count++] = *record;
    return true;
}

int tl__dump_record_take(struct tl_dump_parser *p, struct tl_tape *tape)
{
    struct reading r = {.tape = tape};
    int code = tl__tape_fields(tape, 0, NULL, names, F_COUNT, r.at);

    if (code != 0)
        return code;
    tl__dump_record_init(&r.record);
    code = take_words(p, &r);
    if (code == 0)
        code = check_missing(p, &r);
    if (code == 0)
        code = take_numbers(&r);
    if (code == 0)
        code = take_func_ids(&r);
    if (code == 0)
        code = take_shape(&r);
    if (code == 0)
        code = take_flags(&r);
    if (code == 0)
        code = take_own(&r);
    if (code == 0)
        code = settle_geometry(&r);
    if (code == 0 && r.record.kind == TL_KIND_SCALAR)
        code = settle_scalar(&r);
    if (code == 0 && !tl__dump_record_push(p, &r.record))
        code = tl__tape_fail(tape, TL_ENOMEM, NULL, "out of memory");
    return code;
}
