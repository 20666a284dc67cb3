/* SPDX-License-Identifier: Apache-2.0 */
#include "host/launcher.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/dispatch_program.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/number.h"

#define WORDS 4

/* A launcher's variables; of several the first that is set counts. */
struct row {
    const char *name;
    const char *rank;
    const char *ranks[WORDS]; /* the last is NULL, as below */
    const char *job[WORDS];
    const char *step; /* appended to the job after a dot; if it is not set, this process was not launched */
};

/* In a batch script Slurm sets SLURM_PROCID too, but no step: that is one process, not one of many. PMIx gives no size;
 * the launcher on top of it does. */
static const struct row rows[] = {
    {"TASKLENS_RANK", "TASKLENS_RANK", {"TASKLENS_RANKS"}, {"TASKLENS_JOB"}, NULL},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"}, NULL},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}, {"PMIX_NAMESPACE", "SLURM_JOB_ID"}, NULL},
    {"Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, {"SLURM_JOB_ID"}, "SLURM_STEP_ID"},
    {"PMI", "PMI_RANK", {"PMI_SIZE"}, {"PMIX_NAMESPACE", "SLURM_JOB_ID"}, NULL},
    {"PMIx", "PMIX_RANK", {"PMIX_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, {"PMIX_NAMESPACE"}, NULL},
};

typedef const char *(*getter)(const char *name);

/* The first variable of the list that is set and not empty. */
static const char *first_of(getter get, const char *const *names, const char **ret_name)
{
    for (unsigned i = 0; i < WORDS && names[i] != NULL; i++) {
        const char *value = get(names[i]);

        if (value == NULL || value[0] == '\0')
            continue;
        *ret_name = names[i];
        return value;
    }
    return NULL;
}

static int number(const char *name, const char *text, uint32_t *ret_value, struct tl_error *reterr)
{
    uint64_t value;

    if (!tl__read_u64(text, strlen(text), &value) || value > TL_MAX_RANKS)
        return tl__fail(reterr, TL_EINVAL, "%s=%.60s is not an integer from 0 to %u: unset it to run without ranks",
                        name, text, TL_MAX_RANKS);
    *ret_value = (uint32_t)value;
    return 0;
}

/* Appends the bytes that a file name may have; each other byte becomes an underscore. */
static void add_word(char *to, size_t size, const char *word)
{
    size_t n = strlen(to);

    for (; *word != '\0' && n + 1 < size; word++)
        to[n++] = isalnum((unsigned char)*word) || strchr("-_.", *word) != NULL ? *word : '_';
    to[n] = '\0';
}

static void name_job(getter get, const struct row *row, struct tl_launcher *l)
{
    const char *name, *job = first_of(get, row->job, &name), *step = row->step != NULL ? get(row->step) : NULL;

    if (job == NULL)
        return;
    add_word(l->job, sizeof(l->job), job);
    if (step == NULL)
        return;
    add_word(l->job, sizeof(l->job), ".");
    add_word(l->job, sizeof(l->job), step);
}

static int read_row(getter get, const struct row *row, struct tl_launcher *l, struct tl_error *reterr)
{
    const char *size_name = row->ranks[0], *size = first_of(get, row->ranks, &size_name);
    int rc = number(row->rank, get(row->rank), &l->rank, reterr);

    if (rc == 0 && size == NULL)
        return tl__fail(reterr, TL_EINVAL, "%s=%u says which rank this is, and nothing of how many: set %s", row->rank,
                        l->rank, row->ranks[0]);
    if (rc == 0)
        rc = number(size_name, size, &l->ranks, reterr);
    if (rc == 0 && l->rank >= l->ranks)
        rc = tl__fail(reterr, TL_EINVAL, "%s=%u is none of %s=%u ranks", row->rank, l->rank, size_name, l->ranks);
    if (rc != 0)
        return rc;
    l->name = row->name;
    name_job(get, row, l);
    return 0;
}

int tl__launcher_find(const char *(*get)(const char *name), struct tl_launcher *l, struct tl_error *reterr)
{
    memset(l, 0, sizeof(*l));
    l->ranks = 1;
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        const char *rank = get(rows[i].rank);

        if (rank != NULL && rank[0] != '\0' && (rows[i].step == NULL || get(rows[i].step) != NULL))
            return read_row(get, &rows[i], l, reterr);
    }
    return 0;
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

int tl__launcher_here(struct tl_launcher *ret_launcher, struct tl_error *reterr)
{
    return tl__launcher_find(from_environment, ret_launcher, reterr);
}
