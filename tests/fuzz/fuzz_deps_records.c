/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of dep_gen that a dying device's memory might hold: what passes the inspection is exported, that is read,
 * replayed and compared. Once as a run that failed, once as one where nothing was lost.
 */
#include "fuzz.h"

#include "../support/deps_tape.h"

static void export_one(const struct deps_tape *tape, uint32_t rings, bool failed)
{
    /* No such directory: the file is the one thing that is not made. */
    const struct tape_run run = {.dir = "/nonexistent/tasklens", .rings = rings, .failed = failed, .per_batch = 3};
    struct tl_error err = {0};
    int code = tape_export(tape, &run, &err);

    MUST(code <= 0);
    MUST(code == 0 || (err.code == code && err.msg[0] != '\0'));
    MUST(!failed || code != TL_ECORRUPT || strstr(err.msg, "is not written: task r") != NULL);
}

static void repair_edges(struct tl_wire_deps_edge *edges, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        edges[i].pred &= UINT64_C(0x3ffffffff);
        edges[i].source %= 3;
        edges[i].flags &= 15;
        edges[i].arg = edges[i].source == TL_EDGE_EXPLICIT ? -1 : edges[i].arg & 15;
    }
}

static void repair_ids(uint64_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ids[i] &= UINT64_C(0x3ffffffff);
}

/* What would end at the inspection or at the first gap goes on. */
static void repair(struct deps_tape *tape)
{
    uint32_t index = 0, local[4] = {0}, arg = 0;
    uint64_t id = 0;

    for (uint32_t i = 0; i < tape->count; i++) {
        union tl_wire_deps_record *r = &tape->records[i];

        switch (r->kind) {
        case TL_WIRE_DEPS_TASK:
            r->task.flags &= 3;
            r->task.index = index++;
            r->task.task_id = id = (r->task.task_id >> 32 & 3) << 32 | local[r->task.task_id >> 32 & 3]++;
            r->task.depth &= 7;
            r->task.block_num |= 1;
            r->task.n_args %= 17;
            for (unsigned k = 0; k < 3; k++)
                r->task.func[k] = r->task.func[k] < -1 ? -1 : r->task.func[k];
            if ((r->task.flags & TL_WIRE_DEPS_ALLOC) != 0)
                r->task.n_deps = r->task.n_edges = 0;
            repair_edges(r->task.edges, TL_WIRE_DEPS_TASK_EDGES);
            repair_ids(r->task.deps, TL_WIRE_DEPS_TASK_IDS);
            arg = 0;
            break;
        case TL_WIRE_DEPS_ARG:
            r->arg.direction %= 5;
            r->arg.task_id = id;
            r->arg.arg = arg++;
            break;
        case TL_WIRE_DEPS_IDS:
            r->ids.count = (uint8_t)(r->ids.count % 15 + 1);
            repair_ids(r->ids.ids, TL_WIRE_DEPS_IDS_MAX);
            break;
        default:
            r->kind = TL_WIRE_DEPS_EDGES;
            r->edges.count = (uint8_t)(r->edges.count % 7 + 1);
            r->edges.task_id = id;
            repair_edges(r->edges.edges, TL_WIRE_DEPS_EDGES_MAX);
        }
    }
}

static void export_both(const struct deps_tape *tape)
{
    export_one(tape, 4, true);
    export_one(tape, 1, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct deps_tape tape = {0};

    for (size_t at = 0; at + sizeof(union tl_wire_deps_record) <= size; at += sizeof(union tl_wire_deps_record))
        memcpy(tape_next(&tape), data + at, sizeof(union tl_wire_deps_record));
    if (tape_inspect(&tape) == NULL)
        export_both(&tape);
    repair(&tape);
    MUST(tape_inspect(&tape) == NULL);
    export_both(&tape);
    tape_free(&tape);
    return 0;
}
