/* SPDX-License-Identifier: Apache-2.0 */
/* One record of the manifest: its fields, what must be there, and what they must say together. */
#include "artifact/dump_parse_state.h"
#include "base/env.h"

/* No record is shorter, so that a file cannot make us reserve more than it could fill. */
#define RECORD_MIN_BYTES 64u

#define fail(p, field, ...) tl__dump_parse_fail((p), TL_EPARSE, (field), __VA_ARGS__)

static const struct tl_field_name record_names[] = {RECORD_FIELDS(TL_FIELD_NAME)};

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
static int take_flag(struct tl_dump_parser *p, enum tl_event ev, uint16_t flag)
{
    if (ev != EV_TRUE && ev != EV_FALSE)
        return tl__dump_parse_fail_type(p, record_names[p->key].text, "a bool", ev);
    p->now.flags = (uint16_t)(ev == EV_TRUE ? p->now.flags | flag : p->now.flags & ~flag);
    return 1;
}

/* One of the names that name_of() gives for 0..count-1. */
static int take_name(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length,
                     const char *(*name_of)(unsigned), unsigned count, uint8_t *ret_value)
{
    const char *field = record_names[p->key].text;

    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, field, "a string", ev);
    for (unsigned i = 0; i < count; i++) {
        if (tl__text_is(text, length, name_of(i))) {
            *ret_value = (uint8_t)i;
            return 1;
        }
    }
    return fail(p, field, "'%.*s' is not known", (int)(length < 40 ? length : 40), text);
}

/* ---- a record ---- */

void tl__dump_record_begin(struct tl_dump_parser *p)
{
    tl__dump_record_init(&p->now);
    p->seen = 0;
    p->stride_count = 0;
    p->stated_rank = 0;
    p->last_key = F_COUNT;
    p->place = AT_RECORD;
}

static int take_dtype(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    char copy[sizeof(p->dtype_text)];
    int dtype;

    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, "dtype", "a string", ev);
    if (length != p->dtype_length || memcmp(text, p->dtype_text, length) != 0) {
        if (length >= sizeof(copy)) {
            p->now.dtype = TL_DTYPE_UNKNOWN;
            return 1;
        }
        memcpy(copy, text, length);
        copy[length] = 0;
        dtype = tl_dtype_parse(copy);
        memcpy(p->dtype_text, text, length);
        p->dtype_length = length;
        p->dtype = dtype >= 0 ? (uint8_t)dtype : TL_DTYPE_UNKNOWN;
    }
    p->now.dtype = p->dtype;
    return 1;
}

static int take_task_id(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (ev == EV_NUMBER)
        return tl__dump_take_u64(p, "task_id", ev, text, length, UINT64_MAX, &p->now.task_id);
    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, "task_id", "a string", ev);
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        if (tl__dump_hex(text + 2, length - 2, &p->now.task_id))
            return 1;
    } else if (tl__dump_digits(text, length, &p->now.task_id)) {
        return 1;
    }
    return fail(p, "task_id", "'%.*s' is not a task id", (int)(length < 40 ? length : 40), text);
}

static int take_value(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (ev == EV_TRUE || ev == EV_FALSE) {
        p->value_form = ev == EV_TRUE ? TL_VALUE_TRUE : TL_VALUE_FALSE;
        p->value[0] = 0;
        return 1;
    }
    if (ev != EV_NUMBER && ev != EV_STRING)
        return tl__dump_parse_fail_type(p, "value", "a number", ev);
    if (length >= sizeof(p->value))
        return fail(p, "value", "longer than %zu characters", sizeof(p->value) - 1);
    memcpy(p->value, text, length);
    p->value[length] = 0;
    p->value_form = ev == EV_NUMBER ? TL_VALUE_NUMBER : TL_VALUE_STRING;
    return 1;
}

static int take_func_id(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length, unsigned at)
{
    uint64_t magnitude;
    bool negative = length > 0 && text[0] == '-';

    if (ev != EV_NUMBER)
        return tl__dump_parse_fail_type(p, "func_id", "a number", ev);
    if (at >= TL_DUMP_MAX_FUNCS)
        return fail(p, "func_id", "more than %d ids", TL_DUMP_MAX_FUNCS);
    if (!tl__dump_digits(text + negative, length - negative, &magnitude) || magnitude > INT32_MAX)
        return fail(p, "func_id", "'%.*s' is not a function id", (int)(length < 40 ? length : 40), text);
    p->now.func_id[at] = negative ? -(int32_t)magnitude : (int32_t)magnitude;
    p->now.func_count = (uint8_t)(at + 1);
    return 1;
}

/* Ours alone; what it does not understand, it does not claim. */
static int take_hash(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    static const char prefix[] = "xxh3:";
    size_t n = sizeof(prefix) - 1;

    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, "hash", "a string", ev);
    if (length == n + 16 && memcmp(text, prefix, n) == 0 && tl__dump_hex(text + n, 16, &p->now.hash))
        p->now.flags |= TL_ARG_HAS_HASH;
    return 1;
}

static int take_payload(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, "payload", "a string", ev);
    if (tl__text_is(text, length, "lost"))
        p->now.flags |= TL_ARG_LOST;
    else if (tl__text_is(text, length, "unsupported"))
        p->now.flags |= TL_ARG_UNSUPPORTED;
    return 1;
}

static int take_cause(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, "cause", "a string", ev);
    p->now.cause = TL_DUMP_CAUSE_OTHER;
    for (unsigned i = TL_DUMP_CAUSE_DISK; i < TL_DUMP_CAUSE_OTHER; i++)
        if (tl__text_is(text, length, tl_dump_cause_name(i)))
            p->now.cause = (uint8_t)i;
    return 1;
}

static int take_field(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    uint64_t small = 0;

    switch ((enum tl_record_field)p->key) {
    case F_TASK_ID:
        return take_task_id(p, ev, text, length);
    case F_FUNC_ID:
        return take_func_id(p, ev, text, length, 0);
    case F_ROLE:
        return take_name(p, ev, text, length, tl_role_name, 3, &p->now.role);
    case F_STAGE:
        return take_name(p, ev, text, length, tl_stage_name, 2, &p->now.stage);
    case F_ARG_INDEX:
        if (!tl__dump_take_u64(p, "arg_index", ev, text, length, UINT32_MAX, &small))
            return 0;
        p->now.arg_index = (uint32_t)small;
        return 1;
    case F_KIND:
        return take_name(p, ev, text, length, tl_kind_name, 2, &p->now.kind);
    case F_DTYPE:
        return take_dtype(p, ev, text, length);
    case F_VALUE:
        return take_value(p, ev, text, length);
    case F_START_OFFSET:
        return tl__dump_take_u64(p, "start_offset", ev, text, length, UINT64_MAX, &p->now.start_offset);
    case F_BIN_OFFSET:
        return tl__dump_take_u64(p, "bin_offset", ev, text, length, UINT64_MAX, &p->now.bin_offset);
    case F_BIN_SIZE:
        return tl__dump_take_u64(p, "bin_size", ev, text, length, UINT64_MAX, &p->now.bin_size);
    case F_RANK:
        return tl__dump_take_u64(p, "rank", ev, text, length, UINT8_MAX, &p->stated_rank);
    case F_HASH:
        return take_hash(p, ev, text, length);
    case F_PAYLOAD:
        return take_payload(p, ev, text, length);
    case F_CAUSE:
        return take_cause(p, ev, text, length);
    case F_IS_CONTIGUOUS:
        return take_flag(p, ev, TL_ARG_CONTIGUOUS);
    case F_TRUNCATED:
        return take_flag(p, ev, TL_ARG_TRUNCATED);
    case F_PARTIAL:
        return take_flag(p, ev, TL_ARG_PARTIAL);
    case F_AMBIGUOUS:
        return take_flag(p, ev, TL_ARG_AMBIGUOUS);
    case F_MISMATCH:
        return take_flag(p, ev, TL_ARG_MISMATCH);
    case F_MARKED:
        return take_flag(p, ev, TL_ARG_MARKED);
    case F_OVERWRITTEN:
        return take_flag(p, ev, TL_ARG_OVERWRITTEN);
    case F_SHAPE:
    case F_STRIDES:
        return tl__dump_parse_fail_type(p, record_names[p->key].text, "an array", ev);
    case F_COUNT:
        break;
    }
    return 1;
}

/* Shape, strides and a stated rank must tell one story. */
static int settle_geometry(struct tl_dump_parser *p)
{
    struct tl_dump_record *r = &p->now;
    unsigned rank = r->rank;

    if ((p->seen & BIT(F_STRIDES)) != 0 && p->stride_count != rank)
        return fail(p, "strides", "%u entries, but shape has %u", p->stride_count, rank);
    if (rank == 0 && p->stated_rank > TL_MAX_DIMS)
        r->rank = (uint8_t)p->stated_rank;
    else if ((p->seen & BIT(F_RANK)) != 0 && p->stated_rank != rank)
        return fail(p, "rank", "%llu, but shape has %u entries", (unsigned long long)p->stated_rank, rank);
    if (r->rank > TL_MAX_DIMS) {
        memset(r->shape, 0, sizeof(r->shape));
        memset(r->strides, 0, sizeof(r->strides));
    } else if ((p->seen & BIT(F_STRIDES)) == 0) {
        uint64_t stride = 1;

        /* An old file: the view was dense. What overflows is no real tensor, and its size will say so. */
        for (unsigned d = r->rank; d-- > 0; stride *= r->shape[d])
            r->strides[d] = stride;
    }
    return 1;
}

static int settle_scalar(struct tl_dump_parser *p)
{
    if (p->now.rank != 0)
        return fail(p, "shape", "expected [] for a scalar");
    if (p->now.bin_size != 0)
        return fail(p, "bin_size", "expected 0 for a scalar");
    if (tl__dump_value_parse(p->now.dtype, p->value_form, p->value, &p->now.value_bits) != 0)
        return fail(p, "value", "'%.40s' is not a value of %s",
                    p->value_form == TL_VALUE_TRUE    ? "true"
                    : p->value_form == TL_VALUE_FALSE ? "false"
                                                      : p->value,
                    tl_dtype_name(p->now.dtype));
    return 1;
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

bool tl__dump_record_push(struct tl_dump_parser *p)
{
    if (!make_room(p))
        return false;
    p->records[p->count++] = p->now;
    return true;
}

static int end_record(struct tl_dump_parser *p)
{
    unsigned required = (p->top_seen & BIT(T_TENSORS)) != 0 ? OLD_REQUIRED
                        : p->now.kind == TL_KIND_SCALAR     ? SCALAR_REQUIRED
                                                            : TENSOR_REQUIRED;
    unsigned missing = required & ~p->seen;

    if (p->now.kind == TL_KIND_SCALAR)
        missing |= BIT(F_VALUE) & ~p->seen;
    if (missing != 0)
        return fail(p, record_names[__builtin_ctz(missing)].text, "missing");
    if (!settle_geometry(p) || (p->now.kind == TL_KIND_SCALAR && !settle_scalar(p)))
        return 0;
    if (!tl__dump_record_push(p))
        return tl__dump_parse_fail(p, TL_ENOMEM, NULL, "out of memory");
    p->place = AT_ARGS;
    return 1;
}

int tl__dump_list_event(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    const char *field = record_names[p->key].text;
    unsigned at = p->list_count;
    uint64_t value = 0;

    if (ev == EV_ARRAY_END) {
        if (p->key == F_FUNC_ID && at == 0)
            return fail(p, field, "empty");
        if (p->key == F_SHAPE)
            p->now.rank = (uint8_t)at;
        else if (p->key == F_STRIDES)
            p->stride_count = at;
        p->place = AT_RECORD;
        return 1;
    }
    if (at == UINT8_MAX)
        return fail(p, field, "more than %d entries", UINT8_MAX);
    p->list_count++;
    if (p->key == F_FUNC_ID)
        return take_func_id(p, ev, text, length, at);
    if (!tl__dump_take_u64(p, field, ev, text, length, p->key == F_SHAPE ? UINT32_MAX : UINT64_MAX, &value))
        return 0;
    if (at < TL_MAX_DIMS && p->key == F_SHAPE)
        p->now.shape[at] = (uint32_t)value;
    else if (at < TL_MAX_DIMS)
        p->now.strides[at] = value;
    return 1;
}

int tl__dump_record_event(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (ev == EV_KEY) {
        int guess = p->after[p->last_key];

        if (guess == F_COUNT || record_names[guess].length != length ||
            memcmp(record_names[guess].text, text, length) != 0) {
            guess = tl__dump_find_name(record_names, F_COUNT, text, length);
            p->after[p->last_key] = (uint8_t)guess;
        }
        p->key = p->last_key = guess;
        p->seen |= guess < F_COUNT ? BIT(guess) : 0;
        return 1;
    }
    if (ev == EV_MAP_END)
        return end_record(p);
    if (p->key == F_COUNT) {
        p->skip = ev == EV_MAP || ev == EV_ARRAY;
        return 1;
    }
    if (ev == EV_ARRAY && (p->key == F_FUNC_ID || p->key == F_SHAPE || p->key == F_STRIDES)) {
        p->list_count = 0;
        p->place = AT_LIST;
        return 1;
    }
    return take_field(p, ev, text, length);
}
