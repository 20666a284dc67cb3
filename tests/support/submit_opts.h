/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a run in one line: tl_worker_run(w, l, SUBMIT_OPTS(tensors, 2, params, 1, &config), &result, &err). */
#ifndef TL_TESTS_SUBMIT_OPTS_H
#define TL_TESTS_SUBMIT_OPTS_H

#include <tasklens/worker.h>

/* Lives until the end of the block that it stands in. */
#define SUBMIT_OPTS(tensors_, n_tensors_, params_, n_params_, config_)                                                 \
    (&(const struct tl_submit_opts){.struct_size = sizeof(struct tl_submit_opts),                                      \
                                    .tensors = (tensors_),                                                             \
                                    .n_tensors = (n_tensors_),                                                         \
                                    .params = (params_),                                                               \
                                    .n_params = (n_params_),                                                           \
                                    .config = (config_)})

#endif
