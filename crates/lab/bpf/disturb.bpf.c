// SPDX-License-Identifier: Dual MIT/GPL
// Loses, doubles and diverts random shares of all frames that a switch's port sends. Frames with
// the mark pass: copies, and diverted frames that come back.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define MARK 0x7470
/* TCX_DROP and TCX_NEXT, which older kernel headers lack. */
#define DROP 2
#define NEXT -1

struct rule {
	__u64 lose; /* of 2^32 random numbers, those below */
	__u64 double_;
	__u64 divert;
	__u32 divert_to; /* index of an interface */
	__u32 unused;
	__u64 lost;
	__u64 doubled;
	__u64 diverted;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rule);
} rules SEC(".maps");

SEC("tcx/egress")
int disturb(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct rule *rule = bpf_map_lookup_elem(&rules, &zero);

	if (!rule || skb->mark == MARK)
		return NEXT;
	if (bpf_get_prandom_u32() < rule->lose) {
		__sync_fetch_and_add(&rule->lost, 1);
		return DROP;
	}
	if (bpf_get_prandom_u32() < rule->divert) {
		__sync_fetch_and_add(&rule->diverted, 1);
		return bpf_redirect(rule->divert_to, 0);
	}
	if (bpf_get_prandom_u32() < rule->double_) {
		__u32 mark = skb->mark;

		skb->mark = MARK;
		if (!bpf_clone_redirect(skb, skb->ifindex, 0))
			__sync_fetch_and_add(&rule->doubled, 1);
		skb->mark = mark;
	}
	return NEXT;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
