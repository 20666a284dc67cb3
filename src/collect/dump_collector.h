/* SPDX-License-Identifier: Apache-2.0 */
/* The args dump's records on their way from the device's form to the manifest's. */
#ifndef TL_COLLECT_DUMP_COLLECTOR_H
#define TL_COLLECT_DUMP_COLLECTOR_H

#include <tasklens/recording.h>

#include "wire/dump_record.h"

/* `bin`: where its payload went, TL_BIN_NONE or TL_BIN_LOST(cause). */
void tl__dump_of_wire(const struct tl_wire_dump_record *w, uint64_t bin, struct tl_dump_record *r);
/* The payload that was due is gone. */
void tl__dump_lose(struct tl_dump_record *r, unsigned cause);

#endif
