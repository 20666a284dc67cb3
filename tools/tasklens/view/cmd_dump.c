/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tasklens/recording.h>

#include "analysis/dump/dump_entry.h"
#include "analysis/dump/dump_export.h"
#include "analysis/dump/dump_list.h"
#include "analysis/dump/dump_rank.h"
#include "analysis/dump/dump_verify.h"
#include "artifact/args_dump.h"
#include "artifact/file_out.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/pathname.h"
#include "cmd.h"
#include "view/find.h"
#include "opts.h"
#include "view/output.h"
#include "view/progress.h"

#define NAME "dump"

enum export_form { EXPORT_TXT, EXPORT_NPY };
static const char *const export_words[] = {[EXPORT_TXT] = "txt", [EXPORT_NPY] = "npy", NULL};

static const char *const order_words[] = {"submission", "ring", NULL};
enum { ORDER_SUBMISSION, ORDER_RING };

struct dump {
    struct tl_dump_filter filter;
    int64_t arg, index, limit;
    int export_form, order_by, sort;
    bool export, json, jsonl, verify, no_values, only_bad, limited;
    const char *word; /* as given; NULL: none */
    struct tl_rank_pick which;
    /* What was opened. */
    struct tl_found found;
    struct tl_recording *recording;
    struct tl_name_map names;
    bool has_names;
    struct tl_dump_pick pick;
    struct tl_dump_order order;
    struct tl_dump_unread unread;
};

static int set_task(void *target, const char *value, char *ret_problem, size_t bytes)
{
    int code = tl__dump_filter_tasks(target, value);

    if (code == TL_ERANGE)
        (void)snprintf(ret_problem, bytes,
                       "\"%s\": a range goes from a task to a later one of the same ring, and up to %d may be named",
                       value, TL_DUMP_TASKS_MAX);
    else if (code != 0)
        (void)snprintf(ret_problem, bytes, "a task is 0x..., a number or r<ring>t<local>, not \"%s\"", value);
    return code;
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

/* What cannot be asked for together. */
static int check(const struct dump *d)
{
    bool filtered = d->filter.n_tasks > 0 || d->filter.kernel != NULL || d->filter.by_arg || d->filter.by_index ||
                    d->filter.stage >= 0 || d->filter.role >= 0 || d->only_bad || d->limited ||
                    d->sort != TL_DUMP_BY_NONE;

    if (d->verify && (filtered || d->export || d->jsonl))
        return tl__cmd_fail(
            NAME, "--verify is about the whole recording: it takes no filter, no --sort, no --limit, no --jsonl "
                  "and no --export");
    if (d->export && (d->json || d->jsonl))
        return tl__cmd_fail(NAME, "--export writes files: it takes no --json and no --jsonl");
    if (d->json && d->jsonl)
        return tl__cmd_fail(NAME, "--json is one object, --jsonl a line an entry: choose one");
    if (d->no_values && (d->only_bad || d->sort != TL_DUMP_BY_NONE))
        return tl__cmd_fail(NAME, "--nan and --sort look at values: they take no --no-values");
    return TL_OPTS_GO_ON;
}

/* size: a row an option */
static int parse(struct dump *d, int argc, char **argv)
{
    const struct tl_opt table[] = {
        {.letter = 't',
         .name = "task",
         .kind = TL_OPT_CALL,
         .target = &d->filter,
         .call = set_task,
         .value = "TASK",
         .help = "only this task: r2t2560, 0x200000a00 or 8589937152; a range r2t0..r2t9; several\nwith commas, or -t "
                 "again"},
        {.letter = 'k',
         .name = "kernel",
         .kind = TL_OPT_TEXT,
         .target = &d->filter.kernel,
         .value = "RE",
         .help = "only tasks of kernels whose name matches the extended regular expression"},
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
        {.name = "nan", .kind = TL_OPT_FLAG, .target = &d->only_bad, .help = "only entries that hold a NaN or an Inf"},
        {.name = "limit",
         .kind = TL_OPT_NUMBER,
         .target = &d->limit,
         .min = 1,
         .max = INT64_MAX,
         .given = &d->limited,
         .value = "N",
         .help = "only the first N of what is left"},
        {.name = "order",
         .kind = TL_OPT_CHOICE,
         .target = &d->order_by,
         .choices = order_words,
         .value = "ORDER",
         .help = "of the entries: submission (as a rule), or ring, as in the manifest"},
        {.name = "sort",
         .kind = TL_OPT_CHOICE,
         .target = &d->sort,
         .choices = tl__dump_keys,
         .value = "KEY",
         .help = "by max, min (the smallest first), mean, std, nan or inf (the most first)"},
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
        {.name = "jsonl",
         .kind = TL_OPT_FLAG,
         .target = &d->jsonl,
         .help = "for machines: the list, a JSON object a line"},
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
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    size_t words = 0;
    int code = tl__opts_parse(&opts, argc, argv, &d->word, &words);

    if (code != TL_OPTS_GO_ON)
        return code;
    if (words == 0)
        d->word = NULL;
    d->filter.arg = (uint64_t)d->arg;
    d->filter.index = (uint64_t)d->index;
    return check(d);
}

/* ---- output ---- */

/* One line for a failed answer. Corruption and loss are no such thing: the answer has said so. */
static int report(const struct dump *d, int code, const struct tl_error *error)
{
    int written = tl__cmd_finish(NAME);

    if (written != TL_EXIT_OK)
        return written;
    if (code == TL_ECORRUPT || code == TL_ELOST)
        return TL_EXIT_INCOMPLETE;
    if (code < 0 && error->msg[0] == 0)
        return tl__cmd_fail(NAME, "%s: %s", d->found.path, tl_strerror(code));
    if (code < 0)
        return tl__cmd_fail(NAME, "%s", error->msg);
    if (d->unread.count == 0)
        return TL_EXIT_OK;
    tl__cmd_note(NAME,
                 "%" PRIu64 " payload%s cannot be read, the first is of entry %" PRIu64
                 ": %s; --verify names all that is wrong",
                 d->unread.count, tl__plural(d->unread.count), d->unread.first, d->unread.why);
    return TL_EXIT_INCOMPLETE;
}

static int verify(struct dump *d)
{
    struct tl_progress progress = TL_PROGRESS_INIT("verify");
    struct tl_meta *meta = tl__found_meta(&d->found);
    struct tl_dump_verify v = {.recording = d->recording,
                               .pick = &d->pick,
                               .dir = d->found.path,
                               .layout = d->filter.layout,
                               .meta = meta,
                               .progress = tl__progress_bytes,
                               .progress_ctx = &progress};
    struct tl_error error = {0};
    struct tl_rendering page;
    struct tl_json json;
    int code, end;

    if (d->json) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        code = tl__dump_verify_json(&json, &v);
        end = tl__json_finish(&json);
    } else {
        tl__rendering_init(&page, tl__cmd_text, stdout);
        code = tl__dump_verify_text(&page, &v);
        end = tl__rendering_end(&page);
        tl__rendering_fini(&page);
    }
    tl__progress_end(&progress);
    free(meta);
    return report(d, end != 0 ? end : code, &error);
}

/* The kernels' names are beside the dump's own directory, where the run recorded something that needs them too. */
static bool find_names(const struct dump *d, struct tl_name_map *ret_names)
{
    struct tl_error error = {0};
    char dir[TL_PATHNAME_BYTES];
    int code;

    if (!tl__pathname(dir, "%s/..", d->found.path))
        return false;
    code = tl__name_map_find(dir, ret_names, &error);
    if (code != 0 && code != TL_ENOENT)
        tl__cmd_note(NAME, "kernels are shown by number: %s", error.msg);
    return code == 0;
}

static int list(struct dump *d)
{
    struct tl_progress progress = TL_PROGRESS_INIT("read");
    struct tl_dump_list l = {
        .scan = {.recording = d->recording, .pick = &d->pick, .values = !d->no_values, .unread = &d->unread},
        .dir = d->found.path,
        .names = d->has_names ? &d->names : NULL,
        .order = d->order_by == ORDER_SUBMISSION ? &d->order : NULL,
        .sorted_by = d->sort != TL_DUMP_BY_NONE ? tl__dump_keys[d->sort] : NULL,
        .layout = d->filter.layout,
    };
    const struct tl_dump_unread ranked = d->unread;
    struct tl_error error = {0};
    struct tl_rendering page;
    struct tl_json json;
    int code, end;

    d->unread.count = 0; /* what a ranking counted is counted again, as far as it is listed */
    if (l.scan.values) {
        l.scan.progress = tl__progress_bytes;
        l.scan.progress_ctx = &progress;
    }
    if (d->json || d->jsonl) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        code = d->json ? tl__dump_list_json(&json, &l, &error) : tl__dump_list_jsonl(&json, &l, &error);
        end = tl__json_finish(&json);
    } else {
        tl__rendering_init(&page, tl__cmd_text, stdout);
        code = tl__dump_list_text(&page, &l, &error);
        end = tl__rendering_end(&page);
        tl__rendering_fini(&page);
    }
    tl__progress_end(&progress);
    if (d->unread.count < ranked.count) /* those behind --limit: their place was not known */
        d->unread = ranked;
    return report(d, code != 0 ? code : end, &error);
}

static int show_one(struct dump *d)
{
    uint64_t index = tl__dump_pick_at(&d->pick, 0);
    struct tl_error error = {0};
    struct tl_rendering page;
    int code, end;

    tl__rendering_init(&page, tl__cmd_text, stdout);
    code = tl__dump_entry_text(&page, d->recording, index, d->filter.layout, &error);
    end = tl__rendering_end(&page);
    if (page.error == 0 && tl__dump_note_unread(&d->unread, index, code, &error))
        code = 0;
    tl__rendering_fini(&page);
    return report(d, code != 0 ? code : end, &error);
}

/* ---- export ---- */

struct exported {
    uint64_t files, widened, flat, without;
};

static int to_out(void *ctx, const void *bytes, size_t n)
{
    struct tl_out *out = ctx;

    tl__out_bytes(out, bytes, n);
    return out->error;
}

static int write_txt(const struct dump *d, uint64_t index, const char *path, struct tl_error *error)
{
    struct tl_rendering page;
    struct tl_out out;
    int code = tl__out_open(&out, path, error), end;

    if (code != 0)
        return code;
    tl__rendering_init(&page, to_out, &out);
    code = tl__dump_entry_file(&page, d->recording, index, d->filter.layout, error);
    end = tl__rendering_end(&page);
    tl__rendering_fini(&page);
    if (code == 0 && end == 0)
        return tl__out_commit(&out, error);
    tl__out_abort(&out);
    return code != 0 ? code : tl__fail(error, end, "cannot write %.900s: %s", path, tl_strerror(end));
}

static int export_one(struct dump *d, const char *dir, uint64_t index, struct exported *sum, struct tl_error *error)
{
    struct tl_dump_npy npy = {0};
    char name[160], path[TL_PATHNAME_BYTES];
    const void *data;
    int code = tl_recording_payload(d->recording, index, &data, error);

    if (tl__dump_note_unread(&d->unread, index, code, error))
        return 0;
    tl__dump_file_name(d->recording, index, d->filter.layout, name, sizeof(name));
    if (!tl__pathname(path, "%s/%s.%s", dir, name, export_words[d->export_form])) {
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
    char dir[TL_PATHNAME_BYTES];
    int code = 0;

    if (!tl__pathname(dir, "%s/%s", d->found.path, export_words[d->export_form]))
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

/* A manifest that disagrees with itself can still be shown, with a warning. */
static void mention_faults(const struct dump *d)
{
    struct tl_dump_verdict verdict;

    if (tl_recording_check(d->recording, &verdict) < 0)
        tl__cmd_note(NAME, "%s fails a check: %s; --verify names all that is wrong", d->found.path,
                     verdict.first_fault);
}

static void mention_order(const struct dump *d)
{
    if (d->order.from == TL_DUMP_ORDER_RING)
        tl__cmd_note(NAME, "the order is ring by ring: nothing recorded says in which order the tasks were submitted");
}

/* What is asked for, in its order. 0, or a code with *error. */
static int pick(struct dump *d, struct tl_error *error)
{
    const struct tl_dump_scan scan = {.recording = d->recording, .pick = &d->pick, .unread = &d->unread};
    int code;

    d->filter.names = d->has_names ? &d->names : NULL;
    d->filter.layout = tl__dump_layout(d->found.path);
    code = tl__dump_pick(d->recording, &d->filter, &d->pick, error);
    if (code == 0 && d->order_by == ORDER_SUBMISSION)
        code = tl__dump_order(d->recording, d->found.path, &d->pick, &d->order);
    if (code == 0 && (d->only_bad || d->sort != TL_DUMP_BY_NONE))
        code = tl__dump_rank(&scan, &d->pick, (enum tl_dump_key)d->sort, d->only_bad, error);
    if (code == 0 && d->limited && d->pick.count > (uint64_t)d->limit)
        d->pick.count = (uint64_t)d->limit;
    return code;
}

static int answer(struct dump *d)
{
    struct tl_error error = {0};
    int code = tl_recording_open(d->found.path, &d->recording, &error);

    if (code == 0 && !d->verify) {
        mention_faults(d);
        d->has_names = find_names(d, &d->names);
    }
    if (code == 0)
        code = pick(d, &error);
    if (code < 0)
        return tl__cmd_fail(NAME, "%s", error.msg[0] != '\0' ? error.msg : tl_strerror(code));
    if (d->verify)
        return verify(d);
    if (d->export) {
        mention_order(d);
        return export(d);
    }
    if (d->filter.by_index && d->pick.count == 1 && !d->json && !d->jsonl)
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
    tl__name_map_fini(&d.names);
    tl_recording_close(d.recording);
    tl__found_fini(&d.found);
    return code;
}

const struct tl_cmd tl__cmd_dump = {
    .name = NAME,
    .summary = "Show the arguments that a run recorded",
    .run = run,
};
