// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All other ranks send to rank 0.

use mb_core::mpi::ANY_SOURCE;
use mb_core::parameters::Choice;
use mb_core::{ParameterError, Parameters, Picos};

use super::exchange::{Message, PostOrder, receive};
use crate::error::TraceError;
use crate::generate::program::{
    CommunicationPattern, PatternParameters, PatternProgram, RankOutput, TURN_NS, check_time, whole_ns,
};
use crate::rank_builder::Request;

/// The source that a receive names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ReceiveSource {
    /// A rank.
    Named,
    /// `MPI_ANY_SOURCE`.
    Any,
}

/// Parameters of the pattern `many_to_one`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
pub struct ManyToOneParameters {
    /// Messages per sender.
    #[parameter(range = 1..=1_000_000_000)]
    pub messages: u64,
    /// Size of a message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes: u64,
    /// Computation of a sender before each message.
    #[parameter(range = 0..=1_000_000_000_000)]
    pub compute: Picos,
    /// Receives posted at a time; 0: one per sender.
    #[parameter(range = 0..=u32::MAX as u64)]
    pub ahead: u64,
    /// Whether receives name their source.
    #[parameter]
    pub source: ReceiveSource,
    /// Order in which receives are posted, against that in which their messages are sent.
    #[parameter]
    pub order: PostOrder,
}

impl Default for ManyToOneParameters {
    fn default() -> Self {
        Self {
            messages: 100,
            bytes: 64,
            compute: Picos::from_ns(10_000),
            ahead: 0,
            source: ReceiveSource::Named,
            order: PostOrder::Arrival,
        }
    }
}

impl PatternParameters for ManyToOneParameters {
    const PATTERN: CommunicationPattern = CommunicationPattern::of::<Self>(
        "many_to_one",
        "All other ranks send to rank 0, which posts its receives in advance, with named sources or MPI_ANY_SOURCE.",
        2,
    );
}

impl ManyToOneParameters {
    /// Receives that rank 0 posts at a time.
    fn at_a_time(&self, ranks: u32) -> u64 {
        match self.ahead {
            0 => u64::from(ranks - 1),
            ahead => ahead,
        }
    }
}

impl PatternProgram for ManyToOneParameters {
    fn prepare(&self, ranks: u32) -> Result<(), ParameterError> {
        let turns = u64::from(ranks - 1).div_ceil(self.at_a_time(ranks)) * TURN_NS;
        let compute = whole_ns(self.compute);
        if compute < turns {
            let reason =
                format!("compute: found {compute} ns, expected at least {turns} ns for this number of receives");
            return Err(ParameterError::Contradiction(reason));
        }
        check_time(self.compute, self.messages)
    }

    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
        const TAG: i32 = 0;
        let (bytes, compute) = (self.bytes, whole_ns(self.compute));
        let program = &mut output.program;
        if program.rank() != 0 {
            for _ in 0..self.messages {
                output.program.compute(compute);
                output.program.send(0, 0, TAG, bytes);
                output.pause()?;
            }
            return Ok(());
        }
        let any = self.source == ReceiveSource::Any;
        // One message per sender arrives in a round, in order of ranks.
        let senders: Vec<Message> = (1..output.ranks).map(|sender| (sender, TAG, bytes)).collect();
        for round in 0..self.messages {
            for (turn, due) in senders.chunks(self.at_a_time(output.ranks) as usize).enumerate() {
                let mut posted = due.to_vec();
                let program = &mut output.program;
                let requests: Vec<Request> = if any {
                    due.iter()
                        .map(|&(sender, tag, bytes)| {
                            program.irecv(0, ANY_SOURCE, tag, bytes).from(sender as i32, tag, bytes)
                        })
                        .collect()
                } else {
                    self.order.arrange(output.seed, &mut posted, &[round, turn as u64]);
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
}
