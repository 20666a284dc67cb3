/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program: kernels, an orchestration and its arguments. `tasklens run` loads one from a shared object by the symbol
 * that TL_PROGRAM exports; the C API takes the struct itself.
 */
#ifndef TASKLENS_PROGRAM_H
#define TASKLENS_PROGRAM_H

#include <tasklens/error.h>
#include <tasklens/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TL_MAX_PROGRAM_ARGS 32

/* What the orchestration gets: the program's tensors and parameters in the order of its tables. */
struct tl_program_args {
    const struct tl_tensor *tensors; /* in the order prepare() declared them, on the device; TL_MAX_PROGRAM_ARGS of
                                      * them, those from n_tensors on with the buffer TL_NOT_GIVEN */
    const int64_t *params;           /* in the order of tl_program.params */
    uint32_t n_tensors, n_params;
};

/* An integer that the user may set (--set name=value), mostly a size. */
struct tl_param {
    const char *name TL__ZERO;
    int64_t value TL__ZERO;             /* default */
    int64_t min TL__ZERO, max TL__ZERO; /* inclusive */
    const char *help TL__ZERO;
};

struct tl_setting {
    const char *name TL__ZERO; /* a parameter's */
    int64_t value TL__ZERO;
};

/* A named set of parameter values; the first is the default. */
struct tl_case {
    const char *name TL__ZERO;
    struct tl_setting settings[16] TL__ZERO; /* ends at the first NULL name */
};

/* The host's side of one run's data, while prepare() or golden() runs. */
struct tl_data;

/* Value of a parameter of this run. */
int64_t tl_data_param(const struct tl_data *d, const char *name);
/* Declares the next program tensor (contiguous) and returns its host memory, zeroed, to fill: prepare() only.
 * `role`: TL_IN, TL_OUT (checked against the golden) or TL_INOUT. NULL after an error. Owned by the run. */
void *tl_data_tensor(struct tl_data *d, const char *name, enum tl_direction role, enum tl_dtype dtype, unsigned rank,
                     const uint32_t *shape);
/* golden() only: the inputs as the run got them (after --arg), and where to write what an output should be. */
const void *tl_data_input(const struct tl_data *d, const char *name);
void *tl_data_expected(struct tl_data *d, const char *name);
/*
 * Generators that give the same numbers everywhere (splitmix64), one for each tensor: its numbers depend only on the
 * tensor's name, so a tensor that is added to a program changes no data of the others. The _of forms name the tensor;
 * the others take the one that was declared last. A float is in [-1, 1).
 */
float tl_data_random_of(struct tl_data *d, const char *name);
uint64_t tl_data_random_u64_of(struct tl_data *d, const char *name);
float tl_data_random(struct tl_data *d);
uint64_t tl_data_random_u64(struct tl_data *d);

/*
 * How far one output may be from its golden: per element, relative * (|expected| + the magnitude of its row) +
 * absolute, and the rounding of its dtype (docs/guide.md has the whole rule). All 0: the defaults of the dtype.
 */
struct tl_tolerance {
    const char *output
        TL__ZERO;            /* a tensor of prepare(); of one that is named here integers need not be exact either */
    float relative TL__ZERO; /* 0: what the dtype and `reduction` allow */
    float absolute TL__ZERO; /* in units of the values */
    uint32_t reduction TL__ZERO; /* terms that are summed up in one element; 0: 1,024 */
};

struct tl_program {
    uint32_t struct_size TL__ZERO; /* sizeof(struct tl_program) when compiled */
    uint32_t api_version TL__ZERO; /* TL_PROGRAM_API */
    const char *name TL__ZERO;
    const char *summary TL__ZERO; /* one line */
    const struct tl_kernel *kernels TL__ZERO;
    uint32_t n_kernels TL__ZERO;
    uint32_t n_tensors TL__ZERO; /* that orchestrate() takes: a run with another number is refused. 0: not said */
    uint32_t n_params TL__ZERO;
    const struct tl_param *params TL__ZERO;
    const struct tl_case *cases TL__ZERO;
    uint32_t n_cases TL__ZERO;                      /* 0: one case "default" */
    float tolerance TL__ZERO;                       /* `relative` of every output of a float dtype; 0: the defaults */
    const struct tl_tolerance *tolerances TL__ZERO; /* of single outputs, before `tolerance` */
    uint32_t n_tolerances TL__ZERO;
    /* Depends only on its arguments: host_build_graph starts an equal run from what the last one built. */
    void (*orchestrate)(struct tl_orch *o, const struct tl_program_args *in) TL__ZERO;
    int (*prepare)(struct tl_data *d) TL__ZERO; /* declares and fills the tensors; 0 or a negative code */
    /* Writes what the outputs should be; 0 or a negative code. NULL: not known. */
    int (*golden)(struct tl_data *d) TL__ZERO;
};

/* A parameter of the run, for a kernel; not recorded. `name` must be in the program's table: another name ends the
 * kernel by SIGILL, and the run's message names the kernel. Call it before a loop, not in it. */
static inline int64_t tl_kernel_param(const struct tl_kernel_args *k, const char *name)
{
    for (uint32_t i = 0; i < k->n_params; i++)
        if (__builtin_strcmp(k->program->params[i].name, name) == 0)
            return k->params[i];
    __builtin_trap();
}

#define TL_PROGRAM_API 1u
#define TL_PROGRAM_SYMBOL "tasklens_program"
/* Elements of an array, for the n_ fields of a program. */
#define TL_ARRAY_COUNT(array) TL__CAST(uint32_t, sizeof(array) / sizeof((array)[0]))

/*
 * C++ before C++20 has no designated initializers. There a function makes the program, and the macro exports it:
 *     static tl_program make() { tl_program p = TL_PROGRAM_INIT; p.name = "vector_add"; ...; return p; }
 *     TL_PROGRAM_OF(make());
 */
/* At file scope: TL_PROGRAM(.name = "vector_add", .kernels = kernels, .n_kernels = TL_ARRAY_COUNT(kernels), ...); */
#ifdef __cplusplus
#define TL__EXPORT extern "C" __attribute__((visibility("default")))
static inline struct tl_program tl__program_init()
{
    struct tl_program init = {};
    init.struct_size = sizeof init;
    init.api_version = TL_PROGRAM_API;
    return init;
}
#define TL_PROGRAM_INIT tl__program_init()
#define TL_PROGRAM_OF(program)                                                                                         \
    extern "C" {                                                                                                       \
    __attribute__((visibility("default"))) extern const struct tl_program tasklens_program;                            \
    const struct tl_program tasklens_program = (program);                                                              \
    }                                                                                                                  \
    static_assert(true, "takes the semicolon")
#else
#define TL__EXPORT __attribute__((visibility("default")))
#endif
#define TL_PROGRAM(...)                                                                                                \
    TL__EXPORT const struct tl_program tasklens_program = {                                                            \
        .struct_size = sizeof(struct tl_program), .api_version = TL_PROGRAM_API, __VA_ARGS__}

#ifdef __cplusplus
}
#endif
#endif
