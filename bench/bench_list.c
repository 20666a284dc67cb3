/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing a recording of 1,000,000 records (or argv[1]) without values, as `tasklens dump --no-values` does it: seconds
 * to read the manifest, and to render. The recording is made in a directory of its own and removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "analysis/dump/dump_list.h"
#include "artifact/args_dump.h"

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int to_file(void *ctx, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, ctx) == n ? 0 : TL_EIO;
}

static int make(const char *dir, uint64_t count)
{
    struct tl_dump_record *records = calloc(count, sizeof(*records));
    struct tl_dump_summary summary = {.level = 3};
    struct tl_error error = {0};
    int code;

    if (records == NULL)
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        struct tl_dump_record *r = &records[i];

        tl__dump_record_init(r);
        r->task_id = i / 5;
        r->stage = i % 5 == 4;
        r->role = i % 5 == 4 ? TL_ROLE_OUTPUT : TL_ROLE_INPUT;
        r->arg_index = (uint32_t)(i % 5 == 4 ? 2 : i % 5 < 2 ? i % 5 : i % 5 + 1);
        r->dtype = TL_FLOAT32;
        r->func_id[0] = (int32_t)(i / 5 % 7);
        if (i % 5 == 2 || i % 5 == 3) {
            r->kind = TL_KIND_SCALAR;
            r->value_bits = 0x3f800000 + (uint32_t)i;
            continue;
        }
        r->rank = 2;
        r->shape[0] = 16;
        r->shape[1] = 4 + (uint32_t)(i % 8);
        r->strides[0] = r->shape[1];
        r->strides[1] = 1;
    }
    code = tl__dump_sort(records, count);
    if (code == 0)
        code = tl__dump_write_manifest(dir, &summary, records, count, &error);
    free(records);
    if (code != 0)
        fprintf(stderr, "bench_list: %s\n", error.msg);
    return code;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    char dir[] = "/tmp/tl_bench_list_XXXXXX", file[64];
    const struct tl_dump_filter all = TL_DUMP_FILTER_INIT;
    struct tl_dump_list list = {.dir = "bench"};
    struct tl_recording *recording = NULL;
    struct tl_dump_pick pick = {0};
    struct tl_error error = {0};
    struct tl_rendering page;
    FILE *out = fopen("/dev/null", "w");
    double begin, read, done;
    int code = 1;

    if (out == NULL || mkdtemp(dir) == NULL)
        return 2;
    (void)snprintf(file, sizeof(file), "%s/%s", dir, TL_DUMP_MANIFEST_NAME);
    if (make(dir, count) != 0)
        goto end;
    begin = seconds();
    if (tl_recording_open(dir, &recording, &error) < 0 || tl__dump_pick(recording, &all, &pick, &error) < 0) {
        fprintf(stderr, "bench_list: %s\n", error.msg);
        goto end;
    }
    read = seconds();
    list.scan.recording = recording;
    list.scan.pick = &pick;
    tl__rendering_init(&page, to_file, out);
    code = tl__dump_list_text(&page, &list, &error) != 0 || tl__rendering_end(&page) != 0;
    tl__rendering_fini(&page);
    done = seconds();
    printf("list %llu records: read %.2f s, render %.2f s, all %.2f s\n", (unsigned long long)count, read - begin,
           done - read, done - begin);
end:
    tl__dump_pick_fini(&pick);
    tl_recording_close(recording);
    (void)unlink(file);
    (void)rmdir(dir);
    (void)fclose(out);
    return code;
}
