/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program: kernels, an orchestration and its arguments. `tasklens run` loads one from a shared
 * object by the symbol that TL_PROGRAM exports; the C API takes the struct itself.
 */
#ifndef TASKLENS_PROGRAM_H
#define TASKLENS_PROGRAM_H

#include <tasklens/error.h>
#include <tasklens/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TL_MAX_PROGRAM_ARGS 32

/* What the orchestration is given: the program's tensors and parameters in the order of its tables. */
struct tl_program_args {
    const struct tl_tensor *tensors; /* in the order prepare() declared them, on the device */
    const int64_t *params;           /* in the order of tl_program.params */
    uint32_t n_tensors, n_params;
};

/* An integer the user may set (--set name=value); sizes, mostly. */
struct tl_param {
    const char *name;
    int64_t value;    /* default */
    int64_t min, max; /* inclusive */
    const char *help;
};

struct tl_setting {
    const char *name; /* a parameter's */
    int64_t value;
};

/* A named set of parameter values; the first is the default. */
struct tl_case {
    const char *name;
    struct tl_setting settings[16]; /* ends at the first NULL name */
};

/* The host's side of one run's data, while prepare() or golden() runs. */
struct tl_data;

/* Value of a parameter of this run. */
int64_t tl_data_param(const struct tl_data *d, const char *name);
/* Declares the next program tensor (contiguous) and returns its host memory, zeroed, to fill: prepare() only.
 * `role`: TL_IN, TL_OUT (checked against the golden) or TL_INOUT. NULL after an error. Owned by the run. */
void *tl_data_tensor(struct tl_data *d, const char *name, enum tl_direction role, enum tl_dtype dtype, unsigned rank,
                     const uint32_t *shape);
/* golden() only: the inputs as they went in (after --arg), and where to write what an output should be. */
const void *tl_data_input(const struct tl_data *d, const char *name);
void *tl_data_expected(struct tl_data *d, const char *name);
/* A generator that gives the same numbers everywhere (splitmix64): next value in [-1, 1). */
float tl_data_random(struct tl_data *d);
uint64_t tl_data_random_u64(struct tl_data *d);

/*
 * How far one output may be from its golden: per element, relative * (|expected| + the magnitude of its row) + absolute,
 * and the rounding of its dtype (docs/guide.md has the whole rule). All 0: the defaults of the dtype.
 */
struct tl_tolerance {
    const char *output;  /* a tensor of prepare(); of one that is named here integers need not be exact either */
    float relative;      /* 0: what the dtype and `reduction` allow */
    float absolute;      /* in units of the values */
    uint32_t reduction;  /* terms that are summed up in one element; 0: 1,024 */
};

struct tl_program {
    uint32_t struct_size;      /* sizeof(struct tl_program) when compiled */
    uint32_t api_version;      /* TL_PROGRAM_API */
    const char *name;
    const char *summary;       /* one line */
    const struct tl_kernel *kernels;
    uint32_t n_kernels;
    uint32_t n_params;
    const struct tl_param *params;
    const struct tl_case *cases;
    uint32_t n_cases;          /* 0: one case "default" */
    float tolerance;           /* `relative` of every output of a float dtype; 0: the defaults */
    const struct tl_tolerance *tolerances; /* of single outputs, before `tolerance` */
    uint32_t n_tolerances;
    /* Depends on its arguments alone: host_build_graph starts an equal run from what the last one built. */
    void (*orchestrate)(struct tl_orch *o, const struct tl_program_args *in);
    int (*prepare)(struct tl_data *d);  /* declares and fills the tensors; 0 or a negative code */
    int (*golden)(struct tl_data *d);   /* writes what the outputs should be; 0 or a negative code. NULL: not known */
};

#define TL_PROGRAM_API 1u
#define TL_PROGRAM_SYMBOL "tasklens_program"
#define TL_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* At file scope: TL_PROGRAM(.name = "vector_add", .kernels = kernels, .n_kernels = TL_COUNT(kernels), ...); */
#ifdef __cplusplus
#define TL__EXPORT extern "C" __attribute__((visibility("default")))
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
