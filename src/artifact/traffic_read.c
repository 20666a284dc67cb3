/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: each line is a JSON document of its own. */
#include "artifact/traffic.h"

#include "artifact/json_lines.h"
#include "base/error.h"

struct reading {
    struct tl_traffic *traffic;
    bool has_head;  /* line 1 is read */
    uint64_t tasks; /* that line 1 says */
};

enum head_field { VERSION, FATAL, DROPPED, TASKS, HEAD_FIELDS };
static const char *const head_names[HEAD_FIELDS] = {
    [VERSION] = "version", [FATAL] = "fatal", [DROPPED] = "dropped", [TASKS] = "tasks"};

static int take_head(struct tl_tape *tape, struct reading *r)
{
    uint32_t at[HEAD_FIELDS], version = 0;
    int code = tl__tape_fields(tape, 0, NULL, head_names, HEAD_FIELDS, at);

    if (code == 0)
        code = tl__tape_u32(tape, at[VERSION], head_names[VERSION], &version);
    if (code == 0 && version > TL_TRAFFIC_VERSION)
        return tl__tape_fail(tape, TL_EVERSION, head_names[VERSION], "%u; this tasklens reads up to %u", version,
                             TL_TRAFFIC_VERSION);
    if (code == 0)
        code = tl__tape_bool(tape, at[FATAL], head_names[FATAL], &r->traffic->fatal);
    if (code == 0)
        code = tl__tape_u64(tape, at[DROPPED], head_names[DROPPED], UINT64_MAX, &r->traffic->dropped);
    if (code == 0)
        code = tl__tape_u64(tape, at[TASKS], head_names[TASKS], UINT64_MAX, &r->tasks);
    return code;
}

enum arg_field { BUFFER, OWNER, VIEW, BYTES, ACCESS, ARG_FIELDS };
static const char *const arg_names[ARG_FIELDS] = {
    [BUFFER] = "buffer", [OWNER] = "owner", [VIEW] = "view", [BYTES] = "bytes", [ACCESS] = "access"};

static int take_access(struct tl_tape *tape, uint32_t at, struct tl_traffic_arg *a)
{
    static const char *const words[TL_TRAFFIC_ACCESSES] = {"read", "write", "both"};
    const char *text = "";
    size_t length = 0;
    unsigned word = 0;
    int code = tl__tape_string(tape, at, arg_names[ACCESS], &text, &length);

    if (code < 0)
        return code;
    if (tl__tape_word(tape, at, arg_names[ACCESS], words, TL_TRAFFIC_ACCESSES, &word) < 0)
        return tl__tape_fail(tape, TL_EPARSE, arg_names[ACCESS],
                             "expected \"read\", \"write\" or \"both\", found \"%.40s\"", text);
    a->access = (uint8_t)word;
    return 0;
}

static int take_arg(struct tl_tape *tape, uint32_t position, struct tl_traffic_arg *a)
{
    uint32_t at[ARG_FIELDS];
    int code = tl__tape_fields(tape, position, NULL, arg_names, ARG_FIELDS, at);

    a->owner = TL_TRAFFIC_NO_OWNER;
    if (code == 0)
        code = tl__tape_u64(tape, at[BUFFER], arg_names[BUFFER], UINT64_MAX, &a->buffer);
    if (code == 0 && !tl__tape_is_null(tape, at[OWNER]))
        code = tl__tape_u64(tape, at[OWNER], arg_names[OWNER], UINT64_MAX, &a->owner);
    if (code == 0)
        code = tl__tape_u64(tape, at[VIEW], arg_names[VIEW], UINT64_MAX, &a->view);
    if (code == 0)
        code = tl__tape_u64(tape, at[BYTES], arg_names[BYTES], UINT64_C(1) << 48, &a->bytes);
    return code == 0 ? take_access(tape, at[ACCESS], a) : code;
}

enum task_field { TASK_ID, FUNC_ID, START, SUBTASKS, COUNTED, COUNTED_READ, COUNTED_WRITTEN, ARGS, TASK_FIELDS };
static const char *const task_names[TASK_FIELDS] = {[TASK_ID] = "task_id",
                                                    [FUNC_ID] = "func_id",
                                                    [START] = "start",
                                                    [SUBTASKS] = "subtasks",
                                                    [COUNTED] = "counted_subtasks",
                                                    [COUNTED_READ] = "counted_read_bytes",
                                                    [COUNTED_WRITTEN] = "counted_written_bytes",
                                                    [ARGS] = "args"};

static int take_args(struct tl_tape *tape, uint32_t at, uint32_t *ret_count, struct tl_traffic_arg *args)
{
    int code = tl__tape_array(tape, at, task_names[ARGS], ret_count);

    if (code == 0 && *ret_count > TL_TRAFFIC_MAX_ARGS)
        return tl__tape_fail(tape, TL_EPARSE, task_names[ARGS], "%u arguments; a task has at most %u", *ret_count,
                             TL_TRAFFIC_MAX_ARGS);
    tape->inner = task_names[ARGS];
    at++;
    for (uint32_t i = 0; code == 0 && i < *ret_count; i++) {
        tape->inner_index = i;
        code = take_arg(tape, at, &args[i]);
        at = tape->tokens[at].next;
    }
    tape->inner = NULL;
    return code;
}

static int take_task(struct tl_tape *tape, struct tl_traffic *t)
{
    struct tl_traffic_arg args[TL_TRAFFIC_MAX_ARGS] = {{0}};
    struct tl_traffic_task task = {0};
    uint32_t at[TASK_FIELDS];
    int code = tl__tape_fields(tape, 0, NULL, task_names, TASK_FIELDS, at);

    if (code == 0)
        code = tl__tape_u64(tape, at[TASK_ID], task_names[TASK_ID], UINT64_MAX, &task.task_id);
    if (code == 0)
        code = tl__tape_i32(tape, at[FUNC_ID], task_names[FUNC_ID], &task.func_id);
    if (code == 0)
        code = tl__tape_u64(tape, at[START], task_names[START], UINT64_MAX, &task.start);
    if (code == 0)
        code = tl__tape_u32(tape, at[SUBTASKS], task_names[SUBTASKS], &task.subtasks);
    if (code == 0)
        code = tl__tape_u32(tape, at[COUNTED], task_names[COUNTED], &task.counted);
    if (code == 0)
        code = tl__tape_u64(tape, at[COUNTED_READ], task_names[COUNTED_READ], UINT64_MAX, &task.counted_read);
    if (code == 0)
        code = tl__tape_u64(tape, at[COUNTED_WRITTEN], task_names[COUNTED_WRITTEN], UINT64_MAX, &task.counted_written);
    if (code == 0)
        code = take_args(tape, at[ARGS], &task.n_args, args);
    if (code == 0 && tl__traffic_add(t, &task, args) < 0)
        return tl__tape_fail(tape, TL_ENOMEM, NULL, "out of memory");
    return code;
}

static int on_line(void *ctx, struct tl_tape *tape)
{
    struct reading *r = ctx;
    int code = r->has_head ? take_task(tape, r->traffic) : take_head(tape, r);

    r->has_head = true;
    return code;
}

/* What was read, or nothing. */
static int settle(const struct reading *r, int code, const char *name, struct tl_traffic *ret_traffic,
                  struct tl_error *reterr)
{
    if (code == 0 && !r->has_head)
        code = tl__fail(reterr, TL_EPARSE, "%s: empty; its first line describes the run", name);
    if (code == 0 && r->traffic->tasks.count != r->tasks)
        code = tl__fail(reterr, TL_EPARSE, "%s: %zu tasks, and its first line says %llu: the file is cut", name,
                        r->traffic->tasks.count, (unsigned long long)r->tasks);
    if (code == 0)
        *ret_traffic = *r->traffic;
    else
        tl__traffic_fini(r->traffic);
    return code;
}

int tl__traffic_parse(const void *text, size_t bytes, const char *name, struct tl_traffic *ret_traffic,
                      struct tl_error *reterr)
{
    struct tl_traffic traffic = {.fatal = false};
    struct reading reading = {.traffic = &traffic};
    const struct tl_tape_spec spec = {.on_value = on_line, .ctx = &reading};

    return settle(&reading, tl__json_lines_parse(text, bytes, name, &spec, reterr), name, ret_traffic, reterr);
}

int tl__traffic_file_read(const char *path, struct tl_traffic *ret_traffic, struct tl_error *reterr)
{
    struct tl_traffic traffic = {.fatal = false};
    struct reading reading = {.traffic = &traffic};
    const struct tl_tape_spec spec = {.on_value = on_line, .ctx = &reading};

    return settle(&reading, tl__json_lines_read(path, &spec, reterr), path, ret_traffic, reterr);
}
