/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of `tasklens deps`, each as text for people and as JSON. What a struct tl_deps_subject points to is
 * borrowed. A rendering looks at its error or the writer's at the end; those that need memory of their own return
 * TL_ENOMEM. One thread.
 */
#ifndef TL_ANALYSIS_DEPS_SHOW_H
#define TL_ANALYSIS_DEPS_SHOW_H

#include "analysis/deps/deps_graph.h"
#include "analysis/text/rendering.h"
#include "analysis/text/phrases.h"
#include "artifact/name_map.h"
#include "base/json.h"

struct tl_deps_subject {
    const struct tl_deps *deps;
    const struct tl_deps_graph *graph;
    const struct tl_name_map *names; /* empty: kernels are called func_3 */
    const char *dir;                 /* of the recording, as it would be typed */
    uint64_t limit;                  /* lines of a list; UINT64_MAX: all */
};

/* Tasks with the same kernels on the same cores: what a colour of a picture means. */
struct tl_deps_kind {
    int32_t kernel_ids[3];
    uint32_t tasks;
};
struct tl_deps_kinds {
    struct tl_deps_kind *kinds; /* by kernel_ids */
    uint32_t count;
    uint32_t *of_task; /* position in `kinds` by task */
};
/* TL_ENOMEM. End with tl__deps_kinds_fini. */
int tl__deps_kinds(const struct tl_deps *deps, struct tl_deps_kinds *ret_kinds);
void tl__deps_kinds_fini(struct tl_deps_kinds *kinds);

/* What is looked for; a task or an edge has to pass all of it. */
struct tl_deps_filter {
    bool by_kernel, by_tensor;
    int64_t kernel;       /* func_id */
    uint64_t buffer_addr; /* of the tensor's buffer */
};
#define TL_DEPS_NO_FILTER (&(struct tl_deps_filter){0})
/* Whether the task runs the kernel and has the buffer among its arguments. */
bool tl__deps_task_passes(const struct tl_deps_subject *s, const struct tl_deps_filter *filter, uint32_t task);
/* Whether the task at the edge's other end runs the kernel, and the edge is about the buffer. */
bool tl__deps_edge_passes(const struct tl_deps_subject *s, const struct tl_deps_filter *filter,
                          const struct tl_deps_edge *edge, uint32_t other);
/* "ADD" or "0", as the maps and the tasks have it. The func_id, or TL_ENOENT with a message that names some. */
int64_t tl__deps_kernel_of(const struct tl_deps_subject *s, const char *word, struct tl_error *reterr);
/* The buffer that begins at the address or holds it. TL_ENOENT with a message. */
int tl__deps_buffer_of(const struct tl_deps_subject *s, uint64_t address, uint64_t *ret_buffer_addr,
                       struct tl_error *reterr);

/* ---- parts of a line ---- */

/* "[2, 8] strides [16, 1] offset 64": strides if the elements are not side by side, the offset if it is not 0. */
void tl__put_deps_view(struct tl_rendering *out, const struct tl_deps_view *view);
/* "0x1cf6a2d0", "0x1cf6a2d0 v2" for another version than 0; "tensor 123" if it is not listed. */
void tl__put_deps_tensor(struct tl_rendering *out, const struct tl_deps_graph *graph, uint64_t tensor_id);
/* "wait retain"; "none"; "not said". */
void tl__put_deps_flags(struct tl_rendering *out, uint8_t flags);
/* Words of the file: "tensormap"; "covered", "" for none; "INPUT". */
const char *tl__deps_source_name(unsigned source);
const char *tl__deps_overlap_name(unsigned overlap);
const char *tl__deps_type_name(unsigned type);
/* "r0t1 -> r0t2 -> r0t1": the cycle, its middle left out if it is long. */
void tl__put_deps_cycle(struct tl_rendering *out, const struct tl_deps_subject *s);

/* ---- answers ---- */

/* What the graph is: counts, shape, kernels, the tasks with the most producers and consumers; what to type next. */
int tl__deps_summary_text(struct tl_rendering *out, const struct tl_deps_subject *s);
int tl__deps_summary_json(struct tl_json *json, const struct tl_deps_subject *s);
/* One task: its arguments, the edges that feed it and that it feeds, those that pass. */
int tl__deps_task_text(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task,
                       const struct tl_deps_filter *filter);
int tl__deps_task_json(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task,
                       const struct tl_deps_filter *filter);
/* What feeds the task over up to `up` edges, and what it feeds over up to `down`; 0: not asked. */
int tl__deps_tree_text(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t task, uint32_t up,
                       uint32_t down);
int tl__deps_tree_json(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task, uint32_t up,
                       uint32_t down);
/* A shortest way from one task to another along the edges, or that there is none, and whether there is one back. */
int tl__deps_path_text(struct tl_rendering *out, const struct tl_deps_subject *s, uint32_t from, uint32_t to);
int tl__deps_path_json(struct tl_json *json, const struct tl_deps_subject *s, uint32_t from, uint32_t to);
/* The tasks that pass, in order of submission; with a buffer, what each does with it. */
int tl__deps_list_text(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_filter *filter);
int tl__deps_list_json(struct tl_json *json, const struct tl_deps_subject *s, const struct tl_deps_filter *filter);
/* Its tasks alone, a line each. */
int tl__deps_list_jsonl(struct tl_json *json, const struct tl_deps_subject *s, const struct tl_deps_filter *filter);

/* ---- parts of JSON ---- */

/* task, kernel_ids, kernels: the members that name a task in an open object. */
/* "tasks", "edges" and "skipped": all of the graph. */
void tl__deps_json_graph(struct tl_json *json, const struct tl_deps_subject *s);
void tl__deps_json_task(struct tl_json *json, const struct tl_deps_subject *s, uint32_t task);
/* kernel_ids, and kernels: their names, null where there is none. */
void tl__deps_json_kernels(struct tl_json *json, const struct tl_deps_subject *s, const int32_t kernel_ids[3]);
/* The members of an edge, fields as in deps.json and buffer_addr, in an open object. */
void tl__deps_json_edge(struct tl_json *json, const struct tl_deps_subject *s, uint32_t edge);

#endif
