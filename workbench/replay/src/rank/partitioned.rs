// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Partitioned communication, a model: an MPI library may do it otherwise.
//!
//! The k-th init of a send and the k-th init of a receive with the same ranks, tag and communicator
//! belong together (`spec/trace.md`, T-23), so no start of them is matched: the engine sees nothing.
//! `MPI_Pready` passes its partitions to the NIC as one message without header, for the send overhead.
//! Their data goes into the buffer of the receive. The request of the send is complete when all of its
//! data has left the NIC, that of the receive when all has arrived and it was started. Not modelled: a
//! handshake at each start, and messages that a library splits partitions into or matches after all.

use mb_core::mpi::Traffic;
use mb_core::time::Picos;
use mb_trace::Record;

use super::partitions::{Arrived, Pair, Partitions, Receiving, Sending, Waiting};
use super::{Activity, CompletionTarget, Finished, Packet, PacketKind, Rank, SharedSink, World, after, times};
use crate::requests::RequestState;

impl Rank<'_> {
    /// Starts a partitioned send, whose request is pending.
    pub(super) fn start_partitioned_send(&mut self, world: &World, now: Picos, record: &Record) {
        let view = world.communicators.view(self.id, record.comm);
        let send = Sending {
            destination: world.communicators.world_rank(view.remote, record.peer as u32),
            pair: (self.id, view.comm, record.tag as u32, record.aux as u32),
            bytes: record.bytes,
            partitions: record.partitions(),
            left: record.partitions(),
            sent: now,
        };
        self.totals.partitioned += 1;
        self.requests.insert(record.request, RequestState::Pending);
        self.partitioned.sends.insert(record.request, send);
    }

    pub(super) fn start_partitioned_receive(
        &mut self,
        world: &World,
        now: Picos,
        record: &Record,
        out: &mut SharedSink,
    ) {
        let view = world.communicators.view(self.id, record.comm);
        let source = world.communicators.world_rank(view.remote, record.peer as u32);
        let pair = (source, view.comm, record.tag as u32, record.aux as u32);
        self.requests.insert(record.request, RequestState::Pending);
        self.partitioned.receives.insert(record.request, pair);
        let receiving = Receiving { request: record.request, partitions: record.partitions(), since: now };
        self.partitioned.channels.entry(pair).or_default().receiving.push_back(receiving);
        self.advance_pair(world, pair, out);
    }

    /// `MPI_Pready`, or an `MPI_Parrived` that found its partition.
    pub(super) fn partition(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut SharedSink) {
        let (first, count) = (record.aux as u32, record.partitions());
        if let Some(send) = self.partitioned.sends.get_mut(&record.request) {
            let (destination, pair, of) = (send.destination, send.pair, send.partitions);
            let byte = |part: u64| (u128::from(send.bytes) * u128::from(part) / u128::from(of.max(1))) as u64;
            let bytes = byte(u64::from(first) + u64::from(count)) - byte(u64::from(first));
            send.left = send.left.saturating_sub(count);
            let clock = now + world.times.send_overhead;
            let occupied = times(world.times.per_byte, bytes);
            let inject = self.occupy_sender(world, destination, clock, occupied);
            let slot = out.partitions.insert(Partitions { pair, first, count, of });
            let packet = Packet {
                at: inject,
                bytes,
                source: self.id,
                comm: pair.1,
                tag: pair.2,
                token: slot as u32,
                kind: PacketKind::Partitions,
                traffic: Traffic::User,
            };
            self.launch(world, destination, inject, packet, out);
            let local = destination == self.id;
            let sent = after(inject, if local { Picos::ZERO } else { occupied });
            let send = self.partitioned.sends.get_mut(&record.request).expect("it is still there");
            send.sent = send.sent.max(sent);
            if send.left == 0 {
                let at = send.sent;
                self.partitioned.sends.remove(&record.request);
                let finished = Finished { at, ideal: at, overhead: false };
                self.complete(world, CompletionTarget::Request(record.request), finished, out);
            }
            self.resume(thread, clock);
        } else if let Some(&pair) = self.partitioned.receives.get(&record.request) {
            self.threads[usize::from(thread)].activity = Activity::AwaitingPartitions;
            self.partitioned.waiting.push(Waiting { thread, pair, request: record.request, first, count });
            self.wake_for_partitions();
        } else {
            // The whole message is there, or its last byte comes in a moment.
            let clock = match self.requests.get_mut(record.request).map(|entry| entry.state) {
                Some(RequestState::Finished { at, .. }) => now.max(at),
                _ => now,
            };
            let polls = self.threads[usize::from(thread)].polls;
            self.resume(thread, polls.map_or(clock, |polls| polls.notice(clock)));
        }
    }

    /// Partitions whose last byte arrives at `at`.
    pub(super) fn partitions_arrive(&mut self, world: &World, at: Picos, slot: u32, out: &mut SharedSink) {
        let Partitions { pair, first, count, of } = out.partitions.remove(slot as usize);
        let channel = self.partitioned.channels.entry(pair).or_default();
        // The partitions of a start are ready before the next one begins.
        if channel.arrived.back().is_none_or(|newest| newest.missing == 0) {
            channel.arrived.push_back(Arrived { of, missing: of, runs: Vec::new() });
        }
        let newest = channel.arrived.back_mut().expect("it was pushed");
        newest.missing = newest.missing.saturating_sub(count);
        newest.runs.push((first, count, at));
        self.wake_for_partitions();
        self.advance_pair(world, pair, out);
    }

    /// Completes the receives of `pair` whose message is there.
    fn advance_pair(&mut self, world: &World, pair: Pair, out: &mut SharedSink) {
        while let Some(channel) = self.partitioned.channels.get_mut(&pair)
            && let (Some(arrived), Some(&receiving)) = (channel.arrived.front(), channel.receiving.front())
            && arrived.missing == 0
        {
            let last = arrived.runs.iter().map(|&(_, _, at)| at).max().unwrap_or(Picos::ZERO);
            channel.arrived.pop_front();
            channel.receiving.pop_front();
            self.partitioned.receives.remove(&receiving.request);
            let at = receiving.since.max(last);
            let finished = Finished { at, ideal: at, overhead: true };
            self.complete(world, CompletionTarget::Request(receiving.request), finished, out);
        }
    }

    /// Lets threads go on whose partitions have arrived.
    fn wake_for_partitions(&mut self) {
        let mut at = 0;
        while let Some(&Waiting { thread, pair, request, first, count }) = self.partitioned.waiting.get(at) {
            let channel = self.partitioned.channels.get(&pair);
            let order = channel.and_then(|each| each.receiving.iter().position(|each| each.request == request));
            let there = channel.zip(order).and_then(|(channel, order)| {
                channel.arrived.get(order)?.when(first, count, channel.receiving[order].partitions)
            });
            let Some(there) = there else {
                at += 1;
                continue;
            };
            self.partitioned.waiting.swap_remove(at);
            let state = &self.threads[usize::from(thread)];
            let clock = state.begin.max(there);
            let clock = state.polls.map_or(clock, |polls| polls.notice(clock));
            self.resume(thread, clock);
        }
    }
}
