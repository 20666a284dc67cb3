/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/json_head.h"
#include "analysis/traffic/traffic_view.h"

static void put_kernels(struct tl_json *j, const struct tl_traffic_view *v)
{
    tl__json_member_array(j, "kernels", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < v->n_kernels; i++) {
        const struct tl_traffic_kernel *k = &v->kernels[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        tl__json_member_i64(j, "func_id", k->func_id);
        tl__json_member_string(j, "name", tl__name_of(v->names, k->func_id));
        tl__json_member_u64(j, "tasks", k->tasks);
        tl__json_member_u64(j, "subtasks", k->subtasks);
        tl__json_member_u64(j, "read_bytes", k->read);
        tl__json_member_u64(j, "written_bytes", k->written);
        tl__json_member_u64(j, "counted_subtasks", k->counted_subtasks);
        tl__json_member_u64(j, "counted_read_bytes", k->counted_read);
        tl__json_member_u64(j, "counted_written_bytes", k->counted_written);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

/* null: nothing was reused. */
static void put_spread(struct tl_json *j, const char *key, const struct tl_traffic_buffer *b,
                       const struct tl_traffic_spread *s)
{
    tl__json_key(j, key);
    if (b->reuses == 0) {
        tl__json_null(j);
        return;
    }
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "min", s->min);
    tl__json_member_u64(j, "median", s->median);
    tl__json_member_u64(j, "max", s->max);
    tl__json_object_end(j);
}

static void put_buffers(struct tl_json *j, const struct tl_traffic_view *v)
{
    tl__json_member_array(j, "buffers", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < v->n_buffers; i++) {
        const struct tl_traffic_buffer *b = &v->buffers[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        tl__json_key(j, "buffer");
        tl__json_hex_string(j, b->buffer, 16);
        if (b->owner == TL_TRAFFIC_NO_OWNER) {
            tl__json_member_null(j, "owner");
        } else {
            tl__json_task(j, "owner", v->layout, b->owner);
        }
        tl__json_member_u64(j, "accesses", b->accesses);
        tl__json_member_u64(j, "slices", b->slices);
        tl__json_member_u64(j, "read_bytes", b->read);
        tl__json_member_u64(j, "written_bytes", b->written);
        tl__json_member_u64(j, "reuses", b->reuses);
        put_spread(j, "reuse_tasks", b, &b->tasks);
        put_spread(j, "reuse_bytes", b, &b->bytes);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

static void put_cache(struct tl_json *j, const struct tl_traffic_view *v)
{
    tl__json_key(j, "cache");
    if (v->cache.bytes == 0) {
        tl__json_null(j);
        return;
    }
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "bytes", v->cache.bytes);
    tl__json_member_u64(j, "reads", v->cache.reads);
    tl__json_member_u64(j, "found", v->cache.found);
    tl__json_member_u64(j, "saved_bytes", v->cache.saved);
    tl__json_object_end(j);
}

void tl__traffic_json(struct tl_json *j, const struct tl_traffic_view *v)
{
    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_head(j, "traffic", NULL, v->dir);
    tl__json_member_bool(j, "fatal", v->traffic->fatal);
    tl__json_member_u64(j, "dropped", v->traffic->dropped);
    tl__json_member_u64(j, "tasks", v->traffic->tasks.count);
    tl__json_member_u64(j, "subtasks", v->subtasks);
    tl__json_member_u64(j, "accesses", v->accesses);
    tl__json_member_u64(j, "invalid_arguments", v->invalid);
    tl__json_member_u64(j, "slices", v->n_slices);
    tl__json_member_u64(j, "read_bytes", v->read);
    tl__json_member_u64(j, "written_bytes", v->written);
    tl__json_member_u64(j, "counted_subtasks", v->counted_subtasks);
    tl__json_member_u64(j, "counted_read_bytes", v->counted_read);
    tl__json_member_u64(j, "counted_written_bytes", v->counted_written);
    put_cache(j, v);
    put_kernels(j, v);
    put_buffers(j, v);
    tl__json_object_end(j);
    tl__json_newline(j);
}
