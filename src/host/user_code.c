/* SPDX-License-Identifier: Apache-2.0 */
#include "host/user_code.h"

#include <sys/types.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/chip.h"

/* Read by its own thread, and by handlers on other threads, which see a thread id that is not theirs: plain
 * accesses. */
static struct {
    volatile pid_t thread, process; /* 0: none; read by signal handlers */
    const char *function, *name;
} now;

void tl__user_code_enter(const char *function, const char *name)
{
    now.function = function;
    now.name = name;
    now.process = getpid();
    now.thread = gettid();
}

void tl__user_code_leave(void)
{
    now.thread = 0;
}

enum tl_user_code tl__user_code_here(char *to, size_t size)
{
    struct tl_text t = tl__text(to, size);

    if (now.thread != 0 && now.thread == gettid() && now.process == getpid()) {
        tl__text_put(&t, now.function);
        tl__text_put(&t, " of ");
        tl__text_put(&t, now.name);
        return TL_USER_DATA;
    }
    return tl__chip_whose(to, size) ? TL_USER_DEVICE : TL_USER_NONE;
}
