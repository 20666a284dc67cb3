/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"

#include <stddef.h>
#include <string.h>

#include "arch/descriptors.h"
#include "base/count_of.h"

static const struct tl_arch *const table[] = {&tl__arch_a2a3, &tl__arch_a5};

const struct tl_arch *tl__arch_at(unsigned i)
{
    return i < COUNT_OF(table) ? table[i] : NULL;
}

const struct tl_arch *tl__arch_find(const char *name)
{
    const struct tl_arch *arch;

    for (unsigned i = 0; (arch = tl__arch_at(i)) != NULL; i++)
        if (strcmp(arch->name, name) == 0)
            return arch;
    return NULL;
}
