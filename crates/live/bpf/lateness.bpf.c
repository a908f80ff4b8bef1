// SPDX-License-Identifier: Dual MIT/GPL
//
// Runs the kernel's estimate of lateness at any time, for the tests of `src/lateness.rs`.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "lateness.h"

struct message {
    __u64 now, sent, late;
};

struct fastest fastest;
int begun;

SEC("syscall")
int take(struct message *m)
{
    if (!begun)
        forget(&fastest, m->now);
    begun = 1;
    m->late = lateness(&fastest, m->now, m->sent, UNKNOWN);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
