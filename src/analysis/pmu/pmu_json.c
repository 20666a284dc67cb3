/* SPDX-License-Identifier: Apache-2.0 */
#include <tasklens/kernel.h>

#include "analysis/text/json_head.h"
#include "analysis/pmu/pmu_view.h"

static const char *const text_keys[] = {
    [TL_PMU_UNAVAILABLE] = "reason", [TL_PMU_MODELLED] = "formula", [TL_PMU_MEASURED] = "event"};

static void json_column(struct tl_json *json, const struct tl_pmu_view_column *c)
{
    tl__json_object_begin(json, TL_JSON_LINE);
    tl__json_key(json, "name");
    tl__json_string(json, c->name);
    tl__json_key(json, "in_cycles");
    tl__json_bool(json, c->in_cycles);
    tl__json_key(json, "source");
    tl__json_string(json, c->source == TL_PMU_NOT_STATED ? NULL : tl__pmu_source_name(c->source));
    if (c->source != TL_PMU_NOT_STATED) {
        tl__json_key(json, text_keys[c->source]);
        tl__json_string(json, c->meta->text);
    }
    tl__json_key(json, "total");
    tl__json_f64(json, c->sum);
    tl__json_object_end(json);
}

static void json_figure(struct tl_json *json, const struct tl_pmu_view *view, const struct tl_pmu_kernel *k, unsigned c)
{
    const struct tl_pmu_figure *f = &view->figures[k->first + c];

    tl__json_key_string(json, view->columns[c].name);
    if (f->lacking) {
        tl__json_null(json);
        return;
    }
    tl__json_object_begin(json, TL_JSON_LINE);
    tl__json_key(json, "min");
    tl__json_u64(json, f->min);
    tl__json_key(json, "median");
    tl__json_u64(json, f->median);
    tl__json_key(json, "p95");
    tl__json_u64(json, f->p95);
    tl__json_key(json, "max");
    tl__json_u64(json, f->max);
    tl__json_key(json, "total");
    tl__json_f64(json, f->sum);
    tl__json_key(json, "share");
    tl__json_f64(json, view->columns[c].sum > 0 ? f->sum / view->columns[c].sum : 0);
    tl__json_object_end(json);
}

static void json_kernel(struct tl_json *json, const struct tl_pmu_view *view, const struct tl_pmu_kernel *k, int column)
{
    tl__json_object_begin(json, TL_JSON_LINE);
    tl__json_key(json, "func_id");
    tl__json_i64(json, k->func_id);
    tl__json_key(json, "name");
    tl__json_string(json, k->name);
    tl__json_key(json, "core");
    tl__json_string(json, k->core_type == TL_AIC ? "aic" : k->core_type == TL_AIV ? "aiv" : "both");
    tl__json_key(json, "parts");
    tl__json_u64(json, k->parts);
    tl__json_key(json, "columns");
    tl__json_object_begin(json, TL_JSON_LINE);
    for (unsigned c = 0; c < view->n_columns; c++)
        if (column < 0 || (unsigned)column == c)
            json_figure(json, view, k, c);
    tl__json_object_end(json);
    tl__json_object_end(json);
}

void tl__pmu_json(struct tl_json *json, const struct tl_pmu_view *view, int column)
{
    const struct tl_pmu_meta *meta = view->meta;

    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "pmu", NULL, view->dir);
    tl__json_key(json, "event_type");
    tl__json_u64(json, view->pmu->event_type);
    tl__json_key(json, "event_name");
    tl__json_string(json, tl__pmu_event_name(view->pmu->event_type));
    tl__json_key(json, "mode");
    tl__json_string(json, meta != NULL ? meta->mode : NULL);
    tl__json_key(json, "machine");
    tl__json_string(json, meta != NULL ? meta->machine : NULL);
    tl__json_key(json, "clock_freq_hz");
    if (meta != NULL)
        tl__json_u64(json, meta->clock_freq_hz);
    else
        tl__json_null(json);
    tl__json_key(json, "parts");
    tl__json_u64(json, view->pmu->n_rows);
    tl__json_key(json, "first_run_epoch");
    tl__json_u64(json, view->pmu->first_epoch);
    tl__json_key(json, "last_run_epoch");
    tl__json_u64(json, view->pmu->last_epoch);
    tl__json_key(json, "dropped");
    tl__json_u64(json, meta != NULL ? meta->dropped : 0);
    tl__json_key(json, "columns");
    tl__json_array_begin(json, TL_JSON_BLOCK);
    for (unsigned c = 0; c < view->n_columns; c++)
        if (column < 0 || (unsigned)column == c)
            json_column(json, &view->columns[c]);
    tl__json_array_end(json);
    tl__json_key(json, "kernels");
    tl__json_array_begin(json, TL_JSON_BLOCK);
    for (uint32_t i = 0; i < view->n_kernels; i++)
        json_kernel(json, view, &view->kernels[i], column);
    tl__json_array_end(json);
    tl__json_object_end(json);
    tl__json_newline(json);
}
