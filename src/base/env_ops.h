/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an environment has to offer; base/env.c turns it into base/env.h. Seen only by env*.c.
 *
 * The table in use belongs to the calling thread: `tl__env_real`, except on a thread that is inside a controlled run
 * (preset `controlled`). All system calls stay behind the table, and the loops over them (a short write is continued)
 * are once, above it, so that a controlled run tests the very loops that production uses.
 */
#ifndef TL_BASE_ENV_OPS_H
#define TL_BASE_ENV_OPS_H

#include "base/env.h"

#define TL_ENV_APPEND UINT64_MAX /* as `offset` of a write: at the file's end */
#define TL_ENV_NAME_BYTES 16     /* of a thread's name, the end included */

struct tl_env_ops {
    uint64_t (*now_ns)(void);
    int (*spawn)(const char *name, void (*fn)(void *arg), void *arg, struct tl_thread **ret_thread);
    void (*join)(struct tl_thread *thread);
    int (*park)(tl_au32 *word, uint32_t expected, uint64_t deadline_ns);
    void (*wake)(tl_au32 *word, uint32_t n);
    void (*relax)(void);
    uint64_t (*look_ns)(void);
    /* One system call's worth: bytes written (> 0), or a negative TL_E code. Interrupted calls are repeated inside. */
    ssize_t (*write_some)(int fd, const void *data, size_t bytes, uint64_t offset);
    int (*sync)(int fd);
    void (*sync_window)(int fd, uint64_t start, uint64_t bytes, uint64_t wait_start, uint64_t wait_bytes);
    bool (*may_alloc)(void);         /* asked before each allocation; false makes it fail; NULL: all may */
    void (*count_alloc)(int change); /* called with 1 for a block made, -1 for one freed; NULL: nobody counts */
};

extern const struct tl_env_ops tl__env_real;

#ifdef TASKLENS_CONTROLLED
/* Sets the calling thread's table; NULL is the real one. */
void tl__env_set_ops(const struct tl_env_ops *ops);
#endif

#endif
