/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error codes. Every function that can fail returns an int: >= 0 is success, negative is one of these. Safe from any
 * thread.
 */
#ifndef TASKLENS_ERROR_H
#define TASKLENS_ERROR_H

/* Marks what the shared library exports. */
#define TL_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text) */
#define TL_ERROR_LIST(X)                                                                                               \
    X(TL_EINVAL, -1, "invalid argument")                                                                               \
    X(TL_ENOMEM, -2, "out of memory")                                                                                  \
    X(TL_EIO, -3, "input or output failed")                                                                            \
    X(TL_ENOSPC, -4, "no space left")                                                                                  \
    X(TL_EAGAIN, -5, "would have to wait")                                                                             \
    X(TL_ETIMEDOUT, -6, "timed out")                                                                                   \
    X(TL_ENOENT, -7, "not found")                                                                                      \
    X(TL_EEXIST, -8, "already exists")                                                                                 \
    X(TL_EPARSE, -9, "malformed input")                                                                                \
    X(TL_EVERSION, -10, "made by a newer version")                                                                     \
    X(TL_ERANGE, -11, "out of range")                                                                                  \
    X(TL_EBUSY, -12, "in use")                                                                                         \
    X(TL_ENOTSUP, -13, "not supported")                                                                                \
    X(TL_ELOAD, -14, "the program cannot be loaded")                                                                   \
    X(TL_EGRAPH, -15, "the task graph is invalid")                                                                     \
    X(TL_EDEADLOCK, -16, "the task graph cannot make progress")                                                        \
    X(TL_EHANG, -17, "the device made no progress")                                                                    \
    X(TL_ECRASH, -18, "a kernel or orchestration crashed")                                                             \
    X(TL_EDEVICE, -19, "the device process died")                                                                      \
    X(TL_ECORRUPT, -20, "shared memory holds an impossible value")                                                     \
    X(TL_ELOST, -21, "records were lost")                                                                              \
    X(TL_EPOISONED, -22, "an earlier run left the worker unusable")

enum tl_errno {
    TL_OK = 0,
#define TL_ERROR_ENUM(name, value, text) name = (value),
    TL_ERROR_LIST(TL_ERROR_ENUM)
#undef TL_ERROR_ENUM
};

/* What went wrong, for people. `msg` is one line without a newline: what, where, what to do. */
struct tl_error {
    int code;        /* enum tl_errno */
    long offset;     /* byte, line or record index in the input; -1 when there is none */
    char msg[1000];
};

/* Static text of a code; "unknown error" for others. Never NULL. */
const char *tl_strerror(int code);
/* "TL_EINVAL" and so on; "TL_?" for others. Never NULL. */
const char *tl_errname(int code);

#ifdef __cplusplus
}
#endif
#endif
