/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of how many processes this is, by the environment that a launcher (mpirun, srun, ...) gives to each: no MPI is
 * needed, to build or to run. TASKLENS_RANK, TASKLENS_RANKS and TASKLENS_JOB are for other launchers.
 */
#ifndef TL_HOST_LAUNCHER_H
#define TL_HOST_LAUNCHER_H

#include <stdint.h>

#include <tasklens/error.h>

struct tl_launcher {
    const char *name; /* static: "Open MPI"; NULL: nothing launched us */
    uint32_t rank, ranks;
    char job[96]; /* the job's name, the same in all its processes and valid as a file name; "": none */
};

/* `get` is getenv, or a test's replacement. 0, also without a launcher (rank 0 of 1). TL_EINVAL, with the variable's
 * name: it is not a number, the rank is not below the number of ranks, or a rank is given without that number. */
int tl__launcher_find(const char *(*get)(const char *name), struct tl_launcher *ret_launcher, struct tl_error *reterr);
/* The same by this process's environment. */
int tl__launcher_here(struct tl_launcher *ret_launcher, struct tl_error *reterr);

#endif
