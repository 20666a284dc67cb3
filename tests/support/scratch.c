/* SPDX-License-Identifier: Apache-2.0 */
#include "support/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct folder {
    char path[200];
    pid_t owner; /* children that exit leave it alone */
} folders[2];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

static void remove_all(void)
{
    for (unsigned i = 0; i < 2; i++)
        if (folders[i].owner == getpid())
            (void)nftw(folders[i].path, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

const char *scratch(bool in_memory)
{
    const char *memory = getenv("TASKLENS_TEST_MEMORY"), *disk = getenv("TMPDIR");
    bool in = in_memory && (memory != NULL || access("/dev/shm", W_OK) == 0);
    struct folder *f = &folders[in];

    if (f->owner != 0)
        return f->path;
    if (in)
        (void)snprintf(f->path, sizeof(f->path), "%s/tasklens-test-XXXXXX", memory != NULL ? memory : "/dev/shm");
    else
        (void)snprintf(f->path, sizeof(f->path), "%s/tasklens-test-XXXXXX", disk != NULL ? disk : "/tmp");
    if (mkdtemp(f->path) == NULL) {
        perror(f->path);
        exit(1);
    }
    f->owner = getpid();
    (void)atexit(remove_all);
    return f->path;
}
