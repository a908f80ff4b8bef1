// SPDX-License-Identifier: Dual MIT/GPL
//
// How late a signal is, for a receiver whose clock has nothing to do with the controller's. The
// least difference between a signal's arrival and its sending is the difference of the clocks and
// the shortest delay of the network. A signal is late by as much as its own difference is larger.
// `src/lateness.rs` is the same in Rust, and describes the rules.
#pragma once
#include <linux/types.h>

// The least difference counts for one to two of these windows.
#define WINDOW_NS 2000000000ull
// Clocks drift apart by up to 1 of 2^14, which is 61 ppm.
#define DRIFT_SHIFT 14
// No difference is known.
#define UNKNOWN (1ll << 62)

struct fastest {
    __s64 current; // the least difference in this window
    __s64 before;  // the least one in the window before
    __u64 began;   // this window; in ns of the receiver's clock, as `seen`
    __u64 seen;    // when the differences were last aged
};

static __always_inline void forget(struct fastest *f, __u64 now)
{
    f->current = f->before = UNKNOWN;
    f->began = f->seen = now;
}

// Takes a signal of `sent`, by the controller's clock, that arrives `now`. `limit` is a difference
// that is known otherwise, or UNKNOWN. Returns how late the signal is, in ns.
static __always_inline __u64 lateness(struct fastest *f, __u64 now, __u64 sent, __s64 limit)
{
    __s64 difference = (__s64)(now - sent), least;
    __u64 drift = now > f->seen ? (now - f->seen) >> DRIFT_SHIFT : 0;

    if (f->current != UNKNOWN)
        f->current += drift;
    if (f->before != UNKNOWN)
        f->before += drift;
    if (now > f->seen)
        f->seen = now;
    if (now > f->began && now - f->began >= WINDOW_NS) {
        f->before = f->current;
        f->current = UNKNOWN;
        f->began = now;
    }
    if (difference < f->current)
        f->current = difference;
    least = f->current < f->before ? f->current : f->before;
    if (limit < least)
        least = limit;
    return difference > least ? difference - least : 0;
}
