/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the artifact formats share: a directory of their own, files in it, recordings in foreign layouts. */
#ifndef TL_TESTS_ARTIFACT_FIXTURE_H
#define TL_TESTS_ARTIFACT_FIXTURE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <tasklens/error.h>

static char fixture_dir[256];

static inline int fixture_setup(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)snprintf(fixture_dir, sizeof(fixture_dir), "%s/tl_artifact_XXXXXX", tmp != NULL ? tmp : "/tmp");
    return mkdtemp(fixture_dir) == NULL;
}

static inline int fixture_teardown(void **state)
{
    char command[512];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", fixture_dir);
    return system(command) != 0;
}

/* Path of NAME in the test's directory; valid until the next but three calls. */
static inline const char *fixture_path(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", fixture_dir, name);
    return path;
}

/* Whether a file that was to be renamed has stayed in the test's directory. */
static inline bool fixture_has_temporary(void)
{
    DIR *d = opendir(fixture_dir);
    struct dirent *entry;
    bool found = false;

    assert_non_null(d);
    while ((entry = readdir(d)) != NULL) {
        size_t n = strlen(entry->d_name);

        found = found || (n > 4 && strcmp(entry->d_name + n - 4, ".tmp") == 0);
    }
    (void)closedir(d);
    return found;
}

static inline void fixture_write(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(fixture_path(name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline void fixture_write_text(const char *name, const char *text)
{
    fixture_write(name, text, strlen(text));
}

/* The whole file, NUL-terminated; free it. */
static inline char *fixture_read(const char *name, size_t *ret_size)
{
    FILE *f = fopen(fixture_path(name), "rb");
    struct stat st;
    char *bytes;

    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    bytes = malloc((size_t)st.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, f), (size_t)st.st_size);
    bytes[st.st_size] = 0;
    assert_int_equal(fclose(f), 0);
    if (ret_size != NULL)
        *ret_size = (size_t)st.st_size;
    return bytes;
}

/* A recording in the layouts of other writers, in this tree: tests/fixtures/README.md says which has which property. */
static inline const char *fixture_recording(const char *name)
{
    static char path[1024];

    (void)snprintf(path, sizeof(path), "%s/tests/fixtures/recordings/%s", TL_TEST_SOURCE_DIR, name);
    assert_int_equal(access(path, R_OK), 0);
    return path;
}

/* A path under the folder that several checkouts share, or NULL where it is absent. */
static inline const char *fixture_shared(const char *name)
{
    static char path[1024];
    const char *root = getenv("TASKLENS_SHARED");

    if (root != NULL)
        (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    else
        (void)snprintf(path, sizeof(path), "%s/../shared/%s", TL_TEST_SOURCE_DIR, name);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* A row of a test's table: a recording of this tree (`name`), or one of another runtime ("samples/..."), which is NULL
 * where the shared folder is absent. */
static inline const char *fixture_foreign(const char *name)
{
    return strncmp(name, "samples/", 8) == 0 ? fixture_shared(name) : fixture_recording(name);
}

#endif
