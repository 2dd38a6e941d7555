// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a queue takes its fast paths.

/// Whether the table of a queue takes its fast paths, and up to which age an append does. `AGE_STEP` is the difference
/// of successive ages.
///
/// A queue that is filled and drained by fast paths, and that no search finds empty, does not notice that it has become
/// a short one. So 32 of 4096 successive appends take the slow path, which notices it: a phase of at most nine entries
/// begins and ends within 18 of them. The fast path compares an age in place of a flag, so that this costs it nothing.
/// Ages pass in the short queue too: the first append of a later table may be the only slow one for 4064 others.
pub(super) struct FastPaths<const AGE_STEP: u64> {
    are_on: bool,
    /// Appends of earlier ages take the fast path. 0 if it is off.
    append_until: u64,
    /// The age from which on appends take the slow path.
    slow_from: u64,
}

impl<const AGE_STEP: u64> FastPaths<AGE_STEP> {
    pub(super) const OFF: Self = Self { are_on: false, append_until: 0, slow_from: 0 };

    /// Whether searches take the fast path.
    #[inline(always)]
    pub(super) fn are_on(&self) -> bool {
        self.are_on
    }

    /// Whether an append of this age takes the fast path.
    #[inline(always)]
    pub(super) fn take_append(&self, age: u64) -> bool {
        age < self.append_until
    }

    /// Turns both fast paths on, that of appends up to the next check, or off.
    #[inline(always)]
    pub(super) fn turn(&mut self, on: bool) {
        (self.are_on, self.append_until) = (on, if on { self.slow_from } else { 0 });
    }

    /// An append of this age takes the slow path.
    #[inline(always)]
    pub(super) fn on_slow_append(&mut self, age: u64) {
        if age >= self.slow_from + 31 * AGE_STEP {
            self.slow_from = age + (4096 - 31) * AGE_STEP;
            self.turn(self.are_on);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_4096_successive_appends_32_take_the_slow_path() {
        let mut fast_paths = FastPaths::<8>::OFF;
        fast_paths.turn(true);
        // The first entries came while they were off.
        let first = 100_000;
        let mut slow = Vec::new();
        for number in 0..3 * 4096 {
            let age = (first + number) * 8;
            if !fast_paths.take_append(age) {
                fast_paths.on_slow_append(age);
                slow.push(number);
            }
        }
        let expected = [0].into_iter().chain(4096 - 31..=4096).chain(2 * 4096 - 31..=2 * 4096);
        assert_eq!(slow, expected.chain(3 * 4096 - 31..3 * 4096).collect::<Vec<u64>>());
        fast_paths.turn(false);
        assert!(!fast_paths.are_on() && !fast_paths.take_append(0));
    }
}
