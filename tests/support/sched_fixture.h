/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is small enough to work out by hand, for the tests of what is said about schedules. One cycle is one
 * nanosecond, from 1,000,000 on; times here are after that. Cores 0, 1 are AIC of scheduler 0; 2, 3 are AIV of 1.
 *
 *     r0t0  load    core 0                                   submit   0..10
 *     r0t1  scale   core 2, after r0t0                       submit  20..30
 *     r0t2  scale   core 2, after r0t0, queued behind r0t1   submit  30..40
 *     r0t3  matmul on core 1 and add on core 3, a mix, after r0t1 and r0t2
 *     r0t4  scale   SPMD of 3 blocks: cores 2, 3, 2, after r0t3
 *     r0t5  no kernel, after r0t4
 */
#ifndef TL_TESTS_SCHED_FIXTURE_H
#define TL_TESTS_SCHED_FIXTURE_H

#include <stdio.h>

#define SCHED_FIXTURE_HEAD(level)                                                                                      \
    "{\"chip_swimlane_level\": " #level                                                                                \
    ", \"metadata\": {\"clock_freq_hz\": 1000000000, \"num_cores\": 4, \"core_types\": [\"aic\", \"aic\", \"aiv\", "   \
    "\"aiv\"]"
#define SCHED_FIXTURE_CORES                                                                                            \
    "\"aicore_tasks\": [[0, 0, 1, 1000025, 1000145], [1, 3, 1, 1000470, 1000600], [2, 1, 1, 1000195, 1000295],"        \
    " [2, 2, 2, 1000300, 1000420], [2, 4, 3, 1000650, 1000700], [2, 4, 4, 1000703, 1000760],"                          \
    " [3, 3, 1, 1000475, 1000520], [3, 4, 2, 1000655, 1000715]]"
#define SCHED_FIXTURE_AICPUS                                                                                           \
    ", \"aicpu_tasks\": [[0, 1, 1000018, 1000155], [1, 1, 1000460, 1000610], [2, 1, 1000185, 1000300],"                \
    " [2, 2, 1000187, 1000430], [2, 3, 1000640, 1000705], [2, 4, 1000643, 1000770], [3, 1, 1000462, 1000530],"         \
    " [3, 2, 1000642, 1000720]]"
#define SCHED_FIXTURE_PHASE(kind, start, end, iter, tasks)                                                             \
    "{\"kind\": \"" kind "\", \"start_cycles\": 1000" #start ", \"end_cycles\": 1000" #end ", \"loop_iter\": " #iter   \
    ", \"tasks_processed\": " #tasks
/* clang-format off */
#define SCHED_FIXTURE_PHASES                                                                                           \
    ", \"aicpu_scheduler_phases\": [["                                                                                 \
    SCHED_FIXTURE_PHASE("dispatch", 012, 020, 1, 1) ", \"pop_hit\": 1, \"pop_miss\": 3}, "                             \
    SCHED_FIXTURE_PHASE("resolve", 156, 168, 9, 2) "}, "                                                               \
    SCHED_FIXTURE_PHASE("complete", 150, 172, 9, 1) "}, "                                                              \
    SCHED_FIXTURE_PHASE("dispatch", 452, 465, 20, 2) ", \"pop_hit\": 1, \"pop_miss\": 7}, "                            \
    SCHED_FIXTURE_PHASE("complete", 605, 625, 31, 1) "}], ["                                                           \
    SCHED_FIXTURE_PHASE("dispatch", 175, 190, 11, 2) ", \"pop_hit\": 2, \"pop_miss\": 4}, "                            \
    SCHED_FIXTURE_PHASE("complete", 298, 310, 15, 1) "}, "                                                             \
    SCHED_FIXTURE_PHASE("resolve", 430, 440, 18, 1) "}, "                                                              \
    SCHED_FIXTURE_PHASE("complete", 425, 445, 18, 1) "}, "                                                             \
    SCHED_FIXTURE_PHASE("complete", 525, 535, 22, 1) "}, "                                                             \
    SCHED_FIXTURE_PHASE("dispatch", 632, 645, 30, 3) ", \"pop_hit\": 3, \"pop_miss\": 9}, "                            \
    SCHED_FIXTURE_PHASE("complete", 702, 706, 33, 1) "}, "                                                             \
    SCHED_FIXTURE_PHASE("complete", 716, 722, 34, 1) "}, "                                                             \
    SCHED_FIXTURE_PHASE("complete", 765, 790, 36, 1) "}, "                                                             \
    SCHED_FIXTURE_PHASE("release", 790, 800, 36, 1) "}]]"
/* clang-format on */
#define SCHED_FIXTURE_SUBMIT(i, task, start, end)                                                                      \
    "{\"submit_idx\": " #i ", \"task_id\": " #task ", \"start_cycles\": 1000" #start ", \"end_cycles\": 1000" #end "}"
#define SCHED_FIXTURE_SUBMITS                                                                                                                       \
    ", \"aicpu_orchestrator_phases\": [[" SCHED_FIXTURE_SUBMIT(0, 0, 000, 010) ", " SCHED_FIXTURE_SUBMIT(1, 1, 020, 030) ", " SCHED_FIXTURE_SUBMIT( \
        2, 2, 030,                                                                                                                                  \
        040) ", " SCHED_FIXTURE_SUBMIT(3, 3, 045,                                                                                                   \
                                       060) ", " SCHED_FIXTURE_SUBMIT(4, 4, 060,                                                                    \
                                                                      070) ", " SCHED_FIXTURE_SUBMIT(5, 5, 070,                                     \
                                                                                                     075) "]]"
#define SCHED_FIXTURE_THREADS ", \"core_to_thread\": [0, 0, 1, 1]}, "

/* The file at each level; [0] is unused. */
static const char *const sched_fixture_lane[5] = {
    NULL,
    SCHED_FIXTURE_HEAD(1) "}, " SCHED_FIXTURE_CORES "}",
    SCHED_FIXTURE_HEAD(2) "}, " SCHED_FIXTURE_CORES SCHED_FIXTURE_AICPUS "}",
    SCHED_FIXTURE_HEAD(3) SCHED_FIXTURE_THREADS SCHED_FIXTURE_CORES SCHED_FIXTURE_AICPUS SCHED_FIXTURE_PHASES "}",
    SCHED_FIXTURE_HEAD(4)
        SCHED_FIXTURE_THREADS SCHED_FIXTURE_CORES SCHED_FIXTURE_AICPUS SCHED_FIXTURE_PHASES SCHED_FIXTURE_SUBMITS "}",
};

#define SCHED_FIXTURE_TASK(id, aic, aiv0, blocks)                                                                      \
    "{\"task_id\": \"" #id "\", \"scope\": \"auto\", \"early_dispatch\": false, \"kernel_ids\": [" #aic ", " #aiv0     \
    ", -1], \"block_num\": " #blocks ", \"args\": []}"
#define SCHED_FIXTURE_EDGE(pred, succ)                                                                                 \
    "{\"pred\": \"" #pred "\", \"succ\": \"" #succ "\", \"arg\": -1, \"source\": \"explicit\"}"
#define SCHED_FIXTURE_TASKS                                                                                            \
    "{\"tasks\": [" SCHED_FIXTURE_TASK(0, 0, -1, 1) ", " SCHED_FIXTURE_TASK(1, -1, 1, 1) ", " SCHED_FIXTURE_TASK(      \
        2, -1, 1,                                                                                                      \
        1) ", " SCHED_FIXTURE_TASK(3, 2, 3,                                                                            \
                                   1) ", " SCHED_FIXTURE_TASK(4, -1, 1,                                                \
                                                              3) ", " SCHED_FIXTURE_TASK(5, -1, -1,                    \
                                                                                         1) "], \"tensors\": [], "     \
                                                                                            "\"edges\": ["
#define SCHED_FIXTURE_EDGES                                                                                            \
    SCHED_FIXTURE_EDGE(0, 1)                                                                                           \
    ", " SCHED_FIXTURE_EDGE(0, 2) ", " SCHED_FIXTURE_EDGE(1, 3) ", " SCHED_FIXTURE_EDGE(2, 3) ", " SCHED_FIXTURE_EDGE( \
        3, 4) ", " SCHED_FIXTURE_EDGE(4, 5)

static const char sched_fixture_deps[] = SCHED_FIXTURE_TASKS SCHED_FIXTURE_EDGES "]}";
/* With an edge more, back to the beginning. */
static const char sched_fixture_cycle[] = SCHED_FIXTURE_TASKS SCHED_FIXTURE_EDGES ", " SCHED_FIXTURE_EDGE(4, 2) "]}";
static const char sched_fixture_names[] =
    "{\"level\": 2, \"orchestrator_name\": null, \"callable_id_to_name\": {\"0\": \"load\", \"1\": \"scale\", \"2\": "
    "\"matmul\", \"3\": \"add|sum\"}}";

#endif
