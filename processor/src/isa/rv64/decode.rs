// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The RV64 decoder, called once for each address at which an instruction can begin.

use super::compressed;
use super::entry::Entry;
use super::operation::Operation;

impl Operation {
    /// Decodes the instruction at `pc` whose bytes, in little-endian order, are `word`. An
    /// instruction of 16 bits uses only the low half. Every word decodes; an illegal one has the
    /// effect [`Effect::Illegal`](super::Effect::Illegal).
    #[must_use]
    pub fn decode(word: u32, pc: u64) -> Self {
        let compressed = word & 3 != 3;
        let (bits, bytes) = if compressed { (word & 0xffff, 2) } else { (word, 4) };
        let full = if compressed { compressed::expand(bits as u16) } else { Some(word) };
        let known = full.and_then(|word| Some((Entry::of(word)?, word)));
        let (entry, word) = known.unwrap_or((&Entry::ILLEGAL, bits));
        let mut op = (entry.operation)(word, pc);
        op.instruction.bytes = bytes;
        op
    }
}
