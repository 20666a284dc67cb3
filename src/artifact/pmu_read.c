/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading pmu.csv. The header says which column is which; the first row says which of those that we do not know hold
 * numbers, and are counters. From then on a cell that is none is an error with its line and column. What a spreadsheet
 * makes of such a file is read too: a byte order mark, a line "sep=;", semicolons or tabs, quotes, integers with a
 * fraction of zeros, empty columns behind the last and empty rows.
 */
#include <stdio.h>
#include <string.h>

#include <tasklens/kernel.h>

#include "artifact/pmu.h"
#include "artifact/pmu_words.h"
#include "base/env.h"
#include "base/error.h"
#include "base/vec.h"

#define MAX_FILE_COLUMNS 128u
#define TEXT_COLUMN UINT8_MAX
#define EPOCH_COLUMN "run_epoch" /* of writers that put several runs into one file */

struct cell {
    const char *at;
    size_t length;
};

struct parser {
    const char *name, *at, *end;
    unsigned long long line;
    char separator;
    struct tl_error *reterr;
    struct cell header[MAX_FILE_COLUMNS], row[MAX_FILE_COLUMNS];
    unsigned n_columns;
    uint8_t fixed[TL_PMU_FIXED]; /* column of each, or TEXT_COLUMN until it is found */
    uint8_t epoch;               /* column of run_epoch, or TEXT_COLUMN: there is none */
    uint8_t counter[TL_PMU_MAX_COLUMNS];
    unsigned n_counters;
    TL_VEC(struct tl_pmu_row) rows;
    TL_VEC(uint64_t) counters;
};

static int bad_cell(struct parser *p, unsigned column, const char *expected)
{
    const struct cell *c = &p->row[column], *h = &p->header[column];
    size_t shown = 0;

    while (shown < c->length && shown < 24 && c->at[shown] >= ' ' && c->at[shown] <= '~')
        shown++;
    return tl__fail_at(p->reterr, TL_EPARSE, (long)p->line, "%s: line %llu: column '%.*s': expected %s, found '%.*s'%s",
                       p->name, p->line, (int)(h->length < 64 ? h->length : 64), h->at, expected, (int)shown, c->at,
                       shown < c->length ? "..." : "");
}

/* Where the cell at `at` ends, before `end`; what is between quotes is its text. */
static const char *take_cell(const struct parser *p, const char *at, const char *end, struct cell *ret_cell)
{
    const char *from = at, *quote = NULL, *stop;

    if (at < end && *at == '"')
        quote = memchr(at + 1, '"', (size_t)(end - at - 1));
    if (quote != NULL)
        from = quote + 1;
    stop = memchr(from, p->separator, (size_t)(end - from));
    stop = stop != NULL ? stop : end;
    *ret_cell =
        quote != NULL ? (struct cell){at + 1, (size_t)(quote - at - 1)} : (struct cell){at, (size_t)(stop - at)};
    return stop;
}

/* The next line's cells; their number, 0 at the end of the text. Beyond MAX_FILE_COLUMNS they are only counted. */
static unsigned next_line(struct parser *p, struct cell *cells)
{
    const char *end, *next;
    unsigned n = 0;

    if (p->at == p->end)
        return 0;
    next = memchr(p->at, '\n', (size_t)(p->end - p->at));
    end = next != NULL ? next : p->end;
    next = next != NULL ? next + 1 : p->end;
    p->line++;
    if (end > p->at && end[-1] == '\r')
        end--;
    for (const char *at = p->at;; n++) {
        struct cell cell;
        const char *stop = take_cell(p, at, end, &cell);

        if (n < MAX_FILE_COLUMNS)
            cells[n] = cell;
        if (stop == end)
            break;
        at = stop + 1;
    }
    p->at = next;
    return n + 1;
}

/* Without the empty cells at the end, down to `least`. */
static unsigned trimmed(const struct cell *cells, unsigned n, unsigned least)
{
    while (n > least && n <= MAX_FILE_COLUMNS && cells[n - 1].length == 0)
        n--;
    return n;
}

static bool is_blank(const struct cell *cells, unsigned n)
{
    return trimmed(cells, n, 0) == 0;
}

/* What is before the header, and what is between its cells: the most frequent of three in its line. */
static void find_separator(struct parser *p)
{
    static const char separators[] = ",;\t";
    const char *end;
    unsigned most = 0;

    if (p->end - p->at >= 3 && memcmp(p->at, "\xef\xbb\xbf", 3) == 0)
        p->at += 3;
    if (p->end - p->at >= 6 && memcmp(p->at, "sep=", 4) == 0) {
        const char *next = memchr(p->at, '\n', (size_t)(p->end - p->at));

        p->at = next != NULL ? next + 1 : p->end;
        p->line++;
    }
    end = memchr(p->at, '\n', (size_t)(p->end - p->at));
    end = end != NULL ? end : p->end;
    p->separator = ',';
    for (unsigned s = 0; s < 3; s++) {
        unsigned count = 0;

        for (const char *at = p->at; at < end; at++)
            count += *at == separators[s];
        if (count > most) {
            most = count;
            p->separator = separators[s];
        }
    }
}

static bool same(const struct cell *c, const char *word)
{
    return c->length == strlen(word) && memcmp(c->at, word, c->length) == 0;
}

static bool digits(const char *at, size_t length, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t zeros = length;

    while (zeros > 0 && at[zeros - 1] == '0')
        zeros--;
    if (zeros > 1 && zeros < length && (at[zeros - 1] == '.' || at[zeros - 1] == ','))
        length = zeros - 1; /* "12,00": a spreadsheet's integer */
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++)
        if (at[i] < '0' || at[i] > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(at[i] - '0'), &value))
            return false;
    *ret_value = value;
    return value <= max;
}

/* "0x" and digits of either case, or a decimal number. */
static bool hex(const struct cell *c, uint64_t *ret_value)
{
    static const char known[] = "0123456789abcdefABCDEF";
    uint64_t value = 0;

    if (c->length < 3 || c->at[0] != '0' || (c->at[1] | 0x20) != 'x')
        return digits(c->at, c->length, UINT64_MAX, ret_value);
    for (size_t i = 2; i < c->length; i++) {
        const char *digit = memchr(known, c->at[i], sizeof(known) - 1);
        uint64_t n = digit != NULL ? (uint64_t)(digit - known) : 0;

        if (digit == NULL || value >> 60 != 0)
            return false;
        value = value << 4 | (n > 15 ? n - 6 : n);
    }
    *ret_value = value;
    return true;
}

/* ---- header ---- */

static int twice(struct parser *p, const char *column)
{
    return tl__fail_at(p->reterr, TL_EPARSE, 1, "%s: line 1: column '%s' appears twice", p->name, column);
}

static int take_header(struct parser *p)
{
    unsigned n;

    find_separator(p);
    n = trimmed(p->header, next_line(p, p->header), 1);
    if (n == 0 || is_blank(p->header, n))
        return tl__fail_at(p->reterr, TL_EPARSE, 1, "%s: line 1: no header: the file is empty or cut", p->name);
    if (n > MAX_FILE_COLUMNS)
        return tl__fail_at(p->reterr, TL_EPARSE, 1, "%s: line 1: %u columns, of %u at most", p->name, n,
                           MAX_FILE_COLUMNS);
    p->n_columns = n;
    memset(p->fixed, TEXT_COLUMN, sizeof(p->fixed));
    p->epoch = TEXT_COLUMN;
    for (unsigned c = 0; c < n; c++)
        if (same(&p->header[c], EPOCH_COLUMN)) {
            if (p->epoch != TEXT_COLUMN)
                return twice(p, EPOCH_COLUMN);
            p->epoch = (uint8_t)c;
        }
    for (unsigned c = 0; c < n; c++)
        for (unsigned f = 0; f < TL_PMU_FIXED; f++)
            if (same(&p->header[c], tl__pmu_fixed_name(f))) {
                if (p->fixed[f] != TEXT_COLUMN)
                    return twice(p, tl__pmu_fixed_name(f));
                p->fixed[f] = (uint8_t)c;
            }
    for (unsigned f = 0; f < TL_PMU_FIXED; f++)
        if (p->fixed[f] == TEXT_COLUMN)
            return tl__fail_at(p->reterr, TL_EPARSE, 1, "%s: line 1: column '%s': missing", p->name,
                               tl__pmu_fixed_name(f));
    return 0;
}

static bool is_fixed(const struct parser *p, unsigned column)
{
    return column == p->epoch || memchr(p->fixed, (int)column, sizeof(p->fixed)) != NULL;
}

/* Which columns are counters: without a row, all that are left. */
static int choose_counters(struct parser *p, bool has_row, struct tl_pmu *pmu)
{
    for (unsigned c = 0; c < p->n_columns; c++) {
        uint64_t value;

        if (is_fixed(p, c))
            continue;
        if (has_row && !digits(p->row[c].at, p->row[c].length, UINT64_MAX, &value)) {
            if (pmu->n_text++ == 0)
                (void)snprintf(pmu->first_text, sizeof(pmu->first_text), "%.*s",
                               (int)(p->header[c].length < 63 ? p->header[c].length : 63), p->header[c].at);
            continue;
        }
        if (p->n_counters == TL_PMU_MAX_COLUMNS)
            return tl__fail_at(p->reterr, TL_EPARSE, 1, "%s: line 1: more than %u counters", p->name,
                               TL_PMU_MAX_COLUMNS);
        p->counter[p->n_counters++] = (uint8_t)c;
    }
    return 0;
}

static int keep_names(const struct parser *p, struct tl_pmu *pmu)
{
    pmu->names = tl__alloc(p->n_counters + 1, sizeof(*pmu->names));
    if (pmu->names == NULL)
        return TL_ENOMEM;
    for (unsigned i = 0; i < p->n_counters; i++) {
        const struct cell *c = &p->header[p->counter[i]];

        pmu->names[i] = tl__alloc(1, c->length + 1);
        if (pmu->names[i] == NULL)
            return TL_ENOMEM;
        memcpy(pmu->names[i], c->at, c->length);
        pmu->n_counters = i + 1;
    }
    return 0;
}

/* ---- rows ---- */

static int take_fixed(struct parser *p, struct tl_pmu_row *row)
{
    uint64_t value[TL_PMU_FIXED];
    const struct cell *func = &p->row[p->fixed[TL_PMU_FUNC_ID]];
    bool negative = func->length > 0 && func->at[0] == '-';

    if (!hex(&p->row[p->fixed[TL_PMU_TASK_ID]], &row->task_id))
        return bad_cell(p, p->fixed[TL_PMU_TASK_ID], "0x and hexadecimal digits");
    if (!digits(func->at + negative, func->length - negative, (uint64_t)INT32_MAX + negative, &value[TL_PMU_FUNC_ID]))
        return bad_cell(p, p->fixed[TL_PMU_FUNC_ID], "an integer of 32 bits");
    for (unsigned f = 0; f < TL_PMU_FIXED; f++) {
        const struct cell *c = &p->row[p->fixed[f]];
        uint64_t max = f == TL_PMU_TOTAL_CYCLES ? UINT64_MAX : f == TL_PMU_EVENT_TYPE ? UINT8_MAX : UINT32_MAX;

        if (f == TL_PMU_TASK_ID || f == TL_PMU_FUNC_ID)
            continue;
        if (!digits(c->at, c->length, f == TL_PMU_CORE_TYPE ? TL_AIV : max, &value[f]))
            return bad_cell(p, p->fixed[f], f == TL_PMU_CORE_TYPE ? "0 (AIC) or 1 (AIV)" : "an integer");
    }
    row->func_id = (int32_t)(negative ? -(int64_t)value[TL_PMU_FUNC_ID] : (int64_t)value[TL_PMU_FUNC_ID]);
    row->thread_id = (uint32_t)value[TL_PMU_THREAD_ID];
    row->core_id = (uint32_t)value[TL_PMU_CORE_ID];
    row->core_type = (uint8_t)value[TL_PMU_CORE_TYPE];
    row->total_cycles = value[TL_PMU_TOTAL_CYCLES];
    row->event_type = (uint8_t)value[TL_PMU_EVENT_TYPE];
    return 0;
}

static int take_row(struct parser *p, struct tl_pmu *pmu)
{
    struct tl_pmu_row row = {0};
    uint64_t epoch = 0;
    int code = take_fixed(p, &row);

    if (code != 0)
        return code;
    if (p->epoch != TEXT_COLUMN && !digits(p->row[p->epoch].at, p->row[p->epoch].length, UINT32_MAX, &epoch))
        return bad_cell(p, p->epoch, "an integer of 32 bits");
    row.run_epoch = (uint32_t)epoch;
    if (p->rows.count == 0 || row.run_epoch < pmu->first_epoch)
        pmu->first_epoch = row.run_epoch;
    if (row.run_epoch > pmu->last_epoch)
        pmu->last_epoch = row.run_epoch;
    if (tl_vec_reserve(&p->counters, p->counters.count + p->n_counters) != 0 || tl_vec_push(&p->rows, row) != 0)
        return tl__fail(p->reterr, TL_ENOMEM, "%s: out of memory", p->name);
    for (unsigned i = 0; i < p->n_counters; i++) {
        const struct cell *c = &p->row[p->counter[i]];

        if (!digits(c->at, c->length, UINT64_MAX, &p->counters.items[p->counters.count]))
            return bad_cell(p, p->counter[i], "an integer");
        p->counters.count++;
    }
    if (p->rows.count == 1)
        pmu->event_type = row.event_type;
    pmu->several_events = pmu->several_events || row.event_type != pmu->event_type;
    return 0;
}

static int wrong_length(struct parser *p, unsigned n)
{
    if (n > p->n_columns)
        return tl__fail_at(p->reterr, TL_EPARSE, (long)p->line, "%s: line %llu: %u fields, and the header has %u",
                           p->name, p->line, n, p->n_columns);
    return tl__fail_at(p->reterr, TL_EPARSE, (long)p->line,
                       "%s: line %llu: cut: %u of %u fields, the first that is missing is column '%.*s'", p->name,
                       p->line, n, p->n_columns, (int)(p->header[n].length < 64 ? p->header[n].length : 64),
                       p->header[n].at);
}

static int take_rows(struct parser *p, struct tl_pmu *pmu)
{
    bool chosen = false;
    int code = 0;
    unsigned n;

    while (code == 0 && (n = next_line(p, p->row)) != 0) {
        if (is_blank(p->row, n))
            continue;
        n = trimmed(p->row, n, p->n_columns);
        if (n != p->n_columns)
            return wrong_length(p, n);
        if (!chosen)
            code = choose_counters(p, true, pmu);
        chosen = true;
        if (code == 0)
            code = take_row(p, pmu);
    }
    return code != 0 || chosen ? code : choose_counters(p, false, pmu);
}

int tl__pmu_parse(const void *text, size_t bytes, const char *name, struct tl_pmu *ret_pmu, struct tl_error *reterr)
{
    struct parser *p = tl__alloc(1, sizeof(*p));
    struct tl_pmu pmu = {0};
    int code;

    if (p == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", name);
    p->name = name;
    p->at = text;
    p->end = (const char *)text + bytes;
    p->reterr = reterr;
    code = take_header(p);
    if (code == 0)
        code = take_rows(p, &pmu);
    if (code == 0 && keep_names(p, &pmu) != 0)
        code = tl__fail(reterr, TL_ENOMEM, "%s: out of memory", name);
    pmu.rows = p->rows.items;
    pmu.n_rows = p->rows.count;
    pmu.counters = p->counters.items;
    tl__free(p);
    if (code != 0)
        tl__pmu_fini(&pmu);
    else
        *ret_pmu = pmu;
    return code;
}
