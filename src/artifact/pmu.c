/* SPDX-License-Identifier: Apache-2.0 */
/* Writing pmu.csv, and its reader's file. */
#include "artifact/pmu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/file_out.h"
#include "artifact/open.h"
#include "artifact/pmu_words.h"
#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"
#include "base/number.h"

/* Lines gather here; one line is at most so long as the numbers of its columns. */
#define BUFFER_BYTES ((size_t)64 << 10)
#define LINE_BYTES ((TL_PMU_FIXED + (size_t)TL_PMU_MAX_COLUMNS) * (TL_NUMBER_BYTES + 1))
_Static_assert(LINE_BYTES < BUFFER_BYTES, "a line fits");

static const char *const words[TL_PMU_FIXED] = {TL_PMU_FIXED_WORDS};

const char *tl__pmu_fixed_name(unsigned column)
{
    return words[column];
}

const char *tl__pmu_event_name(unsigned event_type)
{
    static const char *const names[] = {
        [1] = "ARITHMETIC_UTILIZATION", [2] = "PIPE_UTILIZATION", [4] = "MEMORY",   [5] = "MEMORY_L0",
        [6] = "RESOURCE_CONFLICT",      [7] = "MEMORY_UB",        [8] = "L2_CACHE",
    };

    return event_type < COUNT_OF(names) ? names[event_type] : NULL;
}

static char *put_word(char *p, const char *word, char after)
{
    const size_t n = strlen(word);

    memcpy(p, word, n);
    p[n] = after;
    return p + n + 1;
}

static char *put_header(char *p, const struct tl_pmu *pmu)
{
    for (unsigned i = 0; i < TL_PMU_EVENT_TYPE; i++)
        p = put_word(p, words[i], ',');
    for (unsigned i = 0; i < pmu->n_counters; i++)
        p = put_word(p, pmu->names[i], ',');
    return put_word(p, words[TL_PMU_EVENT_TYPE], '\n');
}

static size_t header_bytes(const struct tl_pmu *pmu)
{
    size_t n = 0;

    for (unsigned i = 0; i < TL_PMU_FIXED; i++)
        n += strlen(words[i]) + 1;
    for (unsigned i = 0; i < pmu->n_counters; i++)
        n += strlen(pmu->names[i]) + 1;
    return n + 1;
}

static char *put_number(char *p, uint64_t value)
{
    p += tl__print_u64(p, value);
    *p++ = ',';
    return p;
}

static char *put_row(char *p, const struct tl_pmu_row *r, const uint64_t *counters, unsigned n)
{
    p = put_number(p, r->thread_id);
    p = put_number(p, r->core_id);
    p += tl__print_hex(p, r->task_id, 16);
    *p++ = ',';
    p += tl__print_i64(p, r->func_id);
    *p++ = ',';
    p = put_number(p, r->core_type);
    p = put_number(p, r->total_cycles);
    for (unsigned i = 0; i < n; i++)
        p = put_number(p, counters[i]);
    p += tl__print_u64(p, r->event_type);
    *p++ = '\n';
    return p;
}

int tl__pmu_write(const char *dir, const struct tl_pmu *pmu, struct tl_error *reterr)
{
    struct tl_out out;
    size_t room;
    char *buffer, *p;
    int code;

    if (pmu->n_counters > TL_PMU_MAX_COLUMNS)
        return tl__fail(reterr, TL_EINVAL, "%s/%s: %u counters, of %u at most", dir, TL_PMU_NAME, pmu->n_counters,
                        TL_PMU_MAX_COLUMNS);
    room = header_bytes(pmu) + BUFFER_BYTES;
    buffer = p = tl__alloc(1, room);
    if (buffer == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s/%s: out of memory", dir, TL_PMU_NAME);
    code = tl__out_open_in(&out, dir, TL_PMU_NAME, reterr);
    if (code == 0) {
        p = put_header(p, pmu);
        for (uint64_t i = 0; i < pmu->n_rows; i++) {
            p = put_row(p, &pmu->rows[i], pmu->counters + i * pmu->n_counters, pmu->n_counters);
            if ((size_t)(p - buffer) > room - LINE_BYTES) {
                tl__out_bytes(&out, buffer, (size_t)(p - buffer));
                p = buffer;
            }
        }
        tl__out_bytes(&out, buffer, (size_t)(p - buffer));
        code = tl__out_commit(&out, reterr);
    }
    tl__free(buffer);
    return code;
}

/* ---- the reader's file ---- */

static int read_all(int fd, char *text, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, text + done, bytes - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? tl__code_of_errno(errno) : TL_EIO; /* 0: it has become shorter */
        done += (size_t)n;
    }
    return 0;
}

int tl__pmu_read(const char *path, struct tl_pmu *ret_pmu, struct tl_error *reterr)
{
    int fd = tl__open_to_read(path), err = errno, code;
    struct stat st;
    char *text;

    if (fd < 0)
        return tl__fail(reterr, tl__code_of_errno(err), "%s: cannot open: %s", path, strerror(err));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(fd);
        return tl__fail(reterr, TL_EIO, "%s: not a regular file", path);
    }
    text = tl__alloc(1, (size_t)st.st_size + 1);
    code = text == NULL ? TL_ENOMEM : read_all(fd, text, (size_t)st.st_size);
    (void)close(fd);
    if (code != 0)
        code = tl__fail(reterr, code, "%s: cannot read: %s", path, tl_strerror(code));
    else
        code = tl__pmu_parse(text, (size_t)st.st_size, path, ret_pmu, reterr);
    tl__free(text);
    return code;
}

uint64_t tl__pmu_keep_run(struct tl_pmu *pmu, uint32_t run_epoch)
{
    const size_t n = pmu->n_counters;
    uint64_t kept = 0;

    for (uint64_t i = 0; i < pmu->n_rows; i++) {
        if (pmu->rows[i].run_epoch != run_epoch)
            continue;
        pmu->rows[kept] = pmu->rows[i];
        if (n > 0)
            memmove(pmu->counters + kept * n, pmu->counters + i * n, n * sizeof(*pmu->counters));
        kept++;
    }
    pmu->n_rows = kept;
    if (kept > 0)
        pmu->first_epoch = pmu->last_epoch = run_epoch;
    return kept;
}

void tl__pmu_fini(struct tl_pmu *pmu)
{
    for (uint32_t i = 0; i < pmu->n_counters && pmu->names != NULL; i++)
        tl__free(pmu->names[i]);
    tl__free(pmu->names);
    tl__free(pmu->rows);
    tl__free(pmu->counters);
    *pmu = (struct tl_pmu){0};
}
