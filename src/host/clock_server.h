/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the reference rank's host for its clock: a Unix-domain socket in ROOT/.clock, a directory of the job's owner
 * (mode 0700), served by a thread of that host. Both ends check that the other is of the same user (SO_PEERCRED); a
 * peer has a bounded number of questions and a bounded time. It reaches processes of one machine, in whatever container
 * they are; across machines the wall clocks are compared.
 */
#ifndef TL_HOST_CLOCK_SERVER_H
#define TL_HOST_CLOCK_SERVER_H

#include "artifact/rank_clock.h"

struct tl_clock_server;

/* Starts to answer. TL_EIO (also: ROOT/.clock is there and is not this user's alone), TL_ENOMEM. */
int tl__clock_server_start(const char *root, struct tl_clock_server **ret_server, struct tl_error *reterr);
/* Ends within a few tenths of a second, whatever the clients do. NULL: does nothing. */
void tl__clock_server_stop(struct tl_clock_server *server);

/* Asks until it has enough answers, or until `patience_ns` from now. Waits as long for a server that does not exist
 * yet. answers 0: there was none. */
void tl__clock_ask(const char *root, uint64_t patience_ns, struct tl_clock_reading *ret_reading);
/* Host, kernel and both clocks of this process; all else 0. */
void tl__clock_self(struct tl_rank_clock *ret_clock);

#endif
