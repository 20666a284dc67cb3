/* SPDX-License-Identifier: Apache-2.0 */
/* What cores counted, by kernel: figures over the rows of a pmu.csv, and their renderings. No printing here. */
#ifndef TL_ANALYSIS_PMU_VIEW_H
#define TL_ANALYSIS_PMU_VIEW_H

#include "analysis/text/rendering.h"
#include "artifact/name_map.h"
#include "artifact/pmu.h"
#include "base/json.h"

#define TL_PMU_NOT_STATED UINT8_MAX /* a column's source where no pmu_meta.json says it */
#define TL_PMU_MIXED_CORES UINT8_MAX

/* Over the subtasks of one kernel: nearest ranks. */
struct tl_pmu_figure {
    uint64_t min, median, p95, max;
    double sum;
    bool lacking; /* no source, or the kernel reports nothing that the model could use: the zeros mean nothing */
};

struct tl_pmu_kernel {
    const char *name;  /* NULL: not named */
    uint64_t subtasks; /* rows */
    uint64_t first;    /* of its figures */
    double cycles;     /* pmu_total_cycles of all its rows */
    int32_t func_id;
    uint8_t core_type; /* enum tl_core, or TL_PMU_MIXED_CORES */
};

/* Column 0 is pmu_total_cycles, then the file's counters. */
struct tl_pmu_view_column {
    const char *name;
    const struct tl_pmu_meta_column *meta; /* NULL: nothing is said of it */
    uint8_t source;                        /* enum tl_pmu_source or TL_PMU_NOT_STATED */
    bool in_cycles;
    double sum; /* over all rows */
};

struct tl_pmu_view {
    /* Borrowed. */
    const struct tl_pmu *pmu;
    const struct tl_pmu_meta *meta; /* NULL: none */
    const char *dir;
    /* Made by tl__pmu_view_make. */
    struct tl_pmu_kernel *kernels; /* most cycles first */
    struct tl_pmu_figure *figures; /* those of a kernel are adjacent, by column */
    struct tl_pmu_view_column *columns;
    uint32_t n_kernels, n_columns;
};

/* Figures of every kernel and column; pmu, meta, dir are set. `names`: NULL for none; borrowed. TL_ENOMEM. End with
 * tl__pmu_view_fini. */
int tl__pmu_view_make(struct tl_pmu_view *view, const struct tl_name_map *names);
void tl__pmu_view_fini(struct tl_pmu_view *view);
/* Position of the column of that name, or -1. */
int tl__pmu_view_find(const struct tl_pmu_view *view, const char *name);

/* For people: the cycles by kernel, what the other columns say in short, and where they come from. */
int tl__pmu_text(struct tl_rendering *out, const struct tl_pmu_view *view);
/* One column by kernel. */
int tl__pmu_column_text(struct tl_rendering *out, const struct tl_pmu_view *view, unsigned column);
/* For machines: all of it, or one column (-1: all). */
void tl__pmu_json(struct tl_json *json, const struct tl_pmu_view *view, int column);

#endif
