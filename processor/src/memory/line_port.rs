// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The port of a device beside the private L2 of each node, which moves whole lines through the
//! coherence protocol.

/// Length of a line in bytes.
pub const LINE_BYTES: usize = 64;

/// The bytes of a line.
pub type LineData = [u8; LINE_BYTES];

/// The port of a device beside the L2 of each node, and messages between these devices.
///
/// Copies in the L1 caches of the node are moved to the L2 before the device operates on a line. A
/// line that the device owns is logically in the L2. An access of the core, or a request of another
/// node for the right to read or write, takes it away: the device gets [`LineEvent::Revoked`], and a
/// `Write` or `Release` that it requests afterwards, or that is on its way, has no effect and no
/// event. Copies of other devices ([`LineRequestKind::Copy`] without a change of states) do not.
pub trait LinePort {
    /// False: not accepted (at most 2 coherence operations in a cycle and node), no effect; repeat
    /// it later. The events of a request have its tag.
    fn line_request(&mut self, cycle: u64, node: usize, request: LineRequest) -> bool;

    /// A message of `bytes` to the device of another node through the switch; order is kept for each
    /// pair of nodes.
    fn send(&mut self, cycle: u64, from: usize, to: usize, bytes: u32, tag: u64);

    /// Appends the events of a node up to the last `advance`, in order of time.
    fn line_events(&mut self, node: usize, events: &mut Vec<LineEvent>);
}

/// A coherence operation of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRequest {
    /// Comes back in the event.
    pub tag: u32,
    /// The physical address of the line, a multiple of [`LINE_BYTES`].
    pub line: u64,
    /// The operation.
    pub kind: LineRequestKind,
}

/// The kind of a coherence operation of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineRequestKind {
    /// The bytes of a line to send: `M_GETS`, or the copy transaction, by configuration.
    Copy,
    /// The exclusive right to a line to receive into, with its bytes: `M_GETX`.
    Own,
    /// The exclusive right without the bytes, which become zero; only for a line that will be
    /// overwritten completely.
    OwnWithoutData,
    /// An owned line goes into the local L2 in state M with these bytes.
    Write(LineData),
    /// An owned line goes into the local L2 unchanged.
    Release,
    /// A coherent read of a line of a page table, which stays in the local L2.
    Read,
}

/// A notification of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineEvent {
    /// The answer to `Copy` and `Read`.
    Data {
        /// The tag of the request.
        tag: u32,
        /// The cycle of the event.
        at: u64,
        /// The bytes.
        data: LineData,
    },
    /// The device owns a line.
    Owned {
        /// The tag of the request.
        tag: u32,
        /// The cycle of the event.
        at: u64,
        /// The bytes; `None` after `OwnWithoutData`.
        data: Option<LineData>,
    },
    /// A `Write` or `Release` is performed.
    Written {
        /// The tag of the request.
        tag: u32,
        /// The cycle of the event.
        at: u64,
    },
    /// The device does not own the line any more.
    Revoked {
        /// The address of the line.
        line: u64,
        /// The cycle of the event.
        at: u64,
    },
    /// A message of the device of another node.
    Message {
        /// The sender.
        from: usize,
        /// As in [`LinePort::send`].
        tag: u64,
        /// The cycle of the event.
        at: u64,
    },
}
