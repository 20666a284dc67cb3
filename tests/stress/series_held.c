/* SPDX-License-Identifier: Apache-2.0 */
#include "series_held.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/* What an allocator may keep in pieces, and what a last run's order of tasks leaves touched. */
#define MORE_KB 2048u
#define MORE_ALLOCATED_KB 256u

static uint64_t entries(long pid, const char *what)
{
    const struct dirent *e;
    uint64_t n = 0;
    char path[64];
    DIR *d;

    (void)snprintf(path, sizeof(path), "/proc/%ld/%s", pid, what);
    d = opendir(path);
    while (d != NULL && (e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    if (d != NULL)
        (void)closedir(d);
    return n;
}

static struct held hold(long pid)
{
    struct held h = {.threads = entries(pid, "task"), .files = entries(pid, "fd")};
    char path[64], line[512];
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
    f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        h.mappings++;
    if (f != NULL)
        (void)fclose(f);
    (void)snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        (void)sscanf(line, "RssAnon: %" SCNu64, &h.anon_kb);
        (void)sscanf(line, "RssShmem: %" SCNu64, &h.shared_kb);
    }
    if (f != NULL)
        (void)fclose(f);
    return h;
}

void held_show(uint64_t run, const char *who, const struct held *h)
{
    (void)printf("run %6" PRIu64 ", %s: %" PRIu64 " threads, %" PRIu64 " mappings, %" PRIu64 " descriptors, %" PRIu64
                 " KiB of its own",
                 run, who, h->threads, h->mappings, h->files, h->anon_kb);
    if (h->allocated_kb != 0)
        (void)printf(" (%" PRIu64 " KiB allocated)", h->allocated_kb);
    (void)printf(", %" PRIu64 " KiB of device memory\n", h->shared_kb);
    (void)fflush(stdout);
}

/* The chip's process; 0 in thread mode. */
static long chip_pid(void)
{
    const struct dirent *e;
    DIR *tasks = opendir("/proc/self/task");
    char path[400];
    long pid = 0;

    while (tasks != NULL && (e = readdir(tasks)) != NULL) {
        FILE *f;

        (void)snprintf(path, sizeof(path), "/proc/self/task/%.200s/children", e->d_name);
        f = fopen(path, "re");
        if (f == NULL)
            continue;
        if (pid == 0 && fscanf(f, "%ld", &pid) != 1)
            pid = 0;
        (void)fclose(f);
    }
    if (tasks != NULL)
        (void)closedir(tasks);
    return pid;
}

void held_by_host(struct held *ret_held)
{
    (void)malloc_trim(0); /* what was freed is not held */
    *ret_held = hold((long)getpid());
    ret_held->allocated_kb = mallinfo2().uordblks >> 10;
}

void held_by_chip(struct held *ret_held)
{
    *ret_held = hold(chip_pid());
}

/* A sanitizer keeps what was freed, and shadows of it: there memory says nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_TELLS false
#else
#define MEMORY_TELLS true
#endif

bool held_grew(const struct held *a, const struct held *b)
{
    if (b->threads != a->threads || b->files != a->files || b->shared_kb > a->shared_kb + MORE_KB)
        return true;
    return MEMORY_TELLS && (b->allocated_kb > a->allocated_kb + MORE_ALLOCATED_KB || b->mappings > a->mappings + 8 ||
                            b->anon_kb > a->anon_kb + MORE_KB);
}
