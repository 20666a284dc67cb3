/* SPDX-License-Identifier: Apache-2.0 */
/* Between serial.c (tasks) and serial_data.c (program tensors, comparison). */
#ifndef TL_TESTS_SERIAL_INTERNAL_H
#define TL_TESTS_SERIAL_INTERNAL_H

#include "serial.h"

struct tl_data {
    const struct tl_program *program;
    struct serial_run *run;
    uint64_t random_state;
    bool preparing; /* tl_data_tensor() may be called */
    bool failed;
};

/* Runs the orchestration on the run's tensors; the error, if any, is in run->error. */
void serial__orchestrate(const struct tl_program *program, const struct serial_opts *opts, struct serial_run *run);
/* splitmix64: the next of a sequence that is the same everywhere. */
uint64_t serial__random(uint64_t *state);
/* Sets *err unless it already holds an error, and returns its code. */
int serial__fail(struct tl_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
