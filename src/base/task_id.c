/* SPDX-License-Identifier: Apache-2.0 */
#include "base/task_id.h"

#include <stdlib.h>
#include <string.h>

#include <tasklens/error.h>

#include "base/number.h"

#define SPACE_SHIFT 62
#define PARENT_SHIFT 32
#define PARENT_MAX UINT64_C(0xfffff)

enum tl_task_layout tl__task_layout_of(const char *runtime)
{
    return strcmp(runtime, "host_build_graph") == 0 ? TL_TASK_SPACES : TL_TASK_RINGS;
}

/* "t3", "g5t3", "p2"; bits that no space has are shown as a number. */
static size_t spaces(char *to, uint64_t task_id)
{
    uint64_t parent = task_id >> PARENT_SHIFT & PARENT_MAX, local = task_id & UINT32_MAX;
    unsigned space = (unsigned)(task_id >> SPACE_SHIFT);
    size_t n = 0;

    if (space == 3 || (task_id >> 52 & 0x3ff) != 0 || (space != 1 && parent != 0))
        return tl__print_u64(to, task_id);
    if (space == 1) {
        to[n++] = 'g';
        n += tl__print_u64(to + n, parent);
    }
    to[n++] = space == 2 ? 'p' : 't';
    return n + tl__print_u64(to + n, local);
}

const char *tl__task_text(char *to, enum tl_task_layout layout, uint64_t task_id)
{
    size_t n = 0;

    if (layout == TL_TASK_SPACES) {
        to[spaces(to, task_id)] = '\0';
        return to;
    }
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

    *ret_end = text + n;
    for (; base == 16 && n > 16 && *text == '0'; n--)
        text++;
    return (base == 16 ? tl__read_hex(text, n, ret_value) : tl__read_u64(text, n, ret_value)) ? 0 : -1;
}

static int parse_spaces(const char *text, uint64_t *ret_task_id)
{
    uint64_t space = 0, parent = 0, local;
    const char *end = text;
    char letter = text[0] | 0x20;

    if (letter == 'g') {
        space = 1;
        if (digits(text + 1, 10, &end, &parent) != 0 || (*end | 0x20) != 't' || parent > PARENT_MAX)
            return TL_EPARSE;
    } else if (letter == 'p') {
        space = 2;
    }
    if (digits(end + 1, 10, &end, &local) != 0 || *end != 0 || local > UINT32_MAX)
        return TL_EPARSE;
    *ret_task_id = space << SPACE_SHIFT | parent << PARENT_SHIFT | local;
    return 0;
}

int tl__task_parse(const char *text, uint64_t *ret_task_id)
{
    uint64_t ring, local;
    const char *end;

    if (text[0] != '\0' && strchr("tTgGpP", text[0]) != NULL)
        return parse_spaces(text, ret_task_id);

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
