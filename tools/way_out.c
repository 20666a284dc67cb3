/* SPDX-License-Identifier: Apache-2.0 */
#include "way_out.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tasklens/error.h>

#include "base/text.h"

#define ARGS_MAX 1024 /* of execl() */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TL_HAS_OWN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TL_HAS_OWN 1
#endif
#endif

/* System calls without the C library, whose functions are the ones below. */
static long call6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "a system call for this processor"
#endif
}

void tl__way_out_end(int code)
{
    for (;;)
        (void)call6(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

TL_API _Noreturn void _exit(int code)
{
    tl__way_out("_exit", code);
    tl__way_out_end(code);
}

TL_API _Noreturn void _Exit(int code)
{
    tl__way_out("_Exit", code);
    tl__way_out_end(code);
}

#ifndef TL_HAS_OWN

extern char **environ;

TL_API _Noreturn void pthread_exit(void *value)
{
    void (*next)(void *) = (void (*)(void *))(uintptr_t)dlsym(RTLD_NEXT, "pthread_exit");

    tl__way_out("pthread_exit", TL_TEXT_NO_CODE);
    next(value);
    __builtin_unreachable();
}

static bool ends_process(int signal_number);

/* A signal that the thread sends to itself, or to its process by a call that names it. */
static void sent_to_self(bool self, int signal_number)
{
    if (self && signal_number != 0 && ends_process(signal_number))
        tl__way_out_signal(signal_number);
}

/* A signal to the own process goes to the thread that sends it, if that takes it: delivered to any thread, it could be
 * taken for another one's, since several run the program's code at a time. */
static bool this_thread_takes(long process, long signal_number)
{
    sigset_t blocked;

    return process == getpid() && signal_number != 0 && pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 &&
           sigismember(&blocked, (int)signal_number) == 0;
}

static long to_this_thread(long number, long a[6])
{
    const bool queued = number == SYS_rt_sigqueueinfo;

    if ((number != SYS_kill && !queued) || !this_thread_takes(a[0], a[1]))
        return number;
    a[3] = a[2];
    a[2] = a[1];
    a[1] = gettid();
    return queued ? SYS_rt_tgsigqueueinfo : SYS_tgkill;
}

/* syscall(2), for those who go past the functions. */
TL_API long syscall(long number, ...)
{
    va_list list;
    long a[6], result;

    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_exit_group || number == SYS_exit)
        tl__way_out(number == SYS_exit ? "the system call exit" : "the system call exit_group", (int)a[0]);
    if (number == SYS_execve || number == SYS_execveat)
        tl__way_out("the system call execve", TL_TEXT_NO_CODE);
    sent_to_self((number == SYS_kill || number == SYS_rt_sigqueueinfo) && a[0] == getpid(), (int)a[1]);
    sent_to_self(number == SYS_tkill && a[0] == gettid(), (int)a[1]);
    sent_to_self(number == SYS_tgkill && a[0] == getpid() && a[1] == gettid(), (int)a[2]);
    number = to_this_thread(number, a);
    result = call6(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

/* ---- signals that the program raises: a thread of the library has them blocked, and they would be lost ---- */

static bool ends_process(int signal_number)
{
    struct sigaction action;

    return sigaction(signal_number, NULL, &action) == 0 &&
           ((action.sa_flags & SA_SIGINFO) != 0 ? action.sa_sigaction == tl__way_out_handler()
                                                : action.sa_handler == SIG_DFL) &&
           signal_number != SIGCHLD && signal_number != SIGURG && signal_number != SIGWINCH &&
           signal_number != SIGCONT && signal_number != SIGSTOP && signal_number != SIGTSTP &&
           signal_number != SIGTTIN && signal_number != SIGTTOU;
}

TL_API int raise(int signal_number)
{
    return (int)syscall(SYS_tgkill, getpid(), gettid(), signal_number);
}

TL_API int tgkill(pid_t process, pid_t thread, int signal_number)
{
    return (int)syscall(SYS_tgkill, process, thread, signal_number);
}

TL_API int kill(pid_t process, int signal_number)
{
    return (int)syscall(SYS_kill, process, signal_number);
}

#define NEXT(name, type) ((type)(uintptr_t)dlsym(RTLD_NEXT, #name))

TL_API int pthread_kill(pthread_t thread, int signal_number)
{
    sent_to_self(pthread_equal(thread, pthread_self()) != 0, signal_number);
    return NEXT(pthread_kill, int (*)(pthread_t, int))(thread, signal_number);
}

TL_API int pthread_sigqueue(pthread_t thread, int signal_number, const union sigval value)
{
    sent_to_self(pthread_equal(thread, pthread_self()) != 0, signal_number);
    return NEXT(pthread_sigqueue, int (*)(pthread_t, int, union sigval))(thread, signal_number, value);
}

TL_API int sigqueue(pid_t process, int signal_number, const union sigval value)
{
    siginfo_t info = {.si_signo = signal_number, .si_code = SI_QUEUE};

    /* Assigned: in an initializer the members of a union, which si_pid and si_value are in, replace one another. */
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value = value;
    return (int)syscall(SYS_rt_sigqueueinfo, process, signal_number, &info);
}

/* ---- exec: each of the family, and then the C library's own ---- */

TL_API int execve(const char *path, char *const argv[], char *const envp[])
{
    tl__way_out("execve", TL_TEXT_NO_CODE);
    return NEXT(execve, int (*)(const char *, char *const *, char *const *))(path, argv, envp);
}

TL_API int execv(const char *path, char *const argv[])
{
    tl__way_out("execv", TL_TEXT_NO_CODE);
    return NEXT(execv, int (*)(const char *, char *const *))(path, argv);
}

TL_API int execvp(const char *file, char *const argv[])
{
    tl__way_out("execvp", TL_TEXT_NO_CODE);
    return NEXT(execvp, int (*)(const char *, char *const *))(file, argv);
}

TL_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
    tl__way_out("execvpe", TL_TEXT_NO_CODE);
    return NEXT(execvpe, int (*)(const char *, char *const *, char *const *))(file, argv, envp);
}

TL_API int fexecve(int fd, char *const argv[], char *const envp[])
{
    tl__way_out("fexecve", TL_TEXT_NO_CODE);
    return NEXT(fexecve, int (*)(int, char *const *, char *const *))(fd, argv, envp);
}

/* The arguments of execl(), execlp() and execle() as an array; false: they are more than it holds. */
static bool collect(const char *first, va_list list, char **to)
{
    size_t n = 0;

    for (const char *arg = first; arg != NULL; arg = va_arg(list, const char *)) {
        if (n + 1 >= ARGS_MAX)
            return false;
        to[n++] = (char *)(uintptr_t)arg;
    }
    to[n] = NULL;
    return true;
}

static int too_many(void)
{
    errno = E2BIG;
    return -1;
}

TL_API int execl(const char *path, const char *arg, ...)
{
    char *argv[ARGS_MAX];
    va_list list;
    bool fits;

    tl__way_out("execl", TL_TEXT_NO_CODE);
    va_start(list, arg);
    fits = collect(arg, list, argv);
    va_end(list);
    return fits ? NEXT(execv, int (*)(const char *, char *const *))(path, argv) : too_many();
}

TL_API int execlp(const char *file, const char *arg, ...)
{
    char *argv[ARGS_MAX];
    va_list list;
    bool fits;

    tl__way_out("execlp", TL_TEXT_NO_CODE);
    va_start(list, arg);
    fits = collect(arg, list, argv);
    va_end(list);
    return fits ? NEXT(execvp, int (*)(const char *, char *const *))(file, argv) : too_many();
}

TL_API int execle(const char *path, const char *arg, ...)
{
    char *argv[ARGS_MAX], *const *envp;
    va_list list;
    bool fits;

    tl__way_out("execle", TL_TEXT_NO_CODE);
    va_start(list, arg);
    fits = collect(arg, list, argv);
    envp = fits ? va_arg(list, char *const *) : environ;
    va_end(list);
    return fits ? NEXT(execve, int (*)(const char *, char *const *, char *const *))(path, argv, envp) : too_many();
}

#endif
