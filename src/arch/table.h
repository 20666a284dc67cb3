/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors, one file each. */
#ifndef TL_ARCH_TABLE_H
#define TL_ARCH_TABLE_H

#include "arch/arch.h"

extern const struct tl_arch tl__arch_a2a3;
extern const struct tl_arch tl__arch_a5;

#endif
