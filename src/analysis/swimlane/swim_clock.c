/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/swim_clock.h"

#include <string.h>

#include "base/number.h"

#define PS_PER_SECOND ((uint64_t)1000000000000)
#define PS_MAX (INT64_MAX / 2) /* two such add up without overflow */

static void earliest(uint64_t *least, uint64_t cycles)
{
    if (cycles < *least)
        *least = cycles;
}

static uint64_t find_origin(const struct tl_swimlane *lane)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t i = 0; i < lane->n_cores; i++) {
        const struct tl_swim_core *row = &lane->cores[i];

        earliest(&least, row->start_cycles - (row->receive_cycles <= row->start_cycles ? row->receive_cycles : 0));
    }
    for (uint64_t i = 0; i < lane->n_aicpus; i++)
        earliest(&least, lane->aicpus[i].dispatch_cycles);
    for (uint64_t i = 0; i < lane->n_phases; i++)
        earliest(&least, lane->phases[i].start_cycles);
    for (uint64_t i = 0; i < lane->n_orchs && !lane->orch_is_host_clock; i++)
        earliest(&least, lane->orchs[i].start_cycles);
    return least == UINT64_MAX ? 0 : least;
}

int64_t tl__swim_ps(const struct tl_swim_clock *clock, uint64_t cycles)
{
    unsigned __int128 ps;

    if (clock->freq_hz == 0)
        return 0;
    if (PS_PER_SECOND % clock->freq_hz == 0)
        ps = (unsigned __int128)cycles * (PS_PER_SECOND / clock->freq_hz);
    else
        ps = ((unsigned __int128)cycles * PS_PER_SECOND + clock->freq_hz / 2) / clock->freq_hz;
    return ps > (uint64_t)PS_MAX ? PS_MAX : (int64_t)ps;
}

/* Any device time, before the origin too. */
static int64_t signed_ps(const struct tl_swim_clock *clock, uint64_t device_cycles)
{
    if (device_cycles >= clock->origin_cycles)
        return tl__swim_ps(clock, device_cycles - clock->origin_cycles);
    return -tl__swim_ps(clock, clock->origin_cycles - device_cycles);
}

/* Of each position (before the run, after it) the sample with the smallest error bar says most. */
static void place(struct tl_swim_clock *clock, const struct tl_swimlane *lane)
{
    const struct tl_swim_anchor *best[2] = {NULL, NULL};
    const char *first = lane->anchors[0].position;

    for (uint32_t i = 0; i < lane->n_anchors; i++) {
        const struct tl_swim_anchor *a = &lane->anchors[i];
        unsigned at = strcmp(a->position, first) != 0;

        if (a->host_after_ns >= a->host_before_ns && (best[at] == NULL || a->uncertainty_ns < best[at]->uncertainty_ns))
            best[at] = a;
    }
    if (best[0] == NULL)
        best[0] = best[1];
    if (best[1] == NULL)
        best[1] = best[0];
    if (best[0] == NULL)
        return;
    clock->orch = TL_SWIM_ORCH_PLACED;
    for (unsigned i = 0; i < 2; i++) {
        clock->host_ns[i] = best[i]->host_before_ns + (best[i]->host_after_ns - best[i]->host_before_ns) / 2;
        clock->device_ps[i] = signed_ps(clock, best[i]->device_cycles);
        if (best[i]->uncertainty_ns > clock->uncertainty_ns)
            clock->uncertainty_ns = best[i]->uncertainty_ns;
    }
}

/* A difference of two host times in ps. */
static int64_t host_ps(uint64_t from_ns, uint64_t to_ns)
{
    uint64_t ns = to_ns >= from_ns ? to_ns - from_ns : from_ns - to_ns;
    int64_t ps = ns > (uint64_t)PS_MAX / 1000 ? PS_MAX : (int64_t)ns * 1000;

    return to_ns >= from_ns ? ps : -ps;
}

int64_t tl__swim_orch_ps(const struct tl_swim_clock *clock, uint64_t stamp)
{
    int64_t host, between_host, between_device;

    if (clock->orch == TL_SWIM_ORCH_DEVICE)
        return signed_ps(clock, stamp);
    host = host_ps(clock->host_ns[0], stamp);
    if (clock->orch == TL_SWIM_ORCH_APART)
        return host;
    between_host = host_ps(clock->host_ns[0], clock->host_ns[1]);
    between_device = clock->device_ps[1] - clock->device_ps[0];
    /* The clocks drift apart by a few parts in a million; anchors that say otherwise are no measure of a rate. */
    if (between_host > 0 && between_device > between_host / 2 && between_device / 2 < between_host)
        host = (int64_t)((__int128)host * between_device / between_host);
    host += clock->device_ps[0];
    host -= host % 1000; /* no finer than it was stamped: or every time would end in digits that mean nothing */
    return host > PS_MAX ? PS_MAX : host < -PS_MAX ? -PS_MAX : host;
}

void tl__swim_clock_init(struct tl_swim_clock *clock, const struct tl_swimlane *lane)
{
    uint64_t first_submit = UINT64_MAX;

    memset(clock, 0, sizeof(*clock));
    clock->freq_hz = lane->clock_freq_hz;
    clock->origin_cycles = find_origin(lane);
    if (!lane->orch_is_host_clock || lane->n_orchs == 0)
        return;
    for (uint64_t i = 0; i < lane->n_orchs; i++)
        earliest(&first_submit, lane->orchs[i].start_cycles);
    for (uint64_t i = 0; i < lane->n_uploads; i++)
        earliest(&first_submit, lane->uploads[i].start_ns);
    clock->orch = TL_SWIM_ORCH_APART;
    clock->host_ns[0] = first_submit;
    if (lane->n_anchors > 0)
        place(clock, lane);
    clock->first_ps = tl__swim_orch_ps(clock, first_submit);
    if (clock->first_ps > 0)
        clock->first_ps = 0;
}

size_t tl__swim_us_text(char *to, int64_t ps)
{
    uint64_t value = ps < 0 ? 0 : (uint64_t)ps, part = value % 1000000;
    size_t n = tl__print_u64(to, value / 1000000);

    if (part == 0)
        return n;
    to[n++] = '.';
    for (; part > 0; part = part * 10 % 1000000)
        to[n++] = (char)('0' + part / 100000);
    return n;
}
