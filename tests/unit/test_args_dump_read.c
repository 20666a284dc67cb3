/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader accepts of others, what it refuses and in which words; payloads, checks, the installed face. */
#include "unit/artifact_fixture.h"

#include "artifact/args_dump.h"
#include "artifact/dump_parse_state.h"
#include "base/env.h"
#include "base/hash.h"

#define HEAD                                                                                                           \
    "{\"run_dir\": \"args_dump\", \"bin_format\": {\"type\": \"logical_contiguous\", \"byte_order\": "                 \
    "\"little_endian\"}, \"dump_args_level\": 2, \"total_args\": 1, \"before_dispatch\": 1, \"after_completion\": 0, " \
    "\"input_args\": 1, \"output_args\": 0, \"inout_args\": 0, \"truncated_args\": 0, \"dropped_records\": 0, "        \
    "\"bin_file\": \"args.bin\", "
#define TENSOR                                                                                                         \
    "{\"task_id\": \"0x0000000200000a00\", \"func_id\": [0], \"role\": \"input\", \"stage\": \"before_dispatch\", "    \
    "\"arg_index\": 0, \"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [2, 3], \"strides\": [3, 1], "         \
    "\"start_offset\": 7, \"is_contiguous\": true, \"truncated\": false, \"bin_offset\": 16, \"bin_size\": 24}"
#define SCALAR                                                                                                         \
    "{\"task_id\": \"0x1\", \"func_id\": [0], \"role\": \"input\", \"stage\": \"before_dispatch\", \"arg_index\": 1, " \
    "\"kind\": \"scalar\", \"dtype\": \"float32\", \"value\": 1.5, \"shape\": []}"
#define MANIFEST(records) HEAD "\"args\": [" records "]}"

/* `text` with the first `from` replaced by `to`. Free it. */
static char *with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *made = malloc(size);

    assert_non_null(at);
    assert_non_null(made);
    (void)snprintf(made, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return made;
}

static struct tl_dump_reader *parse(const char *text)
{
    struct tl_dump_reader *reader = NULL;
    struct tl_error err = {0};

    if (tl__dump_parse(text, strlen(text), "m.json", &reader, &err) != 0)
        fail_msg("%s", err.msg);
    return reader;
}

static void the_example_of_the_format(void **state)
{
    struct tl_dump_reader *reader = parse(MANIFEST(TENSOR));
    const struct tl_dump_record *r = tl__dump_records(reader);

    (void)state;
    assert_int_equal(tl__dump_record_count(reader), 1);
    assert_int_equal(r->task_id, 0x200000a00);
    assert_int_equal(r->func_count, 1);
    assert_int_equal(r->func_id[0], 0);
    assert_int_equal(r->dtype, TL_FLOAT32);
    assert_int_equal(r->rank, 2);
    assert_int_equal(r->shape[1], 3);
    assert_int_equal(r->strides[0], 3);
    assert_int_equal(r->start_offset, 7);
    assert_int_equal(r->bin_offset, 16);
    assert_int_equal(r->bin_size, 24);
    assert_int_equal(r->flags, TL_ARG_CONTIGUOUS);
    assert_int_equal(tl__dump_summary(reader)->level, 2);
    assert_string_equal(tl__dump_summary(reader)->bin_file, "args.bin");
    tl__dump_close(reader);
    tl__dump_close(NULL);
}

/* X: a change to the example that changes nothing but what is looked at. */
static struct tl_dump_record one_changed(const char *from, const char *to)
{
    char *text = with(MANIFEST(TENSOR), from, to);
    struct tl_dump_reader *reader = parse(text);
    struct tl_dump_record r = tl__dump_records(reader)[0];

    assert_int_equal(tl__dump_record_count(reader), 1);
    tl__dump_close(reader);
    free(text);
    return r;
}

static void other_writers_are_understood(void **state)
{
    struct tl_dump_record r;
    struct tl_dump_reader *reader;
    char *text, *text2;

    (void)state;
    assert_int_equal(one_changed("[0]", "5").func_id[0], 5);
    assert_int_equal(one_changed("[0]", "[-1]").func_id[0], -1);
    r = one_changed("[0]", "[3, 1, 2]");
    assert_int_equal(r.func_count, 3);
    assert_int_equal(r.func_id[2], 2);
    assert_int_equal(one_changed("float32", "FLOAT32").dtype, TL_FLOAT32);
    assert_int_equal(one_changed("float32", "BFLOAT16").dtype, TL_BFLOAT16);
    assert_int_equal(one_changed("float32", "float64").dtype, TL_DTYPE_UNKNOWN);
    assert_int_equal(one_changed("float32", "a name far longer than any dtype has").dtype, TL_DTYPE_UNKNOWN);
    assert_int_equal(one_changed("\"bin_size\"", "\"overwritten\": true, \"numel\": 6, \"bin_size\"").flags,
                     TL_ARG_CONTIGUOUS | TL_ARG_OVERWRITTEN);
    assert_int_equal(one_changed("\"0x0000000200000a00\"", "\"0X1F\"").task_id, 31);
    assert_int_equal(one_changed("\"0x0000000200000a00\"", "12").task_id, 12);
    assert_int_equal(one_changed("\"bin_size\"", "\"new\": {\"a\": [1, {\"b\": []}]}, \"bin_size\"").bin_size, 24);
    assert_int_equal(one_changed("\"bin_size\"", "\"new\": [[], {}], \"n\": null, \"t\": true, \"bin_size\"").bin_size,
                     24);
    assert_int_equal(one_changed("\"args\"", "\"dropped_overwrite\": 3, \"extra\": {\"args\": [1]}, \"args\"").rank, 2);
    assert_int_equal(one_changed("\"little_endian\"", "\"little_endian\", \"x\": [1]").rank, 2);
    assert_int_equal(one_changed("\"dump_args_level\"", "\"version\": 1, \"dump_args_level\"").rank, 2);
    assert_int_equal(one_changed("\"dump_args_level\"", "\"version\": {\"major\": 9}, \"dump_args_level\"").rank, 2);
    /* Integers as strings, hexadecimal ones too, and as floats, as in the other artifacts. */
    assert_int_equal(one_changed("\"arg_index\": 0", "\"arg_index\": \"5\"").arg_index, 5);
    assert_int_equal(one_changed("\"start_offset\": 7", "\"start_offset\": \"0x10\"").start_offset, 16);
    assert_int_equal(one_changed("\"start_offset\": 7", "\"start_offset\": 5e3").start_offset, 5000);
    /* A rank beyond ours keeps its number. */
    r = one_changed("\"shape\": [2, 3], \"strides\": [3, 1]", "\"shape\": [1,1,1,1,2,3], \"strides\": [6,6,6,6,3,1]");
    assert_int_equal(r.rank, 6);
    assert_int_equal(r.shape[0], 0);
    r = one_changed("\"shape\": [2, 3], \"strides\": [3, 1]",
                    "\"shape\": [], \"strides\": [], \"rank\": 7, \"payload\": \"unsupported\"");
    assert_int_equal(r.rank, 7);
    assert_int_equal(r.flags, TL_ARG_CONTIGUOUS | TL_ARG_UNSUPPORTED);
    r = one_changed("\"bin_size\"", "\"payload\": \"lost\", \"cause\": \"disk\", \"partial\": true, \"bin_size\"");
    assert_int_equal(r.flags, TL_ARG_CONTIGUOUS | TL_ARG_LOST | TL_ARG_PARTIAL);
    assert_int_equal(r.cause, TL_DUMP_CAUSE_DISK);
    assert_int_equal(one_changed("\"bin_size\"", "\"cause\": \"meteor\", \"bin_size\"").cause, TL_DUMP_CAUSE_OTHER);
    r = one_changed("\"bin_size\"", "\"hash\": \"xxh3:00000000000000ff\", \"bin_size\"");
    assert_int_equal(r.hash, 255);
    assert_int_equal(r.flags, TL_ARG_CONTIGUOUS | TL_ARG_HAS_HASH);
    assert_int_equal(one_changed("\"bin_size\"", "\"hash\": \"md5:00\", \"bin_size\"").flags, TL_ARG_CONTIGUOUS);

    /* The old form: `tensors`, and records that know fewer fields; the strides are then those of a dense view. */
    text =
        with(MANIFEST("{\"task_id\": \"0x1\", \"func_id\": 2, \"role\": \"output\", \"stage\": \"after_completion\", "
                      "\"arg_index\": 3, \"dtype\": \"INT8\", \"shape\": [4, 5, 6], \"bin_offset\": 0, \"bin_size\": "
                      "120}"),
             "\"args\"", "\"tensors\"");
    text2 = with(text, "\"run_dir\": \"args_dump\", ", "");
    reader = parse(text2);
    r = tl__dump_records(reader)[0];
    assert_int_equal(r.kind, TL_KIND_TENSOR);
    assert_int_equal(r.strides[0], 30);
    assert_int_equal(r.strides[1], 6);
    assert_int_equal(r.strides[2], 1);
    assert_int_equal(r.flags, TL_ARG_CONTIGUOUS);
    assert_int_equal(tl__dump_summary(reader)->after_completion, 1); /* counted, the head did not say it all */
    tl__dump_close(reader);
    free(text);
    free(text2);

    /* Scalars: the value may come before its type. */
    reader =
        parse(MANIFEST("{\"value\": \"-inf\", \"dtype\": \"FLOAT16\", \"task_id\": \"0x1\", \"func_id\": 0, \"role\": "
                       "\"input\", \"stage\": \"before_dispatch\", \"arg_index\": 0, \"kind\": \"scalar\", "
                       "\"shape\": []}, " SCALAR));
    assert_int_equal(tl__dump_records(reader)[0].value_bits, 0xfc00);
    assert_int_equal(tl__dump_records(reader)[1].value_bits, 0x3fc00000);
    tl__dump_close(reader);
}

/* size: one flat table of faults and the words that must name them */
static void faults_are_named(void **state)
{
    static const struct {
        const char *from, *to, *says;
        int code;
        long offset;
    } faults[] = {
        {"\"task_id\": \"0x0000000200000a00\", ", "", "args[0]: field 'task_id': missing", TL_EPARSE, 0},
        {"\"func_id\": [0], ", "", "args[0]: field 'func_id': missing", TL_EPARSE, 0},
        {"\"role\": \"input\", ", "", "args[0]: field 'role': missing", TL_EPARSE, 0},
        {"\"stage\": \"before_dispatch\", ", "", "args[0]: field 'stage': missing", TL_EPARSE, 0},
        {"\"arg_index\": 0, ", "", "args[0]: field 'arg_index': missing", TL_EPARSE, 0},
        {"\"kind\": \"tensor\", ", "", "args[0]: field 'kind': missing", TL_EPARSE, 0},
        {"\"dtype\": \"float32\", ", "", "args[0]: field 'dtype': missing", TL_EPARSE, 0},
        {"\"shape\": [2, 3], ", "", "args[0]: field 'shape': missing", TL_EPARSE, 0},
        {"\"strides\": [3, 1], ", "", "args[0]: field 'strides': missing", TL_EPARSE, 0},
        {"\"start_offset\": 7, ", "", "args[0]: field 'start_offset': missing", TL_EPARSE, 0},
        {"\"is_contiguous\": true, ", "", "args[0]: field 'is_contiguous': missing", TL_EPARSE, 0},
        {"\"truncated\": false, ", "", "args[0]: field 'truncated': missing", TL_EPARSE, 0},
        {"\"bin_offset\": 16, ", "", "args[0]: field 'bin_offset': missing", TL_EPARSE, 0},
        {", \"bin_size\": 24", "", "args[0]: field 'bin_size': missing", TL_EPARSE, 0},
        {"\"0x0000000200000a00\"", "\"0x00000000200000a00\"",
         "field 'task_id': expected an integer from 0 to 18446744073709551615, found 0x000", TL_EPARSE, 0},
        {"\"0x0000000200000a00\"", "\"0x\"", "field 'task_id': expected an integer", TL_EPARSE, 0},
        {"\"0x0000000200000a00\"", "\"ten\"", "found ten", TL_EPARSE, 0},
        {"\"0x0000000200000a00\"", "true", "field 'task_id': expected a number, found a bool", TL_EPARSE, 0},
        {"[0]", "[]", "field 'func_id': empty", TL_EPARSE, 0},
        {"[0]", "[1,2,3,4]", "field 'func_id': more than 3", TL_EPARSE, 0},
        {"[0]", "[1.5]", "field 'func_id': expected an integer from -2147483648 to 2147483647, found 1.5", TL_EPARSE,
         0},
        {"[0]", "[99999999999]", "found 99999999999", TL_EPARSE, 0},
        {"[0]", "[[0]]", "field 'func_id': expected a number, found an array", TL_EPARSE, 0},
        {"[0]", "{}", "field 'func_id': expected a number, found an object", TL_EPARSE, 0},
        {"\"input\"", "\"sideways\"", "field 'role': 'sideways' is not known", TL_EPARSE, 0},
        {"\"input\"", "1", "field 'role': expected a string, found a number", TL_EPARSE, 0},
        {"\"stage\": \"before_dispatch\"", "\"stage\": \"before\"", "field 'stage'", TL_EPARSE, 0},
        {"\"arg_index\": 0", "\"arg_index\": -1", "field 'arg_index': expected an integer from 0 to", TL_EPARSE, 0},
        {"\"arg_index\": 0", "\"arg_index\": 4294967296", "found 4294967296", TL_EPARSE, 0},
        {"\"arg_index\": 0", "\"arg_index\": \"x\"",
         "field 'arg_index': expected an integer from 0 to 4294967295, found x", TL_EPARSE, 0},
        {"\"tensor\"", "\"vector\"", "field 'kind'", TL_EPARSE, 0},
        {"\"float32\"", "0", "field 'dtype': expected a string, found a number", TL_EPARSE, 0},
        {"[2, 3]", "[2, -3]", "field 'shape': expected an integer", TL_EPARSE, 0},
        {"[2, 3]", "[2, 4294967296]", "field 'shape'", TL_EPARSE, 0},
        {"[2, 3]", "[2, null]", "field 'shape': expected a number, found null", TL_EPARSE, 0},
        {"[2, 3]", "6", "field 'shape': expected an array, found a number", TL_EPARSE, 0},
        {"[2, 3]", "{}", "field 'shape': expected an array, found an object", TL_EPARSE, 0},
        {"[3, 1]", "[3]", "field 'strides': 1 entries, but shape has 2", TL_EPARSE, 0},
        {"[3, 1]", "[3, 18446744073709551616]", "field 'strides'", TL_EPARSE, 0},
        {"\"start_offset\": 7", "\"start_offset\": 7.5", "field 'start_offset'", TL_EPARSE, 0},
        {"\"is_contiguous\": true", "\"is_contiguous\": 1", "expected a bool, found a number", TL_EPARSE, 0},
        {"\"truncated\": false", "\"truncated\": null", "expected a bool, found null", TL_EPARSE, 0},
        {"\"bin_size\": 24", "\"bin_size\": {}", "field 'bin_size': expected a number, found an object", TL_EPARSE, 0},
        {"\"bin_size\"", "\"rank\": 3, \"bin_size\"", "field 'rank': 3, but shape has 2 entries", TL_EPARSE, 0},
        {"\"bin_size\"", "\"rank\": 256, \"bin_size\"", "field 'rank'", TL_EPARSE, 0},
        {"\"bin_size\"", "\"hash\": 3, \"bin_size\"", "field 'hash': expected a string", TL_EPARSE, 0},
        {"\"bin_size\"", "\"payload\": 3, \"bin_size\"", "field 'payload': expected a string", TL_EPARSE, 0},
        {"\"bin_size\"", "\"cause\": [], \"bin_size\"", "field 'cause': expected a string, found an array", TL_EPARSE,
         0},
        {"\"bin_size\"", "\"partial\": 1, \"bin_size\"", "field 'partial': expected a bool", TL_EPARSE, 0},
        {"\"run_dir\": \"args_dump\", ", "", "m.json: field 'run_dir': missing", TL_EPARSE, -1},
        {"\"run_dir\": \"args_dump\"", "\"run_dir\": 1", "m.json: run_dir: expected a string", TL_EPARSE, -1},
        {"\"dump_args_level\": 2, ", "", "m.json: field 'dump_args_level': missing", TL_EPARSE, -1},
        {"\"dump_args_level\": 2", "\"dump_args_level\": 4", "from 0 to 3, found 4", TL_EPARSE, -1},
        {"\"total_args\": 1, ", "", "field 'total_args': missing", TL_EPARSE, -1},
        {"\"total_args\": 1", "\"total_args\": []", "m.json: total_args: expected a number, found an array", TL_EPARSE,
         -1},
        {"\"dropped_records\": 0, ", "", "field 'dropped_records': missing", TL_EPARSE, -1},
        {"\"bin_file\": \"args.bin\", ", "", "field 'bin_file': missing", TL_EPARSE, -1},
        {"\"args.bin\"", "\"../args.bin\"", "'../args.bin' is not the name of a file beside", TL_EPARSE, -1},
        {"\"args.bin\"", "\"\"", "bin_file: '' is not", TL_EPARSE, -1},
        {"\"args.bin\"", "7", "expected a string or null, found a number", TL_EPARSE, -1},
        {"\"logical_contiguous\"", "\"tiled\"", "bin_format: field 'type': 'tiled'", TL_ENOTSUP, -1},
        {"\"little_endian\"", "\"big_endian\"", "bin_format: field 'byte_order': 'big_endian'", TL_ENOTSUP, -1},
        {"\"little_endian\"", "1", "expected a string, found a number", TL_EPARSE, -1},
        {", \"byte_order\": \"little_endian\"", "", "bin_format: field 'byte_order': missing", TL_EPARSE, -1},
        {"{\"type\": \"logical_contiguous\", \"byte_order\": \"little_endian\"}", "[]", "expected an object", TL_EPARSE,
         -1},
        {"\"dump_args_level\"", "\"version\": 2, \"dump_args_level\"", "version: 2 is newer", TL_EVERSION, -1},
        {"\"args\": [", "\"arguments\": [", "field 'args': missing", TL_EPARSE, -1},
        {"\"args\": [", "\"args\": [], \"tensors\": [", "a second list of records", TL_EPARSE, -1},
        {"\"args\": [", "\"args\": [7, ", "args[0]: expected an object, found a number", TL_EPARSE, 0},
        {"\"args\": [", "\"args\": 5, \"x\": [", "m.json: args: expected an array, found a number", TL_EPARSE, -1},
        {"\"task_id\"", "\"task_id\"; ", "m.json:1:", TL_EPARSE, 1},
    };
    struct tl_dump_reader *reader = NULL;
    struct tl_error err;

    (void)state;
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char *text = with(MANIFEST(TENSOR), faults[i].from, faults[i].to);

        memset(&err, 0, sizeof(err));
        assert_int_equal(tl__dump_parse(text, strlen(text), "m.json", &reader, &err), faults[i].code);
        if (strstr(err.msg, faults[i].says) == NULL)
            fail_msg("fault %u: '%s' lacks '%s'", i, err.msg, faults[i].says);
        assert_int_equal(err.offset, faults[i].offset);
        assert_memory_equal(err.msg, "m.json:", 7);
        assert_null(strchr(err.msg, '\n'));
        free(text);
    }
    for (unsigned i = 0; i < 2; i++) {
        static const char *const odd[] = {"[]", "3"};

        assert_int_equal(tl__dump_parse(odd[i], strlen(odd[i]), "m.json", &reader, &err), TL_EPARSE);
        assert_non_null(strstr(err.msg, "expected an object"));
    }
}

static void scalar_faults_are_named(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } faults[] = {
        {"\"value\": 1.5, ", "", "args[1]: field 'value': missing"},
        {"1.5", "\"one\"", "args[1]: field 'value': 'one' is not a value of float32"},
        {"1.5", "true", "'true' is not a value of float32"},
        {"1.5", "[1]", "field 'value': expected a number, found an array"},
        {"float32\", \"value\": 1.5", "int8\", \"value\": 300", "'300' is not a value of int8"},
        {"\"shape\": []", "\"shape\": [1]", "field 'shape': expected []"},
        {"\"shape\": []", "\"shape\": [], \"bin_size\": 4", "field 'bin_size': expected 0"},
        {"1.5",
         "1.50000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
         "00000000000000000000000000000000000",
         "longer than 127"},
    };
    struct tl_dump_reader *reader = NULL;
    struct tl_error err;

    (void)state;
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char *text = with(MANIFEST(TENSOR ", " SCALAR), faults[i].from, faults[i].to);

        if (faults[i].from[0] == '"' && faults[i].from[1] == 's') { /* the shape of the second record */
            free(text);
            text = with(MANIFEST(SCALAR ", " SCALAR), "\"shape\": []", "\"shape\" : []");
            char *again = with(text, faults[i].from, faults[i].to);
            free(text);
            text = again;
        }
        assert_int_equal(tl__dump_parse(text, strlen(text), "m.json", &reader, &err), TL_EPARSE);
        if (strstr(err.msg, faults[i].says) == NULL)
            fail_msg("fault %u: '%s' lacks '%s'", i, err.msg, faults[i].says);
        assert_int_equal(err.offset, 1);
        free(text);
    }
}

static void every_cut_is_an_error(void **state)
{
    static const char text[] = MANIFEST(TENSOR ",\n" SCALAR);
    struct tl_dump_reader *reader = NULL;
    struct tl_error err;

    (void)state;
    for (size_t cut = 0; cut < sizeof(text) - 1; cut++) {
        assert_int_equal(tl__dump_parse(text, cut, "m.json", &reader, &err), TL_EPARSE);
        assert_non_null(strstr(err.msg, cut > 0 ? "the file is cut" : "the file is empty"));
    }
    assert_int_equal(tl__dump_parse(text, sizeof(text) - 1, "m.json", &reader, &err), 0);
    tl__dump_close(reader);
    assert_int_equal(tl__dump_parse(MANIFEST("") " x", strlen(MANIFEST("")) + 2, "m.json", &reader, &err), TL_EPARSE);
    assert_non_null(strstr(err.msg, "not valid JSON"));
}

/* Records and result of a text, by way of pieces of `piece` bytes, with or without the short cut. */
static int parse_as(const char *text, size_t size, size_t piece, bool short_cut, struct tl_dump_record **ret_records,
                    uint64_t *ret_count, struct tl_error *err)
{
    struct tl_dump_parser *p = tl__dump_parser_create("m.json", size);
    struct tl_dump_summary summary;
    int code = 0;

    assert_non_null(p);
    p->no_short_cut = !short_cut;
    *ret_records = NULL;
    for (size_t at = 0; at < size && code == 0; at += piece)
        code = tl__dump_parser_feed(p, text + at, size - at < piece ? size - at : piece, err);
    if (code == 0)
        code = tl__dump_parser_finish(p, &summary, ret_records, ret_count, err);
    tl__dump_parser_destroy(p);
    return code;
}

/* The column of what is no JSON depends on the piece that it is in. */
static void drop_column(char *msg)
{
    unsigned line, column;
    int end = 0;
    char rest[512];

    if (sscanf(msg, "m.json:%u:%u:%n", &line, &column, &end) == 2 && end > 0) {
        (void)snprintf(rest, sizeof(rest), "m.json:%u:%s", line, msg + end);
        memcpy(msg, rest, strlen(rest) + 1);
    }
}

static void assert_both_ways_agree(const char *text, size_t size)
{
    static const size_t pieces[] = {SIZE_MAX, 4096, 700, 61, 1};
    struct tl_dump_record *general, *quick;
    uint64_t general_count = 0, quick_count = 0;
    struct tl_error general_error = {0}, quick_error = {0};
    int code = parse_as(text, size, SIZE_MAX / 2, false, &general, &general_count, &general_error);

    for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t piece = pieces[i] < size ? pieces[i] : size;

        assert_int_equal(parse_as(text, size, piece, true, &quick, &quick_count, &quick_error), code);
        if (code == 0) {
            assert_int_equal(quick_count, general_count);
            if (quick_count > 0)
                assert_memory_equal(quick, general, quick_count * sizeof(*quick));
        } else {
            drop_column(quick_error.msg);
            drop_column(general_error.msg);
            assert_string_equal(quick_error.msg, general_error.msg);
        }
        tl__free(quick);
    }
    tl__free(general);
}

/* A manifest of our own writer with every kind of record in it. Free it. */
static char *own_manifest(size_t *ret_size)
{
    enum { N = 60 };
    struct tl_dump_record r[N];
    struct tl_dump_summary s = {.level = 2, .bin_file = "args.bin"};
    struct tl_error err = {0};

    for (unsigned i = 0; i < N; i++) {
        tl__dump_record_init(&r[i]);
        r[i].task_id = i / 3;
        r[i].arg_index = i;
        r[i].func_count = (uint8_t)(1 + i % 3);
        r[i].dtype = (uint8_t)(i % 16 == 15 ? TL_DTYPE_UNKNOWN : i % 16);
        if (i % 4 == 3) {
            r[i].kind = TL_KIND_SCALAR;
            r[i].value_bits = i % 8 == 3 ? 1 : r[i].dtype == TL_FLOAT32 ? 0x2f800000u : 0;
            continue;
        }
        r[i].role = (uint8_t)(i % 3);
        r[i].rank = (uint8_t)(i % 6);
        for (unsigned d = 0; d < r[i].rank; d++)
            r[i].strides[d] = r[i].shape[d] = d + i;
        r[i].bin_size = i;
        r[i].flags = (uint16_t)(1u << (i % 10));
        r[i].hash = i % 10 == 9 ? 0x123456789abcdef0u + i : 0;
        r[i].cause = i % 10 == 3;
    }
    assert_int_equal(tl__dump_sort(r, N), 0);
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &s, r, N, &err), 0);
    return fixture_read(TL_DUMP_MANIFEST_NAME, ret_size);
}

static void the_short_cut_gives_the_same(void **state)
{
    size_t size;
    char *text = own_manifest(&size);
    uint64_t x = 88172645463325252u;

    (void)state;
    assert_both_ways_agree(text, size);
    /* Changed anywhere, it is still the same records or the same error. */
    for (unsigned round = 0; round < 400; round++) {
        static const char bytes[] = "\"{}[],: \n019-.exnt\\";
        size_t at;
        char old;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        at = x % size;
        old = text[at];
        text[at] = bytes[(x >> 40) % (sizeof(bytes) - 1)];
        assert_both_ways_agree(text, size);
        text[at] = old;
    }
    free(text);
}

/* The short cut must leave to the general way what is wrong, however good the line looks. */
static void what_is_wrong_is_not_cut_short(void **state)
{
    size_t size;
    char *text = own_manifest(&size), *scalar = strstr(text, "\"kind\": \"scalar\""), *comma, *padded;
    struct tl_dump_reader *reader = NULL;
    struct tl_dump_record r;
    struct tl_error err;

    (void)state;
    /* A scalar with a payload. */
    assert_non_null(scalar);
    scalar = strstr(scalar, "\"bin_size\": 0");
    assert_non_null(scalar);
    scalar[12] = '4';
    assert_int_equal(tl__dump_parse(text, size, "m.json", &reader, &err), TL_EPARSE);
    assert_non_null(strstr(err.msg, "field 'bin_size': expected 0 for a scalar"));
    assert_both_ways_agree(text, size);
    free(text);
    /* A comma before the list's end when every record was cut short, and enough behind it to look like more. */
    tl__dump_record_init(&r);
    r.dtype = TL_FLOAT32;
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &(struct tl_dump_summary){.level = 3}, &r, 1, &err), 0);
    text = fixture_read(TL_DUMP_MANIFEST_NAME, &size);
    comma = with(text, "}\n  ]\n}", "},\n  ]\n}");
    padded = malloc(size + 200);
    assert_non_null(padded);
    (void)snprintf(padded, size + 200, "%s%100s", comma, "");
    assert_int_equal(tl__dump_parse(padded, strlen(padded), "m.json", &reader, &err), TL_EPARSE);
    assert_both_ways_agree(padded, strlen(padded));
    free(padded);
    free(comma);
    free(text);
}

/* A dump of two tensors in the test's directory: "abcd" at 4 and 8 bytes at 8, both hashed. */
static void write_dump(void)
{
    static const char bin[] = "....abcd01234567";
    struct tl_dump_record r[2];
    struct tl_dump_summary s = {.level = 2, .bin_file = "args.bin"};
    struct tl_error err = {0};

    for (unsigned i = 0; i < 2; i++) {
        tl__dump_record_init(&r[i]);
        r[i].arg_index = i;
        r[i].dtype = TL_UINT8;
        r[i].rank = 1;
        r[i].shape[0] = i == 0 ? 4 : 8;
        r[i].strides[0] = 1;
        r[i].bin_offset = i == 0 ? 4 : 8;
        r[i].bin_size = r[i].shape[0];
        r[i].flags |= TL_ARG_HAS_HASH;
        r[i].hash = tl__hash64(bin + r[i].bin_offset, r[i].bin_size);
    }
    fixture_write("args.bin", bin, 16);
    assert_int_equal(tl__dump_write_manifest(fixture_dir, &s, r, 2, &err), 0);
}

static void payloads_are_read(void **state)
{
    struct tl_recording *rec = NULL;
    struct tl_error err = {0};
    const void *data;
    char bytes[8] = "";

    (void)state;
    write_dump();
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_count(rec), 2);
    assert_int_equal(tl_recording_summary(rec)->bin_bytes, 16);
    assert_int_equal(tl_recording_at(rec, 1)->arg_index, 1);
    assert_null(tl_recording_at(rec, 2));
    assert_int_equal(tl_recording_payload(rec, 0, &data, &err), 0);
    assert_memory_equal(data, "abcd", 4);
    assert_int_equal(tl_recording_read(rec, 1, 3, bytes, 4, &err), 0);
    assert_memory_equal(bytes, "3456", 4);
    assert_int_equal(tl_recording_read(rec, 1, 8, bytes, 0, &err), 0);
    assert_int_equal(tl_recording_read(rec, 1, 5, bytes, 4, &err), TL_ERANGE);
    assert_int_equal(tl_recording_read(rec, 1, 9, bytes, 0, &err), TL_ERANGE);
    assert_int_equal(tl_recording_read(rec, 2, 0, bytes, 0, &err), TL_ERANGE);
    assert_int_equal(tl_recording_payload(rec, 2, &data, &err), TL_ERANGE);
    assert_int_equal(err.offset, 2);
    tl_recording_close(rec);
    tl_recording_close(NULL);
}

static void verification_finds_what_was_changed(void **state)
{
    struct tl_recording *rec = NULL;
    struct tl_dump_verdict v;
    struct tl_error err = {0};
    char *text, *edited;
    const void *data;

    (void)state;
    write_dump();
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_check(rec, &v), 0);
    assert_int_equal(v.checked, 0);
    assert_int_equal(tl_recording_verify(rec, &v), 0);
    assert_int_equal(v.checked, 2);
    assert_string_equal(v.first_fault, "");
    tl_recording_close(rec);

    fixture_write("args.bin", "....abcd0123456X", 16);
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_check(rec, &v), 0);
    assert_int_equal(tl_recording_verify(rec, &v), TL_ECORRUPT);
    assert_int_equal(v.bad_hash, 1);
    assert_int_equal(v.first_bad, 1);
    assert_non_null(strstr(v.first_fault, "record 1: the payload is not what the device hashed"));
    tl_recording_close(rec);

    fixture_write("args.bin", "....abcd0123", 12); /* a disk that was full */
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_check(rec, &v), TL_ECORRUPT);
    assert_int_equal(v.out_of_bounds, 1);
    assert_int_equal(tl_recording_payload(rec, 0, &data, &err), 0);
    assert_memory_equal(data, "abcd", 4);
    assert_int_equal(tl_recording_payload(rec, 1, &data, &err), TL_ERANGE);
    assert_non_null(strstr(err.msg, "reaches past the end of args.bin (12)"));
    tl_recording_close(rec);

    assert_int_equal(unlink(fixture_path("args.bin")), 0);
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_check(rec, &v), TL_ECORRUPT);
    assert_int_equal(v.out_of_bounds, 2);
    assert_int_equal(tl_recording_payload(rec, 0, &data, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "args.bin: No such file"));
    assert_int_equal(tl_recording_read(rec, 0, 0, &v, 1, &err), TL_ENOENT);
    tl_recording_close(rec);

    write_dump();
    text = fixture_read(TL_DUMP_MANIFEST_NAME, NULL);
    edited = with(text, "\"input_args\": 2", "\"input_args\": 3");
    fixture_write_text(TL_DUMP_MANIFEST_NAME, edited);
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_check(rec, &v), TL_ECORRUPT);
    assert_int_equal(v.bad_counts, 1);
    assert_true(v.first_bad == UINT64_MAX);
    assert_string_equal(v.first_fault, "input_args says 3, the records say 2");
    tl_recording_close(rec);
    free(edited);

    edited = with(text, "\"arg_index\": 0", "\"arg_index\": 5");
    fixture_write_text(TL_DUMP_MANIFEST_NAME, edited);
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_check(rec, &v), TL_ECORRUPT);
    assert_int_equal(v.out_of_order, 1);
    assert_int_equal(v.first_bad, 1);
    tl_recording_close(rec);
    free(edited);

    edited = with(text, "\"bin_size\": 4", "\"bin_size\": 3");
    fixture_write_text(TL_DUMP_MANIFEST_NAME, edited);
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_verify(rec, &v), TL_ECORRUPT);
    assert_int_equal(v.bad_size, 1);
    assert_int_equal(v.bad_hash, 1);
    tl_recording_close(rec);
    free(edited);

    edited = with(text, ", \"hash\": \"xxh3:", ", \"hash\": \"md5:");
    fixture_write_text(TL_DUMP_MANIFEST_NAME, edited);
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_verify(rec, &v), 0);
    assert_int_equal(v.unhashed, 1);
    assert_int_equal(v.checked, 1);
    tl_recording_close(rec);
    free(edited);
    free(text);
}

static void a_recording_is_found(void **state)
{
    struct tl_recording *rec = NULL;
    struct tl_error err = {0};
    char inside[512];

    (void)state;
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "no args_dump.json here or in args_dump/"));
    assert_int_equal(tl_recording_open("", &rec, &err), TL_EINVAL);
    assert_int_equal(tl_recording_open(fixture_path("args_dump.json"), &rec, &err), TL_ENOENT);
    write_dump();
    assert_int_equal(tl_recording_open(fixture_path("args_dump.json"), &rec, &err), 0);
    tl_recording_close(rec);
    assert_int_equal(mkdir(fixture_path("args_dump"), 0777), 0);
    (void)snprintf(inside, sizeof(inside), "%s", fixture_path("args_dump/args_dump.json"));
    assert_int_equal(rename(fixture_path("args_dump.json"), inside), 0);
    assert_int_equal(tl_recording_open(fixture_dir, &rec, &err), 0);
    assert_int_equal(tl_recording_count(rec), 2);
    tl_recording_close(rec);
}

static void recordings_of_other_writers_are_read(void **state)
{
    static const struct {
        const char *dir;
        unsigned count, level;
        uint64_t bin_bytes;
    } samples[] = {
        {"vector", 17, 2, 1248},
        {"mix", 18, 2, 864},
        {"sources", 10, 2, 288},
        {"level3", 6, 3, 256},
        {"samples/tmr-a2a3sim-vector", 18, 2, 851968},
        {"samples/tmr-a2a3sim-mix", 18, 2, 1179648},
        {"samples/hbg-a2a3sim-edge-sources", 10, 2, 576},
        {"samples/hbg-a5sim-dump-level3", 6, 3, 131072},
    };
    struct tl_dump_verdict v;
    struct tl_error err = {0};

    (void)state;
    for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct tl_recording *rec = NULL;
        const char *path = fixture_foreign(samples[i].dir);

        if (path == NULL)
            continue;
        assert_int_equal(tl_recording_open(path, &rec, &err), 0);
        assert_int_equal(tl_recording_count(rec), samples[i].count);
        assert_int_equal(tl_recording_summary(rec)->level, samples[i].level);
        assert_int_equal(tl_recording_summary(rec)->bin_bytes, samples[i].bin_bytes);
        assert_int_equal(tl_recording_verify(rec, &v), 0);
        if (strcmp(samples[i].dir, "vector") == 0) {
            assert_int_equal(tl_recording_at(rec, 3)->task_id, 0x100000000);
            assert_int_equal(tl_recording_at(rec, 4)->kind, TL_KIND_SCALAR);
            assert_int_equal(tl_recording_at(rec, 4)->value_bits, 0x40000000);
            assert_int_equal(tl_recording_at(rec, 5)->value_bits, 24);
        }
        if (strcmp(samples[i].dir, "sources") == 0)
            assert_int_equal((int64_t)tl_recording_at(rec, 1)->value_bits, -9007199254740993);
        if (strcmp(samples[i].dir, "mix") == 0)
            assert_int_equal(tl_recording_at(rec, 0)->func_id[1], 7);
        if (strcmp(samples[i].dir, "samples/tmr-a2a3sim-vector") == 0) {
            assert_int_equal(tl_recording_at(rec, 4)->kind, TL_KIND_SCALAR);
            assert_int_equal(tl_recording_at(rec, 4)->value_bits, 0x3f800000);
            assert_int_equal(tl_recording_at(rec, 5)->value_bits, 3);
            assert_int_equal(tl_recording_at(rec, 3)->task_id, 0x100000000);
        }
        if (strcmp(samples[i].dir, "samples/tmr-a2a3sim-mix") == 0)
            assert_int_equal(tl_recording_at(rec, 0)->func_id[1], 1);
        tl_recording_close(rec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_format),
        cmocka_unit_test(other_writers_are_understood),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(scalar_faults_are_named),
        cmocka_unit_test(every_cut_is_an_error),
        cmocka_unit_test_setup_teardown(the_short_cut_gives_the_same, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_not_cut_short, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(payloads_are_read, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(verification_finds_what_was_changed, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_recording_is_found, fixture_setup, fixture_teardown),
        cmocka_unit_test(recordings_of_other_writers_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
