/* SPDX-License-Identifier: Apache-2.0 */
/* Logs what a crashed chip left in its status, line by line, with the place in the program's source. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/code_place.h"
#include "base/log.h"
#include "host/compile.h"
#include "host/worker_impl.h"

/* The recording's copy of the program, else the object itself. *ret_shown: its name in messages; NULL: the object is
 * removed before a user reads this. */
static const char *find_object(const struct tl_run *run, char *copy, size_t size, const char **ret_shown)
{
    const struct tl_object *object = &run->loaded->object;
    const char *slash;

    if (run->recording && (size_t)snprintf(copy, size, "%s/program/%s.so", run->prefix, object->program->name) < size &&
        access(copy, R_OK) == 0)
        return *ret_shown = copy;
    slash = strrchr(object->path, '/');
    *ret_shown = tl__compile_made(object->path) ? NULL : slash != NULL ? slash + 1 : object->path;
    return object->path;
}

/* Appends nothing if the crashed code belongs to no loaded object. */
static void describe_place(const struct tl_run *run, char *text, size_t size)
{
    const struct tl_code_place place = {
        .offset = run->end.code_offset, .known = run->end.code_known == 1, .calls = run->end.code_calls == 1};
    struct tl_text t = tl__text(text, size);
    const char *path, *shown;
    char copy[1200];

    if (run->loaded->object.path == NULL || !run->dead || run->end.block[0] == '\0')
        return;
    if (!place.known) {
        tl__text_put(&t, "the place in the program's source is not known: no call of it is on the stack. Compiled with "
                         "-O0 -g (--debug) its calls are, unless the stack is overwritten");
        return;
    }
    path = find_object(run, copy, sizeof(copy), &shown);
    tl__code_put(&t, path, shown, &place);
}

void tl__crash_report(struct tl_run *run)
{
    char place[1800], *line, *end;
    struct tl_text message = {run->error.msg, sizeof(run->error.msg), strlen(run->error.msg)};
    bool pending;

    place[0] = '\0';
    describe_place(run, place, sizeof(place));
    pending = place[0] != '\0';
    for (line = run->end.block; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        if (pending && strncmp(line, "argument ", 9) == 0) { /* after the task and the fault, before its arguments */
            tl_log_error("[CRASH] %s", place);
            pending = false;
        }
        tl_log_error("[CRASH] %s", line);
    }
    if (pending)
        tl_log_error("[CRASH] %s", place);
    if (place[0] != '\0' && run->end.code_known == 1) {
        tl__text_put(&message, "; ");
        tl__text_put(&message, place);
    }
}
