/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_program.json: which program a dispatch of a distributed run ran (docs/formats/dispatch_program.md). It
 * is in ROOT/rank<R>/d<K>/ beside what was recorded, because the path says where something ran, not what. One
 * writer and one reader; files made by others of this kind may say no more than the program's name.
 */
#ifndef TL_ARTIFACT_DISPATCH_PROGRAM_H
#define TL_ARTIFACT_DISPATCH_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#define TL_DISPATCH_NAME "dispatch_program.json"
#define TL_DISPATCH_VERSION 1u
#define TL_MAX_RANKS 65536u
#define TL_DISPATCH_IDENTITY_NAME "dispatch_identity.json"

struct tl_dispatch {
    char program[128], case_name[64];
    char program_hash[24]; /* "xxh3:<16 hex>"; "" if not known, as all texts below */
    char platform[16], runtime[32];
    uint32_t rank, ranks; /* ranks 0: not known */
    uint32_t dispatch;    /* of this rank, from 0 */
    uint32_t pid;         /* of the host's process; 0: not known */
    char host[64];        /* the machine's name */
    char job[96];         /* the launcher's name for what the ranks have in common */
    uint64_t start_unix_ns;
};

/* dispatch_identity.json of writers elsewhere: the members of one group, one on each endpoint, share run and slot. */
struct tl_dispatch_identity {
    char run_id[64];
    uint64_t task_slot;
    uint32_t group_index, group_size; /* size 0: not stated */
};

/* Reads DIR/dispatch_identity.json (docs/formats/dispatch_program.md). A run_id may be a number. TL_ENOENT, TL_EIO;
 * TL_EPARSE, also for a group_index that is none of the group. */
int tl__dispatch_identity_read(const char *dir, struct tl_dispatch_identity *ret_identity, struct tl_error *reterr);
/* Writes DIR/dispatch_program.json by rename. TL_EIO, TL_ENOSPC, TL_ENOMEM. */
int tl__dispatch_write(const char *dir, const struct tl_dispatch *dispatch, struct tl_error *reterr);
/* Reads it. Fields that are not there stay 0, but for the program. TL_ENOENT, TL_EIO, TL_EVERSION; TL_EPARSE, also for
 * a rank that is none of its ranks. */
int tl__dispatch_read(const char *dir, struct tl_dispatch *ret_dispatch, struct tl_error *reterr);
/* The same from memory; `name` appears in messages. */
int tl__dispatch_parse(const void *text, size_t bytes, const char *name, struct tl_dispatch *ret_dispatch,
                       struct tl_error *reterr);

#endif
