/* SPDX-License-Identifier: Apache-2.0 */
/* What the file of a shared object says about it. Safe in a signal handler. */
#ifndef TL_BASE_SYMBOL_H
#define TL_BASE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function that an address of the object lies in, by its own symbols: its name, cut to `size`, and how far into it
 * the address is. False: no function there, or not an object of this machine. */
bool tl__symbol_find(const char *path, uint64_t address, char *name, size_t size, uint64_t *ret_offset);
/* Whether it needs a library whose name begins with `prefix`, which goes to `name`, cut to `size`. */
bool tl__symbol_needs(const char *path, const char *prefix, char *name, size_t size);

#endif
