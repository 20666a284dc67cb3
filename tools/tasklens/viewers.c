/* SPDX-License-Identifier: Apache-2.0 */
#include "viewers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/collectors.h"
#include "base/pathname.h"

#define VIEWER(id, command) {TL_COLLECT_##id, #command},
static const struct {
    unsigned collector;
    const char *command;
} viewers[TL_VIEWERS_MAX] = {TL__COLLECTORS(TL__VIEWERS_ONLY, VIEWER, TL__COLLECT_NONE)};
#undef VIEWER

unsigned tl__viewers_of(const char *dir)
{
    unsigned found = 0;
    char path[TL_PATHNAME_BYTES];

    for (unsigned i = 0; i < TL_VIEWERS_MAX; i++)
        if (tl__pathname(path, "%s/%s", dir, tl__collect_rows[viewers[i].collector].file) && access(path, F_OK) == 0)
            found |= 1u << i;
    return found;
}

size_t tl__viewer_names(unsigned found, const char *ret_names[TL_VIEWERS_MAX])
{
    size_t n = 0;

    for (unsigned i = 0; i < TL_VIEWERS_MAX; i++)
        if ((found >> i & 1u) != 0)
            ret_names[n++] = viewers[i].command;
    return n;
}

const char *tl__viewer_of(unsigned collector)
{
    for (unsigned i = 0; i < TL_VIEWERS_MAX; i++)
        if (viewers[i].collector == collector)
            return viewers[i].command;
    return "";
}

/* What no shell reads anything into. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=@%:,./";

const char *tl__viewer_word(const char *path, char *to, size_t size)
{
    size_t at = 0;

    if (path[0] != '\0' && path[strspn(path, plain)] == '\0') {
        (void)snprintf(to, size, "%s", path);
        return to;
    }
    at += (size_t)snprintf(to, size, "'");
    for (const char *c = path; *c != '\0' && at < size;
         c++) /* a quote ends the quoted part, stands alone, begins another */
        at += (size_t)snprintf(to + at, size - at, *c == '\'' ? "'\\''" : "%c", *c);
    if (at < size)
        (void)snprintf(to + at, size - at, "'");
    return to;
}
