// SPDX-License-Identifier: Dual MIT/GPL
//
// Layout of signals on the wire, and their tag, for the gate and the observer. Beside `lateness.h`
// they share only the layout: the observer reads signals with code of its own, as it judges the
// gate.
#pragma once
#include <linux/types.h>

#define ETHER_TYPE_SIGNAL 0x88b5
#define ETHER_TYPE_DATA 0x88b6
#define ETHER_TYPE_MAC_CONTROL 0x8808
#define OPCODE_PFC 0x0101
#define OPCODE_EXTENDED 0x010b
#define PAUSED 0xffff

// Number of bytes that a tag covers, from the opcode on; the tag follows them.
#define EXTENDED_SIGNED 46
#define PFC_SIGNED 38

static __always_inline __u64 rotate(__u64 x, int by) { return x << by | x >> (64 - by); }

#define ROUND                                                                                                          \
    do {                                                                                                               \
        a += b; b = rotate(b, 13) ^ a; a = rotate(a, 32);                                                              \
        c += d; d = rotate(d, 16) ^ c;                                                                                 \
        a += d; d = rotate(d, 21) ^ a;                                                                                 \
        c += b; b = rotate(b, 17) ^ c; c = rotate(c, 32);                                                              \
    } while (0)

// SipHash-2-4 of `length` bytes. `length` is a constant with remainder 6 when divided by 8.
static __always_inline __u64 sip_hash(const __u8 *bytes, const int length, __u64 k0, __u64 k1)
{
    __u64 a = k0 ^ 0x736f6d6570736575ull, b = k1 ^ 0x646f72616e646f6dull;
    __u64 c = k0 ^ 0x6c7967656e657261ull, d = k1 ^ 0x7465646279746573ull;
#pragma unroll
    for (int i = 0; i < length / 8; i++) {
        __u64 word;
        __builtin_memcpy(&word, bytes + 8 * i, 8);
        d ^= word;
        ROUND; ROUND;
        a ^= word;
    }
    __u64 last = (__u64)length << 56;
#pragma unroll
    for (int i = 0; i < 6; i++)
        last |= (__u64)bytes[length / 8 * 8 + i] << (8 * i);
    d ^= last;
    ROUND; ROUND;
    a ^= last;
    c ^= 0xff;
    ROUND; ROUND; ROUND; ROUND;
    return a ^ b ^ c ^ d;
}

static __always_inline __u16 be16(const __u8 *p) { return (__u16)p[0] << 8 | p[1]; }
static __always_inline __u32 be32(const __u8 *p) { return (__u32)be16(p) << 16 | be16(p + 2); }
static __always_inline __u64 be64(const __u8 *p) { return (__u64)be32(p) << 32 | be32(p + 4); }
