/* SPDX-License-Identifier: Apache-2.0 */
/* Documents come part by part, whatever the pieces that they are fed in; values have the type that is asked for. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json_tape.h"

enum { HEAD, ROWS, OTHER };

static const struct tl_tape_section sections[] = {{"head", false, true}, {"rows", true, true}, {"other", true, false}};

/* What came, as text: "head={a:1,b:[x,2]} rows[0]=..." */
struct log {
    char text[2000];
    size_t used;
    uint32_t seen;
    int code; /* what on_value returns */
};

static void say(struct log *log, const char *more, size_t length)
{
    assert_true(log->used + length < sizeof(log->text));
    memcpy(log->text + log->used, more, length);
    log->used += length;
    log->text[log->used] = '\0';
}

static uint32_t say_value(struct log *log, const struct tl_tape *t, uint32_t at)
{
    static const char *const plain[] = {"null", "false", "true"};
    const struct tl_tape_token *token = &t->tokens[at];
    bool object = token->type == TL_TAPE_OBJECT;
    uint32_t item = at + 1, left = token->length;

    if (token->type <= TL_TAPE_TRUE)
        say(log, plain[token->type], strlen(plain[token->type]));
    if (token->type == TL_TAPE_NUMBER || token->type == TL_TAPE_STRING) {
        say(log, token->type == TL_TAPE_STRING ? "'" : "", token->type == TL_TAPE_STRING);
        say(log, t->text + token->start, token->length);
        assert_int_equal(t->text[token->start + token->length], 0);
    }
    if (token->type < TL_TAPE_OBJECT) {
        assert_int_equal(token->next, at + 1);
        return token->next;
    }
    say(log, object ? "{" : "[", 1);
    for (; left > 0; left--) {
        if (object)
            item = say_value(log, t, item);
        say(log, ":", object);
        item = say_value(log, t, item);
        say(log, ",", left > 1);
    }
    say(log, object ? "}" : "]", 1);
    assert_int_equal(item, token->next);
    return item;
}

static int on_value(void *ctx, struct tl_tape *t)
{
    struct log *log = ctx;
    char where[64] = "= ";

    if (t->section >= 0)
        (void)snprintf(where, sizeof(where), "%s%llu=", sections[t->section].name, (unsigned long long)t->index);
    say(log, where, strlen(where));
    (void)say_value(log, t, 0);
    say(log, " ", 1);
    return log->code;
}

/* Feeds pieces of `piece` bytes. */
static int read_pieces(const char *text, size_t size, size_t piece, bool whole, struct log *log, struct tl_error *err)
{
    struct tl_tape_spec spec = {
        .sections = sections, .count = whole ? 0 : 3, .on_value = on_value, .ctx = log, .ret_seen = &log->seen};
    struct tl_tape *t = tl__tape_create("f.json", &spec);
    int code = 0;

    assert_non_null(t);
    log->used = 0;
    log->text[0] = '\0';
    for (size_t at = 0; code == 0 && at < size; at += piece) {
        /* In memory of its exact size, so that a sanitizer sees what reads past it. */
        size_t n = size - at < piece ? size - at : piece;
        char *copy = malloc(n);

        memcpy(copy, text + at, n);
        code = tl__tape_feed(t, copy, n, err);
        free(copy);
    }
    if (code == 0)
        code = tl__tape_finish(t, err);
    tl__tape_destroy(t);
    return code;
}

static const char document[] =
    "{\"x\": {\"rows\": [1]}, \"rows\": [[], {\"a\": {\"b\": null}, \"c\": [1, -2.5e3]}, 7],\n"
    " \"skipped\": [[{\"head\": 1}]], \"head\": {\"k\\u00e9\\n\": true},\n"
    " \"other\": [], \"y\": \"rows\", \"z\": false}\n";
static const char parts[] = "rows0=[] rows1={'a:{'b:null},'c:[1,-2.5e3]} rows2=7 head0={'k\xc3\xa9\n:true} ";

static void parts_come_whatever_the_pieces(void **state)
{
    struct log log = {0};
    struct tl_error err = {0};

    (void)state;
    for (size_t piece = 1; piece <= sizeof(document); piece++) {
        log.seen = 0;
        assert_int_equal(read_pieces(document, sizeof(document) - 1, piece, false, &log, &err), 0);
        assert_string_equal(log.text, parts);
        assert_int_equal(log.seen, 7);
    }
    assert_int_equal(read_pieces("{\"head\":1,\"rows\":[]}", 20, 20, false, &log, &err), 0);
    assert_string_equal(log.text, "head0=1 ");
    assert_int_equal(log.seen, 3);
    assert_int_equal(read_pieces(" [1, \"a\", {}] ", 14, 3, true, &log, &err), 0);
    assert_string_equal(log.text, "= [1,'a,{}] ");
    assert_int_equal(read_pieces("12", 2, 1, true, &log, &err), 0);
    assert_string_equal(log.text, "= 12 ");
}

static void every_cut_is_an_error(void **state)
{
    struct log log = {0};
    struct tl_error err = {0};

    (void)state;
    for (size_t cut = 0; cut + 2 < sizeof(document); cut++) {
        err = (struct tl_error){0};
        assert_int_equal(read_pieces(document, cut, 7, false, &log, &err), TL_EPARSE);
        assert_int_equal(err.code, TL_EPARSE);
        assert_memory_equal(err.msg, "f.json", 6);
        assert_non_null(strstr(err.msg, cut == 0 ? "the file is empty" : "the file is cut"));
    }
    assert_int_equal(read_pieces(document, 50, 7, false, &log, &err), TL_EPARSE);
    assert_string_equal(err.msg, "f.json:1: the file is cut in rows[1]");
    assert_int_equal(read_pieces(document, 100, 7, false, &log, &err), TL_EPARSE);
    assert_string_equal(err.msg, "f.json:2: the file is cut");
    assert_int_equal(err.offset, 2);
    assert_int_equal(read_pieces("{\"head\": [1, ", 13, 7, false, &log, &err), TL_EPARSE);
    assert_string_equal(err.msg, "f.json:1: the file is cut in head");
    assert_int_equal(read_pieces("{\"head\": [1], ", 14, 7, false, &log, &err), TL_EPARSE);
    assert_string_equal(err.msg, "f.json:1: the file is cut");
}

static void must_fail(const char *text, int expected, const char *message, long offset)
{
    struct log log = {.code = expected == TL_EBUSY ? TL_EBUSY : 0};
    struct tl_error err = {0};

    for (size_t piece = 1; piece <= strlen(text); piece += piece) {
        assert_int_equal(read_pieces(text, strlen(text), piece, false, &log, &err), expected);
        assert_string_equal(err.msg, message);
        assert_int_equal(err.code, expected);
        assert_int_equal(err.offset, offset);
    }
}

static void what_is_wrong_is_named(void **state)
{
    char deep[400], message[100];

    (void)state;
    must_fail("[]", TL_EPARSE, "f.json: expected an object, found an array", -1);
    must_fail("3 ", TL_EPARSE, "f.json: expected an object, found a number", -1);
    must_fail("{\"rows\": []}", TL_EPARSE, "f.json: field 'head': missing", -1);
    must_fail("{\"head\": 1}", TL_EPARSE, "f.json: field 'rows': missing", -1);
    must_fail("{\"rows\": {}}", TL_EPARSE, "f.json: rows: expected an array, found an object", -1);
    must_fail("{\"other\": null}", TL_EPARSE, "f.json: other: expected an array, found null", -1);
    must_fail("{\"head\": 1, \"head\": 2}", TL_EPARSE, "f.json: field 'head': appears twice", -1);
    must_fail("{\"rows\": [1, 2]}", TL_EBUSY, "f.json: rows[0]: in use", 0);
    must_fail("{\n \"head\": ?}", TL_EPARSE, "f.json:2:10: not valid JSON: lexical error: invalid char in json text.",
              2);
    must_fail("{\"head\": 1,\n\n \"rows\": []} x", TL_EPARSE,
              "f.json:3:14: not valid JSON: parse error: trailing garbage", 3);
    (void)snprintf(deep, sizeof(deep), "{\"head\": %.*s", TL_TAPE_DEPTH_MAX,
                   "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
    (void)snprintf(message, sizeof(message), "f.json: head: more than %d levels of arrays and objects",
                   TL_TAPE_DEPTH_MAX);
    must_fail(deep, TL_EPARSE, message, -1);
    memcpy(deep, "{\"none\":", 8); /* also where nobody looks */
    (void)snprintf(message, sizeof(message), "f.json: more than %d levels of arrays and objects", TL_TAPE_DEPTH_MAX);
    must_fail(deep, TL_EPARSE, message, -1);
}

/* ---- values ---- */

enum { TEXT, BIG, MINUS, WHOLE, FLAG, LIST, OBJECT, NOTHING, GONE, FIELDS };

static const char *const names[FIELDS] = {"text", "big", "minus", "whole", "flag", "list", "object", "nothing", "gone"};

static const char values[] =
    "{\"object\": {\"gone\": 1}, \"text\": \"a\\u0000b\", \"text\\u0000\": 1, \"big\": 18446744073709551615, "
    "\"minus\": -2147483648,"
    " \"flag\": false, \"flag\": true, \"whole\": 5e7, \"list\": [\"18446744073709551615\", \"0xfF\", 1.5, -0, "
    "18446744073709551616, \"\", \"1 \", \"-7\", \"0x\", 9007199254740993.0, \"1\\u0000\", 2147483648, \"7e1\"],"
    " \"nothing\": null, \"more\": []}";

#define MUST_SAY(call, expected)                                                                                       \
    do {                                                                                                               \
        struct tl_error said_ = {0};                                                                                   \
        assert_int_equal((call), TL_EPARSE);                                                                           \
        noted(t, &said_);                                                                                              \
        assert_string_equal(said_.msg, "v.json: " expected);                                                           \
    } while (0)

/* The error that the tape has noted, by way of a feed, which hands it out and does nothing else. */
static void noted(struct tl_tape *t, struct tl_error *ret_error)
{
    (void)tl__tape_feed(t, "", 0, ret_error);
}

static void check_list(struct tl_tape *t, uint32_t at)
{
    static const struct {
        bool good;
        uint64_t value;
    } expected[] = {{true, UINT64_MAX}, {true, 255}, {false, 0}, {true, 0},  {false, 0},         {false, 0}, {false, 0},
                    {false, 0},         {false, 0},  {false, 0}, {false, 0}, {true, 2147483648}, {false, 0}};
    uint32_t count = 0, item = at + 1;
    uint64_t value = 1;
    int32_t small = 0;

    assert_int_equal(tl__tape_array(t, at, "list", &count), 0);
    assert_int_equal(count, sizeof(expected) / sizeof(expected[0]));
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(tl__tape_u64(t, item, "list", UINT64_MAX, &value), expected[i].good ? 0 : TL_EPARSE);
        if (expected[i].good)
            assert_true(value == expected[i].value);
        if (i == 7)
            assert_true(tl__tape_i32(t, item, "list", &small) == 0 && small == -7);
        if (i == 11)
            MUST_SAY(tl__tape_i32(t, item, "list", &small),
                     "field 'list': expected an integer from -2147483648 to 2147483647, found 2147483648");
        item = t->tokens[item].next;
    }
}

static void check_texts(struct tl_tape *t, const uint32_t f[FIELDS])
{
    static const char *const words[] = {"x", "A"};
    const char *text = NULL;
    unsigned word = 7;
    size_t length = 0;

    assert_int_equal(tl__tape_string(t, f[TEXT], "text", &text, &length), 0);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "a\0b", 4);
    assert_int_equal(tl__tape_word(t, f[TEXT], "text", words, 2, &word), TL_ENOENT);
    assert_int_equal(word, 7);
    MUST_SAY(tl__tape_string(t, f[BIG], "big", &text, &length), "field 'big': expected a string, found a number");
    MUST_SAY(tl__tape_word(t, f[FLAG], "flag", words, 2, &word), "field 'flag': expected a string, found a bool");
}

static int check_values(void *ctx, struct tl_tape *t)
{
    uint32_t f[FIELDS], inner[FIELDS], small = 0;
    bool flag = false;
    uint64_t value = 0;
    int32_t minus = 0;

    assert_int_equal(tl__tape_fields(t, 0, NULL, names, FIELDS, f), 0);
    assert_int_equal(f[GONE], TL_TAPE_ABSENT);
    assert_int_equal(tl__tape_fields(t, f[OBJECT], "object", names, FIELDS, inner), 0);
    assert_true(inner[GONE] != TL_TAPE_ABSENT && inner[TEXT] == TL_TAPE_ABSENT);
    assert_true(tl__tape_is_null(t, f[NOTHING]) && tl__tape_is_null(t, f[GONE]) && !tl__tape_is_null(t, f[FLAG]));
    assert_int_equal(tl__tape_u64(t, f[BIG], "big", UINT64_MAX, &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(tl__tape_u32(t, f[WHOLE], "whole", &small), 0);
    assert_int_equal(small, 50000000);
    assert_int_equal(tl__tape_i32(t, f[MINUS], "minus", &minus), 0);
    assert_int_equal(minus, INT32_MIN);
    assert_int_equal(tl__tape_bool(t, f[FLAG], "flag", &flag), 0);
    assert_true(flag);
    check_texts(t, f);
    check_list(t, f[LIST]);
    MUST_SAY(tl__tape_u32(t, f[BIG], "big", &small),
             "field 'big': expected an integer from 0 to 4294967295, found 18446744073709551615");
    MUST_SAY(tl__tape_u64(t, f[MINUS], "minus", 9, &value),
             "field 'minus': expected an integer from 0 to 9, found -2147483648");
    MUST_SAY(tl__tape_u64(t, f[GONE], "gone", 9, &value), "field 'gone': missing");
    MUST_SAY(tl__tape_u64(t, f[NOTHING], "nothing", 9, &value), "field 'nothing': expected a number, found null");
    MUST_SAY(tl__tape_bool(t, f[OBJECT], "object", &flag), "field 'object': expected a bool, found an object");
    MUST_SAY(tl__tape_array(t, f[OBJECT], "object", &small), "field 'object': expected an array, found an object");
    MUST_SAY(tl__tape_fields(t, f[LIST], "list", names, FIELDS, inner),
             "field 'list': expected an object, found an array");
    t->inner = "part";
    t->inner_index = 3;
    MUST_SAY(tl__tape_array(t, 0, NULL, &small), "part[3]: expected an array, found an object");
    *(bool *)ctx = true;
    return 0;
}

static void values_have_their_type(void **state)
{
    bool came = false;
    struct tl_tape_spec spec = {.on_value = check_values, .ctx = &came};

    (void)state;
    (void)tl__tape_parse(values, sizeof(values) - 1, "v.json", &spec, NULL);
    assert_true(came);
}

static int on_inner(void *ctx, struct tl_tape *t)
{
    uint64_t value = 0;

    (void)ctx;
    t->inner = "args";
    t->inner_index = 2;
    return tl__tape_u64(t, 0, NULL, 1, &value);
}

static void a_message_names_the_inner_place(void **state)
{
    struct tl_tape_spec spec = {.sections = sections, .count = 3, .on_value = on_inner};
    struct tl_error err = {0};

    (void)state;
    assert_int_equal(tl__tape_parse("{\"rows\":[0,1,2]}", 16, "v.json", &spec, &err), TL_EPARSE);
    assert_string_equal(err.msg, "v.json: rows[2].args[2]: expected an integer from 0 to 1, found 2");
    assert_int_equal(err.offset, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_come_whatever_the_pieces),  cmocka_unit_test(every_cut_is_an_error),
        cmocka_unit_test(what_is_wrong_is_named),          cmocka_unit_test(values_have_their_type),
        cmocka_unit_test(a_message_names_the_inner_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
