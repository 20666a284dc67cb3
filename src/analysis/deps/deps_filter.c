/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/deps/deps_show.h"
#include "base/error.h"

static bool runs(const struct tl_deps_task *task, int64_t func_id)
{
    return task->kernel_ids[0] == func_id || task->kernel_ids[1] == func_id || task->kernel_ids[2] == func_id;
}

static bool is_of_buffer(const struct tl_deps_graph *graph, uint64_t tensor_id, uint64_t buffer_addr)
{
    const struct tl_deps_tensor *tensor = tl__deps_tensor(graph, tensor_id);

    return tensor != NULL && tensor->buffer_addr == buffer_addr;
}

static bool has_buffer(const struct tl_deps_subject *s, const struct tl_deps_task *task, uint64_t buffer_addr)
{
    for (uint32_t i = 0; i < task->n_args; i++) {
        const struct tl_deps_arg *arg = &s->deps->args[task->first_arg + i];

        if (arg->has_view && is_of_buffer(s->graph, arg->tensor_id, buffer_addr))
            return true;
    }
    return false;
}

bool tl__deps_task_passes(const struct tl_deps_subject *s, const struct tl_deps_filter *filter, uint32_t task)
{
    const struct tl_deps_task *t = &s->deps->tasks[task];

    return (!filter->by_kernel || runs(t, filter->kernel)) &&
           (!filter->by_tensor || has_buffer(s, t, filter->buffer_addr));
}

bool tl__deps_edge_passes(const struct tl_deps_subject *s, const struct tl_deps_filter *filter,
                          const struct tl_deps_edge *edge, uint32_t other)
{
    if (filter->by_kernel && (other == TL_DEPS_NONE || !runs(&s->deps->tasks[other], filter->kernel)))
        return false;
    return !filter->by_tensor ||
           (edge->source != TL_DEPS_EXPLICIT && is_of_buffer(s->graph, edge->tensor_id, filter->buffer_addr));
}

/* Up to a dozen names, for a message; what does not fit is cut. */
static void known_kernels(const struct tl_deps_subject *s, char *text, size_t bytes)
{
    struct tl_rendering out;
    uint32_t shown = 0;
    size_t n;

    tl__rendering_init(&out, NULL, NULL);
    for (uint32_t i = 0; i < s->names->count && shown < 12; i++) {
        if (s->names->names[i] == NULL)
            continue;
        tl__put(&out, ", ", shown++ > 0 ? 2 : 0);
        tl__put_name(&out, s->names->names[i]);
    }
    n = out.used < bytes ? out.used : bytes - 1;
    if (out.error == 0 && n > 0)
        memcpy(text, out.data, n);
    text[out.error == 0 ? n : 0] = 0;
    tl__rendering_fini(&out);
}

int64_t tl__deps_kernel_of(const struct tl_deps_subject *s, const char *word, struct tl_error *reterr)
{
    char known[400], *end;
    long number;

    for (uint32_t i = 0; i < s->names->count; i++)
        if (s->names->names[i] != NULL && strcmp(s->names->names[i], word) == 0)
            return i;
    number = strtol(strncmp(word, "func_", 5) == 0 ? word + 5 : word, &end, 10);
    if (end != word && *end == 0 && number >= 0 && number <= INT32_MAX)
        for (uint64_t t = 0; t < s->deps->n_tasks; t++)
            if (runs(&s->deps->tasks[t], number))
                return number;
    known_kernels(s, known, sizeof(known));
    if (known[0] != 0)
        return tl__fail(reterr, TL_ENOENT, "no kernel is called \"%.200s\"; there are %s", word, known);
    return tl__fail(
        reterr, TL_ENOENT,
        "no kernel is called \"%.200s\"; this recording has no names, and func_ids as the summary shows them", word);
}

/* Bytes of a buffer; of an unknown dtype at least one an element. */
static uint64_t buffer_bytes(const struct tl_deps_tensor *tensor)
{
    unsigned bits = tl_dtype_bits(tensor->dtype);
    uint64_t bytes;

    if (bits < 8)
        return bits == 0 ? tensor->buffer_numel : tensor->buffer_numel / (8 / bits);
    return __builtin_mul_overflow(tensor->buffer_numel, bits / 8, &bytes) ? UINT64_MAX : bytes;
}

int tl__deps_buffer_of(const struct tl_deps_subject *s, uint64_t address, uint64_t *ret_buffer_addr,
                       struct tl_error *reterr)
{
    const struct tl_deps_tensor *holds = NULL;

    for (uint64_t i = 0; i < s->deps->n_tensors; i++) {
        const struct tl_deps_tensor *tensor = &s->deps->tensors[i];

        if (tensor->buffer_addr == address) {
            *ret_buffer_addr = address;
            return 0;
        }
        if (address > tensor->buffer_addr && address - tensor->buffer_addr < buffer_bytes(tensor))
            holds = tensor;
    }
    if (holds == NULL)
        return tl__fail(reterr, TL_ENOENT, "no buffer begins at 0x%" PRIx64 " or holds it; a task's buffers: -t TASK",
                        address);
    *ret_buffer_addr = holds->buffer_addr;
    return 0;
}
