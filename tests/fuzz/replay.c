/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain driver of the fuzz targets: runs a target over its corpus, then over seeded changes of each file, so that
 * ctest (and the sanitizers) exercise every reader without a fuzzer.
 *
 *     fuzz_NAME CORPUS-FOLDER [FILE ROUND]     one file's one round again, as a failure names it
 *
 * TASKLENS_FUZZ_ROUNDS: changes a file, 200 if unset. One file and round is one input, for ever.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* The sanitizers' own last word, where one is linked. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static char current[600]; /* which input runs, for the one who looks for it */

static void say_current(void)
{
    ssize_t ignored = write(STDERR_FILENO, current, strlen(current));

    (void)ignored;
}

static void on_signal(int number)
{
    say_current();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Numbers and bytes that readers trip over. */
static const char *const tokens[] = {
    "0",
    "-1",
    "18446744073709551615",
    "18446744073709551616",
    "1e999",
    "NaN",
    "null",
    "[]",
    "{}",
    "\"\"",
    "\\u0000",
    "\n",
    "true",
    "0x",
    "[[[[",
    "4294967296",
    "\xff",
    "\xc0\x80",
};

/* Changes `data` (size bytes in `room`) in one way; returns the new size. */
static size_t change(uint8_t *data, size_t size, size_t room, uint64_t *state)
{
    size_t at = size == 0 ? 0 : next(state) % size;
    const char *token = tokens[next(state) % (sizeof(tokens) / sizeof(tokens[0]))];
    size_t length = strlen(token), count;

    switch (next(state) % 6) {
    case 0: /* a bit */
        if (size > 0)
            data[at] ^= (uint8_t)(1u << (next(state) % 8));
        return size;
    case 1: /* a byte */
        if (size > 0)
            data[at] = (uint8_t)next(state);
        return size;
    case 2: /* cut short */
        return at;
    case 3: /* cut out */
        count = next(state) % 32;
        if (count > size - at)
            count = size - at;
        memmove(data + at, data + at + count, size - at - count);
        return size - count;
    case 4: /* a piece again, elsewhere */
        if (size >= 8) {
            count = 1 + next(state) % (size / 2);
            memmove(data + at % (size - count), data + next(state) % (size - count), count);
        }
        return size;
    default: /* a token put in */
        if (size + length > room)
            return size;
        memmove(data + at + length, data + at, size - at);
        memcpy(data + at, token, length);
        return size + length;
    }
}

/* Round 0 is the file as it is. The copy has exactly the input's size, so that reading past it is seen. */
static void run_round(const char *name, const uint8_t *file, size_t size, unsigned long round)
{
    size_t room = size + 256;
    uint8_t *work = malloc(room), *exact;
    uint64_t state = round * 0x2545f4914f6cdd1du;

    if (work == NULL)
        exit(1);
    memcpy(work, file, size);
    for (const char *c = name; *c != '\0'; c++)
        state = (state ^ (uint8_t)*c) * 0x100000001b3u;
    if (round > 0) {
        for (uint64_t left = 1 + next(&state) % 4; left > 0; left--)
            size = change(work, size, room, &state);
    }
    exact = malloc(size == 0 ? 1 : size);
    if (exact == NULL)
        exit(1);
    memcpy(exact, work, size);
    (void)snprintf(current, sizeof(current), "\nfuzz: failed on file %s round %lu\n", name, round);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    free(work);
}

static uint8_t *read_file(const char *folder, const char *name, size_t *ret_size)
{
    char path[4096];
    uint8_t *data = NULL;
    long size;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
        data = malloc((size_t)size + 1);
        *ret_size = (size_t)size;
        if (data != NULL && fread(data, 1, (size_t)size, f) != (size_t)size) {
            free(data);
            data = NULL;
        }
    }
    (void)fclose(f);
    return data;
}

static bool run_file(const char *folder, const char *name, unsigned long first, unsigned long last)
{
    size_t size = 0;
    uint8_t *data = read_file(folder, name, &size);

    if (data == NULL) {
        (void)fprintf(stderr, "fuzz: cannot read %s/%s\n", folder, name);
        return false;
    }
    for (unsigned long round = first; round <= last; round++)
        run_round(name, data, size, round);
    free(data);
    return true;
}

static int run_folder(const char *folder, unsigned long rounds)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort), files = 0;
    bool good = true;

    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            good = run_file(folder, entries[i]->d_name, 0, rounds) && good;
            files++;
        }
        free(entries[i]);
    }
    free(entries);
    if (files == 0) {
        (void)fprintf(stderr, "fuzz: no corpus in %s\n", folder);
        return 1;
    }
    printf("%d files, %lu rounds each\n", files, rounds + 1);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *rounds = getenv("TASKLENS_FUZZ_ROUNDS");
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

    if (argc != 2 && argc != 4) {
        (void)fprintf(stderr, "usage: %s CORPUS-FOLDER [FILE ROUND]\n", argv[0]);
        return 2;
    }
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(say_current);
    } else {
        for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
            (void)signal(fatal[i], on_signal);
    }
    if (argc == 4) {
        unsigned long round = strtoul(argv[3], NULL, 10);

        return run_file(argv[1], argv[2], round, round) ? 0 : 1;
    }
    return run_folder(argv[1], rounds == NULL ? 200 : strtoul(rounds, NULL, 10));
}
