/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's own structures. Roles:
 *
 *   scheduler   (a few) owns a share of the clusters: takes finished subtasks from its cores, completes tasks, makes their
 *               successors ready, captures arguments, dispatches. Its lock says which thread runs it now.
 *   core        idle -> dispatched -> running -> finished, with one running and one pending slot
 *   orchestrator (tensormap_and_ringbuffer) the program's function on its own thread; while it waits for room it steps
 *               the other roles
 *
 * Threads step roles; no role blocks a thread. A chain of tasks thus runs on one thread without a hand-off. A thread
 * that finds a role locked leaves it to whoever has the lock. So who steps roles either looks at all of them again
 * before it sleeps (tl__device_sleep), or, where it goes on to something else, rings: the watch, an orchestrator that
 * found room.
 *
 * Orders (each labelled site names these):
 *   D1/D2  a slot is filled before its last `waits` is counted down; whoever counts it to 0 sees it whole
 *   D3     a task's effects are visible before its fanout list is closed and its successors are counted down
 *   D4     `holds` reaches 0 after the last use of a slot; the orchestrator reclaims it after seeing 0
 *   D5     a core's token is written before `tokens` is raised or its todo bit is set; who takes the bit sees it
 *   D6     a subtask's effects are visible before its FIN (fin_count, fin bit); the scheduler's look sees them
 *   D7     a scheduler's state is handed from thread to thread by its lock
 */
#ifndef TL_DEVICE_INTERNAL_H
#define TL_DEVICE_INTERNAL_H

#include <assert.h>

#include "device/device.h"

#include "arch/pmu.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/ticks.h"
#include "device/ready.h"
#include "device/recorder.h"
#include "graph/graph.h"
#include "wire/producer.h"
#include "wire/swimlane_record.h"

#define TL_MAX_SCHEDULERS TL_MAX_AICPU_THREADS
#define TL_LOCAL_READY 4u /* tasks a scheduler keeps for itself before it shares */

enum tl_shape { TL_SHAPE_MIX, TL_SHAPE_AIC, TL_SHAPE_AIV, TL_SHAPE_COUNT };
enum tl_core_kind { TL_KIND_AIC, TL_KIND_AIV0, TL_KIND_AIV1, TL_KIND_COUNT };

struct tl_slot;

/* One predecessor of one task: an entry of the successor's dep pool, linked into the predecessor's fanout. */
struct tl_dep {
    struct tl_slot *succ, *pred;
    struct tl_dep *next;
    uint32_t flags; /* TL_EDGE_WAIT, TL_EDGE_RETAIN */
};

/* What schedulers need of a task with one kernel is one cache line, and no other task's. */
struct tl_slot {
    _Alignas(64) tl_au32 waits;      /* predecessors not complete, +1 while it is being submitted; D1/D2 */
    tl_au32 holds;                   /* itself until complete, each retaining successor; D4 */
    tl_au32 subtasks;                /* kernels x blocks not finished; D6 */
    uint32_t next_block;             /* first block not dispatched; the scheduler that popped the slot */
    _Atomic(struct tl_dep *) fanout; /* successors to count down; FANOUT_CLOSED once complete; D3 */
    struct tl_task_payload *payload;
    const struct tl_kernel *widest; /* whose signature says which tensors are captured */
    struct tl_slot *next_local;     /* in a scheduler's own list */
    uint32_t dep_at, n_deps;        /* its entries in the ring's dep pool: dep_at and on, tl__dep_next */
    uint8_t ring;
    uint8_t shape : 7;
    bool single : 1;                                /* one block */
    uint8_t width;                                  /* of the widest: its tensors */
    bool captured;                                  /* its inputs are recorded; the scheduler that popped the slot */
    tl_au32 stalled;                                /* 1: its partial outputs are recorded, or being so; S1 */
    const struct tl_kernel *kernels[TL_KIND_COUNT]; /* by core; NULL: left out */
};
_Static_assert(offsetof(struct tl_slot, kernels) == 64, "one cache line");

struct tl_ring {
    struct tl_slot *slots;
    struct tl_dep *deps;
    uint8_t *payloads;
    uint64_t payload_bytes;
    uint32_t window, dep_pool;
    /* Written at each submit, so apart from what schedulers read. */
    _Alignas(64) uint64_t payload_at; /* where the next payload goes; orchestrator, as the next one */
    bool *released;                   /* by slot: its scope has ended. Apart from the slot, which may be elsewhere */
    tl_au32 head, tail;               /* local ids; writer: orchestrator; readers: the watch (relaxed: for its lines) */
};

/* DI6: what a ring's tail and head say. Orchestrator's thread, or with every scheduler's lock. */
static inline void tl__ring_assert(const struct tl_ring *ring, uint32_t tail, uint32_t head)
{
    assert(head - tail <= ring->window);
    assert((ring->window & (ring->window - 1)) == 0);
    (void)ring, (void)tail, (void)head;
}

/* The dep pool's entry after `at`. */
static inline uint32_t tl__dep_next(const struct tl_ring *ring, uint32_t at)
{
    assert(at < ring->dep_pool); /* DI6 */
    return at + 1 == ring->dep_pool ? 0 : at + 1;
}

/* What a scheduler hands a core. */
struct tl_token {
    struct tl_slot *slot;
    uint32_t block;
    uint32_t recorded; /* bit: stream that has this subtask's record; the scheduler */
    /* Device cycles; 0 where the level does not ask. */
    uint64_t dispatch, finish; /* the scheduler */
    uint64_t start, end;       /* the core; D6 */
    uint64_t taken;            /* when the core took it, at level 2 and up; the core; D6 */
    /* With the PMU on; the core; D6. */
    uint64_t counts[TL_COUNT_CLASSES];       /* what the kernel reported */
    uint64_t before[1 + TL_PMU_MAX_MACHINE]; /* the machine's, by name in struct tl_pmu_plan */
    uint64_t after[1 + TL_PMU_MAX_MACHINE];
    bool measured; /* both of them are there */
};

struct tl_core_role {
    tl_au32 tokens;           /* dispatched and not finished, 0..2; D5 */
    tl_au32 fin_count;        /* finished, ever; D6 */
    uint32_t sent, seen;      /* dispatched and taken back, ever; its scheduler */
    struct tl_token token[2]; /* token[n & 1]: the n-th */
    tl_au32 running;          /* 1: inside a kernel; writer: the thread that runs the core; readers: the watch */
    uint32_t id, run_count;   /* run_count: finished, ever; the thread that runs the core */
    uint64_t stamp;           /* its last one, device cycles; the same thread */
    tl_au64 since;            /* start of the timed kernel that it is inside of, 0: none; readers: after a hang */
    uint8_t kind, cluster;    /* enum tl_core_kind; index in its scheduler */
    struct tl_sched *sched;
};

/* Where a capture stands, so that a parked one goes on where it stopped. */
struct tl_capture {
    struct tl_slot *slot; /* NULL: none */
    uint8_t stage;        /* enum tl_wire_stage */
    bool partial;         /* the task still runs: a hang was declared */
    uint32_t next;        /* next argument: tensors, then scalars */
    uint64_t piece_done;  /* bytes of the current oversize payload already streamed */
    uint32_t piece;
    struct tl_hash hash; /* of a payload in pieces */
};

/* The args dump of one scheduler. */
struct tl_probe {
    struct tl_capture capture;
    uint8_t level;
    bool hash, chunk;
};

#define TL_PHASES_PENDING 32u
#define TL_PHASES_SPARE 4u /* of them; what one task's completion and the rest of the step may add */

/* Phases of a scheduler that are not in their lane yet, and what the current one has counted. */
struct tl_phases {
    uint32_t count, flushed;
    uint32_t steps, tasks, pop_hit, pop_miss;
    struct tl_wire_phase pending[TL_PHASES_PENDING];
};

/* What this run counts, and where each column of the event type comes from. */
struct tl_pmu_plan {
    const struct tl_pmu_set *set;     /* NULL: nothing is counted */
    const struct tl_counter_ops *ops; /* NULL: the machine gives nothing */
    const char *names[1 + TL_PMU_MAX_MACHINE];
    unsigned n_names;
    uint8_t event[TL_PMU_MAX_COUNTERS], less[TL_PMU_MAX_COUNTERS]; /* by column; positions in names; 0: none */
    uint16_t measured;                                             /* bit: column that the machine gives */
    uint8_t machine;                                               /* enum tl_wire_machine */
};

struct tl_sched {
    tl_au32 lock; /* 1: a thread runs it; D7 */
    uint32_t idx;
    struct tl_device *device;
    _Alignas(64) tl_au64 todo[TL_KIND_COUNT]; /* bit c: core of cluster c has a token and nobody runs it; D5 */
    tl_au64 fin[TL_KIND_COUNT];               /* bit c: core of cluster c has finished subtasks; D6 */
    /* guard: lock */
    _Alignas(64) uint64_t idle[TL_KIND_COUNT]; /* bit c: nothing in flight */
    uint64_t room[TL_KIND_COUNT];              /* bit c: at most one in flight */
    uint64_t taken_fin[TL_KIND_COUNT];
    struct tl_slot *held[TL_SHAPE_COUNT];
    struct tl_slot *local[TL_SHAPE_COUNT];
    uint32_t n_local[TL_SHAPE_COUNT];
    uint32_t next_unfinished;          /* cores looked at by tl__subtasks_unfinished */
    uint32_t n_clusters, next_stalled; /* next_stalled: cores looked at after a hang, AIC AIV0 AIV1 a cluster */
    tl_au32 ended;                     /* its lane has its end mark, or never will; D9 */
    tl_au64 deadline_ns;               /* when its parked lane must look again; TL_FOREVER: not parked */
    struct tl_probe probe;
    struct tl_recorder rec;
    uint64_t stamp; /* its last one, device cycles */
    struct tl_phases phases;
    struct tl_core_role *cores[TL_KIND_COUNT][TL_MAX_CLUSTERS];
    _Alignas(
        64) tl_au64 retired; /* tasks; writer: guard; readers: anyone (relaxed figure, D8 for the end of the run) */
    tl_au64 last_task;       /* 1 + the id of the last of them; writer: guard; readers: the watch (relaxed figure) */
    tl_au64 last_reported;   /* `retired` when the watch last reported it; writers: the watch, the report */
    tl_au32 has_work;        /* hint: held, local or captured work is waiting */
};

/* DI4: state that only who has the lock may touch. */
static inline bool tl__sched_is_locked(const struct tl_sched *s)
{
    return tl_load_rlx(&s->lock) != 0; /* relaxed: this thread took it */
}

/* A guarded buffer of a run with --guard; device/guard.h. */
struct tl_guarded {
    uint64_t buffer, bytes; /* device address */
    uint64_t owner;         /* the task that allocated it; TL_NO_TASK: the program's own */
    uint32_t arg;           /* which of its owner's tensors it is */
    bool used, soft;        /* soft: its guard page is a canary */
};

struct tl_guard_heap {
    uint64_t start, pages;      /* what whole pages fill of the ring's heap */
    struct tl_guarded *of_page; /* the buffer that begins in each */
};

struct tl_guard {
    uint32_t align;  /* least alignment of buffers; 0: this run is not guarded */
    bool soft;       /* the system gives no more guard pages; orchestrator */
    uint32_t closed; /* guard pages; orchestrator */
    uint32_t n_program;
    struct tl_guarded program[TL_MAX_PROGRAM_ARGS];
    struct tl_guard_heap heap[TL_GRAPH_RINGS];
};

#define TL_ORCH_RECORD_BYTES 512u /* the largest record of a stream of the orchestrator's */

/* The orchestrator's lanes. orch_record.c */
struct tl_orch_record {
    tl_au32 lock;           /* 1: a thread uses `rec`; O1 */
    tl_au32 ended;          /* its lanes have their end marks, or never will; D9 */
    tl_au64 deadline_ns;    /* when a parked lane must look again; TL_FOREVER: none is parked */
    struct tl_recorder rec; /* guard: lock */
    uint32_t waits;         /* 1 + the stream that has no room for `waiting`; 0: none. guard: lock */
    _Alignas(8) uint8_t waiting[TL_ORCH_RECORD_BYTES]; /* guard: lock */
};

/* A kernel of the program and how many tensors its signature names. */
struct tl_kernel_ref {
    const struct tl_kernel *kernel;
    uint8_t width;
};

#define TL_WARNED_MISMATCH 1u
#define TL_WARNED_BEYOND 2u

/* What is kept of a build (image.c); the slots are in ring 0. */
struct tl_image {
    void *definition; /* what it was built from; NULL: nothing is kept */
    struct tl_graph *graph;
    uint64_t submitted, retired_early;
};

/* Bit: stream that is on in this run and has the operation; probes.h. */
struct tl_probe_sets {
    uint32_t inputs, outputs, before, after, subtask, expected, hung, submit, submitted, scope, end;
    bool counted; /* kernels count */
    bool stamped; /* dispatch and finish of a subtask are stamped too */
};

struct tl_device {
    struct tl_device_opts opts;
    struct tl_thread **threads;
    tl_au32 go;     /* counts runs; sleepers between runs park on it */
    tl_au32 stop;   /* the device is being destroyed */
    tl_au32 inside; /* pool threads that are in the run */
    /* The run. */
    tl_au32 over;          /* every task retired and every lane ended, or the run failed and is flushed */
    tl_au32 submitted_all; /* the orchestration has returned; `submitted` is final; D8 */
    tl_au32 room_wanted;   /* the orchestrator sleeps until something retires */
    tl_au32 failed;        /* a fatal code is set: dispatch nothing more */
    tl_au32 hung;          /* no progress: run no kernel any more, record what runs, end; H1 */
    tl_au32 reported;      /* the run's status is written; H2 */
    struct tl_thread *watch;
    uint64_t began_ns;
    bool stuck; /* a thread never came back from a kernel: the device cannot be used again */
    const struct tl_launch *launch;
    struct tl_run_status *status;
    const struct tl_program *program;
    struct tl_kernel_ref *by_func; /* func_id -> kernel */
    uint32_t n_func;
    tl_au32 warned; /* TL_WARNED_* */
    uint32_t n_scheds, n_cores;
    struct tl_sched *scheds;
    struct tl_core_role *cores;
    struct tl_ready ready[TL_SHAPE_COUNT];
    struct tl_ring rings[TL_GRAPH_RINGS];
    uint64_t ready_capacity;
    struct tl_image image;
    struct tl_graph *spare; /* of the last run that was not an image: memory for the next one; NULL: none */
    struct tl_orch_record orch_record;
    struct tl_clock clock; /* of records; ready in a run that is timed */
    bool timed;            /* cores stamp their subtasks */
    struct tl_probe_sets probes;
    struct tl_pmu_plan pmu;
    bool barrier; /* a full barrier before FIN: a probe reads what a kernel stored */
    struct tl_guard guard;
    /* Written at each submit, so apart from what every step reads. */
    _Alignas(64) tl_au64 submitted; /* writer: orchestrator */
    tl_au64 retired_early;          /* tasks without kernel, retired at submit; writer: orchestrator */
};

/* --- run.c: one launch --------------------------------------------------------------------------------------- */

struct tl_orch;

/* What a runtime decides. */
struct tl_runtime_policy {
    const char *name;
    bool recycle;     /* rings are recycled; else one image */
    bool build_first; /* orchestrate to the end before any task runs */
    uint8_t rings;    /* 1..TL_GRAPH_RINGS */
};

/* The launch at `addr`, or NULL if none is there. */
const struct tl_launch *tl__device_launch(const struct tl_device *d, uint64_t addr);
int tl__device_run(struct tl_device *d, uint64_t launch, const struct tl_program *program,
                   const struct tl_runtime_policy *policy);
/* First fatal code wins; its text goes to the run's status. True if it is this one. Any thread. */
bool tl__device_fail(struct tl_device *d, int code, const char *text);
/* Steps every role once, as far as each goes without waiting. True if anything moved. Any thread of the run. */
bool tl__device_step(struct tl_device *d, unsigned hint);
/* Sleeps until the bell rings or a parked lane must look again. Once `waiting` is raised it steps every role and asks
 * `look` (NULL: nothing else) for what the caller waits for; either keeps it awake. Any thread of the run. */
void tl__device_sleep(struct tl_device *d, unsigned hint, bool (*look)(void *arg), void *arg);
/* Wakes a sleeping thread if there is one. */
void tl__device_notify(struct tl_device *d);
uint64_t tl__device_retired(struct tl_device *d);
/* Puts into the run's status how many tasks were submitted and retired, allocations apart: the one place that counts
 * them for people. Any thread, a signal handler too. */
void tl__device_tell_counts(struct tl_device *d, struct tl_run_status *status);
/* Puts into the run's status which task has finished last: of those since the last look the youngest. Any thread. */
void tl__device_tell_last(struct tl_device *d);
/* Works until the run is over. The pool's threads do so between enter and leave; the caller of run does it itself. */
void tl__device_work(struct tl_device *d, unsigned hint);
void tl__device_enter(struct tl_device *d);
void tl__device_leave(struct tl_device *d);
void tl__device_free_rings(struct tl_device *d);

/* Writes the run's status and rings its waiter; only the first call of a run does. Any thread. */
void tl__device_report(struct tl_device *d);
/* Whether the run goes on, and the end of it. */
bool tl__device_over(struct tl_device *d);

/* --- watch.c, stall.c: a run that makes no progress ----------------------------------------------------------------
 */

/* The watch's thread: sleeps between runs; in a run looks now and then whether anything moved, declares the hang. */
void tl__watch_main(void *arg);
/* One line a stuck task to the log; the first also to `text` for the run's status. */
void tl__stall_lines(struct tl_device *d, uint64_t still_ns, char *text, size_t n);
/* Records the partial outputs of tasks that run on this scheduler's cores. 0 done, TL_EAGAIN parked. */
int tl__stall_capture(struct tl_sched *s);

/* --- orch.c, link.c ------------------------------------------------------------------------------------------- */

struct tl_orch {
    struct tl_device *device;
    struct tl_graph *graph;
    const struct tl_runtime_policy *policy;
    uint64_t submitted, retired_early;
    int error;
};

/* Runs the orchestration to its end, errors included. */
void tl__orch_run(struct tl_orch *o);
/* Links a planned task to its predecessors and makes it ready if none is left. True: it is ready. */
bool tl__link(struct tl_orch *o, struct tl_slot *slot, const struct tl_plan *plan);
/* The second half of it: from the slot's own dep entries. */
bool tl__connect(struct tl_device *d, struct tl_slot *slot);
/* One warning for each tag that no task of the graph took. */
void tl__warn_unconsumed_tags(const struct tl_graph *graph);
/* Takes back the slots that nothing holds any more. True if any. */
bool tl__reclaim(struct tl_orch *o);

/* --- orch_record.c: what the orchestrator records ----------------------------------------------------------------- */

int tl__orch_record_begin(struct tl_device *d);
/* The next record of the orchestrator's stream, which must be on, to be filled and committed before anything else is
 * asked of the lanes; NULL: it is lost, and counted. Orchestrator's thread. */
void *tl__orch_reserve(struct tl_orch *o, unsigned stream);
/* Where there was no room for it: waits for the host as long as it lives, stepping the other roles. */
void tl__orch_commit(struct tl_orch *o, unsigned stream);
/* Hands over the record that waits for room; ends the lanes when nothing more will come. True if anything moved. Any
 * thread of the run. */
bool tl__orch_step(struct tl_device *d);

/* --- image.c: the last build, for a run of the same definition ------------------------------------------------- */

/* Whether the launch is of what the kept image was built from. */
bool tl__image_fits(const struct tl_device *d);
/* Keeps what ring 0 holds, and takes `graph` over. After a run that went well. */
void tl__image_keep(struct tl_device *d, struct tl_graph *graph);
/* Forgets it: before its slots become something else, and after a run that failed. */
void tl__image_drop(struct tl_device *d);
/* In place of the orchestration: every slot as it was before the first task ran, linked, ready ones queued. */
void tl__image_start(struct tl_device *d);

/* --- sched.c, dispatch.c, complete.c, core.c -------------------------------------------------------------------- */

void tl__hold_drop(struct tl_slot *slot);

#define TL_FANOUT_CLOSED ((struct tl_dep *)1)

bool tl__sched_step(struct tl_sched *s);
bool tl__sched_has_work(struct tl_sched *s);
bool tl__dispatch_step(struct tl_sched *s);
/* A task whose last predecessor is complete; `s`: the scheduler that found out, NULL from the orchestrator. */
void tl__make_ready(struct tl_device *d, struct tl_sched *s, struct tl_slot *slot);
bool tl__complete_step(struct tl_sched *s);
/* Everything is captured: closes the fanout, releases what the task held. */
void tl__retire(struct tl_sched *s, struct tl_slot *slot);

/* --- probe.c: the args dump's hooks in the task state machine -------------------------------------------------- */

/* Whether this run dumps arguments. */
static inline bool tl__probe_on(const struct tl_sched *s)
{
    return tl__records(&s->rec, TL_STREAM_DUMP);
}

/* Once the scheduler's recorder has begun. 0, TL_ECORRUPT. */
int tl__probe_begin(struct tl_sched *s);
/* Records the task's arguments of one stage. 0 done; TL_EAGAIN parked: call tl__probe_resume later, nothing else
 * before. */
int tl__probe_task(struct tl_sched *s, struct tl_slot *slot, uint8_t stage);
int tl__probe_resume(struct tl_sched *s);
/* The outputs of a task that has not finished, as they are now. As tl__probe_task. */
int tl__probe_partial(struct tl_sched *s, struct tl_slot *slot);
/* Records that a retired task calls for by the rules alone. */
uint64_t tl__probe_expected(const struct tl_probe *p, const struct tl_slot *slot);
/* Payload bytes that the task will bring, before it runs. */
uint64_t tl__probe_payload_bytes(const struct tl_sched *s, const struct tl_slot *slot);
/* Bytes that a graph which is built to its end will bring to the disk: payloads, and records with what tells of them.
 */
struct tl_foreseen {
    uint64_t records, payload_bytes;
};
void tl__probe_foresee(const struct tl_device *d, struct tl_foreseen *ret_foreseen);

/* --- timing.c: the chip swimlane ------------------------------------------------------------------------------- */

/* Both clocks, in a run that is timed, at its beginning and end. */
void tl__timing_begin(struct tl_device *d);
void tl__timing_end(struct tl_device *d);
/* Device cycles now, as a role stamps them: not before its last stamp, nor before `cause`, what it follows from. A role
 * goes from thread to thread, and a counter may be read a little ahead of the load that told of the cause. */
static inline uint64_t tl__stamp(const struct tl_device *d, uint64_t *last, uint64_t cause)
{
    uint64_t now = tl__clock_cycles(&d->clock), floor = cause > *last ? cause : *last;

    return *last = now > floor ? now : floor;
}
/* Does a step; with phases on it is one, if it moved anything. `follows`: the scheduler's last stamp was taken just
 * now, at the end of the phase before it. */
bool tl__phase_step(struct tl_sched *s, enum tl_wire_phase_kind kind, bool follows, bool (*step)(struct tl_sched *s));
/* Notes a phase from `start` until now. There is room for TL_PHASES_SPARE of them after a look at tl__phases_room. */
void tl__phase_note(struct tl_sched *s, enum tl_wire_phase_kind kind, uint64_t start, uint32_t tasks);
static inline bool tl__phases_room(const struct tl_sched *s)
{
    return s->phases.count <= TL_PHASES_PENDING - TL_PHASES_SPARE;
}
/* Hands the noted phases to their lane. False: it is parked, and the scheduler must not go on. */
bool tl__phases_flush(struct tl_sched *s);

/* Any core of its type may run a task of one kernel; a mix has a kernel a core. */
static inline const struct tl_kernel *tl__kernel_of(const struct tl_core_role *core, const struct tl_slot *slot)
{
    return slot->shape == TL_SHAPE_MIX ? slot->kernels[core->kind] : slot->widest;
}

/* Runs one subtask on one core that has something to do, of any scheduler. */
bool tl__cores_step(struct tl_device *d, unsigned hint);
/* True if at least `n` cores have a token and nobody runs them. A hint. */
bool tl__cores_todo(struct tl_device *d, unsigned n);
/* Puts a token on a core of its own scheduler; the caller has checked that there is room. */
void tl__core_send(struct tl_core_role *core, struct tl_slot *slot, uint32_t block);

#endif
