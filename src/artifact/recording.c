/* SPDX-License-Identifier: Apache-2.0 */
/* The installed reader: finds the manifest of a run and hands out what the dump's reader knows. */
#include <tasklens/recording.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/args_dump.h"
#include "base/env.h"
#include "base/error.h"
#include "base/pathname.h"

struct tl_recording {
    struct tl_dump_reader *reader;
};

static bool is_file(const char *dir, const char *name)
{
    char path[TL_PATHNAME_BYTES];
    struct stat st;

    return tl__pathname(path, "%s/%s", dir, name) && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Directory of the manifest that `path` means. */
static int find_dir(const char *path, char *dir, size_t size, struct tl_error *reterr)
{
    size_t length = strlen(path), tail = sizeof(TL_DUMP_MANIFEST_NAME) - 1;

    if (length == 0 || length + sizeof(TL_DUMP_DIR_NAME) + 1 > size)
        return tl__fail(reterr, TL_EINVAL, "'%.200s': not a usable path", path);
    memcpy(dir, path, length + 1);
    if (length >= tail && strcmp(path + length - tail, TL_DUMP_MANIFEST_NAME) == 0 &&
        (length == tail || path[length - tail - 1] == '/')) {
        dir[length - tail] = 0;
        if (length == tail)
            memcpy(dir, ".", 2);
        return 0;
    }
    if (is_file(dir, TL_DUMP_MANIFEST_NAME))
        return 0;
    if (is_file(dir, TL_DUMP_DIR_NAME "/" TL_DUMP_MANIFEST_NAME)) {
        memcpy(dir + length, "/" TL_DUMP_DIR_NAME, sizeof("/" TL_DUMP_DIR_NAME));
        return 0;
    }
    return tl__fail(reterr, TL_ENOENT, "%s: no %s here or in %s/", path, TL_DUMP_MANIFEST_NAME, TL_DUMP_DIR_NAME);
}

TL_API int tl_recording_open(const char *path, struct tl_recording **ret_recording, struct tl_error *reterr)
{
    struct tl_recording *recording;
    char dir[TL_PATHNAME_BYTES];
    int code = find_dir(path, dir, sizeof(dir), reterr);

    if (code != 0)
        return code;
    recording = tl__alloc(1, sizeof(*recording));
    if (recording == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", path);
    code = tl__dump_open(dir, &recording->reader, reterr);
    if (code != 0) {
        tl__free(recording);
        return code;
    }
    *ret_recording = recording;
    return 0;
}

TL_API void tl_recording_close(struct tl_recording *recording)
{
    if (recording == NULL)
        return;
    tl__dump_close(recording->reader);
    tl__free(recording);
}

TL_API const struct tl_dump_summary *tl_recording_summary(const struct tl_recording *recording)
{
    return tl__dump_summary(recording->reader);
}

TL_API uint64_t tl_recording_count(const struct tl_recording *recording)
{
    return tl__dump_record_count(recording->reader);
}

TL_API const struct tl_dump_record *tl_recording_at(const struct tl_recording *recording, uint64_t index)
{
    return index < tl__dump_record_count(recording->reader) ? tl__dump_records(recording->reader) + index : NULL;
}

static int record_at(const struct tl_recording *recording, uint64_t index, const struct tl_dump_record **ret_record,
                     struct tl_error *reterr)
{
    *ret_record = tl_recording_at(recording, index);
    if (*ret_record == NULL)
        return tl__fail_at(reterr, TL_ERANGE, (long)index, "record %llu of %llu", (unsigned long long)index,
                           (unsigned long long)tl_recording_count(recording));
    return 0;
}

TL_API int tl_recording_payload(const struct tl_recording *recording, uint64_t index, const void **ret_data,
                                struct tl_error *reterr)
{
    const struct tl_dump_record *record;
    int code = record_at(recording, index, &record, reterr);

    return code != 0 ? code : tl__dump_payload(recording->reader, record, ret_data, reterr);
}

TL_API int tl_recording_read(const struct tl_recording *recording, uint64_t index, uint64_t offset, void *buffer,
                             size_t bytes, struct tl_error *reterr)
{
    const struct tl_dump_record *record;
    int code = record_at(recording, index, &record, reterr);

    return code != 0 ? code : tl__dump_read(recording->reader, record, offset, buffer, bytes, reterr);
}

TL_API int tl_recording_check(const struct tl_recording *recording, struct tl_dump_verdict *ret_verdict)
{
    return tl__dump_check(recording->reader, ret_verdict);
}

TL_API int tl_recording_verify(const struct tl_recording *recording, struct tl_dump_verdict *ret_verdict)
{
    return tl__dump_verify(recording->reader, ret_verdict);
}
