// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fault for the test that the comparison of messages notices it.

use mb_processor::linux::Files;
use mb_processor::rv64::sv39;
use mb_processor::system::MemorySystem;

use super::memory::ChipMemory;
use super::{Execution, Machine};

impl<F: Files> Machine<F> {
    /// Inverts a byte of the send buffer of a message that is under way; returns whether there is one. A fault for the
    /// test that the comparison of messages notices it.
    ///
    /// # Panics
    /// The machine has no time, or the sender has not written its buffer.
    #[doc(hidden)]
    pub fn damage_message(&mut self) -> bool {
        let Execution::Timed(timed) = &mut self.execution else { panic!("the machine has no time") };
        damage(&mut timed.memory)
    }
}

fn damage(memory: &mut ChipMemory) -> bool {
    let Some(send) = memory.messages().under_way() else { return false };
    let send = memory.moped().nodes[usize::from(send.node)].table.get(send.entry.into());
    let send = send.expect("the send").descriptor;
    let word = |address| memory.bytes(address, 8)?.first_chunk().map(|word| u64::from_le_bytes(*word));
    let leaf = sv39::walk(send.root / sv39::PAGE_BYTES, send.address, word).expect("a page");
    let address = leaf.physical(send.address);
    let old = memory.bytes(address, 1).expect("memory")[0];
    memory.set_bytes(address, &[!old])
}
