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

#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"
#include "base/leftovers.h"
#include "base/log.h"
#include "base/pathname.h"
#include "host/loader.h"
#include "sim/chip.h"

extern char **environ;

#define OBJECT "program.so"
#define TEMPORARY "tasklens-compile-"
#define ATTEMPTS 16
#define SUFFIX ".so"
#define FLAGS_MAX 64 /* words of one variable */

/* The headers: $TASKLENS_INCLUDE, the installation's, or this source tree's; else the compiler's own directories. */
static void include_flag(char *flag, size_t size)
{
    static const char *const candidates[] = {"../include/tasklens/program.h", "../../include/tasklens/program.h",
                                             "../../../include/tasklens/program.h", NULL};
    const char *named = getenv("TASKLENS_INCLUDE");
    char path[TL_PATHNAME_BYTES];

    if (named != NULL && named[0] != '\0')
        (void)snprintf(flag, size, "-I%s", named);
    else if (tl__chip_find_beside(candidates, NULL, path, sizeof(path)) == 0)
        (void)snprintf(flag, size, "-I%.*s", (int)(strlen(path) - strlen("/tasklens/program.h")), path);
    else
        (void)snprintf(flag, size, "-I/usr/local/include");
}

/* The directory and the object that this process compiled. A handled signal removes both. */
static int listed[2] = {-1, -1};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

static bool is_cxx(const char *path)
{
    return ends_with(path, ".cc") || ends_with(path, ".cpp") || ends_with(path, ".cxx");
}

bool tl__compile_takes(const char *path)
{
    return ends_with(path, ".c") || is_cxx(path);
}

/* A command line that is being built. */
struct line {
    const char *words[TL_COMPILE_MAX_SOURCES * 3 + 2 * FLAGS_MAX + 16];
    size_t count;
    char flags[2][4096], include[4200]; /* what words point into */
};

static void add(struct line *l, const char *word)
{
    if (l->count < COUNT_OF(l->words) - 1)
        l->words[l->count++] = word;
}

/* Adds the words of an environment variable, split at white space as make does. 0, or TL_ERANGE. */
static int add_flags(struct line *l, const char *variable, char *text, size_t size, struct tl_error *reterr)
{
    const char *value = getenv(variable);
    char *word, *rest = NULL;
    size_t count = 0;

    if (value == NULL)
        return 0;
    if ((size_t)snprintf(text, size, "%s", value) >= size)
        return tl__fail(reterr, TL_ERANGE, "%s has %zu bytes; at most %zu can be taken", variable, strlen(value),
                        size - 1);
    for (word = strtok_r(text, " \t\n", &rest); word != NULL; word = strtok_r(NULL, " \t\n", &rest)) {
        if (++count > FLAGS_MAX)
            return tl__fail(reterr, TL_ERANGE, "%s has more than %d words", variable, FLAGS_MAX);
        add(l, word);
    }
    return 0;
}

/* The environment without LD_PRELOAD. Allocated by tl__alloc; NULL: no memory. */
static char **plain_environment(void)
{
    size_t n = 0, kept = 0;
    char **plain;

    while (environ[n] != NULL)
        n++;
    plain = tl__alloc(n + 1, sizeof(*plain));
    for (size_t i = 0; plain != NULL && i < n; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
            plain[kept++] = environ[i];
    return plain;
}

/* Runs a command with its output to `out`, -1: to ours. Its exit code, or -1 with errno. */
static int run_words(const char *const *words, int out)
{
    char **plain = plain_environment();
    posix_spawn_file_actions_t files;
    int err, status;
    pid_t pid;

    err = plain == NULL ? ENOMEM : posix_spawn_file_actions_init(&files);
    if (err == 0) {
        if (out >= 0)
            err = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
        if (err == 0)
            err = posix_spawnp(&pid, words[0], &files, NULL, (char *const *)(uintptr_t)words, plain);
        (void)posix_spawn_file_actions_destroy(&files);
    }
    tl__free(plain);
    if (err != 0) {
        errno = err;
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The path of one of the compiler's libraries. False: it has none of that name. */
static bool find_library(const char *compiler, const char *name, char *ret_path, size_t size)
{
    char option[128];
    const char *const words[] = {compiler, option, NULL};
    ssize_t n = 0;
    int ends[2];

    (void)snprintf(option, sizeof(option), "-print-file-name=%s", name);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    if (run_words(words, ends[1]) == 0) /* one line: the pipe takes it */
        n = read(ends[0], ret_path, size - 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    ret_path[n > 0 ? n : 0] = '\0';
    ret_path[strcspn(ret_path, "\n")] = '\0';
    return ret_path[0] == '/' && access(ret_path, R_OK) == 0; /* a name that it does not find comes back unchanged */
}

#if defined(__aarch64__)
#define CLANG_RUNTIME "libclang_rt.asan-aarch64.so"
#else
#define CLANG_RUNTIME "libclang_rt.asan-x86_64.so"
#endif

/* Clang links the sanitizer's library into executables only, unless -shared-libsan asks for the shared one. */
static bool is_clang(const char *compiler)
{
    char path[TL_PATHNAME_BYTES];

    return strstr(compiler, "clang") != NULL || find_library(compiler, CLANG_RUNTIME, path, sizeof(path));
}

static void add_sanitizer(struct line *l, const char *compiler)
{
    add(l, "-fsanitize=address,undefined");
    add(l, "-fno-sanitize=object-size"); /* the address sanitizer reports the same faults with more detail */
    add(l, "-fno-sanitize-recover=all");
    add(l, "-fno-omit-frame-pointer");
    if (is_clang(compiler))
        add(l, "-shared-libsan");
}

static const char *compiler_of(const struct tl_compile_opts *opts, bool *ret_cxx)
{
    const char *named;

    *ret_cxx = false;
    for (size_t i = 0; i < opts->count; i++)
        *ret_cxx = *ret_cxx || is_cxx(opts->sources[i]);
    named = getenv(*ret_cxx ? "CXX" : "CC");
    return named != NULL && named[0] != '\0' ? named : *ret_cxx ? "c++" : "cc";
}

/* Builds the whole command line. With one C++ file or more it is the C++ compiler's, and -x c marks the C files. */
static int make_line(struct line *l, const struct tl_compile_opts *opts, const char *object, struct tl_error *reterr)
{
    bool cxx;
    const char *compiler = compiler_of(opts, &cxx);
    int rc;

    add(l, compiler);
    if (!cxx)
        add(l, "-std=gnu17");
    add(l, opts->debug ? "-O0" : "-O2");
    add(l, "-g");
    if (opts->debug)
        add(l, "-fno-omit-frame-pointer");
    if (opts->sanitize)
        add_sanitizer(l, compiler);
    add(l, "-fPIC");
    add(l, "-shared");
    add(l, "-fno-math-errno");
    include_flag(l->include, sizeof(l->include));
    add(l, l->include);
    rc = add_flags(l, cxx ? "CXXFLAGS" : "CFLAGS", l->flags[0], sizeof(l->flags[0]),
                   reterr); /* after ours, so that the user's flags win */
    add(l, "-o");
    add(l, object);
    for (size_t i = 0; i < opts->count; i++) {
        if (cxx) {
            add(l, "-x");
            add(l, is_cxx(opts->sources[i]) ? "c++" : "c");
        }
        add(l, opts->sources[i]);
    }
    if (cxx) {
        add(l, "-x");
        add(l, "none");
    }
    if (rc == 0)
        rc = add_flags(l, "LDFLAGS", l->flags[1], sizeof(l->flags[1]), reterr);
    add(l, "-lm");
    l->words[l->count] = NULL;
    return rc;
}

/* Logs the command line. */
static void show_line(const struct line *l)
{
    char text[900];
    size_t used = 0;

    for (size_t i = 0; i < l->count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? " " : "", l->words[i]);
    tl_log_info("%s%s", text, used >= sizeof(text) ? " ..." : "");
}

/* ---- The directory of a compiled program. Its user holds a lock on it, which ends with the process ---- */

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

/* Removes this user's directories in `tmp` whose processes have ended. */
static void remove_stale(const char *tmp)
{
    const struct dirent *entry;
    char path[TL_PATHNAME_BYTES];
    DIR *d = opendir(tmp);

    while (d != NULL && (entry = readdir(d)) != NULL) {
        int lock;

        if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) != 0 ||
            !tl__pathname(path, "%s/%s/" OBJECT, tmp, entry->d_name))
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
            return lock; /* else another process removed it as stale before it was locked */
        errno = EAGAIN;
    }
    return -1;
}

/* Copies `text` with each `from` replaced by `to`. */
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

/* Checks that the object is a program. Messages name the source, because the user has no object. */
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
    const struct tl_compile_opts opts = {.sources = &source, .count = 1};

    return tl__compile_files(&opts, ret_path, size, ret_lock, reterr);
}

/* Compiles into ret_path, whose directory exists. */
static int compile_into(const struct tl_compile_opts *opts, const char *object, struct tl_error *reterr)
{
    const char *source = opts->sources[0];
    struct line line = {.count = 0};
    int rc = make_line(&line, opts, object, reterr);

    if (rc != 0)
        return rc;
    if (opts->verbose)
        show_line(&line);
    rc = run_words(line.words, -1);
    if (rc == 0)
        return check_object(source, object, reterr);
    if (rc < 0)
        return tl__fail(reterr, TL_ELOAD, "%s: cannot start the compiler \"%s\" (%s); %s can name another", source,
                        line.words[0], strerror(errno), strcmp(line.words[1], "-std=gnu17") == 0 ? "CC" : "CXX");
    return tl__fail(reterr, TL_ELOAD, "%s%s does not compile: %s ended with code %d; -v shows the command", source,
                    opts->count > 1 ? " with the files after it" : "", line.words[0], rc);
}

int tl__compile_files(const struct tl_compile_opts *opts, char *ret_path, size_t size, int *ret_lock,
                      struct tl_error *reterr)
{
    const char *tmp = getenv("TMPDIR");
    char dir[TL_PATHNAME_BYTES];
    struct stat st;
    int rc;

    if (opts->count == 0 || opts->count > TL_COMPILE_MAX_SOURCES)
        return tl__fail(reterr, TL_ERANGE, "a program is compiled of 1 to %d files, not %zu", TL_COMPILE_MAX_SOURCES,
                        opts->count);
    for (size_t i = 0; i < opts->count; i++)
        if (stat(opts->sources[i], &st) != 0)
            return tl__fail(reterr, tl__code_of_errno(errno), "%s: %s", opts->sources[i], strerror(errno));
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
    rc = compile_into(opts, ret_path, reterr);
    if (rc != 0)
        tl__compile_discard(ret_path, *ret_lock);
    return rc;
}

int tl__compile_sanitizer(const struct tl_compile_opts *opts, const char *object, char *ret_path, size_t size,
                          struct tl_error *reterr)
{
    bool cxx;
    const char *compiler = compiler_of(opts, &cxx);
    char name[64] = "libasan.so";

    if (object != NULL && access(object, R_OK) != 0)
        return tl__fail(
            reterr, TL_ENOENT,
            "%s: %s; --sanitize takes a source file, or an object that is compiled with -fsanitize=address, "
            "by its path",
            object, strerror(errno));
    if (object != NULL && !tl__object_sanitized(object, name, sizeof(name)))
        return tl__fail(
            reterr, TL_ELOAD,
            "%s is not compiled with -fsanitize=address (clang: and -shared-libsan), which --sanitize needs; "
            "a source file is compiled so by itself",
            object);
    if (object == NULL && is_clang(compiler))
        (void)snprintf(name, sizeof(name), "%s", CLANG_RUNTIME);
    if (find_library(compiler, name, ret_path, size))
        return 0;
    if (strncmp(name, "libclang", 8) == 0 && find_library("clang", name, ret_path, size))
        return 0;
    return tl__fail(
        reterr, TL_ENOENT,
        "--sanitize needs the address sanitizer's library %s, which \"%s\" does not have; Debian has it in %s", name,
        compiler, is_clang(compiler) ? "libclang-rt-14-dev" : "libasan8, with gcc-12");
}

bool tl__compile_made(const char *path)
{
    return strstr(path, "/" TEMPORARY) != NULL && ends_with(path, "/" OBJECT);
}

void tl__compile_discard(const char *path, int lock)
{
    char dir[TL_PATHNAME_BYTES];
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
    (void)close(lock); /* last: until here no other process may remove the directory as stale */
}

/* The length of NAME in NAME.so; 0: the name has another form. */
static size_t stem_of(const char *name)
{
    size_t n = strlen(name), stem = n > strlen(SUFFIX) ? n - strlen(SUFFIX) : 0;

    return stem > 0 && strcmp(name + stem, SUFFIX) == 0 ? stem : 0;
}

/* A source tree has a directory of that name too. */
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
    char dir[TL_PATHNAME_BYTES];

    if (examples_dir(dir, sizeof(dir)) != 0)
        return tl__fail(reterr, TL_ENOENT, "no bundled programs are installed");
    *ret_count = read_programs(dir, names, max);
    return 0;
}

int tl__bundled(const char *name, char *ret_path, size_t size, struct tl_error *reterr)
{
    char dir[TL_PATHNAME_BYTES], known[600] = "";

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
