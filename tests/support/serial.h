/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The serial interpreter: a second, naive implementation of what a program means. It runs each task on plain host
 * memory, one at a time, and its results are what the real runtime's are compared with. It knows no rings, cores,
 * queues or tensormap: a buffer address is a host pointer, and a dependency is found by looking at every element.
 *
 * It defines the same symbols as the device (tl_submit_*, tl_scope_*, tl_data_*, ...), so it is compiled into test
 * programs that link none of the device's objects, and a program's shared object binds to whichever loaded it.
 *
 * It is strict where a real chip would merely go wrong: allocated memory and outputs hold NaN patterns until they
 * are written, and a buffer whose scope has ended is an error to use. Single-threaded.
 */
#ifndef TL_TESTS_SERIAL_H
#define TL_TESTS_SERIAL_H

#include <tasklens/program.h>

/* A program's tensor. The run's, until serial_free(). */
struct serial_tensor {
    uint64_t random_state; /* of the tensor's own numbers */
    const char *name;
    enum tl_direction role;
    struct tl_tensor tensor; /* as the orchestration sees it */
    uint64_t bytes;
    void *data;     /* what the tasks read and leave behind */
    void *input;    /* as it went in */
    void *expected; /* the golden's; NULL until golden() has asked for it */
};

/* What an observer is shown, before a task's first kernel and after its last. Valid during the call. */
struct serial_task {
    tl_task_id id;
    struct tl_mix mix; /* func ids; -1: none */
    const struct tl_task_args *args;
    uint32_t block_num;
};
typedef void (*serial_observer)(void *context, const struct serial_task *task, bool after);

/* Instead of a seed: the last task first, with nothing before it but what it waits for, then the last of the rest. */
#define SERIAL_LAST_FIRST UINT64_MAX

struct serial_opts {
    const char *case_name;             /* NULL: the first case */
    const struct tl_setting *settings; /* on top of the case's; n_settings of them */
    uint32_t n_settings;
    /* 0: tasks run at submit, in that order. Else after the orchestration, in a random order that keeps each task
     * behind those whose output it takes (read or overwritten) and behind its explicit dependencies, and behind nothing
     * else: readers are not waited for. */
    uint64_t shuffle_seed;
    serial_observer observer; /* NULL: nobody watches */
    void *observer_context;
};

struct serial_run {
    struct tl_error error; /* of the run, code 0 if it went well */
    uint64_t tasks;        /* submitted, allocations not counted */
    uint64_t kernel_calls;
    uint64_t edges; /* shuffled runs: dependencies found */
    uint32_t n_tensors, n_params;
    struct serial_tensor tensors[TL_MAX_PROGRAM_ARGS];
    int64_t params[64];
};

/* Loads a program's shared object and checks its kernel table. *ret_handle is dlopen's, for serial_unload(). */
int serial_load(const char *path, void **ret_handle, const struct tl_program **ret_program, struct tl_error *reterr);
void serial_unload(void *handle);

/* prepare, orchestrate, golden. *ret_run is set on failure too (then with .error), unless memory ran out; the caller's.
 */
int serial_run(const struct tl_program *program, const struct serial_opts *opts, struct serial_run **ret_run);
void serial_free(struct serial_run *run);

/* Elements of all outputs that differ from the golden beyond the tolerance; the first is described in *ret_first. */
uint64_t serial_differences(const struct tl_program *program, const struct serial_run *run, struct tl_error *ret_first);
/* One element as a double, whatever its dtype; `data` is dense. FP4 and FP8 give their raw bits. */
double serial_element(const void *data, enum tl_dtype dtype, uint64_t index);

#endif
