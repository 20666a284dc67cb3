/* SPDX-License-Identifier: Apache-2.0 */
#include "host/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/pathname.h"
#include "base/symbol.h"
#include "host/files.h"
#include "host/params.h"
#include "host/user_code.h"

static int check_signature(const struct tl_kernel *k, const char *where, struct tl_error *reterr)
{
    bool scalars = false;
    unsigned tensors = 0;

    if (k->signature_count > TL_MAX_TENSORS + TL_MAX_SCALARS)
        return tl__fail(reterr, TL_ELOAD, "%s: the signature of kernel %s has more than %d entries", where, k->name,
                        TL_MAX_TENSORS + TL_MAX_SCALARS);
    for (unsigned i = 0; i < k->signature_count; i++) {
        if (k->signature[i] > TL_SCALAR)
            return tl__fail(reterr, TL_ELOAD, "%s: entry %u in the signature of kernel %s is no direction", where, i,
                            k->name);
        if (k->signature[i] == TL_SCALAR)
            scalars = true;
        else if (scalars)
            return tl__fail(reterr, TL_ELOAD,
                            "%s: kernel %s has a SCALAR before a tensor at entry %u; scalars follow all tensors", where,
                            k->name, i);
        else if (++tensors > TL_MAX_TENSORS)
            return tl__fail(reterr, TL_ELOAD, "%s: kernel %s has more than %d tensors", where, k->name, TL_MAX_TENSORS);
    }
    return 0;
}

static int check_kernels(const struct tl_program *program, const char *where, struct tl_error *reterr)
{
    int rc;

    if (program->n_kernels == 0 || program->kernels == NULL)
        return tl__fail(reterr, TL_ELOAD, "%s: program %s has no kernels", where, program->name);
    for (uint32_t i = 0; i < program->n_kernels; i++) {
        const struct tl_kernel *k = &program->kernels[i];

        if (k->name == NULL || k->name[0] == '\0')
            return tl__fail(reterr, TL_ELOAD, "%s: kernel number %u has no name", where, i);
        if (k->fn == NULL)
            return tl__fail(reterr, TL_ELOAD, "%s: kernel %s has no function", where, k->name);
        if (k->func_id < 0)
            return tl__fail(reterr, TL_ELOAD, "%s: kernel %s has the negative func_id %d", where, k->name, k->func_id);
        if (k->core != TL_AIC && k->core != TL_AIV)
            return tl__fail(reterr, TL_ELOAD, "%s: kernel %s runs on no core: TL_AIC or TL_AIV", where, k->name);
        for (uint32_t j = 0; j < i; j++)
            if (program->kernels[j].func_id == k->func_id)
                return tl__fail(reterr, TL_ELOAD, "%s: kernels %s and %s have the same func_id %d", where,
                                program->kernels[j].name, k->name, k->func_id);
        rc = check_signature(k, where, reterr);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int tl__program_check(const struct tl_program *program, const char *where, struct tl_error *reterr)
{
    if (program->api_version != TL_PROGRAM_API)
        return tl__fail(reterr, TL_EVERSION, "%s: made for program API %u, this is %u; compile it again", where,
                        program->api_version, TL_PROGRAM_API);
    if (program->struct_size != sizeof(*program))
        return tl__fail(reterr, TL_EVERSION, "%s: struct tl_program has %u bytes there and %zu here; compile it again",
                        where, program->struct_size, sizeof(*program));
    if (program->name == NULL || program->name[0] == '\0' || strchr(program->name, '/') != NULL ||
        program->name[0] == '.')
        return tl__fail(reterr, TL_ELOAD, "%s: the program has no name, or one with a slash or a leading dot", where);
    if (program->orchestrate == NULL)
        return tl__fail(reterr, TL_ELOAD, "%s: program %s has no orchestrate()", where, program->name);
    if (program->n_params > TL_MAX_PARAMS || (program->n_params > 0 && program->params == NULL))
        return tl__fail(reterr, TL_ELOAD, "%s: program %s may have up to %u parameters", where, program->name,
                        TL_MAX_PARAMS);
    if (program->n_cases > 0 && program->cases == NULL)
        return tl__fail(reterr, TL_ELOAD, "%s: program %s counts cases that it does not have", where, program->name);
    return check_kernels(program, where, reterr);
}

static char *absolute(const char *path)
{
    char cwd[4096];
    size_t bytes;
    char *full;

    cwd[0] = '\0';
    if (path[0] != '/' && getcwd(cwd, sizeof(cwd)) == NULL)
        return NULL;
    bytes = strlen(cwd) + strlen(path) + 2;
    full = tl__alloc(1, bytes);
    if (full != NULL)
        (void)snprintf(full, bytes, "%s%s%s", cwd, path[0] == '/' ? "" : "/", path);
    return full;
}

bool tl__object_sanitized(const char *path, char *name, size_t size)
{
    return tl__symbol_needs(path, "libasan.so", name, size) || tl__symbol_needs(path, "libclang_rt.asan", name, size);
}

bool tl__sanitizer_loaded(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") != NULL;
}

/* The sanitizer's library ends the process if it is not loaded first. */
static int check_sanitizer(const char *path, struct tl_error *reterr)
{
    char name[128];

    if (!tl__object_sanitized(path, name, sizeof(name)) || tl__sanitizer_loaded())
        return 0;
    return tl__fail(reterr, TL_ELOAD,
                    "%s is compiled with -fsanitize=address, whose library %s must be loaded before everything else: "
                    "`tasklens run --sanitize` does that, another program is started with LD_PRELOAD=%s",
                    path, name, name);
}

int tl__object_open(const char *path, struct tl_object *ret_object, struct tl_error *reterr)
{
    struct tl_object object = {0};
    const char *why;
    struct stat st;
    int rc;

    if (stat(path, &st) != 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return tl__fail(reterr, TL_ELOAD, "%s: not a file", path);
    rc = check_sanitizer(path, reterr);
    if (rc != 0)
        return rc;
    object.path = absolute(path);
    if (object.path == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: no memory for its path", path);
    rc = tl__file_hash(object.path, &object.hash, reterr);
    if (rc != 0)
        goto fail;
    tl__user_code_enter("a constructor", object.path); /* dlopen() runs them */
    object.handle = dlopen(object.path, RTLD_NOW | RTLD_LOCAL);
    tl__user_code_leave();
    if (object.handle == NULL) {
        why = dlerror();
        rc = tl__fail(reterr, TL_ELOAD, "%s: not a program: %s", path, why != NULL ? why : "it cannot be loaded");
        goto fail;
    }
    object.program = dlsym(object.handle, TL_PROGRAM_SYMBOL);
    if (object.program == NULL)
        rc = tl__fail(
            reterr, TL_ELOAD,
            "%s: not a program: it has no TL_PROGRAM; at its end belongs TL_PROGRAM(.name = \"...\", .kernels = "
            "kernels, .n_kernels = TL_ARRAY_COUNT(kernels), .orchestrate = ..., .prepare = ...);",
            path);
    else
        rc = tl__program_check(object.program, path, reterr);
    if (rc == 0) {
        *ret_object = object;
        return 0;
    }
fail:
    tl__object_close(&object);
    return rc;
}

void tl__object_close(struct tl_object *object)
{
    if (object->handle != NULL)
        (void)dlclose(object->handle);
    tl__free(object->path);
    memset(object, 0, sizeof(*object));
}

int tl__object_keep(const struct tl_object *object, const char *dir, struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES];
    uint64_t hash = 0;
    int rc;

    if (object->path == NULL)
        return 0;
    if (!tl__pathname(path, "%s/program", dir))
        return tl__fail(reterr, TL_EINVAL, "%s: the path is too long", dir);
    rc = tl__make_dirs(path, reterr);
    if (rc != 0)
        return rc;
    if (!tl__pathname(path, "%s/program/%s.so", dir, object->program->name))
        return tl__fail(reterr, TL_EINVAL, "%s: the path is too long", dir);
    rc = tl__file_copy(object->path, path, &hash, reterr);
    if (rc == 0 && hash != object->hash) {
        (void)unlink(path);
        rc =
            tl__fail(reterr, TL_EIO, "%s changed after it was loaded: it is not kept with the recording", object->path);
    }
    return rc;
}

void tl__object_unkeep(const struct tl_object *object, const char *dir)
{
    char path[TL_PATHNAME_BYTES];

    if (object->path == NULL || !tl__pathname(path, "%s/program/%s.so", dir, object->program->name))
        return;
    (void)unlink(path);
    (void)tl__pathname(path, "%s/program", dir);
    (void)rmdir(path);
}
