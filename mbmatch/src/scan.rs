// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Comparison of 64 keys at once, with the vector unit of the processor.
//!
//! Safety: `unsafe` blocks call functions for a vector unit that was detected, or load from within
//! an array.

use crate::log::{Block, LANES, Log};
use crate::types::{Envelope, Pattern};

/// 64 envelopes, each with its owner, an index in a pool.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Heads {
    bits: [u64; 64],
    source: [u32; 64],
    owner: [u32; 64],
    used: u64,
}

impl Default for Heads {
    fn default() -> Self {
        Self { bits: [0; 64], source: [0; 64], owner: [0; 64], used: 0 }
    }
}

impl Block for Heads {
    type Key = Envelope;

    #[inline(always)]
    fn used(&self) -> u64 {
        self.used
    }

    #[inline(always)]
    fn used_mut(&mut self) -> &mut u64 {
        &mut self.used
    }

    #[inline(always)]
    fn key(&self, lane: u32) -> (Envelope, u32) {
        let at = lane as usize % 64;
        (Envelope { bits: self.bits[at], source: self.source[at] }, self.owner[at])
    }

    #[inline(always)]
    fn put(&mut self, lane: u32, (envelope, owner): (Envelope, u32)) {
        let at = lane as usize % 64;
        self.bits[at] = envelope.bits;
        self.source[at] = envelope.source;
        self.owner[at] = owner;
    }
}

/// The links of an element of a doubly linked list.
#[derive(Clone, Copy)]
pub(crate) struct LaneLinks {
    pub(crate) next: u32,
    pub(crate) prev: u32,
}

/// What the lanes store while no key is in them: links, and the head of a list, 12 bytes in two lines of the cache.
impl Heads {
    #[inline(always)]
    pub(crate) fn links(&self, lane: u32) -> LaneLinks {
        let links = self.bits[lane as usize % 64];
        LaneLinks { next: links as u32, prev: (links >> 32) as u32 }
    }

    #[inline(always)]
    pub(crate) fn set_links(&mut self, lane: u32, LaneLinks { next, prev }: LaneLinks) {
        self.bits[lane as usize % 64] = u64::from(prev) << 32 | u64::from(next);
    }

    #[inline(always)]
    pub(crate) fn head(&self, lane: u32) -> u32 {
        self.source[lane as usize % 64]
    }

    #[inline(always)]
    pub(crate) fn set_head(&mut self, lane: u32, head: u32) {
        self.source[lane as usize % 64] = head;
    }
}

/// 64 patterns, each with its owner, an index in a pool.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Patterns {
    bits: [u64; 64],
    ignore: [u64; 64],
    source: [u32; 64],
    owner: [u32; 64],
    /// A bit for each lane whose source is not compared.
    any: u64,
    used: u64,
}

impl Default for Patterns {
    fn default() -> Self {
        let (bits, source) = ([0; 64], [0; 64]);
        Self { bits, ignore: bits, source, owner: source, any: 0, used: 0 }
    }
}

impl Block for Patterns {
    type Key = Pattern;

    #[inline(always)]
    fn used(&self) -> u64 {
        self.used
    }

    #[inline(always)]
    fn used_mut(&mut self) -> &mut u64 {
        &mut self.used
    }

    #[inline(always)]
    fn key(&self, lane: u32) -> (Pattern, u32) {
        let at = lane as usize % 64;
        let source = (self.any >> lane & 1 == 0).then_some(self.source[at]);
        (Pattern { bits: self.bits[at], ignore: self.ignore[at], source }, self.owner[at])
    }

    #[inline(always)]
    fn put(&mut self, lane: u32, (pattern, owner): (Pattern, u32)) {
        let at = lane as usize % 64;
        self.bits[at] = pattern.bits;
        self.ignore[at] = pattern.ignore;
        self.source[at] = pattern.source.unwrap_or(0);
        self.owner[at] = owner;
        self.any = self.any & !(1 << at) | u64::from(pattern.source.is_none()) << at;
    }
}

/// The vector unit to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VectorUnit {
    /// None: keys are compared one by one.
    Scalar,
    /// x86-64: 256 bits.
    Avx2,
    /// x86-64: 512 bits.
    Avx512,
    /// aarch64: 128 bits.
    Neon,
}

impl VectorUnit {
    /// Every unit, the best last.
    const ALL: [Self; 4] = [Self::Scalar, Self::Avx2, Self::Avx512, Self::Neon];

    /// Whether this processor has it.
    fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
            #[cfg(all(target_arch = "aarch64", not(miri)))]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[allow(unreachable_patterns, reason = "there is a processor with every unit but one")]
            _ => false,
        }
    }

    /// Every unit that this processor has, the best last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|unit| unit.is_available()).collect()
    }

    /// The best vector unit of this processor.
    #[must_use]
    pub fn best() -> Self {
        Self::ALL.into_iter().rfind(|unit| unit.is_available()).unwrap_or(Self::Scalar)
    }

    /// This unit, or the best if it is `None` or this processor lacks it.
    pub(crate) fn or_best(unit: Option<Self>) -> Unit {
        Unit(unit.filter(|unit| unit.is_available()).unwrap_or_else(Self::best))
    }
}

/// A vector unit of this processor.
#[derive(Clone, Copy)]
pub(crate) struct Unit(VectorUnit);

/// A pattern in the form that is compared with envelopes.
#[derive(Clone, Copy)]
struct Wanted {
    bits: u64,
    compared: u64,
    source: Option<u32>,
}

/// The position of the oldest message in `log` that `pattern` accepts.
pub(crate) fn first_accepted(unit: Unit, log: &Log<Heads>, pattern: Pattern) -> Option<u32> {
    let wanted = Wanted { bits: pattern.bits, compared: !pattern.ignore, source: pattern.source };
    match unit.0 {
        // SAFETY: a `Unit` is a vector unit of this processor.
        #[cfg(target_arch = "x86_64")]
        VectorUnit::Avx512 => unsafe { x86::accepted_avx512(log, wanted) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        VectorUnit::Avx2 => unsafe { x86::accepted_avx2(log, wanted) },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        VectorUnit::Neon => unsafe { arm::accepted_neon(log, wanted) },
        _ => first(log, |block| accepted(block, wanted)),
    }
}

/// The position of the oldest receive in `log` that accepts `envelope`.
pub(crate) fn first_accepting(unit: Unit, log: &Log<Patterns>, envelope: Envelope) -> Option<u32> {
    match unit.0 {
        // SAFETY: a `Unit` is a vector unit of this processor.
        #[cfg(target_arch = "x86_64")]
        VectorUnit::Avx512 => unsafe { x86::accepting_avx512(log, envelope) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        VectorUnit::Avx2 => unsafe { x86::accepting_avx2(log, envelope) },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        VectorUnit::Neon => unsafe { arm::accepting_neon(log, envelope) },
        _ => first(log, |block| accepting(block, envelope)),
    }
}

/// The position of the oldest hit. `hits` returns a bit for each lane of a block, unused lanes
/// included.
#[inline(always)]
fn first<B: Block>(log: &Log<B>, hits: impl Fn(&B) -> u64) -> Option<u32> {
    let (parts, blocks) = log.parts();
    for part in parts {
        for &at in part {
            let block = &*blocks[at as usize];
            let hits = hits(block) & block.used();
            if hits != 0 {
                return Some(at * LANES + hits.trailing_zeros());
            }
        }
    }
    None
}

/// The hits of the lanes of a block in `GROUPS` groups. `compare` returns those of a group, at their lanes. Of a block
/// whose first quarter alone is used, only that is compared: most scans are short.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn in_groups<const GROUPS: usize>(used: u64, compare: impl Fn(usize) -> u64) -> u64 {
    // Two loops of constant length, which the compiler unrolls.
    if used >> (LANES / 4) == 0 {
        (0..GROUPS / 4).fold(0, |hits, group| hits | compare(group))
    } else {
        (0..GROUPS).fold(0, |hits, group| hits | compare(group))
    }
}

fn accepted(block: &Heads, wanted: Wanted) -> u64 {
    let mut hits = 0;
    for lane in 0..64 {
        let fits = (block.bits[lane] ^ wanted.bits) & wanted.compared == 0
            && wanted.source.is_none_or(|source| source == block.source[lane]);
        hits |= u64::from(fits) << lane;
    }
    hits
}

fn accepting(block: &Patterns, envelope: Envelope) -> u64 {
    let (mut bits, mut source) = (0, block.any);
    for lane in 0..64 {
        bits |= u64::from((block.bits[lane] ^ envelope.bits) & !block.ignore[lane] == 0) << lane;
        source |= u64::from(block.source[lane] == envelope.source) << lane;
    }
    bits & source
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::cast_ptr_alignment, reason = "the loads are unaligned ones")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_and_si256, _mm256_andnot_si256, _mm256_castsi256_pd, _mm256_castsi256_ps,
        _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_movemask_pd, _mm256_movemask_ps,
        _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_xor_si256, _mm512_andnot_si512,
        _mm512_cmpeq_epi32_mask, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_testn_epi64_mask,
        _mm512_xor_si512,
    };

    use super::{Envelope, Heads, Log, Patterns, Wanted, first, in_groups};

    #[target_feature(enable = "avx512f")]
    pub(super) fn accepted_avx512(log: &Log<Heads>, wanted: Wanted) -> Option<u32> {
        let (bits, compared) = (_mm512_set1_epi64(wanted.bits as i64), _mm512_set1_epi64(wanted.compared as i64));
        first(log, |block| {
            let compare = |group: usize| {
                // SAFETY: the last group ends where the array does.
                let keys = unsafe { _mm512_loadu_si512(block.bits.as_ptr().add(8 * group).cast::<__m512i>()) };
                let fits = _mm512_testn_epi64_mask(_mm512_xor_si512(keys, bits), compared);
                u64::from(fits) << (8 * group)
            };
            let hits = in_groups::<8>(block.used, compare);
            match wanted.source {
                Some(source) if hits != 0 => hits & equal_avx512(&block.source, source),
                _ => hits,
            }
        })
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn accepting_avx512(log: &Log<Patterns>, envelope: Envelope) -> Option<u32> {
        let bits = _mm512_set1_epi64(envelope.bits as i64);
        first(log, |block| {
            let compare = |group: usize| {
                // SAFETY: the last group ends where the arrays do.
                let (keys, ignore) = unsafe {
                    (
                        _mm512_loadu_si512(block.bits.as_ptr().add(8 * group).cast::<__m512i>()),
                        _mm512_loadu_si512(block.ignore.as_ptr().add(8 * group).cast::<__m512i>()),
                    )
                };
                let other = _mm512_andnot_si512(ignore, _mm512_xor_si512(keys, bits));
                u64::from(_mm512_testn_epi64_mask(other, other)) << (8 * group)
            };
            let hits = in_groups::<8>(block.used, compare);
            if hits == 0 { 0 } else { hits & (equal_avx512(&block.source, envelope.source) | block.any) }
        })
    }

    /// A bit for each of `sources` that is `source`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn equal_avx512(sources: &[u32; 64], source: u32) -> u64 {
        let wanted = _mm512_set1_epi32(source as i32);
        let mut hits = 0;
        for group in 0..4 {
            // SAFETY: the last group ends where the array does.
            let keys = unsafe { _mm512_loadu_si512(sources.as_ptr().add(16 * group).cast::<__m512i>()) };
            hits |= u64::from(_mm512_cmpeq_epi32_mask(keys, wanted)) << (16 * group);
        }
        hits
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn accepted_avx2(log: &Log<Heads>, wanted: Wanted) -> Option<u32> {
        let (bits, compared) = (_mm256_set1_epi64x(wanted.bits as i64), _mm256_set1_epi64x(wanted.compared as i64));
        first(log, |block| {
            let compare = |group: usize| {
                // SAFETY: the last group ends where the array does.
                let keys = unsafe { _mm256_loadu_si256(block.bits.as_ptr().add(4 * group).cast::<__m256i>()) };
                let other = _mm256_and_si256(_mm256_xor_si256(keys, bits), compared);
                zeros_avx2(other) << (4 * group)
            };
            let hits = in_groups::<16>(block.used, compare);
            match wanted.source {
                Some(source) if hits != 0 => hits & equal_avx2(&block.source, source),
                _ => hits,
            }
        })
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn accepting_avx2(log: &Log<Patterns>, envelope: Envelope) -> Option<u32> {
        let bits = _mm256_set1_epi64x(envelope.bits as i64);
        first(log, |block| {
            let compare = |group: usize| {
                // SAFETY: the last group ends where the arrays do.
                let (keys, ignore) = unsafe {
                    (
                        _mm256_loadu_si256(block.bits.as_ptr().add(4 * group).cast::<__m256i>()),
                        _mm256_loadu_si256(block.ignore.as_ptr().add(4 * group).cast::<__m256i>()),
                    )
                };
                zeros_avx2(_mm256_andnot_si256(ignore, _mm256_xor_si256(keys, bits))) << (4 * group)
            };
            let hits = in_groups::<16>(block.used, compare);
            if hits == 0 { 0 } else { hits & (equal_avx2(&block.source, envelope.source) | block.any) }
        })
    }

    /// A bit for each of four words that is zero.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn zeros_avx2(words: __m256i) -> u64 {
        let zeros = _mm256_cmpeq_epi64(words, _mm256_setzero_si256());
        _mm256_movemask_pd(_mm256_castsi256_pd(zeros)) as u64
    }

    /// A bit for each of `sources` that is `source`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal_avx2(sources: &[u32; 64], source: u32) -> u64 {
        let wanted = _mm256_set1_epi32(source as i32);
        let mut hits = 0;
        for group in 0..8 {
            // SAFETY: as in `equal_avx512`.
            let keys = unsafe { _mm256_loadu_si256(sources.as_ptr().add(8 * group).cast::<__m256i>()) };
            let equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(keys, wanted));
            hits |= (_mm256_movemask_ps(equal) as u64) << (8 * group);
        }
        hits
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::{
        uint16x4_t, uint32x2_t, vaddv_u8, vand_u8, vandq_u64, vbicq_u64, vceqq_u32, vceqzq_u64, vcombine_u16,
        vcombine_u32, vcreate_u8, vdupq_n_u32, vdupq_n_u64, veorq_u64, vld1q_u32, vld1q_u64, vmovn_u16, vmovn_u32,
        vmovn_u64,
    };

    use super::{Envelope, Heads, Log, Patterns, Wanted, first};

    #[target_feature(enable = "neon")]
    pub(super) fn accepted_neon(log: &Log<Heads>, wanted: Wanted) -> Option<u32> {
        let (bits, compared) = (vdupq_n_u64(wanted.bits), vdupq_n_u64(wanted.compared));
        first(log, |block| {
            let hits = words(|pair| {
                // SAFETY: the last pair ends where the array does.
                let keys = unsafe { vld1q_u64(block.bits.as_ptr().add(2 * pair)) };
                vmovn_u64(vceqzq_u64(vandq_u64(veorq_u64(keys, bits), compared)))
            });
            match wanted.source {
                Some(source) if hits != 0 => hits & equal(&block.source, source),
                _ => hits,
            }
        })
    }

    #[target_feature(enable = "neon")]
    pub(super) fn accepting_neon(log: &Log<Patterns>, envelope: Envelope) -> Option<u32> {
        let bits = vdupq_n_u64(envelope.bits);
        first(log, |block| {
            let hits = words(|pair| {
                // SAFETY: the last pair ends where the arrays do.
                let (keys, ignore) = unsafe {
                    (vld1q_u64(block.bits.as_ptr().add(2 * pair)), vld1q_u64(block.ignore.as_ptr().add(2 * pair)))
                };
                vmovn_u64(vceqzq_u64(vbicq_u64(veorq_u64(keys, bits), ignore)))
            });
            if hits == 0 { 0 } else { hits & (equal(&block.source, envelope.source) | block.any) }
        })
    }

    /// A bit for each of 64 lanes. `pair` returns two lanes, each all ones or zero.
    #[inline]
    #[target_feature(enable = "neon")]
    fn words(pair: impl Fn(usize) -> uint32x2_t) -> u64 {
        let mut hits = 0;
        for group in 0..8 {
            let four = |at: usize| vmovn_u32(vcombine_u32(pair(4 * group + at), pair(4 * group + at + 1)));
            hits |= byte(four(0), four(2)) << (8 * group);
        }
        hits
    }

    /// A bit for each of `sources` that is `source`.
    #[inline]
    #[target_feature(enable = "neon")]
    fn equal(sources: &[u32; 64], source: u32) -> u64 {
        let wanted = vdupq_n_u32(source);
        let mut hits = 0;
        for group in 0..8 {
            let four = |at: usize| {
                // SAFETY: the last four of the last group end where the array does.
                let keys = unsafe { vld1q_u32(sources.as_ptr().add(8 * group + at)) };
                vmovn_u32(vceqq_u32(keys, wanted))
            };
            hits |= byte(four(0), four(4)) << (8 * group);
        }
        hits
    }

    /// A bit for each of eight lanes that are all ones or zero.
    #[inline]
    #[target_feature(enable = "neon")]
    fn byte(low: uint16x4_t, high: uint16x4_t) -> u64 {
        // One bit of each of eight bytes, added up.
        let bytes = vand_u8(vmovn_u16(vcombine_u16(low, high)), vcreate_u8(0x8040_2010_0804_0201));
        u64::from(vaddv_u8(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::Heap;

    /// Each lane of a block differs from the wanted key in one bit or in the source, or equals it.
    #[test]
    fn every_vector_unit_hits_the_lanes_that_scalar_code_hits() {
        let (near, source) = (0x0123_4567_89ab_cdef_u64, 0x8000_0001_u32);
        for unit in VectorUnit::available().into_iter().map(Unit) {
            for hit in 0..64 {
                let mut heads: Log<Heads> = Log::new(Heap::GLOBAL);
                let mut patterns: Log<Patterns> = Log::new(Heap::GLOBAL);
                for lane in 0..64 {
                    assert!(heads.make_room().is_ok() && patterns.make_room().is_ok());
                    let (bits, other) = if lane % 2 == 0 { (1 << lane, 0) } else { (0, 1 << (lane % 32)) };
                    let (bits, other) = if lane == hit { (0, 0) } else { (bits, other) };
                    let envelope = Envelope { bits: near ^ bits, source: source ^ other };
                    heads.push((envelope, lane));
                    patterns.push((Pattern::exactly(envelope), lane));
                }
                let sought = Envelope { bits: near, source };
                let exactly = Pattern::exactly(sought);
                let any_source = Pattern { source: None, ..exactly };
                let masked = Pattern { ignore: 1 << (hit ^ 1 | 1), bits: !near, ..exactly };
                for pattern in [exactly, any_source, masked, Pattern { ignore: u64::MAX, ..exactly }] {
                    let keys = (0..64).map(|lane| heads.parts().1[0].key(lane).0);
                    let expected = keys.into_iter().position(|envelope| pattern.accepts(&envelope));
                    assert_eq!(first_accepted(unit, &heads, pattern), expected.map(|lane| lane as u32));
                }
                assert_eq!(first_accepting(unit, &patterns, sought), Some(hit));
                // Older than the hit: a receive of any source, one that ignores a bit, and a
                // removed one.
                if hit > 3 {
                    for (lane, bit) in [(1, 0), (2, 1 << 2), (3, 0)] {
                        let source = (lane != 1).then_some(source ^ u32::from(lane == 2) << 9);
                        patterns.block(lane).put(lane, (Pattern { bits: near ^ 4, ignore: bit, source }, lane));
                    }
                    patterns.remove(0);
                    assert_eq!(first_accepting(unit, &patterns, sought), Some(hit));
                    let any = Envelope { bits: near ^ 4, source: 77 };
                    assert_eq!(first_accepting(unit, &patterns, any), Some(1));
                    let masked = Envelope { bits: near, source: source ^ 1 << 9 };
                    assert_eq!(first_accepting(unit, &patterns, masked), Some(2));
                }
            }
        }
    }
}
