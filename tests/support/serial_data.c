/* SPDX-License-Identifier: Apache-2.0 */
/* The serial interpreter, data: loading, parameters, program tensors, comparison. See serial.h. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serial_internal.h"

/* Where the sequence of every run starts: as in src/host/data.c, so that both see the same inputs. */
#define RANDOM_SEED UINT64_C(0x7461736b6c656e73)

uint64_t serial__random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* FNV-1a of a tensor's name, over the seed of all. */
static uint64_t seed_of(const char *name)
{
    uint64_t hash = 14695981039346656037u;

    while (*name)
        hash = (hash ^ (uint8_t)*name++) * 1099511628211u;
    return hash ^ RANDOM_SEED;
}

/* ---- Loading ---- */

static int check_kernels(const struct tl_program *p, struct tl_error *reterr)
{
    for (uint32_t i = 0; i < p->n_kernels; i++) {
        const struct tl_kernel *k = &p->kernels[i];
        bool scalar = false;

        if (!k->fn)
            return serial__fail(reterr, TL_ELOAD, "kernel %s has no function", k->name);
        for (uint32_t j = 0; j < i; j++) {
            if (p->kernels[j].func_id == k->func_id)
                return serial__fail(reterr, TL_ELOAD, "kernels %s and %s share func_id %d", p->kernels[j].name, k->name,
                                    k->func_id);
        }
        for (uint32_t j = 0; j < k->signature_count; j++) {
            if (scalar && k->signature[j] != TL_SCALAR)
                return serial__fail(reterr, TL_ELOAD, "kernel %s has a scalar before a tensor", k->name);
            scalar |= k->signature[j] == TL_SCALAR;
        }
    }
    return 0;
}

int serial_load(const char *path, void **ret_handle, const struct tl_program **ret_program, struct tl_error *reterr)
{
    struct tl_error err = {0};
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct tl_program *program = handle ? dlsym(handle, TL_PROGRAM_SYMBOL) : NULL;

    if (!handle)
        serial__fail(&err, TL_ELOAD, "%s", dlerror());
    else if (!program)
        serial__fail(&err, TL_ELOAD, "%s is not a program", path);
    else
        check_kernels(program, &err);
    if (err.code) {
        *reterr = err;
        if (handle)
            dlclose(handle);
        return err.code;
    }
    *ret_handle = handle;
    *ret_program = program;
    return 0;
}

void serial_unload(void *handle)
{
    if (handle)
        dlclose(handle);
}

/* ---- Parameters ---- */

static void set_param(const struct tl_program *p, struct serial_run *run, const struct tl_setting *s)
{
    for (uint32_t i = 0; i < p->n_params; i++) {
        if (strcmp(p->params[i].name, s->name) != 0)
            continue;
        if (s->value < p->params[i].min || s->value > p->params[i].max)
            serial__fail(&run->error, TL_ERANGE, "parameter %s is out of range", s->name);
        run->params[i] = s->value;
        return;
    }
    serial__fail(&run->error, TL_ENOENT, "no parameter %s", s->name);
}

static void set_params(const struct tl_program *p, const struct serial_opts *opts, struct serial_run *run)
{
    const struct tl_case *chosen = opts->case_name ? NULL : p->n_cases ? &p->cases[0] : NULL;

    run->n_params = p->n_params;
    for (uint32_t i = 0; i < p->n_params; i++)
        run->params[i] = p->params[i].value;
    for (uint32_t i = 0; opts->case_name && i < p->n_cases; i++) {
        if (strcmp(p->cases[i].name, opts->case_name) == 0)
            chosen = &p->cases[i];
    }
    if (opts->case_name && !chosen)
        serial__fail(&run->error, TL_ENOENT, "no case %s", opts->case_name);
    for (uint32_t i = 0; chosen && i < TL_ARRAY_COUNT(chosen->settings) && chosen->settings[i].name; i++)
        set_param(p, run, &chosen->settings[i]);
    for (uint32_t i = 0; i < opts->n_settings; i++)
        set_param(p, run, &opts->settings[i]);
}

TL_API int64_t tl_data_param(const struct tl_data *d, const char *name)
{
    for (uint32_t i = 0; i < d->program->n_params; i++) {
        if (strcmp(d->program->params[i].name, name) == 0)
            return d->run->params[i];
    }
    serial__fail(&d->run->error, TL_ENOENT, "prepare or golden asks for an unknown parameter %s", name);
    return 0;
}

/* ---- Program tensors ---- */

static struct serial_tensor *find(const struct tl_data *d, const char *name)
{
    for (uint32_t i = 0; i < d->run->n_tensors; i++) {
        if (strcmp(d->run->tensors[i].name, name) == 0)
            return &d->run->tensors[i];
    }
    serial__fail(&d->run->error, TL_ENOENT, "no program tensor is named %s", name);
    return NULL;
}

TL_API void *tl_data_tensor(struct tl_data *d, const char *name, enum tl_direction role, enum tl_dtype dtype,
                            unsigned rank, const uint32_t *shape)
{
    struct serial_run *run = d->run;
    struct serial_tensor *t = &run->tensors[run->n_tensors];

    if (!d->preparing || run->n_tensors == TL_MAX_PROGRAM_ARGS) {
        serial__fail(&run->error, TL_EINVAL, "tensor %s: declared after prepare(), or one too many", name);
        return NULL;
    }
    *t = (struct serial_tensor){
        .random_state = seed_of(name), .name = name, .role = role, .tensor = tl_tensor_make(dtype, rank, shape)};
    if (tl_tensor_check(&t->tensor)) {
        serial__fail(&run->error, TL_EINVAL, "tensor %s has no valid shape", name);
        return NULL;
    }
    t->bytes = tl_tensor_bytes(&t->tensor);
    t->data = calloc(t->bytes + 1, 1);
    if (!t->data) {
        serial__fail(&run->error, TL_ENOMEM, "no memory for tensor %s", name);
        return NULL;
    }
    t->tensor.buffer = (uintptr_t)t->data;
    t->tensor.buffer_bytes = t->bytes;
    t->tensor.owner = TL_NO_TASK;
    run->n_tensors++;
    return t->data;
}

TL_API const void *tl_data_input(const struct tl_data *d, const char *name)
{
    const struct serial_tensor *t = find(d, name);

    return t ? t->input : NULL;
}

TL_API void *tl_data_expected(struct tl_data *d, const char *name)
{
    struct serial_tensor *t = find(d, name);

    if (t && t->role == TL_IN) {
        serial__fail(&d->run->error, TL_EINVAL, "%s is an input: nothing is expected of it", name);
        return NULL;
    }
    if (t && !t->expected)
        t->expected = calloc(t->bytes + 1, 1);
    return t ? t->expected : NULL;
}

TL_API uint64_t tl_data_random_u64(struct tl_data *d)
{
    struct serial_run *run = d->run;

    return serial__random(run->n_tensors > 0 ? &run->tensors[run->n_tensors - 1].random_state : &d->random_state);
}

TL_API uint64_t tl_data_random_u64_of(struct tl_data *d, const char *name)
{
    struct serial_tensor *t = find(d, name);

    return t ? serial__random(&t->random_state) : 0;
}

TL_API float tl_data_random_of(struct tl_data *d, const char *name)
{
    return (float)(tl_data_random_u64_of(d, name) >> 40) * 0x1p-23f - 1.0f;
}

/* The top 24 bits: each is a float exactly. */
TL_API float tl_data_random(struct tl_data *d)
{
    return (float)(tl_data_random_u64(d) >> 40) * 0x1p-23f - 1.0f;
}

/* ---- The run ---- */

static void keep_inputs(struct serial_run *run)
{
    for (uint32_t i = 0; i < run->n_tensors; i++) {
        struct serial_tensor *t = &run->tensors[i];

        t->input = malloc(t->bytes + 1);
        if (!t->input) {
            serial__fail(&run->error, TL_ENOMEM, "no memory to keep tensor %s", t->name);
            return;
        }
        memcpy(t->input, t->data, t->bytes);
    }
}

int serial_run(const struct tl_program *program, const struct serial_opts *opts, struct serial_run **ret_run)
{
    static const struct serial_opts defaults = {0};
    struct serial_run *run = calloc(1, sizeof *run);
    struct tl_data d = {.program = program, .run = run, .random_state = RANDOM_SEED, .preparing = true};
    int r;

    if (!run)
        return TL_ENOMEM;
    if (!opts)
        opts = &defaults;
    *ret_run = run;
    set_params(program, opts, run);
    if (!run->error.code && program->prepare && (r = program->prepare(&d)) < 0)
        serial__fail(&run->error, r, "prepare: %s", tl_strerror(r));
    d.preparing = false;
    if (!run->error.code)
        keep_inputs(run);
    if (!run->error.code)
        serial__orchestrate(program, opts, run);
    if (!run->error.code && program->golden && (r = program->golden(&d)) < 0)
        serial__fail(&run->error, r, "golden: %s", tl_strerror(r));
    return run->error.code;
}

void serial_free(struct serial_run *run)
{
    if (!run)
        return;
    for (uint32_t i = 0; i < run->n_tensors; i++) {
        free(run->tensors[i].data);
        free(run->tensors[i].input);
        free(run->tensors[i].expected);
    }
    free(run);
}

/* ---- Comparison ---- */

static double from_float16(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (bits & 1023 ? (double)NAN : (double)INFINITY)
                                    : ldexp(1024 + fraction, exponent - 25);

    return bits & 0x8000 ? -value : value;
}

static double from_bfloat16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float f;

    memcpy(&f, &wide, sizeof f);
    return (double)f;
}

double serial_element(const void *data, enum tl_dtype dtype, uint64_t i)
{
    switch (dtype) {
    case TL_FLOAT32:
        return (double)((const float *)data)[i];
    case TL_FLOAT16:
        return from_float16(((const uint16_t *)data)[i]);
    case TL_BFLOAT16:
        return from_bfloat16(((const uint16_t *)data)[i]);
    case TL_INT32:
        return ((const int32_t *)data)[i];
    case TL_INT16:
        return ((const int16_t *)data)[i];
    case TL_INT8:
        return ((const int8_t *)data)[i];
    case TL_INT64:
        return (double)((const int64_t *)data)[i];
    case TL_UINT64:
        return (double)((const uint64_t *)data)[i];
    case TL_UINT16:
        return ((const uint16_t *)data)[i];
    case TL_UINT32:
        return ((const uint32_t *)data)[i];
    case TL_FP4E2M1:
        return ((const uint8_t *)data)[i / 2] >> i % 2 * 4 & 15;
    default:
        return ((const uint8_t *)data)[i];
    }
}

static double tolerance_of(const struct tl_program *p, enum tl_dtype dtype)
{
    if (dtype == TL_FLOAT32)
        return p->tolerance > 0.0f ? (double)p->tolerance : 1e-5;
    if (dtype == TL_FLOAT16)
        return 1e-3;
    return dtype == TL_BFLOAT16 ? 1e-2 : 0.0;
}

static bool differs(const struct serial_tensor *t, uint64_t i, double tolerance)
{
    const enum tl_dtype dtype = (enum tl_dtype)t->tensor.dtype;
    const double got = serial_element(t->data, dtype, i), want = serial_element(t->expected, dtype, i);

    if (tolerance == 0.0 && tl_dtype_bits(dtype) >= 8) {
        const size_t bytes = tl_dtype_bits(dtype) / 8;

        return memcmp((const char *)t->data + i * bytes, (const char *)t->expected + i * bytes, bytes) != 0;
    }
    if (isnan(got) || isnan(want))
        return isnan(got) != isnan(want);
    return got != want && !(fabs(got - want) <= tolerance + tolerance * fabs(want));
}

uint64_t serial_differences(const struct tl_program *program, const struct serial_run *run, struct tl_error *ret_first)
{
    uint64_t count = 0;

    for (uint32_t k = 0; k < run->n_tensors; k++) {
        const struct serial_tensor *t = &run->tensors[k];
        const enum tl_dtype dtype = (enum tl_dtype)t->tensor.dtype;
        const uint64_t n = tl_tensor_numel(&t->tensor);

        for (uint64_t i = 0; t->expected && i < n; i++) {
            if (!differs(t, i, tolerance_of(program, dtype)))
                continue;
            if (!count++)
                serial__fail(ret_first, TL_EINVAL, "%s element %llu is %.9g, expected %.9g", t->name,
                             (unsigned long long)i, serial_element(t->data, dtype, i),
                             serial_element(t->expected, dtype, i));
        }
    }
    return count;
}
