/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/pmu_columns.h"
#include "arch/descriptors.h"

/* In one cycle of 20 ns. */
#define VEC_FP16 4800
#define CUBE_INT8 300000
#define SCALAR 36
#define L0A 9600
#define GM 1300

const struct tl_pmu_set tl__pmu_a2a3[TL_PMU_EVENTS] = {
    {1,
     "ARITHMETIC_UTILIZATION",
     8,
     {BUSY_WITH("cube_fp16_busy_cycles", CUBE_FP16_OPS, CUBE_INT8 / 2),
      BUSY_WITH("cube_int8_busy_cycles", CUBE_INT8_OPS, CUBE_INT8),
      BUSY_WITH("vec_fp32_busy_cycles", VEC_FP32_OPS, VEC_FP16 / 2),
      BUSY_WITH("vec_fp16_busy_cycles", VEC_FP16_OPS, VEC_FP16),
      BUSY_WITH("vec_int32_busy_cycles", VEC_INT32_OPS, VEC_FP16 / 2),
      BUSY_WITH("vec_misc_busy_cycles", VEC_MISC_OPS, VEC_FP16), CUBE_FOPS, VEC_FOPS}},
    {2,
     "PIPE_UTILIZATION",
     8,
     {VEC_BUSY("vec_busy_cycles", VEC_FP16), CUBE_BUSY("cube_busy_cycles", CUBE_INT8),
      SCALAR_BUSY("scalar_busy_cycles", SCALAR), MTE1_BUSY("mte1_busy_cycles", L0A), MTE2_BUSY("mte2_busy_cycles", GM),
      MTE3_BUSY("mte3_busy_cycles", GM), ICACHE_MISS, ICACHE_REQ}},
    SET_MEMORY,
    SET_MEMORY_L0,
    {6, "RESOURCE_CONFLICT", 8, {VEC_CONFLICTS, QUEUES_FULL}},
    SET_MEMORY_UB,
    SET_L2_CACHE,
};
