/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chip on a thread of the caller: for debuggers, sanitizers, the controlled environment, and programs linked into the
 * caller. The mailbox is one slot towards the chip; answers are delivered by the chip's thread itself.
 *
 * Slot: the host waits until taken == posted, writes the mail, posts; the chip waits until posted != taken, copies it,
 * takes. One writer a counter, both count up by one, so a wrap of 32 bits does no harm.
 */
#include <assert.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "sim/chip_impl.h"
#include "sim/serve.h"

struct runner {
    struct tl_chip *chip;
    struct tl_thread *thread;
    struct tl_server server;
    struct tl_mail slot;
    tl_au32 posted; /* writer: host. T1: publishes the slot; pairs with T2 */
    tl_au32 taken;  /* writer: chip. T3: gives the slot back; pairs with T4 */
};

static int take_mail(void *ctx, struct tl_mail *ret_mail)
{
    struct runner *r = ctx;
    uint32_t taken = tl_load_rlx(&r->taken); /* relaxed: this thread's own */

    while (tl_load_acq(&r->posted) == taken) /* T2: the slot is whole; pairs with T1 */
        (void)tl__park(&r->posted, taken, TL_FOREVER);
    assert(tl_load_rlx(&r->posted) - taken == 1); /* MI4: one mail is in the slot; relaxed: T2 has seen it */
    *ret_mail = r->slot;
    tl_store_rel(&r->taken, taken + 1); /* T3: the copy is made; pairs with T4 */
    tl__wake(&r->taken, 1);
    return 0;
}

static int answer(void *ctx, const struct tl_mail *mail)
{
    struct runner *r = ctx;

    tl__chip_deliver(r->chip, mail);
    return 0;
}

static void (*thread_begin)(void); /* set before any chip is opened */

void tl__chip_thread_begins(void (*begin)(void))
{
    thread_begin = begin;
}

static void chip_thread(void *arg)
{
    struct runner *r = arg;

    if (r->server.thread_begin != NULL)
        r->server.thread_begin();
    (void)tl__serve(&r->server);
}

static int thread_start(struct tl_chip *c, struct tl_error *reterr)
{
    struct runner *r = tl__alloc(1, sizeof(*r));
    int rc;

    if (r == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for a chip");
    assert(c->mapping != NULL && c->runner == NULL); /* MI6: a chip in a thread has its host's mapping */
    r->chip = c;
    r->server.arch = c->opts.arch;
    r->server.memory.base = c->mapping;
    r->server.memory.bytes = c->memory.bytes;
    r->server.bells = c->bells;
    r->server.threads = c->opts.threads;
    r->server.thread_begin = thread_begin;
    r->server.box.receive = take_mail;
    r->server.box.send = answer;
    r->server.box.ctx = r;
    rc = tl__spawn("tl-chip", chip_thread, r, &r->thread);
    if (rc != 0) {
        tl__free(r);
        return tl__fail(reterr, rc, "cannot start the chip's thread");
    }
    c->runner = r;
    return 0;
}

static int thread_send(struct tl_chip *c, const struct tl_mail *mail)
{
    struct runner *r = c->runner;
    uint32_t posted, taken;

    if (r == NULL)
        return TL_EDEVICE;
    posted = tl_load_rlx(&r->posted);                  /* relaxed: this side's own */
    while ((taken = tl_load_acq(&r->taken)) != posted) /* T4: the chip is done with the slot; pairs with T3 */
        (void)tl__park(&r->taken, taken, TL_FOREVER);
    assert(taken == posted && tl_load_rlx(&r->posted) == posted); /* MI4; relaxed: this side's own */
    r->slot = *mail;
    tl_store_rel(&r->posted, posted + 1); /* T1: publishes the slot; pairs with T2 */
    tl__wake(&r->posted, 1);
    return 0;
}

/* A thread cannot be ended from outside without breaking what it holds. */
static int thread_kill(struct tl_chip *c)
{
    (void)c;
    return TL_ENOTSUP;
}

static void thread_stop(struct tl_chip *c)
{
    struct runner *r = c->runner;

    if (r == NULL)
        return;
    tl__join(r->thread);
    tl__free(r);
    c->runner = NULL;
}

const struct tl_chip_ops tl__chip_thread = {
    .memory_make = tl__chip_file_make,
    .memory_end = tl__chip_file_end,
    .memory_give_back = tl__chip_file_give_back,
    .copy_in = tl__chip_file_copy_in,
    .copy_out = tl__chip_file_copy_out,
    .store = tl__chip_file_store,
    .load = tl__chip_file_load,
    .start = thread_start,
    .send = thread_send,
    .kill = thread_kill,
    .stop = thread_stop,
};
