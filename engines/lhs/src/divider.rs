// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The receive message dividing controller: which part of a message goes where, word by word.
//!
//! ```text
//!   length <= entry     [ header ...  payload ]                         LH buffer
//!   length >  entry     [ header ...  head    | pointer ]               LH buffer
//!                                             \-> [ rest ............ ] large memory
//!   no free slot        [ header ................. payload ]            large memory
//! ```
//! It takes a word of eight bytes in each cycle and reads the message's length where the size
//! information location register says. Words before the pointer's place belong to the LH buffer
//! whatever the length; the pointer is written in the cycle of the first word of the rest, when the
//! LH buffer has nothing else to take. A last cycle makes the entry valid. Source: `tanabe2013`,
//! section 3; the width and the cycles are ours.

use mb_core::{Cycles, ParameterError};

use crate::parameters::{ENVELOPE, LhsParameters};

/// Bytes that the controller takes in a cycle.
pub const WORD: u64 = 8;
/// Registers that software writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DividerRegisters {
    /// Size information location register: byte of the header at which the length begins, 32 bits, low byte first.
    pub size_location: u64,
    /// Entry length register: bytes of an LH buffer entry.
    pub entry: u64,
    /// Bytes of the pointer at an entry's end; none if the slot's number says where the rest is.
    pub pointer: u64,
}

/// Where a word goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Store {
    /// Into the entry.
    Head,
    /// Into the large memory.
    Large,
    /// Into the large memory, and the pointer to it into the entry.
    LargeWithPointer,
}

/// The controller at work on one message.
#[derive(Clone, Copy, Debug)]
pub struct Divider {
    registers: DividerRegisters,
    has_slot: bool,
    bytes: u64,
    length: u64,
}

impl DividerRegisters {
    /// The registers that `parameters` describe.
    ///
    /// # Errors
    /// [`ParameterError::Contradiction`] when the length is not in one word of the envelope, or an
    /// entry is not a power of two of bytes that holds an envelope beside the pointer.
    pub fn new(parameters: &LhsParameters) -> Result<Self, ParameterError> {
        let &LhsParameters { size_location, entry, pointer, .. } = parameters;
        let refuse = |why: String| Err(ParameterError::Contradiction(why));
        if size_location % 4 > 0 {
            return refuse(format!(
                "`size_location` is {size_location}, but four bytes of length begin at a multiple of four"
            ));
        }
        if !entry.is_power_of_two() || entry < ENVELOPE + pointer || pointer % WORD > 0 {
            return refuse(format!(
                "`entry` is {entry} and `pointer` {pointer}, but an entry is a power of two of bytes that holds an envelope of \
                 {ENVELOPE} and a pointer of whole words"
            ));
        }
        Ok(Self { size_location, entry, pointer })
    }

    /// Bytes of a message of `length` bytes that are in its entry.
    #[must_use]
    pub const fn head(&self, length: u64) -> u64 {
        if length <= self.entry { length } else { self.entry - self.pointer }
    }

    /// From the first word of a message of `length` bytes to its valid entry.
    #[must_use]
    pub const fn visible_after(&self, length: u64, has_slot: bool) -> Cycles {
        let words = if has_slot { self.head(length).div_ceil(WORD) } else { length.div_ceil(WORD) };
        let pointer = has_slot && length > self.entry && self.pointer > 0;
        Cycles(words + pointer as u64 + 1)
    }

    /// How long a message of `length` bytes occupies the controller.
    #[must_use]
    pub const fn occupied(&self, length: u64) -> Cycles {
        Cycles(length.div_ceil(WORD) + 1)
    }
}

impl Divider {
    /// Before the first word of a message, which has a free slot or has none.
    #[must_use]
    pub const fn new(registers: DividerRegisters, has_slot: bool) -> Self {
        Self { registers, has_slot, bytes: 0, length: 0 }
    }

    /// Takes the next word.
    pub fn word(&mut self, word: u64) -> Store {
        let DividerRegisters { size_location, entry, pointer } = self.registers;
        let at = self.bytes;
        self.bytes += WORD;
        if size_location / WORD * WORD == at {
            self.length = word >> (8 * (size_location - at)) & 0xffff_ffff;
        }
        if !self.has_slot {
            Store::Large
        } else if at < entry - pointer || (at < entry && self.length <= entry) {
            Store::Head
        } else if at == entry - pointer && pointer > 0 {
            Store::LargeWithPointer
        } else {
            Store::Large
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divides a message word by word: bytes in the entry, whether there is a pointer, bytes in
    /// large memory, and the cycle after the last word or pointer that the entry waits for.
    fn divided(registers: DividerRegisters, length: u64, has_slot: bool) -> (u64, bool, u64, u64) {
        let mut divider = Divider::new(registers, has_slot);
        let (mut head, mut pointer, mut large, mut visible) = (0, false, 0, 0);
        for at in (0..length).step_by(WORD as usize) {
            let size_is_here = registers.size_location / WORD * WORD == at;
            let junk = 0xdead_beef_dead_beef;
            let shift = 8 * (registers.size_location % WORD);
            let word = if size_is_here { junk & !(0xffff_ffff << shift) | length << shift } else { junk };
            let bytes = WORD.min(length - at);
            let cycle = at / WORD + 1;
            match divider.word(word) {
                Store::Head => (head, visible) = (head + bytes, cycle),
                Store::Large => large += bytes,
                Store::LargeWithPointer => (large, pointer, visible) = (large + bytes, true, cycle),
            }
            if !has_slot {
                visible = cycle;
            }
        }
        (head, pointer, large, visible)
    }

    #[test]
    fn short_messages_stay_whole_and_long_ones_are_divided() {
        for (entry, pointer) in [(16, 0), (32, 8), (64, 8), (128, 8), (128, 16)] {
            for size_location in [0, 4, 8, 12] {
                let registers = DividerRegisters { size_location, entry, pointer };
                for length in 16..=300 {
                    let (head, has_pointer, large, visible) = divided(registers, length, true);
                    let is_divided = length > entry;
                    assert_eq!(
                        head,
                        if is_divided { entry - pointer } else { length },
                        "{registers:?}, {length} bytes"
                    );
                    assert_eq!((has_pointer, head + large), (is_divided && pointer > 0, length));
                    assert_eq!(head, registers.head(length));
                    assert_eq!(
                        Cycles(visible + 1),
                        registers.visible_after(length, true),
                        "{registers:?}, {length} bytes"
                    );
                    assert_eq!(divided(registers, length, false), (0, false, length, length.div_ceil(8)));
                    assert_eq!(registers.visible_after(length, false), registers.occupied(length));
                }
            }
        }
    }
}
