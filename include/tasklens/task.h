/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orchestration's side: argument lists, marks for the dump, scopes, submission.
 *
 * Threads: everything here is called from the orchestration function's own thread.
 * Errors: an orchestration is straight-line code, so nothing here returns a code. The first error is kept in the
 * orchestrator (tl_orch_error), later submits do nothing, and the run fails with it.
 */
#ifndef TASKLENS_TASK_H
#define TASKLENS_TASK_H

#include <tasklens/kernel.h>

#ifdef __cplusplus
#include <type_traits>
extern "C" {
#endif

struct tl_orch; /* the orchestrator of this run; the runtime's, valid while orchestrate() runs */

typedef uint64_t tl_task_id; /* ring << 32 | local */

struct tl_scalar_arg {
    uint64_t bits;   /* raw value, low bytes first */
    const void *key; /* address of the lvalue: what tl_dump() matches */
    uint8_t dtype;   /* enum tl_dtype */
    uint8_t flags;   /* TL_TASK_ARG_* */
};

struct tl_tensor_arg {
    struct tl_tensor tensor; /* copied when added */
    struct tl_tensor *out;   /* runtime-allocated output: where submit writes the allocated tensor; else NULL */
    const void *key;         /* address of the lvalue: what tl_dump() matches */
    uint8_t direction;       /* enum tl_direction */
    uint8_t flags;           /* TL_TASK_ARG_* */
};

#define TL_TASK_ARG_MARKED 1u    /* selected by tl_dump */
#define TL_TASK_ARG_AMBIGUOUS 2u /* the mark matched several arguments; this is the first */

/* One task's arguments. Reusable after submit by assigning TL_TASK_ARGS_INIT again. The caller's memory. */
struct tl_task_args {
    uint32_t n_tensors, n_scalars;
    uint32_t block_num; /* SPMD blocks; 0 means 1 */
    uint32_t n_deps;
    const tl_task_id *deps; /* borrowed until submit returns */
    int error;              /* first error of an add or a mark; reported at submit */
    int32_t error_index;    /* the argument it belongs to */
    bool dump_all;          /* tl_dump(&args) */
    struct tl_tensor_arg tensors[TL_MAX_TENSORS];
    struct tl_scalar_arg scalars[TL_MAX_SCALARS];
};
/* Only the counts need a value; entries beyond them are never read. */
/* clang-format off */
#ifdef __cplusplus
#define TL_TASK_ARGS_INIT {}
#else
#define TL_TASK_ARGS_INIT { 0 }
#endif
/* clang-format on */

/* An argument that the task writes may share no element with another one, unless that is a no_dep; submit refuses it. */
void tl_add_input(struct tl_task_args *args, const struct tl_tensor *t);
void tl_add_inout(struct tl_task_args *args, const struct tl_tensor *t);
/* `t->buffer == 0`: the runtime allocates at submit and writes the result to *t, which must live until then.
 * Otherwise the task writes the existing buffer without reading it (OUTPUT_EXISTING). */
void tl_add_output(struct tl_task_args *args, struct tl_tensor *t);
/* Passed to the kernel; takes part in no dependency. */
void tl_add_no_dep(struct tl_task_args *args, const struct tl_tensor *t);
/* The task also waits for these tasks, any number. The array is borrowed until submit returns. */
void tl_set_dependencies(struct tl_task_args *args, const tl_task_id *ids, uint32_t count);
/* The task runs as `block_num` blocks, each with its own block_idx, on as many cores (or clusters) as are free. */
void tl_set_block_num(struct tl_task_args *args, uint32_t block_num);

void tl__add_scalar(struct tl_task_args *args, const void *lvalue, size_t size, enum tl_dtype dtype);
void tl__dump_tensor(struct tl_task_args *args, const struct tl_tensor *t);
void tl__dump_scalar(struct tl_task_args *args, const void *lvalue);
void tl__dump_task(struct tl_task_args *args);

/* A scalar of a dtype that C has no type for, e.g. TL_BFLOAT16 in a uint16_t. */
#define tl_add_scalar_as(args, lvalue, dtype) tl__add_scalar((args), &(lvalue), sizeof(lvalue), (dtype))

#ifndef __cplusplus
/* Passed for a dtype, this does not compile, and its name is the message. */
struct scalar_must_be_float_bool_or_a_fixed_width_integer_not_double_or_pointer {
    char unused;
};
struct mark_takes_the_tensor_itself_not_a_pointer_or_an_array {
    char unused;
};
/* clang-format off */
#define TL__SCALAR_DTYPE(x)                                                                                            \
    _Generic((x), float: TL_FLOAT32, int8_t: TL_INT8, int16_t: TL_INT16, int32_t: TL_INT32, int64_t: TL_INT64,         \
             long long: TL_INT64, uint8_t: TL_UINT8, uint16_t: TL_UINT16, uint32_t: TL_UINT32, uint64_t: TL_UINT64,    \
             unsigned long long: TL_UINT64, bool: TL_BOOL,                                                             \
             default: (struct scalar_must_be_float_bool_or_a_fixed_width_integer_not_double_or_pointer){0})
/* tl_add_scalar(&args, scale): `scale` must be an lvalue of float, bool, an enum or a fixed-width integer. */
#define tl_add_scalar(args, lvalue) tl__add_scalar((args), &(lvalue), sizeof(lvalue), TL__SCALAR_DTYPE(lvalue))

/* A pointer to a tensor, or an array of tensors, does not compile: the mark is for the tensor itself. */
#define TL__DUMP_ONE(args, x)                                                                                          \
    _Generic((x), struct tl_tensor: tl__dump_tensor,                                                                   \
             struct tl_tensor *: (struct mark_takes_the_tensor_itself_not_a_pointer_or_an_array){0},                   \
             const struct tl_tensor *: (struct mark_takes_the_tensor_itself_not_a_pointer_or_an_array){0},             \
             default: tl__dump_scalar)((args), (const void *)&(x))
#else
extern "C++" {
template <typename T, bool is_enum = std::is_enum<T>::value>
struct tl__scalar; /* undefined for double, pointers, ...: does not compile */
template <typename T> struct tl__scalar<const T, false> : tl__scalar<T> {};
template <typename T> struct tl__scalar<T, true> : tl__scalar<typename std::underlying_type<T>::type> {};
template <> struct tl__scalar<float, false> { static const tl_dtype dtype = TL_FLOAT32; };
template <> struct tl__scalar<bool, false> { static const tl_dtype dtype = TL_BOOL; };
template <> struct tl__scalar<signed char, false> { static const tl_dtype dtype = TL_INT8; };
template <> struct tl__scalar<short, false> { static const tl_dtype dtype = TL_INT16; };
template <> struct tl__scalar<int, false> { static const tl_dtype dtype = TL_INT32; };
template <> struct tl__scalar<long, false> { static const tl_dtype dtype = sizeof(long) == 8 ? TL_INT64 : TL_INT32; };
template <> struct tl__scalar<long long, false> { static const tl_dtype dtype = TL_INT64; };
template <> struct tl__scalar<unsigned char, false> { static const tl_dtype dtype = TL_UINT8; };
template <> struct tl__scalar<unsigned short, false> { static const tl_dtype dtype = TL_UINT16; };
template <> struct tl__scalar<unsigned, false> { static const tl_dtype dtype = TL_UINT32; };
template <> struct tl__scalar<unsigned long, false> { static const tl_dtype dtype = sizeof(long) == 8 ? TL_UINT64 : TL_UINT32; };
template <> struct tl__scalar<unsigned long long, false> { static const tl_dtype dtype = TL_UINT64; };
template <typename T> inline void tl_add_scalar(tl_task_args *args, T &lvalue)
{
    tl__add_scalar(args, &lvalue, sizeof lvalue, tl__scalar<T>::dtype);
}
/* By address, so that a tensor is one however it is qualified or derived, and a temporary does not compile. A pointer
 * to a tensor and an array of them are refused here: the mark is for the tensor itself. */
inline void tl__dump_any(tl_task_args *args, const tl_tensor *t) { tl__dump_tensor(args, t); }
inline void tl__dump_any(tl_task_args *args, const void *lvalue) { tl__dump_scalar(args, lvalue); }
void tl__dump_any(tl_task_args *args, const tl_tensor *const *marks_take_the_tensor_not_a_pointer) = delete;
template <size_t N> void tl__dump_any(tl_task_args *args, tl_tensor (*marks_take_one_tensor_not_an_array)[N]) = delete;
template <size_t N>
void tl__dump_any(tl_task_args *args, const tl_tensor (*marks_take_one_tensor_not_an_array)[N]) = delete;
}
#define TL__DUMP_ONE(args, x) tl__dump_any((args), &(x))
#endif

/*
 * tl_dump(&args, x, z, scale) selects up to 16 arguments of this task for the dump, by the lvalues that were added.
 * tl_dump(&args) selects all. Temporaries do not compile. Nothing is captured here: the level decides at run time.
 */
#define tl_dump(...)                                                                                                   \
    TL__DUMP_PICK(__VA_ARGS__, TL__D16, TL__D15, TL__D14, TL__D13, TL__D12, TL__D11, TL__D10, TL__D9, TL__D8, TL__D7,   \
                  TL__D6, TL__D5, TL__D4, TL__D3, TL__D2, TL__D1, TL__D0, unused)(__VA_ARGS__)
/* clang-format on */
#define TL__DUMP_PICK(a, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15, b16, name, ...) name
#define TL__D0(args) tl__dump_task(args)
#define TL__D1(args, a) TL__DUMP_ONE(args, a)
#define TL__D2(args, a, ...) (TL__DUMP_ONE(args, a), TL__D1(args, __VA_ARGS__))
#define TL__D3(args, a, ...) (TL__DUMP_ONE(args, a), TL__D2(args, __VA_ARGS__))
#define TL__D4(args, a, ...) (TL__DUMP_ONE(args, a), TL__D3(args, __VA_ARGS__))
#define TL__D5(args, a, ...) (TL__DUMP_ONE(args, a), TL__D4(args, __VA_ARGS__))
#define TL__D6(args, a, ...) (TL__DUMP_ONE(args, a), TL__D5(args, __VA_ARGS__))
#define TL__D7(args, a, ...) (TL__DUMP_ONE(args, a), TL__D6(args, __VA_ARGS__))
#define TL__D8(args, a, ...) (TL__DUMP_ONE(args, a), TL__D7(args, __VA_ARGS__))
#define TL__D9(args, a, ...) (TL__DUMP_ONE(args, a), TL__D8(args, __VA_ARGS__))
#define TL__D10(args, a, ...) (TL__DUMP_ONE(args, a), TL__D9(args, __VA_ARGS__))
#define TL__D11(args, a, ...) (TL__DUMP_ONE(args, a), TL__D10(args, __VA_ARGS__))
#define TL__D12(args, a, ...) (TL__DUMP_ONE(args, a), TL__D11(args, __VA_ARGS__))
#define TL__D13(args, a, ...) (TL__DUMP_ONE(args, a), TL__D12(args, __VA_ARGS__))
#define TL__D14(args, a, ...) (TL__DUMP_ONE(args, a), TL__D13(args, __VA_ARGS__))
#define TL__D15(args, a, ...) (TL__DUMP_ONE(args, a), TL__D14(args, __VA_ARGS__))
#define TL__D16(args, a, ...) (TL__DUMP_ONE(args, a), TL__D15(args, __VA_ARGS__))

/* Marks this value: every later task that takes exactly it (as INPUT or INOUT) dumps it. `t` is given its tag. */
#define tl_dump_tag(o, t) tl__dump_tag((o), (t), #t, __FILE__, __LINE__)
void tl__dump_tag(struct tl_orch *o, struct tl_tensor *t, const char *name, const char *file, int line);

/* Submission. Each returns the new task's id, or TL_NO_TASK after an error. May wait for space in a ring. */
tl_task_id tl_submit_aiv(struct tl_orch *o, int32_t func_id, const struct tl_task_args *args);
tl_task_id tl_submit_aic(struct tl_orch *o, int32_t func_id, const struct tl_task_args *args);
/* Up to three kernels that share the arguments and run together on one cluster; -1 leaves a core out. */
struct tl_mix {
    int32_t aic, aiv0, aiv1;
};
tl_task_id tl_submit_mix(struct tl_orch *o, struct tl_mix mix, const struct tl_task_args *args);
/* Allocates buffers for tensors made by tl_tensor_make, without running anything; they live until their scope ends
 * and their last consumer is done. Returns the id of the task that owns them. */
tl_task_id tl_alloc_tensors(struct tl_orch *o, struct tl_tensor *const *tensors, uint32_t count);

/* A scope holds the tasks and heap allocated in it; depth (0, 1, 2, then 3) picks the ring. Scopes nest.
 * In a manual scope the runtime derives no dependencies: only tl_set_dependencies counts. */
enum tl_scope_kind { TL_SCOPE_AUTO = 0, TL_SCOPE_MANUAL = 1 };
void tl_scope_begin(struct tl_orch *o, enum tl_scope_kind kind, const char *file, int line);
void tl_scope_end(struct tl_orch *o);
/* TL_SCOPE(o) { ... }: leave the block by its end only (no return, break or goto out of it). */
#define TL_SCOPE(o) TL__SCOPE(o, TL_SCOPE_AUTO, TL__CAT(tl__scope_, __LINE__))
#define TL_MANUAL_SCOPE(o) TL__SCOPE(o, TL_SCOPE_MANUAL, TL__CAT(tl__scope_, __LINE__))
#define TL__CAT2(a, b) a##b
#define TL__CAT(a, b) TL__CAT2(a, b)
#define TL__SCOPE(o, kind, once)                                                                                       \
    for (bool once = (tl_scope_begin((o), (kind), __FILE__, __LINE__), true); once; once = (tl_scope_end(o), false))

/* First error so far: 0 or a negative code. */
int tl_orch_error(const struct tl_orch *o);
/* Ends the run with a message of the program's own (TL_EGRAPH), e.g. for a shape it does not support. */
void tl_orch_fail(struct tl_orch *o, const char *message);

#ifdef __cplusplus
}
#endif
#endif
