/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The diagnostics of a run, one row for each: everything outside of a diagnostic's own files is made from this list.
 *
 *   COLLECTOR(id, words, option, argument, bare, max, help, file, viewers, streams)
 *     id        TL_COLLECT_<id>, the index of its level in tl_run_config.levels
 *     words     its name in messages
 *     option    of `tasklens run`; argument: its name in the help, NULL: the option takes none
 *     bare, max the level of the option without an argument; the highest one
 *     help      of the option
 *     file      its artifact, by which a recording is known to have it; below the run's directory
 *     viewers   VIEWER(collector, command) for each command of `tasklens` that shows it, the main one first
 *     streams   STREAM(id, number, collector, name, role, from) for each kind of record: `role` writes it at level
 *               `from` and up. The number is in journals: a new stream takes the next one.
 */
#ifndef TASKLENS_COLLECTORS_H
#define TASKLENS_COLLECTORS_H

#include <stdint.h>

/* clang-format off */
#define TL__COLLECTORS(COLLECTOR, VIEWER, STREAM) \
    COLLECTOR(DUMP, "the args dump", "dump-args", "L", 1, 3, \
        "record arguments: 1 what is marked (the default without L),\n" \
        "2 everything, 3 all metadata and marked payloads", \
        "args_dump/args_dump.json", VIEWER(DUMP, dump), \
        STREAM(DUMP, 0, DUMP, dump, SCHEDULER, 1)) \
    COLLECTOR(SWIMLANE, "the chip swimlane", "enable-chip-swimlane", "L", 4, 4, \
        "record what ran when: 1 tasks on cores, 2 + dispatch and finish,\n" \
        "3 + scheduler phases, 4 + submits (the default without L)", \
        "chip_swimlane_records.json", VIEWER(SWIMLANE, swimlane) VIEWER(SWIMLANE, sched), \
        STREAM(SUBTASKS, 1, SWIMLANE, subtasks, SCHEDULER, 1) \
        STREAM(PHASES, 2, SWIMLANE, phases, SCHEDULER, 3) \
        STREAM(SUBMITS, 3, SWIMLANE, submits, ORCHESTRATOR, 4)) \
    COLLECTOR(DEPS, "dep_gen", "enable-dep-gen", NULL, 1, 1, \
        "record the task graph: every task, argument and edge", \
        "deps.json", VIEWER(DEPS, deps), \
        STREAM(DEPS, 4, DEPS, deps, ORCHESTRATOR, 1)) \
    COLLECTOR(PMU, "the PMU", "enable-pmu", "N", 2, INT32_MAX, \
        "count what the cores did: 1 arithmetic, 2 pipes (the default\n" \
        "without N), 4 memory, 5 L0, 6 conflicts, 7 UB, 8 L2 cache", \
        "pmu.csv", VIEWER(PMU, pmu), \
        STREAM(PMU, 6, PMU, pmu, SCHEDULER, 1)) \
    COLLECTOR(SCOPE, "scope statistics", "enable-scope-stats", NULL, 1, 1, \
        "record how full the rings were at each scope's ends", \
        "scope_stats/scope_stats.jsonl", VIEWER(SCOPE, scope), \
        STREAM(SCOPE, 5, SCOPE, scope, ORCHESTRATOR, 1)) \
    COLLECTOR(TRAFFIC, "traffic", "enable-traffic", NULL, 1, 1, \
        "record the bytes that each task reads and writes through each argument", \
        "traffic.jsonl", VIEWER(TRAFFIC, traffic), \
        STREAM(TRAFFIC, 7, TRAFFIC, traffic, SCHEDULER, 1))
/* clang-format on */

#define TL_COLLECT_SLOTS 16 /* levels that a configuration can hold */

#define TL__COLLECT_ID(id, words, option, argument, bare, max, help, file, viewers, streams) TL_COLLECT_##id,
#define TL__COLLECT_NONE(...)
/* Index of a diagnostic's level in tl_run_config.levels. */
enum tl_collect { TL__COLLECTORS(TL__COLLECT_ID, TL__COLLECT_NONE, TL__COLLECT_NONE) TL_COLLECT_COUNT };
#undef TL__COLLECT_ID

#endif
