// SPDX-License-Identifier: Dual MIT/GPL A congestion control whose window is set by user space for
// each socket. On a loss, the kernel reduces the window as in NewReno.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* The fields of kernel structures that are used here. The loader finds them by name. */
struct sock {
} __attribute__((preserve_access_index));

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
} __attribute__((preserve_access_index));

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 mss_cache;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
} __attribute__((preserve_access_index));

/* TCP_CA_Loss of the kernel's enum tcp_ca_state: recovery after a timeout. */
#define CA_LOSS 4

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Order for a socket. */
struct order {
	/* Window in bytes. */
	__u64 window;
	/* When it expires, in ns of CLOCK_MONOTONIC. Without a proxy, the kernel thus takes over
	 * again. */
	__u64 until;
	/* Whether it remains in force after a loss has reduced the window. Otherwise it is applied
	 * once. */
	__u32 hold;
	__u32 followed;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct order);
} orders SEC(".maps");

/* Acknowledgements for which an order set the window, and those that NewReno handled. */
struct {
	__u64 steered;
	__u64 unsteered;
} counted;

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct order *order = bpf_sk_storage_get(&orders, sk, 0, 0);

	if (!order || bpf_ktime_get_ns() >= order->until) {
		__sync_fetch_and_add(&counted.unsteered, 1);
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	__sync_fetch_and_add(&counted.steered, 1);

	__u64 mss = tcp->mss_cache ? tcp->mss_cache : 1;
	__u64 segments = (order->window + mss - 1) / mss;
	/* The kernel has no window of 0: in an outage one segment remains. */
	if (segments < 1)
		segments = 1;
	if (segments > tcp->snd_cwnd_clamp)
		segments = tcp->snd_cwnd_clamp;

	if (BPF_CORE_READ_BITFIELD(tcp, inet_conn.icsk_ca_state) == CA_LOSS) {
		/* Recovery after a timeout starts small, and ends at the window at the latest. */
		tcp_reno_cong_avoid(sk, ack, acked);
		if (tcp->snd_cwnd > segments)
			tcp->snd_cwnd = segments;
		return;
	}
	if (order->followed && !order->hold)
		return;
	order->followed = 1;
	tcp->snd_cwnd = segments;
	/* NewReno then continues in congestion avoidance if it takes over. */
	tcp->snd_ssthresh = segments < 2 ? 2 : segments;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops timeplane = {
	.ssthresh = (void *)ssthresh,
	.cong_avoid = (void *)cong_avoid,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "timeplane",
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
