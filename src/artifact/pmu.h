/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmu.csv: what a core counted while it ran one subtask of a task, a row each; and pmu_meta.json beside it: where each
 * column's values come from (docs/formats/pmu.md). One writer and one reader each; the reader of the rows takes files
 * made by others of this kind, with any event type's columns in any order.
 */
#ifndef TL_ARTIFACT_PMU_H
#define TL_ARTIFACT_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#define TL_PMU_NAME "pmu.csv"
#define TL_PMU_META_NAME "pmu_meta.json"
#define TL_PMU_META_VERSION 1u
#define TL_PMU_MAX_COLUMNS 64u /* counters in a file */

/* A row without its counters. */
struct tl_pmu_row {
    uint64_t task_id, total_cycles;
    uint32_t thread_id, core_id;
    int32_t func_id;
    uint8_t core_type; /* enum tl_core: 0 AIC, 1 AIV */
    uint8_t event_type;
    uint32_t run_epoch; /* which run; 0 where the file has no such column */
};

struct tl_pmu {
    char **names; /* n_counters: the columns between pmu_total_cycles and event_type, and any that is not known */
    struct tl_pmu_row *rows;
    uint64_t *counters; /* n_rows * n_counters, row by row */
    uint64_t n_rows;
    uint32_t n_counters;
    uint32_t n_text;                  /* columns that hold no integers: left out */
    char first_text[64];              /* the first of them */
    uint32_t event_type;              /* of the first row; 0: no rows */
    bool several_events;              /* a row has another */
    uint32_t first_epoch, last_epoch; /* min and max run_epoch of the rows */
};

/* Writes DIR/pmu.csv by rename, rows as they are. TL_EIO, TL_ENOSPC. */
int tl__pmu_write(const char *dir, const struct tl_pmu *pmu, struct tl_error *reterr);
/* Leaves the rows of that run alone. How many. */
uint64_t tl__pmu_keep_run(struct tl_pmu *pmu, uint32_t run_epoch);
/* Reads the file at `path`. TL_ENOENT, TL_EIO, TL_ENOMEM; TL_EPARSE with file, line and column. *ret_pmu is the
 * caller's: end with tl__pmu_fini. */
int tl__pmu_read(const char *path, struct tl_pmu *ret_pmu, struct tl_error *reterr);
/* The same from memory; `name` appears in messages. */
int tl__pmu_parse(const void *text, size_t bytes, const char *name, struct tl_pmu *ret_pmu, struct tl_error *reterr);
void tl__pmu_fini(struct tl_pmu *pmu);

/* "PIPE_UTILIZATION"; NULL: no event type of the format. */
const char *tl__pmu_event_name(unsigned event_type);

enum tl_pmu_source { TL_PMU_UNAVAILABLE, TL_PMU_MODELLED, TL_PMU_MEASURED };

/* Where the values of one column come from. */
struct tl_pmu_meta_column {
    char name[64];
    char unit[16];         /* "cycles", "count", "bytes", "ops" */
    char text[512];        /* measured: the event's name; modelled: the formula; unavailable: the reason */
    uint64_t rows_lacking; /* of a measured column: rows without a value */
    uint8_t source;        /* enum tl_pmu_source */
};

struct tl_pmu_meta {
    char arch[16], event_name[32];
    char mode[16];          /* "measured": some column is measured by the machine's counters; "modelled": none is */
    char machine[256];      /* the machine's counters: used, or why not */
    uint64_t clock_freq_hz; /* of pmu_total_cycles and of every column in cycles */
    uint64_t records, dropped;
    uint32_t version, event_type;
    uint32_t run_epoch; /* of the rows; 0: not stated */
    uint32_t n_columns;
    struct tl_pmu_meta_column columns[TL_PMU_MAX_COLUMNS]; /* pmu_total_cycles first */
    uint32_t n_silent;
    int32_t
        *silent; /* kernels that never called tl_count: their modelled cells are 0 and mean nothing; func ids, sorted */
};

/* Writes DIR/pmu_meta.json by rename. TL_EIO, TL_ENOSPC, TL_ENOMEM. */
int tl__pmu_meta_write(const char *dir, const struct tl_pmu_meta *meta, struct tl_error *reterr);
/* Reads DIR/pmu_meta.json. TL_ENOENT; TL_EPARSE with file and field; TL_EVERSION. Lists of unknown length are cut to
 * what the struct holds. *ret_meta is the caller's: end with tl__pmu_meta_fini. */
int tl__pmu_meta_read(const char *dir, struct tl_pmu_meta *ret_meta, struct tl_error *reterr);
/* The same from memory; `name` appears in messages. */
int tl__pmu_meta_parse(const void *text, size_t bytes, const char *name, struct tl_pmu_meta *ret_meta,
                       struct tl_error *reterr);
void tl__pmu_meta_fini(struct tl_pmu_meta *meta);
/* The column of that name, or NULL. */
const struct tl_pmu_meta_column *tl__pmu_meta_column(const struct tl_pmu_meta *meta, const char *name);
/* Whether the kernel is one of `silent`. */
bool tl__pmu_meta_is_silent(const struct tl_pmu_meta *meta, int32_t func_id);
/* "measured", "modelled", "unavailable". */
const char *tl__pmu_source_name(unsigned source);

#endif
