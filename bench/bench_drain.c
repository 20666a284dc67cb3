/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drain of large tensors from a lane's arena to args.bin, against a plain loop of 1 MiB writes of the same bytes with
 * the same rolling sync window, in turns in one run. The role pushes tensors whose bytes are there already, so that the
 * device's copying is not measured; memory is touched before.
 *
 *     bench_drain [MIB [DIR [ROUNDS]]]        default: 8192 MiB, ., 3. A DIR on tmpfs measures the page cache.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "support/fake_run.h"

#define MIB ((uint64_t)1 << 20)
#define TENSOR (8 * MIB)
#define ARENA (128 * MIB)
#define WINDOW (32 * MIB)

static double seconds_since(uint64_t start)
{
    return (double)(tl__now_ns() - start) / 1e9;
}

static double plain(const char *dir, const uint8_t *source, uint64_t bytes)
{
    char path[400];
    uint64_t start, end = 0;
    size_t written;
    double seconds;
    int fd;

    snprintf(path, sizeof(path), "%s/plain.bin", dir);
    start = tl__now_ns();
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (uint64_t at = 0; at < bytes; at += MIB) {
        if (fd < 0 || tl__write(fd, source + at % ARENA, MIB, at, &written) < 0) {
            fprintf(stderr, "%s: cannot be written\n", path);
            exit(1);
        }
        if (at + MIB - end >= WINDOW) {
            tl__sync_window(fd, end, WINDOW, end >= WINDOW ? end - WINDOW : 0, end >= WINDOW ? WINDOW : end);
            end += WINDOW;
        }
    }
    (void)tl__sync(fd);
    seconds = seconds_since(start);
    close(fd);
    unlink(path);
    return seconds;
}

/* Pushes tensors without filling them: what is in the arena is what is drained. */
static void push_all(struct fake_role *r, struct fake_chip *c, uint64_t bytes)
{
    uint32_t n = 0;

    while (bytes > 0 || !r->over) {
        struct tl_wire_dump_record *w;
        uint32_t ticket = tl__bell_arm(&c->bells->device);
        uint64_t offset;
        void *payload;
        int rc =
            bytes > 0 ? tl__producer_reserve(&r->producer, TENSOR, &payload, &offset) : tl__producer_end(&r->producer);

        if (rc == TL_EAGAIN)
            (void)tl__bell_sleep(&c->bells->device, ticket, tl__producer_deadline(&r->producer));
        tl__bell_disarm(&c->bells->device);
        if (rc == TL_EAGAIN)
            continue;
        if (bytes == 0) {
            r->over = true;
            continue;
        }
        w = tl__producer_record(&r->producer);
        memset(w, 0, sizeof(*w));
        w->task_id = n++;
        w->func_count = 1;
        w->dtype = TL_UINT8;
        w->rank = 1;
        w->shape[0] = (uint32_t)TENSOR;
        w->strides[0] = 1;
        w->payload = offset;
        w->payload_bytes = TENSOR;
        tl__producer_commit(&r->producer, TENSOR);
        bytes -= TENSOR;
    }
}

static double drain(struct fake_world *w, const char *dir, uint32_t epoch, uint64_t bytes)
{
    struct fake_script s = {0};
    struct tl_run_config c = TL_RUN_CONFIG_INIT;
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    char path[400];
    uint64_t start;
    double seconds;

    c.output_prefix = dir;
    c.levels[TL_COLLECT_DUMP] = 2;
    if (fake_begin(w, epoch, 1, &c, &s, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    if (epoch == 1)
        memset(w->roles[0].producer.arena, 0x5a, w->roles[0].producer.arena_bytes);
    start = tl__now_ns();
    push_all(&w->roles[0], &w->chip, bytes);
    if (tl__engine_quiesce(w->engine, epoch, TL_FOREVER) < 0 ||
        fake_export(w->engine, epoch, bytes / TENSOR, &result, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    seconds = seconds_since(start); /* with the sync and the manifest, as the plain loop has its sync */
    if (result.payload_bytes != bytes)
        exit(1);
    snprintf(path, sizeof(path), "%s/args_dump/args.bin", dir);
    unlink(path);
    return seconds;
}

int main(int argc, char **argv)
{
    uint64_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 8192) * MIB / TENSOR * TENSOR;
    unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 3;
    uint8_t *source = tl__reserve(ARENA);
    char dir[300], command[400];

    snprintf(dir, sizeof(dir), "%s/tl-bench-XXXXXX", argc > 2 ? argv[2] : ".");
    if (source == NULL || mkdtemp(dir) == NULL)
        return 1;
    memset(source, 0x5a, ARENA);
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_world w;
        double best_plain = 1e30, best = 1e30;

        fake_world_init(&w, kind, 1, (uint64_t)1 << 30);
        (void)drain(&w, dir, 1, 2 * ARENA); /* touches the memory of both sides */
        for (uint32_t i = 0; i < rounds; i++) {
            double a = plain(dir, source, bytes), b = drain(&w, dir, i + 2, bytes);

            best_plain = a < best_plain ? a : best_plain;
            best = b < best ? b : best;
        }
        printf("%-12s %llu MiB: plain %.3g bytes/s, drain %.3g bytes/s, ratio %.3f\n", fake_kind_name(kind),
               (unsigned long long)(bytes / MIB), (double)bytes / best_plain, (double)bytes / best, best_plain / best);
        fake_world_fini(&w);
    }
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command) != 0;
}
