/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens recover: the artifacts of a run whose host was killed, from its journal. */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "collect/engine.h"
#include "cmd.h"
#include "opts.h"
#include "viewers.h"

#define COMMAND "recover"

static void to_stderr(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    if (level >= TL_LOG_WARN)
        (void)fprintf(stderr, "tasklens recover: %s\n", line);
}

/* A directory of several runs is not one of them: names one below that can be recovered. */
static int fail_without_journal(const char *dir, const struct tl_error *err)
{
    char below[4200];
    glob_t found;
    int code;

    if ((size_t)snprintf(below, sizeof(below), "%s/*/run.journal", dir) >= sizeof(below) ||
        glob(below, 0, NULL, &found) != 0)
        return tl__cmd_fail(COMMAND, "%s", err->msg);
    *strrchr(found.gl_pathv[0], '/') = '\0';
    code = tl__cmd_fail(COMMAND, "%s, but one in %s: `tasklens recover %s`", err->msg, found.gl_pathv[0],
                        found.gl_pathv[0]);
    globfree(&found);
    return code;
}

/* Payload that came before its records did, and what makes the next run lose less. */
static void print_unrecorded(const struct tl_recover_result *r)
{
    if (r->unrecorded_bytes == 0)
        return;
    printf("given up   %" PRIu64
           " bytes of payload had reached args.bin, and their records had not: they are nobody's\n",
           r->unrecorded_bytes);
    if (r->records_per_buffer > 1)
        printf("           records come by the buffer, when its %" PRIu32 " are full; `--dfx-set records=%" PRIu32
               "` has them come sooner\n",
               r->records_per_buffer, r->records_per_buffer > 16 ? r->records_per_buffer / 16 : 1);
}

static void print_complete(const struct tl_recover_result *r)
{
    if (!r->again) {
        printf("complete   there is no journal, and the recording is whole: nothing to recover\n");
        return;
    }
    printf("recovered  before, %" PRIu64 " records and %" PRIu64 " bytes of payload of a run that was cut short; there "
           "is no journal any more: nothing to recover\n",
           r->records, r->payload_bytes);
    if (r->payloads_missing != 0)
        printf("missing    %" PRIu64 " payloads are not, or not whole, in args.bin\n", r->payloads_missing);
}

static void print_rebuilt(const struct tl_recover_result *r)
{
    printf("recovered  %" PRIu64 " records in %" PRIu64 " buffers, %" PRIu64 " bytes of payload\n", r->records,
           r->buffers, r->payload_bytes);
    if (r->corrupt)
        printf("damaged    %" PRIu64 " bytes at the journal's end do not agree with their checksums\n", r->torn_bytes);
    else if (r->torn_bytes != 0)
        printf("torn       %" PRIu64 " bytes at the journal's end belong to a buffer that was not written whole\n",
               r->torn_bytes);
    if (r->payloads_missing != 0)
        printf("missing    %" PRIu64 " payloads are not, or not whole, in args.bin\n", r->payloads_missing);
    if (r->earlier)
        printf("kept       the recording of an earlier run: this one was killed before it recorded anything\n");
}

static void report(const struct tl_recover_result *result, const char *dir)
{
    const char *names[TL_VIEWERS_MAX];
    size_t n = tl__viewer_names(tl__viewers_of(dir), names);
    char word[8192];

    if (result->complete)
        print_complete(result);
    else
        print_rebuilt(result);
    print_unrecorded(result);
    for (size_t i = 0; i < n; i++)
        printf("%-10s tasklens %s %s\n", i == 0 ? "next" : "", names[i], tl__viewer_word(dir, word, sizeof(word)));
    printf("%s\n", dir);
}

/* Whether something is missing of what the run had announced: of a run that had written its payloads, and no record of
 * them came, all is. */
static bool incomplete(const struct tl_recover_result *r)
{
    return r->payloads_missing != 0 || r->corrupt || (r->unrecorded_bytes != 0 && r->payload_bytes == 0);
}

static int recover_main(int argc, char **argv)
{
    const struct tl_opts opts = {
        .command = COMMAND,
        .synopsis = "DIR",
        .about = "Rebuilds the recording of a run that was killed from the journal in its directory.",
        .after = "Exit codes: 0 everything that reached the host is there, or was already; 2 no journal and no\n"
                 "recording, or not readable; 4 rebuilt, but damaged, or something that was announced is missing.",
        .max_words = 1,
    };
    struct tl_recover_result result = {0};
    struct tl_error err;
    const char *dir;
    size_t n;
    int rc = tl__opts_parse(&opts, argc, argv, &dir, &n);

    if (rc != TL_OPTS_GO_ON)
        return rc;
    if (n == 0)
        return tl__cmd_fail(COMMAND, "which directory? It holds a run.journal");
    tl__log_set_sink(to_stderr, NULL);
    rc = tl__engine_recover(dir, &result, &err);
    if (rc == TL_ENOENT)
        return fail_without_journal(dir, &err);
    if (rc != 0)
        return tl__cmd_fail(COMMAND, "%s", err.msg);
    report(&result, dir);
    rc = tl__cmd_finish(COMMAND);
    return rc == TL_EXIT_OK && incomplete(&result) ? TL_EXIT_INCOMPLETE : rc;
}

const struct tl_cmd tl__cmd_recover = {COMMAND, "Rebuild the recording of a run that was killed", recover_main};
