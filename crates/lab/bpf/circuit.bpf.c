// SPDX-License-Identifier: Dual MIT/GPL
// A circuit switch. A frame of a circuit goes from its input port to the port that is connected to
// it, and is dropped while the port is dark. All other frames pass to whatever else is attached to
// the port, such as a bridge.
//
// A process connects the ports, or the switch turns by itself: as a rotor switch, it takes its
// connections from a cycle of steps.
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETHER_TYPE_DATA 0x88b6
/* A bit of the class field above the 11 bits of the class: the frame takes a circuit. If higher
 * bits are set, the frame has no class. */
#define CIRCUIT 0x0800
#define NO_CLASS 0xf000
#define UNCONNECTED 0xffffffff
#define MOST_PORTS 1024

struct __attribute__((packed)) data_frame {
	__u8 destination[6], source[6];
	__u16 ether_type;
	__u8 version, kind;
	__u16 class;
};

struct circuit {
	/* Number of a port, or UNCONNECTED. */
	__u64 output;
	/* When the circuit is lit, in ns of the monotonic clock. */
	__u64 lit_at;
};

struct counters {
	__u64 frames, bytes, forwarded, dark, unconnected, passed;
	/* Bytes with Ethernet's header. */
	__u64 dark_bytes, unconnected_bytes;
};

/* Properties of the switch, for processes that set it. The program does not read them. */
struct settings {
	/* Dark time of retuned ports, uniformly distributed between the two. */
	__u64 least_ns, most_ns;
	/* Whether all ports are dark during a change, or only those that move. */
	__u64 all;
	__u64 ports;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

/* A rotor switch, if it has steps. Written before the ports are attached. */
struct rotor {
	/* When the first step starts, in ns of the monotonic clock. */
	__u64 start;
	/* Length of a step, and the dark time when one starts that changes outputs. */
	__u64 slice, dark;
	__u64 steps;
	__u64 ports;
};

/* A bit of a step's output: the switch is dark when the step starts. */
#define CHANGES 0x80000000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rotor);
} rotor SEC(".maps");

/* The outputs of all ports in the first step, then in the second. Has as many as needed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* number of a port or CHANGES - 1 for none, plus CHANGES */
} steps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_PORTS);
	__type(key, __u32); /* ifindex */
	__type(value, __u32);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_PORTS);
	__type(key, __u32);
	__type(value, struct circuit);
} circuits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, MOST_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} outputs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MOST_PORTS);
	__type(key, __u32);
	__type(value, struct counters);
} counted SEC(".maps");

/* Where a port of a rotor switch leads, and from when on. */
static __always_inline void turn(struct rotor *r, __u32 port, __u64 now, __u64 *output, __u64 *lit_at)
{
	*output = UNCONNECTED;
	if (now < r->start || !r->slice || !r->steps)
		return;
	__u64 slice = (now - r->start) / r->slice;
	__u32 place = (slice % r->steps) * r->ports + port;
	__u32 *step = bpf_map_lookup_elem(&steps, &place);
	if (!step)
		return;
	if ((*step & ~CHANGES) != CHANGES - 1)
		*output = *step & ~CHANGES;
	*lit_at = r->start + slice * r->slice + (*step & CHANGES ? r->dark : 0);
}

/* "frags": the kernel then accepts the program on interfaces with frames longer than a page. */
SEC("xdp.frags")
int circuit_switch(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct data_frame *f = (void *)(long)ctx->data;
	__u32 ifindex = ctx->ingress_ifindex;
	__u32 *number = bpf_map_lookup_elem(&numbers, &ifindex);
	if (!number)
		return XDP_PASS;
	struct circuit *circuit = bpf_map_lookup_elem(&circuits, number);
	struct counters *c = bpf_map_lookup_elem(&counted, number);
	if (!circuit || !c)
		return XDP_PASS;

	if ((void *)(f + 1) > end || f->ether_type != bpf_htons(ETHER_TYPE_DATA) ||
	    (bpf_ntohs(f->class) & (CIRCUIT | NO_CLASS)) != CIRCUIT) {
		c->passed++;
		return XDP_PASS;
	}
	__u64 length = bpf_xdp_get_buff_len(ctx);
	c->frames++;
	c->bytes += length;
	/* Read in the order in which they are written: a new output is never read with the old
	 * time. */
	__u64 output = *(volatile __u64 *)&circuit->output;
	__u64 lit_at = *(volatile __u64 *)&circuit->lit_at;
	__u64 now = bpf_ktime_get_ns();
	__u32 first = 0;
	struct rotor *r = bpf_map_lookup_elem(&rotor, &first);
	if (r && r->steps)
		turn(r, *number, now, &output, &lit_at);
	if (output == UNCONNECTED) {
		c->unconnected++;
		c->unconnected_bytes += length;
		return XDP_DROP;
	}
	if (now < lit_at) {
		c->dark++;
		c->dark_bytes += length;
		return XDP_DROP;
	}
	c->forwarded++;
	return bpf_redirect_map(&outputs, output, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
