/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "artifact/dfx_meta.h"
#include "base/env.h"
#include "base/format.h"
#include "base/safe_text.h"
#include "base/task_id.h"
#include "run/run_verdict.h"
#include "viewers.h"

/* Begins a line: a name in a column that is as wide as the widest output's. */
static void label(const struct tl_run_session *s, const char *name)
{
    const struct tl_host_tensor *tensors = tl__data_tensors(s->data);
    char shown[TL_SHOWN_BYTES];
    size_t width = 10;

    for (uint32_t i = 0; i < tl__data_count(s->data); i++) {
        size_t n = strlen(tl__safe(shown, sizeof(shown), TL_SAFE_NAME, tensors[i].name));

        if (tensors[i].role != TL_IN && n > width)
            width = n;
    }
    printf("  %-*s ", (int)width, tl__safe(shown, sizeof(shown), TL_SAFE_NAME, name));
}

/* "1.23 ms" */
static const char *duration(uint64_t ns, char *text, size_t size)
{
    if (ns < 1000000)
        (void)snprintf(text, size, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        (void)snprintf(text, size, "%.2f ms", (double)ns / 1e6);
    else
        (void)snprintf(text, size, "%.2f s", (double)ns / 1e9);
    return text;
}

static const char *amount(uint64_t bytes, char *text, size_t size)
{
    if (bytes < 10000)
        (void)snprintf(text, size, "%" PRIu64 " bytes", bytes);
    else if (bytes < 10000000)
        (void)snprintf(text, size, "%.1f KB", (double)bytes / 1e3);
    else if (bytes < UINT64_C(10000000000))
        (void)snprintf(text, size, "%.1f MB", (double)bytes / 1e6);
    else
        (void)snprintf(text, size, "%.2f GB", (double)bytes / 1e9);
    return text;
}

/* What was lost, by cause. */
static void print_losses(const struct tl_run_session *s, const struct tl_run_result *r)
{
    static const char *const causes[TL_LOSS_COUNT] = {[TL_LOSS_HOST_DEAD] = "the host did not answer",
                                                      [TL_LOSS_NO_BUFFER] = "no buffer",
                                                      [TL_LOSS_DISK] = "disk",
                                                      [TL_LOSS_CORRUPT] = "a lane is corrupt"};

    for (unsigned i = 0; i < TL_LOSS_COUNT; i++) {
        if (r->records_dropped[i] == 0)
            continue;
        label(s, "lost");
        printf("%" PRIu64 " of %" PRIu64 " records: %s\n", r->records_dropped[i], r->records_attempted,
               causes[i] != NULL ? causes[i] : "the device was gone");
    }
    if (r->payloads_lost != 0) {
        label(s, "lost");
        printf("payloads of %" PRIu64 " records\n", r->payloads_lost);
    }
}

/* Names the tensors that were cut, and the way to keep them whole. */
static void print_truncated(const struct tl_run_session *s, const char *dir, const struct tl_run_result *r)
{
    struct tl_meta *meta;
    char whole[32], kept[32], task[TL_TASK_BYTES];

    if (r->payloads_truncated == 0)
        return;
    label(s, "truncated");
    printf("%" PRIu64 " payload%s larger than the arena; --dump-oversize chunk keeps them whole\n",
           r->payloads_truncated, r->payloads_truncated == 1 ? "" : "s");
    meta = tl__alloc(1, sizeof(*meta));
    if (meta != NULL && tl__meta_read(dir, meta, NULL) == 0)
        for (uint32_t i = 0; i < meta->truncated_listed && i < TL_META_MAX_TRUNCATED; i++) {
            label(s, "");
            printf("task %s argument %u: %s of %s\n",
                   tl__task_text(task, tl__meta_layout(meta), meta->truncated[i].task_id), meta->truncated[i].arg_index,
                   amount(meta->truncated[i].kept_bytes, kept, sizeof(kept)),
                   amount(meta->truncated[i].bytes, whole, sizeof(whole)));
        }
    tl__free(meta);
}

static void print_recording(const struct tl_run_session *s, const char *dir, const struct tl_run_result *r)
{
    uint64_t lost = r->payloads_lost;
    char text[32];

    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        lost += r->records_dropped[i];
    label(s, "recorded");
    printf("%" PRIu64 " record%s, %s of payload%s\n", r->records_collected, r->records_collected == 1 ? "" : "s",
           amount(r->payload_bytes, text, sizeof(text)),
           lost == 0 && r->payloads_truncated == 0 && r->record_code == 0 ? ", nothing lost" : "");
    print_losses(s, r);
    print_truncated(s, dir, r);
}

/* ---- The whole ---- */

void tl__report_head(const struct tl_run_session *s)
{
    char program[TL_SHOWN_BYTES], case_name[TL_SHOWN_BYTES];

    printf("%s, case %s, on %s with %s, chip in a %s\n",
           tl__safe(program, sizeof(program), TL_SAFE_NAME, s->program->name),
           tl__safe(case_name, sizeof(case_name), TL_SAFE_NAME, s->case_name), s->o.worker.platform,
           s->o.config.runtime, s->o.worker.mode == TL_DEVICE_THREAD ? "thread" : "process of its own");
}

void tl__report_round(struct tl_run_session *s, int64_t round, const char *dir, const struct tl_run_result *result)
{
    locale_t before = tl__plain_begin(); /* the program may have set one */
    char text[32];
    bool recorded;

    if (s->heading[0] != '\0')
        printf("%s\n", s->heading);
    else if (s->o.rounds > 1)
        printf("round %" PRId64 "\n", round);
    label(s, "tasks");
    printf("%" PRIu64 " retired in %s", result->tasks, duration(result->wall_ns, text, sizeof(text)));
    if (result->allocations > 0)
        printf(", beside %" PRIu64 " allocation%s", result->allocations, result->allocations == 1 ? "" : "s");
    if (result->parked_ns > 0)
        printf(", of which %s waiting for the recording", duration(result->parked_ns, text, sizeof(text)));
    printf("\n");
    recorded = s->o.recording && result->artifacts[0] != '\0'; /* else it lies outside the window */
    if (result->run_code == 0)
        tl__verdicts(s, recorded ? dir : NULL, label);
    if (recorded)
        print_recording(s, dir, result);
    if (result->artifacts[0] != '\0')
        s->viewers |= tl__viewers_of(dir);
    tl__plain_end(before);
}

void tl__report_tail(const struct tl_run_session *s)
{
    const char *names[TL_VIEWERS_MAX];
    size_t n = tl__viewer_names(s->viewers, names);
    char word[2 * sizeof(s->dir)];

    if (s->dir[0] == '\0')
        return;
    for (size_t i = 0; i < n; i++) {
        label(s, i == 0 ? "next" : "");
        printf("tasklens %s %s\n", names[i], tl__viewer_word(s->dir, word, sizeof(word)));
    }
    printf("%s\n", s->dir);
}
