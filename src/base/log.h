/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines, for the sink that the program has set: <tasklens/log.h>. Thread-safe. Each message says what, where and
 * what to do.
 */
#ifndef TL_BASE_LOG_H
#define TL_BASE_LOG_H

#include <tasklens/log.h>

void tl__log(enum tl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define tl_log_debug(...) tl__log(TL_LOG_DEBUG, __VA_ARGS__)
#define tl_log_info(...) tl__log(TL_LOG_INFO, __VA_ARGS__)
#define tl_log_warn(...) tl__log(TL_LOG_WARN, __VA_ARGS__)
#define tl_log_error(...) tl__log(TL_LOG_ERROR, __VA_ARGS__)

#endif
