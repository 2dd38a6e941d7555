// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A design that serves one operation after the other.

use mb_cam_list::{CamList, CamListCounters};
use mb_catalog::CatalogError;
use mb_core::engine::{Accepted, Completion, Engine, Shortcuts};
use mb_core::{Clock, Cycles, Envelope, Initiator, MsgId, Op, ParameterSet, Pattern, Picos, ProbeId, RecvId};
use mb_kit::Server;

use crate::error::MeasureError;

/// The effect of one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) completion: Completion,
    /// Cycles from its offer to its answer.
    pub(super) cycles: u64,
    /// Cycles of its search.
    pub(super) searching: u64,
    /// Of these, cycles of steps along the lists.
    pub(super) walking: u64,
}

/// An engine, one operation after the other.
pub(super) struct SingleOperations {
    pub(super) engine: Server<CamList>,
    clock: Clock,
    pub(super) now: Picos,
    done: Vec<Completion>,
}

impl SingleOperations {
    pub(super) fn new(settings: &ParameterSet) -> Result<Self, MeasureError> {
        let engine = CamList::new(&settings.typed())
            .map_err(|error| CatalogError::Parameter { engine: mb_cam_list::ENTRY.card.name, error })?;
        Ok(Self {
            engine: Server::new(engine),
            clock: settings.typed::<mb_cam_list::CamListParameters>().clock,
            now: Picos::ZERO,
            done: Vec::new(),
        })
    }

    /// With receives 1 to `length`, each with a tag of its own.
    pub(super) fn with_receives(settings: &ParameterSet, length: u64) -> Result<Self, MeasureError> {
        let mut run = Self::new(settings)?;
        for number in 1..=length {
            run.serve(post(number))?;
        }
        Ok(run)
    }

    /// With messages 1 to `length`, each with a tag of its own.
    pub(super) fn with_messages(settings: &ParameterSet, length: u64) -> Result<Self, MeasureError> {
        let mut run = Self::new(settings)?;
        for number in 1..=length {
            run.serve(arrive(number))?;
        }
        Ok(run)
    }

    pub(super) fn counters(&self) -> CamListCounters {
        self.engine.service().counters()
    }

    /// Hands over operations at once; their answers, in order.
    pub(super) fn serve_at_once(&mut self, ops: &[Op]) -> Result<Vec<Completion>, MeasureError> {
        self.done.clear();
        for &op in ops {
            if self.engine.offer(self.now, op) != Accepted::Yes {
                return Err(MeasureError::NotSeen("room in the input queue"));
            }
        }
        self.engine.settle(&mut self.done);
        let last = self.done.last().map_or(self.now, |completion| completion.at);
        // An edge of the clock after everything that follows an answer.
        self.now = self.clock.span(Cycles(self.cycle(last) + 1000));
        Ok(self.done.clone())
    }

    /// Hands over an operation when all before it are over.
    pub(super) fn serve(&mut self, op: Op) -> Result<Served, MeasureError> {
        let (before, offered) = (self.counters(), self.now);
        let answers = self.serve_at_once(&[op])?;
        let after = self.counters();
        let completion = *answers.first().ok_or(MeasureError::NotSeen("the answer"))?;
        Ok(Served {
            completion,
            cycles: self.cycle(completion.at) - self.cycle(offered),
            searching: after.searching - before.searching,
            walking: after.walking - before.walking,
        })
    }

    pub(super) fn cycle(&self, time: Picos) -> u64 {
        self.clock.edge_at_or_after(time).0
    }
}

fn envelope(bits: u64) -> Envelope {
    Envelope { bits, initiator: Initiator(0) }
}

pub(super) fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

pub(super) fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

pub(super) fn probe(number: u64) -> Op {
    Op::Probe { probe: ProbeId(0), pattern: Pattern::exactly(envelope(number)) }
}
