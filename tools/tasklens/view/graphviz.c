/* SPDX-License-Identifier: Apache-2.0 */
#include "view/graphviz.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "write_all.h"

extern char **environ;

/* Its standard streams are files in memory: so neither side waits for the other however much is written. */
enum { IN, OUT, ERR, STREAMS };

/* All of a stream, with a zero byte behind it; NULL if it cannot be had. */
static char *read_all(int fd, size_t *ret_bytes)
{
    struct stat st;
    char *text;
    size_t n = 0;

    if (fstat(fd, &st) != 0)
        return NULL;
    text = malloc((size_t)st.st_size + 1);
    while (text != NULL && n < (size_t)st.st_size) {
        ssize_t got = pread(fd, text + n, (size_t)st.st_size - n, (off_t)n);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    if (text != NULL)
        text[n] = 0;
    *ret_bytes = n;
    return text;
}

static int start(const struct tl_graphviz *g, const int fds[STREAMS], pid_t *ret_pid)
{
    char *argv[] = {(char *)(uintptr_t)g->engine, (char *)(uintptr_t) "-Tplain", NULL};
    posix_spawn_file_actions_t actions;
    int problem = posix_spawn_file_actions_init(&actions);

    if (problem != 0)
        return problem;
    for (int i = 0; i < STREAMS && problem == 0; i++)
        problem = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
    if (problem == 0)
        problem = posix_spawnp(ret_pid, g->engine, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return problem;
}

/* Waits for the end, a second at a time. False: it took longer than the limit and was ended. */
static bool wait_for(const struct tl_graphviz *g, pid_t pid, int *ret_status)
{
    bool terminal = isatty(STDERR_FILENO) != 0, in_time = true;
    int fd = pidfd_open(pid, 0);

    for (unsigned s = 0; fd >= 0; s++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (g->limit_s > 0 && s >= g->limit_s) {
            in_time = false;
            (void)kill(pid, SIGKILL);
            break;
        }
        if (poll(&p, 1, 1000) > 0)
            break;
        if (terminal)
            fprintf(stderr, "\rtasklens %s: %s has worked for %u s ", g->command, g->engine, s + 1);
    }
    if (terminal)
        fprintf(stderr, "\r\033[K");
    if (fd >= 0)
        (void)close(fd);
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    return in_time;
}

/* The first line that it said, or how it ended. */
static int failed(const struct tl_graphviz *g, int status, int fd, struct tl_error *reterr)
{
    size_t bytes = 0;
    char *said = read_all(fd, &bytes);
    int code;

    if (said != NULL && bytes > 0)
        code = tl__fail(reterr, TL_EIO, "%s: %.*s", g->engine, (int)strcspn(said, "\n"), said);
    else if (WIFSIGNALED(status))
        code = tl__fail(reterr, TL_EIO, "%s was ended by signal %d", g->engine, WTERMSIG(status));
    else
        code = tl__fail(reterr, TL_EIO, "%s ended with %d and said nothing", g->engine, WEXITSTATUS(status));
    free(said);
    return code;
}

static int lay_out(const struct tl_graphviz *g, const int fds[STREAMS], char **ret_text, size_t *ret_bytes,
                   struct tl_error *reterr)
{
    int status = 0, problem;
    pid_t pid = 0;

    if (tl__write_all(fds[IN], g->input, g->bytes) != 0 || lseek(fds[IN], 0, SEEK_SET) != 0)
        return tl__fail(reterr, TL_EIO, "cannot keep the input of %s: %s", g->engine, strerror(errno));
    problem = start(g, fds, &pid);
    if (problem == ENOENT)
        return tl__fail(reterr, TL_ENOENT, "%s is not here", g->engine);
    if (problem != 0)
        return tl__fail(reterr, TL_EIO, "cannot run %s: %s", g->engine, strerror(problem));
    if (!wait_for(g, pid, &status))
        return TL_ETIMEDOUT;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return failed(g, status, fds[ERR], reterr);
    *ret_text = read_all(fds[OUT], ret_bytes);
    return *ret_text != NULL ? 0 : tl__fail(reterr, TL_ENOMEM, "out of memory for what %s wrote", g->engine);
}

int tl__graphviz_layout(const struct tl_graphviz *g, char **ret_text, size_t *ret_bytes, struct tl_error *reterr)
{
    int fds[STREAMS], code = 0;

    for (int i = 0; i < STREAMS; i++) {
        fds[i] = memfd_create("graphviz", MFD_CLOEXEC);
        if (fds[i] < 0)
            code = tl__fail(reterr, TL_EIO, "no file in memory for %s: %s", g->engine, strerror(errno));
    }
    if (code == 0)
        code = lay_out(g, fds, ret_text, ret_bytes, reterr);
    for (int i = 0; i < STREAMS; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    return code;
}
