/* SPDX-License-Identifier: Apache-2.0 */
/* Output of one of many processes on one terminal: whole lines, each beginning with whose it is. */
#ifndef TL_TOOLS_PREFIX_H
#define TL_TOOLS_PREFIX_H

/* From now on each line that this process prints on stdout and stderr by stdio begins with `prefix` (copied), and is
 * written in one piece. Once, before anything is printed. Without memory for it the output stays as it was. */
void tl__prefix_output(const char *prefix);

#endif
