/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a thread of this process is in code of the program's author, and in which: prepare(), golden(), the
 * constructors of its shared object, and with the chip in a thread a kernel or the orchestration. Used to name the
 * code that ended the process.
 */
#ifndef TL_HOST_USER_CODE_H
#define TL_HOST_USER_CODE_H

#include <stdbool.h>
#include <stddef.h>

enum tl_user_code {
    TL_USER_NONE,
    TL_USER_DATA,   /* prepare(), golden(), a constructor */
    TL_USER_DEVICE, /* a kernel or the orchestration */
};

/* From here to tl__user_code_leave() the calling thread is in FUNCTION of NAME: "golden() of vector_add". One thread at
 * a time in a process. */
void tl__user_code_enter(const char *function, const char *name);
void tl__user_code_leave(void);
/* The kind of user code that the calling thread is in; its name goes to `to`. None in a forked child. Safe in a signal
 * handler. */
enum tl_user_code tl__user_code_here(char *to, size_t size);

#endif
