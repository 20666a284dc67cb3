/* SPDX-License-Identifier: Apache-2.0 */
#include "host/compile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/leftovers.h"
#include "host/loader.h"
#include "sim/chip.h"

extern char **environ;

#define OBJECT "program.so"
#define TEMPORARY "tasklens-compile-"
#define ATTEMPTS 16
#define SUFFIX ".so"

/* The headers: $TASKLENS_INCLUDE, an installation's, or this source tree's. Without any the compiler's own places. */
static void include_flag(char *flag, size_t size)
{
    static const char *const candidates[] = {"../include/tasklens/program.h", "../../include/tasklens/program.h",
                                             "../../../include/tasklens/program.h", NULL};
    const char *named = getenv("TASKLENS_INCLUDE");
    char path[4096];

    if (named != NULL && named[0] != '\0')
        (void)snprintf(flag, size, "-I%s", named);
    else if (tl__chip_find_beside(candidates, NULL, path, sizeof(path)) == 0)
        (void)snprintf(flag, size, "-I%.*s", (int)(strlen(path) - strlen("/tasklens/program.h")), path);
    else
        (void)snprintf(flag, size, "-I/usr/local/include");
}

/* The directory of what this process compiled, and the object in it: a signal that is handled removes them. */
static int listed[2] = {-1, -1};

/* Runs the compiler. Its exit code, or -1 with errno. */
static int run_compiler(const char *compiler, const char *source, const char *object)
{
    char include[4200];
    char *const argv[] = {(char *)compiler,
                          (char *)"-std=gnu17",
                          (char *)"-O2",
                          (char *)"-g",
                          (char *)"-fPIC",
                          (char *)"-shared",
                          (char *)"-fno-math-errno",
                          include,
                          (char *)"-o",
                          (char *)object,
                          (char *)source,
                          (char *)"-lm",
                          NULL};
    int err, status;
    pid_t pid;

    include_flag(include, sizeof(include));
    err = posix_spawnp(&pid, compiler, NULL, NULL, argv, environ);
    if (err != 0) {
        errno = err;
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- The directory of a compiled program. Who uses it holds a lock on it, which dies with the process ---- */

/* The lock on `dir` and its descriptor; -1 if another has it, or has just removed the directory. */
static int lock_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 &&
        st.st_nlink > 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Removes our user's directories in `tmp` whose processes are gone. */
static void remove_stale(const char *tmp)
{
    const struct dirent *entry;
    char path[4200];
    DIR *d = opendir(tmp);

    while (d != NULL && (entry = readdir(d)) != NULL) {
        int lock;

        if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) != 0 ||
            (size_t)snprintf(path, sizeof(path), "%s/%s/" OBJECT, tmp, entry->d_name) >= sizeof(path))
            continue;
        path[strlen(path) - strlen("/" OBJECT)] = '\0';
        lock = lock_dir(path);
        if (lock < 0)
            continue;
        path[strlen(path)] = '/';
        tl__compile_discard(path, lock);
    }
    if (d != NULL)
        (void)closedir(d);
}

/* A new directory in `tmp`, locked. The lock's descriptor, or -1 with errno. */
static int make_dir(const char *tmp, char *dir, size_t size)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        int lock;

        if ((size_t)snprintf(dir, size, "%s/" TEMPORARY "XXXXXX", tmp) >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (mkdtemp(dir) == NULL)
            return -1;
        lock = lock_dir(dir);
        if (lock >= 0)
            return lock; /* else another process took it for stale before it was locked */
        errno = EAGAIN;
    }
    return -1;
}

/* Copies `text` with each `from` in it as `to`. */
static void rename_in(const char *text, const char *from, const char *to, char *ret, size_t size)
{
    size_t used = 0;

    ret[0] = '\0';
    while (*text != '\0' && used < size) {
        const char *at = strstr(text, from);
        int before = (int)(at != NULL ? (size_t)(at - text) : strlen(text));

        used += (size_t)snprintf(ret + used, size - used, "%.*s%s", before, text, at != NULL ? to : "");
        text += (size_t)before + (at != NULL ? strlen(from) : 0);
    }
}

/* Whether the object is a program; what is wrong with it is said of the source, which the user has. */
static int check_object(const char *source, const char *path, struct tl_error *reterr)
{
    struct tl_object object;
    struct tl_error err;
    char text[sizeof(err.msg)];
    int rc = tl__object_open(path, &object, &err);

    if (rc != 0) {
        rename_in(err.msg, path, source, text, sizeof(text));
        return tl__fail(reterr, rc, "%s", text);
    }
    tl__object_close(&object);
    return 0;
}

int tl__compile(const char *source, char *ret_path, size_t size, int *ret_lock, struct tl_error *reterr)
{
    const char *compiler = getenv("CC"), *tmp = getenv("TMPDIR");
    char dir[4000];
    struct stat st;
    int rc, err;

    if (stat(source, &st) != 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: %s", source, strerror(errno));
    if (compiler == NULL || compiler[0] == '\0')
        compiler = "cc";
    if (tmp == NULL || tmp[0] == '\0')
        tmp = "/tmp";
    remove_stale(tmp);
    *ret_lock = make_dir(tmp, dir, sizeof(dir));
    if (*ret_lock < 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "cannot make a directory for the compiled program in %s: %s",
                        tmp, strerror(errno));
    if ((size_t)snprintf(ret_path, size, "%s/" OBJECT, dir) >= size) {
        (void)rmdir(dir);
        (void)close(*ret_lock);
        return tl__fail(reterr, TL_EINVAL, "the path of the compiled program is too long");
    }
    listed[0] = tl__leftover_add(dir);
    listed[1] = tl__leftover_add(ret_path);
    rc = run_compiler(compiler, source, ret_path);
    err = errno;
    if (rc == 0) {
        rc = check_object(source, ret_path, reterr);
        if (rc != 0)
            tl__compile_discard(ret_path, *ret_lock);
        return rc;
    }
    tl__compile_discard(ret_path, *ret_lock);
    if (rc < 0)
        return tl__fail(reterr, TL_ELOAD, "%s: cannot start the compiler \"%s\" (%s); CC can name another", source,
                        compiler, strerror(err));
    return tl__fail(reterr, TL_ELOAD, "%s does not compile: %s ended with code %d", source, compiler, rc);
}

void tl__compile_discard(const char *path, int lock)
{
    char dir[4200];
    size_t n = strlen(path), tail = strlen("/" OBJECT);

    if (n > tail && n < sizeof(dir)) {
        (void)unlink(path);
        memcpy(dir, path, n - tail);
        dir[n - tail] = '\0';
        (void)rmdir(dir);
    }
    for (unsigned i = 0; i < 2; i++) {
        tl__leftover_remove(listed[i]);
        listed[i] = -1;
    }
    (void)close(lock); /* last: until here nobody else may take the directory for stale */
}

/* The length of NAME in NAME.so; 0: it is no such name. */
static size_t stem_of(const char *name)
{
    size_t n = strlen(name), stem = n > strlen(SUFFIX) ? n - strlen(SUFFIX) : 0;

    return stem > 0 && strcmp(name + stem, SUFFIX) == 0 ? stem : 0;
}

/* Also a source tree has a directory of that name. */
static bool holds_programs(const char *dir)
{
    const struct dirent *entry;
    bool found = false;
    DIR *d = opendir(dir);

    while (d != NULL && !found && (entry = readdir(d)) != NULL)
        found = stem_of(entry->d_name) > 0;
    if (d != NULL)
        (void)closedir(d);
    return found;
}

/* The directory of the bundled programs: the build tree's, or an installation's. */
static int examples_dir(char *path, size_t size)
{
    static const char *const candidates[] = {"examples",
                                             "../examples",
                                             "../libexec/tasklens/examples",
                                             "../lib/tasklens/examples",
                                             "../../libexec/tasklens/examples",
                                             NULL};

    return tl__chip_find_beside(candidates, holds_programs, path, size);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The names of the programs in `dir`, sorted. How many. */
static size_t read_programs(const char *dir, char (*names)[64], size_t max)
{
    const struct dirent *entry;
    size_t count = 0;
    DIR *d = opendir(dir);

    while (d != NULL && count < max && (entry = readdir(d)) != NULL) {
        size_t stem = stem_of(entry->d_name);

        if (stem == 0 || stem >= sizeof(names[0]))
            continue;
        memcpy(names[count], entry->d_name, stem);
        names[count++][stem] = '\0';
    }
    if (d != NULL)
        (void)closedir(d);
    qsort(names, count, sizeof(names[0]), by_name);
    return count;
}

/* Writes "a, b, c" of the programs in `dir`. */
static void list_programs(const char *dir, char *list, size_t size)
{
    char names[64][64];
    size_t count = read_programs(dir, names, 64);

    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(list);

        (void)snprintf(list + used, size - used, "%s%.63s", used ? ", " : "", names[i]);
    }
}

int tl__bundled_names(char (*names)[64], size_t max, size_t *ret_count, struct tl_error *reterr)
{
    char dir[4096];

    if (examples_dir(dir, sizeof(dir)) != 0)
        return tl__fail(reterr, TL_ENOENT, "no bundled programs are installed");
    *ret_count = read_programs(dir, names, max);
    return 0;
}

int tl__bundled(const char *name, char *ret_path, size_t size, struct tl_error *reterr)
{
    char dir[4096], known[600] = "";

    if (examples_dir(dir, sizeof(dir)) != 0)
        return tl__fail(reterr, TL_ENOENT, "no program \"%s\": not a file, and no bundled programs are installed",
                        name);
    if (strchr(name, '/') == NULL && (size_t)snprintf(ret_path, size, "%s/%s" SUFFIX, dir, name) < size &&
        access(ret_path, R_OK) == 0)
        return 0;
    list_programs(dir, known, sizeof(known));
    return tl__fail(reterr, TL_ENOENT, "no program \"%s\": not a file, and the bundled ones are %s", name,
                    known[0] ? known : "none");
}
