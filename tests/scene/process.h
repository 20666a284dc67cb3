/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at processes from outside. */
#ifndef TL_TESTS_PROCESS_H
#define TL_TESTS_PROCESS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* Children of `pid`: the chip's process, if it has one. 0: none. */
static inline int child_of(pid_t pid)
{
    char path[64];
    DIR *tasks;
    const struct dirent *task;
    int child = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    assert_non_null(tasks);
    while (child == 0 && (task = readdir(tasks)) != NULL) {
        char file[400];
        FILE *f;

        (void)snprintf(file, sizeof(file), "%s/%.200s/children", path, task->d_name);
        f = fopen(file, "r");
        if (f == NULL)
            continue;
        if (fscanf(f, "%d", &child) != 1)
            child = 0;
        (void)fclose(f);
    }
    (void)closedir(tasks);
    return child;
}

/* Whether a process is there and no zombie. */
static inline bool runs(int pid)
{
    char path[64], text[512] = "";
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    f = fopen(path, "r");
    if (f == NULL)
        return false;
    if (fgets(text, sizeof(text), f) == NULL)
        text[0] = '\0';
    (void)fclose(f);
    return text[0] != '\0' && strstr(text, ") Z") == NULL;
}

#endif
