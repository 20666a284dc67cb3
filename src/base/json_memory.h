/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for yajl, which does not look whether it got any. All that one feed can ask for is set aside before it: when
 * the system has no more, yajl goes on in what was set aside, up to its next callback, and `failed` is set. One thread.
 */
#ifndef TL_BASE_JSON_MEMORY_H
#define TL_BASE_JSON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <yajl_common.h>

#define TL_JSON_MEMORY_SMALL 512u

struct tl_json_memory {
    yajl_alloc_funcs funcs; /* for yajl_alloc */
    bool failed;            /* something is in what was set aside: stop */
    size_t largest;         /* block so far */
    size_t small_used;
    struct tl_json_spare {
        char *at;
        size_t bytes;
        bool used;
    } spare[2];                                                 /* yajl has two buffers that grow */
    _Alignas(max_align_t) char small[8 * TL_JSON_MEMORY_SMALL]; /* its objects, its stack, an error's text */
};

void tl__json_memory_init(struct tl_json_memory *m);
/* Sets aside what a feed of `count` bytes can ask for. 0, or TL_ENOMEM. */
int tl__json_memory_ready(struct tl_json_memory *m, size_t count);
/* After yajl_free. */
void tl__json_memory_fini(struct tl_json_memory *m);

#endif
