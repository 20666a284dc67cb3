/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_sanitize.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "cmd.h"
#include "host/loader.h"

#define COMMAND "run"
#define STARTED "TASKLENS_SANITIZE" /* set in the command that was started again */

/*
 * Leaks: the command's own libraries keep memory to the end. Faults: tasklens reports them, with the task and its
 * arguments.
 */
#define ASAN "detect_leaks=0:abort_on_error=1:handle_segv=0:handle_sigbus=0:handle_sigfpe=0"
#define UBSAN "halt_on_error=1:abort_on_error=1:print_stacktrace=1"

/* VARIABLE=first:what it was. The last of several settings of one kind counts, which is the user's. */
static int put_before(const char *variable, const char *first)
{
    const char *rest = getenv(variable);
    char text[8192];

    if ((size_t)snprintf(text, sizeof(text), "%s%s%s", first, rest != NULL && rest[0] != '\0' ? ":" : "",
                         rest != NULL ? rest : "") >= sizeof(text))
        return tl__cmd_fail(COMMAND, "%s is too long: at most %zu bytes with the command's own settings", variable,
                            sizeof(text) - 1);
    return setenv(variable, text, 1) == 0 ? 0 : tl__cmd_fail(COMMAND, "%s: %s", variable, strerror(errno));
}

char **tl__run_words(int argc, char **argv)
{
    size_t bytes = ((size_t)argc + 2) * sizeof(char *), used = bytes;
    char **words, *text;

    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]) + 1;
    words = tl__alloc(1, bytes);
    if (words == NULL)
        return NULL;
    words[0] = (char *)(uintptr_t) "tasklens";
    for (int i = 0; i < argc; i++) {
        text = (char *)words + used;
        used += strlen(argv[i]) + 1;
        words[i + 1] = memcpy(text, argv[i], strlen(argv[i]) + 1);
    }
    words[argc + 1] = NULL;
    return words;
}

/* Only the sanitizer's settings for what is started from here on. */
static int set_environment(const char *library)
{
    int rc = put_before("LD_PRELOAD", library);

    if (rc == 0)
        rc = put_before("ASAN_OPTIONS", ASAN);
    if (rc == 0)
        rc = put_before("UBSAN_OPTIONS", UBSAN);
    return rc;
}

int tl__run_sanitize(const struct tl_run_options *o, char **words)
{
    const char *object = tl__compile_takes(o->program) ? NULL : o->program;
    bool started = getenv(STARTED) != NULL;
    struct tl_error err;
    char library[4096];
    int rc;

    if (!o->compile.sanitize)
        return 0;
    (void)unsetenv(STARTED);
    if (dlsym(RTLD_DEFAULT, "__tsan_init") != NULL)
        return tl__cmd_fail(COMMAND,
                            "--sanitize: this tasklens is built with the thread sanitizer, and the two exclude "
                            "each other");
    if (tl__compile_sanitizer(&o->compile, object, library, sizeof(library), &err) != 0)
        return tl__cmd_fail(COMMAND, "%s", err.msg);
    if (tl__sanitizer_loaded())
        return 0;
    if (started)
        return tl__cmd_fail(COMMAND, "--sanitize: %s is there and could not be loaded", library);
    rc = set_environment(library);
    if (rc != 0)
        return rc;
    if (words != NULL && setenv(STARTED, "1", 1) == 0)
        (void)execv("/proc/self/exe", words);
    return tl__cmd_fail(COMMAND, "--sanitize: the command could not be started anew: %s", strerror(errno));
}
