/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON file that is compressed while it is written: gzip, which viewers of traces open as it is. */
#ifndef TL_TOOLS_GZIP_H
#define TL_TOOLS_GZIP_H

#include <stdbool.h>

#include "artifact/file_out.h"

struct tl_gzip;

/* "*.json.gz" */
bool tl__gzip_named(const char *path);
/* Takes over out->json of a file that has just been opened. NULL: out of memory. */
struct tl_gzip *tl__gzip_begin(struct tl_out *out);
/* Ends the JSON and the compressed stream; the file is still to be committed, or aborted. NULL does nothing. 0 or the
 * first error. */
int tl__gzip_end(struct tl_gzip *gzip);

#endif
