/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a worker, and owns what it keeps between runs: chip, transport, engine, programs. */
#include "host/worker_impl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/opts.h"

#define DEPTH_DEFAULT 2u
#define DEPTH_MAX 4u /* the number of recordings that may be open at a time */

/* Writes the list "a2a3sim, a5sim". */
static void list_platforms(char *list, size_t size)
{
    const struct tl_arch *arch;

    list[0] = '\0';
    for (unsigned i = 0; (arch = tl__arch_at(i)) != NULL; i++)
        (void)snprintf(list + strlen(list), size - strlen(list), "%s%ssim", i ? ", " : "", arch->name);
}

/* "a2a3sim" names the simulator of a2a3; "a2a3" a card, for which there is no driver in this build. */
static int find_platform(const char *platform, const struct tl_arch **ret_arch, struct tl_error *reterr)
{
    char name[16] = "", known[120];
    size_t n = platform != NULL ? strlen(platform) : 0;

    if (platform != NULL && tl__arch_find(platform) != NULL)
        return tl__fail(reterr, TL_ENOTSUP,
                        "platform %s needs an NPU and its driver, which are not here; use the simulator %ssim",
                        platform, platform);
    if (n > 3 && n - 3 < sizeof(name) && strcmp(platform + n - 3, "sim") == 0) {
        memcpy(name, platform, n - 3);
        *ret_arch = tl__arch_find(name);
        if (*ret_arch != NULL)
            return 0;
    }
    list_platforms(known, sizeof(known));
    return tl__fail(reterr, TL_EINVAL, "no platform \"%s\"; the platforms: %s", platform != NULL ? platform : "",
                    known);
}

static int find_transport(struct tl_worker *w, struct tl_error *reterr)
{
    const char *name = w->opts.transport;

    w->transport_kind = w->arch->transport;
    if (name == NULL)
        return 0;
    if (strcmp(name, "mapped") == 0)
        w->transport_kind = TL_TRANSPORT_MAPPED;
    else if (strcmp(name, "copy") == 0)
        w->transport_kind = TL_TRANSPORT_COPY;
    else
        return tl__fail(reterr, TL_EINVAL, "no transport \"%s\"; the transports: mapped, copy", name);
    return 0;
}

static int transport_alloc(void *ctx, uint64_t bytes, uint64_t *ret_addr)
{
    struct tl_worker *w = ctx;

    return tl__chip_alloc(w->chip, bytes, TL_MEMORY_KEPT, "recording", ret_addr, &w->alloc_error);
}

static void transport_free(void *ctx, uint64_t addr)
{
    struct tl_worker *w = ctx;

    tl__chip_free(w->chip, addr);
}

/* A chip whose memory cannot be copied would wait for the host without end. In thread mode its budgets end it. */
static void transport_lost(void *ctx)
{
    struct tl_worker *w = ctx;

    (void)tl__chip_kill(w->chip);
}

static int transport_copy_in(void *ctx, uint64_t addr, const void *data, uint64_t bytes)
{
    struct tl_worker *w = ctx;

    return tl__chip_copy_in(w->chip, addr, data, bytes);
}

static int transport_copy_out(void *ctx, void *data, uint64_t addr, uint64_t bytes)
{
    struct tl_worker *w = ctx;

    return tl__chip_copy_out(w->chip, data, addr, bytes);
}

static int transport_store(void *ctx, uint64_t addr, uint64_t word)
{
    struct tl_worker *w = ctx;

    return tl__chip_store(w->chip, addr, word);
}

static int transport_word(void *ctx, uint64_t addr, uint64_t *ret_word)
{
    struct tl_worker *w = ctx;

    return tl__chip_word(w->chip, addr, ret_word);
}

static int open_transport(struct tl_worker *w, struct tl_error *reterr)
{
    struct tl_chip_view view;
    struct tl_transport_desc desc;
    int rc;

    tl__chip_view(w->chip, &view);
    memset(&desc, 0, sizeof(desc));
    desc.mapping = view.mapping;
    desc.copy_in = transport_copy_in;
    desc.copy_out = transport_copy_out;
    desc.store = transport_store;
    desc.word = transport_word;
    desc.bytes = view.bytes;
    desc.bells = view.bells;
    desc.alloc = transport_alloc;
    desc.free = transport_free;
    desc.lost = transport_lost;
    desc.ctx = w;
    rc = tl__transport_init(&w->transport, w->transport_kind == TL_TRANSPORT_COPY ? "copy" : "mapped", &desc);
    if (rc != 0)
        return tl__fail(reterr, rc, "cannot set up the transport: %s", tl_strerror(rc));
    w->transport_ready = true;
    return 0;
}

TL_API int tl_worker_open(const struct tl_worker_opts *opts, struct tl_worker **ret_worker, struct tl_error *reterr)
{
    struct tl_worker *w = tl__alloc(1, sizeof(*w));
    struct tl_chip_opts chip = {0};
    int rc;

    if (w == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for a worker");
    rc = tl__copy_opts(&w->opts, sizeof(w->opts), opts, "tl_worker_opts", "TL_WORKER_OPTS_INIT", reterr);
    if (rc == 0)
        rc = find_platform(w->opts.platform, &w->arch, reterr);
    if (rc == 0)
        rc = find_transport(w, reterr);
    if (rc != 0)
        goto fail;
    if (w->opts.depth == 0)
        w->opts.depth = DEPTH_DEFAULT;
    if (w->opts.depth > DEPTH_MAX) {
        rc = tl__fail(reterr, TL_ERANGE, "a worker takes 1 to %u runs at a time, not %u", DEPTH_MAX, w->opts.depth);
        goto fail;
    }
    (void)snprintf(w->platform, sizeof(w->platform), "%s", w->opts.platform);
    w->timeouts = tl__timeouts_read(false, NULL, NULL);
    chip.arch = w->arch;
    chip.mode = w->opts.mode == TL_DEVICE_THREAD ? TL_CHIP_THREAD : TL_CHIP_PROCESS;
    chip.transport = w->transport_kind;
    chip.memory_bytes = w->opts.memory_bytes;
    chip.threads = w->opts.sim_threads;
    chip.device_id = w->opts.device_id;
    rc = tl__chip_open(&chip, &w->chip, reterr);
    if (rc == 0)
        rc = open_transport(w, reterr);
    if (rc == 0) {
        *ret_worker = w;
        return 0;
    }
fail:
    tl_worker_close(w);
    return rc;
}

/* Exports a run that had ended; its outputs are not fetched, because nobody waits for them. A run that had not ended
 * leaves nothing. */
static void close_run(struct tl_run *run)
{
    if (run->stage == TL_RUN_SETTLED && run->recording)
        run->result.record_code = tl__recording_end(run, &run->result, &run->record_error);
    if (run->recording) {
        tl__recording_abandon(run);
        (void)rmdir(run->prefix); /* if it was made for this run alone */
    }
    tl__run_free(run);
}

TL_API void tl_worker_close(struct tl_worker *w)
{
    struct tl_loaded *next;

    if (w == NULL)
        return;
    w->closing = true;
    if (w->poisoned_epoch == 0 && w->running != NULL && w->opts.mode == TL_DEVICE_THREAD)
        (void)tl__run_settle(w->running, TL_FOREVER); /* a thread cannot be stopped, only waited for */
    if (w->poisoned_epoch == 0 && w->running != NULL)
        (void)tl__chip_kill(w->chip);
    while (w->runs != NULL)
        close_run(w->runs);
    tl__engine_destroy(w->engine);
    if (w->transport_ready)
        tl__transport_fini(&w->transport);
    if (w->poisoned_epoch != 0 && w->opts.mode == TL_DEVICE_THREAD) {
        tl__chip_close(w->chip, true);
        return; /* the stuck kernel still uses its code and memory */
    }
    tl__chip_close(w->chip, false);
    for (struct tl_loaded *l = w->loaded; l != NULL; l = next) {
        next = l->next;
        tl__object_close(&l->object);
        tl__free(l);
    }
    tl__free(w);
}

/* Loads the object on the chip and adds it to the worker's list. Takes ownership, even on failure. */
static int adopt(struct tl_worker *w, struct tl_object *object, struct tl_loaded **ret_loaded, struct tl_error *reterr)
{
    struct tl_loaded *l = tl__alloc(1, sizeof(*l));
    int rc = l == NULL ? tl__fail(reterr, TL_ENOMEM, "no memory for a program") : tl__worker_revive(w, reterr);

    if (rc == 0)
        rc = tl__chip_load(w->chip, object->path, object->path == NULL ? object->program : NULL, &l->handle, reterr);
    if (rc != 0) {
        tl__object_close(object);
        tl__free(l);
        return rc;
    }
    l->worker = w;
    l->object = *object;
    l->next = w->loaded;
    w->loaded = l;
    *ret_loaded = l;
    return 0;
}

TL_API int tl_worker_load(struct tl_worker *w, const char *path, struct tl_loaded **ret_loaded, struct tl_error *reterr)
{
    struct tl_object object;
    int rc = tl__object_open(path, &object, reterr);

    return rc != 0 ? rc : adopt(w, &object, ret_loaded, reterr);
}

TL_API int tl_worker_load_linked(struct tl_worker *w, const struct tl_program *program, struct tl_loaded **ret_loaded,
                                 struct tl_error *reterr)
{
    struct tl_object object = {.program = program};
    int rc;

    if (w->opts.mode != TL_DEVICE_THREAD)
        return tl__fail(reterr, TL_ENOTSUP,
                        "a program linked into the caller needs the device mode thread; the chip is a process");
    rc = tl__program_check(program, program->name != NULL ? program->name : "the linked program", reterr);
    return rc != 0 ? rc : adopt(w, &object, ret_loaded, reterr);
}

TL_API const struct tl_program *tl_loaded_program(const struct tl_loaded *loaded)
{
    return loaded->object.program;
}

int tl__worker_revive(struct tl_worker *w, struct tl_error *reterr)
{
    int rc;

    if (tl__chip_alive(w->chip))
        return 0;
    rc = tl__chip_restart(w->chip, reterr);
    for (struct tl_loaded *l = w->loaded; rc == 0 && l != NULL; l = l->next)
        rc = tl__chip_load(w->chip, l->object.path, NULL, &l->handle, reterr);
    return rc;
}

void tl__worker_throttle_writer(struct tl_worker *w, uint64_t bytes_s)
{
    tl__lock(&w->lock);
    w->throttle_bytes_s = bytes_s;
    tl__unlock(&w->lock);
}

bool tl__worker_poisoned(const struct tl_worker *w)
{
    return w->poisoned_epoch != 0;
}
