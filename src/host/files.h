/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and whole files of a run. Messages name the path. Any thread. */
#ifndef TL_HOST_FILES_H
#define TL_HOST_FILES_H

#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

/* Makes `path` and its missing parents. 0 also if it exists; TL_EIO; TL_EEXIST: a file has that name. */
int tl__make_dirs(const char *path, struct tl_error *reterr);
/* XXH3-64 of a file's bytes. */
int tl__file_hash(const char *path, uint64_t *ret_hash, struct tl_error *reterr);
/* Copies a file, replacing `to`; *ret_hash is of what was copied. */
int tl__file_copy(const char *from, const char *to, uint64_t *ret_hash, struct tl_error *reterr);

/*
 * The directory of a run's artifacts. `out` given: it is the directory. Else outputs/<program>_<case>_<YYYYMMDD_HHMMSS>
 * below the working directory, made exclusively, with _2, _3, ... if taken. 0, TL_EIO.
 */
int tl__output_dir(const char *out, const char *program, const char *case_name, char *path, size_t size,
                   struct tl_error *reterr);

#endif
