/* SPDX-License-Identifier: Apache-2.0 */
/* A program given as C source, and the names of the bundled ones. */
#ifndef TL_HOST_COMPILE_H
#define TL_HOST_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

#include <tasklens/error.h>

#define TL_COMPILE_MAX_SOURCES 32

struct tl_compile_opts {
    const char *const *sources; /* C (.c) and C++ (.cc, .cpp, .cxx) files; one C++ file makes the compiler C++'s */
    size_t count;
    bool debug;    /* -O0 and frame pointers; else -O2. -g in both */
    bool verbose;  /* the command line goes to the log */
    bool sanitize; /* with the address and undefined-behaviour sanitizers; the first fault ends the process */
};

/* Whether a file of this name is source that can be compiled. */
bool tl__compile_takes(const char *path);
/* As tl__compile, for several files. $CC with $CFLAGS, or $CXX with $CXXFLAGS, and $LDFLAGS with both. TL_ERANGE: too
 * many files. */
int tl__compile_files(const struct tl_compile_opts *opts, char *ret_path, size_t size, int *ret_lock,
                      struct tl_error *reterr);
/*
 * Compiles `source` (one C file) with $CC, else cc, against the headers that belong to this program, into a shared
 * object in a directory of its own below $TMPDIR or /tmp. *ret_path: the object, *ret_lock: a descriptor that says that
 * it is in use; end both with tl__compile_discard, loaded or not. Directories that killed processes left are removed
 * first. The compiler writes its messages to stderr; the returned error is one line. So is the error for an object
 * that is not a program; it names the source. TL_ENOENT, TL_ELOAD, TL_EVERSION, TL_EIO.
 */
int tl__compile(const char *source, char *ret_path, size_t size, int *ret_lock, struct tl_error *reterr);
/* The path of the address sanitizer's library, which a process must load first: the library of the compiler that would
 * compile, or of a compiled `object` if that is not NULL. TL_ENOENT, TL_ELOAD: the message says what is missing. */
int tl__compile_sanitizer(const struct tl_compile_opts *opts, const char *object, char *ret_path, size_t size,
                          struct tl_error *reterr);
/* Whether the path is of an object that was compiled here and is removed at the end. */
bool tl__compile_made(const char *path);
/* Removes the object and its directory. */
void tl__compile_discard(const char *path, int lock);

/* Path of the bundled program `name`. TL_ENOENT: the message lists the installed ones. */
int tl__bundled(const char *name, char *ret_path, size_t size, struct tl_error *reterr);
/* The names of all bundled programs, sorted, at most `max`. TL_ENOENT: none are installed. */
int tl__bundled_names(char (*names)[64], size_t max, size_t *ret_count, struct tl_error *reterr);

#endif
