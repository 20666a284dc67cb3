/* SPDX-License-Identifier: Apache-2.0 */
/* What is set aside before a feed is enough for all that yajl asks for in it: from any feed on no other memory is
 * there, and what comes out is the same. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <yajl_parse.h>

#include <tasklens/error.h>

#include "base/hash.h"
#include "base/json_memory.h"

struct seen {
    uint64_t hash, events;
};

static int on_event(struct seen *seen, const void *text, size_t bytes)
{
    seen->hash = seen->hash * 31 + tl__hash64(text, bytes);
    seen->events++;
    return 1;
}

static int on_text(void *seen, const unsigned char *text, size_t bytes)
{
    return on_event(seen, text, bytes);
}

static int on_number(void *seen, const char *text, size_t bytes)
{
    return on_event(seen, text, bytes);
}

static int on_bracket(void *seen)
{
    return on_event(seen, "", 0);
}

static const yajl_callbacks callbacks = {.yajl_number = on_number,
                                         .yajl_string = on_text,
                                         .yajl_map_key = on_text,
                                         .yajl_start_map = on_bracket,
                                         .yajl_end_map = on_bracket,
                                         .yajl_start_array = on_bracket,
                                         .yajl_end_array = on_bracket};

/* Parses `text` in pieces of `piece` bytes; in piece number `scarce` nothing but what was set aside is there. Returns
 * how many pieces there were. */
static unsigned parse(const char *text, size_t bytes, size_t piece, unsigned scarce, struct seen *ret_seen)
{
    struct tl_json_memory m;
    unsigned n = 0;
    yajl_handle yajl;

    memset(ret_seen, 0, sizeof(*ret_seen));
    tl__json_memory_init(&m);
    yajl = yajl_alloc(&callbacks, &m.funcs, ret_seen);
    assert_non_null(yajl);
    for (size_t at = 0; at < bytes; at += piece, n++) {
        size_t count = bytes - at < piece ? bytes - at : piece;

        m.failed = false;
        assert_int_equal(tl__json_memory_ready(&m, count), 0);
        m.failed = n == scarce;
        assert_int_equal(yajl_parse(yajl, (const unsigned char *)text + at, count), yajl_status_ok);
        if (n != scarce)
            continue;
        assert_int_equal(tl__json_memory_ready(&m, 1), TL_ENOMEM); /* nobody feeds it further */
        break;
    }
    yajl_free(yajl);
    tl__json_memory_fini(&m);
    return n;
}

/* Strings with and without escapes, long and short, numbers, and brackets within each other. */
static size_t document(unsigned kind, char *to, size_t size)
{
    static const char *const units[] = {"a", "\\n", "\\u20ac", "\\\"\\\\", "\xE2\x82\xAC"};
    size_t at = (size_t)snprintf(to, size, "{\"k\": [");

    for (unsigned item = 0; item < 6; item++) {
        unsigned repeats = item == 3 ? 1500 : 5 * item;

        at += (size_t)snprintf(to + at, size - at, "%s\"", item > 0 ? ", " : "");
        for (unsigned i = 0; i < repeats; i++)
            at += (size_t)snprintf(to + at, size - at, "%s", units[(kind + (i % 7 == 0)) % 5]);
        at += (size_t)snprintf(to + at, size - at, "\", %u.5e3", item);
    }
    at += (size_t)snprintf(to + at, size - at, ", [");
    for (unsigned i = 1; i < 60; i++)
        at += (size_t)snprintf(to + at, size - at, "[");
    at += (size_t)snprintf(to + at, size - at, "1");
    for (unsigned i = 0; i < 61; i++)
        at += (size_t)snprintf(to + at, size - at, "]");
    at += (size_t)snprintf(to + at, size - at, "}");
    assert_true(at < size);
    return at;
}

static void what_is_set_aside_is_enough(void **state)
{
    static const size_t pieces[] = {5, 100, 4096, 100000};
    static char text[100000];

    (void)state;
    for (unsigned kind = 0; kind < 5; kind++)
        for (unsigned p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
            size_t bytes = document(kind, text, sizeof(text));
            struct seen whole, some;
            unsigned n;

            n = parse(text, bytes, pieces[p], UINT32_MAX, &whole);
            for (unsigned scarce = 0; scarce < n; scarce += 1 + n / 11) {
                size_t end = (size_t)(scarce + 1) * pieces[p];
                struct seen before;

                (void)parse(text, end < bytes ? end : bytes, pieces[p], UINT32_MAX, &before);
                (void)parse(text, bytes, pieces[p], scarce, &some);
                assert_int_equal(some.events, before.events);
                assert_true(some.hash == before.hash);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_aside_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
