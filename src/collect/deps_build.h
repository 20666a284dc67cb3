/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a recording in the form of its file, task by task. One thread. */
#ifndef TL_COLLECT_DEPS_BUILD_H
#define TL_COLLECT_DEPS_BUILD_H

#include "artifact/deps.h"
#include "collect/deps_replay.h"

#define TL_DEPS_MAX_EDGES (UINT64_C(1) << 24)

/* A buffer's address in one of its lives. A ring hands an address out again, and its versions go on: what was
 * version 2 of an address and what is made there next are never the same tensor. */
struct tl_deps_place {
    uint64_t addr, owner;
    uint32_t base, top; /* the owner's version 0 and the last one seen, of the address's */
    bool used;
};

struct tl_deps_builder {
    TL_VEC(struct tl_deps_task) tasks;
    TL_VEC(struct tl_deps_arg) args;
    TL_VEC(uint64_t) buffers; /* by arg: its buffer's address */
    TL_VEC(struct tl_deps_tensor) tensors;
    TL_VEC(struct tl_deps_edge) edges, filtered;
    TL_VEC(uint32_t) by_local[TL_DEPS_RINGS]; /* position in tasks */
    struct tl_deps_place *places;             /* open addressing, by address; powers of two */
    uint32_t *by_tensor;                      /* likewise, by tensor id: 1 + position in tensors */
    size_t n_places, place_slots, tensor_slots;
};

/* All zero is an empty one. */
void tl__deps_build_fini(struct tl_deps_builder *b);
/* Adds the next task and its edges. TL_ENOMEM; TL_ERANGE: more edges than TL_DEPS_MAX_EDGES. */
int tl__deps_build_add(struct tl_deps_builder *b, const struct tl_deps_submit *s, const struct tl_deps_found *found,
                       size_t n_found);
/* A tl_deps_lookup; ctx is the builder. */
bool tl__deps_build_lookup(void *ctx, uint64_t task, uint64_t buffer, uint32_t hash, struct tl_region *ret_region);
/* The builder's memory, as what the writer takes. */
struct tl_deps tl__deps_build_view(const struct tl_deps_builder *b);

#endif
