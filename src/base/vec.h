/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable array of any type:
 *
 *     TL_VEC(const char *) v = {0};           a variable, or a field of a struct
 *     if (tl_vec_push(&v, item) < 0) ...
 *     for (size_t i = 0; i < v.count; i++) use(v.items[i]);
 *     tl_vec_fini(&v);
 *
 * All zero is an empty array. Growing doubles, and moves the items; a growth that fails leaves all as it was. The
 * array owns its memory, not what its items point to.
 */
#ifndef TL_BASE_VEC_H
#define TL_BASE_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "base/error.h"

#define TL_VEC(type)                                                                                                   \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        size_t count, capacity;                                                                                        \
    }

/* New memory for at least `count` items of `bytes`, or NULL with nothing changed. */
static inline void *tl__vec_grow(void *items, size_t *capacity, size_t count, size_t bytes)
{
    size_t larger = *capacity < 8 ? 8 : *capacity;
    void *moved;

    while (larger < count)
        if (__builtin_mul_overflow(larger, (size_t)2, &larger))
            return NULL;
    if (larger > SIZE_MAX / 2 / bytes)
        return NULL;
    moved = tl__realloc(items, larger * bytes);
    if (moved != NULL)
        *capacity = larger;
    return moved;
}

/* Room for `n` items in all: 0 or TL_ENOMEM. */
#define tl_vec_reserve(v, n)                                                                                           \
    __extension__({                                                                                                    \
        __typeof__(v) v_ = (v);                                                                                        \
        size_t n_ = (n);                                                                                               \
        int rc_ = 0;                                                                                                   \
        if (n_ > v_->capacity) {                                                                                       \
            void *moved_ = tl__vec_grow(v_->items, &v_->capacity, n_, sizeof(*v_->items));                             \
            if (moved_ == NULL)                                                                                        \
                rc_ = TL_ENOMEM;                                                                                       \
            else                                                                                                       \
                v_->items = moved_;                                                                                    \
        }                                                                                                              \
        rc_;                                                                                                           \
    })

/* Copies `item` to the end: 0 or TL_ENOMEM. */
#define tl_vec_push(v, item)                                                                                           \
    __extension__({                                                                                                    \
        __typeof__(v) p_ = (v);                                                                                        \
        int pushed_ = tl_vec_reserve(p_, p_->count + 1);                                                               \
        if (pushed_ == 0)                                                                                              \
            p_->items[p_->count++] = (item);                                                                           \
        pushed_;                                                                                                       \
    })

/* Frees the memory; the array is empty and usable again. */
#define tl_vec_fini(v)                                                                                                 \
    do {                                                                                                               \
        __typeof__(v) v_ = (v);                                                                                        \
        tl__free(v_->items);                                                                                           \
        v_->items = NULL;                                                                                              \
        v_->count = v_->capacity = 0;                                                                                  \
    } while (0)

#endif
