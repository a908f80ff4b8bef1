//! IP packets that are longer than a frame to their host carries: what a router does with them.
//!
//! A packet that may be fragmented is. The sender of another one is told the length that fits, by
//! "fragmentation needed" (RFC 1191), so that TCP makes its segments shorter at once.

/// Bytes of IPv4's header without options.
const HEADER: usize = 20;
/// Bytes of ICMP's header.
const ICMP_HEADER: usize = 8;
/// The longest ICMP error (RFC 1812, 4.3.2.3).
const LONGEST_ERROR: usize = 576;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;
const ICMP: u8 = 1;

/// What becomes of a packet that is too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TooLong {
    /// These carry it.
    Fragments(Vec<Vec<u8>>),
    /// Its sender gets this packet.
    Answer(Vec<u8>),
    /// It is dropped: it is malformed, or nobody may be told of it (RFC 1122, 3.2.2).
    Dropped,
}

fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

fn set(packet: &mut [u8], at: usize, word: u16) {
    packet[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum as u16
}

/// Splits an IPv4 packet for packets of `most` bytes, or tells its sender. An answer comes from the
/// packet's destination, as the kernel accepts no packet of its own address.
pub(super) fn handle(packet: &[u8], most: usize) -> TooLong {
    let Some(header) = header_of(packet) else { return TooLong::Dropped };
    let packet = &packet[..usize::from(word(packet, 2))];
    if word(packet, 6) & DONT_FRAGMENT == 0 {
        fragments(packet, header, most).map_or(TooLong::Dropped, TooLong::Fragments)
    } else if may_be_answered(packet, header) {
        TooLong::Answer(fragmentation_needed(packet, header, most))
    } else {
        TooLong::Dropped
    }
}

/// Length of the header, if header and packet are complete.
fn header_of(packet: &[u8]) -> Option<usize> {
    if packet.len() < HEADER || packet[0] >> 4 != 4 {
        return None;
    }
    let (header, length) = (usize::from(packet[0] & 0xf) * 4, usize::from(word(packet, 2)));
    (HEADER <= header && header <= length && length <= packet.len()).then_some(header)
}

fn fragments(packet: &[u8], header: usize, most: usize) -> Option<Vec<Vec<u8>>> {
    let flags = word(packet, 6);
    let data = &packet[header..];
    // Fragments of fragments end where the whole did.
    let room = most.checked_sub(header)? / 8 * 8;
    if room == 0 || usize::from(flags & OFFSET) + data.len() / 8 > usize::from(OFFSET) {
        return None;
    }
    let count = data.len().div_ceil(room);
    let fragment = |(at, piece): (usize, &[u8])| {
        let mut fragment = [&packet[..header], piece].concat();
        if at > 0 {
            blank_options(&mut fragment[HEADER..header]);
        }
        let more = if at + 1 < count { MORE_FRAGMENTS } else { flags & MORE_FRAGMENTS };
        let offset = (flags & OFFSET) + (at * room / 8) as u16;
        let length = fragment.len() as u16;
        set(&mut fragment, 2, length);
        set(&mut fragment, 6, (flags & !OFFSET & !MORE_FRAGMENTS) | more | offset);
        set(&mut fragment, 10, 0);
        let sum = checksum(&fragment[..header]);
        set(&mut fragment, 10, sum);
        fragment
    };
    Some(data.chunks(room).enumerate().map(fragment).collect())
}

/// Replaces options that only the first fragment has by options without meaning.
fn blank_options(options: &mut [u8]) {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const COPIED: u8 = 0x80;
    let mut at = 0;
    while at < options.len() && options[at] != END {
        let length = match (options[at], options.get(at + 1)) {
            (NOTHING, _) => 1,
            (_, Some(&length)) if length >= 2 => usize::from(length),
            // Malformed: the rest has no meaning.
            _ => options.len(),
        };
        let end = (at + length).min(options.len());
        if options[at] & COPIED == 0 {
            options[at..end].fill(NOTHING);
        }
        at = end;
    }
}

/// Whether its sender may be told: it is one host, and the packet is no error or later fragment.
fn may_be_answered(packet: &[u8], header: usize) -> bool {
    let source = std::net::Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]);
    let is_one = !(source.is_unspecified() || source.is_loopback() || source.is_multicast() || source.is_broadcast());
    // These types are questions and answers, such as echo and timestamps; all others are errors.
    let is_error = packet[9] == ICMP && !matches!(packet.get(header), Some(0 | 8 | 13..=18));
    is_one && !is_error && word(packet, 6) & OFFSET == 0
}

fn fragmentation_needed(packet: &[u8], header: usize, most: usize) -> Vec<u8> {
    const UNREACHABLE: u8 = 3;
    const FRAGMENTATION_NEEDED: u8 = 4;
    // At least 8 bytes of its content (RFC 792), so that a socket is found.
    let quoted = packet.len().min(LONGEST_ERROR - HEADER - ICMP_HEADER).max((header + 8).min(packet.len()));
    let mut answer = vec![0; HEADER + ICMP_HEADER];
    answer.extend_from_slice(&packet[..quoted]);
    answer[0] = 0x45;
    // Internetwork control, as routers set it.
    answer[1] = 0xc0;
    let length = answer.len() as u16;
    set(&mut answer, 2, length);
    (answer[8], answer[9]) = (64, ICMP);
    answer[12..16].copy_from_slice(&packet[16..20]);
    answer[16..20].copy_from_slice(&packet[12..16]);
    let sum = checksum(&answer[..HEADER]);
    set(&mut answer, 10, sum);
    (answer[HEADER], answer[HEADER + 1]) = (UNREACHABLE, FRAGMENTATION_NEEDED);
    set(&mut answer, HEADER + 6, u16::try_from(most).unwrap_or(u16::MAX));
    let sum = checksum(&answer[HEADER..]);
    set(&mut answer, HEADER + 2, sum);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(flags: u16, protocol: u8, options: &[u8], content: &[u8]) -> Vec<u8> {
        let header = HEADER + options.len();
        let mut packet = vec![0; HEADER];
        packet.extend(options.iter().chain(content));
        packet[0] = 0x40 | (header / 4) as u8;
        let length = packet.len() as u16;
        set(&mut packet, 2, length);
        set(&mut packet, 4, 0x1234);
        set(&mut packet, 6, flags);
        (packet[8], packet[9]) = (64, protocol);
        packet[12..16].copy_from_slice(&[10, 99, 0, 1]);
        packet[16..20].copy_from_slice(&[10, 99, 0, 2]);
        let sum = checksum(&packet[..header]);
        set(&mut packet, 10, sum);
        packet
    }

    #[test]
    fn a_sender_that_forbids_fragments_is_told_what_fits() {
        let long = packet(DONT_FRAGMENT, 17, &[], &[7; 1380]);
        let TooLong::Answer(answer) = handle(&long, 1354) else { panic!("no answer") };
        assert_eq!(answer.len(), 576);
        assert_eq!((answer[0], answer[9], word(&answer, 2)), (0x45, 1, 576));
        assert_eq!((&answer[12..16], &answer[16..20]), (&[10, 99, 0, 2][..], &[10, 99, 0, 1][..]));
        assert_eq!((answer[20], answer[21], word(&answer, 24), word(&answer, 26)), (3, 4, 0, 1354));
        assert_eq!(answer[28..], long[..548]);
        assert_eq!((checksum(&answer[..20]), checksum(&answer[20..])), (0, 0));
    }

    #[test]
    fn nobody_is_told_of_errors_and_of_later_fragments() {
        let content = [&[3, 4][..], &[0; 1400]].concat();
        assert_eq!(handle(&packet(DONT_FRAGMENT, ICMP, &[], &content), 1000), TooLong::Dropped);
        let echo = [&[8, 0][..], &[0; 1400]].concat();
        assert!(matches!(handle(&packet(DONT_FRAGMENT, ICMP, &[], &echo), 1000), TooLong::Answer(_)));
        assert_eq!(handle(&packet(DONT_FRAGMENT | 5, 17, &[], &[0; 1400]), 1000), TooLong::Dropped);
        let mut from_all = packet(DONT_FRAGMENT, 17, &[], &[0; 1400]);
        from_all[12..16].fill(255);
        assert_eq!(handle(&from_all, 1000), TooLong::Dropped);
    }

    #[test]
    fn options_that_are_not_copied_are_blank_in_later_fragments() {
        // Record route (not copied), and a router alert (copied).
        let options = [7, 3, 4, 1, 0x94, 4, 0, 0];
        let TooLong::Fragments(all) = handle(&packet(0, 17, &options, &[1; 100]), 76) else { panic!("no fragments") };
        let of = |fragment: &Vec<u8>| fragment[20..28].to_vec();
        assert_eq!((of(&all[0]), of(&all[1])), (options.to_vec(), vec![1, 1, 1, 1, 0x94, 4, 0, 0]));
    }

    proptest! {
        #[test]
        fn fragments_fit_and_are_the_packet(
            content in prop::collection::vec(any::<u8>(), 1..3000),
            offset in 0u16..1000,
            more in any::<bool>(),
            most in 28usize..1500,
        ) {
            let flags = offset | if more { MORE_FRAGMENTS } else { 0 };
            let TooLong::Fragments(all) = handle(&packet(flags, 17, &[], &content), most) else { panic!("no fragments") };
            let mut at = usize::from(offset) * 8;
            let mut joined = Vec::new();
            for (i, fragment) in all.iter().enumerate() {
                prop_assert!(fragment.len() <= most);
                prop_assert_eq!(checksum(&fragment[..HEADER]), 0);
                prop_assert_eq!(usize::from(word(fragment, 2)), fragment.len());
                prop_assert_eq!(usize::from(word(fragment, 6) & OFFSET) * 8, at);
                prop_assert_eq!(word(fragment, 6) & MORE_FRAGMENTS != 0, more || i + 1 < all.len());
                at += fragment.len() - HEADER;
                joined.extend_from_slice(&fragment[HEADER..]);
            }
            prop_assert_eq!(joined, content);
        }

        #[test]
        fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), first in any::<Option<u8>>(), most in 0usize..2000) {
            let mut bytes = bytes;
            if let (Some(first), Some(byte)) = (first, bytes.first_mut()) {
                *byte = 0x40 | (first & 0xf);
            }
            let length = bytes.len() as u16;
            if bytes.len() > 3 {
                set(&mut bytes, 2, length);
            }
            let _ = handle(&bytes, most);
        }
    }
}
