/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD: one kind of call of one program fails, from its Nth on or once.
 * tests/stress/failing_calls.py drives it. What is set in the environment:
 *
 *   TL_FAIL_KIND   write, open, rename, mmap, alloc, space (fallocate, ftruncate), sync, dir (mkdir, unlink, rmdir),
 *                  shrink: a file is cut to nothing right after the Nth mapping of one with a name
 *                  mem: reads and writes of a memory file, which the copy transport moves a chip's memory by
 *   TL_FAIL_AT     N, from 1; 0 only counts
 *   TL_FAIL_ONCE   1: the Nth alone; 0: the Nth and all after it
 *   TL_FAIL_ERRNO  what a failed call sets
 *   TL_FAIL_IN     the program's short name; others run as they are
 *   TL_FAIL_COUNT  a file of 8 bytes, mapped by all processes of the run: calls so far
 *
 * Only what the program and its libraries call by these names is seen, not what libc does within itself. Writes and
 * syncs count for files of a disk, with a name or without one yet: a disk is full, a pipe or a memfd is not.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind {
    KIND_NONE,
    KIND_WRITE,
    KIND_OPEN,
    KIND_RENAME,
    KIND_MMAP,
    KIND_ALLOC,
    KIND_SPACE,
    KIND_SYNC,
    KIND_DIR,
    KIND_SHRINK,
    KIND_MEM
};

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static enum kind failing;
static uint64_t at;
static bool once;
static int code;
static _Atomic uint64_t *calls;

static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = {"",      "write", "open", "rename", "mmap", "alloc",
                                        "space", "sync",  "dir",  "shrink", "mem"};
    const char *kind = getenv("TL_FAIL_KIND"), *in = getenv("TL_FAIL_IN"), *count = getenv("TL_FAIL_COUNT");
    enum kind chosen = KIND_NONE;
    long fd;
    void *page;

    if (kind == NULL || count == NULL || in == NULL || strcmp(in, program_invocation_short_name) != 0)
        return;
    for (unsigned i = 1; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(kind, names[i]) == 0)
            chosen = (enum kind)i;
    at = number_of("TL_FAIL_AT");
    once = number_of("TL_FAIL_ONCE") != 0;
    code = (int)number_of("TL_FAIL_ERRNO");
    fd = syscall(SYS_openat, AT_FDCWD, count, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    page = (void *)syscall(SYS_mmap, NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    (void)syscall(SYS_close, fd);
    if (page == MAP_FAILED)
        return;
    calls = page;
    failing = chosen;
}

/* Whether this call fails; errno is set. */
static bool fails(enum kind kind)
{
    uint64_t n;

    if (kind != failing)
        return false;
    n = atomic_fetch_add(calls, 1) + 1;
    if (at == 0 || n < at || (once && n > at))
        return false;
    errno = code;
    return true;
}

/* A memory file of the process: the chip's. A file of a disk may be without a name, too, until it is whole. */
static bool is_memory(int fd, const struct stat *st)
{
    char self[40], path[16] = "";

    if (!S_ISREG(st->st_mode) || st->st_nlink != 0)
        return false;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    return syscall(SYS_readlinkat, AT_FDCWD, self, path, sizeof(path) - 1) > 0 && strncmp(path, "/memfd:", 7) == 0;
}

static bool is_file(int fd)
{
    struct stat st;

    return syscall(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode) && !is_memory(fd, &st);
}

static bool fails_on(enum kind kind, int fd)
{
    return kind == failing && is_file(fd) && fails(kind);
}

static bool fails_on_memory(int fd)
{
    struct stat st;

    return failing == KIND_MEM && syscall(SYS_fstat, fd, &st) == 0 && is_memory(fd, &st) && fails(KIND_MEM);
}

/* ---- memory ---- */

void *malloc(size_t bytes)
{
    return fails(KIND_ALLOC) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(KIND_ALLOC) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails(KIND_ALLOC) ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return fails(KIND_ALLOC) ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **ret, size_t align, size_t bytes)
{
    void *memory = fails(KIND_ALLOC) ? NULL : __libc_memalign(align, bytes);

    if (memory == NULL)
        return ENOMEM;
    *ret = memory;
    return 0;
}

void *mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    void *map;

    if (fails(KIND_MMAP))
        return MAP_FAILED;
    map = (void *)syscall(SYS_mmap, addr, bytes, prot, flags, fd, offset);
    if (map != MAP_FAILED && fd >= 0 && fails_on(KIND_SHRINK, fd)) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        (void)syscall(SYS_truncate, path, 0L);
    }
    return map;
}

void *mmap64(void *addr, size_t bytes, int prot, int flags, int fd, off64_t offset)
{
    return mmap(addr, bytes, prot, flags, fd, offset);
}

/* ---- files ---- */

ssize_t write(int fd, const void *data, size_t bytes)
{
    return fails_on(KIND_WRITE, fd) ? -1 : syscall(SYS_write, fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    return fails_on(KIND_WRITE, fd) || fails_on_memory(fd) ? -1 : syscall(SYS_pwrite64, fd, data, bytes, offset);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
    return fails_on_memory(fd) ? -1 : syscall(SYS_pread64, fd, data, bytes, offset);
}

ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset)
{
    return pread(fd, data, bytes, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset)
{
    return pwrite(fd, data, bytes, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return fails_on(KIND_WRITE, fd) ? -1 : syscall(SYS_writev, fd, parts, count);
}

static mode_t mode_of(int flags, va_list ap)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return fails(KIND_OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return fails(KIND_OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return fails(KIND_OPEN) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define NEXT(type, name) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

FILE *fopen(const char *path, const char *mode)
{
    return fails(KIND_OPEN) ? NULL : NEXT(FILE * (*)(const char *, const char *), "fopen")(path, mode);
}

DIR *opendir(const char *path)
{
    return fails(KIND_OPEN) ? NULL : NEXT(DIR * (*)(const char *), "opendir")(path);
}

int rename(const char *from, const char *to)
{
    return fails(KIND_RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails(KIND_RENAME) ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    return fails(KIND_SPACE) ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    if (fails(KIND_SPACE))
        return code;
    return syscall(SYS_fallocate, fd, 0, offset, bytes) == 0 ? 0 : errno;
}

int ftruncate(int fd, off_t bytes)
{
    return fails(KIND_SPACE) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

int fsync(int fd)
{
    return fails_on(KIND_SYNC, fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails_on(KIND_SYNC, fd) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(KIND_DIR) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int unlink(const char *path)
{
    return fails(KIND_DIR) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    return fails(KIND_DIR) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}
