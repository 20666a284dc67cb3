/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tasklens/error.h>

#include "base/format.h"
#include "base/count_of.h"
#include "base/safe_text.h"
#include "base/leftovers.h"
#include "cmd.h"

static const struct tl_cmd *const commands[] = {
#define ROW(name) &tl__cmd_##name,
#define VIEWER_ROW(collector, name) ROW(name)
    TL_CMD_LIST(ROW, VIEWER_ROW)
#undef VIEWER_ROW
#undef ROW
};
#define COMMAND_COUNT (COUNT_OF(commands))

__attribute__((format(printf, 2, 0))) static void say(const char *command, const char *format, va_list ap)
{
    char made[4000], message[2 * sizeof(made)];

    (void)tl__vformat(made, sizeof(made), format, ap);
    (void)tl__safe_text(message, sizeof(message), TL_SAFE_LINE, made, strlen(made));
    if (command != NULL)
        fprintf(stderr, "tasklens %s: %s\n", command, message);
    else
        fprintf(stderr, "tasklens: %s\n", message);
}

int tl__cmd_fail(const char *command, const char *format, ...)
{
    va_list ap;

    (void)fflush(stdout);
    va_start(ap, format);
    say(command, format, ap);
    va_end(ap);
    return TL_EXIT_USAGE;
}

void tl__cmd_note(const char *command, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    say(command, format, ap);
    va_end(ap);
}

int tl__cmd_bytes(void *ctx, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, ctx) == n ? 0 : TL_EIO;
}

int tl__cmd_text(void *ctx, const void *data, size_t n)
{
    const char *bytes = data;
    FILE *out = ctx;
    size_t from = 0, at = 0;

    while (at < n) {
        char shown[32];
        size_t step = bytes[at] == '\n' ? 1 : tl__printable_bytes(bytes + at, n - at);

        if (step == 0) {
            (void)fwrite(bytes + from, 1, at - from, out);
            step = tl__utf8_bytes(bytes + at, n - at);
            step = step > 0 ? step : 1;
            (void)fwrite(shown, 1, tl__safe_text(shown, sizeof(shown), TL_SAFE_LINE, bytes + at, step), out);
            from = at + step;
        }
        at += step;
    }
    (void)fwrite(bytes + from, 1, n - from, out);
    return ferror(out) ? TL_EIO : 0;
}

int tl__cmd_finish(const char *command)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return tl__cmd_fail(command, "cannot write the output: %s", strerror(errno));
    return TL_EXIT_OK;
}

static const struct tl_cmd *find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int help(void)
{
    printf("Usage: tasklens COMMAND [OPTION]...\n"
           "Runs task graphs on simulated accelerators and shows what every task saw and did.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-14s %s\n\n", "help", "Show this, or the options of a command: tasklens help COMMAND");
    printf("Options:\n  -h, --help     Show this\n  -V, --version  Show the version\n\n"
           "Exit codes: 0 good; 1 results differ from the golden; 2 bad usage or unreadable input;\n"
           "3 the device failed; 4 diagnostics incomplete.\n");
    return tl__cmd_finish(NULL);
}

static int unknown(const char *name)
{
    char known[400] = "";

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t used = strlen(known);

        (void)snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "", commands[i]->name);
    }
    return tl__cmd_fail(NULL, "no command \"%s\"; the commands: %s", name, known);
}

/* Files that are not complete are removed; the process then ends as if there had been no handler. */
static void on_end(int number)
{
    tl__leftovers_discard();
    (void)raise(number);
}

/* Viewers map files. The system says so when one has become shorter since, or its disk does not give the bytes. */
static void on_lost_page(int number)
{
    static const char text[] = "tasklens: a file of the recording has become shorter, or cannot be read from its disk; "
                               "wait until nobody writes it, and look again\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)number;
    (void)written;
    tl__leftovers_discard();
    _exit(TL_EXIT_USAGE);
}

/* `maps`: the command maps files that others may change, and runs no program of the user's. */
static void handle_signals(bool maps)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)}, before;
    struct sigaction lost = {.sa_handler = on_lost_page};

    (void)sigemptyset(&action.sa_mask);
    (void)sigemptyset(&lost.sa_mask);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            (void)sigaction(ends[i], &action, NULL);
    if (maps)
        (void)sigaction(SIGBUS, &lost, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its write, not the end of the command */
}

int main(int argc, char **argv)
{
    char dash_help[] = "--help";
    char *help_argv[] = {NULL, dash_help, NULL};
    const char *name = argc > 1 ? argv[1] : "";
    const struct tl_cmd *cmd = find(name);

    handle_signals(cmd != NULL && cmd != &tl__cmd_run);
    if (argc < 2) {
        return tl__cmd_fail(NULL, "which command? `tasklens --help` lists them");
    } else if (cmd != NULL) {
        return cmd->run(argc - 1, argv + 1);
    } else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("tasklens %s\n", TASKLENS_VERSION);
        return tl__cmd_finish(NULL);
    } else if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        return help();
    } else if (strcmp(name, "help") == 0) {
        cmd = find(argv[2]);
        if (cmd == NULL)
            return unknown(argv[2]);
        help_argv[0] = argv[2];
        return cmd->run(2, help_argv);
    } else if (name[0] == '-') {
        return tl__cmd_fail(NULL, "no option %s here; see `tasklens --help`", name);
    }
    return unknown(name);
}
