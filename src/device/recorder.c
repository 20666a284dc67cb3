/* SPDX-License-Identifier: Apache-2.0 */
#include "device/recorder.h"

#include <assert.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

int tl__recorder_begin(struct tl_recorder *r, const struct tl_devmem *memory, struct tl_bell_page *bells,
                       const struct tl_launch *launch, uint32_t streams, uint32_t role)
{
    memset(r, 0, sizeof(*r));
    if (!TASKLENS_DFX || launch->dfx == 0)
        return 0;
    for (uint32_t stream = 0; stream < TL_STREAM_COUNT; stream++) {
        int lane, rc;

        if ((streams >> stream & 1u) == 0)
            continue;
        lane = tl__lane_find(memory, launch->dfx, stream, role);
        rc = lane < 0 ? lane : tl__producer_attach(&r->producer[stream], memory, launch->dfx, (uint32_t)lane, bells);
        if (rc < 0)
            return rc;
        tl__producer_begin(&r->producer[stream], launch->epoch);
        r->on |= 1u << stream;
    }
    assert(r->on == streams && r->ended == 0); /* DI10 */
    return 0;
}

int tl__recorder_end(struct tl_recorder *r)
{
    int rc = 0;

    assert((r->ended & ~r->on) == 0); /* DI10 */
    for (uint32_t stream = 0; stream < TL_STREAM_COUNT; stream++) {
        uint32_t bit = 1u << stream;

        if ((r->on & ~r->ended & bit) == 0)
            continue;
        if (tl__producer_end(&r->producer[stream]) == TL_EAGAIN)
            rc = TL_EAGAIN;
        else
            r->ended |= bit;
    }
    assert(rc == TL_EAGAIN || r->ended == r->on); /* DI10 */
    return rc;
}

bool tl__recorder_waits(const struct tl_recorder *r)
{
    for (unsigned stream = 0; stream < TL_STREAM_COUNT; stream++)
        if ((r->on >> stream & 1u) != 0 && r->producer[stream].attempt_open)
            return true;
    return false;
}

static uint64_t first_deadline(const struct tl_recorder *r)
{
    uint64_t deadline = TL_FOREVER;

    for (uint32_t left = r->on; left != 0; left &= left - 1) {
        uint64_t at = tl__producer_deadline(&r->producer[__builtin_ctz(left)]);

        if (at < deadline)
            deadline = at;
    }
    return deadline;
}

uint64_t tl__recorder_deadline(struct tl_recorder *r)
{
    uint64_t deadline = first_deadline(r);

    if (deadline == TL_FOREVER || tl__now_ns() < deadline)
        return deadline;
    for (uint32_t left = r->on; left != 0; left &= left - 1)
        if (tl__producer_deadline(&r->producer[__builtin_ctz(left)]) == deadline)
            tl__producer_look(&r->producer[__builtin_ctz(left)]);
    return first_deadline(r);
}
