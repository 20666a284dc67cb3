/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/locate.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tasklens/error.h>

#include "base/pathname.h"
#include "sim/chip.h"

/* Cuts the last component. */
static int to_dir(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL)
        return TL_ENOENT;
    *(slash == path ? slash + 1 : slash) = '\0';
    return 0;
}

/* The file that `address` is mapped from, as the kernel names it: absolute whatever the loader was given (a relative
 * LD_LIBRARY_PATH) and wherever the process is by now, and not what a program was called by. */
static int mapped_file(const void *address, char *path, size_t size)
{
    char line[PATH_MAX + 128];
    FILE *maps = fopen("/proc/self/maps", "re");
    int rc = TL_ENOENT;

    while (maps != NULL && rc != 0 && fgets(line, sizeof(line), maps) != NULL) {
        const char *name = strchr(line, '/');
        uint64_t from, to;
        char *end;

        from = strtoull(line, &end, 16);
        to = *end == '-' ? strtoull(end + 1, NULL, 16) : 0;
        if (name == NULL || (uintptr_t)address < from || (uintptr_t)address >= to)
            continue;
        line[strcspn(line, "\n")] = '\0';
        if ((size_t)snprintf(path, size, "%s", name) >= size)
            break;
        rc = 0;
    }
    if (maps != NULL)
        (void)fclose(maps);
    return rc;
}

/* The directory of the object that holds this code (which = 0), or of the running program (1). */
static int self_dir(unsigned which, char *path, size_t size)
{
    static const int marker; /* an address in the object that holds this code */
    ssize_t n;

    if (which == 0)
        return mapped_file(&marker, path, size) == 0 ? to_dir(path) : TL_ENOENT;
    n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0)
        return TL_ENOENT;
    path[n] = '\0';
    return to_dir(path);
}

int tl__chip_find_beside(const char *const *candidates, bool (*accept)(const char *path), char *path, size_t size)
{
    char dir[TL_PATHNAME_BYTES];

    for (unsigned which = 0; which < 2; which++) {
        if (self_dir(which, dir, sizeof(dir)) != 0)
            continue;
        for (unsigned i = 0; candidates[i] != NULL; i++)
            if ((size_t)snprintf(path, size, "%s/%s", dir, candidates[i]) < size && access(path, F_OK) == 0 &&
                (accept == NULL || accept(path)))
                return 0;
    }
    return TL_ENOENT;
}

int tl__chip_locate(char *path, size_t size)
{
    /* The build tree (the tests are one level deeper), then bin/ or lib/ (and lib/<triplet>/) of an installation. */
    static const char *const candidates[] = {"tasklens-chip", "../tasklens-chip", "../libexec/tasklens/tasklens-chip",
                                             "../../libexec/tasklens/tasklens-chip", NULL};
    const char *named = getenv("TASKLENS_CHIP");

    if (named != NULL && named[0] != '\0')
        return (size_t)snprintf(path, size, "%s", named) < size && access(path, X_OK) == 0 ? 0 : TL_ENOENT;
    return tl__chip_find_beside(candidates, NULL, path, size);
}
