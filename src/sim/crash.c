/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/crash.h"

#include <signal.h>
#include <string.h>

#include <tasklens/error.h>

#include "base/env.h"
#include "device/device.h"
#include "wire/launch.h"

#define STACK_BYTES (64u * 1024u)

/* One chip a process, so plain statics do. `status` is set between launches and read in the handler. */
static struct tl_devmem crash_memory;
static tl_au64 crash_status;

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"},
};

/* What ends a process without being a fault of its program. */
static const struct {
    int number;
    const char *name;
} others[] = {
    {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"},
};

const char *tl__signal_name(int signal_number)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (signals[i].number == signal_number)
            return signals[i].name;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].number == signal_number)
            return others[i].name;
    return "a signal";
}

/* Appends to `text`, which has room for `size` bytes and ends with a zero. Safe in a signal handler. */
static void put(char *text, size_t size, const char *more)
{
    size_t at = strlen(text);

    while (*more != '\0' && at + 1 < size)
        text[at++] = *more++;
    text[at] = '\0';
}

static void put_hex(char *text, size_t size, uint64_t value)
{
    char digits[19] = "0x";
    unsigned n = 2;

    for (int shift = 60; shift >= 0; shift -= 4) {
        unsigned digit = (unsigned)(value >> shift) & 15u;

        if (digit != 0 || n > 2 || shift == 0)
            digits[n++] = "0123456789abcdef"[digit];
    }
    digits[n] = '\0';
    put(text, size, digits);
}

static void put_dec(char *text, size_t size, uint64_t value)
{
    char digits[21];
    unsigned n = sizeof(digits) - 1;

    digits[n] = '\0';
    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put(text, size, digits + n);
}

/* Says which argument's buffer the address lies in, or which one ends closest before it. */
static void put_argument(char *text, size_t size, const struct tl_device_site *site, uint64_t address)
{
    uint64_t past = UINT64_MAX;
    uint32_t closest = 0;

    for (uint32_t i = 0; i < site->n_tensors; i++) {
        const struct tl_tensor *t = &site->tensors[i];
        const void *base = tl__dev_ptr(&crash_memory, t->buffer, t->buffer_bytes);
        uint64_t offset = address - (uint64_t)(uintptr_t)base;

        if (base == NULL || address < (uint64_t)(uintptr_t)base)
            continue;
        if (offset < t->buffer_bytes) {
            put(text, size, ", inside the buffer of argument ");
            put_dec(text, size, i);
            return;
        }
        if (offset - t->buffer_bytes < past) {
            past = offset - t->buffer_bytes;
            closest = i;
        }
    }
    if (past == UINT64_MAX)
        return;
    put(text, size, ", ");
    put_dec(text, size, past);
    put(text, size, " bytes past the buffer of argument ");
    put_dec(text, size, closest);
}

/* "in kernel "add" of task r0t2 on AIV core 24" */
static void put_site(char *text, size_t size, const struct tl_device_site *site)
{
    put(text, size, " in kernel \"");
    put(text, size, site->kernel);
    put(text, size, "\" of task r");
    put_dec(text, size, site->task >> 32);
    put(text, size, "t");
    put_dec(text, size, site->task & UINT32_MAX);
    put(text, size, site->core_type == TL_AIC ? " on AIC core " : " on AIV core ");
    put_dec(text, size, site->core);
}

/*
 * Only stores to mapped memory and calls that are safe in a handler. The first fatal code wins: a second crash, of
 * another thread, finds the code set and adds nothing. Afterwards the signal's default action ends the process, because
 * SA_RESETHAND has put it back and returning repeats the fault.
 */
static void on_crash(int signal_number, siginfo_t *info, void *context)
{
    uint64_t addr = tl_load_acq(&crash_status); /* K1: pairs with K2 in tl__crash_set_status */
    struct tl_device_site site;
    bool in_kernel = tl__device_site(&site);
    struct tl_run_status *status = addr ? tl__dev_ptr(&crash_memory, addr, sizeof(*status)) : NULL;
    uint32_t none = 0;

    (void)context;
    if (status != NULL && tl_cas_acq_rel(&status->code, &none, (uint32_t)-TL_ECRASH)) { /* first code wins */
        status->message[0] = '\0';
        put(status->message, sizeof(status->message), tl__signal_name(signal_number));
        if (info->si_code == SI_KERNEL) {
            put(status->message, sizeof(status->message), " at an address that no pointer can have");
        } else if (signal_number != SIGABRT) {
            put(status->message, sizeof(status->message), " at address ");
            put_hex(status->message, sizeof(status->message), (uint64_t)(uintptr_t)info->si_addr);
        }
        if (in_kernel)
            put_site(status->message, sizeof(status->message), &site);
        else
            put(status->message, sizeof(status->message), ", outside of any kernel");
        if (in_kernel && info->si_code != SI_KERNEL && (signal_number == SIGSEGV || signal_number == SIGBUS))
            put_argument(status->message, sizeof(status->message), &site, (uint64_t)(uintptr_t)info->si_addr);
    }
    if (signal_number != SIGABRT && info->si_code <= 0)
        (void)raise(signal_number); /* sent by somebody: nothing would repeat it */
}

void tl__crash_install(const struct tl_devmem *memory)
{
    static uint8_t stack[STACK_BYTES];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action;

    crash_memory = *memory;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaltstack(&alternate, NULL);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)sigaction(signals[i].number, &action, NULL);
}

void tl__crash_set_status(uint64_t status)
{
    tl_store_rel(&crash_status, status); /* K2: the status block is mapped; pairs with K1 */
}
