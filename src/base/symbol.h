/* SPDX-License-Identifier: Apache-2.0 */
/* The function that an address of a shared object lies in, from the object's own symbols. Safe in a signal handler. */
#ifndef TL_BASE_SYMBOL_H
#define TL_BASE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its name, cut to `size`, and how far into it the address is. False: no function there, or not an object of this
 * machine. */
bool tl__symbol_find(const char *path, uint64_t address, char *name, size_t size, uint64_t *ret_offset);

#endif
