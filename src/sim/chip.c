/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/chip_impl.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "wire/launch.h"
#include "wire/memory.h"

/* How long a chip may take to answer after its run has reported a failure. */
#define GRACE_NS UINT64_C(500000000)
#define DEFAULT_MEMORY (UINT64_C(16) << 30)

void tl__chip_deliver(struct tl_chip *c, const struct tl_mail *mail)
{
    switch (mail->kind) {
    case TL_MAIL_READY:
        c->ready_code = mail->handle == TL_MAIL_VERSION ? mail->code : TL_EVERSION;
        (void)snprintf(c->text, sizeof(c->text), "%.1000s",
                       mail->handle == TL_MAIL_VERSION ? mail->text : "the chip program is of another version");
        (void)tl_add_rel(&c->ready, 1u); /* C1: publishes code and text; pairs with C2 */
        break;
    case TL_MAIL_LOADED:
        c->loaded_code = mail->code;
        (void)snprintf(c->text, sizeof(c->text), "%.1000s", mail->text);
        (void)tl_add_rel(&c->loaded, 1u); /* C1: publishes code and text; pairs with C2 */
        break;
    case TL_MAIL_DONE:
        if (tl_load_rlx(&c->done) == tl_load_rlx(&c->launches_asked)) /* relaxed: counted before it was asked for */
            return; /* no launch is open: a program wrote to the mailbox */
        c->done_code = mail->code;
        (void)tl_add_rel(&c->done, 1u); /* C1: publishes the code; pairs with C2 */
        break;
    default:
        return;
    }
    tl__bell_wake(&c->bells->run);
}

void tl__chip_died(struct tl_chip *c, int signal_number, const char *death)
{
    assert(tl__chip_alive(c)); /* MI6: a chip dies once */
    assert(death[0] != '\0');  /* MI6: and its death has a description */
    c->death_signal = signal_number;
    (void)snprintf(c->death, sizeof(c->death), "%s", death);
    tl_store_rel(&c->dead, 1u); /* C1: publishes how; pairs with C2 */
    tl__bell_wake(&c->bells->run);
}

/* True if the run's status says that it has failed. State and code are one word. */
static bool reported_failure(struct tl_chip *c)
{
    uint64_t word;

    assert(c->status != 0);             /* MI5: only a launch is waited for so */
    word = tl__chip_peek(c, c->status); /* A7: the rest of the status is visible; pairs with R7 */
    return (uint32_t)word == TL_RUN_DONE && word >> 32 != 0;
}

/* Waits until *counter has reached `count` (it counts by one, so equality is enough), the chip is dead, or time is up.
 * `grace_ns`: NULL, or until when a chip that has reported a failure may take to answer; set when that is first seen,
 * which ends the wait with TL_CHIP_TIMEOUT. */
static enum tl_chip_event await(struct tl_chip *c, const tl_au32 *counter, uint32_t count, uint64_t *grace_ns,
                                uint64_t deadline_ns)
{
    struct tl_bell *bell = &c->bells->run;

    for (;;) {
        uint32_t ticket = tl__bell_arm(bell);
        enum tl_chip_event event = TL_CHIP_TIMEOUT;
        int rc = 0;

        if (tl_load_acq(counter) == count) /* C2: what came with it is visible; pairs with C1 */
            event = TL_CHIP_DONE;
        else if (tl_load_acq(&c->dead))                                          /* C2: as above */
            event = tl_load_acq(counter) == count ? TL_CHIP_DONE : TL_CHIP_DEAD; /* C2: it may have come in between */
        else if (grace_ns != NULL && *grace_ns == TL_FOREVER && reported_failure(c)) {
            *grace_ns = tl__now_ns() + GRACE_NS;
            assert(*grace_ns != TL_FOREVER); /* MI5: set once for all waits of this launch */
            rc = TL_ETIMEDOUT;
        } else
            rc = tl__bell_sleep_bounded(bell, ticket, deadline_ns);
        tl__bell_disarm(bell);
        if (event != TL_CHIP_TIMEOUT || rc == TL_ETIMEDOUT)
            return event;
    }
}

static void give_back(void *ctx, uint64_t at, uint64_t bytes)
{
    struct tl_chip *c = ctx;

    c->ops->memory_give_back(c, at, bytes);
}

static int make_memory(struct tl_chip *c, struct tl_error *reterr)
{
    c->memory.give_back = give_back;
    c->memory.ctx = c;
    return c->ops->memory_make(c, reterr);
}

static int make_bells(struct tl_chip *c, struct tl_error *reterr)
{
    void *page;

    c->bells_fd = memfd_create("tasklens-bells", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (c->bells_fd < 0 || ftruncate(c->bells_fd, sizeof(struct tl_bell_page)) != 0 || tl__sim_seal(c->bells_fd) != 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "cannot make the bell page: %s", strerror(errno));
    page = mmap(NULL, sizeof(struct tl_bell_page), PROT_READ | PROT_WRITE, MAP_SHARED, c->bells_fd, 0);
    if (page == MAP_FAILED)
        return tl__fail(reterr, tl__code_of_errno(errno), "cannot map the bell page: %s", strerror(errno));
    c->bells = page;
    c->bells->magic = TL_BELL_MAGIC;
    return 0;
}

/*
 * Ends the runner. Any thread may be in tl__chip_kill at that moment, and holds the runner; and the next chip has no
 * process number before it is started. So CK1: `killable` is 0 from before the runner ends to after the next one has
 * started, and CK2: a killer counts itself before it looks at `killable`. The full fences on both sides order store and
 * look: either the killer sees 0 and leaves the runner alone, or its count is seen here and waited for. That ends,
 * because a killer waits only for the chip's monitor, which waits for no thread. A killer cannot die in between: it is
 * a thread of this process.
 */
static void stop_runner(struct tl_chip *c)
{
    uint32_t killers;

    tl_store_rel(&c->killable, 0u);                   /* CK1 */
    tl_fence_full();                                  /* CK1: before the look at `killers`; pairs with CK2 */
    while ((killers = tl_load_acq(&c->killers)) != 0) /* CK2: their use of the runner is over */
        (void)tl__park(&c->killers, killers, TL_FOREVER);
    c->ops->stop(c);
    assert(c->runner == NULL); /* MI6: nothing runs over the memory */
}

/* Starts the chip and waits for READY. */
static int start(struct tl_chip *c, struct tl_error *reterr)
{
    uint32_t count = tl_load_rlx(&c->ready) + 1; /* relaxed: nobody delivers while no chip runs */
    int rc;

    assert(c->runner == NULL); /* MI6: one chip at a time over a memory */
    rc = c->ops->start(c, reterr);
    assert((rc == 0) == (c->runner != NULL)); /* MI6 */
    if (rc != 0)
        return rc;
    tl_store_rel(&c->killable, 1u); /* CK1: publishes the started runner */
    if (await(c, &c->ready, count, NULL, TL_FOREVER) != TL_CHIP_DONE)
        rc = tl__fail(reterr, TL_EDEVICE, "the chip did not start: it %s", c->death);
    else if (c->ready_code != 0)
        rc = tl__fail(reterr, c->ready_code, "the chip did not start: %s", c->text);
    if (rc != 0) {
        stop_runner(c);
        tl_store_rlx(&c->dead, 1u); /* relaxed: no other thread uses it before the caller returns */
    }
    return rc;
}

/* The bell page stays mapped, and with `abandon` so does the memory. */
static void close_files(struct tl_chip *c, bool abandon)
{
    if (c->bells_fd >= 0)
        (void)close(c->bells_fd);
    c->bells_fd = -1;
    c->ops->memory_end(c, abandon);
    tl__sim_memory_fini(&c->memory);
}

static void free_chip(struct tl_chip *c)
{
    if (c->bells != NULL)
        (void)munmap(c->bells, sizeof(*c->bells));
    close_files(c, false);
    tl__free(c->outgoing);
    tl__free(c);
}

int tl__chip_open(const struct tl_chip_opts *opts, struct tl_chip **ret_chip, struct tl_error *reterr)
{
    struct tl_chip *c = tl__alloc(1, sizeof(*c));
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int rc;

    if (c == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for a chip");
    c->opts = *opts;
    if (c->opts.threads == 0)
        c->opts.threads = cpus > 0 ? (unsigned)cpus : 1;
    c->ops = opts->ops;
    if (c->ops == NULL)
        c->ops = opts->mode == TL_CHIP_THREAD ? &tl__chip_thread : &tl__chip_process;
    c->bells_fd = c->memory_fd = -1;
    c->outgoing = tl__alloc(1, sizeof(*c->outgoing));
    rc = c->outgoing == NULL ? tl__fail(reterr, TL_ENOMEM, "no memory for a chip") : 0;
    if (rc == 0)
        rc = tl__sim_memory_init(&c->memory, opts->memory_bytes ? opts->memory_bytes : DEFAULT_MEMORY, reterr);
    if (rc == 0)
        rc = make_memory(c, reterr);
    if (rc == 0)
        rc = make_bells(c, reterr);
    if (rc == 0)
        rc = start(c, reterr);
    if (rc != 0) {
        free_chip(c);
        return rc;
    }
    *ret_chip = c;
    return 0;
}

void tl__chip_close(struct tl_chip *c, bool abandon)
{
    if (c == NULL)
        return;
    if (tl__chip_alive(c)) {
        bool busy = tl_load_acq(&c->done) != tl_load_rlx(&c->launches_asked); /* C2; relaxed: closing comes after */

        if (abandon || busy)
            if (c->ops->kill(c) == TL_ENOTSUP && abandon)
                return close_files(c, true); /* a thread of the chip still uses the rest */
        c->outgoing->kind = TL_MAIL_CLOSE;
        (void)c->ops->send(c, c->outgoing);
    }
    stop_runner(c);
    free_chip(c);
}

void tl__chip_view(const struct tl_chip *c, struct tl_chip_view *ret_view)
{
    ret_view->mapping = c->opts.transport == TL_TRANSPORT_MAPPED ? c->mapping : NULL;
    ret_view->bytes = c->memory.bytes;
    ret_view->bells = c->bells;
}

int tl__chip_alloc(struct tl_chip *c, uint64_t bytes, enum tl_memory_use use, const char *what, uint64_t *ret_addr,
                   struct tl_error *reterr)
{
    return tl__sim_memory_alloc(&c->memory, bytes, use, what, ret_addr, reterr);
}

void tl__chip_free(struct tl_chip *c, uint64_t addr)
{
    tl__sim_memory_free(&c->memory, addr);
}

/* Whether [addr, addr + bytes) is in device memory. */
static bool inside(const struct tl_chip *c, uint64_t addr, uint64_t bytes)
{
    uint64_t offset = addr - TL_DEV_BASE;

    return addr >= TL_DEV_BASE && offset <= c->memory.bytes && bytes <= c->memory.bytes - offset;
}

int tl__chip_copy_in(struct tl_chip *c, uint64_t addr, const void *data, uint64_t bytes)
{
    if (!inside(c, addr, bytes))
        return TL_ERANGE;
    return bytes == 0 ? 0 : c->ops->copy_in(c, addr - TL_DEV_BASE, data, bytes);
}

int tl__chip_copy_out(struct tl_chip *c, void *data, uint64_t addr, uint64_t bytes)
{
    if (!inside(c, addr, bytes))
        return TL_ERANGE;
    return bytes == 0 ? 0 : c->ops->copy_out(c, data, addr - TL_DEV_BASE, bytes);
}

int tl__chip_store(struct tl_chip *c, uint64_t addr, uint64_t word)
{
    if (!inside(c, addr, sizeof(word)) || addr % sizeof(word) != 0)
        return TL_ERANGE;
    return c->ops->store(c, addr - TL_DEV_BASE, word);
}

int tl__chip_word(struct tl_chip *c, uint64_t addr, uint64_t *ret_word)
{
    if (!inside(c, addr, sizeof(*ret_word)) || addr % sizeof(*ret_word) != 0)
        return TL_ERANGE;
    return c->ops->load(c, addr - TL_DEV_BASE, ret_word);
}

uint64_t tl__chip_peek(struct tl_chip *c, uint64_t addr)
{
    uint64_t word = 0;

    return tl__chip_word(c, addr, &word) == 0 ? word : 0;
}

int tl__chip_load(struct tl_chip *c, const char *path, const struct tl_program *linked, uint32_t *ret_handle,
                  struct tl_error *reterr)
{
    struct tl_mail *mail = c->outgoing;

    if (linked != NULL && c->opts.mode != TL_CHIP_THREAD)
        return tl__fail(reterr, TL_ENOTSUP, "a program linked into the caller needs the device mode \"thread\"");
    memset(mail, 0, sizeof(*mail));
    mail->kind = TL_MAIL_LOAD;
    mail->handle = c->programs;
    mail->linked = linked;
    if (linked == NULL && (size_t)snprintf(mail->text, sizeof(mail->text), "%s", path) >= sizeof(mail->text))
        return tl__fail(reterr, TL_EINVAL, "the path of the program is too long");
    if (!tl__chip_alive(c) || c->ops->send(c, mail) != 0) {
        (void)tl__chip_kill(c); /* a closed mailbox is seen before the monitor knows how the chip died */
        return tl__fail(reterr, TL_EDEVICE, "device %d is gone: it %s", c->opts.device_id, c->death);
    }
    c->loads_asked++;
    if (await(c, &c->loaded, c->loads_asked, NULL, TL_FOREVER) != TL_CHIP_DONE)
        return tl__fail(reterr, TL_EDEVICE, "the chip %s while it loaded %s", c->death, linked ? linked->name : path);
    if (c->loaded_code != 0)
        return tl__fail(reterr, c->loaded_code, "the chip cannot load the program: %s", c->text);
    *ret_handle = c->programs++;
    return 0;
}

int tl__chip_launch(struct tl_chip *c, uint64_t launch, uint64_t status, uint32_t handle)
{
    int rc;

    assert(tl_load_acq(&c->done) == tl_load_rlx(&c->launches_asked) || !tl__chip_alive(c)); /* C2; MI5: one at a time */
    assert(launch != 0 && status != 0);
    c->status = status;
    c->grace_ns = TL_FOREVER;
    memset(c->outgoing, 0, sizeof(*c->outgoing));
    c->outgoing->kind = TL_MAIL_LAUNCH;
    c->outgoing->addr = launch;
    c->outgoing->handle = handle;
    (void)tl_add_rlx(&c->launches_asked, 1u); /* relaxed: see the field */
    rc = tl__chip_alive(c) ? c->ops->send(c, c->outgoing) : TL_EDEVICE;
    if (rc != 0)
        (void)tl_add_rlx(&c->launches_asked, UINT32_MAX); /* relaxed: as above; it was not launched */
    return rc;
}

/*
 * The end of a launch is the chip's answer. A chip whose thread is stuck in a kernel never answers: there the run's
 * status, written by another of its threads, decides, once the chip has had time to answer.
 */
enum tl_chip_event tl__chip_wait(struct tl_chip *c, uint64_t deadline_ns, int *ret_code)
{
    /* Relaxed: the caller orders the launch before this wait. */
    const uint32_t count = tl_load_rlx(&c->launches_asked);

    for (;;) {
        enum tl_chip_event event;

        event = await(c, &c->done, count, &c->grace_ns, c->grace_ns < deadline_ns ? c->grace_ns : deadline_ns);
        if (event == TL_CHIP_DONE)
            *ret_code = c->done_code;
        if (event != TL_CHIP_TIMEOUT)
            return event;
        if (tl__now_ns() >= c->grace_ns)
            return TL_CHIP_STUCK;
        if (tl__now_ns() >= deadline_ns)
            return TL_CHIP_TIMEOUT;
    }
}

int tl__chip_kill(struct tl_chip *c)
{
    int rc = 0;

    (void)tl_add_acq_rel(&c->killers, 1u);                   /* CK2 */
    tl_fence_full();                                         /* CK2: before the look at `killable`; pairs with CK1 */
    if (tl_load_acq(&c->killable) != 0 && tl__chip_alive(c)) /* CK1: the runner is visible */
        rc = c->ops->kill(c);
    if (tl_sub_acq_rel(&c->killers, 1u) == 1u) /* CK2: ours is the last use of the runner */
        tl__wake(&c->killers, UINT32_MAX);
    return rc;
}

bool tl__chip_alive(const struct tl_chip *c)
{
    return tl_load_acq(&c->dead) == 0; /* C2: `death` is visible to who saw it dead; pairs with C1 */
}

const char *tl__chip_death(const struct tl_chip *c, int *ret_signal)
{
    *ret_signal = c->death_signal;
    return c->death;
}

int tl__chip_restart(struct tl_chip *c, struct tl_error *reterr)
{
    if (tl__chip_alive(c))
        return 0;
    stop_runner(c);
    c->programs = 0;
    c->loads_asked = 0;
    /* Relaxed: the old chip's deliverer is joined and the new one's is not started. */
    tl_store_rlx(&c->loaded, 0u);
    tl_store_rlx(&c->done, 0u);
    tl_store_rlx(&c->launches_asked, 0u);
    tl_store_rlx(&c->dead, 0u);
    return start(c, reterr);
}
