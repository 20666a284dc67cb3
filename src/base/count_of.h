/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TL_BASE_COUNT_OF_H
#define TL_BASE_COUNT_OF_H

/* Elements of an array. Not of a pointer: gcc and clang warn of that (-Wsizeof-pointer-div). */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
