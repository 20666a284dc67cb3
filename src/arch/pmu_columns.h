/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns that chips have in common, with what differs as arguments: the name, and the throughput of a pipe in one
 * cycle of the chip's counter clock. The throughputs are round figures of the class of chip, not of a certain one.
 */
#ifndef TL_ARCH_PMU_COLUMNS_H
#define TL_ARCH_PMU_COLUMNS_H

/* clang-format off */
#define BOTH(what, weight) {TL_COUNT_##what, TL_PMU_BOTH, weight}
#define ON_AIC(what, weight) {TL_COUNT_##what, TL_PMU_AIC, weight}
#define ON_AIV(what, weight) {TL_COUNT_##what, TL_PMU_AIV, weight}

#define MODEL(name_, unit_, per_, ...) {.name = (name_), .unit = (unit_), .terms = {__VA_ARGS__}, .per = (per_)}
#define MACHINE(name_, unit_, lacking_, ...) {.name = (name_), .unit = (unit_), .machine = __VA_ARGS__, .lacking = (lacking_)}
#define LACKING(name_, unit_, lacking_) {.name = (name_), .unit = (unit_), .lacking = (lacking_)}
/* clang-format on */

#define FETCHES "only a machine's counters can count instruction fetches"
#define CACHE "only a machine's counters can count hits and misses of a cache"
#define CONFLICTS "it depends on addresses and order inside the kernel, which tl_count does not report"
#define SCALAR_BYTES "kernels do not report what the scalar unit moves"
#define ONE_PORT "a machine's cache has no second read port"

/* Pipes. A float32 or int32 operation takes two of the vector unit's float16 lanes; a conversion, comparison or copy
 * one. A float32 multiply-add takes the cube unit as long as eight int8 ones, a float16 one as long as two. */
#define VEC_BUSY(name, fp16_ops)                                                                                       \
    MODEL(name, TL_PMU_CYCLES, fp16_ops, BOTH(VEC_FP32_OPS, 2), BOTH(VEC_FP16_OPS, 1), BOTH(VEC_INT32_OPS, 2),         \
          BOTH(VEC_MISC_OPS, 1))
#define CUBE_BUSY(name, int8_ops)                                                                                      \
    MODEL(name, TL_PMU_CYCLES, int8_ops, BOTH(CUBE_FP16_OPS, 2), BOTH(CUBE_FP32_OPS, 8), BOTH(CUBE_INT8_OPS, 1))
#define SCALAR_BUSY(name, ops) MODEL(name, TL_PMU_CYCLES, ops, BOTH(SCALAR_OPS, 1))
#define MTE1_BUSY(name, l0a_bytes)                                                                                     \
    MODEL(name, TL_PMU_CYCLES, l0a_bytes, BOTH(MTE1_L0A_BYTES, 1), BOTH(MTE1_L0B_BYTES, 2))
#define MTE2_BUSY(name, bytes) MODEL(name, TL_PMU_CYCLES, bytes, BOTH(MTE2_BYTES, 1))
#define MTE3_BUSY(name, bytes) MODEL(name, TL_PMU_CYCLES, bytes, BOTH(MTE3_BYTES, 1))
#define FIX_BUSY(name, bytes) MODEL(name, TL_PMU_CYCLES, bytes, BOTH(FIX_BYTES, 1))
#define ICACHE_MISS MACHINE("icache_miss", TL_PMU_COUNT, FETCHES, {.event = "L1-ICACHE-LOAD-MISSES", .times = 1})
#define ICACHE_REQ MACHINE("icache_req", TL_PMU_COUNT, FETCHES, {.event = "L1-ICACHE-LOADS", .times = 1})

/* Arithmetic: one kind of operation on one pipe. */
#define BUSY_WITH(name, what, ops) MODEL(name, TL_PMU_CYCLES, ops, BOTH(what, 1))
#define CUBE_FOPS MODEL("cube_fops", TL_PMU_OPS, 1, BOTH(CUBE_FP16_OPS, 2), BOTH(CUBE_FP32_OPS, 2))
#define VEC_FOPS MODEL("vec_fops", TL_PMU_OPS, 1, BOTH(VEC_FP32_OPS, 1), BOTH(VEC_FP16_OPS, 1))

/* Memory. A vector operation reads two operands and writes one; a conversion, comparison or copy reads four bytes and
 * writes four. */
#define UB_READ                                                                                                        \
    MODEL("ub_read_bytes", TL_PMU_BYTES, 1, BOTH(VEC_FP32_OPS, 8), BOTH(VEC_FP16_OPS, 4), BOTH(VEC_INT32_OPS, 8),      \
          BOTH(VEC_MISC_OPS, 4), BOTH(MTE3_BYTES, 1))
#define UB_WRITE                                                                                                       \
    MODEL("ub_write_bytes", TL_PMU_BYTES, 1, BOTH(VEC_FP32_OPS, 4), BOTH(VEC_FP16_OPS, 2), BOTH(VEC_INT32_OPS, 4),     \
          BOTH(VEC_MISC_OPS, 4), ON_AIV(MTE2_BYTES, 1))
#define L1_READ MODEL("l1_read_bytes", TL_PMU_BYTES, 1, BOTH(MTE1_L0A_BYTES, 1), BOTH(MTE1_L0B_BYTES, 1))
#define L1_WRITE MODEL("l1_write_bytes", TL_PMU_BYTES, 1, ON_AIC(MTE2_BYTES, 1))
#define L2_READ MODEL("l2_read_bytes", TL_PMU_BYTES, 1, BOTH(MTE2_BYTES, 1))
#define L2_WRITE MODEL("l2_write_bytes", TL_PMU_BYTES, 1, BOTH(MTE3_BYTES, 1), BOTH(FIX_BYTES, 1))
#define MAIN_MEM_READ MACHINE("main_mem_read_bytes", TL_PMU_BYTES, CACHE, {.event = "LLC-LOAD-MISSES", .times = 64})
#define MAIN_MEM_WRITE MACHINE("main_mem_write_bytes", TL_PMU_BYTES, CACHE, {.event = "LLC-STORE-MISSES", .times = 64})

/* L0. The cube unit reads 512 bytes of A and as many of B for a block of 16 x 16 results, and reads and writes the
 * block's 1,024 bytes: 4,096 multiply-adds of float16, 2,048 of float32, 8,192 of int8. */
#define CUBE_READS(name)                                                                                               \
    MODEL(name, TL_PMU_BYTES, 16, BOTH(CUBE_FP16_OPS, 2), BOTH(CUBE_FP32_OPS, 4), BOTH(CUBE_INT8_OPS, 1))
#define CUBE_RESULTS(name)                                                                                             \
    MODEL(name, TL_PMU_BYTES, 8, BOTH(CUBE_FP16_OPS, 2), BOTH(CUBE_FP32_OPS, 4), BOTH(CUBE_INT8_OPS, 1))
#define L0A_READ CUBE_READS("l0a_read_bytes")
#define L0A_WRITE MODEL("l0a_write_bytes", TL_PMU_BYTES, 1, BOTH(MTE1_L0A_BYTES, 1))
#define L0B_READ CUBE_READS("l0b_read_bytes")
#define L0B_WRITE MODEL("l0b_write_bytes", TL_PMU_BYTES, 1, BOTH(MTE1_L0B_BYTES, 1))
#define L0C_READ_CUBE CUBE_RESULTS("l0c_read_bytes_cube")
#define L0C_WRITE_CUBE CUBE_RESULTS("l0c_write_bytes_cube")
#define L0C_READ_FIX MODEL("l0c_read_bytes_fix", TL_PMU_BYTES, 1, BOTH(FIX_BYTES, 1))

/* Conflicts. */
#define CONFLICT(name) LACKING(name, TL_PMU_CYCLES, CONFLICTS)
#define VEC_RESC_CFLT                                                                                                  \
    MACHINE("vec_resc_cflt_cycles", TL_PMU_CYCLES, CONFLICTS, {.event = "STALLED-CYCLES-BACKEND", .times = 0})

/* UB by the unit that moves the bytes. */
#define UB_READ_VEC                                                                                                    \
    MODEL("ub_read_bytes_vec", TL_PMU_BYTES, 1, BOTH(VEC_FP32_OPS, 8), BOTH(VEC_FP16_OPS, 4), BOTH(VEC_INT32_OPS, 8),  \
          BOTH(VEC_MISC_OPS, 4))
#define UB_WRITE_VEC                                                                                                   \
    MODEL("ub_write_bytes_vec", TL_PMU_BYTES, 1, BOTH(VEC_FP32_OPS, 4), BOTH(VEC_FP16_OPS, 2), BOTH(VEC_INT32_OPS, 4), \
          BOTH(VEC_MISC_OPS, 4))
#define UB_READ_MTE MODEL("ub_read_bytes_mte", TL_PMU_BYTES, 1, BOTH(MTE3_BYTES, 1))
#define UB_WRITE_MTE MODEL("ub_write_bytes_mte", TL_PMU_BYTES, 1, ON_AIV(MTE2_BYTES, 1))
#define UB_READ_SCALAR LACKING("ub_read_bytes_scalar", TL_PMU_BYTES, SCALAR_BYTES)
#define UB_WRITE_SCALAR LACKING("ub_write_bytes_scalar", TL_PMU_BYTES, SCALAR_BYTES)

/* L2. */
#define WRITE_HIT                                                                                                      \
    MACHINE("write_cache_hit", TL_PMU_COUNT, CACHE, {.event = "LLC-STORES", .less = "LLC-STORE-MISSES", .times = 1})
#define WRITE_MISS MACHINE("write_cache_miss_allocate", TL_PMU_COUNT, CACHE, {.event = "LLC-STORE-MISSES", .times = 1})
#define R0_HIT                                                                                                         \
    MACHINE("r0_read_cache_hit", TL_PMU_COUNT, CACHE, {.event = "LLC-LOADS", .less = "LLC-LOAD-MISSES", .times = 1})
#define R0_MISS MACHINE("r0_read_cache_miss_allocate", TL_PMU_COUNT, CACHE, {.event = "LLC-LOAD-MISSES", .times = 1})
#define R1_HIT LACKING("r1_read_cache_hit", TL_PMU_COUNT, ONE_PORT)
#define R1_MISS LACKING("r1_read_cache_miss_allocate", TL_PMU_COUNT, ONE_PORT)

/* Sets that chips have in common. */
/* clang-format off */
#define SET_MEMORY                                                                                                     \
    {4, "MEMORY", 8, {UB_READ, UB_WRITE, L1_READ, L1_WRITE, L2_READ, L2_WRITE, MAIN_MEM_READ, MAIN_MEM_WRITE}}
#define SET_MEMORY_L0                                                                                                  \
    {5, "MEMORY_L0", 7, {L0A_READ, L0A_WRITE, L0B_READ, L0B_WRITE, L0C_READ_CUBE, L0C_WRITE_CUBE, L0C_READ_FIX}}
#define SET_MEMORY_UB                                                                                                  \
    {7, "MEMORY_UB", 6, {UB_READ_VEC, UB_WRITE_VEC, UB_READ_MTE, UB_WRITE_MTE, UB_READ_SCALAR, UB_WRITE_SCALAR}}
#define SET_L2_CACHE {8, "L2_CACHE", 6, {WRITE_HIT, WRITE_MISS, R0_HIT, R0_MISS, R1_HIT, R1_MISS}}
/* The conflicts that every chip counts. */
#define VEC_CONFLICTS CONFLICT("vec_bankgroup_cflt_cycles"), CONFLICT("vec_bank_cflt_cycles"), VEC_RESC_CFLT
#define QUEUES_FULL                                                                                                    \
    CONFLICT("mte1_iq_full_cycles"), CONFLICT("mte2_iq_full_cycles"), CONFLICT("mte3_iq_full_cycles"),                 \
        CONFLICT("cube_iq_full_cycles"), CONFLICT("vec_iq_full_cycles")
/* clang-format on */

#endif
