/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/serve.h"

#include <assert.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "runtime/runtime.h"
#include "sim/counters.h"
#include "sim/crash.h"

#define MAX_PROGRAMS 256u

/* What the loop keeps between messages. Only the chip's own thread touches it. */
struct serving {
    const struct tl_server *server;
    struct tl_device *device;
    struct tl_counters *counters;
    const struct tl_program *programs[MAX_PROGRAMS]; /* by handle */
    void *objects[MAX_PROGRAMS];                     /* of dlopen; NULL for linked ones */
};

static int reply(struct serving *s, struct tl_mail *mail, enum tl_mail_kind kind, int code)
{
    assert(kind >= TL_MAIL_READY); /* MI4: the chip only answers */
    assert(code <= 0 && (kind != TL_MAIL_READY || mail->handle == TL_MAIL_VERSION));
    mail->kind = kind;
    mail->code = code;
    return s->server->box.send(s->server->box.ctx, mail);
}

/* Sets mail->text on failure. */
static int load(struct serving *s, struct tl_mail *mail)
{
    const struct tl_program *program = mail->linked;
    void *object = NULL;
    const char *why;

    if (mail->handle >= MAX_PROGRAMS || s->programs[mail->handle] != NULL) {
        (void)snprintf(mail->text, sizeof(mail->text), "a chip holds at most %u programs", MAX_PROGRAMS);
        return TL_ELOAD;
    }
    if (program == NULL) {
        mail->text[sizeof(mail->text) - 1] = '\0';
        object = dlopen(mail->text, RTLD_NOW | RTLD_LOCAL);
        program = object != NULL ? dlsym(object, TL_PROGRAM_SYMBOL) : NULL;
        if (program == NULL) {
            why = dlerror();
            (void)snprintf(mail->text, sizeof(mail->text), "%s", why != NULL ? why : "no program in it");
            if (object != NULL)
                (void)dlclose(object);
            return TL_ELOAD;
        }
    }
    assert(s->objects[mail->handle] == NULL); /* a handle is given out once */
    s->programs[mail->handle] = program;
    s->objects[mail->handle] = object;
    return 0;
}

static int launch(struct serving *s, const struct tl_mail *mail)
{
    const struct tl_launch *launch_args = tl__dev_ptr(&s->server->memory, mail->addr, sizeof(*launch_args));
    int code;

    if (launch_args == NULL || mail->handle >= MAX_PROGRAMS || s->programs[mail->handle] == NULL) {
        tl_log_error("the host asked for a launch at %#" PRIx64 " of program %u, which is not loaded", mail->addr,
                     mail->handle);
        return TL_ECORRUPT;
    }
    if (s->server->own_process) {
        tl__crash_set_object(s->programs[mail->handle]);
        tl__crash_set_status(launch_args->status);
    }
    if (s->objects[mail->handle] == NULL) /* linked in: its orchestration may read what the caller changes */
        tl__device_forget(s->device);
    code = tl__runtime_run(s->device, mail->addr, s->programs[mail->handle]);
    if (s->server->own_process)
        tl__crash_set_status(0);
    return code < 0 ? code : 0;
}

static void serve_mail(struct serving *s, struct tl_mail *mail)
{
    while (s->server->box.receive(s->server->box.ctx, mail) == 0) {
        int rc = 0;

        if (mail->kind == TL_MAIL_CLOSE)
            return;
        if (mail->kind == TL_MAIL_LOAD)
            rc = reply(s, mail, TL_MAIL_LOADED, load(s, mail));
        else if (mail->kind == TL_MAIL_LAUNCH)
            rc = reply(s, mail, TL_MAIL_DONE, launch(s, mail));
        if (rc != 0)
            return; /* the host is gone */
    }
}

/* The host waits for READY, whatever its code. */
static int refuse(const struct tl_server *server)
{
    const struct tl_mail mail = {.kind = TL_MAIL_READY,
                                 .handle = TL_MAIL_VERSION,
                                 .code = TL_ENOMEM,
                                 .text = "the chip has no memory for itself"};

    (void)server->box.send(server->box.ctx, &mail);
    return TL_ENOMEM;
}

int tl__serve(const struct tl_server *server)
{
    struct tl_device_opts opts = {.arch = server->arch,
                                  .memory = server->memory,
                                  .bells = server->bells,
                                  .threads = server->threads,
                                  .thread_begin = server->own_process ? tl__crash_thread : server->thread_begin};
    struct serving *s = tl__alloc(1, sizeof(*s));
    struct tl_mail *mail = tl__alloc(1, sizeof(*mail));
    bool stuck;
    int rc;

    if (s == NULL || mail == NULL) {
        rc = refuse(server);
        goto out;
    }
    s->server = server;
    s->counters = tl__counters_create();
    opts.counters = tl__counters_ops(s->counters);
    rc = tl__device_create(&opts, &s->device);
    mail->handle = TL_MAIL_VERSION;
    if (rc != 0)
        (void)snprintf(mail->text, sizeof(mail->text), "the chip cannot make its threads: %s", tl_strerror(rc));
    if (reply(s, mail, TL_MAIL_READY, rc) == 0 && rc == 0)
        serve_mail(s, mail);
    stuck = s->device != NULL && tl__device_stuck(s->device);
    tl__device_destroy(s->device);
    if (!stuck) /* else a thread is stuck in a kernel, and reads them if it returns after all */
        tl__counters_destroy(s->counters);
    for (unsigned i = 0; i < MAX_PROGRAMS; i++)
        if (s->objects[i] != NULL)
            (void)dlclose(s->objects[i]);
out:
    tl__free(mail);
    tl__free(s);
    return rc;
}
