/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank this is, by each launcher's variables. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "host/launcher.h"

/* The environment: name, value, name, value, NULL. */
static const char *const *env;

static const char *get(const char *name)
{
    for (size_t i = 0; env[i] != NULL; i += 2)
        if (strcmp(env[i], name) == 0)
            return env[i + 1];
    return NULL;
}

static struct tl_launcher l;
static struct tl_error err;

static int find(const char *const *variables)
{
    env = variables;
    return tl__launcher_find(get, &l, &err);
}
#define FIND(...) find((const char *const[]){__VA_ARGS__, NULL})

static void expect_rank(const char *name, uint32_t rank, uint32_t ranks, const char *job)
{
    assert_string_equal(l.name, name);
    assert_int_equal(l.rank, rank);
    assert_int_equal(l.ranks, ranks);
    assert_string_equal(l.job, job);
}

static void without_a_launcher_there_is_one_rank(void **state)
{
    (void)state;
    assert_int_equal(FIND("PATH", "/bin"), 0);
    assert_null(l.name);
    assert_int_equal(l.ranks, 1);
    assert_int_equal(FIND("OMPI_COMM_WORLD_RANK", ""), 0);
    assert_null(l.name);
}

static void each_launchers_variables_are_understood(void **state)
{
    (void)state;
    assert_int_equal(FIND("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4", "OMPI_MCA_ess_base_jobid", "315",
                          "PMIX_RANK", "2", "PMIX_NAMESPACE", "n"),
                     0);
    expect_rank("Open MPI", 2, 4, "315");
    assert_int_equal(FIND("OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "4", "PMIX_NAMESPACE", "prte/a@b 1"), 0);
    expect_rank("Open MPI", 0, 4, "prte_a_b_1");
    assert_int_equal(FIND("SLURM_PROCID", "1", "SLURM_NTASKS", "8", "SLURM_STEP_NUM_TASKS", "2", "SLURM_JOB_ID", "77",
                          "SLURM_STEP_ID", "3"),
                     0);
    expect_rank("Slurm", 1, 2, "77.3");
    assert_int_equal(FIND("PMI_RANK", "5", "PMI_SIZE", "6"), 0);
    expect_rank("PMI", 5, 6, "");
    assert_int_equal(FIND("PMIX_RANK", "1", "PMI_SIZE", "2", "PMIX_NAMESPACE", "x"), 0);
    expect_rank("PMIx", 1, 2, "x");
    assert_int_equal(FIND("MV2_COMM_WORLD_RANK", "1", "MV2_COMM_WORLD_SIZE", "2", "SLURM_JOB_ID", "9"), 0);
    expect_rank("MVAPICH", 1, 2, "9");
    assert_int_equal(FIND("TASKLENS_RANK", "0", "TASKLENS_RANKS", "2", "TASKLENS_JOB", "mine"), 0);
    expect_rank("TASKLENS_RANK", 0, 2, "mine");
}

/* A batch script of many tasks is one process, and not rank 0 of them. */
static void a_batch_script_is_no_rank(void **state)
{
    (void)state;
    assert_int_equal(FIND("SLURM_PROCID", "0", "SLURM_NTASKS", "8", "SLURM_JOB_ID", "77"), 0);
    assert_null(l.name);
}

static void refuses(const char *part)
{
    if (strstr(err.msg, part) == NULL)
        fail_msg("no \"%s\" in: %s", part, err.msg);
}

static void wrong_variables_are_refused(void **state)
{
    (void)state;
    assert_int_equal(FIND("PMI_RANK", "x", "PMI_SIZE", "2"), TL_EINVAL);
    refuses("PMI_RANK=x");
    assert_int_equal(FIND("PMI_RANK", "-1", "PMI_SIZE", "2"), TL_EINVAL);
    assert_int_equal(FIND("PMI_RANK", "1", "PMI_SIZE", "2k"), TL_EINVAL);
    refuses("PMI_SIZE=2k");
    assert_int_equal(FIND("PMI_RANK", "2", "PMI_SIZE", "2"), TL_EINVAL);
    refuses("PMI_RANK=2 is none of PMI_SIZE=2 ranks");
    assert_int_equal(FIND("PMI_RANK", "0", "PMI_SIZE", "0"), TL_EINVAL);
    assert_int_equal(FIND("PMI_RANK", "0", "PMI_SIZE", "99999999"), TL_EINVAL);
    assert_int_equal(FIND("PMIX_RANK", "1"), TL_EINVAL);
    refuses("nothing of how many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_launcher_there_is_one_rank),
        cmocka_unit_test(each_launchers_variables_are_understood),
        cmocka_unit_test(a_batch_script_is_no_rank),
        cmocka_unit_test(wrong_variables_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
