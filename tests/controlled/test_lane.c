/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes under every order and fault that a seed can think of: three runs on one engine, over levels, pool sizes,
 * transports, and what goes wrong. Whatever happens, the counts of each run hold, what is in args.bin is what was
 * produced, nothing hangs, and nothing is dropped unless the host was dead or the disk failed.
 *
 *     controlled_test_lane [FIRST [COUNT [trace]]]        default: 1, and $TASKLENS_SEEDS or 1000
 */
#include <dirent.h>
#include <sys/stat.h>

#include "base/env_controlled.h"
#include "support/fake_run.h"
#include "support/scratch.h"

#define MEMORY ((uint64_t)4 << 20)
#define RUNS 3
#define S UINT64_C(1000000000)

enum trouble {
    NONE,
    SLOW_WRITER,
    HOST_PAUSES,   /* 25 s: slow, not dead */
    WRITER_PAUSES, /* for minutes: the heartbeat moves all the same */
    HOST_DEAD,     /* 100 s */
    DISK_FULL,
    DISK_ERROR,
    SHORT_WRITES,
    DEVICE_KILLED,
    NO_MEMORY,
    BELLS_ZEROED, /* by a kernel, again and again */
    STRAYS,       /* into records and headers of buffers, so that payloads drop out of sight */
    TROUBLES
};

static const char *const trouble_names[] = {"none",          "slow writer", "host pauses",  "writer pauses",
                                            "host dead",     "disk full",   "disk error",   "short writes",
                                            "device killed", "no memory",   "bells zeroed", "strays"};

struct scenario {
    uint64_t seed;
    enum trouble trouble;
    enum fake_kind kind;
    int level;
    unsigned lanes, threads;
    bool pipelined;
    struct tl_run_config config;
    struct fake_script script;
    uint64_t arena_bytes;
    uint64_t step;     /* of a kill or freeze; 0: none */
    uint32_t hit_each; /* one record of so many is hit; 0: none */
    char faults[128], dir[128];
};

static uint64_t draw(uint64_t *state, uint64_t n)
{
    return tl__random_next(state) % n;
}

static void faults_of(struct scenario *s, uint64_t *r)
{
    unsigned long long step = 200 + draw(r, draw(r, 2) ? 5000 : 30000), ns = 1 + draw(r, 2000000);
    unsigned long long bytes = draw(r, 40000);

    if (s->trouble == HOST_PAUSES || s->trouble == WRITER_PAUSES || s->trouble == HOST_DEAD ||
        s->trouble == DEVICE_KILLED)
        s->step = step;
    switch (s->trouble) {
    case SLOW_WRITER:
        snprintf(s->faults, sizeof(s->faults), "slow_write%%30=%llu", ns);
        break;
    case HOST_PAUSES:
        snprintf(s->faults, sizeof(s->faults), "freeze.host@%llu=%llu", step, (unsigned long long)(25 * S));
        break;
    case WRITER_PAUSES:
        snprintf(s->faults, sizeof(s->faults), "freeze.host-writer@%llu=%llu", step, (unsigned long long)(200 * S));
        break;
    case HOST_DEAD:
        snprintf(s->faults, sizeof(s->faults), "freeze.host@%llu=%llu", step, (unsigned long long)(100 * S));
        break;
    case DISK_FULL:
        snprintf(s->faults, sizeof(s->faults), "disk_full=%llu", bytes);
        break;
    case DISK_ERROR:
        snprintf(s->faults, sizeof(s->faults), "write_eio@%llu", 1 + bytes % 100);
        break;
    case SHORT_WRITES:
        snprintf(s->faults, sizeof(s->faults), "short_write%%50");
        break;
    case DEVICE_KILLED:
        snprintf(s->faults, sizeof(s->faults), "kill.dev@%llu", step);
        break;
    case NO_MEMORY:
        snprintf(s->faults, sizeof(s->faults), "alloc@%llu+%llu", 1 + bytes % 60, 1 + bytes % 5);
        break;
    case BELLS_ZEROED:
        snprintf(s->faults, sizeof(s->faults), "look=100000000");
        break;
    default:
        break;
    }
}

static void scenario_of(struct scenario *s, uint64_t seed, const char *base)
{
    static const uint32_t records[] = {1, 2, 5, 16}, buffers[] = {1, 2, 4}, avg[] = {4096, 1024, 512};
    uint64_t r = seed * UINT64_C(0x9E3779B97F4A7C15);

    memset(s, 0, sizeof(*s));
    s->seed = seed;
    s->trouble = (enum trouble)(seed % TROUBLES);
    s->kind = draw(&r, 2) ? FAKE_MAPPED : FAKE_COPY_THREAD;
    s->level = 1 + (int)draw(&r, 3);
    s->lanes = 1 + (unsigned)draw(&r, 3);
    s->threads = 1 + (unsigned)draw(&r, 2);
    s->pipelined = draw(&r, 3) == 0;
    s->config = (struct tl_run_config)TL_RUN_CONFIG_INIT;
    s->config.levels[TL_COLLECT_DUMP] = s->level;
    s->config.dump_oversize_chunk = true;
    s->config.dfx_records = records[draw(&r, 4)];
    s->config.dfx_buffers = buffers[draw(&r, 3)];
    s->config.dfx_avg_bytes = avg[draw(&r, 3)] / s->config.dfx_records / s->config.dfx_buffers * (1 + draw(&r, 16));
    s->config.dfx_ready = s->config.dfx_free = 1;
    s->arena_bytes = (uint64_t)s->config.dfx_records * s->config.dfx_buffers *
                     (s->config.dfx_avg_bytes ? s->config.dfx_avg_bytes : 1);
    if (s->config.dfx_avg_bytes == 0)
        s->config.dfx_avg_bytes = 1;
    s->arena_bytes = (s->arena_bytes + 4095) / 4096 * 4096;
    s->script.records = (uint32_t)draw(&r, 60);
    s->script.scalar_every = (uint32_t)draw(&r, 5);
    s->script.bytes_min = (uint32_t)draw(&r, 300);
    s->script.bytes_span = 1 + (uint32_t)draw(&r, draw(&r, 3) ? 900 : 5000);
    if (draw(&r, 3) == 0) {
        s->script.chunk_every = 2 + (uint32_t)draw(&r, 20);
        s->script.chunk_pieces = 5 + (uint32_t)draw(&r, 4);
    }
    s->script.no_payload = s->level == 3 && draw(&r, 2) == 0;
    if (s->script.no_payload)
        s->script.chunk_every = 0;
    if (s->trouble == STRAYS) {
        s->script.chunk_every = 0; /* a hit piece costs others of its record */
        s->hit_each = 2 + (uint32_t)draw(&r, 8);
    }
    faults_of(s, &r);
    snprintf(s->dir, sizeof(s->dir), "%s/%llu", base, (unsigned long long)seed);
}

/* --- one seed -------------------------------------------------------------------------------------------------- */

struct state {
    const struct scenario *s;
    struct fake_world w;
    char dirs[RUNS][160];
    struct tl_thread *threads[FAKE_LANES];
    uint64_t zeroed;
    uint64_t hits, counts_hit; /* of the current run: records that cannot be; counts that hide records */
    uint64_t hits_in_all;
};

struct pump {
    struct fake_role *role;
    struct fake_chip *chip;
    struct state *state;
};

/* A stray write of a kernel: into the record that was committed last, the count over it, or the header of the buffer
 * that was published last. Each takes a payload out of the host's sight, whose room the lane needs again. */
static void stray(struct state *st, struct fake_role *r)
{
    struct tl_producer *p = &r->producer;
    struct tl_lane_buffer *last = tl__dev_ptr(&p->mem, p->buffer_addr, p->lane->buffer_bytes);

    if (p->buffer != NULL && p->count != 0) {
        struct tl_wire_dump_record *w = (struct tl_wire_dump_record *)(void *)(p->buffer + 1) + (p->count - 1);

        if (tl__controlled_choose(3) != 0) {
            st->hits += w->stage != 9;
            w->stage = 9;
        } else if (tl__controlled_choose(2) != 0) {
            tl_store_rel(&p->buffer->count, p->count - 1); /* holds until the next record is committed */
            st->counts_hit++;
        }
    } else if (p->buffer == NULL && last != NULL) {
        last->arena_end = tl__controlled_choose(2) != 0 ? 0 : last->arena_end + tl__controlled_choose(p->arena_bytes);
    }
}

/* fake_role_run, hit between its steps. */
static void run_under_strays(struct pump *p)
{
    while (!p->role->over) {
        bool waits = fake_role_step(p->role) == TL_EAGAIN;
        uint32_t ticket;

        if (waits || tl__controlled_choose(p->state->s->hit_each) == 0)
            stray(p->state, p->role);
        if (!waits)
            continue;
        ticket = tl__bell_arm(&p->chip->bells->device);
        if (fake_role_step(p->role) == TL_EAGAIN)
            (void)tl__bell_sleep_bounded(&p->chip->bells->device, ticket, tl__producer_deadline(&p->role->producer));
        tl__bell_disarm(&p->chip->bells->device);
    }
}

static void pump_main(void *arg)
{
    struct pump *p = arg;

    if (p->state->s->trouble == STRAYS)
        run_under_strays(p);
    else
        fake_role_run(p->role, p->chip);
}

static void zero_bells(void *arg)
{
    struct state *st = arg;

    for (int i = 0; i < 4; i++) {
        tl__controlled_sleep(tl__controlled_choose(2000000));
        memset(st->w.chip.bells, 0, sizeof(*st->w.chip.bells));
        st->zeroed++;
    }
}

static bool on_the_device(struct state *st)
{
    struct pump pumps[FAKE_LANES];
    struct tl_thread *stray = NULL;
    bool over = true;

    st->hits = st->counts_hit = 0;
    if (st->s->trouble == BELLS_ZEROED)
        tl__controlled_check(tl__spawn("stray", zero_bells, st, &stray) == 0);

    for (unsigned i = 0; i < st->s->lanes; i++) {
        pumps[i] = (struct pump){&st->w.roles[i], &st->w.chip, st};
        tl__controlled_check(tl__spawn("dev-role", pump_main, &pumps[i], &st->threads[i]) == 0);
    }
    for (unsigned i = 0; i < st->s->lanes; i++)
        tl__join(st->threads[i]);
    tl__join(stray);
    for (unsigned i = 0; i < st->s->lanes; i++)
        over = over && st->w.roles[i].over;
    st->hits_in_all += st->hits;
    return over;
}

static uint64_t sum_dropped(const struct tl_run_result *r)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < TL_LOSS_COUNT; i++)
        n += r->records_dropped[i];
    return n;
}

/* What strays may cost: each record that was hit, and what a count hides; all else is there. */
static uint64_t check_strays(const struct state *st, uint32_t epoch, int r, const struct tl_run_result *result,
                             const struct tl_error *err)
{
    uint64_t corrupt = result->records_dropped[TL_LOSS_CORRUPT];
    uint64_t hidden = result->records_attempted - result->records_collected - corrupt;

    if (corrupt > st->hits || corrupt + st->counts_hit < st->hits || hidden > st->counts_hit)
        tl__controlled_fail("run %u: %llu hits and %llu counts cost %llu records and hid %llu", epoch,
                            (unsigned long long)st->hits, (unsigned long long)st->counts_hit,
                            (unsigned long long)corrupt, (unsigned long long)hidden);
    if (r != (corrupt + hidden != 0 ? TL_ELOST : 0))
        tl__controlled_fail("run %u: %s: %s", epoch, tl_errname(r), err->msg);
    return hidden;
}

static void check_run(struct state *st, uint32_t epoch, bool killed, int r, const struct tl_run_result *result,
                      const struct tl_error *err)
{
    const struct scenario *s = st->s;
    uint64_t dropped = sum_dropped(result), expected = (uint64_t)s->lanes * s->script.records;
    bool disk = s->trouble == DISK_FULL || s->trouble == DISK_ERROR;
    /* A host taken for dead within a payload in pieces leaves that record partial; nothing is dropped by it. */
    bool cut = s->trouble == HOST_DEAD && result->payloads_lost != 0;
    uint64_t hidden = s->trouble == STRAYS ? check_strays(st, epoch, r, result, err) : 0;
    struct fake_found found;

    if (result->records_attempted != result->records_collected + dropped + hidden)
        tl__controlled_fail("run %u: attempted %llu, collected %llu, dropped %llu", epoch,
                            (unsigned long long)result->records_attempted,
                            (unsigned long long)result->records_collected, (unsigned long long)dropped);
    if (!killed && result->records_attempted != expected)
        tl__controlled_fail("run %u: attempted %llu of %llu", epoch, (unsigned long long)result->records_attempted,
                            (unsigned long long)expected);
    if (dropped != result->records_dropped[TL_LOSS_HOST_DEAD] + result->records_dropped[TL_LOSS_DEVICE_DEAD] +
                       (s->trouble == NO_MEMORY ? result->records_dropped[TL_LOSS_NO_BUFFER] : 0) +
                       (s->trouble == STRAYS ? result->records_dropped[TL_LOSS_CORRUPT] : 0) ||
        (result->records_dropped[TL_LOSS_HOST_DEAD] != 0 && s->trouble != HOST_DEAD) ||
        result->records_dropped[TL_LOSS_DEVICE_DEAD] > (killed ? s->lanes : 0))
        tl__controlled_fail("run %u: dropped without a reason: %s", epoch, err->msg);
    if ((disk && (r == TL_ENOSPC || r == TL_EIO)) || (s->trouble == NO_MEMORY && r == TL_ENOMEM))
        return; /* not written; the journal stays */
    if (r != 0 && !(r == TL_ELOST && (disk || killed || cut || dropped + hidden != 0)))
        tl__controlled_fail("run %u: %s: %s", epoch, tl_errname(r), err->msg);
    if (r == 0 && (dropped != 0 || result->payloads_lost != 0))
        tl__controlled_fail("run %u: a loss is a success", epoch);
    if (result->records_collected == 0 && !fake_exists(st->dirs[epoch - 1], "args_dump/args_dump.json"))
        return;
    found = fake_check_dir(st->dirs[epoch - 1], &s->script, epoch, s->arena_bytes);
    if (s->trouble == NO_MEMORY && strstr(found.wrong, "out of memory") != NULL)
        return; /* it was this check that had none */
    if (found.wrong[0] != '\0')
        tl__controlled_fail("run %u: %s", epoch, found.wrong);
    if (found.records != result->records_collected)
        tl__controlled_fail("run %u: %llu records in the manifest, %llu collected", epoch,
                            (unsigned long long)found.records, (unsigned long long)result->records_collected);
    if (found.dropped != dropped || found.lost + found.partial != result->payloads_lost || (found.lost != 0 && !disk))
        tl__controlled_fail("run %u: %llu dropped and %llu payloads lost in the manifest", epoch,
                            (unsigned long long)found.dropped, (unsigned long long)found.lost);
    if (found.partial != 0 && !killed && !cut && dropped == 0)
        tl__controlled_fail("run %u: a partial payload without a reason", epoch);
}

static void finish(struct state *st, uint32_t epoch, bool over)
{
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    uint64_t expected = UINT64_MAX;
    int r = over ? tl__engine_quiesce(st->w.engine, epoch, tl__now_ns() + 1000 * S) : TL_ETIMEDOUT;

    if (r != 0 && over)
        tl__controlled_fail("run %u: the device is done and not all of it arrived", epoch);
    if (r != 0 && (r = tl__engine_reconcile(st->w.engine, epoch, &err)) != 0)
        tl__controlled_fail("run %u: reconcile: %s", epoch, err.msg);
    if (over)
        expected = (uint64_t)st->s->lanes * st->s->script.records;
    r = fake_export(st->w.engine, epoch, expected, &result, &err);
    check_run(st, epoch, !over, r, &result, &err);
}

static int begin(struct state *st, uint32_t epoch)
{
    struct tl_run_config c = st->s->config;
    struct tl_error err = {0};
    int r;

    c.output_prefix = st->dirs[epoch - 1];
    r = fake_begin(&st->w, epoch, st->s->lanes, &c, &st->s->script, &err);
    if (st->s->trouble == NO_MEMORY && r == TL_ENOMEM)
        return r;
    if (r != 0 && r != TL_EBUSY && st->s->trouble != DISK_FULL && st->s->trouble != DISK_ERROR)
        tl__controlled_fail("run %u: begin: %s", epoch, err.msg);
    return r;
}

static void seed_main(void *arg)
{
    struct state *st = arg;
    uint32_t open = 0; /* a run that is over on the device and not exported */
    bool over = true;

    if (fake_world_try(&st->w, st->s->kind, st->s->threads, MEMORY) < 0) {
        tl__controlled_check(st->s->trouble == NO_MEMORY);
        return;
    }
    for (uint32_t epoch = 1; epoch <= RUNS; epoch++) {
        int r = begin(st, epoch);

        if (open != 0) {
            finish(st, open, true);
            if (r == TL_EBUSY)
                r = begin(st, epoch);
        }
        open = 0;
        if (r == TL_ENOMEM)
            continue; /* the next one may have it */
        if (r != 0)
            break;
        over = on_the_device(st);
        if (over && st->s->pipelined && epoch < RUNS)
            open = epoch;
        else
            finish(st, epoch, over);
    }
    if (open != 0)
        finish(st, open, true);
    fake_world_fini(&st->w);
}

/* --- all of them ----------------------------------------------------------------------------------------------- */

static void print(void *ctx, const char *line)
{
    (void)ctx;
    printf("%s\n", line);
}

static void clean(const struct state *st)
{
    static const char *const names[] = {
        "args_dump/args.bin", "args_dump/args_dump.json", "args_dump", "dfx_meta.json", "run.journal", "."};
    char path[256];

    for (int i = 0; i < RUNS; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            snprintf(path, sizeof(path), "%s/%s", st->dirs[i], names[k]);
            if (unlink(path) < 0)
                (void)rmdir(k == 5 ? st->dirs[i] : path);
        }
    (void)rmdir(st->s->dir);
}

static int one_seed(uint64_t seed, const char *base, bool trace, uint64_t *fired)
{
    static struct tl_controlled_report report;
    static struct state st;
    struct scenario s;
    struct tl_controlled_opts opts = {.seed = seed, .steps_max = 4000000, .trace = trace ? print : NULL};
    int r;

    scenario_of(&s, seed, base);
    memset(&st, 0, sizeof(st));
    st.s = &s;
    if (mkdir(s.dir, 0777) < 0)
        return 1;
    for (int i = 0; i < RUNS; i++) {
        snprintf(st.dirs[i], sizeof(st.dirs[i]), "%s/%d", s.dir, i + 1);
        if (mkdir(st.dirs[i], 0777) < 0)
            return 1;
    }
    opts.faults = s.faults;
    r = tl__controlled_run(&opts, seed_main, &st, &report);
    fired[s.trouble] += s.trouble == BELLS_ZEROED ? st.zeroed != 0
                        : s.trouble == STRAYS     ? st.hits_in_all != 0
                        : s.step != 0             ? report.steps >= s.step
                                                  : report.faults.count > 0 && report.faults.entries[0].fired;
    if (r == 0 && report.allocs_live != 0) {
        printf("%lld allocations were never freed\n", (long long)report.allocs_live);
        r = TL_ENOMEM;
    }
    if (r != 0) {
        printf(
            "%s\n(%s, %s, level %d, %u lanes, %u threads, %u records a buffer, %u buffers, arena %llu, %u records%s)\n"
            "FAILED seed=%llu\n",
            report.text, trouble_names[s.trouble], fake_kind_name(s.kind), s.level, s.lanes, s.threads,
            s.config.dfx_records, s.config.dfx_buffers, (unsigned long long)s.arena_bytes, s.script.records,
            s.pipelined ? ", pipelined" : "", (unsigned long long)seed);
        return 1;
    }
    clean(&st);
    return 0;
}

int main(int argc, char **argv)
{
    const char *seeds = getenv("TASKLENS_SEEDS");
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : seeds != NULL ? strtoull(seeds, NULL, 10) : 1000;
    uint64_t fired[TROUBLES] = {0};
    const char *dir = scratch(true);
    int failed = 0;

    for (uint64_t seed = first; seed < first + count && failed < 5; seed++)
        failed += one_seed(seed, dir, argc > 3, fired);
    for (int i = 1; i < TROUBLES && failed == 0 && count >= 100; i++) {
        printf("%-14s hit %llu of about %llu seeds\n", trouble_names[i], (unsigned long long)fired[i],
               (unsigned long long)(count / TROUBLES));
        if (fired[i] < count / TROUBLES / 4) {
            printf("that is too few to have tested anything\n");
            failed++;
        }
    }
    printf("%llu seeds from %llu, %d failed\n", (unsigned long long)count, (unsigned long long)first, failed);
    return failed != 0;
}
