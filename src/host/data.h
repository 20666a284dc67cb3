/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run's data on the host: what prepare() declares and fills, what golden() expects. One thread at a time.
 */
#ifndef TL_HOST_DATA_H
#define TL_HOST_DATA_H

#include <tasklens/program.h>
#include <tasklens/worker.h>

/* `values`: of the program's parameters, copied. 0, TL_ENOMEM. The program outlives the data. */
int tl__data_create(const struct tl_program *program, const int64_t *values, struct tl_data **ret_data,
                    struct tl_error *reterr);
/* NULL: does nothing. */
void tl__data_destroy(struct tl_data *d);

/* Calls prepare(). The message names the program, and the tensor where one is at fault. TL_ECRASH: it crashed, and the
 * process's heap may be corrupt: print a message and end the process without cleaning up. One such call at a time. */
int tl__data_prepare(struct tl_data *d, struct tl_error *reterr);
/* Replaces an input (or inout) by a .npy file of exactly its dtype and shape: --arg. After prepare, before remember. */
int tl__data_replace(struct tl_data *d, const char *name, const char *path, struct tl_error *reterr);
/* Keeps a copy of the INOUT tensors, for golden() and reset. Call it once, when all inputs are set. */
int tl__data_remember(struct tl_data *d, struct tl_error *reterr);
/* Restores the data to the kept copy, for the next round. */
void tl__data_reset(struct tl_data *d);
/* Calls golden() (after remember). 0; TL_ENOENT without a message: the program has none; or golden's failure, TL_ECRASH
 * as with prepare. */
int tl__data_golden(struct tl_data *d, struct tl_error *reterr);

uint32_t tl__data_count(const struct tl_data *d);
/* For tl_worker_submit; the data's, valid until destroyed. */
const struct tl_host_tensor *tl__data_tensors(const struct tl_data *d);
uint64_t tl__data_bytes(const struct tl_data *d, uint32_t i);
/* What golden() wrote for tensor i; NULL if it did not ask for it. */
const void *tl__data_expected_of(const struct tl_data *d, uint32_t i);

#endif
