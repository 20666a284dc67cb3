/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/crash.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include <tasklens/error.h>

#include "base/code_place.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/text.h"
#include "device/device.h"
#include "sim/chip.h"
#include "wire/launch.h"

#define STACK_BYTES (64u * 1024u)
/* A fault at an address at most this far below the stack pointer is an overflow of the stack. */
#define STACK_REACH (UINT64_C(1) << 20)
#define STACK_ABOVE UINT64_C(4096)

/* A process has one chip, so these are static. All but `status` are set between launches, and K2 publishes them. */
static struct tl_devmem crash_memory;
static struct tl_code_object crash_object;
static tl_au64 crash_status;
static tl_au32 crash_taken; /* K3: 1: a thread is reporting */

/* Faults of the program. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
/* Signals that end a process by default and are no faults: a program that raises one ends the chip, and is named in the
 * report. The real-time signals too. */
static const int endings[] = {SIGTERM, SIGHUP,  SIGQUIT, SIGINT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM,  SIGVTALRM,
                              SIGPROF, SIGXCPU, SIGXFSZ, SIGSYS, SIGTRAP, SIGIO,   SIGPWR,  SIGSTKFLT};
/* Threads that run the program's code, for signals that the kernel delivers to another one. */
#define THREADS_MAX 256u
static tl_au32 thread_ids[THREADS_MAX]; /* 0: none; written once each, before any launch or by the thread itself */
static tl_au32 timer_handed_on;         /* the signal of a timer that a thread in no kernel got; 0: none */
static tl_au32 thread_count, asked;     /* `asked`: to how many of them a signal was handed on */
static bool sanitized;                  /* the address sanitizer is in this process */
static pid_t process;                   /* 0: not a chip's process; a forked child is another */

/* Static text: asked for in handlers, and by several threads. */
#define NAME(signal) [signal] = #signal
static const char *const names[] = {
    NAME(SIGHUP),  NAME(SIGINT),    NAME(SIGQUIT), NAME(SIGILL),  NAME(SIGTRAP),   NAME(SIGABRT), NAME(SIGBUS),
    NAME(SIGFPE),  NAME(SIGKILL),   NAME(SIGUSR1), NAME(SIGSEGV), NAME(SIGUSR2),   NAME(SIGPIPE), NAME(SIGALRM),
    NAME(SIGTERM), NAME(SIGSTKFLT), NAME(SIGCHLD), NAME(SIGCONT), NAME(SIGSTOP),   NAME(SIGTSTP), NAME(SIGTTIN),
    NAME(SIGTTOU), NAME(SIGURG),    NAME(SIGXCPU), NAME(SIGXFSZ), NAME(SIGVTALRM), NAME(SIGPROF), NAME(SIGWINCH),
    NAME(SIGIO),   NAME(SIGPWR),    NAME(SIGSYS)};
#undef NAME

const char *tl__signal_name(int signal_number)
{
    if (signal_number >= 0 && (size_t)signal_number < COUNT_OF(names) && names[signal_number] != NULL)
        return names[signal_number];
    return signal_number >= SIGRTMIN && signal_number <= SIGRTMAX ? "a real-time signal" : "a signal";
}

/* ---- reading a signal ---- */

struct registers {
    uint64_t code, stack; /* 0: unknown */
    uint8_t access;       /* enum tl_access */
};

static struct registers read_registers(const ucontext_t *context)
{
    struct registers r = {0, 0, TL_ACCESS_UNKNOWN};

    tl__code_registers(context, &r.code, &r.stack);
#if defined(__x86_64__)
    const greg_t *g = context->uc_mcontext.gregs;

    if (g[REG_TRAPNO] == 14) /* a page fault: bit 1 of its code says write, bit 4 a fetch of code */
        r.access = (g[REG_ERR] & 16) != 0 ? TL_ACCESS_JUMP : (g[REG_ERR] & 2) != 0 ? TL_ACCESS_WRITE : TL_ACCESS_READ;
#endif
    return r;
}

static bool is_fault(int signal_number)
{
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        if (faults[i] == signal_number)
            return true;
    return signal_number == SIGTRAP || signal_number == SIGSYS; /* of an instruction */
}

static bool is_timer(int signal_number, int code)
{
    return code == SI_TIMER ||
           (code > 0 && (signal_number == SIGALRM || signal_number == SIGVTALRM || signal_number == SIGPROF));
}

static const char *how(int signal_number, int code)
{
    if (signal_number == SIGABRT)
        return sanitized ? "abort() was called, by the sanitizer whose report is above, or by the program"
                         : "abort() was called";
    if (is_timer(signal_number, code) ||
        (code == SI_TKILL && tl_load_rlx(&timer_handed_on) == (uint32_t)signal_number)) /* relaxed: from on_ending */
        return "a timer that the program set";
    if (code > 0 && !is_fault(signal_number))
        return "the system sent the signal";
    if (code <= 0)
        return "the signal was sent, by raise(), kill() or a timer of the program, or by another process";
    if (signal_number == SIGILL)
        return "an instruction that this processor does not have, or a trap that the compiler put there";
    if (signal_number == SIGFPE)
        return code == FPE_INTDIV   ? "an integer division by zero, or one whose result does not fit"
               : code == FPE_INTOVF ? "an integer overflow"
                                    : "an arithmetic exception";
    return NULL;
}

static struct tl_fault read_fault(int signal_number, const siginfo_t *info, const ucontext_t *context)
{
    struct registers r = read_registers(context);
    struct tl_fault f = {.signal = tl__signal_name(signal_number), .how = how(signal_number, info->si_code)};

    f.code = info->si_code > 0 && is_fault(signal_number) ? r.code : 0;
    f.access = r.access;
    if (f.how == NULL) {
        f.hidden = info->si_code == SI_KERNEL;
        f.has_address = !f.hidden;
        f.address = (uint64_t)(uintptr_t)info->si_addr;
        f.overflow = signal_number == SIGSEGV && f.has_address && r.stack != 0 && f.address + STACK_REACH > r.stack &&
                     f.address < r.stack + STACK_ABOVE;
    }
    f.in_program = tl__code_at(&crash_object, f.code).known;
    return f;
}

/* ---- the report ---- */

/* Only the first thread reports. Others stop here: the first one's signal ends them with the process. */
static void take_turn(void)
{
    uint32_t no = 0;

    if (tl_cas_acq_rel(&crash_taken, &no, 1u)) /* K3: one thread continues */
        return;
    for (;;)
        (void)pause();
}

/* Where in the program's object; the host finds the source line. Last: it reads a stack that may be damaged, and a
 * fault in here ends the process. */
static void report_place(const struct tl_fault *fault, uint64_t stack, struct tl_run_status *status)
{
    struct tl_code_place place = tl__code_at(&crash_object, fault->code);

    if (!place.known)
        place = tl__code_here(&crash_object, fault->access == TL_ACCESS_JUMP ? stack : 0);
    status->code_calls = place.calls;
    status->code_offset = place.offset;
    status->code_known = place.known;
}

/* Only stores to mapped memory and calls that are safe in a handler. */
static void report(const struct tl_fault *fault, uint64_t stack)
{
    uint64_t addr = tl_load_acq(&crash_status); /* K1: pairs with K2 in tl__crash_set_status */
    struct tl_run_status *status = addr ? tl__dev_ptr(&crash_memory, addr, sizeof(*status)) : NULL;
    uint32_t none = 0;

    if (status != NULL && tl_cas_acq_rel(&status->code, &none, (uint32_t)-TL_ECRASH)) { /* F1 */
        tl__device_describe(fault, status);
        report_place(fault, stack, status);
    }
}

/* Afterwards the signal's default action ends the process: returning repeats the fault. A fault in here does so at
 * once, because the signals are blocked meanwhile. */
static void on_crash(int signal_number, siginfo_t *info, void *context)
{
    struct tl_fault fault = read_fault(signal_number, info, context);

    take_turn();
    report(&fault, read_registers(context).stack);
    (void)signal(signal_number, SIG_DFL);
    if (signal_number != SIGABRT && info->si_code <= 0)
        (void)raise(signal_number); /* sent by a process: nothing would repeat it */
}

bool tl__chip_whose(char *to, size_t size)
{
    if (tl__device_current() == TL_CURRENT_NONE)
        return false;
    tl__device_whose(to, size);
    return true;
}

static bool is_ending(int signal_number)
{
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (endings[i] == signal_number)
            return true;
    return signal_number >= SIGRTMIN;
}

/*
 * Sent by this process, or by another. A signal to the process is delivered to any of its threads; it is handed on
 * to those that may be running the program's code, so that the one that is names the kernel.
 */
static void on_ending(int signal_number, siginfo_t *info, void *context)
{
    bool ours = info->si_code > 0 || info->si_code == SI_TIMER || info->si_pid == getpid();
    uint32_t next;

    /* A terminal's interrupt is for the host, which decides; if the host ends, the chip ends with it. */
    if (signal_number == SIGINT && !ours)
        return;
    if (is_timer(signal_number, info->si_code))
        tl_store_rlx(&timer_handed_on, (uint32_t)signal_number); /* relaxed: the signal itself orders it */
    while (ours && tl__device_current() == TL_CURRENT_NONE &&
           (next = tl_add_rlx(&asked, 1u)) < THREADS_MAX) { /* relaxed: a turn each */
        pid_t id = (pid_t)tl_load_rlx(&thread_ids[next]);   /* relaxed: a thread's own number, or 0 */

        if (id != 0 && tgkill(process, id, signal_number) == 0)
            return;
    }
    on_crash(signal_number, info, context);
    if (info->si_code > 0) /* nothing repeats it */
        (void)raise(signal_number);
}

bool tl__crash_exit(const char *called, int code)
{
    struct tl_fault fault = {0};
    char text[40];
    struct tl_text t = tl__text(text, sizeof(text));

    if (tl_load_acq(&crash_status) == 0 || getpid() != process) /* K1: between runs; or a child of the program's */
        return false;
    /* A thread that the program made may end as it likes, and a process may not. */
    if (tl__device_current() == TL_CURRENT_NONE && strcmp(called, "pthread_exit") == 0)
        return false;
    take_turn();
    tl__text_call(&t, called, code);
    fault.called = text;
    report(&fault, 0);
    tl_store_rel(&crash_status, 0); /* K2: what ends the process next has nothing to add */
    return true;
}

void tl__crash_kill(void)
{
    const struct tl_fault fault = {.signal = tl__signal_name(SIGKILL),
                                   .how = "the program sends it to its own process"};

    if (tl_load_acq(&crash_status) == 0 || getpid() != process) /* K1: between runs; or a child of the program's */
        return;
    take_turn();
    report(&fault, 0);
    tl_store_rel(&crash_status, 0); /* K2: what ends the process next has nothing to add */
}

static void on_exit_called(int code, void *arg)
{
    (void)arg;
    (void)tl__crash_exit("exit", code);
}

static void on_quick_exit(void)
{
    (void)tl__crash_exit("quick_exit", TL_TEXT_NO_CODE);
}

/* ---- set-up ---- */

void tl__crash_thread(void)
{
    const stack_t alternate = {.ss_sp = tl__reserve(STACK_BYTES), .ss_size = STACK_BYTES};
    uint32_t number = tl_add_rlx(&thread_count, 1u); /* relaxed: it only has to be unique */
    sigset_t all;
    /* Threads of the library have them blocked; one that a kernel raises on itself would be lost. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_UNBLOCK, &all, NULL);

    if (number < THREADS_MAX)
        tl_store_rlx(&thread_ids[number], (uint32_t)gettid()); /* relaxed: read by handlers, which may find 0 */
    if (alternate.ss_sp != NULL) /* without it an overflow of the stack ends the chip unreported */
        (void)sigaltstack(&alternate, NULL);
}

/* A child that the program forks does not outlive the chip, nor a grandchild the child. */
static _Thread_local pid_t forking;

static void note_parent(void)
{
    forking = getpid();
}

static void follow_the_chip(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != forking) /* it was gone before this was asked for */
        (void)raise(SIGKILL);
}

static void handle(int signal_number, void (*handler)(int, siginfo_t *, void *), const sigset_t *mask)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

    action.sa_sigaction = handler;
    action.sa_mask = *mask;
    (void)sigaction(signal_number, &action, NULL);
}

void tl__crash_install(const struct tl_devmem *memory)
{
    sigset_t mask;

    crash_memory = *memory;
    process = getpid();
    sanitized = dlsym(RTLD_DEFAULT, "__asan_init") != NULL;
    (void)sigemptyset(&mask);
    for (int number = 1; number < SIGRTMAX; number++) {
        for (size_t i = 0; i < COUNT_OF(faults); i++)
            if (faults[i] == number)
                (void)sigaddset(&mask, number);
    }
    tl__crash_thread();
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        handle(faults[i], on_crash, &mask);
    for (int number = 1; number < SIGRTMAX; number++)
        if (is_ending(number))
            handle(number, on_ending, &mask);
    (void)on_exit(on_exit_called, NULL);
    (void)at_quick_exit(on_quick_exit);
    (void)pthread_atfork(note_parent, NULL, follow_the_chip);
}

void tl__crash_set_object(const void *address)
{
    tl__code_object_of(&crash_object, address);
}

void tl__crash_set_status(uint64_t status)
{
    tl_store_rel(&crash_status, status); /* K2: the status block is mapped; pairs with K1 */
}
