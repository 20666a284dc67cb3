/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the command as a user does, and keeps what it said. */
#ifndef TL_TESTS_CLI_H
#define TL_TESTS_CLI_H

#include "unit/artifact_fixture.h"

#include <sys/wait.h>

/* A sanitizer has exits and signals of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static char *output, *message; /* of the last command */
static int exit_code;

static char *slurp(const char *name)
{
    free(strcmp(name, "out") == 0 ? output : message);
    return fixture_read(name, NULL);
}

/* Runs `tasklens WORDS` in the test's directory, by the shell. */
static void tasklens(const char *words)
{
    char command[2000];
    int status;

    (void)snprintf(command, sizeof(command), "cd '%s' && '%s/tasklens' %s >out 2>err", fixture_dir, TL_TEST_BINARY_DIR,
                   words);
    status = system(command);
    assert_true(WIFEXITED(status));
    exit_code = WEXITSTATUS(status);
    output = slurp("out");
    message = slurp("err");
}

/* The command, to be put before `sh -c`, that gives a shell file systems of its own to mount: as a user where the system
 * allows that, as root otherwise (a changed root forbids user namespaces). Skips the test where neither works. */
static inline const char *mount_namespace(void)
{
    static const char *const commands[] = {"unshare -rm", "unshare -m"};
    char command[200];

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        (void)snprintf(command, sizeof(command), "%s sh -c 'mount -t tmpfs -o size=1m none /mnt' 2>/dev/null",
                       commands[i]);
        if (system(command) == 0)
            return commands[i];
    }
    skip();
    return NULL;
}

static void expect(int code, const char *words)
{
    tasklens(words);
    if (exit_code != code)
        fail_msg("tasklens %s: exit code %d, not %d; it said: %s", words, exit_code, code, message);
}

/* Bad input: one line on stderr that holds `part` and begins with the command's name, nothing on stdout, exit code 2.
 */
static inline void refuses(const char *words, const char *part)
{
    expect(2, words);
    if (message == NULL || strstr(message, part) == NULL)
        fail_msg("tasklens %s: no \"%s\" in: %s", words, part, message != NULL ? message : "");
    assert_string_equal(output, "");
    assert_ptr_equal(strchr(message, '\n'), message + strlen(message) - 1);
    assert_int_equal(strncmp(message, "tasklens", 8), 0);
}

#endif
