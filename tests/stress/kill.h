/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests/stress/kill.c is made of: the truth about a recording (truth.c) and the processes and directories that a
 * run leaves (leftovers.c). Everything here ends the program with a message when what it looks at is wrong.
 */
#ifndef TL_TESTS_STRESS_KILL_H
#define TL_TESTS_STRESS_KILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <tasklens/recording.h>

/* Tells what is wrong, with what the caller last named by now(), and ends the program with code 1. */
__attribute__((format(printf, 1, 2), noreturn)) void wrong(const char *format, ...);
/* What is being done; comes before the message of wrong(). */
__attribute__((format(printf, 1, 2))) void now(const char *format, ...);

/* ---- truth.c ---- */

/* Records by (task, stage, argument, role). */
struct truth {
    struct tl_dump_record *records; /* owned */
    uint64_t count, payload_bytes, blocks, torn_bytes;
};
void truth_free(struct truth *t);
/* The manifest of `dir`, verified: counts, order, bounds, sizes and every payload's hash. False: there is none. */
bool truth_of_manifest(const char *dir, struct truth *t);
/* What a journal's whole blocks hold. False: it does not even have a whole header. */
bool truth_of_journal(const char *path, struct truth *t);
/* The manifest holds the journal's records, all and none besides, with the same payloads. */
void truth_same(const struct truth *manifest, const struct truth *journal);
/* Each record is that of an undisturbed run: shape, value and payload. Returns the tasks that have all their outputs.
 * `causal`: a task with an output recorded has all its inputs recorded, which came first. */
uint64_t truth_within(const struct truth *part, const struct truth *whole, bool causal);
/* dfx_meta.json and the manifest agree, attempted = collected + dropped. Returns the records lost with the device;
 * *ret_tasks: that the device retired. */
uint64_t truth_of_meta(const char *dir, const struct truth *manifest, uint64_t *ret_tasks);

/* ---- leftovers.c ---- */

/* Processes whose environment has `mark` ("NAME=value"); at most one pid is returned. */
unsigned marked_processes(const char *mark, pid_t *ret_one);
/* The chip's process of the host `pid`, or 0: no other child of it is one. */
pid_t chip_of(pid_t pid);
/* That it is so. */
void check_chip_of(void);
/* Waits until no process with `mark` is left, 1 s at most; the ns that took. */
uint64_t await_gone(const char *mark);
/* Whether the first 64 KiB of a file hold `text`. */
bool file_says(const char *path, const char *text);
/* Every file below `dir` is one that a recording may hold, and no journal or temporary file is among them. */
void only_artifacts(const char *dir);
/* `dir` holds nothing but `allowed` (NULL: nothing at all). */
void only_entry(const char *dir, const char *allowed);
/* A number that changes if a file below `dir` comes, goes, is replaced or rewritten. */
uint64_t fingerprint(const char *dir);
/* Removes `dir` and all below. */
void remove_tree(const char *dir);

#endif
