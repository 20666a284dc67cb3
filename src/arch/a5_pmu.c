/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/pmu_columns.h"
#include "arch/descriptors.h"

/* In one cycle of 1 ns. */
#define VEC_FP16 256
#define CUBE_INT8 16384
#define SCALAR 2
#define L0A 512
#define GM 100
#define FIX 128

const struct tl_pmu_set tl__pmu_a5[TL_PMU_EVENTS] = {
    {1,
     "ARITHMETIC_UTILIZATION",
     10,
     {BUSY_WITH("cube_fp16_instr_busy", CUBE_FP16_OPS, CUBE_INT8 / 2),
      BUSY_WITH("cube_fp32_instr_busy", CUBE_FP32_OPS, CUBE_INT8 / 8),
      BUSY_WITH("cube_int8_instr_busy", CUBE_INT8_OPS, CUBE_INT8),
      BUSY_WITH("vec_fp32_instr_busy", VEC_FP32_OPS, VEC_FP16 / 2),
      BUSY_WITH("vec_fp16_instr_busy", VEC_FP16_OPS, VEC_FP16),
      BUSY_WITH("vec_int32_instr_busy", VEC_INT32_OPS, VEC_FP16 / 2),
      BUSY_WITH("vec_misc_instr_busy", VEC_MISC_OPS, VEC_FP16), CUBE_FOPS, VEC_FOPS,
      FIX_BUSY("pmu_fix_instr_busy", FIX)}},
    {2,
     "PIPE_UTILIZATION",
     9,
     {VEC_BUSY("pmu_idc_aic_vec_busy_o", VEC_FP16), CUBE_BUSY("cube_instr_busy", CUBE_INT8),
      SCALAR_BUSY("scalar_instr_busy", SCALAR), MTE1_BUSY("mte1_instr_busy", L0A), MTE2_BUSY("mte2_instr_busy", GM),
      MTE3_BUSY("mte3_instr_busy", GM), ICACHE_REQ, ICACHE_MISS, FIX_BUSY("pmu_fix_instr_busy", FIX)}},
    SET_MEMORY,
    SET_MEMORY_L0,
    {6, "RESOURCE_CONFLICT", 9, {VEC_CONFLICTS, QUEUES_FULL, CONFLICT("fix_iq_full_cycles")}},
    SET_MEMORY_UB,
    SET_L2_CACHE,
};
