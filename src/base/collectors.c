/* SPDX-License-Identifier: Apache-2.0 */
#include "base/collectors.h"

#include <stddef.h>

#define ROW(id, words_, option_, argument_, bare_, max_, help_, file_, viewers, streams)                               \
    [TL_COLLECT_##id] = {.words = (words_),                                                                            \
                         .option = (option_),                                                                          \
                         .argument = (argument_),                                                                      \
                         .help = (help_),                                                                              \
                         .file = (file_),                                                                              \
                         .bare = (bare_),                                                                              \
                         .max = (max_)},
#define STREAM(id, number, collector_, name, role_, from_)                                                             \
    [TL_STREAM_##id] = {.collector = TL_COLLECT_##collector_, .writer = TL_WRITER_##role_, .from = (from_)},

const struct tl_collect_row tl__collect_rows[TL_COLLECT_COUNT] = {
    TL__COLLECTORS(ROW, TL__COLLECT_NONE, TL__COLLECT_NONE)};
const struct tl_stream_row tl__stream_rows[TL_STREAM_COUNT] = {
    TL__COLLECTORS(TL__STREAMS_ONLY, TL__COLLECT_NONE, STREAM)};

int32_t tl__stream_level(const int32_t levels[TL_COLLECT_SLOTS], unsigned stream)
{
    const struct tl_stream_row *row = &tl__stream_rows[stream];

    return levels[row->collector] >= row->from ? levels[row->collector] : 0;
}

uint32_t tl__streams_on(const int32_t levels[TL_COLLECT_SLOTS], enum tl_stream_writer writer)
{
    uint32_t streams = 0;

    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        if (tl__stream_rows[i].writer == writer && tl__stream_level(levels, i) != 0)
            streams |= 1u << i;
    return streams;
}

int tl__levels_first(const int32_t levels[TL_COLLECT_SLOTS])
{
    for (int i = 0; i < TL_COLLECT_COUNT; i++)
        if (levels[i] != 0)
            return i;
    return -1;
}

int tl__levels_wrong(const int32_t levels[TL_COLLECT_SLOTS])
{
    for (int i = 0; i < TL_COLLECT_SLOTS; i++)
        if (levels[i] < 0 || levels[i] > (i < TL_COLLECT_COUNT ? tl__collect_rows[i].max : 0))
            return i;
    return -1;
}
