/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault "withhold_stores" of the controlled environment: a core's stores to its outputs stay in a private copy
 * until its barrier, as they may on a chip. Without the barrier before FIN they reach memory only afterwards, so that a
 * missing barrier fails a test on a machine whose own stores are never seen late. Only in that preset.
 */
#ifndef TL_DEVICE_WITHHOLD_H
#define TL_DEVICE_WITHHOLD_H

#include "device/core.h"

#ifdef TASKLENS_CONTROLLED
void tl__withhold_begin(const struct tl_core_role *core, const struct tl_task_payload *p, void **data);
void tl__withhold_flush(const struct tl_core_role *core);
/* After FIN: what no barrier flushed reaches memory now. */
void tl__withhold_late(const struct tl_core_role *core);
#else
#define tl__withhold_begin(core, p, data) ((void)0)
#define tl__withhold_flush(core) ((void)0)
#define tl__withhold_late(core) ((void)0)
#endif

#endif
