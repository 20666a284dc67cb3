/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The serial interpreter as a command, for tests that cannot link it (it defines what the device defines):
 *
 *     serial PROGRAM.so [--case NAME] [--set NAME=VALUE]... [--shuffle SEED] [--out DIR] [--records FILE]
 *
 * Runs the program, compares with its golden, and writes what each program tensor holds after the run to DIR/NAME.bin,
 * dense; DIR must exist. FILE gets what a recording of it must hold (serial_records.h); not with --shuffle. Exit code
 * 0: as the golden says; 1: not; 2: bad usage; 3: the run failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serial_records.h"

static int write_tensors(const struct serial_run *run, const char *dir)
{
    for (uint32_t i = 0; i < run->n_tensors; i++) {
        const struct serial_tensor *t = &run->tensors[i];
        char path[4096];
        FILE *f;
        bool good;

        if (snprintf(path, sizeof path, "%s/%s.bin", dir, t->name) >= (int)sizeof path)
            return -1;
        f = fopen(path, "wb");
        if (!f)
            return -1;
        good = fwrite(t->data, 1, t->bytes, f) == t->bytes;
        if (fclose(f) || !good)
            return -1;
    }
    return 0;
}

static int report(const struct tl_program *program, const struct serial_run *run, const char *dir)
{
    struct tl_error first = {0};
    uint64_t differences;

    if (run->error.code) {
        fprintf(stderr, "serial: %s: %s\n", tl_errname(run->error.code), run->error.msg);
        return 3;
    }
    if (dir && write_tensors(run, dir)) {
        fprintf(stderr, "serial: cannot write to %s\n", dir);
        return 2;
    }
    differences = serial_differences(program, run, &first);
    printf("%s: %llu tasks, %llu kernel calls, %llu elements differ from the golden\n", program->name,
           (unsigned long long)run->tasks, (unsigned long long)run->kernel_calls, (unsigned long long)differences);
    if (differences)
        printf("first: %s\n", first.msg);
    return differences != 0;
}

/* Splits NAME=VALUE in place. */
static bool parse_setting(char *text, struct tl_setting *ret)
{
    char *equals = strchr(text, '='), *end;

    if (!equals)
        return false;
    *equals = 0;
    ret->name = text;
    ret->value = strtoll(equals + 1, &end, 10);
    return end != equals + 1 && !*end;
}

/* Runs it with an observer that writes to `path`, or to nowhere. */
static int run_observed(const struct tl_program *program, struct serial_opts *opts, const char *path,
                        struct serial_run **ret_run)
{
    struct serial_records records = {.program = program, .to = path ? fopen(path, "w") : NULL};
    int code;

    if (path && !records.to)
        return TL_EIO;
    if (path) {
        opts->observer = serial_records_observe;
        opts->observer_context = &records;
    }
    code = serial_run(program, opts, ret_run);
    return path && fclose(records.to) ? TL_EIO : code;
}

int main(int argc, char **argv)
{
    struct tl_setting settings[16];
    struct serial_opts opts = {.settings = settings};
    const char *records = NULL;
    const struct tl_program *program = NULL;
    struct serial_run *run = NULL;
    struct tl_error err = {0};
    const char *dir = NULL;
    void *handle = NULL;
    bool good = argc >= 2 && argc % 2 == 0;
    int code;

    for (int i = 2; good && i < argc; i += 2) {
        if (strcmp(argv[i], "--case") == 0)
            opts.case_name = argv[i + 1];
        else if (strcmp(argv[i], "--out") == 0)
            dir = argv[i + 1];
        else if (strcmp(argv[i], "--records") == 0)
            records = argv[i + 1];
        else if (strcmp(argv[i], "--shuffle") == 0)
            opts.shuffle_seed = strtoull(argv[i + 1], NULL, 10);
        else
            good = strcmp(argv[i], "--set") == 0 && opts.n_settings < TL_ARRAY_COUNT(settings) &&
                   parse_setting(argv[i + 1], &settings[opts.n_settings++]);
    }
    good = good && !(records && opts.shuffle_seed);
    if (!good || serial_load(argv[1], &handle, &program, &err)) {
        fprintf(stderr, "serial: %s\n", err.code ? err.msg : "bad usage");
        return 2;
    }
    code = run_observed(program, &opts, records, &run) && !run ? 3 : report(program, run, dir);
    serial_free(run);
    serial_unload(handle);
    return code;
}
