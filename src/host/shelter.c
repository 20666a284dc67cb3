/* SPDX-License-Identifier: Apache-2.0 */
#include "host/shelter.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tasklens/error.h>

#include "base/atomic.h" /* TL__TSAN */
#include "base/code_place.h"
#include "base/env.h"
#include "host/compile.h"

#define STACK_BYTES ((size_t)64 * 1024)
#define NULL_PAGE 4096u
#define STACK_REACH ((uintptr_t)1 << 20) /* an address so near the stack pointer lies behind the stack's end */

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

/* The call under way. The handler runs on the thread that wrote all this, or looks at `thread` only. */
static struct {
    volatile pid_t thread; /* 0: none */
    sigjmp_buf back;
    siginfo_t info;
    uint64_t code, stack; /* registers; 0: unknown */
    struct tl_code_object object;
    struct tl_code_place place;
    volatile bool unwinding; /* the handler reads the stack, which may be broken */
} shelter;

/* The stack's frames are gone when the handler has left. */
static void find_place(void)
{
    shelter.place = tl__code_at(&shelter.object, shelter.code);
    if (shelter.place.known && shelter.info.si_code > 0)
        return;
    shelter.unwinding = true;
    shelter.place = tl__code_here(
        &shelter.object, shelter.code == (uintptr_t)shelter.info.si_addr && shelter.code != 0 ? shelter.stack : 0);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    if (gettid() == shelter.thread) {
        if (!shelter.unwinding) {
            shelter.info = *info;
            tl__code_registers(context, &shelter.code, &shelter.stack);
            find_place();
        }
        shelter.thread = 0;
        siglongjmp(shelter.back, 1);
    }
    /* Another thread's: as if nobody were here. A fault repeats itself, what was sent does not. */
    (void)signal(signal_number, SIG_DFL);
    if (signal_number != SIGABRT && info->si_code <= 0)
        (void)raise(signal_number);
}

/* True while ours. What has a handler is left to it. */
static bool catch_signal(int signal_number, struct sigaction *ret_before)
{
    struct sigaction action;

#ifdef TL__TSAN /* its handlers do not show in what sigaction() tells */
    return false;
#endif
    if (sigaction(signal_number, NULL, ret_before) != 0 || (ret_before->sa_flags & SA_SIGINFO) != 0 ||
        ret_before->sa_handler != SIG_DFL)
        return false;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER; /* a second one while the first looks for its place */
    (void)sigemptyset(&action.sa_mask);
    return sigaction(signal_number, &action, NULL) == 0;
}

/* The object and the place in it; nothing where the code is in no object. */
static void put_code(char *how, size_t size)
{
    size_t used = strlen(how);
    const char *slash;
    Dl_info object;

    if (shelter.code == 0 || dladdr((void *)shelter.code, &object) == 0 || object.dli_fname == NULL)
        return;
    slash = strrchr(object.dli_fname, '/');
    (void)snprintf(how + used, size - used, " in %s+0x%" PRIxPTR, slash != NULL ? slash + 1 : object.dli_fname,
                   shelter.code - (uintptr_t)object.dli_fbase);
}

/* Where in the program. A compiled one's object is gone when this is read. */
static void put_place(char *how, size_t size)
{
    struct tl_text t = {how, size, strlen(how)};
    const char *path = shelter.object.path, *slash = strrchr(path, '/');

    tl__text_put(&t, how[t.used - 1] == ',' ? " " : "; ");
    tl__code_put(&t, path, tl__compile_made(path) ? NULL : slash != NULL ? slash + 1 : path, &shelter.place);
}

static void describe(char *how, size_t size)
{
    uintptr_t address = (uintptr_t)shelter.info.si_addr;
    int number = shelter.info.si_signo;
    bool addressed =
        (number == SIGSEGV || number == SIGBUS) && shelter.info.si_code > 0 && shelter.info.si_code != SI_KERNEL;

    (void)snprintf(how, size, "SIG%s", sigabbrev_np(number));
    if (number == SIGABRT)
        (void)snprintf(how, size, "SIGABRT: abort(), an assert that does not hold, or a sanitizer's report");
    else if (addressed)
        (void)snprintf(how, size, "SIG%s at address 0x%" PRIxPTR "%s", sigabbrev_np(number), address,
                       address < NULL_PAGE ? ", a null pointer,"
                       : shelter.stack != 0 && address + STACK_REACH > shelter.stack &&
                               address < shelter.stack + NULL_PAGE
                           ? ", past the end of the stack,"
                           : "");
    if (shelter.place.known)
        put_place(how, size);
    else if (number != SIGABRT && shelter.info.si_code > 0)
        put_code(how, size);
}

int tl__shelter(int (*call)(struct tl_data *data), struct tl_data *data, int *ret_code, char *how, size_t size)
{
    const stack_t own = {.ss_sp = tl__reserve(STACK_BYTES), .ss_size = STACK_BYTES};
    struct sigaction before[SIGNALS];
    bool caught[SIGNALS];
    stack_t stack_before;
    bool has_stack = own.ss_sp != NULL && sigaltstack(&own, &stack_before) == 0;
    int rc = 0;

    shelter.code = shelter.stack = 0;
    shelter.place.known = shelter.unwinding = false;
    tl__code_object_of(&shelter.object, (const void *)(uintptr_t)call);
    for (size_t i = 0; i < SIGNALS; i++)
        caught[i] = catch_signal(signals[i], &before[i]);
    if (sigsetjmp(shelter.back, 1) == 0) {
        shelter.thread = gettid();
        *ret_code = call(data);
    } else {
        rc = TL_ECRASH;
    }
    shelter.thread = 0;
    for (size_t i = 0; i < SIGNALS; i++)
        if (caught[i])
            (void)sigaction(signals[i], &before[i], NULL);
    if (has_stack)
        (void)sigaltstack(&stack_before, NULL);
    tl__release(own.ss_sp, STACK_BYTES);
    if (rc != 0)
        describe(how, size);
    return rc;
}
