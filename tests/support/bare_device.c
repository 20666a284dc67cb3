/* SPDX-License-Identifier: Apache-2.0 */
#include "support/bare_device.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#define MEMORY_BYTES (UINT64_C(512) << 20)

static void *map(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_true(p != MAP_FAILED);
    return p;
}

uint64_t bare_alloc(struct bare_device *b, uint64_t bytes)
{
    uint64_t addr = TL_DEV_BASE + b->used;

    b->used += (bytes + TL_DEV_ALIGN - 1) / TL_DEV_ALIGN * TL_DEV_ALIGN;
    assert_true(b->used <= b->memory.bytes);
    return addr;
}

void *bare_ptr(const struct bare_device *b, uint64_t addr)
{
    return tl__dev_ptr(&b->memory, addr, 1);
}

void bare_open(struct bare_device *b, const struct bare_opts *opts)
{
    const struct tl_arch *arch =
        opts->chip != NULL ? opts->chip : tl__arch_find(opts->arch != NULL ? opts->arch : "a2a3");
    struct tl_device_opts device = {.arch = arch, .threads = opts->threads != 0 ? opts->threads : 2};
    uint64_t heap = opts->heap_bytes != 0 ? opts->heap_bytes : UINT64_C(4) << 20;
    uint64_t status;

    memset(b, 0, sizeof(*b));
    assert_non_null(arch);
    b->memory = (struct tl_devmem){map(MEMORY_BYTES), MEMORY_BYTES};
    b->bells = map(4096);
    device.memory = b->memory;
    device.bells = b->bells;
    assert_int_equal(tl__device_create(&device, &b->device), 0);
    b->launch_addr = bare_alloc(b, sizeof(struct tl_launch));
    status = bare_alloc(b, sizeof(struct tl_run_status));
    b->launch = bare_ptr(b, b->launch_addr);
    b->status = bare_ptr(b, status);
    *b->launch = (struct tl_launch){.magic = TL_LAUNCH_MAGIC,
                                    .version = TL_LAUNCH_VERSION,
                                    .runtime = opts->runtime,
                                    .clusters = opts->clusters != 0 ? opts->clusters : arch->clusters,
                                    .schedulers = opts->schedulers != 0 ? opts->schedulers : arch->aicpu_threads - 1,
                                    .scheduler_timeout_ms = opts->scheduler_timeout_ms,
                                    .status = status};
    for (unsigned i = 0; i < TL_RINGS; i++) {
        b->launch->task_window[i] = opts->task_window != 0 ? opts->task_window : 1024;
        b->launch->dep_pool[i] = opts->dep_pool != 0 ? opts->dep_pool : 4096;
        b->launch->heap[i] = bare_alloc(b, heap);
        b->launch->heap_bytes[i] = heap;
    }
}

void bare_close(struct bare_device *b)
{
    tl__device_destroy(b->device);
    munmap(b->bells, 4096);
    munmap(b->memory.base, b->memory.bytes);
}

struct tl_tensor bare_tensor(struct bare_device *b, enum tl_dtype dtype, unsigned rank, const uint32_t *shape)
{
    struct tl_tensor t = tl_tensor_make(dtype, rank, shape);

    t.buffer_bytes = tl_tensor_bytes(&t);
    t.buffer = bare_alloc(b, t.buffer_bytes);
    return t;
}

int bare_run(struct bare_device *b, const struct tl_program *program, const struct tl_tensor *tensors,
             uint32_t n_tensors, const int64_t *params, uint32_t n_params)
{
    uint64_t used = b->used;
    int r;

    b->launch->epoch++;
    b->launch->n_tensors = n_tensors;
    b->launch->n_params = n_params;
    b->launch->tensors = bare_alloc(b, n_tensors * sizeof(*tensors) + 1);
    b->launch->params = bare_alloc(b, n_params * sizeof(*params) + 1);
    if (n_tensors != 0)
        memcpy(bare_ptr(b, b->launch->tensors), tensors, n_tensors * sizeof(*tensors));
    if (n_params != 0)
        memcpy(bare_ptr(b, b->launch->params), params, n_params * sizeof(*params));
    r = tl__runtime_run(b->device, b->launch_addr, program);
    b->used = used;
    return r;
}
