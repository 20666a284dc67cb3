/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a task's arguments; an error's message has the task, the argument and what to do. */
#include "graph/graph_impl.h"

#include <stdarg.h>
#include <stdio.h>

#include "graph/task_args.h"
#include "base/count_of.h"

#undef tl__graph_refuse /* the analyser's form of what is defined here */

static uint32_t plan_ring(const struct tl_graph *g)
{
    return tl__frame_top(g)->info.ring;
}

const char *tl__graph_task_name(const struct tl_graph *g, char *buf)
{
    uint32_t ring = plan_ring(g);

    (void)snprintf(buf, 40, "task r%ut%llu", ring, (unsigned long long)g->rings[ring].task_head);
    return buf;
}

int tl__graph_refuse(const struct tl_graph *g, struct tl_error *reterr, const char *format, ...)
{
    char name[40], text[900];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    return tl__fail(reterr, TL_EGRAPH, "%s: %s", tl__graph_task_name(g, name), text);
}

static const char *direction_name(unsigned direction)
{
    switch (direction) {
    case TL_IN:
        return "input";
    case TL_OUT:
    case TL_OUT_EXISTING:
        return "output";
    case TL_INOUT:
        return "inout";
    default:
        return "no_dep";
    }
}

static bool marks_count(const struct tl_graph *g)
{
    return g->opts.dump_level == 1 || g->opts.dump_level == 3;
}

/* The first fault of an add or a mark; graph/task_args.h says how it is coded. */
static int check_added(const struct tl_graph *g, const struct tl_task_args *args, struct tl_error *reterr)
{
    if (args->n_tensors > TL_MAX_TENSORS || args->n_scalars > TL_MAX_SCALARS)
        return tl__graph_refuse(g, reterr, "%u tensors and %u scalars: begin an argument list with TL_TASK_ARGS_INIT",
                                args->n_tensors, args->n_scalars);
    switch (args->error) {
    case 0:
        return 0;
    case TL_EINVAL:
        return tl__graph_refuse(g, reterr, "tensor %d is NULL", args->error_index);
    case TL_EPOISONED:
        return tl__graph_refuse(g, reterr,
                                "tensor %d is a tensor of the program that this run was not given: the caller passed "
                                "fewer tensors than the orchestration takes",
                                args->error_index);
    case TL_ENOSPC:
        return tl__graph_refuse(g, reterr, "more than %d tensors; put some into one buffer and pass one tensor",
                                TL_MAX_TENSORS);
    case TL_ERANGE:
        return tl__graph_refuse(g, reterr, "more than %d scalars; pass the rest in a tensor", TL_MAX_SCALARS);
    case TL_ENOTSUP:
        return tl__graph_refuse(g, reterr, "scalar %d: its dtype does not have the size of its C type",
                                args->error_index);
    case TL_ENOENT:
        if (!marks_count(g))
            return 0;
        return tl__graph_refuse(g, reterr,
                                "tl_dump names a %s that was not added to this task's arguments; add it before the "
                                "mark, by the same variable",
                                args->error_index == TL_MARKED_SCALAR ? "scalar" : "tensor");
    default:
        return tl__graph_refuse(g, reterr, "argument %d: %s", args->error_index, tl_strerror(args->error));
    }
}

/* "task r0t5: input 2 <what is wrong>". */
static int refuse_arg(const struct tl_graph *g, struct tl_error *reterr, unsigned direction, uint32_t index,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

static int refuse_arg(const struct tl_graph *g, struct tl_error *reterr, unsigned direction, uint32_t index,
                      const char *format, ...)
{
    char text[800];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    return tl__graph_refuse(g, reterr, "%s %u %s", direction_name(direction), index, text);
}

int tl__graph_check_fresh(const struct tl_graph *g, const struct tl_tensor *t, uint32_t index,
                          struct tl_extent *ret_extent, struct tl_error *reterr)
{
    if (t->rank > TL_MAX_DIMS)
        return refuse_arg(g, reterr, TL_OUT, index, "has rank %u; at most %d can be allocated", t->rank, TL_MAX_DIMS);
    if (t->dtype >= TL_DTYPE_COUNT)
        return refuse_arg(g, reterr, TL_OUT, index, "has the unknown dtype %u", t->dtype);
    if (!tl__region_measure(t, ret_extent))
        return refuse_arg(g, reterr, TL_OUT, index, "is larger than any memory");
    if (!ret_extent->dense || t->start_offset != 0)
        return refuse_arg(g, reterr, TL_OUT, index,
                          "has no memory yet and is not contiguous; make it with tl_tensor_make");
    return 0;
}

/* Memory that a task allocated lives until the task's scope ends (and its consumers are done). Whether it is already
 * released depends on the schedule, so a use after the scope's end is always an error. */
static int check_owner(const struct tl_graph *g, const struct tl_tensor_arg *arg, uint32_t index,
                       struct tl_error *reterr)
{
    uint32_t ring = tl__task_ring(arg->tensor.owner), local = tl__task_local(arg->tensor.owner);
    const struct tl_graph_ring *r = ring < g->opts.rings ? &g->rings[ring] : NULL;

    if (r == NULL || local >= r->task_head)
        return refuse_arg(g, reterr, arg->direction, index,
                          "names task r%ut%u as the owner of its memory, which does not exist; a tensor filled by hand "
                          "has owner TL_NO_TASK",
                          ring, local);
    if (local < r->task_tail || !tl__scope_is_open(g, tl__slot(r, local)))
        return refuse_arg(g, reterr, arg->direction, index,
                          "is in memory that task r%ut%u allocated in a scope that has ended; allocate it outside of "
                          "that scope (tl_alloc_tensors)",
                          ring, local);
    return 0;
}

static int check_existing(const struct tl_graph *g, const struct tl_tensor_arg *arg, uint32_t index,
                          struct tl_arg_facts *f, struct tl_error *reterr)
{
    const struct tl_tensor *t = &arg->tensor;

    if (t->buffer == 0)
        return refuse_arg(g, reterr, arg->direction, index, "has no memory: no task has allocated it");
    if (!tl__region_measure(t, &f->view.extent))
        return refuse_arg(g, reterr, arg->direction, index, "reaches past its buffer of %llu bytes",
                          (unsigned long long)t->buffer_bytes);
    if (!f->view.extent.empty && f->view.extent.hi > t->buffer_bytes)
        return refuse_arg(g, reterr, arg->direction, index, "reaches past its buffer: it ends at byte %llu of %llu",
                          (unsigned long long)f->view.extent.hi, (unsigned long long)t->buffer_bytes);
    if (arg->direction == TL_NO_DEP)
        return 0;
    f->tracked = !f->view.extent.empty;
    return t->owner == TL_NO_TASK ? 0 : check_owner(g, arg, index, reterr);
}

/* Two outputs without memory are one if they are the same variable. */
static int check_unallocated(const struct tl_graph *g, const struct tl_task_args *args, uint32_t out,
                             struct tl_error *reterr)
{
    for (uint32_t i = 0; i < out; i++)
        if (args->tensors[i].direction == TL_OUT && args->tensors[i].out == args->tensors[out].out)
            return refuse_arg(g, reterr, TL_OUT, out, "and output %u are the same unallocated tensor", i);
    return 0;
}

/*
 * No other argument of a task may share an element with what it writes: what is read there, and what is recorded of it
 * before the kernel, would depend on the order within the kernel. TL_NO_DEP arguments are not checked. Of two that
 * write, the first is reported.
 */
static int check_written(const struct tl_graph *g, const struct tl_task_args *args, uint32_t at,
                         struct tl_error *reterr)
{
    const struct tl_tensor_arg *w = &args->tensors[at];
    const struct tl_map_view *written = &g->facts[at].view;

    for (uint32_t i = 0; i < args->n_tensors && g->facts[at].tracked; i++) {
        const struct tl_tensor_arg *a = &args->tensors[i];
        const struct tl_map_view *view = &g->facts[i].view;

        if (i == at || !g->facts[i].tracked || a->direction == TL_OUT || a->tensor.buffer != w->tensor.buffer ||
            a->tensor.owner != w->tensor.owner)
            continue;
        if (tl__region_overlap(&view->region, &view->extent, &written->region, &written->extent) == TL_OVERLAP_SURE)
            return refuse_arg(g, reterr, w->direction, at, "overlaps %s %u in the same buffer; add it once, as inout",
                              direction_name(a->direction), i);
    }
    return 0;
}

static int check_tensor(struct tl_graph *g, const struct tl_task_args *args, uint32_t i, struct tl_error *reterr)
{
    const struct tl_tensor_arg *arg = &args->tensors[i];
    struct tl_arg_facts *f = &g->facts[i];

    f->tracked = false;
    f->tag = 0;
    if (arg->direction == TL_OUT)
        return tl__graph_check_fresh(g, &arg->tensor, i, &f->view.extent, reterr);
    tl__region_of(&arg->tensor, &f->view.region);
    f->view.rect.row_end = 0;
    if (g->tags.tags.count != 0 && (arg->direction == TL_IN || arg->direction == TL_INOUT))
        f->tag = tl__tag_find(&g->tags, &arg->tensor);
    return check_existing(g, arg, i, f, reterr);
}

int tl__graph_validate(struct tl_graph *g, const struct tl_task_args *args, const struct tl_subtasks *subtasks,
                       struct tl_error *reterr)
{
    int code = check_added(g, args, reterr);

    for (unsigned k = 0; k < COUNT_OF(subtasks->func) && code == 0; k++)
        if (subtasks->func[k] < -1)
            code = tl__graph_refuse(
                g, reterr,
                "func_id %d cannot be a kernel's: give one of the program's table, or -1 to leave a core out",
                subtasks->func[k]);
    if (code == 0 && subtasks->func[0] < 0 && subtasks->func[1] < 0 && subtasks->func[2] < 0)
        code = tl__graph_refuse(g, reterr, "no kernel: give at least one func_id that is not -1");
    for (uint32_t i = 0; i < args->n_tensors && code == 0; i++)
        code = check_tensor(g, args, i, reterr);
    for (uint32_t i = 0; i < args->n_tensors && code == 0; i++)
        if (args->tensors[i].direction == TL_OUT)
            code = check_unallocated(g, args, i, reterr);
        else if (args->tensors[i].direction == TL_INOUT || args->tensors[i].direction == TL_OUT_EXISTING)
            code = check_written(g, args, i, reterr);
    return code;
}
