/* SPDX-License-Identifier: Apache-2.0 */
/* The last build of host_build_graph, kept for a run of the same definition (docs/adr/0003-an-image-is-kept.md). */
#ifndef TL_DEVICE_IMAGE_H
#define TL_DEVICE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct tl_device;
struct tl_graph;

/* What is kept of a build; its slots are in ring 0. */
struct tl_image {
    void *definition; /* what it was built from; NULL: nothing is kept */
    struct tl_graph *graph;
    uint64_t submitted, retired_early;
};

/* Whether the launch is of what the kept image was built from. */
bool tl__image_fits(const struct tl_device *d);
/* Keeps what ring 0 holds, and takes `graph` over. After a run that went well. */
void tl__image_keep(struct tl_device *d, struct tl_graph *graph);
/* Forgets it: before its slots become something else, and after a run that failed. */
void tl__image_drop(struct tl_device *d);
/* In place of the orchestration: every slot as it was before the first task ran, linked, ready ones queued. */
void tl__image_start(struct tl_device *d);

#endif
