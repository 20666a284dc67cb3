/* SPDX-License-Identifier: Apache-2.0 */
/* Who notices that a run makes no progress. */
#ifndef TL_DEVICE_HANG_WATCH_H
#define TL_DEVICE_HANG_WATCH_H

/* The watch's thread: sleeps between runs; in a run looks now and then whether anything moved, declares the hang. */
void tl__watch_main(void *arg);

#endif
