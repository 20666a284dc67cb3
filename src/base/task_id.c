/* SPDX-License-Identifier: Apache-2.0 */
#include "base/task_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tasklens/error.h>

#include "base/number.h"

const char *tl__task_text(char *to, uint64_t task_id)
{
    size_t n = 0;

    to[n++] = 'r';
    n += tl__print_u64(to + n, task_id >> 32);
    to[n++] = 't';
    n += tl__print_u64(to + n, task_id & UINT32_MAX);
    to[n] = '\0';
    return to;
}

/* All digits of `base` from `text` on, up to *ret_end; -1 if there is none or 64 bits cannot hold it. */
static int digits(const char *text, int base, const char **ret_end, uint64_t *ret_value)
{
    const char *set = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
    size_t n = strspn(text, set);

    errno = 0;
    *ret_value = strtoull(text, NULL, base);
    *ret_end = text + n;
    return n > 0 && errno == 0 ? 0 : -1;
}

int tl__task_parse(const char *text, uint64_t *ret_task_id)
{
    uint64_t ring, local;
    const char *end;

    if (text[0] == 'r' || text[0] == 'R') {
        if (digits(text + 1, 10, &end, &ring) != 0 || (*end != 't' && *end != 'T') ||
            digits(end + 1, 10, &end, &local) != 0 || *end != 0 || ring > UINT32_MAX || local > UINT32_MAX)
            return TL_EPARSE;
        *ret_task_id = ring << 32 | local;
        return 0;
    }
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        if (digits(text + 2, 16, &end, &local) != 0 || *end != 0)
            return TL_EPARSE;
    } else if (digits(text, 10, &end, &local) != 0 || *end != 0) {
        return TL_EPARSE;
    }
    *ret_task_id = local;
    return 0;
}
