/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/element.h"

#include <tasklens/tensor.h>

#include "base/number.h"

size_t tl__float_text(char *to, unsigned dtype, float value)
{
    static const struct tl_float_type f16 = {11, -24}, bf16 = {8, -133}, e4m3 = {4, -9};
    const struct tl_float_type *type = dtype == TL_FLOAT16     ? &f16
                                       : dtype == TL_BFLOAT16  ? &bf16
                                       : dtype == TL_FP8E4M3FN ? &e4m3
                                                               : &tl__float32;

    return tl__print_float(to, value, type);
}
