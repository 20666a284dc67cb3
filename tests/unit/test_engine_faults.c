/* SPDX-License-Identifier: Apache-2.0 */
/* The engine when things go wrong: garbage from the device, a dead device, a full disk, a dead host, a slow writer. */
#include <signal.h>
#include <sys/resource.h>

#include "base/log.h"
#include "support/fake_test.h"

static const struct fake_script mixed = {.records = 300, .scalar_every = 3, .bytes_min = 0, .bytes_span = 3000};

/* --- garbage --------------------------------------------------------------------------------------------------- */

static struct tl_wire_dump_record *first_record(struct fake_role *r)
{
    return (struct tl_wire_dump_record *)(void *)(r->producer.buffer + 1);
}

/* Publishes the current buffer as the producer would, with whatever was done to it; without its arena_end, as if that
 * had been hit too: the room of a record that is left out is then nobody's. */
static void publish(struct fake_role *r)
{
    struct tl_producer *p = &r->producer;

    p->ready[p->ready_tail & (p->lane->ready_depth - 1)] = p->buffer_addr;
    tl_store_rel(&p->lane->ready_tail, ++p->ready_tail);
}

static void bad_ready_tail(struct fake_role *r)
{
    tl_store_rel(&r->producer.lane->ready_tail, r->producer.ready_tail + 1000);
}

static void bad_entry(struct fake_role *r)
{
    r->producer.buffer_addr = UINT64_C(0x1234567812345678);
    publish(r);
}

static void entry_inside_a_buffer(struct fake_role *r)
{
    r->producer.buffer_addr += 64;
    publish(r);
}

static void entry_twice(struct fake_role *r)
{
    publish(r);
    publish(r);
}

static void bad_count(struct fake_role *r)
{
    tl_store_rel(&r->producer.buffer->count, UINT64_C(1) << 40);
    publish(r);
}

static void bad_magic(struct fake_role *r)
{
    r->producer.buffer->magic = 7;
    publish(r);
}

static void bad_lane(struct fake_role *r)
{
    r->producer.buffer->lane = 1;
    publish(r);
}

static void bad_epoch(struct fake_role *r)
{
    r->producer.buffer->epoch = 77777;
    publish(r);
}

static void no_epoch(struct fake_role *r)
{
    r->producer.buffer->epoch = 0;
    publish(r);
}

static void bad_flags(struct fake_role *r)
{
    r->producer.buffer->flags = 0xf0;
    publish(r);
}

static void old_seq(struct fake_role *r)
{
    r->producer.buffer->seq = 0;
    publish(r);
}

static void bad_free_head(struct fake_role *r)
{
    tl_store_rel(&r->producer.lane->free_head, UINT64_C(1) << 50);
    publish(r); /* it comes back, and the free queue is looked at */
}

static void bad_stage(struct fake_role *r)
{
    first_record(r)->stage = 9;
    publish(r);
}

static void bad_role(struct fake_role *r)
{
    first_record(r)->role = 200;
    publish(r);
}

static void bad_func_count(struct fake_role *r)
{
    first_record(r)->func_count = 200;
    publish(r);
}

static void tensor_of(struct fake_role *r, uint64_t payload, uint64_t bytes, uint16_t flags)
{
    struct tl_wire_dump_record *w = first_record(r);

    w->kind = TL_WIRE_TENSOR;
    w->dtype = TL_UINT8;
    w->rank = 1;
    w->shape[0] = (flags & TL_DUMP_PIECE) != 0 ? 4096 : (uint32_t)bytes;
    w->payload = payload;
    w->payload_bytes = bytes;
    w->flags = flags;
    publish(r);
}

static void payload_far_away(struct fake_role *r)
{
    tensor_of(r, UINT64_C(1) << 50, 16, 0);
}

static void payload_of_the_past(struct fake_role *r)
{
    tensor_of(r, 0, 16, 0);
}

static void payload_over_the_end(struct fake_role *r)
{
    tensor_of(r, 3 * SMALL_ARENA - 8, 16, 0);
}

static void payload_too_long(struct fake_role *r)
{
    tensor_of(r, r->producer.arena_pos, UINT64_MAX - 100, 0);
}

static void piece_without_a_first(struct fake_role *r)
{
    /* A place that is good, reserved: the first record may be a scalar, whose payload is its value. */
    uint64_t at = r->producer.arena_pos, room = SMALL_ARENA - at % SMALL_ARENA;

    at = room < 16 ? at + room : at;
    r->producer.arena_pos = at + 16;
    tl_store_rel(&r->producer.lane->arena_pos, r->producer.arena_pos);
    first_record(r)->piece = 3;
    tensor_of(r, at, 16, TL_DUMP_PIECE);
}

struct poke {
    void (*poke)(struct fake_role *r);
    const char *field;
};

/* What holds a lane together: the lane is stopped. */
static const struct poke lane_pokes[] = {
    {bad_ready_tail, "ready_tail"},     {bad_entry, "ready_queue entry"}, {entry_inside_a_buffer, "ready_queue entry"},
    {entry_twice, "ready_queue entry"}, {bad_count, "buffer.count"},      {bad_magic, "buffer.magic"},
    {bad_lane, "buffer.lane"},          {bad_epoch, "buffer.epoch"},      {no_epoch, "buffer.epoch"},
    {bad_flags, "buffer.flags"},        {old_seq, "buffer.seq"},          {bad_free_head, "free_head"},
};

/* What one record says of itself: the record is left out. */
static const struct poke record_pokes[] = {
    {bad_stage, "record.stage"},
    {bad_role, "record.role"},
    {bad_func_count, "record.func_count"},
    {payload_far_away, "record.payload"},
    {payload_of_the_past, "record.payload"},
    {payload_over_the_end, "record.payload_bytes"},
    {payload_too_long, "record.payload_bytes"},
    {piece_without_a_first, "record.piece"},
};

/* Steps the role until `records` are made, waiting for the host where it must. */
static void step_until(struct fake_role *r, uint32_t records)
{
    uint64_t deadline = in_seconds(10);

    while (r->next < records && tl__now_ns() < deadline)
        if (fake_role_step(r) == TL_EAGAIN)
            tl__relax();
    assert_int_equal(r->next, records);
}

/* Until most buffers are out and the current one holds a record: which one depends on how fast the host is. */
static void step_into_buffer(struct fake_role *r)
{
    step_until(r, 97);
    while (r->producer.buffer == NULL)
        step_until(r, r->next + 1);
}

static void expect_stopped(struct fake_world *w, const struct tl_run_config *c, const char *field)
{
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    struct fake_found found;

    assert_int_equal(tl__engine_quiesce(w->engine, 1, in_seconds(10)), 0);
    assert_int_equal(fake_export(w->engine, 1, 600, &result, &err), TL_ECORRUPT);
    if (strstr(err.msg, field) == NULL || strstr(err.msg, "lane 0") == NULL)
        fail_msg("\"%s\" does not name lane 0 and %s", err.msg, field);
    found = fake_check_dir(c->output_prefix, &mixed, 1, SMALL_ARENA);
    assert_string_equal(found.wrong, "");
    assert_in_range(found.records, 300, 300 + 97 + 16);
    assert_int_equal(result.records_collected, found.records);
    assert_int_equal(result.records_attempted, 600);
    assert_int_equal(result.records_dropped[TL_LOSS_CORRUPT], 600 - found.records);
    assert_int_equal(found.dropped, 600 - found.records);
}

/* Until the host has popped all that the lane published: what is poked then is the next thing it sees. */
static void settle(const struct fake_role *r)
{
    struct tl_lane *lane = r->producer.lane;
    uint64_t deadline = in_seconds(10);

    while (tl_load_acq(&lane->ready_head) != tl_load_rlx(&lane->ready_tail) && tl__now_ns() < deadline) /* A4 */
        tl__relax();
}

static void garbage_stops_its_lane_alone(void **state)
{
    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++)
        for (size_t i = 0; i < sizeof(lane_pokes) / sizeof(lane_pokes[0]); i++) {
            struct fake_world w;
            struct tl_run_config c = small_config(fresh_dir(), 2);

            fake_world_init(&w, kind, 1, MEMORY);
            must_begin(&w, 1, 2, &c, &mixed);
            step_into_buffer(&w.roles[0]);
            settle(&w.roles[0]);
            lane_pokes[i].poke(&w.roles[0]);
            tl__bell_ring(&w.chip.bells->shard[0]);
            run_roles(&w, 1); /* the other lane does not notice */
            expect_stopped(&w, &c, lane_pokes[i].field);
            c = small_config(fresh_dir(), 2);
            must_begin(&w, 2, 2, &c, &mixed); /* on pools that were built again */
            run_roles(&w, 0);
            expect_whole_run(&w, 2, &c, &mixed);
            fake_world_fini(&w);
        }
}

/* A lane that the host has stopped refuses where it would wait: no 30 s for each record, and no watchdog held up. */
static void test_stopped_lane_refuses_at_once(void **state)
{
    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_world w;
        struct tl_run_config c = small_config(fresh_dir(), 2);
        struct tl_run_result result = {0};
        struct tl_error err = {0};
        const struct tl_lane *lane;
        uint64_t from;

        fake_world_init(&w, kind, 1, MEMORY);
        must_begin(&w, 1, 2, &c, &mixed);
        step_into_buffer(&w.roles[0]);
        settle(&w.roles[0]);
        bad_entry(&w.roles[0]);
        w.roles[0].producer.buffer = NULL;
        tl__bell_ring(&w.chip.bells->shard[0]);
        from = tl__now_ns();
        run_roles(&w, 0);
        assert_true(tl__now_ns() - from < TL_HOST_DEAD_NS); /* the first wait alone would last so long */
        lane = w.roles[0].producer.lane;
        assert_true(w.roles[0].lost > 0);
        assert_int_equal(lane->counts.dropped[TL_DROP_CORRUPT], w.roles[0].lost);
        assert_int_equal(lane->counts.dropped[TL_DROP_HOST_DEAD], 0);
        assert_int_equal(tl_load_rlx(&lane->parked_since), 0); /* relaxed: the role is over */
        assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(20)), 0);
        assert_int_equal(fake_export(w.engine, 1, 600, &result, &err), TL_ECORRUPT);
        fake_world_fini(&w);
    }
}

/* One record that a stray write hit costs that record: it is counted, the run says which field it was, and everything
 * before and behind it comes through. */
static void test_stray_writes_into_records(void **state)
{
    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++)
        for (size_t i = 0; i < sizeof(record_pokes) / sizeof(record_pokes[0]); i++) {
            struct fake_world w;
            struct tl_run_config c = small_config(fresh_dir(), 2);
            struct tl_run_result result = {0};
            struct tl_error err = {0};
            struct fake_found found;

            fake_world_init(&w, kind, 1, MEMORY);
            must_begin(&w, 1, 2, &c, &mixed);
            step_into_buffer(&w.roles[0]);
            record_pokes[i].poke(&w.roles[0]);
            w.roles[0].producer.buffer = NULL;
            tl_store_rlx(&w.roles[0].producer.lane->current, 0); /* relaxed: as the producer's */
            tl__bell_ring(&w.chip.bells->shard[0]);
            run_roles(&w, 0);
            assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(20)), 0);
            assert_int_equal(fake_export(w.engine, 1, 600, &result, &err), TL_ELOST);
            if (strstr(err.msg, record_pokes[i].field) == NULL || strstr(err.msg, "lane 0") == NULL)
                fail_msg("\"%s\" does not name lane 0 and %s", err.msg, record_pokes[i].field);
            found = fake_check_dir(c.output_prefix, &mixed, 1, SMALL_ARENA);
            assert_string_equal(found.wrong, "");
            assert_int_equal(found.records, 599);
            assert_int_equal(found.lost, 0);
            assert_int_equal(result.records_collected, 599);
            assert_int_equal(result.records_attempted, 600);
            assert_int_equal(result.records_dropped[TL_LOSS_CORRUPT], 1);
            fake_world_fini(&w);
        }
}

/* --- a dead device --------------------------------------------------------------------------------------------- */

static void complete_records_of_a_dead_device_are_kept(void **state)
{
    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++)
        for (uint32_t at = 0; at < 40; at += 3) {
            struct fake_world w;
            struct tl_run_config c = small_config(fresh_dir(), 2);
            struct tl_run_result result = {0};
            struct tl_error err = {0};
            struct fake_found found;

            fake_world_init(&w, kind, 2, MEMORY);
            must_begin(&w, 1, 3, &c, &mixed);
            step_until(&w.roles[0], at);
            step_until(&w.roles[1], at + 1);
            run_roles(&w, 2);
            w.roles[1].producer.lane->counts.attempted++; /* in the middle of one */
            assert_int_equal(tl__engine_quiesce(w.engine, 1, tl__now_ns() + 1000000), TL_ETIMEDOUT);
            assert_int_equal(tl__engine_reconcile(w.engine, 1, &err), 0);
            assert_int_equal(fake_export(w.engine, 1, UINT64_MAX, &result, &err), TL_ELOST);
            assert_non_null(strstr(err.msg, "device_dead 1"));
            found = fake_check_dir(c.output_prefix, &mixed, 1, SMALL_ARENA);
            assert_string_equal(found.wrong, "");
            assert_int_equal(found.records, 300 + 2 * at + 1);
            assert_int_equal(result.records_attempted, found.records + 1);
            assert_int_equal(result.records_dropped[TL_LOSS_DEVICE_DEAD], 1);
            assert_int_equal(found.lost, 0);
            fake_world_fini(&w);
        }
}

/* The device dies between writing the entry and the index, and between the index and clearing `current`. */
static void test_dies_while_publishing(void **state)
{
    (void)state;
    for (int published = 0; published < 2; published++) {
        struct fake_world w;
        struct tl_run_config c = small_config(fresh_dir(), 2);
        struct tl_run_result result = {0};
        struct fake_role *r = &w.roles[0];

        fake_world_init(&w, FAKE_COPY, 1, MEMORY);
        must_begin(&w, 1, 1, &c, &mixed);
        step_until(r, 10);
        r->producer.ready[r->producer.ready_tail & (r->producer.lane->ready_depth - 1)] = r->producer.buffer_addr;
        if (published)
            tl_store_rel(&r->producer.lane->ready_tail, r->producer.ready_tail + 1);
        assert_int_equal(tl__engine_reconcile(w.engine, 1, NULL), 0);
        assert_int_equal(fake_export(w.engine, 1, UINT64_MAX, &result, NULL), 0);
        assert_int_equal(result.records_collected, 10);
        assert_int_equal(fake_check_dir(c.output_prefix, &mixed, 1, SMALL_ARENA).records, 10);
        fake_world_fini(&w);
    }
}

/* A chunk whose last pieces never came stays, as partial. */
static void an_unfinished_payload_stays_as_partial(void **state)
{
    const struct fake_script s = {.records = 10, .bytes_min = 50, .chunk_every = 5, .chunk_pieces = 8};
    struct fake_world w;
    struct tl_run_config c = small_config(fresh_dir(), 2);
    struct tl_run_result result = {0};
    struct fake_found found;
    struct fake_role *r = &w.roles[0];

    (void)state;
    fake_world_init(&w, FAKE_MAPPED, 1, MEMORY);
    must_begin(&w, 1, 1, &c, &s);
    step_until(r, 4);
    while (r->piece < 5)
        if (fake_role_step(r) == TL_EAGAIN)
            tl__relax();
    assert_int_equal(tl__engine_reconcile(w.engine, 1, NULL), 0);
    assert_int_equal(fake_export(w.engine, 1, UINT64_MAX, &result, NULL), TL_ELOST);
    found = fake_check_dir(c.output_prefix, &s, 1, SMALL_ARENA);
    assert_string_equal(found.wrong, "");
    assert_int_equal(found.records, 5);
    assert_int_equal(found.partial, 1);
    assert_int_equal(result.records_attempted, 5);
    assert_int_equal(result.records_collected, 5);
    assert_int_equal(result.payloads_lost, 1);
    assert_int_equal(result.payload_bytes, 4 * 50 + 5 * SMALL_ARENA / 4);
    fake_world_fini(&w);
}

/* --- a full disk ----------------------------------------------------------------------------------------------- */

static void a_full_disk_loses_payloads_alone(void **state)
{
    const struct fake_script s = {.records = 400, .scalar_every = 5, .bytes_min = 4000, .bytes_span = 3000};
    struct rlimit old, small;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_world w;
        struct tl_run_config c = small_config(fresh_dir(), 2);
        struct tl_run_result result = {0};
        struct tl_error err = {0};
        struct fake_found found;

        fake_world_init(&w, kind, 1, MEMORY);
        must_begin(&w, 1, 2, &c, &s);
        small = old;
        small.rlim_cur = 500000;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        run_roles(&w, 0); /* ends: the writer goes on acknowledging */
        assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(10)), 0);
        assert_int_equal(fake_export(w.engine, 1, 800, &result, &err), TL_ELOST);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_non_null(strstr(err.msg, " lost, all or in part; "));
        found = fake_check_dir(c.output_prefix, &s, 1, SMALL_ARENA);
        assert_string_equal(found.wrong, "");
        assert_int_equal(found.records, 800);
        assert_in_range(found.lost, 500, 700); /* some were written, and are readable */
        assert_int_equal(result.payloads_lost, found.lost);
        assert_int_equal(result.records_collected, 800);
        /* sticky for that run alone */
        c = small_config(fresh_dir(), 2);
        must_begin(&w, 2, 2, &c, &s);
        run_roles(&w, 0);
        expect_whole_run(&w, 2, &c, &s);
        fake_world_fini(&w);
    }
}

/* --- a dead host ----------------------------------------------------------------------------------------------- */

static void a_recovery_finds_what_the_run_recorded(void **state)
{
    const struct fake_script s = {
        .records = 300, .scalar_every = 3, .bytes_min = 0, .bytes_span = 3000, .chunk_every = 20, .chunk_pieces = 5};
    struct fake_world w;
    struct tl_run_config c = small_config(fresh_dir(), 2);
    struct tl_recover_result rec;
    struct tl_error err = {0};
    struct fake_found found;
    char path[300];

    (void)state;
    fake_world_init(&w, FAKE_COPY, 2, MEMORY);
    must_begin(&w, 1, 4, &c, &s);
    run_roles(&w, 0);
    assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(10)), 0);
    fake_world_fini(&w); /* never exported: what a killed host leaves */
    assert_false(fake_exists(c.output_prefix, "args_dump/args_dump.json"));
    if (tl__engine_recover(c.output_prefix, NULL, &rec, &err) != 0)
        fail_msg("recover: %s", err.msg);
    assert_int_equal(rec.records, 1200);
    assert_int_equal(rec.torn_bytes, 0);
    assert_int_equal(rec.payloads_missing, 0);
    found = fake_check_dir(c.output_prefix, &s, 1, SMALL_ARENA);
    assert_string_equal(found.wrong, "");
    assert_int_equal(found.records, 1200);
    assert_int_equal(found.lost, 0);
    assert_false(fake_exists(c.output_prefix, TL_JOURNAL_NAME));
    assert_false(rec.complete);
    assert_int_equal(tl__engine_recover(c.output_prefix, NULL, &rec, &err), 0); /* again: there is nothing left to do */
    assert_true(rec.complete && rec.again);
    assert_int_equal(rec.records, 1200); /* what the first one found */

    /* the same with a torn journal and a payload file that lost its end */
    c = small_config(fresh_dir(), 2);
    fake_world_init(&w, FAKE_COPY, 2, MEMORY);
    must_begin(&w, 1, 4, &c, &s);
    run_roles(&w, 0);
    assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(10)), 0);
    fake_world_fini(&w);
    snprintf(path, sizeof(path), "%s/%s", c.output_prefix, TL_JOURNAL_NAME);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, (st.st_size - 5000) | 1), 0); /* inside a block, wherever those end */
    snprintf(path, sizeof(path), "%s/args_dump/args.bin", c.output_prefix);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size / 2), 0);
    assert_int_equal(tl__engine_recover(c.output_prefix, NULL, &rec, &err), 0);
    assert_in_range(rec.records, 600, 1199);
    assert_in_range(rec.torn_bytes, 1, 100000);
    assert_in_range(rec.payloads_missing, 100, 600);
    found = fake_check_dir(c.output_prefix, &s, 1, SMALL_ARENA);
    assert_string_equal(found.wrong, "");
    assert_int_equal(found.lost, rec.payloads_missing);
}

/* --- a slow writer --------------------------------------------------------------------------------------------- */

static char warned[1024];

static void keep_warning(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    if (level == TL_LOG_WARN && strstr(line, "has waited") != NULL)
        snprintf(warned, sizeof(warned), "%s", line);
}

/* Parked for more than a second: the heartbeat moves, one line says why, and nothing is lost. */
static void a_waiting_lane_is_reported_once(void **state)
{
    const struct fake_script s = {.records = 60, .bytes_min = 8000};
    struct fake_world w;
    struct tl_run_config c = small_config(fresh_dir(), 2);
    struct tl_run_result result = {0};

    (void)state;
    tl_log_set_sink(keep_warning, NULL);
    c.dump_oversize_chunk = false;
    fake_world_init(&w, FAKE_COPY_THREAD, 1, MEMORY);
    tl__engine_throttle_writer(w.engine, 220000); /* 480,000 bytes: about 2 s */
    must_begin(&w, 1, 1, &c, &s);
    run_roles(&w, 0);
    assert_int_equal(tl__engine_quiesce(w.engine, 1, in_seconds(10)), 0);
    assert_in_range(w.roles[0].producer.lane->counts.parked_ns, UINT64_C(1000000000), UINT64_C(4000000000));
    assert_in_range(tl_load_rlx(&w.roles[0].producer.dfx->heartbeat), 1, 4);
    assert_non_null(strstr(warned, "lane 0"));
    assert_non_null(strstr(warned, "cause: disk"));
    assert_non_null(strstr(warned, "a faster disk"));
    assert_null(strstr(warned, "--dump-oversize")); /* they are cut already */
    assert_int_equal(fake_export(w.engine, 1, 60, &result, NULL), 0);
    assert_string_equal(fake_check_dir(c.output_prefix, &s, 1, SMALL_ARENA).wrong, "");
    tl_log_set_sink(NULL, NULL);
    fake_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage_stops_its_lane_alone),
        cmocka_unit_test(test_stopped_lane_refuses_at_once),
        cmocka_unit_test(test_stray_writes_into_records),
        cmocka_unit_test(complete_records_of_a_dead_device_are_kept),
        cmocka_unit_test(test_dies_while_publishing),
        cmocka_unit_test(an_unfinished_payload_stays_as_partial),
        cmocka_unit_test(a_full_disk_loses_payloads_alone),
        cmocka_unit_test(a_recovery_finds_what_the_run_recorded),
        cmocka_unit_test(a_waiting_lane_is_reported_once),
    };

    return fake_main("engine faults", tests, sizeof(tests) / sizeof(tests[0]));
}
