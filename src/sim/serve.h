/* SPDX-License-Identifier: Apache-2.0 */
/* The chip's own side: the loop that takes mail and runs launches, the same in a process and on a thread. */
#ifndef TL_SIM_SERVE_H
#define TL_SIM_SERVE_H

#include "device/device.h"
#include "sim/mail.h"

struct tl_server {
    const struct tl_arch *arch;
    struct tl_devmem memory;
    struct tl_bell_page *bells;
    unsigned threads;           /* that step roles */
    struct tl_mailbox box;      /* the chip's end */
    int own_process;            /* 1: crashes are caught and reported by the run's status */
    void (*thread_begin)(void); /* else: called first in each thread of the chip; NULL: nothing */
};

/* Makes the device, sends READY, and serves until CLOSE or until the host is gone. Returns 0, or the code in READY. */
int tl__serve(const struct tl_server *server);

/* The descriptors that the parent passes to a chip's process; the rest are arguments. */
enum { TL_CHIP_FD_MEMORY = 3, TL_CHIP_FD_BELLS = 4, TL_CHIP_FD_MAIL = 5 };

#endif
