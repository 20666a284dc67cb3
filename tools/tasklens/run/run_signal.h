/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C and SIGTERM while a run is recorded: the one moment to say that what it has is kept. The main thread's. */
#ifndef TL_TOOLS_RUN_SIGNAL_H
#define TL_TOOLS_RUN_SIGNAL_H

/* From here on such a signal is a line on stderr that names `tasklens recover DIR`, and then what it would have been.
 * A signal that was ignored before stays so. Copied; for one that is too long there is no line. */
void tl__signal_tells(const char *dir);
/* And from here on there is no line any more. */
void tl__signal_tells_nothing(void);
/* The directory of that line while there is one; else "". Safe in a signal handler. */
const char *tl__signal_recording(void);
/* Writes the line to stderr if there is one. Safe in a signal handler. */
void tl__signal_tell(void);

#endif
