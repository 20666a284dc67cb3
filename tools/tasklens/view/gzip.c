/* SPDX-License-Identifier: Apache-2.0 */
#include "view/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"

#define LEVEL 6
#define WINDOW_AND_GZIP (15 + 16) /* the largest window; a gzip header, as zlib's manual has it */
#define MEMORY 8

struct tl_gzip {
    z_stream stream;
    struct tl_out *out;
    unsigned char block[64 << 10];
};

bool tl__gzip_named(const char *path)
{
    static const char end[] = ".json.gz";
    size_t n = strlen(path);

    return n >= sizeof(end) - 1 && strcmp(path + n - (sizeof(end) - 1), end) == 0;
}

static int press(struct tl_gzip *g, const void *bytes, size_t count, int how)
{
    g->stream.next_in = (unsigned char *)(uintptr_t)bytes;
    g->stream.avail_in = (uInt)count;
    do {
        g->stream.next_out = g->block;
        g->stream.avail_out = sizeof(g->block);
        if (deflate(&g->stream, how) == Z_STREAM_ERROR)
            return TL_EINVAL;
        tl__out_bytes(g->out, g->block, sizeof(g->block) - g->stream.avail_out);
    } while (g->stream.avail_out == 0 && g->out->error == 0);
    return g->out->error;
}

/* The JSON's buffer comes in parts far below 4 GB. */
static int take(void *ctx, const void *bytes, size_t count)
{
    return press(ctx, bytes, count, Z_NO_FLUSH);
}

struct tl_gzip *tl__gzip_begin(struct tl_out *out)
{
    struct tl_gzip *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return NULL;
    g->out = out;
    if (deflateInit2(&g->stream, LEVEL, Z_DEFLATED, WINDOW_AND_GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        return NULL;
    }
    tl__json_init(&out->json, take, g);
    return g;
}

int tl__gzip_end(struct tl_gzip *g)
{
    int code;

    if (g == NULL)
        return 0;
    if (g->out->json.depth > 0 && g->out->json.error == 0)
        g->out->json.error = TL_EINVAL; /* it was given up in the middle */
    code = tl__json_finish(&g->out->json);
    if (code == 0)
        code = press(g, NULL, 0, Z_FINISH);
    (void)deflateEnd(&g->stream);
    free(g);
    return code;
}
