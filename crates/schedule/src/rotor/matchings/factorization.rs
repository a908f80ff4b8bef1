//! Random factorizations of the complete graph, lifted from a smaller one.
//!
//! The table of all pairs, a rack with itself included, is cut into symmetric permutations. A lift
//! replaces each rack of a small graph by several, and each pair by all pairs between them.

use super::super::error::{RotorError, table};
use super::super::numbers::Numbers;
use super::{RackMatching, check_racks, circle};

/// How often every matching exchanges circuits with another one.
const SWEEPS: usize = 8;

/// The complete graph of the racks as as many disjoint matchings as there are racks, in random
/// order. All circuits go both ways. Every pair of racks meets in one of the matchings, and every
/// rack has no circuit in exactly one of them.
///
/// This is the construction of Opera (William Mellette et al., "Expanding across time to deliver
/// bandwidth efficiency and low latency", NSDI 2020): a factorization of a graph of
/// racks / `factor` vertices is lifted by `factor`. Then pairs of matchings exchange circuits at
/// random. The union of a few of the matchings is a good expander if the factor is at least 2. With
/// a factor of 1 all matchings are those of the circle method with other names, if the number of
/// racks minus 1 is a prime: their unions expand poorly.
///
/// # Errors
/// Fails if the number of racks is out of range, or if the factor does not divide it.
pub fn random_factorization(racks: u32, factor: u32, seed: u64) -> Result<Vec<RackMatching>, RotorError> {
    check_racks(u64::from(racks))?;
    if factor == 0 || !racks.is_multiple_of(factor) {
        return Err(RotorError::Factor { racks, factor });
    }
    table("matchings", &[u64::from(racks), u64::from(racks)], 2)?;
    let mut numbers = Numbers::new(seed);
    let mut all = lift((racks / factor) as usize, factor as usize, &mut numbers);
    for _ in 0..SWEEPS {
        numbers.shuffle(&mut all);
        for pair in all.chunks_exact_mut(2) {
            let (a, b) = pair.split_at_mut(1);
            exchange(&mut a[0], &mut b[0], &mut numbers);
        }
    }
    numbers.shuffle(&mut all);
    let names = numbers.order(racks as usize);
    Ok(all.iter().map(|to| RackMatching::of(renamed(to, &names))).collect())
}

/// Symmetric permutations that cover all ordered pairs, a vertex with itself included.
fn all_pairs(vertices: usize) -> Vec<Vec<u16>> {
    if vertices == 1 {
        return vec![vec![0]];
    }
    let mut all = circle(vertices);
    if vertices.is_multiple_of(2) {
        all.push((0..vertices as u16).collect());
    }
    all
}

/// Lifts the factorization of a graph: vertex a becomes the vertices from a * factor.
fn lift(vertices: usize, factor: usize, numbers: &mut Numbers) -> Vec<Vec<u16>> {
    let within = all_pairs(factor);
    let mut all = Vec::with_capacity(vertices * factor);
    for small in all_pairs(vertices) {
        let mut lifted = vec![vec![0u16; vertices * factor]; factor];
        for (a, b) in (0..vertices).map(|a| (a, usize::from(small[a]))).filter(|(a, b)| a <= b) {
            let order = numbers.order(factor);
            let (left, right) = (numbers.order(factor), numbers.order(factor));
            for (to, &turn) in lifted.iter_mut().zip(&order) {
                for x in 0..factor {
                    let (from, goal) = if a == b {
                        (left[x], left[usize::from(within[turn][x])])
                    } else {
                        (left[x], right[(x + turn) % factor])
                    };
                    to[a * factor + from] = (b * factor + goal) as u16;
                    to[b * factor + goal] = (a * factor + from) as u16;
                }
            }
        }
        all.append(&mut lifted);
    }
    all
}

/// Exchanges the circuits of two matchings on some of the components that they form together. Both
/// stay symmetric permutations, and cover the same pairs.
fn exchange(a: &mut [u16], b: &mut [u16], numbers: &mut Numbers) {
    let mut seen = vec![false; a.len()];
    for start in 0..a.len() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        let (mut component, mut done) = (vec![start], 0);
        while done < component.len() {
            for next in [a[component[done]], b[component[done]]].map(usize::from) {
                if !seen[next] {
                    seen[next] = true;
                    component.push(next);
                }
            }
            done += 1;
        }
        if numbers.below(2) == 0 {
            component.iter().for_each(|&v| std::mem::swap(&mut a[v], &mut b[v]));
        }
    }
}

/// The same matching of racks with other numbers.
fn renamed(to: &[u16], names: &[usize]) -> Vec<u16> {
    let mut renamed = vec![0; to.len()];
    for (v, &w) in to.iter().enumerate() {
        renamed[names[v]] = names[usize::from(w)] as u16;
    }
    renamed
}
