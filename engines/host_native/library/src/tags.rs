// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tags of a line of the hash table, compared all at once: SSE2 on x86-64, two words elsewhere.
//!
//! Tags are read and written as a whole, so that a search right after an insertion is served by the store buffer, and
//! so that the address of the write does not wait for what is compared.

/// Lanes of a line.
pub(crate) const LANES: u32 = 12;
/// Repeats a byte.
const LOW: u64 = 0x0101_0101_0101_0101;

#[cfg(target_arch = "x86_64")]
pub(crate) use sse2::Tags;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use words::Tags;

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "the intrinsics are safe where the compiler knows that SSE2 is there")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_movemask_epi8, _mm_or_si128,
        _mm_set_epi64x, _mm_set1_epi64x, _mm_unpackhi_epi64,
    };

    use super::{LANES, LOW};

    /// Twelve tags, 0 where a lane is free, and above them a count of 32 bits.
    #[derive(Clone, Copy)]
    pub(crate) struct Tags(__m128i);

    /// All ones in one lane.
    static LANE: [[i64; 2]; LANES as usize] = {
        let mut lanes = [[0; 2]; LANES as usize];
        let mut lane = 0;
        while lane < LANES as usize {
            lanes[lane][lane / 8] = 0xff << (lane % 8 * 8);
            lane += 1;
        }
        lanes
    };

    #[inline(always)]
    fn vector([low, high]: [i64; 2]) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_set_epi64x(high, low) }
    }

    #[inline(always)]
    fn everywhere(tag: u8) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_set1_epi64x((u64::from(tag) * LOW) as i64) }
    }

    impl Default for Tags {
        fn default() -> Self {
            Self(vector([0, 0]))
        }
    }

    impl Tags {
        /// A bit for each lane whose tag is `tag`.
        #[inline(always)]
        pub(crate) fn equal(self, tag: u8) -> u32 {
            // SAFETY: SSE2 is part of x86-64.
            let hits = unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, everywhere(tag))) };
            hits as u32 & ((1 << LANES) - 1)
        }

        /// With `tag` in a lane that was free.
        #[inline(always)]
        pub(crate) fn with(self, lane: u32, tag: u8) -> Self {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Self(_mm_or_si128(self.0, _mm_and_si128(vector(LANE[lane as usize]), everywhere(tag)))) }
        }

        /// With a lane free.
        #[inline(always)]
        pub(crate) fn without(self, lane: u32) -> Self {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Self(_mm_andnot_si128(vector(LANE[lane as usize]), self.0)) }
        }

        /// The count.
        #[inline(always)]
        pub(crate) fn count(self) -> u32 {
            // SAFETY: SSE2 is part of x86-64.
            let high = unsafe { _mm_cvtsi128_si64(_mm_unpackhi_epi64(self.0, self.0)) };
            (high as u64 >> 32) as u32
        }

        /// With the count changed by `by`.
        pub(crate) fn counted(self, by: i32) -> Self {
            // SAFETY: SSE2 is part of x86-64.
            let (low, high) =
                unsafe { (_mm_cvtsi128_si64(self.0), _mm_cvtsi128_si64(_mm_unpackhi_epi64(self.0, self.0))) };
            Self(vector([low, high.wrapping_add(i64::from(by) << 32)]))
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod words {
    use super::LOW;

    const HIGH: u64 = LOW << 7;

    /// Twelve tags, 0 where a lane is free, and above them a count of 32 bits.
    #[derive(Clone, Copy, Default)]
    pub(crate) struct Tags([u64; 2]);

    impl Tags {
        /// A bit for each lane whose tag is `tag`.
        #[inline(always)]
        pub(crate) fn equal(self, tag: u8) -> u32 {
            let zeros = |word: u64| {
                let other = word ^ (u64::from(tag) * LOW);
                let zeros = !(((other & !HIGH) + !HIGH) | other | !HIGH);
                // From the top bit of each byte to a bit in order.
                ((zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
            };
            zeros(self.0[0]) | (zeros(self.0[1]) & 0xf) << 8
        }

        /// With `tag` in a lane that was free.
        #[inline(always)]
        pub(crate) fn with(mut self, lane: u32, tag: u8) -> Self {
            self.0[lane as usize / 8] |= u64::from(tag) << (lane % 8 * 8);
            self
        }

        /// With a lane free.
        #[inline(always)]
        pub(crate) fn without(mut self, lane: u32) -> Self {
            self.0[lane as usize / 8] &= !(0xff << (lane % 8 * 8));
            self
        }

        /// The count.
        #[inline(always)]
        pub(crate) fn count(self) -> u32 {
            (self.0[1] >> 32) as u32
        }

        /// With the count changed by `by`.
        pub(crate) fn counted(mut self, by: i32) -> Self {
            self.0[1] = self.0[1].wrapping_add((i64::from(by) << 32) as u64);
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_vectors_do_the_same() {
        let mut model = [0_u8; LANES as usize];
        let (mut tags, mut words, mut count) = (Tags::default(), words::Tags::default(), 0_i32);
        for step in 0..400_u32 {
            let (lane, tag) = (step * 7 % LANES, (step * 37 % 255 + 1) as u8);
            if model[lane as usize] == 0 {
                (tags, words, model[lane as usize]) = (tags.with(lane, tag), words.with(lane, tag), tag);
            } else {
                (tags, words, model[lane as usize]) = (tags.without(lane), words.without(lane), 0);
            }
            if step % 5 == 0 {
                let by = if step % 3 == 0 && count > 0 { -1 } else { 1 };
                (tags, words, count) = (tags.counted(by), words.counted(by), count + by);
            }
            for tag in [0, 1, 0x7f, 0x80, 0xff, tag, tag ^ 1, tag ^ 0x80, model[3], model[11]] {
                let expected: u32 = (0..LANES).map(|lane| u32::from(model[lane as usize] == tag) << lane).sum();
                assert_eq!((tags.equal(tag), words.equal(tag)), (expected, expected), "{model:?}, {tag}");
            }
            assert_eq!((tags.count(), words.count()), (count as u32, count as u32));
        }
    }
}
