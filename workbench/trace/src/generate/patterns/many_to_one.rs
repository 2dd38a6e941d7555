// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All other ranks send to rank 0.

use mb_core::ParameterError;
use mb_core::mpi::ANY_SOURCE;

use super::TURN_NS;
use super::exchange::{Message, receive};
use super::parameters::{ORDER, bytes, choice, compute, count};
use crate::error::TraceError;
use crate::generate::{Pattern, Plan, RankOutput};
use crate::rank_builder::Request;

/// The pattern and its parameters.
pub(super) const PATTERN: Pattern = Pattern {
    name: "many_to_one",
    summary: "All other ranks send to rank 0, which posts its receives in advance, with named sources or MPI_ANY_SOURCE.",
    least_ranks: 2,
    parameters: &[
        count("messages", "100", (1, 1_000_000_000), "Messages per sender."),
        bytes("64"),
        compute("10000", "Computation of a sender before each message."),
        count("ahead", "0", (0, u32::MAX as u64), "Receives posted at a time; 0: one per sender."),
        choice("source", &["named", "any"], "named", "Whether receives name their source."),
        ORDER,
    ],
    prepare: |plan| {
        let turns = u64::from(plan.ranks - 1).div_ceil(plan.ahead()) * TURN_NS;
        let compute = plan.ns("compute");
        if compute < turns {
            let reason =
                format!("compute: {compute} ns found, expected at least {turns} ns for this number of receives");
            return Err(ParameterError::Contradiction(reason));
        }
        plan.check_time(plan.whole("messages"))
    },
    run,
};

impl Plan {
    /// Receives that rank 0 posts at a time.
    fn ahead(&self) -> u64 {
        match self.whole("ahead") {
            0 => u64::from(self.ranks - 1),
            ahead => ahead,
        }
    }
}

fn run(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    const TAG: i32 = 0;
    let (bytes, compute) = (plan.whole("bytes"), plan.ns("compute"));
    let program = &mut output.program;
    if program.rank() != 0 {
        for _ in 0..plan.whole("messages") {
            output.program.compute(compute);
            output.program.send(0, 0, TAG, bytes);
            output.pause()?;
        }
        return Ok(());
    }
    let any = plan.word("source") == "any";
    // One message per sender arrives in a round, in order of ranks.
    let senders: Vec<Message> = (1..plan.ranks).map(|sender| (sender, TAG, bytes)).collect();
    for round in 0..plan.whole("messages") {
        for (turn, due) in senders.chunks(plan.ahead() as usize).enumerate() {
            let mut posted = due.to_vec();
            let program = &mut output.program;
            let requests: Vec<Request> = if any {
                due.iter()
                    .map(|&(sender, tag, bytes)| {
                        program.irecv(0, ANY_SOURCE, tag, bytes).from(sender as i32, tag, bytes)
                    })
                    .collect()
            } else {
                plan.ordered(&mut posted, &[round, turn as u64]);
                posted.iter().map(|&message| receive(program, message)).collect()
            };
            if turn == 0 {
                // The senders compute until now.
                program.idle(((round + 1) * compute).saturating_sub(program.wall_ns()));
            }
            program.wait(&requests);
            program.idle(TURN_NS);
            output.pause()?;
        }
    }
    Ok(())
}
