/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens list: programs, their cases, and their parameters with ranges and meaning. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cmd.h"
#include "base/pathname.h"
#include "host/compile.h"
#include "host/loader.h"
#include "opts.h"
#include "base/count_of.h"

#define COMMAND "list"
#define SETTINGS_MAX (sizeof(((struct tl_case *)0)->settings) / sizeof(struct tl_setting))
#define PROGRAMS_MAX 64

static void print_settings(const struct tl_case *c)
{
    for (size_t i = 0; i < SETTINGS_MAX && c->settings[i].name != NULL; i++)
        printf(" %s=%" PRId64, c->settings[i].name, c->settings[i].value);
}

static void print_program(const struct tl_program *p)
{
    printf("%s: %s\n", p->name, p->summary != NULL ? p->summary : "");
    for (uint32_t i = 0; i < p->n_params; i++)
        printf("  --set %s=%" PRId64 "  %" PRId64 " to %" PRId64 "%s%s\n", p->params[i].name, p->params[i].value,
               p->params[i].min, p->params[i].max,
               p->params[i].help != NULL && p->params[i].help[0] != '\0' ? ": " : "",
               p->params[i].help != NULL ? p->params[i].help : "");
    for (uint32_t i = 0; i < p->n_cases; i++) {
        printf("  --case %s%s", p->cases[i].name, i == 0 ? " (default)" : "");
        print_settings(&p->cases[i]);
        printf("\n");
    }
    if (p->n_cases == 0)
        printf("  --case default\n");
}

static void text_of(struct tl_json *j, const char *key, const char *text)
{
    tl__json_member_string(j, key, text != NULL ? text : "");
}

static void json_case(struct tl_json *j, const char *name, const struct tl_case *c)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    text_of(j, "name", name);
    tl__json_member_object(j, "settings", TL_JSON_LINE);
    for (size_t i = 0; c != NULL && i < SETTINGS_MAX && c->settings[i].name != NULL; i++) {
        tl__json_key_string(j, c->settings[i].name);
        tl__json_i64(j, c->settings[i].value);
    }
    tl__json_object_end(j);
    tl__json_object_end(j);
}

static void json_program(struct tl_json *j, const struct tl_program *p)
{
    tl__json_object_begin(j, TL_JSON_BLOCK);
    text_of(j, "name", p->name);
    text_of(j, "summary", p->summary);
    tl__json_member_array(j, "cases", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < p->n_cases; i++)
        json_case(j, p->cases[i].name, &p->cases[i]);
    if (p->n_cases == 0)
        json_case(j, "default", NULL);
    tl__json_array_end(j);
    tl__json_member_array(j, "params", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < p->n_params; i++) {
        tl__json_object_begin(j, TL_JSON_LINE);
        text_of(j, "name", p->params[i].name);
        tl__json_member_i64(j, "default", p->params[i].value);
        tl__json_member_i64(j, "min", p->params[i].min);
        tl__json_member_i64(j, "max", p->params[i].max);
        text_of(j, "help", p->params[i].help);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
    tl__json_object_end(j);
}

/* One program, given by its name or its path. Exit code, 0 to go on. `quiet`: a bundled one that does not load, as the
 * examples of faults do, is left out. */
static int one(const char *name, struct tl_json *j, bool quiet)
{
    struct tl_object object;
    struct tl_error err;
    char path[TL_PATHNAME_BYTES];
    size_t n = strlen(name);
    int rc = 0;

    if (strchr(name, '/') != NULL || (n > 3 && strcmp(name + n - 3, ".so") == 0))
        rc = tl__pathname(path, "%s", name) ? 0 : TL_ERANGE;
    else
        rc = tl__bundled(name, path, sizeof(path), &err);
    if (rc == TL_ERANGE)
        return tl__cmd_fail(COMMAND, "the path of the program is too long: at most %zu bytes", sizeof(path) - 1);
    if (rc == 0)
        rc = tl__object_open(path, &object, &err);
    if (rc != 0)
        return quiet ? 0 : tl__cmd_fail(COMMAND, "%s", err.msg);
    if (j != NULL)
        json_program(j, object.program);
    else
        print_program(object.program);
    tl__object_close(&object);
    return 0;
}

static int print_all(const char *const *names, size_t count, bool bundled, bool json)
{
    struct tl_json j;
    int rc = 0;

    if (json) {
        tl__json_init(&j, tl__cmd_bytes, stdout);
        tl__json_object_begin(&j, TL_JSON_BLOCK);
        text_of(&j, "schema", "tasklens.list");
        tl__json_member_i64(&j, "version", 1);
        tl__json_member_array(&j, "programs", TL_JSON_BLOCK);
    }
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = one(names[i], json ? &j : NULL, bundled);
    if (json) {
        tl__json_array_end(&j);
        tl__json_object_end(&j);
        tl__json_newline(&j);
        if (tl__json_finish(&j) != 0 && rc == 0)
            rc = tl__cmd_fail(COMMAND, "cannot write the output");
    }
    return rc != 0 ? rc : tl__cmd_finish(COMMAND);
}

static int list_main(int argc, char **argv)
{
    static char names[PROGRAMS_MAX][64];
    const char *words[PROGRAMS_MAX];
    bool json = false, only_names = false, bundled;
    const struct tl_opt table[] = {
        {0, "json", TL_OPT_FLAG, &json, NULL, "for programs", .hidden = false},
        {0, "names", TL_OPT_FLAG, &only_names, NULL, "only the names of the bundled programs, a line each",
         .hidden = false},
    };
    const struct tl_opts opts = {
        .command = COMMAND,
        .synopsis = "[PROGRAM]... [OPTION]...",
        .about = "Lists programs, their cases, and their parameters with default, range and meaning.\n"
                 "PROGRAM is a bundled program or a shared object; without one, all bundled programs.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = PROGRAMS_MAX,
    };
    struct tl_error err;
    size_t count;
    int rc = tl__opts_parse(&opts, argc, argv, words, &count);

    if (rc != TL_OPTS_GO_ON)
        return rc;
    bundled = count == 0;
    if (bundled) {
        rc = tl__bundled_names(names, PROGRAMS_MAX, &count, &err);
        if (rc != 0)
            return tl__cmd_fail(COMMAND, "%s", err.msg);
        for (size_t i = 0; i < count; i++)
            words[i] = names[i];
    }
    if (!only_names)
        return print_all(words, count, bundled, json);
    for (size_t i = 0; i < count; i++)
        printf("%s\n", words[i]);
    return tl__cmd_finish(COMMAND);
}

const struct tl_cmd tl__cmd_list = {COMMAND, "List programs, their cases and parameters", list_main};
