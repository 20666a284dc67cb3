/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The args dump: args_dump.json (the manifest) and args.bin (the payloads), docs/formats/args_dump.md.
 * The types are public, in <tasklens/recording.h>. Nothing here is shared between threads: one caller at a
 * time per object, except that reads from an open reader may run in parallel.
 */
#ifndef TL_ARTIFACT_ARGS_DUMP_H
#define TL_ARTIFACT_ARGS_DUMP_H

#include <tasklens/recording.h>

#define TL_DUMP_DIR_NAME "args_dump"
#define TL_DUMP_MANIFEST_NAME "args_dump.json"
#define TL_DUMP_BIN_NAME "args.bin"
#define TL_DUMP_VERSION 1 /* of what we write; a manifest that says more is refused */

_Static_assert(sizeof(struct tl_dump_record) == 136, "a million of these are sorted and written");

/* A record of nothing: func_id [-1], contiguous, dtype unknown, the rest 0. */
void tl__dump_record_init(struct tl_dump_record *record);
/* Bytes that the payload of a whole tensor of this dtype and shape has; 0 when they cannot be known (unknown dtype,
 * rank above TL_MAX_DIMS), saturates at UINT64_MAX. */
uint64_t tl__dump_payload_bytes(const struct tl_dump_record *record);
/* < 0, 0, > 0 by (task_id, stage, arg_index, role). */
int tl__dump_compare(const struct tl_dump_record *a, const struct tl_dump_record *b);

/* Sorts by (task_id, stage, arg_index, role); equal records keep their order, so append lane by lane. 0 or
 * TL_ENOMEM (records untouched). Takes one temporary copy of the records at most. */
int tl__dump_sort(struct tl_dump_record *records, uint64_t count);
/* Sets the seven counts of *summary from the records; leaves the rest alone. */
void tl__dump_count(struct tl_dump_summary *summary, const struct tl_dump_record *records, uint64_t count);

/* Why a record cannot be in a manifest (`has_bin`: that has a payload file), or NULL. */
const char *tl__dump_record_fault(const struct tl_dump_record *record, bool has_bin);
/*
 * Writes DIR/args_dump.json from sorted records, whole or not at all: a temporary file is written, synced and renamed,
 * and the directory is synced. Of *summary it uses run_dir ("" means "args_dump"), level, dropped_records and bin_file;
 * the counts come from the records. TL_EINVAL: unsorted or impossible records; TL_EIO, TL_ENOSPC, TL_ENOMEM.
 */
int tl__dump_write_manifest(const char *dir, const struct tl_dump_summary *summary,
                            const struct tl_dump_record *records, uint64_t count, struct tl_error *reterr);

struct tl_dump_reader; /* made by tl__dump_open, ended by tl__dump_close */

/* See tl_recording_open, but `dir` is the directory that holds args_dump.json. */
int tl__dump_open(const char *dir, struct tl_dump_reader **ret_reader, struct tl_error *reterr);
/* The same from memory, without a payload file. `name` appears in messages. The bytes are not needed afterwards. */
int tl__dump_parse(const void *bytes, size_t size, const char *name, struct tl_dump_reader **ret_reader,
                   struct tl_error *reterr);
/* NULL is fine. */
void tl__dump_close(struct tl_dump_reader *reader);
/* All three are the reader's until it is closed. */
const struct tl_dump_summary *tl__dump_summary(const struct tl_dump_reader *reader);
const struct tl_dump_record *tl__dump_records(const struct tl_dump_reader *reader);
uint64_t tl__dump_record_count(const struct tl_dump_reader *reader);
/* See tl_recording_payload, tl_recording_read, tl_recording_check, tl_recording_verify. */
int tl__dump_payload(const struct tl_dump_reader *reader, const struct tl_dump_record *record, const void **ret_data,
                     struct tl_error *reterr);
int tl__dump_read(const struct tl_dump_reader *reader, const struct tl_dump_record *record, uint64_t offset,
                  void *buffer, size_t bytes, struct tl_error *reterr);
int tl__dump_check(const struct tl_dump_reader *reader, struct tl_dump_verdict *ret_verdict);
int tl__dump_verify(const struct tl_dump_reader *reader, struct tl_dump_verdict *ret_verdict);

#endif
