// SPDX-License-Identifier: Dual MIT/GPL Drops a random share of the control frames that a switch's
// port sends. It implements a scenario's `control_loss` on real links.
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETHER_TYPE_SIGNAL 0x88b5
#define ETHER_TYPE_MAC_CONTROL 0x8808
/* TCX_DROP and TCX_NEXT, which older kernel headers lack. */
#define DROP 2
#define NEXT -1

struct loss {
	__u64 below; /* of 2^32 random numbers, those below are losses */
	__u64 lost;
	__u64 passed;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct loss);
} losses SEC(".maps");

SEC("tcx/egress")
int lose(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct loss *loss = bpf_map_lookup_elem(&losses, &zero);
	__u16 type = bpf_ntohs(skb->protocol);

	if (!loss || (type != ETHER_TYPE_SIGNAL && type != ETHER_TYPE_MAC_CONTROL))
		return NEXT;
	if (bpf_get_prandom_u32() < loss->below) {
		__sync_fetch_and_add(&loss->lost, 1);
		return DROP;
	}
	__sync_fetch_and_add(&loss->passed, 1);
	return NEXT;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
