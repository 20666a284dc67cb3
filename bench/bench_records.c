/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a second from publish to collected: one lane pushes metadata records through the real producer, the engine
 * consumes them, and the clock stops when the last one is in the journal. Then what a run costs the host beside that:
 * the median of begin and quiesce over runs without records. Prints each transport.
 *
 *     bench_records [RECORDS [DIR]]        default: 2,000,000, /tmp
 */
#include <stdio.h>
#include <sys/stat.h>

#include "support/fake_run.h"

#include "median.h"

static double run(enum fake_kind kind, uint32_t records, const char *dir, uint32_t epoch, struct fake_world *w)
{
    struct fake_script s = {.records = records, .scalar_every = 1};
    struct tl_run_config c = TL_RUN_CONFIG_INIT;
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    uint64_t start;
    double seconds;

    (void)kind;
    c.output_prefix = dir;
    c.levels[TL_COLLECT_DUMP] = 3;
    if (fake_begin(w, epoch, 1, &c, &s, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    start = tl__now_ns();
    fake_role_run(&w->roles[0], &w->chip);
    if (tl__engine_quiesce(w->engine, epoch, TL_FOREVER) < 0)
        exit(1);
    seconds = (double)(tl__now_ns() - start) / 1e9;
    if (fake_export(w->engine, epoch, records, &result, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    return seconds;
}

#define EMPTY_RUNS 21

static void run_cost(struct fake_world *w, const char *dir, uint32_t epoch)
{
    double begin_us[EMPTY_RUNS], quiesce_us[EMPTY_RUNS];
    const struct fake_script s = {0};
    struct tl_run_config c = TL_RUN_CONFIG_INIT;

    c.output_prefix = dir;
    c.levels[TL_COLLECT_DUMP] = 3;
    for (unsigned i = 0; i < EMPTY_RUNS; i++) {
        struct tl_run_result result = {0};
        uint64_t t0 = tl__now_ns(), t1;

        if (fake_begin(w, epoch + i, 1, &c, &s, NULL) < 0)
            exit(1);
        t1 = tl__now_ns();
        fake_role_run(&w->roles[0], &w->chip);
        begin_us[i] = (double)(t1 - t0) / 1e3;
        t0 = tl__now_ns();
        if (tl__engine_quiesce(w->engine, epoch + i, TL_FOREVER) < 0)
            exit(1);
        quiesce_us[i] = (double)(tl__now_ns() - t0) / 1e3;
        if (fake_export(w->engine, epoch + i, 0, &result, NULL) < 0)
            exit(1);
    }
    printf("             an empty run: begin %.0f us, quiesce %.0f us\n", bench_median(begin_us, EMPTY_RUNS),
           bench_median(quiesce_us, EMPTY_RUNS));
}

int main(int argc, char **argv)
{
    uint32_t records = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2000000;
    char dir[300], command[400];

    snprintf(dir, sizeof(dir), "%s/tl-bench-XXXXXX", argc > 2 ? argv[2] : "/tmp");
    if (mkdtemp(dir) == NULL)
        return 1;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_world w;

        fake_world_init(&w, kind, 1, (uint64_t)1 << 30);
        for (uint32_t epoch = 1; epoch <= 3; epoch++) {
            double seconds = run(kind, records, dir, epoch, &w);

            printf("%-12s run %u: %.3g records/s (%.0f ns a record)\n", fake_kind_name(kind), epoch, records / seconds,
                   seconds * 1e9 / records);
        }
        run_cost(&w, dir, 4);
        fake_world_fini(&w);
    }
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command) != 0;
}
