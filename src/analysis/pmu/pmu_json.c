/* SPDX-License-Identifier: Apache-2.0 */
#include <tasklens/kernel.h>

#include "analysis/text/json_head.h"
#include "analysis/pmu/pmu_view.h"

static const char *const text_keys[] = {
    [TL_PMU_UNAVAILABLE] = "reason", [TL_PMU_MODELLED] = "formula", [TL_PMU_MEASURED] = "event"};

static void json_column(struct tl_json *json, const struct tl_pmu_view_column *c)
{
    tl__json_object_begin(json, TL_JSON_LINE);
    tl__json_member_string(json, "name", c->name);
    tl__json_member_bool(json, "in_cycles", c->in_cycles);
    tl__json_member_string(json, "source", c->source == TL_PMU_NOT_STATED ? NULL : tl__pmu_source_name(c->source));
    if (c->source != TL_PMU_NOT_STATED) {
        tl__json_member_string(json, text_keys[c->source], c->meta->text);
    }
    tl__json_member_f64(json, "total", c->sum);
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
    tl__json_member_u64(json, "min", f->min);
    tl__json_member_u64(json, "median", f->median);
    tl__json_member_u64(json, "p95", f->p95);
    tl__json_member_u64(json, "max", f->max);
    tl__json_member_f64(json, "total", f->sum);
    tl__json_member_f64(json, "share", view->columns[c].sum > 0 ? f->sum / view->columns[c].sum : 0);
    tl__json_object_end(json);
}

static void json_kernel(struct tl_json *json, const struct tl_pmu_view *view, const struct tl_pmu_kernel *k, int column)
{
    tl__json_object_begin(json, TL_JSON_LINE);
    tl__json_member_i64(json, "func_id", k->func_id);
    tl__json_member_string(json, "name", k->name);
    tl__json_member_string(json, "core", k->core_type == TL_AIC ? "aic" : k->core_type == TL_AIV ? "aiv" : "both");
    tl__json_member_u64(json, "subtasks", k->subtasks);
    tl__json_member_object(json, "columns", TL_JSON_LINE);
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
    tl__json_member_u64(json, "event_type", view->pmu->event_type);
    tl__json_member_string(json, "event_name", tl__pmu_event_name(view->pmu->event_type));
    tl__json_member_string(json, "mode", meta != NULL ? meta->mode : NULL);
    tl__json_member_string(json, "machine", meta != NULL ? meta->machine : NULL);
    tl__json_key(json, "clock_freq_hz");
    if (meta != NULL)
        tl__json_u64(json, meta->clock_freq_hz);
    else
        tl__json_null(json);
    tl__json_member_u64(json, "subtasks", view->pmu->n_rows);
    tl__json_member_u64(json, "first_run_epoch", view->pmu->first_epoch);
    tl__json_member_u64(json, "last_run_epoch", view->pmu->last_epoch);
    tl__json_member_u64(json, "dropped", meta != NULL ? meta->dropped : 0);
    tl__json_member_array(json, "columns", TL_JSON_BLOCK);
    for (unsigned c = 0; c < view->n_columns; c++)
        if (column < 0 || (unsigned)column == c)
            json_column(json, &view->columns[c]);
    tl__json_array_end(json);
    tl__json_member_array(json, "kernels", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < view->n_kernels; i++)
        json_kernel(json, view, &view->kernels[i], column);
    tl__json_array_end(json);
    tl__json_object_end(json);
    tl__json_newline(json);
}
