/* SPDX-License-Identifier: Apache-2.0 */
/* A program of test_run_leaving.c: its code leaves in one of many ways, or makes a child that does. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tasklens/program.h>

#include "leaver.h"

enum { FUNC_LEAVER };
enum { P_WHERE, P_WAY };

static const struct tl_param params[] = {
    [P_WHERE] = {"where", IN_KERNEL, IN_KERNEL, IN_PREPARE, "whose code leaves"},
    [P_WAY] = {"way", 0, 0, WAY_SIGNAL + 64, "how; from WAY_SIGNAL on by that signal"},
};

static void wait_for(pid_t child)
{
    int status;

    (void)waitpid(child, &status, 0);
}

/* It ends the process meanwhile. */
static void await_timer(int rc)
{
    const time_t until = time(NULL) + 20;

    while (rc == 0 && time(NULL) < until)
        ;
}

static void *send_to(void *thread)
{
    (void)pthread_kill(*(const pthread_t *)thread, SIGUSR2);
    return NULL;
}

static void send_signal(int64_t way)
{
    pthread_t self = pthread_self(), sender;
    siginfo_t queued = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
    struct sigevent to_process = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;

    switch (way) {
    case WAY_KILL:
        (void)kill(getpid(), SIGTERM);
        (void)sleep(5);
        break;
    case WAY_TGKILL:
        (void)syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
        (void)sleep(5);
        break;
    case WAY_SYSCALL_KILL:
        (void)syscall(SYS_kill, getpid(), SIGUSR1);
        (void)sleep(5);
        break;
    case WAY_PTHREAD_KILL:
        (void)pthread_kill(pthread_self(), SIGUSR2);
        (void)sleep(5);
        break;
    case WAY_SIGQUEUE:
        (void)sigqueue(getpid(), SIGTERM, (union sigval){.sival_int = 1});
        (void)sleep(5);
        break;
    case WAY_SYSCALL_SIGQUEUE:
        (void)syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &queued);
        (void)sleep(5);
        break;
    case WAY_KILL_HARD:
        (void)kill(getpid(), SIGKILL);
        break;
    case WAY_THREAD_KILL_HARD:
        (void)pthread_kill(pthread_self(), SIGKILL);
        break;
    case WAY_ALARM:
        await_timer(setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 20000}, NULL));
        break;
    case WAY_TIMER:
        if (timer_create(CLOCK_MONOTONIC, &to_process, &timer) == 0)
            await_timer(timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = 20000000}, NULL));
        break;
    case WAY_FROM_A_THREAD:
        if (pthread_create(&sender, NULL, send_to, &self) == 0)
            (void)pthread_join(sender, NULL);
        (void)sleep(5);
        break;
    default:
        break;
    }
}

static siginfo_t taken;

static void take(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    taken = *info;
}

/* Sent to its own process, a signal has what sigqueue() promises; where the system takes no more, the call says so. */
static void queue_to_itself(void)
{
    const struct sigaction by_take = {.sa_sigaction = take, .sa_flags = SA_SIGINFO};
    const union sigval value = {.sival_int = 4711};
    struct rlimit usual = {0}, full;
    int rc;

    (void)sigaction(SIGRTMIN, &by_take, NULL);
    if (sigqueue(getpid(), SIGRTMIN, value) != 0 || taken.si_code != SI_QUEUE || taken.si_pid != getpid() ||
        taken.si_uid != getuid() || taken.si_value.sival_int != 4711)
        abort();
    (void)getrlimit(RLIMIT_SIGPENDING, &usual);
    full = usual;
    full.rlim_cur = 0;
    (void)setrlimit(RLIMIT_SIGPENDING, &full);
    errno = 0;
    rc = sigqueue(getpid(), SIGRTMIN, value);
    if (rc != -1 || errno != EAGAIN)
        abort();
    (void)setrlimit(RLIMIT_SIGPENDING, &usual);
    (void)signal(SIGRTMIN, SIG_DFL);
}

static void leave(int64_t way)
{
    char name[] = "true", *argv[] = {name, NULL};
    pid_t child;

    switch (way) {
    case WAY_EXIT:
        exit(0);
    case WAY_EXIT_NOW:
        _exit(0);
    case WAY_QUICK_EXIT:
        quick_exit(0);
    case WAY_THREAD:
        pthread_exit(NULL);
    case WAY_EXECV:
        (void)execv("/bin/true", argv);
        break;
    case WAY_EXECLP:
        (void)execlp("true", "true", (char *)NULL);
        break;
    case WAY_SYSCALL:
        (void)syscall(SYS_exit_group, 0);
        break;
    case WAY_KILL:
    case WAY_TGKILL:
    case WAY_SYSCALL_KILL:
    case WAY_PTHREAD_KILL:
    case WAY_SIGQUEUE:
    case WAY_SYSCALL_SIGQUEUE:
    case WAY_KILL_HARD:
    case WAY_THREAD_KILL_HARD:
    case WAY_ALARM:
    case WAY_TIMER:
    case WAY_FROM_A_THREAD:
        send_signal(way);
        break;
    case WAY_CHILD_EXITS:
        child = fork();
        if (child == 0)
            exit(0);
        wait_for(child);
        break;
    case WAY_CHILD_EXITS_NOW:
        child = fork();
        if (child == 0)
            _exit(0);
        wait_for(child);
        break;
    case WAY_CHILD_EXECS:
        child = fork();
        if (child == 0) {
            (void)execlp("true", "true", (char *)NULL);
            _exit(1);
        }
        wait_for(child);
        break;
    case WAY_SYSTEM:
        if (system("true") != 0)
            abort();
        break;
    case WAY_HANDLED:
        (void)signal(SIGUSR1, SIG_IGN);
        (void)raise(SIGUSR1);
        (void)signal(SIGUSR1, SIG_DFL);
        break;
    case WAY_SIGQUEUE_HANDLED:
        queue_to_itself();
        break;
    case WAY_CHILD_STAYS:
        child = fork();
        if (child == 0)
            for (;;)
                (void)pause();
        break;
    default:
        if (way > WAY_SIGNAL)
            (void)raise((int)(way - WAY_SIGNAL));
    }
}

static void leaver(const struct tl_kernel_args *k)
{
    if (TL_SCALAR_OF(k, 0, int32_t) == IN_KERNEL)
        leave(TL_SCALAR_OF(k, 1, int32_t));
    *TL_DATA(k, 1, float) = *TL_DATA(k, 0, const float) + 1;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_LEAVER, "leaver", TL_AIV, leaver, TL_IN, TL_OUT)};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], y = in->tensors[1];
    const int32_t where = (int32_t)in->params[P_WHERE], way = (int32_t)in->params[P_WAY];

    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        tl_add_input(&args, &x);
        tl_add_output(&args, &y);
        tl_add_scalar(&args, where);
        tl_add_scalar(&args, way);
        tl_submit_aiv(o, FUNC_LEAVER, &args);
        if (where == IN_ORCHESTRATION)
            leave(way);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t n = 1;
    float *x = tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n);

    if (x == NULL || tl_data_tensor(d, "y", TL_OUT, TL_FLOAT32, 1, &n) == NULL)
        return TL_ENOMEM;
    *x = 1;
    if (tl_data_param(d, "where") == IN_PREPARE)
        leave(tl_data_param(d, "way"));
    return 0;
}

static int golden(struct tl_data *d)
{
    if (tl_data_param(d, "where") == IN_GOLDEN)
        leave(tl_data_param(d, "way"));
    *(float *)tl_data_expected(d, "y") = 2;
    return 0;
}

TL_PROGRAM(.name = "leaver", .summary = "leaves in one of many ways", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
