// SPDX-License-Identifier: Dual MIT/GPL
//
// The gate of a host's interface. Two programs share its maps. One receives the controller's
// signals (by XDP, or by tc if the interface does not support XDP). The other checks for every
// outgoing frame whether its class is open, and refuses late frames with ENOBUFS. Neither depends
// on a process: a signal closes the gate even while the host's agent is not scheduled.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "lateness.h"
#include "wire.h"

// TCX_DROP and TCX_NEXT, which older kernel headers lack.
#define DROP 2
#define NEXT -1
// Depth of an agent's leaky bucket, in ns.
#define DEPTH 4000000ull
#define CLASSES 2048
#define NO_CLASS 0xffff

// Accepted encodings of signals: bits of `encodings`.
enum { EXPERIMENTAL = 1, MAC_CONTROL = 2, STANDARD_PFC = 4, IN_UDP = 8, PLAIN_PFC = 16 };
// Bits of `flags`.
enum { ENFORCE = 1, ALL_TRAFFIC = 2, OPEN_WHEN_EXPIRED = 4 };

struct settings {
    __u64 key[2];
    __u64 lease_ns;    // how long what a controller says is good for
    __u64 max_hold_ns; // no signal opens a gate for longer
    __u64 late_ns;     // a signal that is later opens none; all bits set: times do not matter
    __u32 flags;
    __u32 encodings;
    __u16 udp_port;
    __u8 mac[6];
};

struct state {
    struct bpf_spin_lock lock;
    __u32 epoch;
    __u64 number;
    __u64 lease_until; // of signals, in ns of the monotonic clock, as all times here
    __u32 open;        // the class that the last signal opened
    __u32 heard;       // whether any signal has been obeyed
    struct fastest fastest; // of the signals of this epoch
};

// The least difference of the clocks as the agent measures it over the demand channel. Signals may
// all be held back alike; these messages take another way and are another protocol.
struct measured {
    struct bpf_spin_lock lock;
    __u32 epoch;       // of the controller
    __s64 difference;
    __u64 at;          // when; older than MEASURED_FOR it does not count
};
#define MEASURED_FOR (5 * WINDOW_NS)

struct class_gate {
    __u64 opened;      // when
    __u64 until;       // frames leave before this
    __u64 rate;        // wire bytes per second; 0: as fast as they come
    __u64 free_at;     // of the leaky bucket
};

// Traffic that passes even if all traffic is gated: an EtherType, or an IP protocol with or without
// a port. With an address, only packets to that address and port pass (IPv4 as ::ffff:a.b.c.d).
// Unused fields are zero.
struct allowed {
    __u16 ether_type;
    __u16 port;
    __u8 protocol;
    __u8 zero[3];
    __u8 address[16];
};

// Values of `allow`: whose packets pass.
enum { OF_ANYBODY = 1, OF_ROOT = 2 };

enum counter {
    OBEYED, FORGED, STALE, LATE, MALFORMED, UNWANTED, OTHER_STATION,
    PASSED, PASSED_BYTES, GATED, GATED_BYTES, WOULD_GATE, TOO_FAST, UNSCHEDULED, REPAIRS, ALLOWED, OTHER,
    COUNTERS
};

struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32); __type(value, struct settings); } settings SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32); __type(value, struct state); } states SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, CLASSES); __type(key, __u32); __type(value, struct class_gate); } gates SEC(".maps");
// End of the lease that messages over the demand channel renew. Only the agent writes it, so that
// it never overwrites the numbers of a newer signal.
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32); __type(value, __u64); } renewals SEC(".maps");
// The least epoch that is obeyed. The agent hears of a new controller over the demand channel,
// perhaps before its first signal.
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32); __type(value, __u32); } ruling SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32); __type(value, struct measured); } clocks SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 256); __type(key, struct allowed); __type(value, __u8); } allow SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, COUNTERS); __type(key, __u32); __type(value, __u64); } counters SEC(".maps");

static __always_inline void count(__u32 which, __u64 by)
{
    __u64 *value = bpf_map_lookup_elem(&counters, &which);
    if (value)
        *value += by;
}

struct signal {
    __u64 number;  // of an epoch; the controller's clock in ns when the signal left
    __u64 hold_ns; // from its sending on
    __u32 epoch, open;
    __u32 plain;   // without numbers: always the newest, and never late
};

// The least difference of clocks that the agent has measured for the controller of an epoch.
static __always_inline __s64 measured(__u32 epoch, __u64 now)
{
    __u32 zero = 0;
    struct measured *m = bpf_map_lookup_elem(&clocks, &zero);
    if (!m)
        return UNKNOWN;
    bpf_spin_lock(&m->lock);
    __u32 of = m->epoch;
    __s64 difference = m->difference;
    __u64 at = m->at;
    bpf_spin_unlock(&m->lock);
    if (!at || of != epoch || now < at || now - at > MEASURED_FOR)
        return UNKNOWN;
    return difference + (__s64)((now - at) >> DRIFT_SHIFT);
}

// Obeys a signal if it is newer than all before. One that is late opens no class. It closes as any
// other: what it has to say about the others is true even then.
static __always_inline int obey(const struct settings *s, const struct signal *signal)
{
    __u32 zero = 0;
    struct state *state = bpf_map_lookup_elem(&states, &zero);
    if (!state)
        return 0;
    __u64 now = bpf_ktime_get_ns(), late = 0;
    int checked = !signal->plain && s->late_ns != ~0ull;
    __s64 limit = checked ? measured(signal->epoch, now) : UNKNOWN;
    __u32 before, open = signal->open;
    const __u32 *least = bpf_map_lookup_elem(&ruling, &zero);
    int replaced = least && signal->epoch < *least;
    bpf_spin_lock(&state->lock);
    if (!signal->plain && (replaced || (state->heard &&
        (signal->epoch < state->epoch || (signal->epoch == state->epoch && signal->number <= state->number))))) {
        bpf_spin_unlock(&state->lock);
        count(STALE, 1);
        return 0;
    }
    if (!signal->plain) {
        // Another controller has another clock.
        if (!state->heard || signal->epoch != state->epoch)
            forget(&state->fastest, now);
        state->epoch = signal->epoch;
        state->number = signal->number;
    }
    if (checked)
        late = lateness(&state->fastest, now, signal->number, limit);
    if (late > s->late_ns)
        open = NO_CLASS;
    before = state->heard ? state->open : NO_CLASS;
    state->heard = 1;
    state->open = open;
    state->lease_until = now + s->lease_ns;
    bpf_spin_unlock(&state->lock);

    if (before != open && before < CLASSES) {
        struct class_gate *gate = bpf_map_lookup_elem(&gates, &before);
        if (gate)
            gate->until = 0;
    }
    if (open < CLASSES) {
        struct class_gate *gate = bpf_map_lookup_elem(&gates, &open);
        __u64 hold = signal->hold_ns < s->max_hold_ns ? signal->hold_ns : s->max_hold_ns;
        if (gate) {
            gate->opened = now;
            gate->until = hold > late ? now + hold - late : 0;
        }
    }
    if (open != signal->open) {
        count(LATE, 1);
        return 0;
    }
    count(OBEYED, 1);
    return 1;
}

// Reads a sealed extended frame, from its opcode on; 54 bytes are present.
static __always_inline int extended(const struct settings *s, const __u8 *p)
{
    __u64 tag;
    __builtin_memcpy(&tag, p + EXTENDED_SIGNED, 8);
    if (sip_hash(p, EXTENDED_SIGNED, s->key[0], s->key[1]) != tag) {
        count(FORGED, 1);
        return 0;
    }
    // Only one state is supported: all classes but at most one are paused, for a given time.
    int named = p[3] & 0x3f;
    if (p[2] != 1 || (p[3] & 0xc0) != 0xc0 || named > 1 || be16(p + 4) != PAUSED) {
        count(MALFORMED, 1);
        return 0;
    }
    struct signal signal = { .epoch = be32(p + 6), .open = NO_CLASS };
    signal.number = (__u64)be32(p + 30) << 32 | be32(p + 10);
    signal.hold_ns = be64(p + 34) / 1000;
    if (named) {
        signal.open = be16(p + 14);
        if (signal.open >= CLASSES || be16(p + 16) != 0) {
            count(MALFORMED, 1);
            return 0;
        }
    }
    return obey(s, &signal);
}

// Reads a PFC frame of eight classes, from its opcode on; 46 bytes are present.
static __always_inline int standard(const struct settings *s, const __u8 *p)
{
    struct signal signal = { .open = NO_CLASS };
    int open = 0;
    if (p[3] != 0xff) {
        count(MALFORMED, 1);
        return 0;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (be16(p + 4 + 2 * i) == 0) {
            signal.open = i;
            open++;
        }
    }
    if (open > 1) {
        count(MALFORMED, 1);
        return 0;
    }
    __u8 any = 0;
#pragma unroll
    for (int i = 20; i < 46; i++)
        any |= p[i];
    if (!any) {
        if (!(s->encodings & PLAIN_PFC)) {
            count(UNWANTED, 1);
            return 0;
        }
        signal.plain = 1;
        signal.hold_ns = s->max_hold_ns;
        return obey(s, &signal);
    }
    if (!(s->encodings & STANDARD_PFC)) {
        count(UNWANTED, 1);
        return 0;
    }
    __u64 tag;
    __builtin_memcpy(&tag, p + PFC_SIGNED, 8);
    if (sip_hash(p, PFC_SIGNED, s->key[0], s->key[1]) != tag) {
        count(FORGED, 1);
        return 0;
    }
    signal.epoch = be32(p + 20);
    signal.number = be64(p + 24);
    signal.hold_ns = (__u64)be16(p + 32) << 32 | be32(p + 34);
    return obey(s, &signal);
}

static __always_inline int mine(const struct settings *s, const __u8 *mac, int scheme)
{
    int same = 1, reserved = scheme && mac[0] == 1 && mac[1] == 0x80 && mac[2] == 0xc2 && !mac[3] && !mac[4] && mac[5] == 1;
#pragma unroll
    for (int i = 0; i < 6; i++)
        same &= mac[i] == s->mac[i];
    return same || reserved;
}

enum verdict { NO_SIGNAL, HEARD, REFUSED };

// Examines a received frame.
static __always_inline enum verdict hear(void *data, void *end)
{
    __u32 zero = 0;
    const struct settings *s = bpf_map_lookup_elem(&settings, &zero);
    const __u8 *p = data;
    if (!s || data + 16 > end)
        return NO_SIGNAL;
    __u16 type = be16(p + 12);
    if (type == ETH_P_IP) {
        const struct iphdr *ip = data + ETH_HLEN;
        const struct udphdr *udp = (void *)(ip + 1);
        const __u8 *content = (void *)(udp + 1);
        if (!(s->encodings & IN_UDP) || (void *)(content + EXTENDED_SIGNED + 8) > end || ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
            udp->dest != s->udp_port || be16(content) != OPCODE_EXTENDED || !mine(s, p, 0))
            return NO_SIGNAL;
        return extended(s, content) ? HEARD : REFUSED;
    }
    int scheme = type == ETHER_TYPE_MAC_CONTROL;
    if (!scheme && type != ETHER_TYPE_SIGNAL)
        return NO_SIGNAL;
    __u16 opcode = be16(p + 14);
    // PAUSE and unknown opcodes are left to others.
    if (opcode != OPCODE_EXTENDED && !(scheme && opcode == OPCODE_PFC))
        return NO_SIGNAL;
    if (!mine(s, p, scheme)) {
        count(OTHER_STATION, 1);
        return REFUSED;
    }
    if (opcode == OPCODE_PFC) {
        if (data + 60 > end) {
            count(MALFORMED, 1);
            return REFUSED;
        }
        return standard(s, p + 14) ? HEARD : REFUSED;
    }
    if (!(s->encodings & (scheme ? MAC_CONTROL : EXPERIMENTAL))) {
        count(UNWANTED, 1);
        return REFUSED;
    }
    if (data + 14 + EXTENDED_SIGNED + 8 > end) {
        count(MALFORMED, 1);
        return REFUSED;
    }
    return extended(s, p + 14) ? HEARD : REFUSED;
}

SEC("xdp.frags") // frames over a page come in pieces; what is looked at is in the first
int hear_xdp(struct xdp_md *ctx)
{
    // Signals that were obeyed pass to the agent. Refused ones are dropped.
    return hear((void *)(long)ctx->data, (void *)(long)ctx->data_end) == REFUSED ? XDP_DROP : XDP_PASS;
}

SEC("tcx/ingress")
int hear_tc(struct __sk_buff *skb)
{
    bpf_skb_pull_data(skb, skb->len < 128 ? skb->len : 128);
    return hear((void *)(long)skb->data, (void *)(long)skb->data_end) == REFUSED ? DROP : NEXT;
}

// Whether the map has this traffic. What is allowed to root alone needs a socket that root has
// made: other users could otherwise send from the port as well.
static __always_inline int is_allowed(struct __sk_buff *skb, const struct allowed *key)
{
    const __u8 *whose = bpf_map_lookup_elem(&allow, key);
    if (!whose)
        return 0;
    return *whose != OF_ROOT || bpf_get_socket_uid(skb) == 0;
}

// Whether the port or the protocol of an IP packet is allowed.
static __always_inline int ip_allowed(struct __sk_buff *skb, __u16 type)
{
    void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
    struct allowed key = {};
    __u32 address[4] = {};
    void *next;
    if (type == ETH_P_IP) {
        struct iphdr *ip = data + ETH_HLEN;
        if ((void *)(ip + 1) > end)
            return 0;
        key.protocol = ip->protocol;
        address[2] = bpf_htonl(0xffff);
        address[3] = ip->daddr;
        next = data + ETH_HLEN + (ip->ihl & 0xf) * 4;
        // Only the first fragment has ports, so other fragments of an allowed packet cannot be
        // recognized.
        if (ip->frag_off & bpf_htons(0x1fff))
            return 0;
    } else {
        struct ipv6hdr *ip = data + ETH_HLEN;
        if ((void *)(ip + 1) > end)
            return 0;
        key.protocol = ip->nexthdr;
        __builtin_memcpy(address, &ip->daddr, 16);
        next = ip + 1;
    }
    __u16 *ports = next;
    int has_ports = key.protocol == IPPROTO_TCP || key.protocol == IPPROTO_UDP;
    __u16 from = 0, to = 0;
    if (has_ports) {
        if ((void *)(ports + 2) > end)
            has_ports = 0;
        else
            from = bpf_ntohs(ports[0]), to = bpf_ntohs(ports[1]);
    }
    if (is_allowed(skb, &key))
        return 1;
    // Port 0 would be the key of the whole protocol.
    if (!has_ports || !from || !to)
        return 0;
    key.port = from;
    if (is_allowed(skb, &key))
        return 1;
    key.port = to;
    if (is_allowed(skb, &key))
        return 1;
    __builtin_memcpy(key.address, address, 16);
    return is_allowed(skb, &key);
}

static __always_inline int refuse(const struct settings *s, __u32 length)
{
    if (!(s->flags & ENFORCE)) {
        count(WOULD_GATE, 1);
        return NEXT;
    }
    count(GATED, 1);
    count(GATED_BYTES, length);
    return DROP;
}

SEC("tcx/egress")
int gate(struct __sk_buff *skb)
{
    __u32 zero = 0;
    const struct settings *s = bpf_map_lookup_elem(&settings, &zero);
    const struct state *state = bpf_map_lookup_elem(&states, &zero);
    const __u64 *renewed = bpf_map_lookup_elem(&renewals, &zero);
    if (!s || !state || !renewed)
        return NEXT;
    bpf_skb_pull_data(skb, skb->len < 96 ? skb->len : 96);
    void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
    const __u8 *p = data;
    if (data + ETH_HLEN > end)
        return NEXT;
    __u16 type = be16(p + 12);
    __u64 now = bpf_ktime_get_ns();
    // If controllers are silent, the operator's choice applies.
    int abandoned = (s->flags & OPEN_WHEN_EXPIRED) && now >= state->lease_until && now >= *renewed;
    if (type != ETHER_TYPE_DATA) {
        if (!(s->flags & ALL_TRAFFIC)) {
            count(OTHER, 1);
            return NEXT;
        }
        struct allowed key = { .ether_type = type };
        int allowed = is_allowed(skb, &key) || ((type == ETH_P_IP || type == ETH_P_IPV6) && ip_allowed(skb, type));
        if (allowed || abandoned) {
            count(allowed ? ALLOWED : UNSCHEDULED, 1);
            return NEXT;
        }
        return refuse(s, skb->len);
    }
    if (data + 20 > end)
        return refuse(s, skb->len);
    __u32 class = be16(p + 16);
    if (class == NO_CLASS && p[15] == 2) {
        count(REPAIRS, 1);
        return NEXT;
    }
    // Bit 11 marks frames that take a circuit. Signals open the class in the bits below it.
    if (class < 2 * CLASSES)
        class &= CLASSES - 1;
    struct class_gate *open = class < CLASSES ? bpf_map_lookup_elem(&gates, &class) : 0;
    if (open && now < open->until) {
        if (open->rate) {
            // Preamble, FCS and inter-frame gap are also on the wire.
            __u64 bytes = skb->len < 60 ? 84 : skb->len + 24;
            __u64 free_at = open->free_at > now ? open->free_at : now;
            // Agents may be ahead of a rate by DEPTH, or by two frames if that takes longer.
            __u64 most = 2 * 1538 * 1000000000ull / open->rate;
            if (most < DEPTH)
                most = DEPTH;
            if (free_at - now > most) {
                count(TOO_FAST, 1);
                return refuse(s, skb->len);
            }
            open->free_at = free_at + bytes * 1000000000ull / open->rate;
        }
        count(PASSED, 1);
        count(PASSED_BYTES, skb->len);
        return NEXT;
    }
    if (abandoned) {
        count(UNSCHEDULED, 1);
        return NEXT;
    }
    return refuse(s, skb->len);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
