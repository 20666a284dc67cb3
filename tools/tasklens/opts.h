/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables over getopt_long. Each command owns its table; here is what all of them have in common: the checks, the
 * one-line messages, the help text. -h and --help need no row.
 */
#ifndef TL_TOOLS_OPTS_H
#define TL_TOOLS_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tl_opt_kind {
    TL_OPT_FLAG,   /* no value; *(bool *)target = true */
    TL_OPT_NUMBER, /* an integer in min..max; *(int64_t *)target */
    TL_OPT_LEVEL,  /* the same, optional: without a number it is `bare`. The next word is taken if it is all digits */
    TL_OPT_TEXT,   /* *(const char **)target */
    TL_OPT_CHOICE, /* one of `choices`; *(int *)target = its position */
    TL_OPT_CHOICE_OR_BARE, /* the same, optional: without one of them it is `bare` */
    TL_OPT_PAIR,           /* two values: call(target, value) for the first, then for the second */
    TL_OPT_CALL,           /* call(target, value): 0, or negative after filling *ret_problem; may come several times */
};

struct tl_opt {
    char letter;      /* 0: none */
    const char *name; /* long, without dashes */
    enum tl_opt_kind kind;
    void *target;
    const char *value; /* what the value is called in the help; NULL for flags */
    const char *help;  /* one line, or several separated by newlines */
    int64_t min, max, bare;
    const char *const *choices; /* NULL-terminated */
    int (*call)(void *target, const char *value, char *ret_problem, size_t problem_bytes);
    bool *given; /* NULL, or set when the option was there */
    bool hidden; /* another spelling, not in the help */
};

struct tl_opts {
    const char *command;  /* "dump" */
    const char *synopsis; /* "[DIR] [OPTION]..." */
    const char *about;    /* lines under it */
    const char *after;    /* lines at the end; NULL for none */
    const struct tl_opt *table;
    size_t count;
    size_t max_words; /* positional arguments allowed */
};

enum { TL_OPTS_GO_ON = -1 };

/*
 * Reads argv (argv[0] is the command). TL_OPTS_GO_ON, with the positional words in words[0..*ret_count) (the caller's
 * array of at least max_words); or the exit code to end with, after the help (0) or a message (2).
 */
int tl__opts_parse(const struct tl_opts *opts, int argc, char **argv, const char **words, size_t *ret_count);

#define TL_OPTS_BYTES_MAX ((int64_t)1 << 46)
/* "64K", "16M", "2G" or plain bytes; 1 to 2^46. 0, or TL_EINVAL. */
int tl__opts_bytes(const char *text, uint64_t *ret_bytes);
/* The same as a `call` of the table; target: uint64_t. */
int tl__opts_call_bytes(void *target, const char *value, char *ret_problem, size_t problem_bytes);

/* While set, tl__opts_parse hands each command's table to it in place of reading argv, and returns 0. */
struct tl_opts_visitor {
    void (*visit)(void *ctx, const struct tl_opts *opts);
    void *ctx;
};
void tl__opts_set_visitor(const struct tl_opts_visitor *visitor);

/* An integer, decimal or 0x hexadecimal, all of `text`. 0; TL_OPTS_NO_NUMBER; or TL_OPTS_TOO_LARGE, a number that
 * 64 bits do not hold. */
enum { TL_OPTS_NO_NUMBER = -1, TL_OPTS_TOO_LARGE = -2 };
int tl__opts_number(const char *text, int64_t *ret_value);

#endif
