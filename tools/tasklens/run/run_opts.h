/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `tasklens run`. */
#ifndef TL_TOOLS_RUN_OPTS_H
#define TL_TOOLS_RUN_OPTS_H

#include "host/compile.h"
#include <stdbool.h>
#include <stdint.h>

#include <tasklens/worker.h>

#define TL_RUN_MAX_SETTINGS 64
#define TL_RUN_MAX_ARGS 32
#define TL_RUN_MAX_CHIPS 64

struct tl_run_options {
    const char *program, *case_name, *out;
    const char *sources[TL_COMPILE_MAX_SOURCES]; /* of a program that is compiled on the spot */
    struct tl_compile_opts compile;
    int64_t rounds;
    bool rounds_given;
    int64_t chips;   /* --chips; 0: not given */
    const char *pin; /* --pin; NULL: not given */
    bool has_window; /* only rounds window_first to window_last are recorded */
    int64_t window_first, window_last;
    bool list_cases;
    struct tl_setting settings[TL_RUN_MAX_SETTINGS];
    uint32_t n_settings;
    const char *arg_names[TL_RUN_MAX_ARGS], *arg_files[TL_RUN_MAX_ARGS];
    uint32_t n_args;
    struct tl_worker_opts worker;
    struct tl_run_config config;
    uint64_t throttle_writer_bytes_s; /* --throttle-writer; 0: not given */
    bool recording;                   /* a diagnostic is on */
};

/* Reads argv. TL_OPTS_GO_ON, or the exit code to end with. Strings are argv's. */
int tl__run_options(int argc, char **argv, struct tl_run_options *ret_options);

#endif
