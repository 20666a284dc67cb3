/* SPDX-License-Identifier: Apache-2.0 */
#include "host/params.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define CASE_SETTINGS_MAX (sizeof(((struct tl_case *)0)->settings) / sizeof(struct tl_setting))

/* Appends ", name"; text that does not fit is left out. */
static void append(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);

    (void)snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

static const struct tl_case *find_case(const struct tl_program *program, const char *name)
{
    assert(program->n_cases == 0 || program->cases != NULL); /* checked by the loader */
    for (uint32_t i = 0; i < program->n_cases; i++)
        if (strcmp(program->cases[i].name, name) == 0)
            return &program->cases[i];
    return NULL;
}

static int no_case(const struct tl_program *program, const char *name, struct tl_error *reterr)
{
    char known[700] = "";

    for (uint32_t i = 0; i < program->n_cases; i++)
        append(known, sizeof(known), program->cases[i].name);
    return tl__fail(reterr, TL_ENOENT, "%s has no case \"%s\"; its cases: %s", program->name, name,
                    known[0] != '\0' ? known : "default");
}

static int apply(const struct tl_program *program, const struct tl_setting *setting, int64_t *values,
                 struct tl_error *reterr)
{
    char known[700] = "";

    for (uint32_t i = 0; i < program->n_params; i++) {
        const struct tl_param *p = &program->params[i];

        if (strcmp(p->name, setting->name) == 0) {
            if (setting->value < p->min || setting->value > p->max)
                return tl__fail(reterr, TL_ERANGE, "%s of %s must be %" PRId64 " to %" PRId64 ", not %" PRId64, p->name,
                                program->name, p->min, p->max, setting->value);
            values[i] = setting->value;
            return 0;
        }
        append(known, sizeof(known), p->name);
    }
    return tl__fail(reterr, TL_ENOENT, "%s has no parameter \"%s\"; it has %s", program->name, setting->name,
                    known[0] != '\0' ? known : "none");
}

int tl__params_resolve(const struct tl_program *program, const struct tl_param_request *request, int64_t *values,
                       const char **ret_case, struct tl_error *reterr)
{
    const struct tl_case *chosen = program->n_cases > 0 ? &program->cases[0] : NULL;
    int rc = 0;

    if (request->case_name != NULL && (chosen != NULL || strcmp(request->case_name, "default") != 0)) {
        chosen = find_case(program, request->case_name);
        if (chosen == NULL)
            return no_case(program, request->case_name, reterr);
    }
    for (uint32_t i = 0; i < program->n_params; i++)
        values[i] = program->params[i].value;
    for (size_t i = 0; chosen != NULL && rc == 0 && i < CASE_SETTINGS_MAX && chosen->settings[i].name != NULL; i++)
        rc = apply(program, &chosen->settings[i], values, reterr);
    for (uint32_t i = 0; rc == 0 && i < request->n_settings; i++)
        rc = apply(program, &request->settings[i], values, reterr);
    if (rc == 0)
        *ret_case = chosen != NULL ? chosen->name : "default";
    return rc;
}
