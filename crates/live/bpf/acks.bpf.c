// SPDX-License-Identifier: Dual MIT/GPL
// Sends TCP's pure acknowledgements out of another interface.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* TCX_NEXT and TCX_DROP, which older kernel headers lack. */
#define NEXT (-1)
#define DROP 2

/* The other interface. This and the following constants are set before loading. */
const volatile __u32 to_interface = 0;
/* Whether packets of this interface have an Ethernet header, and whether the other one needs it. */
const volatile __u8 has_ethernet = 0;
const volatile __u8 needs_ethernet = 0;
/* Whether the two addresses below replace those of the header. */
const volatile __u8 rewrites = 0;
const volatile __u8 destination[ETH_ALEN] = {};
const volatile __u8 source[ETH_ALEN] = {};

/* Redirected acknowledgements, packets that stayed at this interface, and acknowledgements dropped
 * because the header could not be added. */
struct {
	__u64 redirected;
	__u64 passed;
	__u64 failed;
} counted;

static int pass(void)
{
	__sync_fetch_and_add(&counted.passed, 1);
	return NEXT;
}

/* Whether the TCP segment at `at`, of `length` bytes with its header, is a pure acknowledgement. */
static int is_acknowledgement(struct __sk_buff *skb, __u32 at, __u32 length)
{
	struct tcphdr tcp;

	if (bpf_skb_load_bytes(skb, at, &tcp, sizeof(tcp)))
		return 0;
	return tcp.ack && !tcp.syn && !tcp.fin && !tcp.rst && length == tcp.doff * 4;
}

static void addresses(__u8 *header)
{
	for (int i = 0; i < ETH_ALEN; i++) {
		header[i] = destination[i];
		header[ETH_ALEN + i] = source[i];
	}
}

SEC("tcx/egress")
int acknowledgements(struct __sk_buff *skb)
{
	__u32 network = has_ethernet ? ETH_HLEN : 0;
	__u8 header[ETH_HLEN] = {};
	int is = 0;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr ip;

		if (bpf_skb_load_bytes(skb, network, &ip, sizeof(ip)))
			return pass();
		__u32 length = bpf_ntohs(ip.tot_len), ip_header = ip.ihl * 4;
		/* Fragments stay, as other fragments may carry payload. */
		if (ip.version == 4 && ip.protocol == IPPROTO_TCP && !(ip.frag_off & bpf_htons(0x3fff)) && length >= ip_header)
			is = is_acknowledgement(skb, network + ip_header, length - ip_header);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr ip;

		if (bpf_skb_load_bytes(skb, network, &ip, sizeof(ip)))
			return pass();
		/* Packets with extension headers stay. */
		if (ip.version == 6 && ip.nexthdr == IPPROTO_TCP)
			is = is_acknowledgement(skb, network + sizeof(ip), bpf_ntohs(ip.payload_len));
	}
	if (!is)
		return pass();
	if (needs_ethernet && !has_ethernet) {
		header[2 * ETH_ALEN] = (__u8)skb->protocol;
		header[2 * ETH_ALEN + 1] = (__u8)(skb->protocol >> 8);
		addresses(header);
		if (bpf_skb_change_head(skb, ETH_HLEN, 0) || bpf_skb_store_bytes(skb, 0, header, ETH_HLEN, 0)) {
			__sync_fetch_and_add(&counted.failed, 1);
			return DROP;
		}
	} else if (needs_ethernet && rewrites) {
		addresses(header);
		if (bpf_skb_store_bytes(skb, 0, header, 2 * ETH_ALEN, 0)) {
			__sync_fetch_and_add(&counted.failed, 1);
			return DROP;
		}
	}
	__sync_fetch_and_add(&counted.redirected, 1);
	return bpf_redirect(to_interface, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
