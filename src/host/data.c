/* SPDX-License-Identifier: Apache-2.0 */
#include "host/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "artifact/npy.h"
#include "base/env.h"
#include "base/error.h"
#include "host/call_guarded.h"
#include "host/user_code.h"

#define RANDOM_SEED UINT64_C(0x7461736b6c656e73)

enum phase { PHASE_IDLE, PHASE_PREPARE, PHASE_GOLDEN };

struct tl_data {
    const struct tl_program *program;
    enum phase phase;
    uint32_t n_tensors;
    uint64_t random;       /* state of the generator before any tensor is declared */
    struct tl_error error; /* first failure of a tl_data_* call */
    struct tl_host_tensor tensors[TL_MAX_PROGRAM_ARGS];
    char names[TL_MAX_PROGRAM_ARGS][64];
    uint64_t streams[TL_MAX_PROGRAM_ARGS]; /* state of each tensor's generator */
    uint64_t bytes[TL_MAX_PROGRAM_ARGS];
    void *original[TL_MAX_PROGRAM_ARGS]; /* INOUT: the value before the run */
    void *expected[TL_MAX_PROGRAM_ARGS];
    int64_t values[]; /* of the program's parameters */
};

int tl__data_create(const struct tl_program *program, const int64_t *values, struct tl_data **ret_data,
                    struct tl_error *reterr)
{
    struct tl_data *d = tl__alloc(1, sizeof(*d) + program->n_params * sizeof(d->values[0]));

    if (d == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for the data of %s", program->name);
    d->program = program;
    d->random = RANDOM_SEED;
    if (program->n_params > 0)
        memcpy(d->values, values, program->n_params * sizeof(d->values[0]));
    *ret_data = d;
    return 0;
}

void tl__data_destroy(struct tl_data *d)
{
    if (d == NULL)
        return;
    for (uint32_t i = 0; i < d->n_tensors; i++) {
        tl__release(d->tensors[i].data, d->bytes[i]);
        tl__release(d->original[i], d->bytes[i]);
        tl__release(d->expected[i], d->bytes[i]);
    }
    tl__free(d);
}

/* Keeps the first failure; later failures are consequences of it. */
static void note(struct tl_data *d, int code, const char *text, const char *name)
{
    if (d->error.code == 0)
        (void)tl__fail(&d->error, code, "%s: %s \"%s\"", d->program->name, text, name);
}

/* The same for an unknown name; lists the known names. */
static void note_unknown(struct tl_data *d, const char *what, const char *name, const char *known)
{
    if (d->error.code == 0)
        (void)tl__fail(&d->error, TL_ENOENT, "%s: %s() asked for %s \"%.100s\"; it has %s", d->program->name,
                       d->phase == PHASE_GOLDEN ? "golden" : "prepare", what, name, known[0] != '\0' ? known : "none");
}

/* Appends to "a, b, c"; text that does not fit is left out. */
static void append(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);

    (void)snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

/* "x, y" of all tensors but those of role `but` (-1: of all). */
static void list_tensors(const struct tl_data *d, int but, char *list, size_t size)
{
    list[0] = '\0';
    for (uint32_t i = 0; i < d->n_tensors; i++)
        if (d->tensors[i].role != but)
            append(list, size, d->names[i]);
}

static int find(const struct tl_data *d, const char *name)
{
    for (uint32_t i = 0; i < d->n_tensors; i++)
        if (strcmp(d->names[i], name) == 0)
            return (int)i;
    return TL_ENOENT;
}

/* ---- Called by programs ---- */

TL_API int64_t tl_data_param(const struct tl_data *d, const char *name)
{
    char known[600] = "";

    for (uint32_t i = 0; i < d->program->n_params; i++)
        if (strcmp(d->program->params[i].name, name) == 0)
            return d->values[i];
    for (uint32_t i = 0; i < d->program->n_params; i++)
        append(known, sizeof(known), d->program->params[i].name);
    /* Keeps the first failure behind a const pointer: a question does not change the data. */
    note_unknown((struct tl_data *)(uintptr_t)d, "parameter", name, known);
    return 0;
}

/* The start of a tensor's generator: FNV-1a of its name, seeded by the program's seed. */
static uint64_t seed_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash ^ RANDOM_SEED;
}

/* Null if prepare() may declare this; else what is wrong with it. */
static const char *refuse(const struct tl_data *d, const char *name, enum tl_direction role, const struct tl_tensor *t,
                          unsigned rank)
{
    if (d->phase != PHASE_PREPARE)
        return "declares a tensor outside of prepare(),";
    if (d->n_tensors == TL_MAX_PROGRAM_ARGS)
        return "has more tensors than a program may have, at";
    if (role != TL_IN && role != TL_OUT && role != TL_INOUT)
        return "must declare its tensor TL_IN, TL_OUT or TL_INOUT:";
    if (strlen(name) >= sizeof(d->names[0]) || find(d, name) >= 0)
        return "has two tensors of one name, or a name of more than 63 bytes:";
    if (rank > TL_MAX_DIMS || tl_tensor_check(t) != 0)
        return "gives an impossible dtype, rank or shape to";
    if (tl_tensor_bytes(t) > (UINT64_C(1) << 46))
        return "needs more memory than there can be for";
    return NULL;
}

TL_API void *tl_data_tensor(struct tl_data *d, const char *name, enum tl_direction role, enum tl_dtype dtype,
                            unsigned rank, const uint32_t *shape)
{
    struct tl_tensor t = tl_tensor_make(dtype, rank <= TL_MAX_DIMS ? rank : 0, shape);
    const char *problem = refuse(d, name, role, &t, rank);
    struct tl_host_tensor *slot;
    uint64_t bytes;
    void *memory;

    if (problem != NULL) {
        note(d, TL_EINVAL, problem, name);
        return NULL;
    }
    bytes = tl_tensor_bytes(&t);
    if (bytes == 0)
        bytes = 1; /* an empty tensor still has an address */
    memory = tl__reserve(bytes);
    if (memory == NULL) {
        note(d, TL_ENOMEM, "no memory for tensor", name);
        return NULL;
    }
    slot = &d->tensors[d->n_tensors];
    (void)snprintf(d->names[d->n_tensors], sizeof(d->names[0]), "%s", name);
    slot->name = d->names[d->n_tensors];
    d->streams[d->n_tensors] = seed_of(name);
    slot->data = memory;
    memcpy(slot->shape, t.shape, sizeof(slot->shape));
    slot->dtype = (uint8_t)dtype;
    slot->rank = (uint8_t)rank;
    slot->role = (uint8_t)role;
    d->bytes[d->n_tensors++] = bytes;
    return memory;
}

TL_API const void *tl_data_input(const struct tl_data *d, const char *name)
{
    int i = find(d, name);
    char known[600];

    if (i < 0) {
        list_tensors(d, -1, known, sizeof(known));
        note_unknown((struct tl_data *)(uintptr_t)d, "tensor", name, known);
        return NULL;
    }
    return d->original[i] != NULL ? d->original[i] : d->tensors[i].data;
}

TL_API void *tl_data_expected(struct tl_data *d, const char *name)
{
    int i = find(d, name);
    char known[600];

    if (d->phase != PHASE_GOLDEN) {
        note(d, TL_EINVAL, "calls tl_data_expected() outside of golden(), for", name);
        return NULL;
    }
    if (i < 0 || d->tensors[i].role == TL_IN) {
        list_tensors(d, TL_IN, known, sizeof(known));
        note_unknown(d, "output", name, known);
        return NULL;
    }
    if (d->expected[i] == NULL)
        d->expected[i] = tl__reserve(d->bytes[i]);
    if (d->expected[i] == NULL)
        note(d, TL_ENOMEM, "no memory for the golden of", name);
    return d->expected[i];
}

/* Steele, Lea and Flood's splitmix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static float to_float(uint64_t bits)
{
    return (float)(bits >> 40) * 0x1p-23f - 1.0f; /* 24 bits, exact */
}

TL_API uint64_t tl_data_random_u64_of(struct tl_data *d, const char *name)
{
    int i = find(d, name);
    char known[600];

    if (i >= 0)
        return next_random(&d->streams[i]);
    list_tensors(d, -1, known, sizeof(known));
    note_unknown(d, "numbers for tensor", name, known);
    return 0;
}

TL_API float tl_data_random_of(struct tl_data *d, const char *name)
{
    return to_float(tl_data_random_u64_of(d, name));
}

TL_API uint64_t tl_data_random_u64(struct tl_data *d)
{
    return next_random(d->n_tensors > 0 ? &d->streams[d->n_tensors - 1] : &d->random);
}

TL_API float tl_data_random(struct tl_data *d)
{
    return to_float(tl_data_random_u64(d));
}

/* ---- Called by the run ---- */

/* A crash of prepare() or golden(). A failure noted before is its likely cause: NULL was used as an address. */
static int crashed(const struct tl_data *d, const char *function, const char *how, struct tl_error *reterr)
{
    if (d->error.code != 0)
        return tl__fail(reterr, TL_ECRASH, "%s; it was given NULL or 0, went on, and crashed (%s)", d->error.msg, how);
    return tl__fail(reterr, TL_ECRASH,
                    "%s() of %s crashed (%s); it runs in this process, so that a debugger shows the line: gdb -ex run "
                    "--args, and this command",
                    function, d->program->name, how);
}

/* Runs prepare() or golden(). A noted failure is more precise than the returned code, so it is reported. */
static int run_phase(struct tl_data *d, enum phase phase, struct tl_error *reterr)
{
    const char *function = phase == PHASE_GOLDEN ? "golden" : "prepare";
    int code = 0, rc;
    char how[900];

    d->phase = phase;
    tl__user_code_enter(phase == PHASE_GOLDEN ? "golden()" : "prepare()", d->program->name);
    rc = tl__call_guarded(phase == PHASE_GOLDEN ? d->program->golden : d->program->prepare, d, &code, how, sizeof(how));
    tl__user_code_leave();
    d->phase = PHASE_IDLE;
    if (rc == TL_ECRASH)
        return crashed(d, function, how, reterr);
    if (d->error.code != 0)
        return tl__fail(reterr, d->error.code, "%s", d->error.msg);
    if (code < 0)
        return tl__fail(reterr, code, "%s: %s() failed: %s", d->program->name, function, tl_strerror(code));
    if (code > 0) /* as an exit code of main() */
        return tl__fail(reterr, TL_EINVAL, "%s: %s() failed: it returned %d; 0 is good, a negative code says why not",
                        d->program->name, function, code);
    return 0;
}

int tl__data_prepare(struct tl_data *d, struct tl_error *reterr)
{
    if (d->program->prepare == NULL)
        return tl__fail(reterr, TL_ELOAD,
                        "program %s has no prepare(), which makes its tensors; only a caller of the C API "
                        "can run it, with tensors of its own",
                        d->program->name);
    return run_phase(d, PHASE_PREPARE, reterr);
}

int tl__data_replace(struct tl_data *d, const char *name, const char *path, struct tl_error *reterr)
{
    int i = find(d, name);

    if (i < 0) {
        char known[600];

        list_tensors(d, TL_OUT, known, sizeof(known));
        return tl__fail(reterr, TL_ENOENT, "%s has no input \"%s\"; it has %s", d->program->name, name, known);
    }
    if (d->tensors[i].role == TL_OUT)
        return tl__fail(reterr, TL_EINVAL, "\"%s\" of %s is an output; --arg replaces inputs", name, d->program->name);
    return tl__npy_read_into(path, (enum tl_dtype)d->tensors[i].dtype, d->tensors[i].rank, d->tensors[i].shape,
                             d->tensors[i].data, d->bytes[i], reterr);
}

int tl__data_remember(struct tl_data *d, struct tl_error *reterr)
{
    for (uint32_t i = 0; i < d->n_tensors; i++) {
        if (d->tensors[i].role != TL_INOUT)
            continue;
        d->original[i] = tl__reserve(d->bytes[i]);
        if (d->original[i] == NULL)
            return tl__fail(reterr, TL_ENOMEM, "no memory to keep %" PRIu64 " bytes of %s", d->bytes[i], d->names[i]);
        memcpy(d->original[i], d->tensors[i].data, d->bytes[i]);
    }
    return 0;
}

void tl__data_reset(struct tl_data *d)
{
    for (uint32_t i = 0; i < d->n_tensors; i++) {
        if (d->tensors[i].role == TL_OUT)
            memset(d->tensors[i].data, 0, d->bytes[i]);
        else if (d->original[i] != NULL)
            memcpy(d->tensors[i].data, d->original[i], d->bytes[i]);
    }
}

int tl__data_golden(struct tl_data *d, struct tl_error *reterr)
{
    return d->program->golden == NULL ? TL_ENOENT : run_phase(d, PHASE_GOLDEN, reterr);
}

uint32_t tl__data_count(const struct tl_data *d)
{
    return d->n_tensors;
}

const struct tl_host_tensor *tl__data_tensors(const struct tl_data *d)
{
    return d->tensors;
}

uint64_t tl__data_bytes(const struct tl_data *d, uint32_t i)
{
    return d->bytes[i];
}

const void *tl__data_expected_of(const struct tl_data *d, uint32_t i)
{
    return d->expected[i];
}
