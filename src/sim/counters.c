/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One group of events for each thread, opened at its first reading in a run: the first event leads, all of them count
 * together or not at all (a pinned group), in user mode only. They are read from their registers if the processor lets
 * a program do that, else by one read() of the group. The thread that begins a run decides what it counts; a thread on
 * which the same cannot be opened measures nothing.
 *
 * Descriptors stay open until the next run begins or the counters end, so that a late thread reads useless numbers, but
 * never another file.
 */
#include "sim/counters.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/env.h"
#include "sim/counter_page.h"
#include "wire/pmu_record.h"

#define MAX_EVENTS 16u
#define MAX_DESCRIPTORS 4096u
#define LIBRARY "libpfm.so.4"

struct tl_counters {
    struct tl_counter_ops ops;
    void *library; /* NULL: not loaded */
    pfm_err_t (*encode)(const char *name, int privileges, pfm_os_t os, void *arg);
    /* Of the run; written between runs. */
    struct perf_event_attr attr[MAX_EVENTS];
    uint8_t place[MAX_EVENTS]; /* in the caller's list */
    unsigned n_events;         /* 0: nothing is counted */
    uint64_t generation;       /* of all counters ever begun: threads see by it whether their group is of this run */
    tl_au32 n_descriptors;
    struct opened {
        int fd;
        void *page; /* of the event, for reading registers; NULL: the system gives none */
    } opened[MAX_DESCRIPTORS];
};

/* The calling thread's group. */
static _Thread_local struct {
    uint64_t generation;
    int leader;                                                   /* -1: it cannot be opened here */
    const volatile struct perf_event_mmap_page *page[MAX_EVENTS]; /* the kernel's pages */
} mine;

static tl_au64 generations;

/* On other processors the system reads them. */
#if defined(__x86_64__)
#define HAS_REGISTERS true
static uint64_t register_of(uint32_t number)
{
    return (uint64_t)__builtin_ia32_rdpmc((int)number);
}
#else
#define HAS_REGISTERS false
static uint64_t register_of(uint32_t number)
{
    (void)number;
    return 0;
}
#endif

/* The place-th event of the calling thread's group. A descriptor, or a negative errno. */
static int open_event(struct tl_counters *c, const struct perf_event_attr *attr, unsigned place, int leader)
{
    struct perf_event_attr copy = *attr;
    uint32_t at;
    int fd;

    assert(place < MAX_EVENTS);
    assert((leader < 0) == (place == 0)); /* MI8: the first event leads its group */
    copy.pinned = copy.disabled = leader < 0;
    fd = (int)syscall(SYS_perf_event_open, &copy, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return -errno;
    at = tl_add_rlx(&c->n_descriptors, 1u); /* relaxed: a place that no other thread has; all are read between runs */
    if (at >= MAX_DESCRIPTORS) {
        (void)close(fd);
        return -EMFILE;
    }
    c->opened[at].fd = fd;
    c->opened[at].page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    if (c->opened[at].page == MAP_FAILED)
        c->opened[at].page = NULL;
    mine.page[place] = c->opened[at].page;
    return fd;
}

/* Starts the whole group: events that join a running group may not count. False: it could not be started. */
static bool start_group(void)
{
    return ioctl(mine.leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0;
}

static void close_all(struct tl_counters *c)
{
    uint32_t n = tl_load_rlx(&c->n_descriptors); /* relaxed: between runs, as the next */

    for (uint32_t i = 0; i < n && i < MAX_DESCRIPTORS; i++) {
        if (c->opened[i].page != NULL)
            (void)munmap(c->opened[i].page, (size_t)sysconf(_SC_PAGESIZE));
        (void)close(c->opened[i].fd);
    }
    tl_store_rlx(&c->n_descriptors, 0);
}

static uint8_t state_of(int err)
{
    switch (err) {
    case EACCES:
    case EPERM:
        return TL_MACHINE_DENIED;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case ENOSYS:
        return TL_MACHINE_ABSENT;
    default:
        return TL_MACHINE_FAILED;
    }
}

/* ---- names ---- */

static bool load_library(struct tl_counters *c)
{
    pfm_err_t (*initialize)(void);
    void *encode;

    if (c->encode != NULL)
        return true;
    if (c->library == NULL)
        c->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (c->library == NULL)
        return false;
    *(void **)&initialize = dlsym(c->library, "pfm_initialize");
    encode = dlsym(c->library, "pfm_get_os_event_encoding");
    if (initialize == NULL || encode == NULL || initialize() != PFM_SUCCESS)
        return false;
    *(void **)&c->encode = encode;
    return true;
}

static bool encode(const struct tl_counters *c, const char *name, struct perf_event_attr *ret_attr)
{
    pfm_perf_encode_arg_t arg = {.attr = ret_attr, .size = sizeof(arg)};

    memset(ret_attr, 0, sizeof(*ret_attr));
    if (c->encode(name, PFM_PLM3, PFM_OS_PERF_EVENT, &arg) != PFM_SUCCESS)
        return false;
    ret_attr->size = sizeof(*ret_attr);
    ret_attr->read_format = PERF_FORMAT_GROUP;
    ret_attr->exclude_kernel = ret_attr->exclude_hv = 1;
    return true;
}

/* ---- a run ---- */

/* Adds an event to the calling thread's group. 0, or an errno. */
static int add(struct tl_counters *c, const char *name, unsigned place)
{
    struct perf_event_attr attr;
    int fd;

    assert(c->n_events < MAX_EVENTS);
    assert(c->n_events == 0 || mine.leader >= 0); /* MI8 */
    if (!encode(c, name, &attr))
        return ENOENT;
    fd = open_event(c, &attr, c->n_events, c->n_events == 0 ? -1 : mine.leader);
    if (fd < 0)
        return -fd;
    if (c->n_events == 0)
        mine.leader = fd;
    c->place[c->n_events] = (uint8_t)place;
    c->attr[c->n_events++] = attr;
    return 0;
}

/* All of them from registers. */
static bool read_registers(const struct tl_counters *c, uint64_t *values)
{
    for (unsigned i = 0; i < c->n_events; i++)
        if (!HAS_REGISTERS || mine.page[i] == NULL ||
            !tl__counter_page_read(mine.page[i], register_of, &values[c->place[i]]))
            return false;
    return true;
}

static bool read_group(const struct tl_counters *c, uint64_t *values)
{
    struct {
        uint64_t count, values[MAX_EVENTS];
    } group;
    ssize_t n = read(mine.leader, &group, sizeof(group));

    if (n < (ssize_t)((1 + c->n_events) * sizeof(uint64_t)) || group.count != c->n_events)
        return false; /* 0: a pinned group that found no place in the hardware */
    for (unsigned i = 0; i < c->n_events; i++)
        values[c->place[i]] = group.values[i];
    return true;
}

static uint32_t begin(void *ctx, const char *const *names, unsigned n, uint8_t *ret_state)
{
    struct tl_counters *c = ctx;
    uint64_t values[MAX_EVENTS];
    uint32_t counted = 0;
    int err;

    close_all(c);
    c->n_events = 0;
    c->generation = tl_add_rlx(&generations, UINT64_C(1)) + 1; /* relaxed: a number that no other has */
    mine.generation = c->generation;
    mine.leader = -1;
    if (n > MAX_EVENTS || !load_library(c)) {
        *ret_state = TL_MACHINE_NO_NAMES;
        return 0;
    }
    err = add(c, names[0], 0);
    *ret_state = err != 0 ? state_of(err) : TL_MACHINE_ABSENT;
    for (unsigned i = 1; i < n && c->n_events != 0; i++) {
        if (add(c, names[i], i) == 0)
            counted |= 1u << i;
    }
    if (counted != 0 && !(start_group() && read_group(c, values))) {
        *ret_state = TL_MACHINE_FAILED; /* more events than the hardware counts at once */
        counted = 0;
    }
    if (counted == 0)
        c->n_events = 0;
    return counted;
}

static void open_mine(struct tl_counters *c)
{
    assert(c->n_events > 0 && c->generation != 0); /* MI8 */
    mine.generation = c->generation;
    mine.leader = -1;
    for (unsigned i = 0; i < c->n_events; i++) {
        int fd = open_event(c, &c->attr[i], i, mine.leader);

        if (fd < 0) {
            mine.leader = -1;
            return;
        }
        if (i == 0)
            mine.leader = fd;
    }
    if (!start_group())
        mine.leader = -1;
}

static bool read_counters(void *ctx, uint64_t *ret_values)
{
    struct tl_counters *c = ctx;

    if (c->n_events == 0)
        return false;
    if (mine.generation != c->generation)
        open_mine(c);
    assert(mine.generation == c->generation); /* MI8: never another run's group */
    return mine.leader >= 0 && (read_registers(c, ret_values) || read_group(c, ret_values));
}

struct tl_counters *tl__counters_create(void)
{
#ifdef TASKLENS_CONTROLLED
    struct tl_counters *c = NULL; /* one seed is one run: nothing in it may come from outside */
#else
    struct tl_counters *c = tl__alloc(1, sizeof(*c));
#endif

    if (c != NULL)
        c->ops = (struct tl_counter_ops){.ctx = c, .begin = begin, .read = read_counters};
    return c;
}

void tl__counters_destroy(struct tl_counters *c)
{
    if (c == NULL)
        return;
    close_all(c);
    if (c->library != NULL)
        (void)dlclose(c->library);
    tl__free(c);
}

const struct tl_counter_ops *tl__counters_ops(const struct tl_counters *c)
{
    return c != NULL ? &c->ops : NULL;
}
