/* SPDX-License-Identifier: Apache-2.0 */
/* The integers of one run: a program's defaults, then its case's, then the user's. */
#ifndef TL_HOST_PARAMS_H
#define TL_HOST_PARAMS_H

#include <tasklens/program.h>

#define TL_MAX_PARAMS 64u

/* What the user asked for: "--set name=value". Strings are the caller's. */
struct tl_param_request {
    const char *case_name; /* NULL: the first */
    const struct tl_setting *settings;
    uint32_t n_settings;
};

/* Fills values[0..program->n_params). *ret_case: the case's name, static or the program's. TL_ENOENT: no such case or
 * parameter (the message lists them); TL_ERANGE: outside its limits. */
int tl__params_resolve(const struct tl_program *program, const struct tl_param_request *request, int64_t *values,
                       const char **ret_case, struct tl_error *reterr);

#endif
