/* SPDX-License-Identifier: Apache-2.0 */
/* The object and the writer; the reader is traffic_read.c. */
#include "artifact/traffic.h"

#include "artifact/file_out.h"
#include "base/error.h"
#include "base/task_id.h"

int tl__traffic_add(struct tl_traffic *t, const struct tl_traffic_task *task, const struct tl_traffic_arg *args)
{
    struct tl_traffic_task added = *task;

    added.first_arg = t->args.count;
    for (uint32_t i = 0; i < task->n_args; i++)
        if (tl_vec_push(&t->args, args[i]) < 0)
            return TL_ENOMEM;
    return tl_vec_push(&t->tasks, added) < 0 ? TL_ENOMEM : 0;
}

void tl__traffic_fini(struct tl_traffic *t)
{
    tl_vec_fini(&t->tasks);
    tl_vec_fini(&t->args);
    *t = (struct tl_traffic){.fatal = false};
}

static void put_head(struct tl_json *j, const struct tl_traffic *t)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "version", TL_TRAFFIC_VERSION);
    tl__json_member_bool(j, "fatal", t->fatal);
    tl__json_member_u64(j, "dropped", t->dropped);
    tl__json_member_u64(j, "tasks", t->tasks.count);
    tl__json_object_end(j);
    tl__json_newline(j);
}

static void put_arg(struct tl_json *j, const struct tl_traffic_arg *a)
{
    static const char *const words[TL_TRAFFIC_ACCESSES] = {
        [TL_TRAFFIC_READ] = "read", [TL_TRAFFIC_WRITE] = "write", [TL_TRAFFIC_BOTH] = "both"};

    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_key(j, "buffer");
    tl__json_hex_string(j, a->buffer, 16);
    tl__json_key(j, "owner");
    if (a->owner == TL_TRAFFIC_NO_OWNER)
        tl__json_null(j);
    else
        tl__json_u64(j, a->owner);
    tl__json_key(j, "view");
    tl__json_hex_string(j, a->view, 16);
    tl__json_member_u64(j, "bytes", a->bytes);
    tl__json_member_string(j, "access", words[a->access]);
    tl__json_object_end(j);
}

static void put_task(struct tl_json *j, const struct tl_traffic *t, const struct tl_traffic_task *task)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "task_id", task->task_id);
    tl__json_member_i64(j, "func_id", task->func_id);
    tl__json_member_u64(j, "start", task->start);
    tl__json_member_u64(j, "subtasks", task->subtasks);
    tl__json_member_u64(j, "counted_subtasks", task->counted);
    tl__json_member_u64(j, "counted_read_bytes", task->counted_read);
    tl__json_member_u64(j, "counted_written_bytes", task->counted_written);
    tl__json_member_array(j, "args", TL_JSON_LINE);
    for (uint32_t i = 0; i < task->n_args; i++)
        put_arg(j, &t->args.items[task->first_arg + i]);
    tl__json_array_end(j);
    tl__json_object_end(j);
    tl__json_newline(j);
}

int tl__traffic_write(const char *dir, const struct tl_traffic *t, struct tl_error *reterr)
{
    struct tl_out out;
    int code = tl__out_open_in(&out, dir, TL_TRAFFIC_NAME, reterr);

    if (code != 0)
        return code;
    put_head(&out.json, t);
    for (size_t i = 0; i < t->tasks.count; i++)
        put_task(&out.json, t, &t->tasks.items[i]);
    return tl__out_commit(&out, reterr);
}
