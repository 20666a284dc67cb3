/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_memory.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <tasklens/error.h>

#include "base/env.h"

#define BUFFER_BYTES ((size_t)2048) /* yajl's buffers begin with this and double */

/* In front of each block. */
struct head {
    _Alignas(max_align_t) size_t bytes;
    struct tl_json_spare *spare; /* that it is in */
    bool heap;
};

static struct head *head_of(void *block)
{
    return (struct head *)block - 1;
}

/* From what was set aside; NULL would be a request that tl__json_memory_ready does not count with. */
static struct head *take_spare(struct tl_json_memory *m, size_t bytes)
{
    struct head *head;

    m->failed = true;
    if (bytes <= TL_JSON_MEMORY_SMALL && sizeof(m->small) - m->small_used >= bytes) {
        head = (struct head *)(void *)(m->small + m->small_used);
        m->small_used += (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
        *head = (struct head){0};
        return head;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (m->spare[i].used || m->spare[i].bytes < bytes)
            continue;
        m->spare[i].used = true;
        head = (struct head *)(void *)m->spare[i].at;
        *head = (struct head){.spare = &m->spare[i]};
        return head;
    }
    assert(false && "yajl asked for more than a feed can need");
    return NULL;
}

static void give_back(struct head *head)
{
    if (head->heap)
        tl__free(head);
    else if (head->spare != NULL)
        head->spare->used = false;
}

static void *on_alloc(void *ctx, size_t bytes)
{
    struct tl_json_memory *m = ctx;
    size_t whole = bytes + sizeof(struct head);
    struct head *head = m->failed ? NULL : tl__realloc(NULL, whole);

    if (head != NULL)
        *head = (struct head){.heap = true};
    else
        head = take_spare(m, whole);
    if (head == NULL)
        return NULL;
    head->bytes = bytes;
    m->largest = bytes > m->largest ? bytes : m->largest;
    return head + 1;
}

static void on_free(void *ctx, void *block)
{
    (void)ctx;
    if (block != NULL)
        give_back(head_of(block));
}

static void *on_realloc(void *ctx, void *block, size_t bytes)
{
    struct head *head = block != NULL ? head_of(block) : NULL;
    void *grown;

    if (head != NULL && head->spare != NULL && bytes + sizeof(*head) <= head->spare->bytes) {
        head->bytes = bytes;
        return block;
    }
    grown = on_alloc(ctx, bytes);
    if (grown == NULL || head == NULL)
        return grown;
    memcpy(grown, block, head->bytes < bytes ? head->bytes : bytes);
    give_back(head);
    return grown;
}

void tl__json_memory_init(struct tl_json_memory *m)
{
    memset(m, 0, sizeof(*m));
    m->funcs = (yajl_alloc_funcs){.malloc = on_alloc, .realloc = on_realloc, .free = on_free, .ctx = m};
    m->largest = BUFFER_BYTES;
}

int tl__json_memory_ready(struct tl_json_memory *m, size_t count)
{
    size_t bytes;

    if (m->failed || count > SIZE_MAX / 8 || m->largest > SIZE_MAX / 8)
        return TL_ENOMEM;
    /* A token that began in earlier feeds is in one buffer and is decoded into the other; sizes double. */
    bytes = 2 * (m->largest + count + 1) + sizeof(struct head);
    for (unsigned i = 0; i < 2; i++) {
        char *grown = m->spare[i].bytes < bytes ? tl__realloc(m->spare[i].at, 2 * bytes) : m->spare[i].at;

        if (grown == NULL)
            return TL_ENOMEM;
        m->spare[i].bytes = m->spare[i].bytes < bytes ? 2 * bytes : m->spare[i].bytes;
        m->spare[i].at = grown;
    }
    return 0;
}

void tl__json_memory_fini(struct tl_json_memory *m)
{
    tl__free(m->spare[0].at);
    tl__free(m->spare[1].at);
}
