// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When the messages of a rank arrive, as far as the recorded times tell.

/// A message sent to the rank.
#[derive(Clone, Copy, Default)]
pub(super) struct Message {
    pub(super) comm: u32,
    pub(super) source: u32,
    pub(super) tag: i32,
    /// Time of the send, ns since 1970 or since the start of a generated trace.
    pub(super) sent_ns: u64,
    /// Index of the send in the records of its rank. Orders messages of one source, and messages
    /// sent at the same time.
    pub(super) order: u64,
}

/// Communicator, source (world rank) and tag: messages of one channel are received in the order in
/// which they were sent.
pub(super) type Channel = (u32, u32, i32);

impl Message {
    pub(super) fn channel(&self) -> Channel {
        (self.comm, self.source, self.tag)
    }
}

/// Time in ns, and the index of the record in front of which the event happens.
pub(super) type EventTime = (u64, u64);

/// Later than every event.
pub(super) const NEVER: EventTime = (u64::MAX, u64::MAX);

/// Arrival times in order, each with the index of its message. `done(i)` is the time at which the
/// call returned that completed the receive of message `i`.
///
/// A message arrives when it was sent, but no later than its receive was completed, and no later
/// than any later message of the same source.
pub(super) fn arrivals(messages: &[Message], done: impl Fn(usize) -> EventTime) -> Vec<(EventTime, u32)> {
    let mut by_source: Vec<u32> = (0..messages.len() as u32).collect();
    by_source.sort_unstable_by_key(|&at| (messages[at as usize].source, messages[at as usize].order));
    let mut times: Vec<(EventTime, u32)> = Vec::with_capacity(messages.len());
    let mut successor: Option<(u32, EventTime)> = None;
    for &at in by_source.iter().rev() {
        let message = &messages[at as usize];
        let mut time = (message.sent_ns, u64::MAX).min(done(at as usize));
        if let Some((source, limit)) = successor
            && source == message.source
        {
            time = time.min(limit);
        }
        successor = Some((message.source, time));
        times.push((time, at));
    }
    times.sort_unstable_by_key(|&(time, at)| {
        let message = &messages[at as usize];
        (time, message.order, message.source)
    });
    times
}
