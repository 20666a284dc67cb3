/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of a program's own code in this process that may crash. The signals of a fault are caught while it runs, on
 * this thread and on a separate stack, and end the call instead of the process. Handlers that are installed already (by
 * a sanitizer or by the library's caller) stay, and handle the crash.
 *
 * One call at a time in a process.
 */
#ifndef TL_HOST_CALL_GUARDED_H
#define TL_HOST_CALL_GUARDED_H

#include <stddef.h>

struct tl_data;

/*
 * Calls call(data). 0: it came back, with *ret_code. TL_ECRASH: it did not; `how`, of `size` bytes, says by which
 * signal and where. Locks may then still be held and the heap may be corrupt: print a message and end the process.
 */
int tl__call_guarded(int (*call)(struct tl_data *data), struct tl_data *data, int *ret_code, char *how, size_t size);

#endif
