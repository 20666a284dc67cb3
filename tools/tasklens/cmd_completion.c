/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens completion SHELL: completions of every command and option, made of the option tables themselves. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "opts.h"
#include "base/count_of.h"

#define COMMAND "completion"

static const struct tl_cmd *const commands[] = {
#define ROW(name) &tl__cmd_##name,
#define VIEWER_ROW(collector, name) ROW(name)
    TL_CMD_LIST(ROW, VIEWER_ROW)
#undef VIEWER_ROW
#undef ROW
};
#define COMMAND_COUNT (COUNT_OF(commands))

/* The first line of a text, safe inside single quotes and zsh's brackets. */
static void print_summary(const char *text)
{
    for (; text != NULL && *text != '\0' && *text != '\n'; text++)
        if (strchr("'[]\\:`$\"", *text) == NULL)
            (void)putchar(*text);
}

/* Hands each command's table to `visit`, under the command's name. */
static void each_table(void (*visit)(void *ctx, const struct tl_opts *opts))
{
    static char dash_help[] = "--help";
    const struct tl_opts_visitor v = {visit, NULL};

    tl__opts_set_visitor(&v);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char name[32];
        char *argv[] = {name, dash_help, NULL};

        (void)snprintf(name, sizeof(name), "%s", commands[i]->name);
        (void)commands[i]->run(2, argv);
    }
    tl__opts_set_visitor(NULL);
}

static void print_commands(const char *before, const char *after)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("%s%s%s", before, commands[i]->name, after);
    printf("%shelp%s", before, after);
}

static bool has_choices(const struct tl_opt *o)
{
    return o->choices != NULL && (o->kind == TL_OPT_CHOICE || o->kind == TL_OPT_CHOICE_OR_BARE);
}

static void print_choices(const struct tl_opt *o)
{
    for (int i = 0; o->choices[i] != NULL; i++)
        printf("%s%s", i > 0 ? " " : "", o->choices[i]);
}

/* ---- bash ---- */

static void bash_options(void *ctx, const struct tl_opts *opts)
{
    (void)ctx;
    printf("    %s) options='--help", opts->command);
    for (size_t i = 0; i < opts->count; i++)
        if (!opts->table[i].hidden)
            printf(" --%s", opts->table[i].name);
    printf("' ;;\n");
}

static void bash_values(void *ctx, const struct tl_opts *opts)
{
    (void)ctx;
    for (size_t i = 0; i < opts->count; i++) {
        const struct tl_opt *o = &opts->table[i];

        if (o->hidden || !has_choices(o))
            continue;
        printf("    %s:--%s) values='", opts->command, o->name);
        print_choices(o);
        printf("' ;;\n");
    }
}

static void print_bash(void)
{
    printf("# bash completion of tasklens, made by `tasklens completion bash`.\n"
           "_tasklens()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
           "    local options='' values=''\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ] || { [ \"$COMP_CWORD\" -eq 2 ] && [ \"$command\" = help ]; }; then\n"
           "        COMPREPLY=($(compgen -W '");
    print_commands("", " ");
    printf("' -- \"$word\"))\n        return\n    fi\n    case \"$command:$before\" in\n");
    each_table(bash_values);
    printf("    completion:completion) values='bash zsh fish' ;;\n    esac\n    case \"$command\" in\n");
    each_table(bash_options);
    printf("    esac\n"
           "    if [ -n \"$values\" ]; then\n"
           "        COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
           "    elif [ \"${word:0:1}\" = - ]; then\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
           "    elif [ \"$command\" = run ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n"
           "        COMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" list --names 2>/dev/null)\" -- \"$word\")"
           " $(compgen -f -- \"$word\"))\n"
           "    fi\n}\n"
           "complete -o default -F _tasklens tasklens\n");
}

/* ---- zsh ---- */

static void zsh_options(void *ctx, const struct tl_opts *opts)
{
    (void)ctx;
    printf("  %s) _arguments", opts->command);
    for (size_t i = 0; i < opts->count; i++) {
        const struct tl_opt *o = &opts->table[i];

        if (o->hidden)
            continue;
        printf(" '*--%s[", o->name);
        print_summary(o->help);
        printf("]");
        if (o->kind != TL_OPT_FLAG) {
            printf("%svalue:", o->kind == TL_OPT_LEVEL || o->kind == TL_OPT_CHOICE_OR_BARE ? "::" : ":");
            if (has_choices(o)) {
                printf("(");
                print_choices(o);
                printf(")");
            } else {
                printf("_files");
            }
        }
        printf("'");
    }
    printf(" '*:file:_files' ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef tasklens\n# zsh completion of tasklens, made by `tasklens completion zsh`.\n"
           "if (( CURRENT == 2 )); then\n  local -a commands\n  commands=(");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        printf(" '%s:", commands[i]->name);
        print_summary(commands[i]->summary);
        printf("'");
    }
    printf(" 'help:Show the options of a command')\n  _describe command commands\n  return\nfi\n"
           "local command=$words[2]\nshift words\n(( CURRENT-- ))\ncase $command in\n");
    each_table(zsh_options);
    printf("esac\n");
}

/* ---- fish ---- */

static void fish_options(void *ctx, const struct tl_opts *opts)
{
    (void)ctx;
    for (size_t i = 0; i < opts->count; i++) {
        const struct tl_opt *o = &opts->table[i];

        if (o->hidden)
            continue;
        printf("complete -c tasklens -n '__fish_seen_subcommand_from %s' -l %s", opts->command, o->name);
        if (o->letter != 0)
            printf(" -s %c", o->letter);
        if (o->kind != TL_OPT_FLAG && o->kind != TL_OPT_LEVEL && o->kind != TL_OPT_CHOICE_OR_BARE)
            printf(" -r");
        if (has_choices(o)) {
            printf(" -f -a '");
            print_choices(o);
            printf("'");
        }
        printf(" -d '");
        print_summary(o->help);
        printf("'\n");
    }
}

static void print_fish(void)
{
    printf("# fish completion of tasklens, made by `tasklens completion fish`.\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        printf("complete -c tasklens -f -n __fish_use_subcommand -a %s -d '", commands[i]->name);
        print_summary(commands[i]->summary);
        printf("'\n");
    }
    printf("complete -c tasklens -f -n __fish_use_subcommand -a help -d 'Show the options of a command'\n");
    each_table(fish_options);
}

static int completion_main(int argc, char **argv)
{
    const struct tl_opts opts = {
        .command = COMMAND,
        .synopsis = "bash|zsh|fish",
        .about =
            "Prints the completions of all commands and options for a shell. An installation has them in place; else:\n"
            "bash: source <(tasklens completion bash); zsh: into a file _tasklens in $fpath;\n"
            "fish: tasklens completion fish | source",
        .max_words = 1,
    };
    const char *words[1];
    size_t count;
    int rc = tl__opts_parse(&opts, argc, argv, words, &count);

    if (rc != TL_OPTS_GO_ON)
        return rc;
    if (count == 1 && strcmp(words[0], "bash") == 0)
        print_bash();
    else if (count == 1 && strcmp(words[0], "zsh") == 0)
        print_zsh();
    else if (count == 1 && strcmp(words[0], "fish") == 0)
        print_fish();
    else
        return tl__cmd_fail(COMMAND, "takes one shell: bash, zsh or fish%s%s", count == 1 ? ", not " : "",
                            count == 1 ? words[0] : "");
    return tl__cmd_finish(COMMAND);
}

const struct tl_cmd tl__cmd_completion = {COMMAND, "Print the completions for bash, zsh or fish", completion_main};
