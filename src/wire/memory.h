/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory as the device sees it. A device address is an offset plus TL_DEV_BASE, the same number on both sides
 * and never a pointer; here the device turns it into a pointer of its own mapping. The host has no such function: it
 * reaches device memory through a transport (collect/transport.h) alone.
 */
#ifndef TL_WIRE_MEMORY_H
#define TL_WIRE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Far from any mapping a process gets, so that an address taken for a pointer faults. 0 is never valid. */
#define TL_DEV_BASE UINT64_C(0xD000000000000000)
/* Every device allocation starts at a multiple of this. */
#define TL_DEV_ALIGN UINT64_C(1024)

struct tl_devmem {
    uint8_t *base; /* this process's mapping of the chip's memory; valid as long as the chip */
    uint64_t bytes;
};

/* Pointer to [addr, addr + bytes), or NULL if any of it is outside. */
static inline void *tl__dev_ptr(const struct tl_devmem *mem, uint64_t addr, uint64_t bytes)
{
    uint64_t offset = addr - TL_DEV_BASE;

    if (addr < TL_DEV_BASE || offset > mem->bytes || bytes > mem->bytes - offset)
        return NULL;
    return mem->base + offset;
}

/*
 * What a block is for. Blocks of one run are taken from the lowest address up, so that runs use the same pages again;
 * blocks that are kept from run to run are taken from the highest address down. Mixed, they would leave gaps that later
 * blocks do not fit into, and each run would touch new pages.
 */
enum tl_memory_use { TL_MEMORY_RUN, TL_MEMORY_KEPT };

#endif
