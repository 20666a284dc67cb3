/* SPDX-License-Identifier: Apache-2.0 */
/* What a dead run may leave behind, seen from outside: processes, files, directories. */
#include "kill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"

#define GONE_NS UINT64_C(1000000000)

/* ---- Processes ---- */

/* Whether the environment of `pid` holds `mark` as one of its strings. A zombie has none any more. */
static bool marked(long pid, const char *mark)
{
    static char text[131072];
    char path[64];
    size_t n = 0, length = strlen(mark);
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (n < sizeof(text) && (got = read(fd, text + n, sizeof(text) - n)) > 0)
        n += (size_t)got;
    (void)close(fd);
    for (size_t i = 0; i + length < n; i += strnlen(text + i, n - i) + 1)
        if (strcmp(text + i, mark) == 0)
            return true;
    return false;
}

unsigned marked_processes(const char *mark, pid_t *ret_one)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    unsigned count = 0;

    if (proc == NULL)
        wrong("no /proc");
    while ((entry = readdir(proc)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (*end != '\0' || pid <= 0 || !marked(pid, mark))
            continue;
        *ret_one = (pid_t)pid;
        count++;
    }
    (void)closedir(proc);
    return count;
}

/*
 * Whether a host's child is its chip, by its name: that of the thread that spawns it until it runs its own program. A
 * host has another child when it ends under AddressSanitizer: the leak check's tracer, which has the name of the thread
 * that checks. It is no device, and the host would wait for ever if it were killed.
 */
static bool is_chip(int pid)
{
    char path[64], name[64] = "";
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    if (fgets(name, sizeof(name), f) == NULL)
        name[0] = '\0';
    (void)fclose(f);
    return strcmp(name, "tasklens-chip\n") == 0 || strcmp(name, "tl-monitor\n") == 0;
}

pid_t chip_of(pid_t pid)
{
    char path[400];
    const struct dirent *task;
    int child = 0, chip = 0;
    DIR *tasks;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    if (tasks == NULL)
        return 0;
    while (chip == 0 && (task = readdir(tasks)) != NULL) {
        FILE *f;

        (void)snprintf(path, sizeof(path), "/proc/%d/task/%.200s/children", (int)pid, task->d_name);
        f = fopen(path, "re");
        if (f == NULL)
            continue;
        while (chip == 0 && fscanf(f, "%d", &child) == 1)
            chip = is_chip(child) ? child : 0;
        (void)fclose(f);
    }
    (void)closedir(tasks);
    return chip;
}

/* A child that waits under a name, and ends with this process. */
static pid_t start_named(const char *name)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NAME, name);
        (void)raise(SIGSTOP);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
        wrong("no child named %s", name);
    return pid;
}

void check_chip_of(void)
{
    const pid_t tracer = start_named("tasklens"), alone = chip_of(getpid()), chip = start_named("tasklens-chip"),
                beside = chip_of(getpid());

    (void)kill(tracer, SIGKILL);
    (void)kill(chip, SIGKILL);
    if (waitpid(tracer, NULL, 0) != tracer || waitpid(chip, NULL, 0) != chip)
        wrong("waitpid: %s", strerror(errno));
    if (alone != 0 || beside != chip)
        wrong("the children %d and %d, of which the second is a chip: found %d, then %d", (int)tracer, (int)chip,
              (int)alone, (int)beside);
}

uint64_t await_gone(const char *mark)
{
    uint64_t from = tl__now_ns();
    pid_t one = 0;

    while (marked_processes(mark, &one) != 0) {
        if (tl__now_ns() - from > GONE_NS)
            wrong("process %d is still there a second after its run died", (int)one);
        usleep(1000);
    }
    return tl__now_ns() - from;
}

/* ---- Files ---- */

bool file_says(const char *path, const char *text)
{
    static char said[65536];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, said, sizeof(said) - 1) : 0;

    if (fd >= 0)
        (void)close(fd);
    said[n > 0 ? n : 0] = '\0';
    return strstr(said, text) != NULL;
}

/* Calls `visit` for each file and directory below `dir`, a directory before what is in it. */
static void walk(const char *dir, const char *below, void (*visit)(const char *name, const struct stat *st, void *ctx),
                 void *ctx)
{
    char path[1600], name[800];
    const struct dirent *entry;
    struct stat st;
    DIR *d;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, below);
    d = opendir(path);
    if (d == NULL)
        wrong("%s: %s", path, strerror(errno));
    while ((entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(name, sizeof(name), "%.500s%s%.255s", below, below[0] != '\0' ? "/" : "", entry->d_name);
        (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
        if (lstat(path, &st) != 0)
            wrong("%s: %s", path, strerror(errno));
        visit(name, &st, ctx);
        if (S_ISDIR(st.st_mode))
            walk(dir, name, visit, ctx);
    }
    (void)closedir(d);
}

static void check_artifact(const char *name, const struct stat *st, void *ctx)
{
    static const char *const artifacts[] = {"args_dump",     "args_dump/args_dump.json", "args_dump/args.bin",
                                            "dfx_meta.json", "name_map_default.json",    "program"};
    size_t n = strlen(name);

    (void)st;
    (void)ctx;
    for (size_t i = 0; i < sizeof(artifacts) / sizeof(artifacts[0]); i++)
        if (strcmp(name, artifacts[i]) == 0)
            return;
    if (strncmp(name, "program/", 8) != 0 || n < 3 || strcmp(name + n - 3, ".so") != 0)
        wrong("left behind in the run's directory: %s", name);
}

void only_artifacts(const char *dir)
{
    walk(dir, "", check_artifact, NULL);
}

static void check_entry(const char *name, const struct stat *st, void *ctx)
{
    const char *allowed = ctx;
    size_t n = allowed != NULL ? strlen(allowed) : 0;

    (void)st;
    if (allowed == NULL || strncmp(name, allowed, n) != 0 || (name[n] != '\0' && name[n] != '/'))
        wrong("left behind: %s", name);
}

void only_entry(const char *dir, const char *allowed)
{
    walk(dir, "", check_entry, (void *)(uintptr_t)allowed);
}

static void add_print(const char *name, const struct stat *st, void *ctx)
{
    const uint64_t facts[] = {st->st_ino, (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
                              (uint64_t)st->st_mtim.tv_nsec};
    uint64_t *sum = ctx, hash = UINT64_C(1469598103934665603);

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        hash = (hash ^ facts[i]) * UINT64_C(1099511628211);
    *sum += hash; /* in whatever order a directory lists its entries */
}

uint64_t fingerprint(const char *dir)
{
    uint64_t sum = 0;

    walk(dir, "", add_print, &sum);
    return sum;
}

void remove_tree(const char *dir)
{
    char command[1200];

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    if (system(command) != 0)
        wrong("%s cannot be removed", dir);
}
