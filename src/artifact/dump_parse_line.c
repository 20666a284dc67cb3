/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short cut: a manifest of a million records is 300 MB, and our own lines always look the same. A line is taken
 * only if it is to the letter what args_dump_write.c writes; anything else, and any record with a rare field, goes the
 * general way, which gives the same records (tests compare) and the errors.
 */
#include "artifact/dump_parse_state.h"
#include "base/number.h"

/* A literal may be compared this far past a line's end, never more. */
#define LITERAL_MAX 64

#define NEXT_START "    {\"task_id\": \"0x"

/* Moves *at past the literal, if it is there. */
#define TAKE(at, literal)                                                                                              \
    (memcmp(*(at), (literal), sizeof(literal) - 1) == 0 ? (*(at) += sizeof(literal) - 1, true) : false)

/* JSON has no leading zeros; the general way says so. */
static bool take_number(const char **at, uint64_t *ret_value)
{
    const char *start = *at, *c = start;

    while (*c >= '0' && *c <= '9' && c - start <= 20)
        c++;
    *at = c;
    return !(*start == '0' && c - start > 1) && tl__read_u64(start, (size_t)(c - start), ret_value);
}

static bool take_hex16(const char **at, uint64_t *ret_value)
{
    const char *start = *at;

    *at += 16;
    return tl__read_hex(start, 16, ret_value);
}

static bool take_func_ids(const char **at, struct tl_dump_record *r)
{
    unsigned n = 0;

    do {
        bool negative = **at == '-';
        uint64_t magnitude;

        *at += negative;
        if (n == TL_DUMP_MAX_FUNCS || !take_number(at, &magnitude) || magnitude > INT32_MAX)
            return false;
        r->func_id[n++] = negative ? -(int32_t)magnitude : (int32_t)magnitude;
    } while (TAKE(at, ", "));
    r->func_count = (uint8_t)n;
    return TAKE(at, "], \"role\": \"");
}

static bool take_place(const char **at, struct tl_dump_record *r)
{
    uint64_t arg_index;

    if (TAKE(at, "input\", \"stage\": \""))
        r->role = TL_ROLE_INPUT;
    else if (TAKE(at, "output\", \"stage\": \""))
        r->role = TL_ROLE_OUTPUT;
    else if (TAKE(at, "inout\", \"stage\": \""))
        r->role = TL_ROLE_INOUT;
    else
        return false;
    if (TAKE(at, "before_dispatch\", \"arg_index\": "))
        r->stage = TL_STAGE_BEFORE;
    else if (TAKE(at, "after_completion\", \"arg_index\": "))
        r->stage = TL_STAGE_AFTER;
    else
        return false;
    if (!take_number(at, &arg_index) || arg_index > UINT32_MAX)
        return false;
    r->arg_index = (uint32_t)arg_index;
    if (TAKE(at, ", \"kind\": \"tensor\", \"dtype\": \""))
        r->kind = TL_KIND_TENSOR;
    else if (TAKE(at, ", \"kind\": \"scalar\", \"dtype\": \""))
        r->kind = TL_KIND_SCALAR;
    else
        return false;
    return true;
}

static bool take_dtype(struct tl_dump_parser *p, const char **at, struct tl_dump_record *r)
{
    const char *start = *at;
    size_t length = 0;

    while (start[length] >= '0' && start[length] <= 'z' && length < sizeof(p->dtype_text) - 1)
        length++;
    *at += length;
    if (start[length] != '"')
        return false;
    r->dtype = (uint8_t)tl__dump_dtype(p, start, length);
    return r->dtype != TL_DTYPE_UNKNOWN && TAKE(at, "\"");
}

/* A number as the general way would get it: no sign but '-', no leading zero, a digit on both sides of the point. */
static bool take_value(const char **at, struct tl_dump_record *r)
{
    char text[TL_VALUE_TEXT_MAX];
    const char *start = *at, *c = start, *digits;
    size_t length;

    if (TAKE(at, "true"))
        return tl__dump_value_parse(r->dtype, TL_VALUE_TRUE, "", &r->value_bits) == 0;
    if (TAKE(at, "false"))
        return tl__dump_value_parse(r->dtype, TL_VALUE_FALSE, "", &r->value_bits) == 0;
    c += *c == '-';
    digits = c;
    while (*c >= '0' && *c <= '9')
        c++;
    if (c == digits || (*digits == '0' && c - digits > 1))
        return false;
    if (*c == '.') {
        digits = ++c;
        while (*c >= '0' && *c <= '9')
            c++;
        if (c == digits)
            return false;
    }
    length = (size_t)(c - start);
    if (*c != ',' || length >= sizeof(text))
        return false; /* an exponent, or something else that is rare */
    memcpy(text, start, length);
    text[length] = 0;
    *at = c;
    return tl__dump_value_parse(r->dtype, TL_VALUE_NUMBER, text, &r->value_bits) == 0;
}

static bool take_geometry(const char **at, struct tl_dump_record *r)
{
    unsigned rank = 0;
    uint64_t extent;

    if (!TAKE(at, ", \"shape\": ["))
        return false;
    if (!TAKE(at, "], \"strides\": []")) {
        do {
            if (rank == TL_MAX_DIMS || !take_number(at, &extent) || extent > UINT32_MAX)
                return false;
            r->shape[rank++] = (uint32_t)extent;
        } while (TAKE(at, ", "));
        if (!TAKE(at, "], \"strides\": ["))
            return false;
        for (unsigned d = 0; d < rank; d++)
            if ((d > 0 && !TAKE(at, ", ")) || !take_number(at, &r->strides[d]))
                return false;
        if (!TAKE(at, "]"))
            return false;
    }
    r->rank = (uint8_t)rank;
    return TAKE(at, ", \"start_offset\": ") && take_number(at, &r->start_offset);
}

static bool take_payload(const char **at, struct tl_dump_record *r)
{
    if (TAKE(at, ", \"is_contiguous\": true"))
        r->flags = TL_ARG_CONTIGUOUS;
    else if (TAKE(at, ", \"is_contiguous\": false"))
        r->flags = 0;
    else
        return false;
    if (TAKE(at, ", \"truncated\": true"))
        r->flags |= TL_ARG_TRUNCATED;
    else if (!TAKE(at, ", \"truncated\": false"))
        return false;
    if (!TAKE(at, ", \"bin_offset\": ") || !take_number(at, &r->bin_offset) || !TAKE(at, ", \"bin_size\": ") ||
        !take_number(at, &r->bin_size))
        return false;
    if (TAKE(at, ", \"hash\": \"xxh3:")) {
        r->flags |= TL_ARG_HAS_HASH;
        if (!take_hex16(at, &r->hash) || !TAKE(at, "\""))
            return false;
    }
    if (TAKE(at, ", \"marked\": true"))
        r->flags |= TL_ARG_MARKED;
    return true;
}

/* The record of the line [at, end), whose last two bytes are ",\n" and after which LITERAL_MAX bytes can be read. */
static bool take_line(struct tl_dump_parser *p, const char *at, const char *end)
{
    struct tl_dump_record record = {0}, *r = &record;
    bool good;

    good = TAKE(&at, NEXT_START) && take_hex16(&at, &r->task_id) && TAKE(&at, "\", \"func_id\": [") &&
           take_func_ids(&at, r) && take_place(&at, r) && take_dtype(p, &at, r);
    if (good && r->kind == TL_KIND_SCALAR)
        good = TAKE(&at, ", \"value\": ") && take_value(&at, r);
    good = good && take_geometry(&at, r) && take_payload(&at, r) && TAKE(&at, "},\n") && at == end;
    if (good && r->kind == TL_KIND_SCALAR)
        good = r->rank == 0 && r->bin_size == 0;
    return good && tl__dump_record_push(p, r);
}

size_t tl__dump_take_lines(struct tl_dump_parser *p, const char *bytes, size_t count, uint64_t *ret_items)
{
    const char *at = bytes, *end = bytes + count;

    *ret_items = 0;
    for (;;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *next = newline == NULL ? end : newline + 1;

        /* The next record must be in sight: a comma before the list's end is an error that the tape has to see. */
        if (end - next < LITERAL_MAX || memcmp(next, NEXT_START, sizeof(NEXT_START) - 1) != 0 ||
            !take_line(p, at, next))
            return (size_t)(at - bytes);
        ++*ret_items;
        at = next;
    }
}
