/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "artifact/dfx_meta.h"
#include "base/env.h"
#include "cmd.h"
#include "host/compare.h"

_Static_assert(TL_META_MAX_VERDICTS >= TL_MAX_PROGRAM_ARGS, "a verdict for each tensor");
_Static_assert(sizeof(((struct tl_meta_verdict *)NULL)->first) == sizeof(((struct tl_comparison *)NULL)->first),
               "one list of first indices");

/* ---- for people ---- */

/* A NaN's sign says nothing. */
static void print_value(const char *before, double value)
{
    if (isnan(value))
        printf("%snan", before);
    else
        printf("%s%.9g", before, value);
}

static void print_index(unsigned rank, const uint32_t *index)
{
    printf("[");
    for (unsigned d = 0; d < rank; d++)
        printf("%s%u", d > 0 ? ", " : "", index[d]);
    printf("]");
}

static void print_difference(const struct tl_host_tensor *t, const struct tl_comparison *c)
{
    printf("%" PRIu64 " of %" PRIu64 " %s differ from the golden, first at ", c->bad, c->count,
           tl_dtype_name(t->dtype));
    print_index(t->rank, c->first[0]);
    print_value(": ", c->first_got);
    print_value(" instead of ", c->first_want);
    printf("; worst difference %.3g (allowed: %s%s)\n", c->largest, c->rule,
           c->as_a_row ? "; each element is within that, and its row as a whole is not" : "");
}

static void print_agreement(const struct tl_host_tensor *t, const struct tl_comparison *c)
{
    printf("%" PRIu64 " %s agree with the golden", c->count, tl_dtype_name(t->dtype));
    if (strcmp(c->rule, "equal") != 0)
        printf(", worst difference %.3g (allowed: %s)", c->largest, c->rule);
    printf("\n");
}

/* ---- for the recording ---- */

static void keep(struct tl_meta_verdict *v, const struct tl_host_tensor *t, const struct tl_comparison *c)
{
    memset(v, 0, sizeof(*v));
    (void)snprintf(v->output, sizeof(v->output), "%s", t->name);
    (void)snprintf(v->dtype, sizeof(v->dtype), "%s", tl_dtype_name(t->dtype));
    v->rank = t->rank;
    if (c == NULL) {
        struct tl_tensor dense = tl_tensor_make((enum tl_dtype)t->dtype, t->rank, t->shape);

        v->verdict = TL_VERDICT_NOT_CHECKED;
        v->elements = tl_tensor_numel(&dense);
        return;
    }
    v->verdict = c->bad != 0 ? TL_VERDICT_DIFFERS : TL_VERDICT_AGREES;
    v->elements = c->count;
    v->differing = c->bad;
    (void)snprintf(v->rule, sizeof(v->rule), "%s", c->rule);
    v->first_count = c->first_count;
    memcpy(v->first, c->first, sizeof(v->first));
    memcpy(v->worst, c->worst, sizeof(v->worst));
    v->worst_got = c->worst_got;
    v->worst_want = c->worst_want;
    v->worst_allowed = c->worst_allowed;
}

static void write_verdicts(struct tl_run_session *s, const char *dir, const struct tl_meta_verdict *list, uint32_t n,
                           bool differs)
{
    struct tl_meta *meta = tl__alloc(1, sizeof(*meta));
    struct tl_error err = {.msg = "out of memory"};
    int rc = meta != NULL ? tl__meta_read(dir, meta, &err) : TL_ENOMEM;

    if (rc == 0) {
        memcpy(meta->verdicts, list, n * sizeof(*list));
        meta->verdict_count = n;
        if (differs && strcmp(meta->status, "ok") == 0)
            (void)snprintf(meta->status, sizeof(meta->status), TL_META_DIFFERS);
        rc = tl__meta_write(dir, meta, &err);
    }
    tl__free(meta);
    if (rc == 0)
        return;
    (void)tl__cmd_fail("run", "the verdicts are not in the recording: %s", err.msg);
    s->incomplete = true;
}

/* ---- both ---- */

/* False: it was not checked. */
static bool check(struct tl_run_session *s, uint32_t i, struct tl_comparison *c)
{
    const struct tl_host_tensor *t = &tl__data_tensors(s->data)[i];
    const void *want = tl__data_expected_of(s->data, i);
    const struct tl_tolerance tolerance = tl__tolerance_of(s->program, t->name);

    if (want == NULL) {
        printf("not checked: %s\n", s->has_golden ? "the golden says nothing of it" : "the program has no golden");
        return false;
    }
    if (tl__compare(t->dtype, t->rank, t->shape, t->data, want, &tolerance, c) != 0) {
        printf("not checked: no memory for a row of it\n");
        s->incomplete = true;
        return false;
    }
    if (c->bad != 0)
        print_difference(t, c);
    else
        print_agreement(t, c);
    return true;
}

void tl__verdicts(struct tl_run_session *s, const char *dir,
                  void (*label)(const struct tl_run_session *s, const char *name))
{
    const struct tl_host_tensor *tensors = tl__data_tensors(s->data);
    struct tl_meta_verdict list[TL_META_MAX_VERDICTS];
    bool differs = false;
    uint32_t n = 0;

    for (uint32_t i = 0; i < tl__data_count(s->data); i++) {
        struct tl_comparison c;
        bool checked;

        if (tensors[i].role == TL_IN)
            continue;
        label(s, tensors[i].name);
        checked = check(s, i, &c);
        differs = differs || (checked && c.bad != 0);
        keep(&list[n++], &tensors[i], checked ? &c : NULL);
    }
    s->differs = s->differs || differs;
    if (dir != NULL)
        write_verdicts(s, dir, list, n, differs);
}
