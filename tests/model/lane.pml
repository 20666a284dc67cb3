/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane (src/wire/lane.h, docs/protocol.md): the device fills buffers and an arena, the host consumes, its writer writes,
 * the watermark lets the arena be used again. The device may die between any two of its steps; the host then reconciles.
 * A buffer holds one record here, a record one unit of payload. Record i and its payload hold the value i, so that anything
 * read too early, twice or not at all is a wrong value. Waiting is by condition; the bell has a model of its own.
 *
 * Each step is one visible store or load. Order within a side is what its fences give; a broken variant is one that
 * the memory, or the copy transport, could make of the code if the guard were missing:
 *
 * @breaks INDEX_BEFORE_DATA FREE_INDEX_FIRST DATA_BEFORE_INDEX EARLY_ACK NO_RESET COUNT_BEFORE_RECORD NO_OWNER_CHECK
 */
#define BUFS 2
#define RECS 4
#define ARENA 2

/* device -> host */
byte ready[BUFS], ready_tail = 0; /* R1 / A1 */
byte free_head = 0;               /* R5 / A5 */
/* host -> device */
byte freeq[BUFS], free_tail = 0; /* R2 / A2 */
byte ready_head = 0;             /* R4 / A4 */
byte arena_ack = 0;              /* R3 / A3 */
/* buffers */
byte seq[BUFS], count[BUFS], record[BUFS];
byte arena[ARENA];

byte committed = 0; /* complete records: what may not be lost */
bool dead = false, over = false;
chan jobs = [RECS] of { byte };
byte written = 0;  /* H1 / H2: the writer is done with payloads up to here */
byte consumed = 0; /* records, in order */
bool owned[BUFS];  /* the host's own table: the device has it */

/* The device may die before any of its steps. */
#define LIVE if :: goto died :: skip fi

proctype device()
{
    byte i = 1, b, pos = 0;

    do
    :: i > RECS -> break
    :: else ->
        LIVE;
        (free_head != free_tail); /* A2 */
        b = freeq[free_head % BUFS];
        LIVE;
        seq[b] = i;
        LIVE;
        count[b] = 0;
        LIVE;
        free_head++; /* R5 */
        LIVE;
        (pos + 1 - arena_ack <= ARENA); /* A3 */
        arena[pos % ARENA] = i;
        pos++;
        LIVE;
#ifdef COUNT_BEFORE_RECORD
        atomic { count[b] = 1; committed = i };
        LIVE;
        record[b] = i;
#else
        record[b] = i;
        LIVE;
        atomic { count[b] = 1; committed = i }; /* R6 */
#endif
        LIVE;
        (ready_tail - ready_head < BUFS); /* A4 */
#ifdef INDEX_BEFORE_DATA
        ready_tail++;
        LIVE;
        ready[(ready_tail - 1) % BUFS] = b;
#else
        ready[ready_tail % BUFS] = b;
        LIVE;
        ready_tail++; /* R1 */
#endif
        i++
    od;
    over = true;
    goto done;
died:
    dead = true;
done:
    skip
}

inline take_record(v)
{
    assert(v == consumed + 1);
    consumed = v;
    jobs ! v
}

inline give(x)
{
#ifndef NO_RESET
    atomic { seq[x] = 0; count[x] = 0 };
#endif
    owned[x] = true;
#ifdef FREE_INDEX_FIRST
    free_tail++;
    freeq[(free_tail - 1) % BUFS] = x
#else
    freeq[free_tail % BUFS] = x;
    free_tail++ /* R2 */
#endif
}

proctype host()
{
    byte b, v, tail, k;
    bool found;

    give(0);
    give(1);
    do
    :: ready_head != ready_tail ->
#ifdef DATA_BEFORE_INDEX
        skip /* the entry was read by the look below */
#else
        b = ready[ready_head % BUFS] /* A1 */
#endif
        ;
        v = record[b];
        assert(owned[b] && count[b] == 1);
        owned[b] = false;
        ready_head++; /* R4 */
        take_record(v);
        give(b)
#ifdef DATA_BEFORE_INDEX
    :: ready_head == ready_tail -> b = ready[ready_head % BUFS]
#endif
    :: arena_ack != written -> arena_ack = written /* R3 */
#ifdef EARLY_ACK
    :: arena_ack != consumed -> arena_ack = consumed
#endif
    :: (dead || over) && ready_head == ready_tail && arena_ack == written -> break
    od;
    /* Reconcile: whatever the device owned and completed, in the order of its sequence. */
    do
    :: true ->
        found = false;
        k = 0;
        do
        :: k == BUFS -> break
        :: else ->
#ifdef NO_OWNER_CHECK
            if
            :: count[k] == 1 && !found -> found = true; b = k
#else
            if
            :: owned[k] && count[k] == 1 && seq[k] > consumed && !found -> found = true; b = k
#endif
            :: else
            fi;
            k++
        od;
        if
        :: !found -> break
        :: else ->
            owned[b] = false;
            v = record[b];
            take_record(v)
        fi
    od;
    assert(consumed == committed);
    jobs ! 0
}

proctype writer()
{
    byte v;

    do
    :: jobs ? v ->
        if
        :: v == 0 -> break
        :: else
        fi;
        assert(arena[(v - 1) % ARENA] == v);
        written = v
    od
}

init
{
    atomic {
        run device();
        run host();
        run writer()
    }
}
