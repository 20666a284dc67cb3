/* SPDX-License-Identifier: Apache-2.0 */
/* The serial interpreter, tasks: scopes, allocation, submission, order, kernel calls. See serial.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serial_internal.h"

#define NO_FUNC (-1)

struct buffer {
    unsigned char *memory;
    tl_task_id owner;
    uint32_t depth; /* scopes open when it was allocated */
    bool live;      /* its scope is still open */
};

struct task {
    struct serial_task shown;
    struct tl_task_args args;
    uint64_t *preds; /* indices into orch->tasks */
    uint64_t n_preds;
    bool done;
};

struct tl_orch {
    const struct tl_program *program;
    const struct serial_opts *opts;
    struct serial_run *run;
    uint32_t depth; /* open scopes */
    enum tl_scope_kind kinds[64];
    uint32_t next_local[4]; /* per ring */
    uint32_t next_tag;
    struct buffer *buffers;
    uint64_t n_buffers;
    struct task **tasks; /* shuffled runs only */
    uint64_t n_tasks;
};

int serial__fail(struct tl_error *err, int code, const char *format, ...)
{
    va_list ap;

    if (err->code)
        return err->code;
    va_start(ap, format);
    vsnprintf(err->msg, sizeof err->msg, format, ap);
    va_end(ap);
    err->offset = -1;
    return err->code = code;
}

static int fail(struct tl_orch *o, int code, const char *text, tl_task_id id, uint32_t arg)
{
    return serial__fail(&o->run->error, code, "task 0x%016llx argument %u: %s", (unsigned long long)id, arg, text);
}

/* ---- Elements of a view ---- */

/* Bit offset, from the buffer's start, of the view's element number `n` in row-major order. */
static uint64_t element_bit(const struct tl_tensor *t, uint64_t n)
{
    uint64_t offset = t->start_offset;

    for (unsigned d = t->rank; d-- > 0;) {
        offset += n % t->shape[d] * t->strides[d];
        n /= t->shape[d];
    }
    return offset * tl_dtype_bits(t->dtype);
}

/* Whether two views share an element. One byte per half byte of the buffer, as FP4 elements are half bytes. */
static bool overlap(const struct tl_tensor *a, const struct tl_tensor *b)
{
    const uint64_t na = tl_tensor_numel(a), nb = tl_tensor_numel(b);
    const unsigned wide_a = tl_dtype_bits(a->dtype) / 4, wide_b = tl_dtype_bits(b->dtype) / 4;
    unsigned char *touched;
    bool shared = false;

    if (a->buffer != b->buffer || !na || !nb)
        return false;
    touched = calloc(a->buffer_bytes * 2 + 1, 1);
    for (uint64_t i = 0; touched && i < na; i++)
        memset(touched + element_bit(a, i) / 4, 1, wide_a);
    for (uint64_t i = 0; touched && !shared && i < nb; i++)
        shared = memchr(touched + element_bit(b, i) / 4, 1, wide_b) != NULL;
    free(touched);
    return shared;
}

/* Outputs are written without being read: make a kernel that reads one, or leaves part of it, show it. */
static void poison(const struct tl_tensor *t)
{
    const uint64_t n = tl_tensor_numel(t);
    const unsigned bytes = tl_dtype_bits(t->dtype) / 8;
    unsigned char *base = (unsigned char *)(uintptr_t)t->buffer;

    for (uint64_t i = 0; bytes && i < n; i++)
        memset(base + element_bit(t, i) / 8, 0xff, bytes);
}

static bool is_written(const struct tl_tensor_arg *a)
{
    return a->direction == TL_OUT || a->direction == TL_OUT_EXISTING || a->direction == TL_INOUT;
}

static bool is_read(const struct tl_tensor_arg *a)
{
    return a->direction == TL_IN || a->direction == TL_INOUT;
}

/* ---- Buffers and scopes ---- */

static tl_task_id new_id(struct tl_orch *o)
{
    const uint32_t ring = o->depth <= 1 ? 0 : o->depth <= 4 ? o->depth - 1 : 3;

    return (uint64_t)ring << 32 | o->next_local[ring]++;
}

static int allocate(struct tl_orch *o, struct tl_tensor *t, tl_task_id owner)
{
    const uint64_t bytes = tl_tensor_bytes(t);
    struct buffer *grown = realloc(o->buffers, (o->n_buffers + 1) * sizeof *grown);
    unsigned char *memory = malloc(bytes + 1);

    if (grown)
        o->buffers = grown;
    if (!grown || !memory) {
        free(memory);
        return serial__fail(&o->run->error, TL_ENOMEM, "no memory for %llu bytes", (unsigned long long)bytes);
    }
    memset(memory, 0xff, bytes + 1);
    o->buffers[o->n_buffers++] = (struct buffer){memory, owner, o->depth, true};
    t->buffer = (uintptr_t)memory;
    t->buffer_bytes = bytes;
    t->owner = owner;
    return 0;
}

/* In a shuffled run the tasks come later, so the memory stays; using it is an error all the same. */
static void end_buffers(struct tl_orch *o, uint32_t depth)
{
    for (uint64_t i = 0; i < o->n_buffers; i++) {
        struct buffer *b = &o->buffers[i];

        if (!b->live || b->depth < depth)
            continue;
        b->live = false;
        if (!o->opts->shuffle_seed) {
            free(b->memory);
            b->memory = NULL;
        }
    }
}

static bool is_live(const struct tl_orch *o, const struct tl_tensor *t)
{
    if (t->owner == TL_NO_TASK)
        return true;
    for (uint64_t i = 0; i < o->n_buffers; i++) {
        if (o->buffers[i].live && (uintptr_t)o->buffers[i].memory == t->buffer && o->buffers[i].owner == t->owner)
            return true;
    }
    return false;
}

TL_API void tl_scope_begin(struct tl_orch *o, enum tl_scope_kind kind, const char *file, int line)
{
    if (o->depth == TL_ARRAY_COUNT(o->kinds)) {
        serial__fail(&o->run->error, TL_EGRAPH, "%s:%d: scopes nest too deep", file, line);
        return;
    }
    o->kinds[o->depth++] = kind;
}

TL_API void tl_scope_end(struct tl_orch *o)
{
    if (!o->depth) {
        serial__fail(&o->run->error, TL_EGRAPH, "a scope ends that never began");
        return;
    }
    end_buffers(o, o->depth);
    o->depth--;
}

TL_API tl_task_id tl_alloc_tensors(struct tl_orch *o, struct tl_tensor *const *tensors, uint32_t count)
{
    tl_task_id id;

    if (o->run->error.code)
        return TL_NO_TASK;
    id = new_id(o);
    for (uint32_t i = 0; i < count; i++) {
        if (tensors[i]->buffer)
            fail(o, TL_EGRAPH, "is allocated already", id, i);
        else if (tl_tensor_check(tensors[i]))
            fail(o, TL_EGRAPH, "has no valid shape", id, i);
        else
            allocate(o, tensors[i], id);
    }
    return o->run->error.code ? TL_NO_TASK : id;
}

TL_API void tl__dump_tag(struct tl_orch *o, struct tl_tensor *t, const char *name, const char *file, int line)
{
    (void)name, (void)file, (void)line;
    t->tag = ++o->next_tag;
}

TL_API int tl_orch_error(const struct tl_orch *o)
{
    return o->run->error.code;
}

TL_API void tl_orch_fail(struct tl_orch *o, const char *message)
{
    serial__fail(&o->run->error, TL_EGRAPH, "%s", message);
}

/* ---- Running one task ---- */

static const struct tl_kernel *find_kernel(const struct tl_orch *o, int32_t func_id)
{
    for (uint32_t i = 0; i < o->program->n_kernels; i++) {
        if (o->program->kernels[i].func_id == func_id)
            return &o->program->kernels[i];
    }
    return NULL;
}

static void call(struct tl_orch *o, const struct serial_task *task, int32_t func_id, uint32_t block, uint32_t lane)
{
    struct tl_tensor tensors[TL_MAX_TENSORS];
    void *data[TL_MAX_TENSORS];
    uint64_t scalars[TL_MAX_SCALARS];
    const struct tl_kernel_args args = {.tensors = tensors,
                                        .data = data,
                                        .scalars = scalars,
                                        .n_tensors = task->args->n_tensors,
                                        .n_scalars = task->args->n_scalars,
                                        .block_idx = block,
                                        .block_num = task->block_num,
                                        .lane = lane,
                                        .program = o->program,
                                        .params = o->run->params,
                                        .n_params = o->program->n_params};

    if (func_id == NO_FUNC)
        return;
    for (uint32_t i = 0; i < args.n_tensors; i++) {
        const struct tl_tensor *t = &task->args->tensors[i].tensor;

        tensors[i] = *t;
        data[i] = (unsigned char *)(uintptr_t)t->buffer + t->start_offset * tl_dtype_bits(t->dtype) / 8;
    }
    for (uint32_t i = 0; i < args.n_scalars; i++)
        scalars[i] = task->args->scalars[i].bits;
    find_kernel(o, func_id)->fn(&args);
    o->run->kernel_calls++;
}

static void execute(struct tl_orch *o, const struct serial_task *task, bool backwards)
{
    for (uint32_t i = 0; i < task->args->n_tensors; i++) {
        const struct tl_tensor_arg *a = &task->args->tensors[i];

        if (a->direction == TL_OUT || a->direction == TL_OUT_EXISTING)
            poison(&a->tensor);
    }
    if (o->opts->observer)
        o->opts->observer(o->opts->observer_context, task, false);
    for (uint32_t i = 0; i < task->block_num; i++) {
        const uint32_t block = backwards ? task->block_num - 1 - i : i;

        call(o, task, task->mix.aic, block, 0);
        call(o, task, task->mix.aiv0, block, 0);
        call(o, task, task->mix.aiv1, block, 1);
    }
    if (o->opts->observer)
        o->opts->observer(o->opts->observer_context, task, true);
}

/* ---- Submission ---- */

static void check_kernel(struct tl_orch *o, tl_task_id id, int32_t func_id, enum tl_core core)
{
    const struct tl_kernel *k = func_id == NO_FUNC ? NULL : find_kernel(o, func_id);

    if (func_id != NO_FUNC && !k)
        serial__fail(&o->run->error, TL_EGRAPH, "task 0x%016llx: no kernel has func_id %d", (unsigned long long)id,
                     func_id);
    else if (k && k->core != core)
        serial__fail(&o->run->error, TL_EGRAPH, "task 0x%016llx: kernel %s is for the other core type",
                     (unsigned long long)id, k->name);
}

static void check_args(struct tl_orch *o, tl_task_id id, const struct tl_task_args *args)
{
    for (uint32_t i = 0; i < args->n_tensors; i++) {
        const struct tl_tensor_arg *a = &args->tensors[i];

        if (a->direction != TL_OUT && !a->tensor.buffer)
            fail(o, TL_EGRAPH, "is not allocated", id, i);
        else if (tl_tensor_check(&a->tensor))
            fail(o, TL_EGRAPH, "reaches past its buffer, or has no valid shape", id, i);
        else if (a->tensor.buffer && !is_live(o, &a->tensor))
            fail(o, TL_EGRAPH, "lived in a scope that has ended", id, i);
        for (uint32_t j = 0; j < args->n_tensors && !o->run->error.code; j++) {
            const struct tl_tensor_arg *b = &args->tensors[j];

            if (i != j && a->direction != TL_OUT && is_written(a) && b->direction != TL_OUT &&
                (is_read(b) || is_written(b)) && overlap(&a->tensor, &b->tensor))
                fail(o, TL_EGRAPH, "is written and overlaps another argument of the same task", id, i);
        }
    }
    for (uint32_t i = 0; i < args->n_deps; i++) {
        if (args->deps[i] == TL_NO_TASK) /* "nothing before it", e.g. in a loop's first turn */
            continue;
        if (args->deps[i] >> 32 > 3 || (uint32_t)args->deps[i] >= o->next_local[args->deps[i] >> 32])
            serial__fail(&o->run->error, TL_EGRAPH, "task 0x%016llx depends on a task that was never submitted",
                         (unsigned long long)id);
    }
}

static bool waits_for(const struct tl_orch *o, const struct task *later, const struct task *earlier)
{
    for (uint32_t i = 0; i < later->args.n_deps; i++) {
        if (later->args.deps[i] == earlier->shown.id)
            return true;
    }
    if (o->depth && o->kinds[o->depth - 1] == TL_SCOPE_MANUAL)
        return false;
    for (uint32_t i = 0; i < later->args.n_tensors; i++) {
        if (later->args.tensors[i].direction == TL_NO_DEP)
            continue;
        for (uint32_t j = 0; j < earlier->args.n_tensors; j++) {
            if (is_written(&earlier->args.tensors[j]) &&
                overlap(&later->args.tensors[i].tensor, &earlier->args.tensors[j].tensor))
                return true;
        }
    }
    return false;
}

/* Keeps the task for later, with all its dependencies. */
static int defer(struct tl_orch *o, const struct serial_task *shown)
{
    struct task **grown = realloc(o->tasks, (o->n_tasks + 1) * sizeof(struct task *));
    struct task *task = calloc(1, sizeof *task);

    if (grown)
        o->tasks = grown;
    if (task)
        task->preds = malloc((o->n_tasks + 1) * sizeof *task->preds);
    if (!grown || !task || !task->preds) {
        free(task);
        return serial__fail(&o->run->error, TL_ENOMEM, "no memory for a task");
    }
    task->shown = *shown;
    task->args = *shown->args;
    task->shown.args = &task->args;
    for (uint64_t i = 0; i < o->n_tasks; i++) {
        if (waits_for(o, task, o->tasks[i]))
            task->preds[task->n_preds++] = i;
    }
    task->args.deps = NULL; /* the caller's, until submit returns */
    task->args.n_deps = 0;
    o->run->edges += task->n_preds;
    o->tasks[o->n_tasks++] = task;
    return 0;
}

static tl_task_id submit(struct tl_orch *o, struct tl_mix mix, const struct tl_task_args *args)
{
    struct tl_task_args copy;
    struct serial_task task = {.mix = mix, .args = &copy, .block_num = args->block_num ? args->block_num : 1};

    if (o->run->error.code)
        return TL_NO_TASK;
    if (args->error) {
        serial__fail(&o->run->error, args->error, "argument %d: %s", args->error_index, tl_strerror(args->error));
        return TL_NO_TASK;
    }
    task.id = new_id(o);
    check_kernel(o, task.id, mix.aic, TL_AIC);
    check_kernel(o, task.id, mix.aiv0, TL_AIV);
    check_kernel(o, task.id, mix.aiv1, TL_AIV);
    if (mix.aic == NO_FUNC && mix.aiv0 == NO_FUNC && mix.aiv1 == NO_FUNC)
        serial__fail(&o->run->error, TL_EGRAPH, "a task without a kernel");
    check_args(o, task.id, args);
    copy = *args;
    for (uint32_t i = 0; i < copy.n_tensors && !o->run->error.code; i++) {
        struct tl_tensor_arg *a = &copy.tensors[i];

        if (a->direction == TL_OUT && !allocate(o, &a->tensor, task.id) && a->out)
            *a->out = a->tensor;
    }
    if (o->run->error.code)
        return TL_NO_TASK;
    o->run->tasks++;
    if (o->opts->shuffle_seed)
        return defer(o, &task) ? TL_NO_TASK : task.id;
    execute(o, &task, false);
    return task.id;
}

TL_API tl_task_id tl_submit_aiv(struct tl_orch *o, int32_t func_id, const struct tl_task_args *args)
{
    return submit(o, (struct tl_mix){NO_FUNC, func_id, NO_FUNC}, args);
}

TL_API tl_task_id tl_submit_aic(struct tl_orch *o, int32_t func_id, const struct tl_task_args *args)
{
    return submit(o, (struct tl_mix){func_id, NO_FUNC, NO_FUNC}, args);
}

TL_API tl_task_id tl_submit_mix(struct tl_orch *o, struct tl_mix mix, const struct tl_task_args *args)
{
    return submit(o, mix, args);
}

/* ---- The whole ---- */

static bool is_ready(const struct tl_orch *o, const struct task *task)
{
    for (uint64_t i = 0; i < task->n_preds; i++) {
        if (!o->tasks[task->preds[i]]->done)
            return false;
    }
    return !task->done;
}

/* Runs this task, and before it only what it waits for: if a dependency is missing, this finds it out. */
static void run_on_demand(struct tl_orch *o, struct task *task)
{
    if (task->done)
        return;
    for (uint64_t i = 0; i < task->n_preds; i++)
        run_on_demand(o, o->tasks[task->preds[i]]);
    execute(o, &task->shown, true);
    task->done = true;
}

/* Any ready task may be next; blocks of an SPMD task may come in any order too. */
static void run_shuffled(struct tl_orch *o)
{
    uint64_t state = o->opts->shuffle_seed;

    if (state == SERIAL_LAST_FIRST) {
        for (uint64_t i = o->n_tasks; i-- > 0;)
            run_on_demand(o, o->tasks[i]);
        return;
    }

    for (uint64_t left = o->n_tasks; left; left--) {
        uint64_t i = serial__random(&state) % o->n_tasks;

        while (!is_ready(o, o->tasks[i]))
            i = (i + 1) % o->n_tasks;
        execute(o, &o->tasks[i]->shown, serial__random(&state) & 1);
        o->tasks[i]->done = true;
    }
}

void serial__orchestrate(const struct tl_program *program, const struct serial_opts *opts, struct serial_run *run)
{
    struct tl_orch o = {.program = program, .opts = opts, .run = run};
    struct tl_tensor tensors[TL_MAX_PROGRAM_ARGS];
    const struct tl_program_args in = {
        .tensors = tensors, .params = run->params, .n_tensors = run->n_tensors, .n_params = run->n_params};

    for (uint32_t i = 0; i < run->n_tensors; i++)
        tensors[i] = run->tensors[i].tensor;
    program->orchestrate(&o, &in);
    if (o.depth)
        serial__fail(&run->error, TL_EGRAPH, "%u scopes never ended", o.depth);
    if (!run->error.code)
        run_shuffled(&o);
    for (uint64_t i = 0; i < o.n_buffers; i++)
        free(o.buffers[i].memory);
    for (uint64_t i = 0; i < o.n_tasks; i++) {
        free(o.tasks[i]->preds);
        free(o.tasks[i]);
    }
    free(o.buffers);
    free(o.tasks);
}
