/* SPDX-License-Identifier: Apache-2.0 */
/* What the table of assets that cmake/web.cmake makes is written with. For it and web.c alone. */
#ifndef TL_ANALYSIS_WEB_TABLE_H
#define TL_ANALYSIS_WEB_TABLE_H

#include "analysis/web/web.h"

extern const struct tl_web_asset tl__web_assets[];
extern const unsigned tl__web_asset_count;

/* clang-format off */
/* The bytes of a file as tl__web_bytes_N up to tl__web_end_N; a zero byte behind them, so that a text is a string. */
#define TL_WEB_BYTES(number, path)                                                                                     \
    __asm__(".pushsection .rodata\n"                                                                                    \
            ".balign 16\n"                                                                                             \
            ".hidden tl__web_bytes_" #number "\n.globl tl__web_bytes_" #number "\ntl__web_bytes_" #number ":\n"        \
            ".incbin \"" path "\"\n"                                                                                   \
            ".hidden tl__web_end_" #number "\n.globl tl__web_end_" #number "\ntl__web_end_" #number ":\n"              \
            ".byte 0\n"                                                                                                \
            ".popsection");                                                                                            \
    extern const char tl__web_bytes_##number[], tl__web_end_##number[];
/* clang-format on */
#define TL_WEB_ROW(number, asset)                                                                                      \
    {                                                                                                                  \
        .name = (asset), .bytes = tl__web_bytes_##number, .end = tl__web_end_##number                                  \
    }

#endif
