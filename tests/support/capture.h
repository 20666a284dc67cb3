/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of a program that is linked into the test, with its dump read back: submit to file and back in one process.
 * One chip per cell is opened at first use and kept, so that runs of different kinds follow each other on it.
 */
#ifndef TL_TESTS_CAPTURE_H
#define TL_TESTS_CAPTURE_H

#include <tasklens/worker.h>

#include "artifact/args_dump.h"

/* Platform, transport, runtime. */
struct capture_cell {
    const char *platform, *transport, *runtime;
};
#define CAPTURE_CELLS 8u
extern const struct capture_cell capture_cells[CAPTURE_CELLS];

struct capture {
    unsigned cell;
    struct tl_run_config config; /* of the next run: set by capture_begin, for the test to change */
    struct tl_run_result result; /* of the last run */
    struct tl_error error;
    int code;
    char dir[160];               /* of the artifacts */
    struct tl_run *run;          /* between capture_submit and capture_wait */
    struct tl_dump_reader *dump; /* NULL: no manifest */
    const struct tl_dump_record *records;
    uint64_t count;
};

/* A configuration for this cell and level, a fresh directory's name, no log lines. Everything here asserts on failure.
 */
void capture_begin(struct capture *c, unsigned cell, int level);
/* Runs, and opens the dump if there is one. The run's code, also in c->code. */
int capture_run(struct capture *c, const struct tl_program *program, const struct tl_host_tensor *tensors,
                uint32_t n_tensors);
/* The two halves of it: several runs may be submitted before the first is waited for. */
void capture_submit(struct capture *c, const struct tl_program *program, const struct tl_host_tensor *tensors,
                    uint32_t n_tensors);
int capture_wait(struct capture *c);
/* For a run that the test made itself: opens what it left in c->dir, if anything. */
void capture_open(struct capture *c);
/* Closes the dump and removes the directory. */
void capture_end(struct capture *c);
/* For a test that has a chip of its own, of the capture's cell, in this process, small: opens it with the program
 * loaded. 0, or the error, also in c->error. End with tl_worker_close. */
int capture_worker(struct capture *c, unsigned sim_threads, unsigned dfx_threads, const struct tl_program *program,
                   struct tl_worker **ret_worker, struct tl_loaded **ret_loaded);
/* Closes the chips. */
void capture_close(void);

/*
 * What holds for every recording that lost nothing: attempted = collected = records, no cause of loss, the head's
 * counts are the records', the payloads are side by side in args.bin and agree with their hashes, the journal is
 * gone.
 */
void capture_sound(const struct capture *c);
/* The only record of this argument at this stage; NULL if there is none. */
const struct tl_dump_record *capture_find(const struct capture *c, tl_task_id task, enum tl_stage stage, uint32_t arg);
/* The same, which must be there. */
const struct tl_dump_record *capture_get(const struct capture *c, tl_task_id task, enum tl_stage stage, uint32_t arg);
/* Asserts a tensor record with exactly these bytes as its payload. */
void capture_payload(const struct capture *c, const struct tl_dump_record *r, enum tl_role role, const void *bytes,
                     size_t size);
/* Asserts a scalar of this dtype and bits. */
void capture_scalar(const struct capture *c, tl_task_id task, uint32_t arg, enum tl_dtype dtype, uint64_t bits);
/* Every file under the run's directory, sorted, "a/b c"; "" if there is no directory. The caller's buffer. */
const char *capture_files(const struct capture *c, char *text, size_t size);
/* Log lines since capture_begin that have `part` in them. */
unsigned capture_logged(const char *part);

/* A program with these kernels and this orchestration; its data come from the test. */
#define CAPTURE_PROGRAM(name_, kernels_, orchestrate_)                                                                 \
    {                                                                                                                  \
        .struct_size = sizeof(struct tl_program), .api_version = TL_PROGRAM_API, .name = (name_), .summary = "",       \
        .kernels = (kernels_), .n_kernels = TL_ARRAY_COUNT(kernels_), .orchestrate = (orchestrate_),                   \
        .prepare = capture_no_data                                                                                     \
    }
int capture_no_data(struct tl_data *d);
/* A program tensor of one dim. */
struct tl_host_tensor capture_row(const char *name, enum tl_direction role, enum tl_dtype dtype, void *data,
                                  uint32_t count);

#endif
