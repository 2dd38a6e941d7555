// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages and exchanges that several patterns share.

use mb_core::parameters::Choice;
use mb_core::random::Random;

use crate::generate::program::{RankOutput, TURN_NS};
use crate::rank_builder::{RankBuilder, Request};
use crate::record::CollectiveOp;

/// Tag of the all-to-all exchange.
const TRANSPOSE_TAG: i32 = 100;

/// A message as seen by one of its ranks: peer, tag, bytes.
pub(super) type Message = (u32, i32, u64);

pub(super) fn receive(program: &mut RankBuilder, (peer, tag, bytes): Message) -> Request {
    program.irecv(0, peer as i32, tag, bytes)
}

pub(super) fn send(program: &mut RankBuilder, (peer, tag, bytes): Message) -> Request {
    program.isend(0, peer as i32, tag, bytes)
}

/// Posts the receives, starts the sends and waits for all of them.
pub(super) fn exchange(program: &mut RankBuilder, receives: &[Message], sends: &[Message]) {
    let mut requests: Vec<Request> = receives.iter().map(|&message| receive(program, message)).collect();
    requests.extend(sends.iter().map(|&message| send(program, message)));
    program.wait(&requests);
}

/// A barrier, and a delay after it: every later call has a later time than every earlier call of
/// any rank.
pub(super) fn barrier(program: &mut RankBuilder) {
    program.collective(CollectiveOp::Barrier, 0, -1, 0, 0, &[]);
    program.idle(TURN_NS);
}

/// Order in which receives are posted, against that in which their messages are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum PostOrder {
    /// The same.
    Arrival,
    /// The last message first.
    Reverse,
    /// By chance.
    Random,
}

impl PostOrder {
    /// Reorders `receives`, given in the order in which their messages are sent. Chance depends on `seed` and `path`.
    pub(super) fn arrange(self, seed: u64, receives: &mut [Message], path: &[u64]) {
        match self {
            Self::Arrival => {}
            Self::Reverse => receives.reverse(),
            Self::Random => Random::of(seed, path).shuffle(receives),
        }
    }
}

/// Every rank sends one message to each other rank.
pub(super) fn all_to_all(output: &mut RankOutput<'_>, order: PostOrder, step: u64, bytes: u64) {
    let (rank, ranks) = (output.program.rank(), output.ranks);
    // Rank r sends to r + 1 first, so its first message comes from r - 1.
    let mut receives: Vec<Message> = (1..ranks).map(|k| ((rank + (ranks - k)) % ranks, TRANSPOSE_TAG, bytes)).collect();
    order.arrange(output.seed, &mut receives, &[u64::from(rank), step]);
    let sends: Vec<Message> = (1..ranks)
        .map(|k| (((u64::from(rank) + u64::from(k)) % u64::from(ranks)) as u32, TRANSPOSE_TAG, bytes))
        .collect();
    exchange(&mut output.program, &receives, &sends);
}

/// One step in which each rank receives `depth` unexpected messages of `bytes` bytes from `sources` ranks, then as
/// many expected ones. `arrange` orders the receives of the unexpected messages (argument 0) and of
/// the expected ones (argument 1).
pub(super) fn both_queues(
    output: &mut RankOutput<'_>,
    bytes: u64,
    depth: u64,
    sources: u64,
    arrange: impl Fn(u64, &mut [Message]),
) {
    let ranks = u64::from(output.ranks);
    let program = &mut output.program;
    let rank = u64::from(program.rank());
    let sources = sources.min(ranks - 1);
    let message = |peer: u64, at: u64| ((peer % ranks) as u32, (at / sources) as i32, bytes);
    let sends: Vec<Message> = (0..depth).map(|at| message(rank + 1 + at % sources, at)).collect();
    let arriving: Vec<Message> = (0..depth).map(|at| message(rank + ranks - 1 - at % sources, at)).collect();
    for expected in [0, 1] {
        let mut receives = arriving.clone();
        arrange(expected, &mut receives);
        let mut requests = Vec::new();
        if expected == 1 {
            requests.extend(receives.iter().map(|&message| receive(program, message)));
            barrier(program);
        }
        requests.extend(sends.iter().map(|&message| send(program, message)));
        if expected == 0 {
            barrier(program);
            requests.extend(receives.iter().map(|&message| receive(program, message)));
        }
        program.idle(TURN_NS);
        program.wait(&requests);
    }
}
