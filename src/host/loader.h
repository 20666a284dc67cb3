/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a program's shared object and checks it before use. */
#ifndef TL_HOST_LOADER_H
#define TL_HOST_LOADER_H

#include <stdbool.h>
#include <stddef.h>

#include <tasklens/program.h>

struct tl_object {
    void *handle; /* of dlopen; NULL for a program linked into the caller */
    const struct tl_program *program;
    char *path;    /* absolute; NULL if linked */
    uint64_t hash; /* XXH3-64 of the file when it was loaded; 0 if linked */
};

/* Checks a program's tables. 0, or TL_ELOAD with one line that names the fault and begins with `where`. */
int tl__program_check(const struct tl_program *program, const char *where, struct tl_error *reterr);
/* Whether the object at `path` is compiled with the address sanitizer; the library that it then needs goes to
 * `name`. */
bool tl__object_sanitized(const char *path, char *name, size_t size);
/* Whether this process has loaded that library. */
bool tl__sanitizer_loaded(void);
/* Loads and checks. TL_ENOENT, TL_ELOAD, TL_EVERSION, TL_EIO, TL_ENOMEM. */
int tl__object_open(const char *path, struct tl_object *ret_object, struct tl_error *reterr);
void tl__object_close(struct tl_object *object);
/* Copies the object's file to DIR/program/NAME.so, if the bytes are still those that were loaded. A linked one has
 * nothing to copy. 0, TL_EIO, TL_ENOSPC. */
int tl__object_keep(const struct tl_object *object, const char *dir, struct tl_error *reterr);
/* Removes the copy: the run did not begin. */
void tl__object_unkeep(const struct tl_object *object, const char *dir);

#endif
