/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_setup.h"

#include <unistd.h>

#include "cmd.h"
#include "host/compile.h"
#include "host/worker_impl.h"
#include "run/run_way_out.h"

#define COMMAND "run"

int tl__run_exit(int code)
{
    switch (code) {
    case TL_EGRAPH:
    case TL_EINVAL:
    case TL_ERANGE:
    case TL_ENOTSUP:
    case TL_ENOSPC:
        return TL_EXIT_USAGE;
    default:
        return TL_EXIT_DEVICE;
    }
}

int tl__run_refused(int code, bool recorded)
{
    if (code == TL_EDEVICE || code == TL_EPOISONED)
        return TL_EXIT_DEVICE;
    return recorded && (code == TL_ENOSPC || code == TL_EIO) ? TL_EXIT_INCOMPLETE : TL_EXIT_USAGE;
}

int tl__run_open(const struct tl_run_session *s, const struct tl_worker_opts *opts, struct tl_worker **ret_worker,
                 struct tl_loaded **ret_loaded)
{
    struct tl_error err;
    int rc = tl_worker_open(opts, ret_worker, &err);

    if (rc == 0)
        rc = tl_worker_load(*ret_worker, s->path, ret_loaded, &err);
    if (rc == 0) {
        tl__worker_throttle_writer(*ret_worker, s->o.throttle_writer_bytes_s);
        tl__way_out_program(tl_loaded_program(*ret_loaded));
        return 0;
    }
    (void)tl__cmd_fail(COMMAND, "%s", err.msg);
    return rc == TL_EDEVICE ? TL_EXIT_DEVICE : TL_EXIT_USAGE;
}

/*
 * prepare() or golden() failed. After a crash in it nothing is cleaned up but what other processes would see: it may
 * have died with the heap's lock held. The chips end with this process.
 */
static int data_failed(struct tl_run_session *s, int rc, const struct tl_error *err)
{
    int exit_code = tl__cmd_fail(COMMAND, "%s", err->msg);

    if (s->o.out == NULL && s->dir[0] != '\0')
        (void)rmdir(s->dir); /* made for a run that does not begin */
    if (rc != TL_ECRASH)
        return exit_code;
    if (s->compiled)
        tl__compile_discard(s->path, s->compile_lock);
    _exit(exit_code);
}

int tl__run_data(struct tl_run_session *s, struct tl_data **ret_data)
{
    const struct tl_param_request request = {
        .case_name = s->o.case_name, .settings = s->o.settings, .n_settings = s->o.n_settings};
    struct tl_error err;
    int rc = tl__params_resolve(s->program, &request, s->params, &s->case_name, &err);

    if (rc == 0)
        rc = tl__data_create(s->program, s->params, ret_data, &err);
    if (rc == 0)
        rc = tl__data_prepare(*ret_data, &err);
    for (uint32_t i = 0; rc == 0 && i < s->o.n_args; i++)
        rc = tl__data_replace(*ret_data, s->o.arg_names[i], s->o.arg_files[i], &err);
    if (rc == 0)
        rc = tl__data_remember(*ret_data, &err);
    return rc == 0 ? 0 : data_failed(s, rc, &err);
}

int tl__run_golden(struct tl_run_session *s, struct tl_data *data)
{
    struct tl_error err = {0};
    int rc = tl__data_golden(data, &err);

    s->has_golden = s->program->golden != NULL;
    if (s->has_golden && rc != 0)
        return data_failed(s, rc, &err);
    if (s->o.worker.mode == TL_DEVICE_THREAD) /* not before: prepare() and golden() are watched in another way */
        tl__way_out_catch_faults();
    return 0;
}
