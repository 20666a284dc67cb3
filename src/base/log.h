/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines. The library never prints: it hands whole lines to a sink that the program sets (none by default).
 * Thread-safe; a line is at most 1,000 bytes, cut with "..." beyond. Each message says what, where and what to do.
 */
#ifndef TL_BASE_LOG_H
#define TL_BASE_LOG_H

enum tl_log_level { TL_LOG_DEBUG, TL_LOG_INFO, TL_LOG_WARN, TL_LOG_ERROR };

typedef void (*tl_log_sink)(void *ctx, enum tl_log_level level, const char *line);

/* Set before threads exist. `ctx` is handed back. Several threads may call the sink at once. NULL: silent. */
void tl__log_set_sink(tl_log_sink sink, void *ctx);

void tl__log(enum tl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define tl_log_debug(...) tl__log(TL_LOG_DEBUG, __VA_ARGS__)
#define tl_log_info(...) tl__log(TL_LOG_INFO, __VA_ARGS__)
#define tl_log_warn(...) tl__log(TL_LOG_WARN, __VA_ARGS__)
#define tl_log_error(...) tl__log(TL_LOG_ERROR, __VA_ARGS__)

#endif
