/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side: a worker owns one (simulated) chip and runs programs on it.
 *
 * Threads: tl_worker_submit, tl_worker_wait, tl_worker_run, tl_worker_capture_begin and _end may be called from several
 * threads at once, a run's wait by one; the other calls by one at a time, while none of those is under way. Errors:
 * negative codes; details in struct tl_error.
 */
#ifndef TASKLENS_WORKER_H
#define TASKLENS_WORKER_H

#include <tasklens/collectors.h>
#include <tasklens/program.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tl_worker; /* made by tl_worker_open, ended by tl_worker_close */
struct tl_loaded; /* a program on a worker; the worker's, until it closes */
struct tl_run;    /* a submitted run; ended by tl_worker_wait */

enum tl_device_mode { TL_DEVICE_PROCESS = 0, TL_DEVICE_THREAD = 1 };

struct tl_worker_opts {
    uint32_t struct_size;
    int device_id;        /* names the device in messages; several may be open at once */
    const char *platform; /* "a2a3sim" or "a5sim" */
    enum tl_device_mode mode;
    const char *transport; /* NULL: the arch's own; "mapped" or "copy" to force one */
    uint64_t memory_bytes; /* of the device; 0: 16 GiB, sparse */
    unsigned sim_threads;  /* 0: the CPUs */
    unsigned dfx_threads;  /* service threads of the collectors, beside the writer; 0: 1 */
    unsigned depth;        /* max runs that are submitted and not ended; beyond it submit waits; 0: 2 */
};
#ifdef __cplusplus
static inline struct tl_worker_opts tl__worker_opts_init()
{
    struct tl_worker_opts init = {};
    init.struct_size = sizeof init;
    init.platform = "a2a3sim";
    return init;
}
#define TL_WORKER_OPTS_INIT tl__worker_opts_init()
#else
#define TL_WORKER_OPTS_INIT                                                                                            \
    {                                                                                                                  \
        .struct_size = sizeof(struct tl_worker_opts), .platform = "a2a3sim"                                            \
    }
#endif

/* Bytes of an output prefix, without the NUL. */
#define TL_OUTPUT_PREFIX_MAX 700

/* Which form of the artifacts a run writes: all viewers read both, and both have the same content. */
enum tl_format {
    TL_FORMAT_DEFAULT = 0, /* the older one */
    TL_FORMAT_2026_09 = 1, /* what current writers elsewhere use: docs/formats/ */
    TL_FORMAT_COUNT
};

/* One field per flag of `tasklens run`, with its name and default. 0 is the default wherever a field says so. */
struct tl_run_config {
    uint32_t struct_size;
    const char *runtime;       /* NULL: "tensormap_and_ringbuffer"; or "host_build_graph" */
    const char *output_prefix; /* directory for the artifacts; needed if any diagnostic is on; at most
                                  TL_OUTPUT_PREFIX_MAX bytes, so that the names below it fit too */
    /* Of each diagnostic, by enum tl_collect: 0 off, else its level, which is the number that its option takes (1 of an
     * option without one; an event type of the PMU). */
    int32_t levels[TL_COLLECT_SLOTS];
    bool dump_hash_off;       /* --dump-hash off */
    bool dump_oversize_chunk; /* --dump-oversize chunk; else truncate */
    unsigned block_dim;       /* clusters used; 0: all */
    unsigned aicpu_threads;   /* 0: the arch's, or one more than block_dim if that is less */
    /* --dfx-set; 0: the default in docs/formats and tasklens-run(1) */
    uint32_t dfx_records, dfx_buffers, dfx_ready, dfx_free;
    uint64_t dfx_avg_bytes;
    /* rings; 0: the default */
    uint32_t task_window, dep_pool;
    uint64_t heap_bytes;
    const char *case_name; /* for the recording's metadata; NULL: none */
    unsigned guard;        /* --guard: 0 off; 1: a guard page behind each buffer, buffers aligned to their elements;
                            * a larger power of two, at most 4096: aligned to at least so many bytes */
    unsigned format;       /* --format: enum tl_format */
};
#ifdef __cplusplus
static inline struct tl_run_config tl__run_config_init()
{
    struct tl_run_config init = {};
    init.struct_size = sizeof init;
    return init;
}
#define TL_RUN_CONFIG_INIT tl__run_config_init()
#else
#define TL_RUN_CONFIG_INIT                                                                                             \
    {                                                                                                                  \
        .struct_size = sizeof(struct tl_run_config)                                                                    \
    }
#endif

/* A program tensor in host memory: copied to the device before the run; TL_OUT and TL_INOUT copied back after. */
struct tl_host_tensor {
    const char *name;
    void *data; /* the caller's, until the run has been waited for */
    uint32_t shape[TL_MAX_DIMS];
    uint8_t dtype, rank, role; /* role: TL_IN, TL_OUT, TL_INOUT */
};

/* The input of a run. Everything is the caller's and copied, except what tl_host_tensor.data points to. */
struct tl_submit_opts {
    uint32_t struct_size;
    uint32_t n_tensors;                   /* as many as the program takes */
    const struct tl_host_tensor *tensors; /* n_tensors of them; NULL: none */
    const int64_t *params;                /* n_params of them, in the order of the program's table; NULL: none */
    uint32_t n_params;                    /* as many as the program has */
    const struct tl_run_config *config;   /* NULL: every field its default */
};
#ifdef __cplusplus
static inline struct tl_submit_opts tl__submit_opts_init()
{
    struct tl_submit_opts init = {};
    init.struct_size = sizeof init;
    return init;
}
#define TL_SUBMIT_OPTS_INIT tl__submit_opts_init()
#else
#define TL_SUBMIT_OPTS_INIT                                                                                            \
    {                                                                                                                  \
        .struct_size = sizeof(struct tl_submit_opts)                                                                   \
    }
#endif

/* Loss by cause, as in dfx_meta.json. */
enum tl_loss {
    TL_LOSS_HOST_DEAD,
    TL_LOSS_NO_BUFFER,
    TL_LOSS_DISK,
    TL_LOSS_CORRUPT,
    TL_LOSS_DEVICE_DEAD,
    TL_LOSS_COUNT
};

struct tl_run_result {
    uint64_t tasks;     /* retired; of those that have a kernel */
    uint64_t wall_ns;   /* launch to completion on the device */
    uint64_t parked_ns; /* part of it in which lanes waited for the host */
    uint64_t records_attempted, records_collected, records_dropped[TL_LOSS_COUNT];
    uint64_t payload_bytes, payloads_truncated, payloads_lost;
    char artifacts[1024];      /* directory that was written; empty if none */
    int run_code, record_code; /* how the graph and how the recording ended; the call returns the first that is not 0 */
    uint64_t allocations;      /* by tl_alloc_tensors(), which are tasks without a kernel */
};

int tl_worker_open(const struct tl_worker_opts *opts, struct tl_worker **ret_worker, struct tl_error *reterr);
/* `path`: a shared object. Loads it here and on the chip. */
int tl_worker_load(struct tl_worker *w, const char *path, struct tl_loaded **ret_loaded, struct tl_error *reterr);
/* A program linked into the caller; thread mode only. `program` must outlive the worker. */
int tl_worker_load_linked(struct tl_worker *w, const struct tl_program *program, struct tl_loaded **ret_loaded,
                          struct tl_error *reterr);
const struct tl_program *tl_loaded_program(const struct tl_loaded *loaded);

/*
 * Starts a run. The options are copied; the data of its tensors are borrowed until the run has been waited for. While
 * an earlier run is on the device this one is prepared behind it, and launched when that one ends, by whichever call
 * sees it end first: submit, or a wait for any run. Exports run in parallel with the device's work. Beyond the worker's
 * depth, and where this run needs what an earlier one still has (other sizes of pools or heaps, the same directory),
 * submit waits for that one. TL_EPOISONED: a run left a kernel that never returns, the message names it. TL_ENOMEM: the
 * message has the exact shortfall of device memory.
 */
int tl_worker_submit(struct tl_worker *w, struct tl_loaded *program, const struct tl_submit_opts *opts,
                     struct tl_run **ret_run, struct tl_error *reterr);
/* Waits for the run's end, exports, frees `run`. The result is filled as far as known on failure too; a failed run
 * exports like a good one. TL_ECRASH, TL_EHANG, TL_EDEVICE, ...: of the run; TL_ELOST, TL_EIO, ...: of its recording.
 */
int tl_worker_wait(struct tl_worker *w, struct tl_run *run, struct tl_run_result *result, struct tl_error *reterr);
/*
 * Windows: between end and the next begin runs are submitted with every diagnostic off, whatever their configuration
 * says. A worker starts inside a window. Runs submitted before are not affected.
 */
void tl_worker_capture_begin(struct tl_worker *w);
void tl_worker_capture_end(struct tl_worker *w);
/* submit and wait in one. The result is set in every case: of a refused call it has the code in run_code and else
 * zeros. */
int tl_worker_run(struct tl_worker *w, struct tl_loaded *program, const struct tl_submit_opts *opts,
                  struct tl_run_result *result, struct tl_error *reterr);
/*
 * Stops the chip, whatever it does, and frees everything, also runs that were not waited for. Of those, a run that had
 * ended on the device is exported as usual, but its outputs are not copied back; one that had not is abandoned, and
 * nothing of its recording stays. (In thread mode the run on the device cannot be stopped: close waits for its end,
 * and exports it.) NULL is fine. After a hang in thread mode a thread is stuck in a kernel: it and what it uses stay,
 * and the program should end by _exit.
 */
void tl_worker_close(struct tl_worker *w);

#ifdef __cplusplus
}
#endif
#endif
