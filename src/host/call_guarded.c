/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call_guarded.h"

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
#include "base/count_of.h"
#include "base/env.h"
#include "host/compile.h"

#define STACK_BYTES ((size_t)64 * 1024)
#define NULL_PAGE 4096u
#define STACK_REACH ((uintptr_t)1 << 20) /* an address this close to the stack pointer is past the stack's end */

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define SIGNALS (COUNT_OF(signals))

/* The current call. The signal handler runs on the thread that wrote these fields, or reads `thread` only. */
static struct {
    volatile pid_t thread; /* 0: none; read by the signal handler */
    sigjmp_buf back;
    siginfo_t info;
    uint64_t code, stack; /* registers; 0: unknown */
    struct tl_code_object object;
    struct tl_code_place place;
    volatile bool unwinding; /* the signal handler reads the stack, which may be broken */
} guard;

/* The stack's frames are gone when the handler has left. */
static void find_place(void)
{
    guard.place = tl__code_at(&guard.object, guard.code);
    if (guard.place.known && guard.info.si_code > 0)
        return;
    guard.unwinding = true;
    guard.place =
        tl__code_here(&guard.object, guard.code == (uintptr_t)guard.info.si_addr && guard.code != 0 ? guard.stack : 0);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    if (gettid() == guard.thread) {
        if (!guard.unwinding) {
            guard.info = *info;
            tl__code_registers(context, &guard.code, &guard.stack);
            find_place();
        }
        guard.thread = 0;
        siglongjmp(guard.back, 1);
    }
    /* Another thread's signal: restore its default action. A fault happens again by itself; a sent signal does not. */
    (void)signal(signal_number, SIG_DFL);
    if (signal_number != SIGABRT && info->si_code <= 0)
        (void)raise(signal_number);
}

/* True if our handler is installed. A signal that has another handler keeps it. */
static bool catch_signal(int signal_number, struct sigaction *ret_before)
{
    struct sigaction action;

#ifdef TL__TSAN /* sigaction() does not return its handlers */
    return false;
#endif
    if (sigaction(signal_number, NULL, ret_before) != 0 || (ret_before->sa_flags & SA_SIGINFO) != 0 ||
        ret_before->sa_handler != SIG_DFL)
        return false;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_fault;
    action.sa_flags =
        SA_SIGINFO | SA_ONSTACK | SA_NODEFER; /* a second fault while the first one's place is looked up */
    (void)sigemptyset(&action.sa_mask);
    return sigaction(signal_number, &action, NULL) == 0;
}

/* Appends the object and the offset in it; nothing if the code belongs to no object. */
static void put_code(char *how, size_t size)
{
    size_t used = strlen(how);
    const char *slash;
    Dl_info object;

    if (guard.code == 0 || dladdr((void *)guard.code, &object) == 0 || object.dli_fname == NULL)
        return;
    slash = strrchr(object.dli_fname, '/');
    (void)snprintf(how + used, size - used, " in %s+0x%" PRIxPTR, slash != NULL ? slash + 1 : object.dli_fname,
                   guard.code - (uintptr_t)object.dli_fbase);
}

/* Appends the place in the program. The object of a program compiled here is removed before a user reads this. */
static void put_place(char *how, size_t size)
{
    struct tl_text t = {how, size, strlen(how)};
    const char *path = guard.object.path, *slash = strrchr(path, '/');

    tl__text_put(&t, how[t.used - 1] == ',' ? " " : "; ");
    tl__code_put(&t, path, tl__compile_made(path) ? NULL : slash != NULL ? slash + 1 : path, &guard.place);
}

static void describe(char *how, size_t size)
{
    uintptr_t address = (uintptr_t)guard.info.si_addr;
    int number = guard.info.si_signo;
    bool addressed =
        (number == SIGSEGV || number == SIGBUS) && guard.info.si_code > 0 && guard.info.si_code != SI_KERNEL;

    (void)snprintf(how, size, "SIG%s", sigabbrev_np(number));
    if (number == SIGABRT)
        (void)snprintf(how, size, "SIGABRT: abort(), an assert that does not hold, or a sanitizer's report");
    else if (addressed)
        (void)snprintf(how, size, "SIG%s at address 0x%" PRIxPTR "%s", sigabbrev_np(number), address,
                       address < NULL_PAGE ? ", a null pointer,"
                       : guard.stack != 0 && address + STACK_REACH > guard.stack && address < guard.stack + NULL_PAGE
                           ? ", past the end of the stack,"
                           : "");
    if (guard.place.known)
        put_place(how, size);
    else if (number != SIGABRT && guard.info.si_code > 0)
        put_code(how, size);
}

int tl__call_guarded(int (*call)(struct tl_data *data), struct tl_data *data, int *ret_code, char *how, size_t size)
{
    const stack_t own = {.ss_sp = tl__reserve(STACK_BYTES), .ss_size = STACK_BYTES};
    struct sigaction before[SIGNALS];
    bool caught[SIGNALS];
    stack_t stack_before;
    bool has_stack = own.ss_sp != NULL && sigaltstack(&own, &stack_before) == 0;
    int rc = 0;

    guard.code = guard.stack = 0;
    guard.place.known = guard.unwinding = false;
    tl__code_object_of(&guard.object, (const void *)(uintptr_t)call);
    for (size_t i = 0; i < SIGNALS; i++)
        caught[i] = catch_signal(signals[i], &before[i]);
    if (sigsetjmp(guard.back, 1) == 0) {
        guard.thread = gettid();
        *ret_code = call(data);
    } else {
        rc = TL_ECRASH;
    }
    guard.thread = 0;
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
