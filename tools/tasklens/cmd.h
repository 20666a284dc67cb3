/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands. A command is one cmd_NAME.c that defines `tl__cmd_NAME`, and one row here.
 * Text for people goes to stdout, messages to stderr, one line each, beginning with "tasklens NAME: ".
 */
#ifndef TL_TOOLS_CMD_H
#define TL_TOOLS_CMD_H

#include "viewers.h"

/* X(name), and V(collector, name) for those that the diagnostics' rows name, in the order that `tasklens --help`
 * shows. */
#define TL_CMD_LIST(X, V)                                                                                              \
    X(run) TL__COLLECTORS(TL__VIEWERS_ONLY, V, TL__COLLECT_NONE) X(critical_path) X(recover) X(list) X(completion)

enum tl_exit {
    TL_EXIT_OK = 0,
    TL_EXIT_DIFFERS = 1,    /* the run's results differ from the golden */
    TL_EXIT_USAGE = 2,      /* bad usage or unreadable input */
    TL_EXIT_DEVICE = 3,     /* hang, crash, watchdog */
    TL_EXIT_INCOMPLETE = 4, /* diagnostics incomplete: records dropped, verification failed */
};

struct tl_cmd {
    const char *name;
    const char *summary; /* one line, no full stop */
    /* argv[0] is the command's name; "--help" must work. Returns enum tl_exit. */
    int (*run)(int argc, char **argv);
};

#define TL_CMD_DECLARE(name) extern const struct tl_cmd tl__cmd_##name;
#define TL_CMD_DECLARE_VIEWER(collector, name) TL_CMD_DECLARE(name)
TL_CMD_LIST(TL_CMD_DECLARE, TL_CMD_DECLARE_VIEWER)
#undef TL_CMD_DECLARE_VIEWER
#undef TL_CMD_DECLARE

/* Prints "tasklens COMMAND: MESSAGE" on stderr, as one line, safe for a terminal whatever the message holds. Returns
 * TL_EXIT_USAGE. */
int tl__cmd_fail(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same line where the command goes on. */
void tl__cmd_note(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A rendering's sink: writes lines of text to the FILE `ctx`. What a rendering left in them that would do more on a
 * terminal than show itself is made visible. 0 or TL_EIO. */
int tl__cmd_text(void *ctx, const void *bytes, size_t n);
/* A sink of JSON and of other bytes: to the FILE `ctx` as they are. 0 or TL_EIO. */
int tl__cmd_bytes(void *ctx, const void *bytes, size_t n);
/* Flushes stdout; TL_EXIT_OK, or what tl__cmd_fail returns if not all of the output could be written. */
int tl__cmd_finish(const char *command);

#endif
