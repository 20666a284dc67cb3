/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways out of a program's code other than return, as the program finds them: this executable defines the C library's
 * names, so that a call from a shared object that it loaded comes here first. exit() is not among them: it runs what
 * on_exit() registered. In a build with a sanitizer, which has its own, only _exit() is.
 */
#ifndef TL_TOOLS_WAY_OUT_H
#define TL_TOOLS_WAY_OUT_H

#include <signal.h>

/*
 * What the executable does about it: the program's code on this thread called `called` ("_exit", "execve",
 * "pthread_exit"). Ends the process if the call must not happen; returns if it may: it is not the program's, or one of
 * a child that it forked.
 */
void tl__way_out(const char *called, int code);
/* The same of a signal that the program's code on this thread raises, and that ends the process. Returns if it may. */
void tl__way_out_signal(int signal_number);
/* The handler that the executable itself has for such signals, or NULL: one of the program's is left to it. */
void (*tl__way_out_handler(void))(int, siginfo_t *, void *);
/* Ends the process at once, past all of the above. */
_Noreturn void tl__way_out_end(int code);

#endif
