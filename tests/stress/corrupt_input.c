/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structured fuzzing of what the host reads from damaged files and memory: journals whose checksums are right and whose contents are
 * wrong, and device memory that a kernel's stray writes hit. An input is one run's journal, or one run, with a few
 * fields (of records, headers, lanes, queues) set to extreme values. The host must live, answer soon, and keep every
 * record that was not hit: each is either collected or counted, and no more are counted as corrupt than were hit.
 *
 *     stress_corrupt_input [--journal N] [--memory N] [--seed S] [--from I]
 *
 * Inputs run in a child, so that one that kills it is reported by its number and the rest goes on. The preset `controlled`
 * is the one for many: a million of each take it some 20 minutes of one core.
 *
 *     build/controlled/tests/stress_corrupt_input --journal 1000000 --memory 1000000
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/env_controlled.h"
#include "base/log.h"
#include "stress/corrupt_input.h"

#define HANG_S 20
#define CHUNK 256u /* inputs of one engine, at most */

struct corrupt_input *corrupt_input;

static void silent(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx, (void)level, (void)line;
}

uint64_t corrupt_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t extreme(uint64_t *random, uint64_t old)
{
    const uint64_t r = corrupt_random(random);

    switch (r % 10) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return UINT64_C(1) << (r >> 8) % 64;
    case 3:
        return (UINT64_C(1) << (r >> 8) % 64) - 1;
    case 4:
        return old + 1;
    case 5:
        return old - 1;
    case 6:
        return UINT64_C(0x8000000080008080);
    case 7:
        return UINT64_C(0x7fffffff7fff7f7f);
    case 8:
        return old ^ UINT64_C(1) << (r >> 8) % 64;
    default:
        return r >> 4;
    }
}

void corrupt_hit(uint64_t *random, void *at, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, at, bytes);
    value = extreme(random, value);
    memcpy(at, &value, bytes);
}

void corrupt_hit_record(uint64_t *random, const struct tl_collector_spec *spec, uint8_t *record)
{
    const unsigned kind = spec->n_tables == 1 ? 0 : record[0] % spec->n_tables;
    const struct tl_record_table *table = &spec->tables[kind];
    const uint64_t r = corrupt_random(random);

    if (r % 2 == 0 && table->n != 0) {
        const struct tl_record_field *f = &table->fields[(r >> 8) % table->n];

        if (f->kind == TL_FIELD_TEXT)
            memset(record + f->offset, 'x', f->bytes);
        else
            corrupt_hit(random, record + f->offset + (r >> 16) % f->count * f->bytes, f->bytes);
    } else {
        const unsigned bytes = 1u << (r >> 8) % 4;

        corrupt_hit(random, record + (r >> 16) % (spec->record_bytes / bytes) * bytes, bytes);
    }
}

void corrupt_must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "corrupt_input: %s %" PRIu64 " of seed %" PRIu64 ": %s\n", corrupt_input->part, corrupt_input->now,
            corrupt_input->seed, what);
    _exit(3);
}

/* What an input is, and what a child keeps for all of its inputs. */
struct part {
    const char *name;
    void (*begin)(void);
    void (*one)(uint64_t input);
    void (*end)(void);
};

static struct chunk {
    const struct part *part;
    uint64_t end;
} chunk;

static void run_chunk(void *arg)
{
    const struct itimerval limit = {.it_value = {.tv_sec = HANG_S}};
    const struct chunk *c = arg;

    c->part->begin();
    for (; corrupt_input->now < c->end; corrupt_input->now++) {
        (void)setitimer(ITIMER_REAL, &limit, NULL);
        c->part->one(corrupt_input->now);
        corrupt_input->done++;
    }
    c->part->end();
}

#ifdef TASKLENS_CONTROLLED
/* All threads as one, in an order that the first input's number decides: what fails does so again, and no thread waits
 * for the system to wake it. */
static void do_chunk(void)
{
    static struct tl_controlled_report report;
    const struct tl_controlled_opts opts = {.seed = corrupt_input->seed * UINT64_C(1000003) + corrupt_input->now,
                                            .steps_max = UINT64_MAX};

    corrupt_must(tl__controlled_run(&opts, run_chunk, &chunk, &report) == 0, report.text);
}
#else
static void do_chunk(void)
{
    run_chunk(&chunk);
}
#endif

static void child_main(uint64_t n, const struct part *part)
{
    tl_log_set_sink(silent, NULL);
    chunk.part = part;
    while (corrupt_input->now < n) {
        chunk.end = n - corrupt_input->now > CHUNK ? corrupt_input->now + CHUNK : n;
        do_chunk();
    }
    _exit(0);
}

/* How many inputs failed. */
static unsigned run(const struct part *part, uint64_t from, uint64_t n)
{
    unsigned failed = 0;
    struct timespec start, end;

    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    (void)snprintf(corrupt_input->part, sizeof(corrupt_input->part), "%s", part->name);
    corrupt_input->done = corrupt_input->hits = corrupt_input->corrupt = corrupt_input->kept = corrupt_input->refused =
        0;
    for (corrupt_input->now = from; corrupt_input->now < n && failed < 20; corrupt_input->now++) {
        pid_t child;
        int status = 0;

        (void)fflush(NULL);
        child = fork();
        if (child == 0)
            child_main(n, part);
        (void)waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        failed++;
        if (WIFSIGNALED(status))
            fprintf(stderr, "corrupt_input: %s %" PRIu64 " of seed %" PRIu64 ": signal %d%s\n", part->name,
                    corrupt_input->now, corrupt_input->seed, WTERMSIG(status),
                    WTERMSIG(status) == SIGALRM ? ", it hangs" : "");
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%-8s %" PRIu64 " inputs, %" PRIu64 " fields hit, %" PRIu64 " records left out, %" PRIu64 " kept, %" PRIu64
           " refused whole, %u failed, %.0f s\n",
           part->name, corrupt_input->done, corrupt_input->hits, corrupt_input->corrupt, corrupt_input->kept,
           corrupt_input->refused, failed, (double)(end.tv_sec - start.tv_sec));
    return failed;
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"journal", corrupt_journal_begin, corrupt_journal, corrupt_journal_end},
        {"memory", corrupt_memory_begin, corrupt_memory, corrupt_memory_end},
    };
    const char *memory = getenv("TASKLENS_TEST_MEMORY"); /* where ./check wants what lies in memory */
    uint64_t journals = 300, memories = 300, seed = 1, from = 0;
    unsigned failed;

    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t *to = strcmp(argv[i], "--journal") == 0  ? &journals
                       : strcmp(argv[i], "--memory") == 0 ? &memories
                       : strcmp(argv[i], "--seed") == 0   ? &seed
                       : strcmp(argv[i], "--from") == 0   ? &from
                                                          : NULL;

        if (to == NULL)
            return 2;
        *to = strtoull(argv[i + 1], NULL, 10);
    }
    corrupt_input = mmap(NULL, sizeof(*corrupt_input), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (corrupt_input == MAP_FAILED)
        return 1;
    corrupt_input->seed = seed;
    (void)snprintf(corrupt_input->dir, sizeof(corrupt_input->dir), "%s/tl-corrupt-input-XXXXXX",
                   memory != NULL                  ? memory
                   : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                   : "/tmp");
    if (mkdtemp(corrupt_input->dir) == NULL)
        return 1;
    failed = run(&parts[0], from, journals);
    failed += run(&parts[1], from, memories);
    return corrupt_clean() != 0 || failed != 0;
}
