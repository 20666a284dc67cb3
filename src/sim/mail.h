/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mailbox between a chip and its host: a few messages a run, none of them for a task or a record. Data is never
 * sent here; it is in device memory.
 */
#ifndef TL_SIM_MAIL_H
#define TL_SIM_MAIL_H

#include <stdint.h>

#define TL_MAIL_VERSION 1u

enum tl_mail_kind {
    /* host -> chip */
    TL_MAIL_LOAD,   /* text: path of a shared object; or linked: the program itself (thread mode). handle: its number */
    TL_MAIL_LAUNCH, /* addr: of the struct tl_launch, handle: the program */
    TL_MAIL_CLOSE,
    /* chip -> host */
    TL_MAIL_READY,  /* code, text; handle: TL_MAIL_VERSION */
    TL_MAIL_LOADED, /* code, text */
    TL_MAIL_DONE,   /* code: of the run */
};

struct tl_mail {
    uint32_t kind; /* enum tl_mail_kind */
    uint32_t handle;
    int32_t code;
    uint32_t reserved;
    uint64_t addr;
    const void *linked; /* a pointer of the sender's: meaningful in thread mode only */
    char text[4096];
};

/* One side's end. `receive` blocks. 0, or TL_EDEVICE when the other side is gone. */
struct tl_mailbox {
    int (*receive)(void *ctx, struct tl_mail *ret_mail);
    int (*send)(void *ctx, const struct tl_mail *mail);
    void *ctx;
};

#endif
