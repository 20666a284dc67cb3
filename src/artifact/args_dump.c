/* SPDX-License-Identifier: Apache-2.0 */
/* Names, geometry, order and counts of args dump records. */
#include "artifact/args_dump.h"

#include <string.h>

#include "base/count_of.h"

TL_API const char *tl_stage_name(unsigned stage)
{
    static const char *const names[] = {"before_dispatch", "after_completion"};

    return stage < 2 ? names[stage] : "unknown";
}

TL_API const char *tl_role_name(unsigned role)
{
    static const char *const names[] = {"input", "output", "inout"};

    return role < 3 ? names[role] : "unknown";
}

TL_API const char *tl_kind_name(unsigned kind)
{
    static const char *const names[] = {"tensor", "scalar"};

    return kind < 2 ? names[kind] : "unknown";
}

TL_API const char *tl_dump_cause_name(unsigned cause)
{
    static const char *const names[] = {"none",    "disk", "host_dead", "device_dead",
                                        "corrupt", "torn", "bad_view",  "other"};

    return cause < COUNT_OF(names) ? names[cause] : "unknown";
}

void tl__dump_record_init(struct tl_dump_record *record)
{
    memset(record, 0, sizeof(*record));
    record->func_id[0] = -1;
    record->func_count = 1;
    record->dtype = TL_DTYPE_UNKNOWN;
    record->flags = TL_ARG_CONTIGUOUS;
}

uint64_t tl__dump_payload_bytes(const struct tl_dump_record *record)
{
    uint64_t bits = tl_dtype_bits(record->dtype), bytes;
    __uint128_t n = 1;

    if (bits == 0 || record->rank > TL_MAX_DIMS)
        return 0;
    for (unsigned d = 0; d < record->rank; d++)
        if (record->shape[d] == 0)
            return 0;
    for (unsigned d = 0; d < record->rank; d++) {
        n *= record->shape[d];
        if (n > UINT64_MAX)
            return UINT64_MAX;
    }
    n = (n * bits + 7) / 8;
    bytes = n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
    return bytes;
}

int tl__dump_compare(const struct tl_dump_record *a, const struct tl_dump_record *b)
{
    if (a->task_id != b->task_id)
        return a->task_id < b->task_id ? -1 : 1;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    if (a->arg_index != b->arg_index)
        return a->arg_index < b->arg_index ? -1 : 1;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    return 0;
}

void tl__dump_count(struct tl_dump_summary *summary, const struct tl_dump_record *records, uint64_t count)
{
    uint64_t stages[2] = {0}, roles[3] = {0}, truncated = 0;

    for (uint64_t i = 0; i < count; i++) {
        stages[records[i].stage != TL_STAGE_BEFORE]++;
        roles[records[i].role <= TL_ROLE_INOUT ? records[i].role : TL_ROLE_INOUT]++;
        truncated += (records[i].flags & TL_ARG_TRUNCATED) != 0;
    }
    summary->total_args = count;
    summary->before_dispatch = stages[TL_STAGE_BEFORE];
    summary->after_completion = stages[TL_STAGE_AFTER];
    summary->input_args = roles[TL_ROLE_INPUT];
    summary->output_args = roles[TL_ROLE_OUTPUT];
    summary->inout_args = roles[TL_ROLE_INOUT];
    summary->truncated_args = truncated;
}
