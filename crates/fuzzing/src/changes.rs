//! Changes of inputs: bytes, numbers, pieces of other inputs, and words and lines of texts.
//!
//! One input gets a few changes, mostly one or two, so that much of it stays valid.

use crate::numbers::{ODD, Random};
use crate::pool::Pool;
use crate::target::Format;
use crate::tokens;

/// Words of TOML, CSV and JSON that stand for values at their limits.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "0.0",
    "-0.0",
    "0.5",
    "1.0",
    "1e-9",
    "1e308",
    "-1e308",
    "5e-324",
    "inf",
    "nan",
    "-inf",
    "127",
    "128",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "true",
    "false",
    "\"\"",
    "[]",
    "{}",
    "null",
    "\"0 s\"",
    "\"1 ps\"",
    "\"-1 ps\"",
    "\"1 us\"",
    "\"1 ms\"",
    "\"1 s\"",
    "\"53 d\"",
    "\"106 d\"",
    "\"1 h\"",
    "\"9223372036854775807 ps\"",
    "\"0 b/s\"",
    "\"1 b/s\"",
    "\"1 kb/s\"",
    "\"10 Gb/s\"",
    "\"1000 Tb/s\"",
    "\"18446744073709551615 b/s\"",
    "\"0 B\"",
    "\"1 B\"",
    "\"29 B\"",
    "\"1500 B\"",
    "\"1 MB\"",
    "\"1000 TB\"",
    "\"18446744073709551615 B\"",
    "1979-05-27",
    "\u{feff}",
    "\u{0}",
    "é",
    "\r\n",
    "\t",
    ",",
    "#",
    ".",
];
/// Starts of values that others can be in.
const NESTED: &[&str] = &["[", "{", "(", "\"", "a.", "a={", "[{a=", "{\"a\":", "[[a]]\n", "[a.b]\n"];
const SIZES: [usize; 4] = [1, 2, 4, 8];

/// Changes a copy of one input of the pool.
pub(crate) fn changed(pool: &Pool, format: Format, words: &[String], random: &mut Random) -> Vec<u8> {
    let mut input = pool.pick(random).to_vec();
    let mut more = 2;
    // One change, two with a chance of a half, three with a quarter, ...
    loop {
        match format {
            Format::Text if random.below(8) < 6 => change_text(&mut input, pool, words, random),
            _ => change_bytes(&mut input, pool, random),
        }
        more += 1;
        if random.once_in(2) || more > 10 {
            break;
        }
    }
    input.truncate(pool.longest());
    input
}

/// Replaces what is at `from` until `to`, as far as it is there.
fn replace(input: &mut Vec<u8>, from: usize, to: usize, by: &[u8]) {
    let (from, to) = (from.min(input.len()), to.min(input.len()));
    input.splice(from..to.max(from), by.iter().copied());
}

fn change_bytes(input: &mut Vec<u8>, pool: &Pool, random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(18) {
        0..4 => input.get_mut(at).into_iter().for_each(|b| *b ^= 1 << random.below(8)),
        4..8 => input.get_mut(at).into_iter().for_each(|b| *b = random.any() as u8),
        8..12 => {
            let size = *random.of(&SIZES).unwrap_or(&1);
            let number = if random.once_in(2) { *random.of(&ODD).unwrap_or(&0) } else { random.any() };
            let mut bytes = number.to_be_bytes()[8 - size..].to_vec();
            if random.once_in(2) {
                bytes.reverse();
            }
            if at + size <= input.len() {
                input[at..at + size].copy_from_slice(&bytes);
            }
        }
        12 => {
            let n = 1 + random.below(40);
            replace(input, at, at + n, &[]);
        }
        13 => {
            let bytes: Vec<u8> = (0..1 + random.below(40)).map(|_| random.any() as u8).collect();
            replace(input, at, at, &bytes);
        }
        14 => {
            let piece = input[at..(at + 1 + random.below(200)).min(input.len())].to_vec();
            replace(input, at, at, &piece);
        }
        15 => input.truncate(at),
        // A number that grows or shrinks by a little.
        16 => {
            let by = 1 + random.below(16) as u8;
            let down = random.once_in(2);
            if let Some(byte) = input.get_mut(at) {
                *byte = if down { byte.wrapping_sub(by) } else { byte.wrapping_add(by) };
            }
        }
        _ => {
            let other = pool.pick(random);
            let from = random.below(other.len() + 1);
            let piece = &other[from..(from + 1 + random.below(200)).min(other.len())];
            let over = random.once_in(2);
            replace(input, at, if over { at + piece.len() } else { at }, piece);
        }
    }
}

/// A word: of the format, of the parser, a random number, or of another input.
fn word(pool: &Pool, words: &[String], random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 | 1 => WORDS[random.below(WORDS.len())].into(),
        2..5 => random.of(words).map_or_else(|| b"0".to_vec(), |w| w.clone().into_bytes()),
        5 => (random.any() >> random.below(64)).to_string().into_bytes(),
        _ => {
            let other = pool.pick(random);
            tokens::at(other, random.below(other.len() + 1)).map_or_else(Vec::new, |t| other[t].to_vec())
        }
    }
}

fn change_text(input: &mut Vec<u8>, pool: &Pool, words: &[String], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(16) {
        0..6 => {
            let Some(token) = tokens::at(input, at) else { return };
            let word = word(pool, words, random);
            replace(input, token.start, token.end, &word);
        }
        // A number becomes another number, also inside a quantity.
        6..9 => {
            let mut from = at;
            while let Some(token) = tokens::at(input, from) {
                let quote = usize::from(matches!(input[token.start], b'"' | b'\''));
                if tokens::is_number(&input[token.start + quote..token.end]) {
                    let digits = input[token.start + quote..token.end].iter();
                    let end = token.start + quote + digits.take_while(|b| b.is_ascii_digit() || **b == b'-').count();
                    let number = match random.below(3) {
                        0 => *random.of(&ODD).unwrap_or(&0),
                        1 => random.below(100) as u64,
                        _ => random.any() >> random.below(64),
                    };
                    replace(input, token.start + quote, end, number.to_string().as_bytes());
                    break;
                }
                from = token.end;
            }
        }
        9 => {
            let line = tokens::line(input, at);
            replace(input, line.start, line.end, &[]);
        }
        10 => {
            let line = input[tokens::line(input, at)].to_vec();
            let to = tokens::line(input, random.below(input.len() + 1)).start;
            replace(input, to, to, &line);
        }
        11..13 => {
            let other = pool.pick(random);
            let line = &other[tokens::line(other, random.below(other.len() + 1))];
            let to = tokens::line(input, at).start;
            let end = if random.once_in(2) { tokens::line(input, at).end } else { to };
            replace(input, to, end, line);
        }
        13 => {
            let word = word(pool, words, random);
            replace(input, at, at, &word);
        }
        14 => {
            let Some(token) = tokens::at(input, at) else { return };
            replace(input, token.start, token.end, &[]);
        }
        // Values inside each other, which recursive parsers meet.
        _ => {
            let open = NESTED[random.below(NESTED.len())];
            let times = if random.once_in(8) { 1 + random.below(20_000) } else { 1 + random.below(4) };
            replace(input, at, at, open.repeat(times).as_bytes());
        }
    }
}
