/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_way_out.h"

#include <signal.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/code_place.h"
#include "base/count_of.h"
#include "base/leftovers.h"
#include "base/text.h"
#include "cmd.h"
#include "../way_out.h"
#include "host/compile.h"
#include "host/user_code.h"
#include "run/run_signal.h"
#include "sim/chip.h"

static const int endings[] = {SIGTERM, SIGHUP,  SIGQUIT, SIGINT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM,  SIGVTALRM,
                              SIGPROF, SIGXCPU, SIGSYS,  SIGIO,  SIGPWR,  SIGTRAP, SIGXFSZ, SIGSTKFLT};
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static pid_t process;
static struct tl_code_object object; /* the program's */
static const char *program_name = "";
static uint64_t fault_code, fault_stack; /* registers of the fault under way; 0: none */
static volatile sig_atomic_t ending;     /* 1: a signal handler looks for the place */

/* The object's file as the user will find it: the recording's copy. False: it will be gone. */
static bool name_file(struct tl_text *t)
{
    const char *slash = strrchr(object.path, '/'), *recording = tl__signal_recording();

    if (recording[0] != '\0') {
        tl__text_put(t, recording);
        tl__text_put(t, "/program/");
        tl__text_put(t, program_name);
        tl__text_put(t, ".so");
        return true;
    }
    tl__text_put(t, slash != NULL ? slash + 1 : object.path);
    return !tl__compile_made(object.path);
}

/* A second line, of the place in the program's source. It comes last: it reads a stack that may be broken. */
static void tell_place(void)
{
    struct tl_code_place place = tl__code_at(&object, fault_code);
    char line[1600], file[1300];
    struct tl_text t = tl__text(line, sizeof(line)), name = tl__text(file, sizeof(file));
    ssize_t written;

    if (!place.known)
        place = tl__code_here(&object, fault_stack);
    if (!place.known)
        return;
    tl__text_put(&t, "tasklens run: ");
    tl__code_put(&t, object.path, name_file(&name) ? file : NULL, &place);
    tl__text_put(&t, "\n");
    written = write(STDERR_FILENO, line, t.used);
    (void)written; /* there is nobody else to tell */
}

/* Threads of a chip in this process, which have all signals but SIGALRM blocked. */
#define THREADS_MAX 256u
static tl_au32 thread_ids[THREADS_MAX]; /* 0: none; written once each by the thread itself */
static tl_au32 thread_count, asked;     /* `asked`: how many of them were asked whose signal it is */

/* Prints the report and ends the command. Only what is safe in a signal handler: another thread may hold any lock. */
static _Noreturn void end(enum tl_user_code whose, const char *who, const char *how)
{
    char line[1600];
    struct tl_text t = tl__text(line, sizeof(line));
    ssize_t written;

    tl__text_put(&t, "tasklens run: ");
    tl__text_put(&t, who);
    tl__text_put(&t, how);
    if (whose == TL_USER_DEVICE) {
        tl__text_put(&t, "; it must return");
        if (tl__signal_recording()[0] != '\0') {
            tl__text_put(&t, ". What was recorded until then is kept: `tasklens recover ");
            tl__text_put(&t, tl__signal_recording());
            tl__text_put(&t, "` makes it readable");
        }
    } else {
        tl__text_put(&t, "; it must return 0, or a negative code that says why it cannot go on");
    }
    tl__text_put(&t, "\n");
    if (!ending) { /* else by a fault of tell_place() */
        ending = 1;
        written = write(STDERR_FILENO, line, t.used);
        (void)written; /* there is nobody else to tell */
        tell_place();
    }
    tl__leftovers_discard();
    tl__way_out_end(whose == TL_USER_DEVICE ? TL_EXIT_DEVICE : TL_EXIT_USAGE);
}

void tl__way_out(const char *called, int code)
{
    char who[400], how[80];
    struct tl_text t = tl__text(how, sizeof(how));
    enum tl_user_code whose = getpid() == process ? tl__user_code_here(who, sizeof(who)) : TL_USER_NONE;

    if (whose == TL_USER_NONE)
        return;
    tl__text_put(&t, " called ");
    tl__text_call(&t, called, code);
    end(whose, who, how);
}

static void on_exit_called(int code, void *arg)
{
    (void)arg;
    tl__way_out("exit", code);
}

static void on_quick_exit(void)
{
    tl__way_out("quick_exit", TL_TEXT_NO_CODE);
}

/* The signal that ends the command came from another process: the code that runs has nothing to do with it. */
static volatile sig_atomic_t by_another; /* written by a signal handler */

void tl__way_out_signal(int signal_number)
{
    char who[400], how[80];
    struct tl_text t = tl__text(how, sizeof(how));
    enum tl_user_code whose = getpid() == process ? tl__user_code_here(who, sizeof(who)) : TL_USER_NONE;

    if (whose == TL_USER_NONE || by_another)
        return;
    tl__text_put(&t, " was ended by ");
    tl__text_put(&t, tl__signal_name(signal_number));
    end(whose, who, how);
}

/* A thread of the program's may send a signal to the one that runs a kernel: where it is blocked it would be lost, and
 * the run end well. Those that people and their shells send stay the main thread's. */
static void on_device_thread(void)
{
    static const int for_main[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const uint32_t number = tl_add_rlx(&thread_count, 1u); /* relaxed, both: handlers may find 0 */
    sigset_t taken;

    (void)sigfillset(&taken);
    for (size_t i = 0; i < COUNT_OF(for_main); i++)
        (void)sigdelset(&taken, for_main[i]);
    (void)pthread_sigmask(SIG_UNBLOCK, &taken, NULL);
    if (number < THREADS_MAX)
        tl_store_rlx(&thread_ids[number], (uint32_t)gettid());
}

static void on_signal(int signal_number, siginfo_t *info, void *context);

/* Asks the next thread of the chip whether its code set the timer: SIGALRM to it, with the signal as the value. */
static bool hand_on(int signal_number)
{
    struct sigaction action;
    uint32_t next;

    if (sigaction(SIGALRM, NULL, &action) != 0 || action.sa_sigaction != on_signal)
        return false;
    while ((next = tl_add_rlx(&asked, 1u)) < THREADS_MAX) { /* relaxed: a turn each */
        const pid_t id = (pid_t)tl_load_rlx(&thread_ids[next]);
        siginfo_t info;

        memset(&info, 0, sizeof(info));
        info.si_signo = SIGALRM;
        info.si_code = SI_QUEUE;
        info.si_pid = process;
        info.si_value.sival_int = signal_number;
        if (id != 0 && syscall(SYS_rt_tgsigqueueinfo, process, id, SIGALRM, &info) == 0)
            return true;
    }
    return false;
}

/*
 * A timer of the program's sends its signal to the process, and any thread gets it: one that is in no code of the
 * program's asks those of the chip. True: another has it now.
 */
static bool is_for_another(int signal_number)
{
    char line[200];
    struct tl_text t = tl__text(line, sizeof(line));
    ssize_t written;

    if (hand_on(signal_number))
        return true;
    tl__text_put(&t, "tasklens run: a timer ends the command by ");
    tl__text_put(&t, tl__signal_name(signal_number));
    tl__text_put(&t, "; no code of the program ran at that moment\n");
    written = write(STDERR_FILENO, line, t.used);
    (void)written; /* there is nobody else to tell */
    return false;
}

/* What another process sent is for the command, and ends it as it always does. */
static void on_signal(int signal_number, siginfo_t *info, void *context)
{
    const bool asks = signal_number == SIGALRM && info->si_code == SI_QUEUE && info->si_pid == process;
    const bool timer =
        asks || info->si_code == SI_TIMER ||
        ((signal_number == SIGALRM || signal_number == SIGVTALRM || signal_number == SIGPROF) && info->si_code > 0);

    if (info->si_code > 0 && !timer) {
        tl__code_registers(context, &fault_code, &fault_stack);
        if (fault_code != (uint64_t)(uintptr_t)info->si_addr)
            fault_stack = 0; /* no jump to where no code is */
    }
    if (asks)
        signal_number = info->si_value.sival_int;
    if (timer) {
        tl__way_out_signal(signal_number);
        if (is_for_another(signal_number))
            return;
    }
    if (info->si_code > 0 || info->si_code == SI_TIMER || info->si_pid == getpid())
        tl__way_out_signal(signal_number);
    if (signal_number == SIGINT || signal_number == SIGTERM || signal_number == SIGHUP)
        tl__signal_tell();
    tl__leftovers_discard();
    by_another = 1;
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

void (*tl__way_out_handler(void))(int, siginfo_t *, void *)
{
    return on_signal;
}

/* `always`: in place of the command's own handler, which does less. Others' stay. */
static void catch_signal(int signal_number, bool always)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER}, before;

    action.sa_sigaction = on_signal;
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(signal_number, NULL, &before) == 0 && (before.sa_flags & SA_SIGINFO) == 0 &&
        (always ? before.sa_handler != SIG_IGN : before.sa_handler == SIG_DFL))
        (void)sigaction(signal_number, &action, NULL);
}

/* An alarm that whoever started the command has set is for the command. */
static bool alarm_is_set(void)
{
    struct itimerval left;

    return getitimer(ITIMER_REAL, &left) == 0 && (left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0);
}

void tl__way_out_install(void)
{
    process = getpid();
    tl__chip_thread_begins(on_device_thread);
    (void)on_exit(on_exit_called, NULL);
    (void)at_quick_exit(on_quick_exit);
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (endings[i] != SIGALRM || !alarm_is_set())
            catch_signal(endings[i], endings[i] == SIGINT || endings[i] == SIGTERM || endings[i] == SIGHUP);
    for (int number = SIGRTMIN; number < SIGRTMAX; number++)
        catch_signal(number, false);
}

void tl__way_out_program(const struct tl_program *program)
{
    tl__code_object_of(&object, program);
    program_name = program->name;
}

void tl__way_out_catch_faults(void)
{
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        catch_signal(faults[i], false);
}
