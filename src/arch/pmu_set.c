/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/pmu_set.h"

#include <stdbool.h>

#include "base/text.h"

const struct tl_pmu_set *tl__pmu_set_at(const struct tl_arch *arch, unsigned i)
{
    return i < arch->n_pmu_sets ? &arch->pmu_sets[i] : NULL;
}

const struct tl_pmu_set *tl__pmu_set(const struct tl_arch *arch, uint32_t event)
{
    for (unsigned i = 0; i < arch->n_pmu_sets; i++)
        if (arch->pmu_sets[i].event == event)
            return &arch->pmu_sets[i];
    return NULL;
}

uint64_t tl__pmu_model(const struct tl_pmu_column *column, unsigned core, const uint64_t counts[TL_COUNT_CLASSES])
{
    uint64_t sum = 0;

    for (const struct tl_pmu_term *t = column->terms; t < column->terms + TL_PMU_MAX_TERMS && t->weight != 0; t++)
        if (((unsigned)t->cores >> core & 1u) != 0)
            sum += t->weight * counts[t->what];
    return column->per > 1 ? sum / column->per + (sum % column->per != 0) : sum;
}

const char *tl__pmu_count_name(unsigned what)
{
    static const char *const names[] = {
#define NAME(constant, name, text) name,
        TL_COUNT_LIST(NAME)
#undef NAME
    };

    return what < TL_COUNT_CLASSES ? names[what] : "unknown";
}

const char *tl__pmu_formula(const struct tl_pmu_column *column, char *to, size_t size)
{
    const struct tl_pmu_term *end = column->terms;
    struct tl_text t = tl__text(to, size);
    bool divided = column->per > 1, grouped;

    while (end < column->terms + TL_PMU_MAX_TERMS && end->weight != 0)
        end++;
    grouped = divided && end - column->terms > 1;
    if (grouped)
        tl__text_put(&t, "(");
    for (const struct tl_pmu_term *term = column->terms; term < end; term++) {
        if (term > column->terms)
            tl__text_put(&t, " + ");
        if (term->weight > 1) {
            tl__text_dec(&t, term->weight);
            tl__text_put(&t, " * ");
        }
        tl__text_put(&t, tl__pmu_count_name(term->what));
        if (term->cores != TL_PMU_BOTH)
            tl__text_put(&t, term->cores == TL_PMU_AIC ? " of an AIC" : " of an AIV");
    }
    if (grouped)
        tl__text_put(&t, ")");
    if (divided) {
        tl__text_put(&t, " / ");
        tl__text_dec(&t, column->per);
        tl__text_put(&t, ", rounded up");
    }
    return to;
}
