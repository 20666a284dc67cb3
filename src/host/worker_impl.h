/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's private structures, and the calls that `tasklens run` needs beyond the public ones. */
#ifndef TL_HOST_WORKER_IMPL_H
#define TL_HOST_WORKER_IMPL_H

#include <stdbool.h>

#include <tasklens/worker.h>

#include "collect/engine.h"
#include "collect/lock.h"
#include "host/loader.h"
#include "host/timeouts.h"
#include "sim/chip.h"
#include "wire/launch.h"

struct tl_loaded {
    struct tl_worker *worker;
    struct tl_object object;
    uint32_t handle; /* on the chip that is running now */
    struct tl_loaded *next;
};

enum tl_run_stage {
    TL_RUN_UNREADY,  /* in submit */
    TL_RUN_PREPARED, /* may be launched */
    TL_RUN_LAUNCHED,
    TL_RUN_SETTLED,  /* the device is done with it */
    TL_RUN_FINISHED, /* outputs fetched, recording written: only the result remains */
};

/* One run, from submit to the end of wait. guard: worker->lock, but for what the launched run's driver reads. */
struct tl_run {
    struct tl_worker *worker;
    struct tl_loaded *loaded;
    uint32_t epoch; /* of its recording, and of its launch */
    enum tl_run_stage stage;
    struct tl_launch args;
    struct tl_run_config config; /* its strings are the fields below */
    char prefix[TL_OUTPUT_PREFIX_MAX + 1], case_name[64], program_hash[24];
    bool recording;
    uint64_t launch, status, block; /* device addresses; block: one allocation that holds launch, status and tables */
    uint32_t n_tensors;
    struct tl_host_tensor tensors[TL_MAX_PROGRAM_ARGS];
    uint64_t tensor_addr[TL_MAX_PROGRAM_ARGS], tensor_bytes[TL_MAX_PROGRAM_ARGS];
    uint64_t tensor_block[TL_MAX_PROGRAM_ARGS]; /* the allocations that hold them */
    /* The host's watchdog. */
    uint64_t launched_ns, seen_progress, idle_from_ns, idle_parked_ns;
    /* The device's parked time is trusted while the host has work from its lanes. */
    uint64_t looked_ns, seen_jobs, no_work_ns, parked_ns;
    /* How the run ended on the device. */
    bool dead;  /* the chip has died; its memory is to be reconciled */
    bool stuck; /* a kernel did not return; the chip cannot be used again */
    int code;
    struct tl_error error; /* of the run; code 0: none */
    struct tl_run_status end;
    struct tl_run_result result;
    struct tl_error record_error;
    struct tl_run *next; /* submitted after it */
};

/* How the device's part of a run ended. */
struct tl_ending {
    enum tl_chip_event event;
    int code;             /* of the chip's answer */
    const char *watchdog; /* the host's, with TL_CHIP_TIMEOUT */
};

struct tl_worker {
    struct tl_lock lock;
    tl_au32 changes; /* X1: counts changes of runs' stages; sleepers park on it */
    bool driven;     /* guard: lock, as everything below; a thread waits for the device */
    bool closing;    /* nothing more is launched */
    bool capture_off;
    struct tl_worker_opts opts;
    const struct tl_arch *arch;
    enum tl_transport_kind transport_kind;
    char platform[16];
    struct tl_timeouts timeouts;
    struct tl_chip *chip;
    struct tl_transport transport;
    bool transport_ready;
    struct tl_engine *engine;    /* NULL until the first run with a diagnostic on */
    struct tl_error alloc_error; /* of the transport's last failed allocation */
    struct tl_loaded *loaded;
    struct tl_run *runs;    /* not waited for yet, oldest first */
    struct tl_run *running; /* on the device; NULL: none */
    uint64_t heap[TL_RINGS], heap_bytes[TL_RINGS];
    uint64_t throttle_bytes_s; /* for the engine, once it is there: tl__worker_throttle_writer */
    uint32_t epoch;            /* of the last run */
    bool pmu_reported;         /* the unknown event type was reported */
    uint32_t poisoned_epoch;   /* the run that left a thread stuck; 0: none */
};

/* Replaces an event type that the chip does not have by the default one, with one warning for each worker. */
void tl__settle_pmu(struct tl_worker *w, struct tl_run_config *c);
/* Starts a dead chip again and loads its programs. 0, or the chip's error. */
int tl__worker_revive(struct tl_worker *w, struct tl_error *reterr);
/* Whether any diagnostic is on. */
bool tl__run_records(const struct tl_run_config *config);

/* place.c. Device memory of the run: heaps, tensors with their data, launch, status, parameters. */
int tl__place(struct tl_run *run, const struct tl_chip_rings *rings, const int64_t *params, struct tl_error *reterr);
/* Whether the existing heaps have the sizes that the run asks for. */
bool tl__heaps_fit(const struct tl_worker *w, const struct tl_run_config *config, const struct tl_chip_rings *rings);

/* run_recording.c. Under the lock. begin: sets run->epoch and args.dfx; TL_EBUSY: another run must be exported
 * first. */
int tl__recording_begin(struct tl_run *run, struct tl_error *reterr);
void tl__recording_abandon(struct tl_run *run);
int tl__recording_end(struct tl_run *run, struct tl_run_result *result, struct tl_error *reterr);

/* queue.c. Under the lock, which they release while they wait. */
void tl__queue_enter(struct tl_run *run);
/* Launches the first prepared run if the device is free. */
void tl__queue_start(struct tl_worker *w);
/* Waits until at most this many runs are prepared or on the device. */
void tl__queue_make_room(struct tl_worker *w, unsigned most);
/* Begins the run's recording, after the export of the runs that hold what it needs. */
int tl__queue_bind(struct tl_run *run, struct tl_error *reterr);
/* Waits until the run is settled: 0, or TL_ETIMEDOUT. */
int tl__queue_settle(struct tl_run *run, uint64_t deadline_ns);

/* wait.c. Waits for the device, without the lock: 0, or TL_ETIMEDOUT. */
int tl__run_await(struct tl_run *run, uint64_t deadline_ns, struct tl_ending *ret_ending);
/* Then, under the lock: settles how the run ended; finishes outputs and recording into run->result. */
void tl__run_note_end(struct tl_run *run, const struct tl_ending *ending);
void tl__run_finish(struct tl_run *run);

/* crash_report.c. Under the lock. Logs a crashed run's status, with the place in its source, which also goes into
 * run->error. Does nothing if the run left no status. */
void tl__crash_report(struct tl_run *run);

/* Waits until the device is done with the run, or until `deadline_ns`: TL_ETIMEDOUT. 0 says nothing of how it ended. */
int tl__run_settle(struct tl_run *run, uint64_t deadline_ns);
/* Waits until the recording of a settled, good run has arrived: TL_ETIMEDOUT at the deadline. 0 if there is nothing to
 * wait for. tl_worker_wait does it too; this call serves a caller that has other work in between. */
int tl__run_drain(struct tl_run *run, uint64_t deadline_ns);
/* Tasks so far, for a progress line. */
void tl__run_progress(struct tl_run *run, uint64_t *ret_retired, uint64_t *ret_submitted);
/* The task that finished last, as its id plus 1; 0: none has. */
uint64_t tl__run_last_task(struct tl_run *run);
/* Whether the device is running it now. */
bool tl__run_is_launched(struct tl_run *run);
/* What is recorded so far, for a progress line. False: nothing. */
bool tl__run_recorded(struct tl_run *run, struct tl_engine_progress *ret_progress);
/* Gives back the run's device memory and frees it. */
void tl__run_free(struct tl_run *run);
/* For tests (--throttle-writer): as tl__engine_throttle_writer, for runs that are submitted from here on. */
void tl__worker_throttle_writer(struct tl_worker *w, uint64_t bytes_s);
/* True if a hang left a thread of this process in a kernel: the caller should leave by _exit. */
bool tl__worker_poisoned(const struct tl_worker *w);

#endif
