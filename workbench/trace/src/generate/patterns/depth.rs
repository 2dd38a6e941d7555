// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs of ranks whose messages are searched to a set depth, in the PRQ or in the UMQ.

use super::TURN_NS;
use super::exchange::{Message, receive};
use super::parameters::{bytes, choice, compute, count, iterations};
use crate::error::TraceError;
use crate::generate::{Pattern, Plan, RankOutput};
use crate::rank_builder::{RankBuilder, Request, Status};

/// The pattern and its parameters.
pub(super) const PATTERN: Pattern = Pattern {
    name: "depth",
    summary: "Pairs of ranks: a message whose search visits a set number of entries of the PRQ or the UMQ, and a reply.",
    least_ranks: 2,
    parameters: &[
        choice("queue", &["posted", "unexpected"], "posted", "Which queue is searched."),
        count("depth", "64", (0, 1_000_000), "Other entries in the queue."),
        count("position", "100", (0, 100), "Share of them in front of the matching entry, percent."),
        iterations("100"),
        bytes("8"),
        compute("10000", "Computation before each step."),
    ],
    prepare: |plan| plan.check_time(plan.whole("iterations")),
    run,
};

fn run(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    const SOUGHT: i32 = 0;
    const TURN: i32 = 1;
    const REPLY: i32 = 2;
    const OTHERS: i32 = 3;
    let rank = output.program.rank();
    let peer = rank ^ 1;
    if peer >= plan.ranks {
        return Ok(());
    }
    let bytes = plan.whole("bytes");
    let others: Vec<Message> = (0..plan.whole("depth")).map(|other| (peer, OTHERS + other as i32, bytes)).collect();
    let before = others.len() * plan.whole("position") as usize / 100;
    let list = [&others[..before], &[(peer, SOUGHT, bytes)], &others[before..]].concat();
    let send = |program: &mut RankBuilder, tag: i32, bytes: u64| program.send(0, peer as i32, tag, bytes);
    let recv = |program: &mut RankBuilder, tag: i32, bytes: u64| {
        program.recv(0, peer as i32, tag, bytes, Status { source: peer as i32, tag, bytes });
    };
    for _ in 0..plan.whole("iterations") {
        let program = &mut output.program;
        program.compute(plan.ns("compute"));
        match (plan.word("queue"), rank % 2) {
            // The sender waits until all receives are posted, sends the matching message, and the
            // others after the reply.
            ("posted", 0) => {
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
            ("posted", _) => {
                let requests: Vec<Request> = list.iter().map(|&message| receive(program, message)).collect();
                send(program, TURN, 0);
                program.idle(2 * TURN_NS);
                program.wait(&requests[before..=before]);
                send(program, REPLY, 0);
                program.idle(3 * TURN_NS);
                program.wait(&[&requests[..before], &requests[before + 1..]].concat());
            }
            // The sender fills the queue, then sends a message that the receiver waits for.
            (_, 0) => {
                program.idle(TURN_NS);
                for &(_, tag, bytes) in &list {
                    send(program, tag, bytes);
                }
                send(program, TURN, 0);
                recv(program, REPLY, 0);
                program.idle(4 * TURN_NS);
            }
            (_, _) => {
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
