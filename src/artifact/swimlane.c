/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the phases, and the end of what was read. The reader is swimlane_read.c, the writer swimlane_write.c. */
#include "artifact/swimlane.h"

#include <string.h>

#include "base/count_of.h"
#include "base/env.h"

static const struct {
    const char *name;
    unsigned group;
} kinds[] = {
#define ROW(kind, name, group) [kind] = {name, group},
    TL_PHASE_LIST(ROW)
#undef ROW
};

static const struct {
    const char *name;
    unsigned kind;
} old_names[] = {{"fanout", TL_PHASE_RESOLVE}, {"prestage", TL_PHASE_EARLY_DISPATCH}};

const char *tl__phase_name(unsigned kind)
{
    return kind < TL_PHASE_COUNT ? kinds[kind].name : NULL;
}

const char *tl__swim_phase_name(const struct tl_swimlane *s, const struct tl_swim_phase *phase)
{
    if ((phase->kind == TL_PHASE_OTHER || phase->kind == TL_PHASE_OTHER_INNER) && phase->other < s->n_other_names)
        return s->other_names[phase->other].text;
    return tl__phase_name(phase->kind == TL_PHASE_RESOLVE_STANDALONE ? TL_PHASE_RESOLVE : phase->kind);
}

unsigned tl__phase_group(unsigned kind)
{
    return kind < TL_PHASE_COUNT ? kinds[kind].group : TL_PHASE_GAP;
}

static bool is(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

int tl__phase_parse(const char *name, size_t length)
{
    for (unsigned i = 0; i < TL_PHASE_COUNT; i++)
        if (i != TL_PHASE_OTHER && i != TL_PHASE_OTHER_INNER && is(kinds[i].name, name, length))
            return (int)i;
    for (unsigned i = 0; i < COUNT_OF(old_names); i++)
        if (is(old_names[i].name, name, length))
            return (int)old_names[i].kind;
    return TL_ENOENT;
}

void tl__swimlane_fini(struct tl_swimlane *s)
{
    tl__free(s->core_types);
    tl__free(s->core_to_thread);
    tl__free(s->cores);
    tl__free(s->aicpus);
    tl__free(s->phases);
    tl__free(s->orchs);
    tl__free(s->streams);
    tl__free(s->uploads);
    tl__free(s->other_names);
    *s = (struct tl_swimlane){0};
}
