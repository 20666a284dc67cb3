/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tasklens/recording.h>

#include "analysis/dump_entry.h"
#include "analysis/dump_export.h"
#include "analysis/dump_list.h"
#include "analysis/dump_verify.h"
#include "artifact/args_dump.h"
#include "artifact/file_out.h"
#include "base/error.h"
#include "cmd.h"
#include "find.h"
#include "opts.h"
#include "output.h"
#include "progress.h"

#define NAME "dump"

enum export_form { EXPORT_TXT, EXPORT_NPY };
static const char *const export_words[] = {[EXPORT_TXT] = "txt", [EXPORT_NPY] = "npy", NULL};

struct dump {
    struct tl_dump_filter filter;
    int64_t arg, index;
    int export_form;
    bool export, json, verify, no_values;
    const char *word; /* as given; NULL: none */
    struct tl_rank_pick which;
    /* What was opened. */
    struct tl_found found;
    struct tl_recording *recording;
    struct tl_dump_pick pick;
};

static int set_task(void *target, const char *value, char *ret_problem, size_t bytes)
{
    struct tl_dump_filter *filter = target;

    if (tl__task_parse(value, &filter->task_id) == 0) {
        filter->by_task = true;
        return 0;
    }
    (void)snprintf(ret_problem, bytes, "a task is 0x..., a number or r<ring>t<local>, not \"%s\"", value);
    return -1;
}

static int set_stage(void *target, const char *value, char *ret_problem, size_t bytes)
{
    struct tl_dump_filter *filter = target;

    filter->stage = tl__stage_parse(value);
    if (filter->stage < 0)
        (void)snprintf(ret_problem, bytes, "a stage is before or after, not \"%s\"", value);
    return filter->stage;
}

static int set_role(void *target, const char *value, char *ret_problem, size_t bytes)
{
    struct tl_dump_filter *filter = target;

    filter->role = tl__role_parse(value);
    if (filter->role < 0)
        (void)snprintf(ret_problem, bytes, "a role is input, output or inout, not \"%s\"", value);
    return filter->role;
}

static int parse(struct dump *d, int argc, char **argv)
{
    const struct tl_opt table[] = {
        {.letter = 't',
         .name = "task",
         .kind = TL_OPT_CALL,
         .target = &d->filter,
         .call = set_task,
         .value = "TASK",
         .help = "only this task: 0x200000a00, 8589937152 or r2t2560"},
        {.letter = 's',
         .name = "stage",
         .kind = TL_OPT_CALL,
         .target = &d->filter,
         .call = set_stage,
         .value = "STAGE",
         .help = "only before (dispatch) or after (completion)"},
        {.letter = 'r',
         .name = "role",
         .kind = TL_OPT_CALL,
         .target = &d->filter,
         .call = set_role,
         .value = "ROLE",
         .help = "only input, output or inout"},
        {.letter = 'a',
         .name = "arg",
         .kind = TL_OPT_NUMBER,
         .target = &d->arg,
         .max = UINT32_MAX,
         .given = &d->filter.by_arg,
         .value = "N",
         .help = "only this argument slot: tensors first, then scalars"},
        {.letter = 'i',
         .name = "index",
         .kind = TL_OPT_NUMBER,
         .target = &d->index,
         .max = INT64_MAX,
         .given = &d->filter.by_index,
         .value = "N",
         .help = "this one entry, in full"},
        {.name = "export",
         .kind = TL_OPT_CHOICE_OR_BARE,
         .target = &d->export_form,
         .choices = export_words,
         .bare = EXPORT_TXT,
         .given = &d->export,
         .value = "txt|npy",
         .help = "write what is picked, a file each, to txt/ or npy/ in the recording;\ntxt if not said"},
        TL_RANK_PICK_OPTIONS(&d->which),
        {.name = "json", .kind = TL_OPT_FLAG, .target = &d->json, .help = "for machines: the list or the verification"},
        {.name = "verify",
         .kind = TL_OPT_FLAG,
         .target = &d->verify,
         .help = "check every payload's hash, bounds and size, the counts and the order;\nexit code 4 if one is wrong, "
                 "or something was lost"},
        {.name = "no-values", .kind = TL_OPT_FLAG, .target = &d->no_values, .help = "list without reading any payload"},
    };
    const struct tl_opts opts = {
        .command = NAME,
        .synopsis = "[DIR] [OPTION]...",
        .about = "Shows the arguments that a run with --dump-args recorded.\n"
                 "DIR is the run's directory, its args_dump/, or args_dump.json; without it, the newest in outputs/.",
        .table = table,
        .count = sizeof(table) / sizeof(table[0]),
        .max_words = 1,
    };
    size_t words = 0;
    int code = tl__opts_parse(&opts, argc, argv, &d->word, &words);
    bool filtered;

    if (code != TL_OPTS_GO_ON)
        return code;
    if (words == 0)
        d->word = NULL;
    d->filter.arg = (uint64_t)d->arg;
    d->filter.index = (uint64_t)d->index;
    filtered =
        d->filter.by_task || d->filter.by_arg || d->filter.by_index || d->filter.stage >= 0 || d->filter.role >= 0;
    if (d->verify && (filtered || d->export))
        return tl__cmd_fail(NAME, "--verify is about the whole recording: it takes no filter and no --export");
    if (d->export && d->json)
        return tl__cmd_fail(NAME, "--export writes files: it takes no --json");
    return TL_OPTS_GO_ON;
}

/* ---- output ---- */

static int to_file(void *ctx, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, ctx) == n ? 0 : TL_EIO;
}

static int json_to_file(void *ctx, const void *bytes, size_t n)
{
    return to_file(ctx, bytes, n);
}

/* One line for a failed answer. Corruption and loss are no such thing: the answer has said so. */
static int report(const struct dump *d, int code, const struct tl_error *error)
{
    int written = tl__cmd_finish(NAME);

    if (written != TL_EXIT_OK)
        return written;
    if (code == 0)
        return TL_EXIT_OK;
    if (code == TL_ECORRUPT || code == TL_ELOST)
        return TL_EXIT_INCOMPLETE;
    if (error->msg[0] == 0)
        return tl__cmd_fail(NAME, "%s: %s", d->found.path, tl_strerror(code));
    if (code == TL_ENOENT || code == TL_ERANGE)
        return tl__cmd_fail(NAME, "%s; --no-values lists without it, --verify names all that is wrong", error->msg);
    return tl__cmd_fail(NAME, "%s", error->msg);
}

static int verify(struct dump *d)
{
    struct tl_progress progress = TL_PROGRESS_INIT("verify");
    struct tl_meta *meta = tl__found_meta(&d->found);
    struct tl_dump_verify v = {.recording = d->recording,
                               .dir = d->found.path,
                               .meta = meta,
                               .progress = tl__progress_bytes,
                               .progress_ctx = &progress};
    struct tl_error error = {0};
    struct tl_page page;
    struct tl_json json;
    int code, end;

    if (d->json) {
        tl__json_init(&json, json_to_file, stdout);
        code = tl__dump_verify_json(&json, &v);
        end = tl__json_finish(&json);
    } else {
        tl__page_init(&page, tl__cmd_text, stdout);
        code = tl__dump_verify_text(&page, &v);
        end = tl__page_end(&page);
        tl__page_fini(&page);
    }
    tl__progress_end(&progress);
    free(meta);
    return report(d, end != 0 ? end : code, &error);
}

/* The kernels' names stand beside the dump's own directory, where the run recorded something that needs them too. */
static bool find_names(const struct dump *d, struct tl_name_map *ret_names)
{
    struct tl_error error = {0};
    char dir[4200];
    int code;

    if ((size_t)snprintf(dir, sizeof(dir), "%s/..", d->found.path) >= sizeof(dir))
        return false;
    code = tl__name_map_find(dir, ret_names, &error);
    if (code != 0 && code != TL_ENOENT)
        tl__cmd_note(NAME, "kernels are shown by number: %s", error.msg);
    return code == 0;
}

static int list(struct dump *d)
{
    struct tl_progress progress = TL_PROGRESS_INIT("read");
    struct tl_dump_list l = {.scan = {.recording = d->recording, .pick = &d->pick, .values = !d->no_values},
                             .dir = d->found.path};
    struct tl_name_map names = {0};
    struct tl_error error = {0};
    struct tl_page page;
    struct tl_json json;
    int code, end;

    if (find_names(d, &names))
        l.names = &names;
    if (l.scan.values) {
        l.scan.progress = tl__progress_bytes;
        l.scan.progress_ctx = &progress;
    }
    if (d->json) {
        tl__json_init(&json, json_to_file, stdout);
        code = tl__dump_list_json(&json, &l, &error);
        end = tl__json_finish(&json);
    } else {
        tl__page_init(&page, tl__cmd_text, stdout);
        code = tl__dump_list_text(&page, &l, &error);
        end = tl__page_end(&page);
        tl__page_fini(&page);
    }
    tl__progress_end(&progress);
    tl__name_map_fini(&names);
    return report(d, code != 0 ? code : end, &error);
}

static int show_one(struct dump *d)
{
    struct tl_error error = {0};
    struct tl_page page;
    int code, end;

    tl__page_init(&page, tl__cmd_text, stdout);
    code = tl__dump_entry_text(&page, d->recording, tl__dump_pick_at(&d->pick, 0), &error);
    end = tl__page_end(&page);
    tl__page_fini(&page);
    return report(d, code != 0 ? code : end, &error);
}

/* ---- export ---- */

struct exported {
    uint64_t files, widened, flat, without;
};

static int to_out(void *ctx, const char *bytes, size_t n)
{
    struct tl_out *out = ctx;

    tl__out_bytes(out, bytes, n);
    return out->error;
}

static int write_txt(const struct dump *d, uint64_t index, const char *path, struct tl_error *error)
{
    struct tl_page page;
    struct tl_out out;
    int code = tl__out_open(&out, path, error), end;

    if (code != 0)
        return code;
    tl__page_init(&page, to_out, &out);
    code = tl__dump_entry_file(&page, d->recording, index, error);
    end = tl__page_end(&page);
    tl__page_fini(&page);
    if (code == 0 && end == 0)
        return tl__out_commit(&out, error);
    tl__out_abort(&out);
    return code != 0 ? code : tl__fail(error, end, "cannot write %.900s: %s", path, tl_strerror(end));
}

static int export_one(const struct dump *d, const char *dir, uint64_t index, struct exported *sum,
                      struct tl_error *error)
{
    struct tl_dump_npy npy = {0};
    char name[160], path[4200];
    int code;

    tl__dump_file_name(d->recording, index, name, sizeof(name));
    if (snprintf(path, sizeof(path), "%s/%s.%s", dir, name, export_words[d->export_form]) >= (int)sizeof(path)) {
        (void)snprintf(error->msg, sizeof(error->msg), "%.200s...: the path is too long", dir);
        return TL_EINVAL;
    }
    if (d->export_form == EXPORT_TXT)
        code = write_txt(d, index, path, error);
    else
        code = tl__dump_write_npy(d->recording, index, path, &npy, error);
    if (d->export_form == EXPORT_NPY && (code == TL_ENOENT || code == TL_ENOTSUP)) {
        sum->without++;
        return 0;
    }
    sum->files += code == 0;
    sum->widened += npy.widened;
    sum->flat += npy.flat;
    return code;
}

static void print_exported(const struct exported *sum, const char *dir)
{
    printf("%" PRIu64 " file%s written\n", sum->files, sum->files == 1 ? "" : "s");
    if (sum->widened > 0)
        printf("%" PRIu64 " of them hold%s bfloat16, fp8 or fp4 values widened to float32: .npy has no such dtype\n",
               sum->widened, sum->widened == 1 ? "s" : "");
    if (sum->flat > 0)
        printf("%" PRIu64 " of them %s one dimension: the payload was cut\n", sum->flat,
               sum->flat == 1 ? "has" : "have");
    if (sum->without > 0)
        printf("%" PRIu64 " %s no payload, or a dtype or rank that is not known, and no file\n", sum->without,
               sum->without == 1 ? "entry has" : "entries have");
    printf("%s\n", dir);
}

static int export(struct dump *d)
{
    struct tl_progress progress = TL_PROGRESS_INIT("export");
    struct exported sum = {0};
    struct tl_error error = {0};
    char dir[4000];
    int code = 0;

    if (snprintf(dir, sizeof(dir), "%s/%s", d->found.path, export_words[d->export_form]) >= (int)sizeof(dir))
        return tl__cmd_fail(NAME, "%.200s...: the path is too long", d->found.path);
    code = tl__output_make_dir(NAME, dir);
    if (code != 0)
        return code;
    for (uint64_t i = 0; i < d->pick.count && code == 0; i++) {
        code = export_one(d, dir, tl__dump_pick_at(&d->pick, i), &sum, &error);
        tl__progress_count(&progress, i + 1, d->pick.count);
    }
    tl__progress_end(&progress);
    if (code == 0)
        print_exported(&sum, dir);
    return report(d, code, &error);
}

/* ---- the command ---- */

/* A manifest that disagrees with itself can still be looked at; who looks should know. */
static void mention_faults(const struct dump *d)
{
    struct tl_dump_verdict verdict;

    if (tl_recording_check(d->recording, &verdict) < 0)
        tl__cmd_note(NAME, "%s is damaged: %s; --verify names all that is wrong", d->found.path, verdict.first_fault);
}

static int answer(struct dump *d)
{
    struct tl_error error = {0};

    if (tl_recording_open(d->found.path, &d->recording, &error) < 0)
        return tl__cmd_fail(NAME, "%s", error.msg);
    if (d->verify)
        return verify(d);
    mention_faults(d);
    if (tl__dump_pick(d->recording, &d->filter, &d->pick, &error) < 0)
        return tl__cmd_fail(NAME, "%s", error.msg);
    if (d->export)
        return export(d);
    if (d->filter.by_index && d->pick.count == 1 && !d->json)
        return show_one(d);
    return list(d);
}

static int run(int argc, char **argv)
{
    struct dump d = {.filter = TL_DUMP_FILTER_INIT};
    const struct tl_artifact artifact = {TL_DUMP_MANIFEST_NAME, "--dump-args 2", &d.which};
    int code;

    d.which = (struct tl_rank_pick)TL_RANK_PICK_INIT;
    code = parse(&d, argc, argv);
    if (code != TL_OPTS_GO_ON)
        return code;
    code = tl__find_recording(NAME, d.word, &artifact, &d.found);
    if (code != 0)
        return code;
    tl__found_mention(NAME, &d.found);
    code = answer(&d);
    tl__dump_pick_fini(&d.pick);
    tl_recording_close(d.recording);
    tl__found_fini(&d.found);
    return code;
}

const struct tl_cmd tl__cmd_dump = {
    .name = NAME,
    .summary = "Show the arguments that a run recorded",
    .run = run,
};
