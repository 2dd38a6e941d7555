// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs of ranks whose messages are searched to a set depth, in the PRQ or in the UMQ.

use mb_core::parameters::Choice;
use mb_core::{ParameterError, Parameters, Picos};

use super::exchange::{Message, receive};
use crate::error::TraceError;
use crate::generate::program::{
    CommunicationPattern, PatternParameters, PatternProgram, RankOutput, TURN_NS, check_time, whole_ns,
};
use crate::rank_builder::{RankBuilder, Request, Status};

/// A queue of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Queue {
    /// The posted receives (PRQ).
    Posted,
    /// The unexpected messages (UMQ).
    Unexpected,
}

/// Parameters of the pattern `depth`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
pub struct DepthParameters {
    /// Which queue is searched.
    #[parameter]
    pub queue: Queue,
    /// Other entries in the queue.
    #[parameter(range = 0..=1_000_000)]
    pub depth: u64,
    /// Share of them in front of the matching entry, percent.
    #[parameter(range = 0..=100)]
    pub position: u64,
    /// Steps of the program.
    #[parameter(range = 1..=1_000_000_000)]
    pub iterations: u64,
    /// Size of a message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes: u64,
    /// Computation before each step.
    #[parameter(range = 0..=1_000_000_000_000)]
    pub compute: Picos,
}

impl Default for DepthParameters {
    fn default() -> Self {
        Self {
            queue: Queue::Posted,
            depth: 64,
            position: 100,
            iterations: 100,
            bytes: 8,
            compute: Picos::from_ns(10_000),
        }
    }
}

impl PatternParameters for DepthParameters {
    const PATTERN: CommunicationPattern = CommunicationPattern::of::<Self>(
        "depth",
        "Pairs of ranks: a message whose search visits a set number of entries of the PRQ or the UMQ, and a reply.",
        2,
    );
}

impl PatternProgram for DepthParameters {
    fn prepare(&self, _ranks: u32) -> Result<(), ParameterError> {
        check_time(self.compute, self.iterations)
    }

    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
        const SOUGHT: i32 = 0;
        const TURN: i32 = 1;
        const REPLY: i32 = 2;
        const OTHERS: i32 = 3;
        let rank = output.program.rank();
        let peer = rank ^ 1;
        if peer >= output.ranks {
            return Ok(());
        }
        let bytes = self.bytes;
        let others: Vec<Message> = (0..self.depth).map(|other| (peer, OTHERS + other as i32, bytes)).collect();
        let before = others.len() * self.position as usize / 100;
        let list = [&others[..before], &[(peer, SOUGHT, bytes)], &others[before..]].concat();
        let send = |program: &mut RankBuilder, tag: i32, bytes: u64| program.send(0, peer as i32, tag, bytes);
        let recv = |program: &mut RankBuilder, tag: i32, bytes: u64| {
            program.recv(0, peer as i32, tag, bytes, Status { source: peer as i32, tag, bytes });
        };
        for _ in 0..self.iterations {
            let program = &mut output.program;
            program.compute(whole_ns(self.compute));
            match (self.queue, rank % 2) {
                // The sender waits until all receives are posted, sends the matching message, and the
                // others after the reply.
                (Queue::Posted, 0) => {
                    recv(program, TURN, 0);
                    program.idle(TURN_NS);
                    send(program, SOUGHT, bytes);
                    recv(program, REPLY, 0);
                    program.idle(3 * TURN_NS);
                    for &(_, tag, bytes) in &others {
                        send(program, tag, bytes);
                    }
                    program.idle(TURN_NS);
                }
                (Queue::Posted, _) => {
                    let requests: Vec<Request> = list.iter().map(|&message| receive(program, message)).collect();
                    send(program, TURN, 0);
                    program.idle(2 * TURN_NS);
                    program.wait(&requests[before..=before]);
                    send(program, REPLY, 0);
                    program.idle(3 * TURN_NS);
                    program.wait(&[&requests[..before], &requests[before + 1..]].concat());
                }
                // The sender fills the queue, then sends a message that the receiver waits for.
                (Queue::Unexpected, 0) => {
                    program.idle(TURN_NS);
                    for &(_, tag, bytes) in &list {
                        send(program, tag, bytes);
                    }
                    send(program, TURN, 0);
                    recv(program, REPLY, 0);
                    program.idle(4 * TURN_NS);
                }
                (Queue::Unexpected, _) => {
                    recv(program, TURN, 0);
                    program.idle(3 * TURN_NS);
                    recv(program, SOUGHT, bytes);
                    send(program, REPLY, 0);
                    for &(_, tag, bytes) in &others {
                        recv(program, tag, bytes);
                    }
                    program.idle(2 * TURN_NS);
                }
            }
            output.pause()?;
        }
        Ok(())
    }
}
