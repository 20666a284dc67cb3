/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of a program's own code in this process that may crash. The signals of a fault are caught while it runs, on
 * this thread and on a stack of their own, and end the call instead of the process. Where somebody has handlers for
 * them already (a sanitizer, a caller of the library), those stay, and a crash is theirs.
 *
 * One call at a time in a process.
 */
#ifndef TL_HOST_CALL_GUARDED_H
#define TL_HOST_CALL_GUARDED_H

#include <stddef.h>

struct tl_data;

/*
 * Calls call(data). 0: it came back, with *ret_code. TL_ECRASH: it did not; `how`, of `size` bytes, says by which
 * signal and where. It then may have left locks held and the heap in pieces: little more than a message should follow.
 */
int tl__call_guarded(int (*call)(struct tl_data *data), struct tl_data *data, int *ret_code, char *how, size_t size);

#endif
