/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bell (src/wire/bell.h): whatever is published is seen, although the waiter sleeps and the ringer wakes it only when
 * `waiting` says so. A sleeper that nobody wakes is an invalid end state.
 *
 * Memory is as weak as C11 has it: without B1 the waiter may be asleep before its `waiting` is visible (its look alone would
 * not be enough: the kernel's compare is a third one), without B2 the ringer's look at `waiting` may come before what it
 * published.
 *
 * In one of the two worlds a stray write zeroes the page once, at any moment. There the waiter's own look (tl__bell_sleep_bounded) is
 * what wakes it; in the other world it has none, so that nothing heals what the protocol itself would lose.
 *
 * @breaks NO_LOOK NO_B1 NO_B2 NO_SECOND_LOOK TICKET_LATE RING_BEFORE_PUBLISH
 */
#define ITEMS 3
#define RINGERS 2

byte published = 0; /* by all ringers */
byte seq = 0;
byte waiting = 0;
bool asleep = false;
byte seen = 0;
bool hit = false; /* the world with the stray write */

proctype stray()
{
    atomic {
        waiting = 0;
        seq = 0
    }
}

proctype ringer()
{
    byte n = 0;
    bool wake;

    do
    :: n == ITEMS -> break
    :: else ->
        n++;
#ifdef NO_B2
        wake = waiting > 0;
        atomic { published++ };
        atomic { seq++ };
#else
#ifdef RING_BEFORE_PUBLISH
        atomic { seq++ };
        wake = waiting > 0;
        if
        :: wake -> asleep = false
        :: else
        fi;
        atomic { published++ };
        wake = false;
#else
        atomic { published++ };
        /* B2 */
        atomic { seq++ };
        wake = waiting > 0;
#endif
#endif
        if
        :: wake -> asleep = false
        :: else
        fi
    od
}

init
{
    byte ticket;
    bool idle;

    atomic {
        run ringer();
        run ringer();
        if
        :: true
        :: hit = true; run stray()
        fi
    };
    do
    :: seen == ITEMS * RINGERS -> break
    :: seen < published -> seen = published
    :: seen == published && seen < ITEMS * RINGERS ->
#ifndef NO_B1
        atomic { waiting++ };
#endif
        /* B1 */
#ifdef TICKET_LATE
        idle = (seen == published);
        ticket = seq;
#else
        ticket = seq;
#ifdef NO_SECOND_LOOK
        idle = true;
#else
        idle = (seen == published);
#endif
#endif
        if
        :: idle ->
            /* The kernel compares and goes to sleep in one step. */
            atomic {
                if
                :: seq == ticket -> asleep = true
                :: else
                fi
            };
#ifdef NO_B1
            atomic { waiting++ };
#endif
            if
            :: !asleep
#ifndef NO_LOOK
            :: hit -> asleep = false
#endif
            fi
        :: else
#ifdef NO_B1
            -> atomic { waiting++ }
#endif
        fi;
        atomic {
            if
            :: waiting > 0 -> waiting--
            :: else
            fi
        }
    od
}
