/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of readers and writers: a written file against tests/golden/artifact/ (TL_UPDATE_GOLDEN=1 rewrites it); a good
 * text, changed in one place, must give one message. */
#ifndef TL_TESTS_JSON_EDIT_H
#define TL_TESTS_JSON_EDIT_H

#include "unit/artifact_fixture.h"

struct json_edit {
    const char *from, *to; /* the first `from` in the text becomes `to` */
    const char *message;   /* behind the file's name */
    long offset;
};

/* Reads a text as the file NAME and ends what comes of it. */
typedef int (*json_parse)(const void *text, size_t bytes, const char *name, struct tl_error *reterr);

/* Free it. */
static inline char *json_with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *made = malloc(size);

    if (at == NULL)
        fail_msg("no %s in the text", from);
    assert_non_null(made);
    (void)snprintf(made, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return made;
}

static inline void json_must_fail(const char *text, json_parse parse, const struct json_edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *changed = json_with(text, edits[i].from, edits[i].to), message[300];
        struct tl_error err = {0};

        (void)snprintf(message, sizeof(message), "f.json%s", edits[i].message);
        assert_int_equal(parse(changed, strlen(changed), "f.json", &err), TL_EPARSE);
        assert_string_equal(err.msg, message);
        assert_int_equal(err.code, TL_EPARSE);
        assert_int_equal(err.offset, edits[i].offset);
        free(changed);
    }
}

/* Every beginning of the text that is not the whole is an error. */
static inline void json_cuts_must_fail(const char *text, json_parse parse)
{
    size_t size = strlen(text);

    while (size > 0 && text[size - 1] == '\n')
        size--;
    for (size_t cut = 0; cut < size; cut++) {
        struct tl_error err = {0};
        char *exact = malloc(cut + 1); /* so that a sanitizer sees what reads past it */

        assert_non_null(exact);
        memcpy(exact, text, cut);
        assert_int_equal(parse(exact, cut, "f.json", &err), TL_EPARSE);
        assert_int_equal(err.code, TL_EPARSE);
        assert_memory_equal(err.msg, "f.json:", 7);
        free(exact);
    }
}

/* The file NAME in the test's directory is, to the byte, the golden one. */
static inline void json_matches_golden(const char *name)
{
    char path[1024];
    size_t size = 0;
    char *text = fixture_read(name, &size), *golden;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/tests/golden/artifact/%s", TL_TEST_SOURCE_DIR, name);
    f = fopen(path, getenv("TL_UPDATE_GOLDEN") != NULL ? "wb" : "rb");
    assert_non_null(f);
    if (getenv("TL_UPDATE_GOLDEN") != NULL) {
        assert_int_equal(fwrite(text, 1, size, f), size);
    } else {
        golden = malloc(size + 2);
        assert_non_null(golden);
        golden[fread(golden, 1, size + 1, f)] = '\0';
        assert_string_equal(text, golden);
        free(golden);
    }
    assert_int_equal(fclose(f), 0);
    free(text);
}

#endif
