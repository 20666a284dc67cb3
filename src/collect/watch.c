/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch over parked lanes, looked at by the service thread before it sleeps: while a lane is parked the heartbeat
 * moves each second, so that the device can tell a slow host from a dead one; a lane that has been parked for a
 * second in all gets one line per run that says why; and a lane that waits for nothing that the host has gets the
 * room back that records and headers did not account for.
 */
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "collect/engine_impl.h"

#define WARN_PARKED_NS UINT64_C(1000000000)

static uint64_t pull(struct tl_hlane *lane, tl_au64 *view, size_t offset)
{
    uint64_t value = 0;

    (void)tl__index_pull(lane->engine->transport, view, lane->addr + offset, &value);
    return value;
}

/* A writer that spends most of its time on payloads cannot go faster; else too few buffers came back, or, of a lane
 * that has one, it was the arena. */
static const char *cause_of(struct tl_hlane *lane, struct tl_crun *run, uint64_t since_ns)
{
    if (tl_load_rlx(&run->busy_ns) * 2 > since_ns && since_ns != 0) /* relaxed: a figure */
        return "disk";
    return lane->arena_bytes == 0 || (lane->n_recycled == 0 && lane->free_tail == lane->free_head_seen) ? "collector"
                                                                                                        : "arena";
}

/* What can be left out of what the lane records, with this configuration. */
static void less_of(unsigned stream, const struct tl_run_config *c, char *text, size_t size)
{
    const unsigned collector = tl__stream_rows[stream].collector;

    if (collector == TL_COLLECT_DUMP)
        (void)snprintf(text, size, "%s",
                       c->levels[collector] == 2 ? "record less with --dump-args 1, or 3, and marks" : "mark less");
    else if (collector == TL_COLLECT_SWIMLANE && c->levels[collector] > 1)
        (void)snprintf(text, size, "record less with a lower level of --%s", tl__collect_rows[collector].option);
    else
        (void)snprintf(text, size, "leave out --%s", tl__collect_rows[collector].option);
}

void tl__watch_advice(unsigned stream, const struct tl_run_config *c, const char *cause, char *text, size_t size)
{
    const char *cut = stream == TL_STREAM_DUMP && c->dump_oversize_chunk
                          ? ", cut the largest tensors with --dump-oversize truncate"
                          : "";
    const char *more = strcmp(cause, "disk") == 0    ? "choose a faster disk with --out"
                       : strcmp(cause, "arena") == 0 ? "give the lane more memory with --dfx-set avg-bytes="
                                                     : "give it more buffers with --dfx-set buffers=, or --dfx-threads";

    char less[100];

    less_of(stream, c, less, sizeof(less));
    (void)snprintf(text, size, "%s%s, or %s", less, cut, more);
}

static void warn(struct tl_hlane *lane, struct tl_crun *run, uint64_t parked_ns)
{
    uint64_t first = tl_load_rlx(&run->first_write_ns), now = tl__now_ns(); /* relaxed, all three: figures */
    uint64_t since = first != 0 && now > first ? now - first : 0, written = tl_load_rlx(&run->written_bytes);
    double rate = since != 0 ? (double)written * 1e3 / (double)since : 0;
    const char *cause = cause_of(lane, run, since);
    char ways[240];

    tl__watch_advice(lane->spec->stream, &run->config, cause, ways, sizeof(ways));
    tl_log_warn(
        "the tasks go at the speed of their recording: %s lane %u has waited %.1f s for the host (cause: %s; "
        "drained %.1f MB at %.1f MB/s, %.1f MB queued). Nothing is lost, and no time budget runs meanwhile. For "
        "more speed %s",
        lane->spec->name, lane->index, (double)parked_ns / 1e9, cause, (double)written / 1e6, rate,
        (double)tl_load_rlx(&lane->engine->queued_bytes) / 1e6, ways);
}

static void look(struct tl_hlane *lane, uint64_t parked_since, uint64_t now)
{
    uint64_t parked = pull(lane, &lane->view->parked_ns, offsetof(struct tl_lane, parked_ns));
    uint32_t epoch = (uint32_t)pull(lane, &lane->view->epoch, offsetof(struct tl_lane, epoch));
    struct tl_crun *run = tl__run_find(lane->engine, epoch);

    parked += now > parked_since ? now - parked_since : 0;
    if (run == NULL || parked < WARN_PARKED_NS || lane->warned_epoch == epoch)
        return;
    lane->warned_epoch = epoch;
    warn(lane, run, parked);
}

static void beat(struct tl_shard *s, uint64_t now)
{
    struct tl_engine *e = s->engine;
    uint64_t value = tl_add_rlx(&e->beats, 1u) + 1; /* relaxed: only its movement matters */

    s->beat_ns = now;
    (void)tl__index_push(e->transport, &e->header->heartbeat,
                         e->region_addr + offsetof(struct tl_dfx_header, heartbeat), value);
}

/* Everything that the lane has published is read and written, and acknowledged as far as the host knows. */
static bool is_served(struct tl_hlane *lane)
{
    const struct tl_shard *s = lane->shard;

    return pull(lane, &lane->view->ready_tail, offsetof(struct tl_lane, ready_tail)) == lane->ready_head && /* A1 */
           s->handoff_head == s->handoff_tail && tl_load_acq(&lane->jobs_done) == lane->jobs_queued &&      /* H4 */
           tl_load_acq(&lane->written_end) == lane->acked;                                                  /* H2 */
}

/*
 * A lane that waits has published all that it recorded, so once that is served nobody reads its arena any more. An
 * honest lane's watermark is then its arena_pos. What is missing is the room of payloads that a stray write took out of
 * sight (of a record, a count, an arena_end): the lane would wait for it for ever. True: it was given back.
 *
 * The place is read before parked_since (A11, then A10): a payload reserved after the wait that is seen cannot be in
 * it, and one reserved before is in a buffer that ready_tail shows.
 */
static bool reclaim(struct tl_hlane *lane)
{
    uint64_t end;

    if (lane->arena_bytes == 0)
        return false;
    /* A11: pairs with R11. */
    end = pull(lane, &lane->view->arena_pos, offsetof(struct tl_lane, arena_pos));
    if (pull(lane, &lane->view->parked_since, offsetof(struct tl_lane, parked_since)) == 0 || /* A10: pairs with R10 */
        !is_served(lane) || end == lane->acked)
        return false;
    if (end - lane->acked > 2 * lane->arena_bytes) {
        tl__lane_corrupt(lane, "arena_pos", end);
        return false;
    }
    lane->payload_next = end;
    tl_store_rel(&lane->written_end, end); /* H1: the writer has nothing of this lane, so its word is ours */
    return true;
}

uint64_t tl__watch_step(struct tl_shard *s)
{
    bool waits = false, given = false;
    uint64_t now = 0;

    for (unsigned i = 0; i < s->n_lanes; i++) {
        struct tl_hlane *lane = s->lanes[i];
        uint64_t since;

        if (lane->stopped)
            continue;
        since = pull(lane, &lane->view->parked_since, offsetof(struct tl_lane, parked_since));
        if (since == 0 && pull(lane, &lane->view->given_up, offsetof(struct tl_lane, given_up)) == 0)
            continue;
        now = now != 0 ? now : tl__now_ns();
        waits = true;
        if (since == 0)
            continue;
        look(lane, since, now);
        given |= reclaim(lane);
    }
    if (given)
        return 0;
    if (!waits)
        return TL_FOREVER;
    if (now - s->beat_ns >= TL_HEARTBEAT_NS)
        beat(s, now);
    return s->beat_ns + TL_HEARTBEAT_NS;
}

void tl__engine_progress(struct tl_engine *e, uint32_t epoch, struct tl_engine_progress *ret_progress)
{
    struct tl_crun *run = tl__run_find(e, epoch);
    struct tl_engine_progress p = {0};
    uint64_t settled;

    for (unsigned i = 0; run != NULL && i < e->n_lanes; i++)
        if ((uint32_t)pull(&e->lanes[i], &e->lanes[i].view->epoch, offsetof(struct tl_lane, epoch)) == epoch)
            p.captured +=
                pull(&e->lanes[i], &e->lanes[i].view->captured_bytes, offsetof(struct tl_lane, captured_bytes));
    if (run != NULL) {
        p.drained = tl_load_rlx(&run->written_bytes); /* relaxed, both: figures */
        settled = tl_load_rlx(&run->settled_bytes);
        p.captured = p.captured > settled ? p.captured : settled;
        p.queued = p.captured - settled;
    }
    *ret_progress = p;
}
