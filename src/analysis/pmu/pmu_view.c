/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/pmu/pmu_view.h"

#include <stdlib.h>

#include <tasklens/error.h>

#include "base/env.h"

struct place {
    int32_t func_id;
    uint64_t row;
};

static int by_func(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->func_id != y->func_id ? (x->func_id < y->func_id ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static uint64_t value_at(const struct tl_pmu *pmu, uint64_t row, unsigned column)
{
    return column == 0 ? pmu->rows[row].total_cycles : pmu->counters[row * pmu->n_counters + column - 1];
}

/* Of `n` sorted values the smallest that `percent` of them do not exceed. */
static uint64_t nearest_rank(const uint64_t *values, uint64_t n, unsigned percent)
{
    return values[(n * percent + 99) / 100 - 1];
}

static void take_figure(struct tl_pmu_figure *f, uint64_t *values, uint64_t n)
{
    bool sorted = true;

    for (uint64_t i = 0; i < n; i++) {
        f->sum += (double)values[i];
        sorted = sorted && (i == 0 || values[i - 1] <= values[i]);
    }
    if (!sorted)
        qsort(values, n, sizeof(*values), by_value);
    f->min = values[0];
    f->median = nearest_rank(values, n, 50);
    f->p95 = nearest_rank(values, n, 95);
    f->max = values[n - 1];
}

static bool is_lacking(const struct tl_pmu_view *view, unsigned column, int32_t func_id)
{
    uint8_t source = view->columns[column].source;

    return source == TL_PMU_UNAVAILABLE || (source == TL_PMU_MODELLED && tl__pmu_meta_is_silent(view->meta, func_id));
}

static void take_kernel(struct tl_pmu_view *view, const struct place *places, uint64_t n, uint64_t *values)
{
    struct tl_pmu_kernel *k = &view->kernels[view->n_kernels];

    *k = (struct tl_pmu_kernel){.func_id = places[0].func_id, .subtasks = n};
    k->first = (uint64_t)view->n_kernels++ * view->n_columns;
    k->core_type = view->pmu->rows[places[0].row].core_type;
    for (uint64_t i = 0; i < n; i++)
        if (view->pmu->rows[places[i].row].core_type != k->core_type)
            k->core_type = TL_PMU_MIXED_CORES;
    for (unsigned c = 0; c < view->n_columns; c++) {
        struct tl_pmu_figure *f = &view->figures[k->first + c];

        for (uint64_t i = 0; i < n; i++)
            values[i] = value_at(view->pmu, places[i].row, c);
        take_figure(f, values, n);
        f->lacking = is_lacking(view, c, k->func_id);
        view->columns[c].sum += f->sum;
    }
    k->cycles = view->figures[k->first].sum;
}

static uint64_t kernel_end(const struct place *places, uint64_t first, uint64_t n)
{
    uint64_t end = first + 1;

    while (end < n && places[end].func_id == places[first].func_id)
        end++;
    return end;
}

static void name_columns(struct tl_pmu_view *view)
{
    for (unsigned c = 0; c < view->n_columns; c++) {
        struct tl_pmu_view_column *column = &view->columns[c];

        column->name = c == 0 ? "pmu_total_cycles" : view->pmu->names[c - 1];
        column->meta = view->meta != NULL ? tl__pmu_meta_column(view->meta, column->name) : NULL;
        column->source = column->meta != NULL ? column->meta->source : TL_PMU_NOT_STATED;
        if (column->meta != NULL && column->meta->unit[0] != 0)
            column->in_cycles = strcmp(column->meta->unit, "cycles") == 0;
        else
            column->in_cycles = strstr(column->name, "cycles") != NULL || strstr(column->name, "busy") != NULL;
    }
}

static int by_cycles(const void *a, const void *b)
{
    const struct tl_pmu_kernel *x = a, *y = b;

    return x->cycles != y->cycles ? (x->cycles > y->cycles ? -1 : 1)
                                  : (x->func_id > y->func_id) - (x->func_id < y->func_id);
}

static int fill(struct tl_pmu_view *view, struct place *places, uint64_t *values)
{
    uint64_t n = view->pmu->n_rows;
    uint32_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        places[i] = (struct place){view->pmu->rows[i].func_id, i};
    qsort(places, n, sizeof(*places), by_func);
    for (uint64_t i = 0; i < n; i = kernel_end(places, i, n))
        count++;
    view->kernels = tl__alloc(count + 1, sizeof(*view->kernels));
    view->figures = tl__alloc((uint64_t)count * view->n_columns + 1, sizeof(*view->figures));
    if (view->kernels == NULL || view->figures == NULL)
        return TL_ENOMEM;
    for (uint64_t i = 0, end; i < n; i = end) {
        end = kernel_end(places, i, n);
        take_kernel(view, places + i, end - i, values);
    }
    qsort(view->kernels, view->n_kernels, sizeof(*view->kernels), by_cycles);
    return 0;
}

int tl__pmu_view_make(struct tl_pmu_view *view, const struct tl_name_map *names)
{
    uint64_t n = view->pmu->n_rows;
    struct place *places = tl__alloc(n + 1, sizeof(*places));
    uint64_t *values = tl__alloc(n + 1, sizeof(*values));
    int code = TL_ENOMEM;

    view->kernels = NULL;
    view->figures = NULL;
    view->n_kernels = 0;
    view->n_columns = view->pmu->n_counters + 1;
    view->columns = tl__alloc(view->n_columns, sizeof(*view->columns));
    if (places != NULL && values != NULL && view->columns != NULL) {
        name_columns(view);
        code = fill(view, places, values);
    }
    tl__free(places);
    tl__free(values);
    if (code != 0)
        tl__pmu_view_fini(view);
    for (uint32_t i = 0; code == 0 && names != NULL && i < view->n_kernels; i++)
        view->kernels[i].name = tl__name_of(names, view->kernels[i].func_id);
    return code;
}

void tl__pmu_view_fini(struct tl_pmu_view *view)
{
    tl__free(view->kernels);
    tl__free(view->figures);
    tl__free(view->columns);
    view->kernels = NULL;
    view->figures = NULL;
    view->columns = NULL;
    view->n_kernels = view->n_columns = 0;
}

int tl__pmu_view_find(const struct tl_pmu_view *view, const char *name)
{
    for (unsigned c = 0; c < view->n_columns; c++)
        if (strcmp(view->columns[c].name, name) == 0)
            return (int)c;
    return -1;
}
