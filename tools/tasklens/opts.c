/* SPDX-License-Identifier: Apache-2.0 */
#include "opts.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tasklens/error.h>

#include "cmd.h"

#define MAX_OPTIONS 64
#define CODE_BASE 1000 /* getopt's return for row i: beyond every letter */

int tl__opts_number(const char *text, int64_t *ret_value)
{
    const char *digits = text + (*text == '-' || *text == '+');
    int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
    char *end;
    long long v;

    if (!isdigit((unsigned char)digits[0]))
        return TL_OPTS_NO_NUMBER;
    errno = 0;
    v = strtoll(text, &end, base);
    if (*end != 0)
        return TL_OPTS_NO_NUMBER;
    if (errno != 0)
        return TL_OPTS_TOO_LARGE;
    *ret_value = v;
    return 0;
}

static bool takes_value(const struct tl_opt *o)
{
    return o->kind != TL_OPT_FLAG;
}

static bool value_is_optional(const struct tl_opt *o)
{
    return o->kind == TL_OPT_LEVEL || o->kind == TL_OPT_CHOICE_OR_BARE;
}

/* "-t, --task TASK" */
static void left_column(const struct tl_opt *o, char *dst, size_t bytes)
{
    char letter[6] = "    ";

    if (o->letter != 0)
        (void)snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    if (!takes_value(o))
        (void)snprintf(dst, bytes, "  %s--%s", letter, o->name);
    else
        (void)snprintf(dst, bytes, value_is_optional(o) ? "  %s--%s [%s]" : "  %s--%s %s", letter, o->name,
                       o->value != NULL ? o->value : "VALUE");
}

static void print_option(const char *left, int width, const char *help)
{
    while (help != NULL) {
        const char *end = strchr(help, '\n');

        printf("%-*s  %.*s\n", width, left, end != NULL ? (int)(end - help) : (int)strlen(help), help);
        help = end != NULL ? end + 1 : NULL;
        left = "";
    }
}

static int print_help(const struct tl_opts *opts)
{
    char left[80];
    int width = 0;

    for (size_t i = 0; i < opts->count; i++) {
        left_column(&opts->table[i], left, sizeof(left));
        if (!opts->table[i].hidden && (int)strlen(left) > width)
            width = (int)strlen(left);
    }
    printf("Usage: tasklens %s %s\n%s\n\nOptions:\n", opts->command, opts->synopsis, opts->about);
    for (size_t i = 0; i < opts->count; i++) {
        if (opts->table[i].hidden)
            continue;
        left_column(&opts->table[i], left, sizeof(left));
        print_option(left, width, opts->table[i].help);
    }
    print_option("  -h, --help", width, "Show this");
    if (opts->after != NULL)
        printf("\n%s\n", opts->after);
    return tl__cmd_finish(opts->command);
}

/* The next word, if it is this option's optional value. "-1" belongs to a level too: it is out of range, not an option.
 */
static const char *optional_word(const struct tl_opt *o, const char *word)
{
    const char *digits;

    if (word == NULL)
        return NULL;
    if (o->kind == TL_OPT_CHOICE_OR_BARE) {
        for (size_t i = 0; o->choices[i] != NULL; i++)
            if (strcmp(o->choices[i], word) == 0)
                return word;
        return NULL;
    }
    digits = word + (*word == '-');
    return *digits != 0 && digits[strspn(digits, "0123456789")] == 0 ? word : NULL;
}

static int set_number(const struct tl_opts *opts, const struct tl_opt *o, const char *value)
{
    int64_t v;
    int code;

    if (value == NULL) {
        *(int64_t *)o->target = o->bare;
        return 0;
    }
    code = tl__opts_number(value, &v);
    if (code == TL_OPTS_NO_NUMBER && o->max == INT64_MAX)
        return tl__cmd_fail(opts->command, "--%s takes an integer of at least %" PRId64 ", not \"%s\"", o->name, o->min,
                            value);
    if (code == TL_OPTS_NO_NUMBER)
        return tl__cmd_fail(opts->command, "--%s takes an integer, %" PRId64 " to %" PRId64 ", not \"%s\"", o->name,
                            o->min, o->max, value);
    if (code == TL_OPTS_TOO_LARGE || v < o->min || v > o->max) {
        if (o->max == INT64_MAX && code == 0)
            return tl__cmd_fail(opts->command, "--%s must be at least %" PRId64 ", not %s", o->name, o->min, value);
        return tl__cmd_fail(opts->command, "--%s takes %" PRId64 " to %" PRId64 ", not %s", o->name, o->min, o->max,
                            value);
    }
    *(int64_t *)o->target = v;
    return 0;
}

static int set_choice(const struct tl_opts *opts, const struct tl_opt *o, const char *value)
{
    char known[200] = "";

    if (value == NULL) {
        *(int *)o->target = (int)o->bare;
        return 0;
    }
    for (int i = 0; o->choices[i] != NULL; i++) {
        size_t used = strlen(known);

        if (strcmp(o->choices[i], value) == 0) {
            *(int *)o->target = i;
            return 0;
        }
        (void)snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "", o->choices[i]);
    }
    return tl__cmd_fail(opts->command, "--%s takes one of %s, not \"%s\"", o->name, known, value);
}

static int set(const struct tl_opts *opts, const struct tl_opt *o, const char *value)
{
    char problem[300] = "";

    if (o->given != NULL)
        *o->given = true;
    switch (o->kind) {
    case TL_OPT_FLAG:
        *(bool *)o->target = true;
        return 0;
    case TL_OPT_NUMBER:
    case TL_OPT_LEVEL:
        return set_number(opts, o, value);
    case TL_OPT_TEXT:
        *(const char **)o->target = value;
        return 0;
    case TL_OPT_CHOICE:
    case TL_OPT_CHOICE_OR_BARE:
        return set_choice(opts, o, value);
    case TL_OPT_PAIR:
    case TL_OPT_CALL:
        break;
    }
    if (o->call(o->target, value, problem, sizeof(problem)) < 0)
        return tl__cmd_fail(opts->command, "--%s: %s", o->name, problem);
    return 0;
}

/* getopt_long said '?' or ':': which of its reasons. `word`: the one it looked at last. */
static int refuse(const struct tl_opts *opts, int why, const char *word)
{
    for (size_t i = 0; i < opts->count; i++) {
        const struct tl_opt *o = &opts->table[i];

        if (optopt != CODE_BASE + (int)i && (o->letter == 0 || optopt != o->letter))
            continue;
        if (why == ':')
            return tl__cmd_fail(opts->command, "--%s needs a value: %s", o->name,
                                o->value != NULL ? o->value : "VALUE");
        return tl__cmd_fail(opts->command, "--%s takes no value", o->name);
    }
    if (optopt != 0 && optopt < CODE_BASE)
        return tl__cmd_fail(opts->command, "no option -%c; see `tasklens help %s`", optopt, opts->command);
    return tl__cmd_fail(opts->command, "no option %.*s; see `tasklens help %s`", (int)strcspn(word, "="), word,
                        opts->command);
}

/* The same table in getopt's form. */
static void getopt_tables(const struct tl_opts *opts, struct option *longs, char *letters)
{
    *letters++ = ':';
    *letters++ = 'h';
    for (size_t i = 0; i < opts->count; i++) {
        const struct tl_opt *o = &opts->table[i];

        longs[i] = (struct option){o->name,
                                   !takes_value(o)        ? no_argument
                                   : value_is_optional(o) ? optional_argument
                                                          : required_argument,
                                   NULL, CODE_BASE + (int)i};
        if (o->letter == 0)
            continue;
        *letters++ = o->letter;
        for (int colons = !takes_value(o) ? 0 : value_is_optional(o) ? 2 : 1; colons > 0; colons--)
            *letters++ = ':';
    }
    longs[opts->count] = (struct option){"help", no_argument, NULL, 'h'};
    longs[opts->count + 1] = (struct option){0};
    *letters = 0;
}

static const struct tl_opt *row_of(const struct tl_opts *opts, int code)
{
    if (code >= CODE_BASE)
        return &opts->table[code - CODE_BASE];
    for (size_t i = 0; i < opts->count; i++)
        if (opts->table[i].letter == code)
            return &opts->table[i];
    return NULL;
}

static const struct tl_opts_visitor *visitor;

void tl__opts_set_visitor(const struct tl_opts_visitor *v)
{
    visitor = v;
}

int tl__opts_parse(const struct tl_opts *opts, int argc, char **argv, const char **words, size_t *ret_count)
{
    struct option longs[MAX_OPTIONS + 2];
    char letters[MAX_OPTIONS * 3 + 3];
    int code;

    if (visitor != NULL) {
        visitor->visit(visitor->ctx, opts);
        return TL_EXIT_OK;
    }
    if (opts->count > MAX_OPTIONS)
        return tl__cmd_fail(opts->command, "too many options in the table");
    getopt_tables(opts, longs, letters);
    optind = 0; /* GNU: start again, also after an earlier use */
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct tl_opt *o;
        const char *value = optarg;
        int r;

        if (code == 'h')
            return print_help(opts);
        if (code == '?' || code == ':')
            return refuse(opts, code, argv[optind - 1]);
        o = row_of(opts, code);
        if (value == NULL && value_is_optional(o)) {
            value = optional_word(o, argv[optind]);
            optind += value != NULL;
        }
        r = set(opts, o, value);
        if (r == 0 && o->kind == TL_OPT_PAIR)
            r = argv[optind] != NULL ? set(opts, o, argv[optind++])
                                     : tl__cmd_fail(opts->command, "--%s needs two values: %s", o->name, o->value);
        if (r != 0)
            return r;
    }
    *ret_count = 0;
    while (optind < argc) {
        if (*ret_count == opts->max_words)
            return tl__cmd_fail(opts->command, "one argument too many: \"%s\"", argv[optind]);
        words[(*ret_count)++] = argv[optind++];
    }
    return TL_OPTS_GO_ON;
}

int tl__opts_bytes(const char *text, uint64_t *ret_bytes)
{
    char digits[24];
    size_t n = strspn(text, "0123456789");
    unsigned shift = 0;
    int64_t value;

    if (text[n] != '\0' && text[n + 1] == '\0')
        shift = text[n] == 'K' ? 10 : text[n] == 'M' ? 20 : text[n] == 'G' ? 30 : 0;
    if (n == 0 || n >= sizeof(digits) || (text[n] != '\0' && shift == 0))
        return TL_EINVAL;
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
    if (tl__opts_number(digits, &value) != 0 || value < 1 || value > (TL_OPTS_BYTES_MAX >> shift))
        return TL_EINVAL;
    *ret_bytes = (uint64_t)value << shift;
    return 0;
}

int tl__opts_call_bytes(void *target, const char *value, char *ret_problem, size_t problem_bytes)
{
    if (tl__opts_bytes(value, target) == 0)
        return 0;
    (void)snprintf(ret_problem, problem_bytes,
                   "takes bytes from 1 to %" PRId64 " (2^46), as 65536, 64K, 16M or 2G, not \"%.80s\"",
                   TL_OPTS_BYTES_MAX, value);
    return TL_EINVAL;
}
