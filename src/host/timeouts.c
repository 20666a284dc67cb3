/* SPDX-License-Identifier: Apache-2.0 */
#include "host/timeouts.h"

#include <string.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/number.h"

#define LONGEST_MS UINT64_C(4294967295) /* max of the device's field */

static const char *from_process(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

/* An integer of at least 1 and at most `max`. */
static bool parse(const char *text, uint64_t max, uint64_t *ret_value)
{
    uint64_t value;

    if (!tl__read_u64(text, strlen(text), &value) || value < 1 || value > max)
        return false;
    *ret_value = value;
    return true;
}

/* Reads one variable in both spellings over *value. */
static void override(const char *name, uint64_t max, tl_getenv_fn get, void *ctx, uint64_t *value)
{
    char ours[64], theirs[64];
    const char *text, *other, *used = ours;

    (void)snprintf(ours, sizeof(ours), "TASKLENS_%s", name);
    (void)snprintf(theirs, sizeof(theirs), "SIMPLER_%s", name);
    text = get(ctx, ours);
    other = get(ctx, theirs);
    if (text != NULL && other != NULL) {
        tl_log_info("%s and %s are both set: %s counts", ours, theirs, ours);
    } else if (text == NULL) {
        text = other;
        used = theirs;
    }
    if (text != NULL && !parse(text, max, value))
        tl_log_warn("%s=%s is ignored: it must be an integer from 1 to %" PRIu64, used, text, max);
}

/* Checks the order for a real chip. Returns the rule that is broken, or NULL. */
static const char *broken_rule(const struct tl_timeouts *t)
{
    if (t->scheduler_ms * 1000 >= t->op_execute_us)
        return "the scheduler timeout must be below the op-execute timeout";
    if (t->op_execute_us >= t->stream_sync_ms * 1000)
        return "the op-execute timeout must be below the stream-sync timeout";
    if (t->scheduler_ms + TL_ARMING_GUARD_MS > t->stream_sync_ms)
        return "the stream-sync timeout must cover the scheduler timeout and 1500 ms of start-up";
    return NULL;
}

struct tl_timeouts tl__timeouts_read(bool real_chip, tl_getenv_fn get, void *ctx)
{
    const struct tl_timeouts defaults = TL_TIMEOUTS_DEFAULT;
    struct tl_timeouts t = defaults;
    const char *rule;

    if (get == NULL)
        get = from_process;
    override("SCHEDULER_TIMEOUT_MS", LONGEST_MS, get, ctx, &t.scheduler_ms);
    override("OP_EXECUTE_TIMEOUT_US", LONGEST_MS * 1000, get, ctx, &t.op_execute_us);
    override("STREAM_SYNC_TIMEOUT_MS", LONGEST_MS, get, ctx, &t.stream_sync_ms);
    rule = real_chip ? broken_rule(&t) : NULL;
    if (rule != NULL) {
        tl_log_warn("the timeouts of the environment are ignored: %s", rule);
        return defaults;
    }
    return t;
}
