/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/pmu.h"

#include <stdio.h>
#include <string.h>

#include "artifact/file_out.h"
#include "artifact/json_file.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"
#include "base/pathname.h"

static const char *const source_words[] = {
    [TL_PMU_UNAVAILABLE] = "unavailable", [TL_PMU_MODELLED] = "modelled", [TL_PMU_MEASURED] = "measured"};
/* What a column's text is called, by its source. */
static const char *const text_words[] = {
    [TL_PMU_UNAVAILABLE] = "reason", [TL_PMU_MODELLED] = "formula", [TL_PMU_MEASURED] = "event"};

const char *tl__pmu_source_name(unsigned source)
{
    return source < COUNT_OF(source_words) ? source_words[source] : "unknown";
}

const struct tl_pmu_meta_column *tl__pmu_meta_column(const struct tl_pmu_meta *meta, const char *name)
{
    for (uint32_t i = 0; i < meta->n_columns; i++)
        if (strcmp(meta->columns[i].name, name) == 0)
            return &meta->columns[i];
    return NULL;
}

bool tl__pmu_meta_is_silent(const struct tl_pmu_meta *meta, int32_t func_id)
{
    uint32_t low = 0, high = meta->n_silent;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (meta->silent[middle] < func_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < meta->n_silent && meta->silent[low] == func_id;
}

void tl__pmu_meta_fini(struct tl_pmu_meta *meta)
{
    tl__free(meta->silent);
    meta->silent = NULL;
    meta->n_silent = 0;
}

/* ---- writing ---- */

static void put_column(struct tl_json *j, const struct tl_pmu_meta_column *c)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_string(j, "name", c->name);
    tl__json_member_string(j, "source", source_words[c->source]);
    tl__json_member_string(j, "unit", c->unit);
    tl__json_member_string(j, text_words[c->source], c->text);
    if (c->rows_lacking != 0)
        tl__json_member_u64(j, "rows_lacking", c->rows_lacking);
    tl__json_object_end(j);
}

int tl__pmu_meta_write(const char *dir, const struct tl_pmu_meta *meta, struct tl_error *reterr)
{
    struct tl_out out;
    struct tl_json *j = &out.json;
    int code = tl__out_open_in(&out, dir, TL_PMU_META_NAME, reterr);

    if (code != 0)
        return code;
    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_member_u64(j, "version", TL_PMU_META_VERSION);
    tl__json_member_string(j, "arch", meta->arch);
    tl__json_member_u64(j, "event_type", meta->event_type);
    tl__json_member_string(j, "event_name", meta->event_name);
    tl__json_member_string(j, "mode", meta->mode);
    tl__json_member_string(j, "machine", meta->machine);
    tl__json_member_u64(j, "clock_freq_hz", meta->clock_freq_hz);
    if (meta->run_epoch != 0)
        tl__json_member_u64(j, "run_epoch", meta->run_epoch);
    tl__json_member_u64(j, "records", meta->records);
    tl__json_member_u64(j, "dropped", meta->dropped);
    tl__json_member_array(j, "columns", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < meta->n_columns; i++)
        put_column(j, &meta->columns[i]);
    tl__json_array_end(j);
    tl__json_member_array(j, "kernels_without_counts", TL_JSON_LINE);
    for (uint32_t i = 0; i < meta->n_silent; i++)
        tl__json_i64(j, meta->silent[i]);
    tl__json_array_end(j);
    tl__json_object_end(j);
    tl__json_newline(j);
    return tl__out_commit(&out, reterr);
}

/* ---- reading ---- */

static int take_text(struct tl_tape *t, uint32_t at, const char *field, char *to, size_t size)
{
    const char *text = NULL;
    size_t length = 0;
    int code = tl__tape_string(t, at, field, &text, &length);

    if (code == 0)
        (void)snprintf(to, size, "%s", text);
    return code;
}

static int take_column(struct tl_tape *t, uint32_t at, struct tl_pmu_meta_column *c)
{
    enum { NAME, SOURCE, UNIT, REASON, FORMULA, EVENT, LACKING, COUNT };
    static const char *const names[COUNT] = {"name", "source", "unit", "reason", "formula", "event", "rows_lacking"};
    uint32_t f[COUNT], text;
    unsigned source = 0;
    int code = tl__tape_fields(t, at, NULL, names, COUNT, f);

    if (code == 0)
        code = take_text(t, f[NAME], names[NAME], c->name, sizeof(c->name));
    if (code == 0)
        code = tl__tape_word(t, f[SOURCE], names[SOURCE], source_words, COUNT_OF(source_words), &source);
    if (code == TL_ENOENT)
        code = tl__tape_fail(t, TL_EPARSE, names[SOURCE], "expected measured, modelled or unavailable");
    if (code != 0)
        return code;
    c->source = (uint8_t)source;
    text = f[source == TL_PMU_UNAVAILABLE ? REASON : source == TL_PMU_MODELLED ? FORMULA : EVENT];
    code = take_text(t, text, text_words[source], c->text, sizeof(c->text));
    if (code == 0 && f[UNIT] != TL_TAPE_ABSENT)
        code = take_text(t, f[UNIT], names[UNIT], c->unit, sizeof(c->unit));
    if (code == 0 && f[LACKING] != TL_TAPE_ABSENT)
        code = tl__tape_u64(t, f[LACKING], names[LACKING], UINT64_MAX, &c->rows_lacking);
    return code;
}

static int take_columns(struct tl_tape *t, uint32_t at, struct tl_pmu_meta *meta)
{
    uint32_t count = 0, item = at + 1;
    int code = tl__tape_array(t, at, "columns", &count);

    for (uint32_t i = 0; code == 0 && i < count && i < TL_PMU_MAX_COLUMNS; i++, item = t->tokens[item].next) {
        t->inner = "columns";
        t->inner_index = i;
        code = take_column(t, item, &meta->columns[i]);
        meta->n_columns = i + 1;
    }
    t->inner = NULL;
    return code;
}

static int take_silent(struct tl_tape *t, uint32_t at, struct tl_pmu_meta *meta)
{
    uint32_t count = 0, item = at + 1;
    int code = tl__tape_array(t, at, "kernels_without_counts", &count);

    if (code != 0)
        return code;
    meta->silent = tl__alloc(count + 1, sizeof(*meta->silent));
    if (meta->silent == NULL)
        return tl__tape_fail(t, TL_ENOMEM, NULL, "out of memory");
    for (uint32_t i = 0; code == 0 && i < count; i++, item = t->tokens[item].next) {
        code = tl__tape_i32(t, item, "kernels_without_counts", &meta->silent[i]);
        if (code == 0 && i > 0 && meta->silent[i] <= meta->silent[i - 1])
            code = tl__tape_fail(t, TL_EPARSE, "kernels_without_counts", "expected ids in rising order");
        meta->n_silent = i + 1;
    }
    return code;
}

static int take_version(struct tl_tape *t, uint32_t at, uint32_t *ret_version)
{
    int code = tl__tape_u32(t, at, "version", ret_version);

    if (code == 0 && *ret_version > TL_PMU_META_VERSION)
        code = tl__tape_fail(t, TL_EVERSION, "version", "%u is newer than what this program reads (%u)", *ret_version,
                             TL_PMU_META_VERSION);
    return code;
}

static int on_value(void *ctx, struct tl_tape *t)
{
    enum { VERSION, ARCH, EVENT, NAME, MODE, MACHINE, CLOCK, EPOCH, RECORDS, DROPPED, COLUMNS, SILENT, COUNT };
    static const char *const names[COUNT] = {"version", "arch",    "event_type",    "event_name",
                                             "mode",    "machine", "clock_freq_hz", "run_epoch",
                                             "records", "dropped", "columns",       "kernels_without_counts"};
    struct tl_pmu_meta *meta = ctx;
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, 0, NULL, names, COUNT, f);

    if (code == 0)
        code = take_version(t, f[VERSION], &meta->version);
    if (code == 0)
        code = tl__tape_u32(t, f[EVENT], names[EVENT], &meta->event_type);
    if (code == 0)
        code = take_text(t, f[NAME], names[NAME], meta->event_name, sizeof(meta->event_name));
    if (code == 0 && f[ARCH] != TL_TAPE_ABSENT)
        code = take_text(t, f[ARCH], names[ARCH], meta->arch, sizeof(meta->arch));
    if (code == 0 && f[MODE] != TL_TAPE_ABSENT)
        code = take_text(t, f[MODE], names[MODE], meta->mode, sizeof(meta->mode));
    if (code == 0 && f[MACHINE] != TL_TAPE_ABSENT)
        code = take_text(t, f[MACHINE], names[MACHINE], meta->machine, sizeof(meta->machine));
    if (code == 0 && f[CLOCK] != TL_TAPE_ABSENT)
        code = tl__tape_u64(t, f[CLOCK], names[CLOCK], UINT64_MAX, &meta->clock_freq_hz);
    if (code == 0 && f[EPOCH] != TL_TAPE_ABSENT)
        code = tl__tape_u32(t, f[EPOCH], names[EPOCH], &meta->run_epoch);
    if (code == 0 && f[RECORDS] != TL_TAPE_ABSENT)
        code = tl__tape_u64(t, f[RECORDS], names[RECORDS], UINT64_MAX, &meta->records);
    if (code == 0 && f[DROPPED] != TL_TAPE_ABSENT)
        code = tl__tape_u64(t, f[DROPPED], names[DROPPED], UINT64_MAX, &meta->dropped);
    if (code == 0)
        code = take_columns(t, f[COLUMNS], meta);
    if (code == 0 && f[SILENT] != TL_TAPE_ABSENT)
        code = take_silent(t, f[SILENT], meta);
    return code;
}

/* `text` NULL: the file of that name. */
static int read_meta(const char *name, const void *text, size_t bytes, struct tl_pmu_meta *ret_meta,
                     struct tl_error *reterr)
{
    struct tl_tape_spec spec = {.on_value = on_value, .ctx = ret_meta};
    int code;

    memset(ret_meta, 0, sizeof(*ret_meta));
    code = text != NULL ? tl__tape_parse(text, bytes, name, &spec, reterr) : tl__json_file_read(name, &spec, reterr);
    if (code != 0)
        tl__pmu_meta_fini(ret_meta);
    return code;
}

int tl__pmu_meta_parse(const void *text, size_t bytes, const char *name, struct tl_pmu_meta *ret_meta,
                       struct tl_error *reterr)
{
    return read_meta(name, text != NULL ? text : "", bytes, ret_meta, reterr);
}

int tl__pmu_meta_read(const char *dir, struct tl_pmu_meta *ret_meta, struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES];

    if (!tl__pathname(path, "%s/%s", dir, TL_PMU_META_NAME))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    return read_meta(path, NULL, 0, ret_meta, reterr);
}
