// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets on the network.

use mb_core::matching::{Envelope, Initiator};
use mb_core::mpi::{self, Context, Traffic};
use mb_core::time::Picos;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacketKind {
    /// Header and data of a message.
    Eager,
    /// Header of a rendezvous message, whose data follows the reply. `token`: the sender's slot.
    RequestToSend,
    /// Reply: the receiver is ready. `token`: the sender's slot; `tag`: the receiver's message
    /// slot; `bytes`: the time in ps that matching took.
    ClearToSend,
    /// Data of a rendezvous message. `token`: the receiver's message slot.
    Data,
    /// Data of partitions. `token`: their slot in [`SharedSink`].
    Partitions,
}

/// A packet on the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When its first byte reaches the receiver's NIC.
    pub(crate) at: Picos,
    pub(crate) bytes: u64,
    /// World rank of the sender.
    pub(crate) source: u32,
    pub(super) comm: u32,
    pub(super) tag: u32,
    pub(super) token: u32,
    pub(super) kind: PacketKind,
    pub(super) traffic: Traffic,
}

impl Packet {
    pub(super) fn envelope(&self) -> Envelope {
        mpi::envelope(Context::new(self.comm), self.traffic, Initiator(self.source), self.tag)
    }

    /// Order of arrival: by time, then source. A reply precedes other packets that its sender
    /// injects at the same time.
    #[inline]
    pub(super) fn key(&self) -> u128 {
        u128::from(self.at.0) << 64
            | u128::from(u64::from(self.source) << 1 | u64::from(self.kind != PacketKind::ClearToSend))
    }
}
