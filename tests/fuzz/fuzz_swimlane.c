/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of chip_swimlane_records.json: ids are within what the head says, and what was left out was counted. */
#include "fuzz.h"

#include <string.h>

#include <tasklens/kernel.h>

#include "artifact/swimlane.h"

static uint64_t count_backward(const struct tl_swimlane *s)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < s->n_cores; i++)
        count += s->cores[i].end_cycles != 0 && s->cores[i].end_cycles < s->cores[i].start_cycles;
    for (uint64_t i = 0; i < s->n_aicpus; i++)
        count += s->aicpus[i].finish_cycles != 0 && s->aicpus[i].finish_cycles < s->aicpus[i].dispatch_cycles;
    for (uint64_t i = 0; i < s->n_phases; i++)
        count += s->phases[i].end_cycles != 0 && s->phases[i].end_cycles < s->phases[i].start_cycles;
    for (uint64_t i = 0; i < s->n_orchs; i++)
        count += s->orchs[i].end_cycles != 0 && s->orchs[i].end_cycles < s->orchs[i].start_cycles;
    return count;
}

static void check_head(const struct tl_swimlane *s)
{
    MUST(s->level >= 1 && s->level <= 4 && s->clock_freq_hz > 0 && s->core_types != NULL);
    for (uint32_t i = 0; i < s->num_cores; i++) {
        MUST(s->core_types[i] == TL_AIC || s->core_types[i] == TL_AIV);
        MUST(s->core_to_thread == NULL || (s->core_to_thread[i] >= -1 && s->core_to_thread[i] <= UINT16_MAX));
    }
    MUST(s->n_anchors <= TL_SWIM_MAX_ANCHORS);
    for (uint32_t i = 0; i < s->n_anchors; i++)
        MUST(memchr(s->anchors[i].position, 0, sizeof(s->anchors[i].position)) != NULL &&
             s->anchors[i].host_after_ns >= s->anchors[i].host_before_ns);
    MUST(memchr(s->unknown_kind, 0, sizeof(s->unknown_kind)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_error error = {0};
    struct tl_swimlane s;
    int code = tl__swimlane_parse(data, size, "fuzz", &s, &error);

    if (code != 0) {
        MUST(code == TL_EPARSE && error.code == code && error.msg[0] != 0);
        return 0;
    }
    check_head(&s);
    for (uint64_t i = 0; i < s.n_cores; i++)
        MUST(s.cores[i].core_id < s.num_cores);
    for (uint64_t i = 0; i < s.n_aicpus; i++)
        MUST(s.aicpus[i].core_id < s.num_cores);
    for (uint64_t i = 0; i < s.n_phases; i++)
        MUST(tl__swim_phase_name(&s, &s.phases[i]) != NULL && s.phases[i].has <= 7);
    for (uint64_t i = 0; i < s.n_other_names; i++)
        MUST(memchr(s.other_names[i].text, 0, sizeof(s.other_names[i].text)) != NULL);
    for (uint64_t i = 0; i < s.n_uploads; i++)
        MUST(memchr(s.uploads[i].phase, 0, sizeof(s.uploads[i].phase)) != NULL);
    MUST(memchr(s.runtime, 0, sizeof(s.runtime)) != NULL && memchr(s.unaligned, 0, sizeof(s.unaligned)) != NULL);
    MUST(count_backward(&s) == s.backward);
    tl__swimlane_fini(&s);
    return 0;
}
