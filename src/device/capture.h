/* SPDX-License-Identifier: Apache-2.0 */
/* The args dump of one scheduler: its settings, and the progress of its capture. */
#ifndef TL_DEVICE_CAPTURE_H
#define TL_DEVICE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct tl_slot;

/* The progress of a capture, so that a parked one continues where it stopped. */
struct tl_capture {
    struct tl_slot *slot; /* NULL: none */
    uint8_t stage;        /* enum tl_wire_stage */
    bool partial;         /* the task still runs: a hang was declared */
    uint32_t next;        /* next argument: tensors, then scalars */
    uint64_t piece_done;  /* bytes of the current oversize payload already streamed */
    uint32_t piece;
    struct tl_hash hash; /* of a payload in pieces */
};

/* The args dump of one scheduler. */
struct tl_probe {
    struct tl_capture capture;
    uint8_t level;
    bool hash, chunk;
};

#endif
