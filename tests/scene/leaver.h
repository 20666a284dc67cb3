/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of leaver.c. */
#ifndef TL_TESTS_LEAVER_H
#define TL_TESTS_LEAVER_H

enum { IN_KERNEL, IN_ORCHESTRATION, IN_GOLDEN, IN_PREPARE };
enum {
    WAY_NONE,
    WAY_EXIT,
    WAY_EXIT_NOW,
    WAY_QUICK_EXIT,
    WAY_THREAD,
    WAY_EXECV,
    WAY_EXECLP,
    WAY_SYSCALL,
    WAY_KILL,
    WAY_TGKILL, /* signals to its own thread or process, past raise() and kill() */
    WAY_SYSCALL_KILL,
    WAY_PTHREAD_KILL,
    WAY_SIGQUEUE,
    WAY_SYSCALL_SIGQUEUE,
    WAY_KILL_HARD,
    WAY_THREAD_KILL_HARD,
    WAY_ALARM,
    WAY_TIMER,
    WAY_FROM_A_THREAD, /* a thread of its own sends it to the one that runs the code */
    WAYS_OUT,          /* from here on the program stays */
    WAY_CHILD_EXITS = WAYS_OUT,
    WAY_CHILD_EXITS_NOW,
    WAY_CHILD_EXECS,
    WAY_SYSTEM,
    WAY_HANDLED,
    WAY_SIGQUEUE_HANDLED,
    WAY_CHILD_STAYS,
    WAY_SIGNAL = 100,
};

#endif
