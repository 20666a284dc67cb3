/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/dispatch_program.h"

#include <stdio.h>
#include <string.h>

#include "artifact/file_out.h"
#include "artifact/json_file.h"
#include "base/error.h"
#include "base/pathname.h"

/* The fields, in the file's order. X(member, key, kind): a kind is a put_ and a take_ below. */
#define FIELDS(X)                                                                                                      \
    X(program, "program", text)                                                                                        \
    X(case_name, "case", text)                                                                                         \
    X(program_hash, "program_hash", text)                                                                              \
    X(rank, "rank", number)                                                                                            \
    X(ranks, "ranks", number)                                                                                          \
    X(dispatch, "dispatch", number)                                                                                    \
    X(platform, "platform", text)                                                                                      \
    X(runtime, "runtime", text)                                                                                        \
    X(pid, "pid", number)                                                                                              \
    X(host, "host", text)                                                                                              \
    X(job, "job", text)                                                                                                \
    X(start_unix_ns, "start_unix_ns", time)

enum field {
#define FIELD_ENUM(member, key, kind) FIELD_##member,
    FIELDS(FIELD_ENUM)
#undef FIELD_ENUM
        FIELD_version,
    FIELD_COUNT
};

static const char *const names[FIELD_COUNT] = {
#define FIELD_KEY(member, key, kind) [FIELD_##member] = (key),
    FIELDS(FIELD_KEY)
#undef FIELD_KEY
        [FIELD_version] = "version",
};

/* ---- writing ---- */

#define put_text(j, value) tl__json_string((j), (value))
#define put_number(j, value) tl__json_u64((j), (value))
#define put_time(j, value) tl__json_u64((j), (value))

int tl__dispatch_write(const char *dir, const struct tl_dispatch *dispatch, struct tl_error *reterr)
{
    struct tl_out out;
    struct tl_json *j = &out.json;
    int code = tl__out_open_in(&out, dir, TL_DISPATCH_NAME, reterr);

    if (code != 0)
        return code;
    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_member_u64(j, "version", TL_DISPATCH_VERSION);
#define PUT(member, key, kind)                                                                                         \
    tl__json_key(j, key);                                                                                              \
    put_##kind(j, dispatch->member);
    FIELDS(PUT)
#undef PUT
    tl__json_object_end(j);
    tl__json_newline(j);
    return tl__out_commit(&out, reterr);
}

/* ---- reading ---- */

#define take_text(t, at, name, d) tl__tape_text((t), (at), (name), (d), sizeof(d))
#define take_number(t, at, name, d) tl__tape_u32((t), (at), (name), &(d))
#define take_time(t, at, name, d) tl__tape_u64((t), (at), (name), UINT64_MAX, &(d))

static int check(struct tl_tape *t, const struct tl_dispatch *d)
{
    if (d->program[0] == '\0')
        return tl__tape_fail(t, TL_EPARSE, names[FIELD_program], "expected a name");
    if (d->ranks > TL_MAX_RANKS)
        return tl__tape_fail(t, TL_EPARSE, names[FIELD_ranks], "%u is more than %u", d->ranks, TL_MAX_RANKS);
    if (d->ranks != 0 && d->rank >= d->ranks)
        return tl__tape_fail(t, TL_EPARSE, names[FIELD_rank], "%u is none of %u ranks", d->rank, d->ranks);
    return 0;
}

static int take_version(struct tl_tape *t, uint32_t at)
{
    uint32_t version = 0;
    int code = at == TL_TAPE_ABSENT ? 0 : tl__tape_u32(t, at, names[FIELD_version], &version);

    if (code == 0 && version > TL_DISPATCH_VERSION)
        return tl__tape_fail(t, TL_EVERSION, names[FIELD_version], "%u is newer than what this program reads (%u)",
                             version, TL_DISPATCH_VERSION);
    return code;
}

static int on_value(void *ctx, struct tl_tape *t)
{
    struct tl_dispatch *d = ctx;
    uint32_t f[FIELD_COUNT];
    int code = tl__tape_fields(t, 0, NULL, names, FIELD_COUNT, f);

    if (code == 0)
        code = take_version(t, f[FIELD_version]);
#define TAKE(member, key, kind)                                                                                        \
    if (code == 0 && (f[FIELD_##member] != TL_TAPE_ABSENT || FIELD_##member == FIELD_program))                         \
        code = take_##kind(t, f[FIELD_##member], key, d->member);
    FIELDS(TAKE)
#undef TAKE
    return code != 0 ? code : check(t, d);
}

int tl__dispatch_parse(const void *text, size_t bytes, const char *name, struct tl_dispatch *ret_dispatch,
                       struct tl_error *reterr)
{
    const struct tl_tape_spec spec = {.on_value = on_value, .ctx = ret_dispatch};

    memset(ret_dispatch, 0, sizeof(*ret_dispatch));
    return tl__tape_parse(text, bytes, name, &spec, reterr);
}

int tl__dispatch_read(const char *dir, struct tl_dispatch *ret_dispatch, struct tl_error *reterr)
{
    const struct tl_tape_spec spec = {.on_value = on_value, .ctx = ret_dispatch};
    char path[TL_PATHNAME_BYTES];

    memset(ret_dispatch, 0, sizeof(*ret_dispatch));
    if (!tl__pathname(path, "%s/" TL_DISPATCH_NAME, dir))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    return tl__json_file_read(path, &spec, reterr);
}

/* ---- dispatch_identity.json ---- */

/* A number is kept as its digits. */
static int take_run_id(struct tl_tape *t, uint32_t at, struct tl_dispatch_identity *id)
{
    uint64_t number = 0;
    int code;

    if (at == TL_TAPE_ABSENT || t->tokens[at].type == TL_TAPE_STRING)
        return tl__tape_text(t, at, "run_id", id->run_id, sizeof(id->run_id));
    code = tl__tape_u64(t, at, "run_id", UINT64_MAX, &number);
    (void)snprintf(id->run_id, sizeof(id->run_id), "%llu", (unsigned long long)number);
    return code;
}

static int on_identity(void *ctx, struct tl_tape *t)
{
    enum { RUN, SLOT, INDEX, SIZE, COUNT };
    static const char *const keys[COUNT] = {"run_id", "task_slot", "group_index", "group_size"};
    struct tl_dispatch_identity *id = ctx;
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, 0, NULL, keys, COUNT, f);

    if (code == 0)
        code = take_run_id(t, f[RUN], id);
    if (code == 0)
        code = tl__tape_u64(t, f[SLOT], keys[SLOT], UINT64_MAX, &id->task_slot);
    if (code == 0 && !tl__tape_is_null(t, f[INDEX]))
        code = tl__tape_u32(t, f[INDEX], keys[INDEX], &id->group_index);
    if (code == 0 && !tl__tape_is_null(t, f[SIZE]))
        code = tl__tape_u32(t, f[SIZE], keys[SIZE], &id->group_size);
    if (code == 0 && id->group_size != 0 && id->group_index >= id->group_size)
        return tl__tape_fail(t, TL_EPARSE, keys[INDEX], "%u is none of %u", id->group_index, id->group_size);
    return code;
}

int tl__dispatch_identity_read(const char *dir, struct tl_dispatch_identity *ret_identity, struct tl_error *reterr)
{
    const struct tl_tape_spec spec = {.on_value = on_identity, .ctx = ret_identity};
    char path[TL_PATHNAME_BYTES];

    memset(ret_identity, 0, sizeof(*ret_identity));
    if (!tl__pathname(path, "%s/" TL_DISPATCH_IDENTITY_NAME, dir))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    return tl__json_file_read(path, &spec, reterr);
}
