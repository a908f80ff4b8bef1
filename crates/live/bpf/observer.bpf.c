// SPDX-License-Identifier: Dual MIT/GPL Watches the ports of a switch for frames outside of their
// slots.
//
// At each port, the egress program sees the signals that the controller sends to the port's host,
// and the ingress program sees the data frames that the host sends. Both only observe: they pass
// every frame unchanged.
//
// Slots are those of the network, not of a port: a signal counts from when it left the controller.
// How late it passes its port follows from the signals of all ports.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "lateness.h"
#include "wire.h"

#define OTHERS 0x80
#define HOLDS 0x40
#define KIND_STREAM 1
#define KIND_PACKET 3
#define UNGATED 0xffff
/* No class is open, or none ever was. */
#define NONE 0xffffffff
/* Number of buckets: one for each ns below 8 ns, then 8 for every power of two up to 2^40 ns. */
#define BUCKETS 304
#define MOST_PORTS 1024

struct __attribute__((packed)) data_frame {
	__u8 destination[6], source[6];
	__u16 ether_type;
	__u8 version, kind;
	__u16 class, length;
	__u32 host;
};

/* State of a port. Times are in ns of the monotonic clock. */
struct port {
	struct bpf_spin_lock lock;
	/* The class of the last opening, and whether a signal has closed it since. */
	__u32 class;
	__u32 closed;
	/* Whether a signal has been seen; `epoch` and `sequence` are those of the newest one. */
	__u32 known;
	__u32 epoch;
	__u32 first_seen;
	__u64 sequence;
	__u64 opened_at;
	/* When it closed, or will close by itself. */
	__u64 closes_at;
	/* Bytes of the last opening's class since then, and how late the last frame after its end
	 * was; 0 for none. */
	__u64 slot_bytes;
	__u64 late_ns;
	/* Counters since the programs were attached. */
	__u64 frames, bytes, reactions, violations, unlogged;
	__u64 slots, empty_slots, open_ns;
	__u64 signals, stale_signals, other_signals, forged_signals;
	__u8 violator[8];
};

struct violation {
	__u64 time_ns;
	__u32 ifindex;
	/* The class that was open, or NONE. */
	__u32 open;
	__u32 length;
	__u16 class;
	__u8 source[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_PORTS);
	__type(key, __u32); /* ifindex */
	__type(value, struct port);
} ports SEC(".maps");

struct key {
	__u64 half[2];
};

/* Time of the last opening of any port. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} last_opening SEC(".maps");

/* Time of the first opening of the slot that is opening. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} slot_begins SEC(".maps");

/* The signals of all ports, which one controller sends by one clock. */
struct network {
	struct bpf_spin_lock lock;
	__u32 epoch;
	__u32 known;
	struct fastest fastest;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct network);
} networks SEC(".maps");

/* Time from a closing signal to the last frame of the closed slot, from an opening signal to the
 * first frame of the slot, and from a slot's first opening signal to its others. How late signals
 * are. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} reaction SEC(".maps"), first_frame SEC(".maps"), spread SEC(".maps"), lateness_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} violations SEC(".maps");

/* Keys of hosts, by port. Signals at ports with a key are verified. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_PORTS);
	__type(key, __u32); /* ifindex */
	__type(value, struct key);
} keys SEC(".maps");

const volatile __u8 controller[6];
/* UDP port of signals in datagrams. */
const volatile __u16 udp_port;

/* Type information is only generated for types of variables. */
struct violation *described __attribute__((unused));

static __always_inline int same(const __u8 *a, const volatile __u8 *b)
{
	for (int i = 0; i < 6; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

static __always_inline __u32 bucket(__u64 ns)
{
	__u32 top = 0;
	__u64 rest = ns;

	if (ns < 8)
		return ns;
	for (int step = 32; step; step >>= 1)
		if (rest >> step) {
			rest >>= step;
			top += step;
		}
	/* `top` is the highest bit set; the three below it choose within its power of two. */
	__u32 index = (top - 2) * 8 + ((ns >> (top - 3)) & 7);
	return index < BUCKETS ? index : BUCKETS - 1;
}

static __always_inline void count(void *histogram, __u64 ns)
{
	__u32 index = bucket(ns);
	__u64 *counter = bpf_map_lookup_elem(histogram, &index);

	if (counter)
		(*counter)++;
}

/* Content of a signal. */
struct said {
	__u64 sequence;
	/* How long its class stays open, in ns. All bits set: until the next signal. */
	__u64 hold_ns;
	__u32 epoch;
	/* The class that it opens, or NONE. */
	__u32 open;
	/* Whether it is plain PFC, which has neither epoch nor number and is always the newest. */
	__u32 plain;
};

enum reading { NO_SIGNAL, OTHER_SIGNAL, FORGED_SIGNAL, SIGNAL };

/* Reads an extended frame, from its opcode on. */
static __always_inline enum reading extended(struct __sk_buff *skb, __u32 at, const struct key *key, struct said *said)
{
	__u8 p[EXTENDED_SIGNED + 8] = {};

	/* Without a tag it has the length of the smallest frame. */
	if (bpf_skb_load_bytes(skb, at, p, EXTENDED_SIGNED))
		return NO_SIGNAL;
	if (key) {
		__u64 tag;

		if (bpf_skb_load_bytes(skb, at + EXTENDED_SIGNED, p + EXTENDED_SIGNED, 8))
			return FORGED_SIGNAL;
		__builtin_memcpy(&tag, p + EXTENDED_SIGNED, 8);
		if (sip_hash(p, EXTENDED_SIGNED, key->half[0], key->half[1]) != tag)
			return FORGED_SIGNAL;
	}
	__u32 named = p[3] & 7;
	if (p[2] != 1 || !(p[3] & OTHERS) || !be16(p + 4) || named > 1)
		/* Another state than "all paused but one", which controllers of slots do not send.
		 * */
		return OTHER_SIGNAL;
	said->open = named && !be16(p + 16) ? be16(p + 14) : NONE;
	said->epoch = be32(p + 6);
	said->sequence = (__u64)be32(p + 30) << 32 | be32(p + 10);
	said->hold_ns = p[3] & HOLDS ? be64(p + 34) / 1000 : ~0ULL;
	return SIGNAL;
}

/* Reads a PFC frame of eight classes, from its opcode on, with or without a tag in its padding. */
static __always_inline enum reading standard(struct __sk_buff *skb, __u32 at, const struct key *key, struct said *said)
{
	__u8 p[PFC_SIGNED + 8], any = 0;
	int open = 0;

	if (bpf_skb_load_bytes(skb, at, p, sizeof(p)))
		return NO_SIGNAL;
	for (int i = 0; i < 8; i++)
		if (!be16(p + 4 + 2 * i)) {
			said->open = i;
			open++;
		}
	if (p[3] != 0xff || open > 1)
		return OTHER_SIGNAL;
	for (int i = 20; i < PFC_SIGNED + 8; i++)
		any |= p[i];
	if (!any) {
		said->plain = 1;
		said->hold_ns = ~0ULL;
		return SIGNAL;
	}
	if (key) {
		__u64 tag;

		__builtin_memcpy(&tag, p + PFC_SIGNED, 8);
		if (sip_hash(p, PFC_SIGNED, key->half[0], key->half[1]) != tag)
			return FORGED_SIGNAL;
	}
	said->epoch = be32(p + 20);
	said->sequence = be64(p + 24);
	said->hold_ns = (__u64)be16(p + 32) << 32 | be32(p + 34);
	return SIGNAL;
}

/* Reads any frame that leaves towards a host. */
static __always_inline enum reading read(struct __sk_buff *skb, const struct key *key, struct said *said)
{
	__u32 at = ETH_HLEN;
	struct ethhdr ethernet;
	__u16 opcode;

	/* Long frames are fragmented in memory: direct access would end at the header. */
	if (bpf_skb_load_bytes(skb, 0, &ethernet, sizeof(ethernet)) || !same(ethernet.h_source, controller))
		return NO_SIGNAL;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct {
			struct iphdr ip;
			struct udphdr udp;
		} headers;

		if (bpf_skb_load_bytes(skb, at, &headers, sizeof(headers)) || headers.ip.ihl != 5 ||
		    headers.ip.protocol != IPPROTO_UDP || headers.udp.dest != bpf_htons(udp_port))
			return NO_SIGNAL;
		at += sizeof(headers);
	} else if (skb->protocol != bpf_htons(ETHER_TYPE_SIGNAL) && skb->protocol != bpf_htons(ETHER_TYPE_MAC_CONTROL)) {
		return NO_SIGNAL;
	}
	if (bpf_skb_load_bytes(skb, at, &opcode, sizeof(opcode)))
		return NO_SIGNAL;
	if (opcode == bpf_htons(OPCODE_EXTENDED))
		return extended(skb, at, key, said);
	if (opcode == bpf_htons(OPCODE_PFC) && skb->protocol == bpf_htons(ETHER_TYPE_MAC_CONTROL))
		return standard(skb, at, key, said);
	return NO_SIGNAL;
}

/* How late a signal is, among those of all ports. One of an earlier controller is not: its clock is
 * not known any more. */
static __always_inline __u64 late_by(const struct said *said, __u64 now)
{
	__u32 zero = 0;
	__u64 late = 0;
	struct network *network = bpf_map_lookup_elem(&networks, &zero);

	if (!network || said->plain)
		return 0;
	bpf_spin_lock(&network->lock);
	if (!network->known || said->epoch > network->epoch) {
		network->known = 1;
		network->epoch = said->epoch;
		forget(&network->fastest, now);
	}
	if (said->epoch == network->epoch)
		late = lateness(&network->fastest, now, said->sequence, UNKNOWN);
	bpf_spin_unlock(&network->lock);
	count(&lateness_of, late);
	return late;
}

SEC("tcx/egress")
int signals(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, zero = 0;
	__u64 now = bpf_ktime_get_ns(), late = 0;
	int opens = 0;
	struct said said = { .open = NONE };
	struct port *port = bpf_map_lookup_elem(&ports, &ifindex);
	__u64 *last = bpf_map_lookup_elem(&last_opening, &zero);
	__u64 *begins = bpf_map_lookup_elem(&slot_begins, &zero);

	if (!port || !last || !begins)
		return TC_ACT_UNSPEC;
	switch (read(skb, bpf_map_lookup_elem(&keys, &ifindex), &said)) {
	case NO_SIGNAL:
		return TC_ACT_UNSPEC;
	case OTHER_SIGNAL:
		__sync_fetch_and_add(&port->other_signals, 1);
		return TC_ACT_UNSPEC;
	case FORGED_SIGNAL:
		__sync_fetch_and_add(&port->forged_signals, 1);
		return TC_ACT_UNSPEC;
	case SIGNAL:
		break;
	}
	__u32 open = said.open, epoch = said.epoch, plain = said.plain;
	/* When the signal would have passed, had it been as fast as the fastest. */
	__u64 at = now - late_by(&said, now);
	__u64 sequence = said.sequence, closes_at = said.hold_ns == ~0ULL ? ~0ULL : at + said.hold_ns;

	bpf_spin_lock(&port->lock);
	if (!plain && port->known && (epoch < port->epoch || (epoch == port->epoch && sequence <= port->sequence))) {
		/* The host ignores it too. */
		port->stale_signals++;
		bpf_spin_unlock(&port->lock);
		return TC_ACT_UNSPEC;
	}
	if (!plain) {
		port->known = 1;
		port->epoch = epoch;
		port->sequence = sequence;
	}
	port->signals++;
	__u32 was_open = port->slots && !port->closed;
	if (at < port->opened_at)
		at = port->opened_at;
	if (was_open && port->closes_at <= at) {
		/* It closed by itself. */
		port->open_ns += port->closes_at - port->opened_at;
		port->closed = 1;
		was_open = 0;
	}
	if (was_open && port->class == open) {
		/* The same class again: only its end moves. */
		port->closes_at = closes_at;
	} else {
		if (was_open) {
			port->open_ns += at - port->opened_at;
			port->closes_at = at;
			port->closed = 1;
		}
		if (open != NONE) {
			if (port->slots && !port->slot_bytes)
				port->empty_slots++;
			late = port->late_ns;
			port->late_ns = 0;
			port->slot_bytes = 0;
			port->first_seen = 0;
			port->closed = 0;
			port->class = open;
			port->opened_at = at;
			port->closes_at = closes_at;
			port->slots++;
			opens = 1;
		}
	}
	bpf_spin_unlock(&port->lock);
	if (opens && *last < at)
		*last = at;
	/* A signal holds for at least its slot, and the next slot begins a guard time later. Plain PFC
	 * does not tell how long a slot is. */
	if (opens && said.hold_ns != ~0ULL) {
		__u64 since = now - *begins;

		if (now < *begins)
			count(&spread, 0);
		else if (!*begins || since > said.hold_ns / 2)
			*begins = now;
		else
			count(&spread, since);
	}
	if (late)
		count(&reaction, late);
	return TC_ACT_UNSPEC;
}

SEC("tcx/ingress")
int data(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, zero = 0, length = skb->len, open = NONE;
	__u64 now = bpf_ktime_get_ns(), first = 0;
	int violates = 0, begins = 0;
	struct data_frame f;
	struct port *port = bpf_map_lookup_elem(&ports, &ifindex);
	__u64 *last = bpf_map_lookup_elem(&last_opening, &zero);

	if (!port || !last || skb->protocol != bpf_htons(ETHER_TYPE_DATA))
		return TC_ACT_UNSPEC;
	if (bpf_skb_load_bytes(skb, 0, &f, sizeof(f)) || f.version != 1 || f.class == UNGATED ||
	    (f.kind != KIND_STREAM && f.kind != KIND_PACKET))
		return TC_ACT_UNSPEC;
	__u32 class = bpf_ntohs(f.class);
	__u64 opening = *last;

	bpf_spin_lock(&port->lock);
	port->frames++;
	port->bytes += length;
	/* A frame is judged by its arrival time, even if a later signal was processed first. */
	if (port->slots && port->class == class && now <= port->closes_at) {
		port->slot_bytes += length;
		if (!port->first_seen) {
			port->first_seen = 1;
			begins = 1;
			first = now > port->opened_at ? now - port->opened_at : 0;
		}
	} else if (port->slots && port->class == class && !(opening > port->closes_at && now >= opening)) {
		/* It was in flight, or its host still reacts, and no other host may send yet. */
		port->reactions++;
		port->late_ns = now - port->closes_at; /* Never 0: it is later. */
	} else {
		violates = 1;
		port->violations++;
		if (port->slots && now <= port->closes_at)
			open = port->class;
		for (int i = 0; i < 6; i++)
			port->violator[i] = f.source[i];
	}
	bpf_spin_unlock(&port->lock);
	if (begins)
		count(&first_frame, first);
	if (!violates)
		return TC_ACT_UNSPEC;
	struct violation *v = bpf_ringbuf_reserve(&violations, sizeof(*v), 0);
	if (!v) {
		__sync_fetch_and_add(&port->unlogged, 1);
		return TC_ACT_UNSPEC;
	}
	v->time_ns = now;
	v->ifindex = ifindex;
	v->open = open;
	v->length = length;
	v->class = class;
	__builtin_memcpy(v->source, f.source, 6);
	bpf_ringbuf_submit(v, 0);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
