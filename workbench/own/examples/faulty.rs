// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A shared library with planted faults, one for each word of its parameter: what tests must see refused.

use mb_core::engine::{EngineCard, EngineEntry, Placement, Preset, Timing, keeps_order};
use mb_core::parameters::Choice;
use mb_core::{
    Accepted, Completion, Delays, Engine, Measurable, Op, Outcome, Parameters, Picos, QueueLengths, Shortcuts,
};
use mb_kit::MatchLists;

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
enum Fault {
    /// Nothing.
    None,
    /// Two messages in a row are exchanged.
    WrongOrder,
    /// The answer to a cancel never comes.
    LostMessage,
    /// The event behind a completion is in the past.
    TimeGoesBackwards,
    /// Completions come before their offer.
    BeforeTheOffer,
    /// The fourth operation panics.
    Panic,
    /// The second operation is refused for ever.
    EndlessBusy,
    /// There is always another event.
    EndlessEvents,
    /// Every completion is the same.
    Repeats,
    /// The time of service grows from engine to engine.
    Random,
    /// Deep lists are searched from the other end: no case is so long.
    WrongWhenDeep,
    /// No entry is said to be visited.
    NoVisits,
    /// Answers take no time.
    NoTime,
    /// Answers take a picosecond.
    TooFast,
}

/// Parameters of the engine.
#[derive(Clone, Copy, Debug, Parameters)]
struct FaultyParameters {
    /// What is wrong.
    #[parameter]
    fault: Fault,
}

mb_plugin::export_engine!(EngineEntry {
    card: EngineCard {
        name: "faulty",
        summary: "A list with planted faults",
        reference: "none",
        timing: Timing::Simulated,
    },
    parameters: FaultyParameters::SPECS,
    presets: &[Preset {
        name: "sound",
        toml: r#"fault = { value = "none", source = "assumed", note = "tests choose others" }"#,
        on_request: false,
        representative: true,
    }],
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Faulty::new(set.typed::<FaultyParameters>().fault))),
});

struct Faulty {
    fault: Fault,
    lists: MatchLists,
    operations: u64,
    free_at: Picos,
    pending: Vec<Completion>,
    /// Time of an operation.
    each: Picos,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        // The addresses of two living engines differ.
        let somewhere = Box::new(0_u8);
        let odd = std::ptr::from_ref(&*somewhere).addr() as u64 % 1000;
        let each = match fault {
            Fault::Random => odd + u64::from(std::process::id()),
            Fault::NoTime => 0,
            Fault::TooFast => 1,
            _ => 1000,
        };
        if fault == Fault::Random {
            Box::leak(somewhere);
        }
        let (lists, pending) = (MatchLists::new(), Vec::new());
        Self { fault, lists, operations: 0, free_at: Picos::ZERO, pending, each: Picos(each) }
    }
}

impl Engine for Faulty {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        if self.fault == Fault::EndlessBusy && self.operations > 0 {
            return Accepted::Busy { retry_at: now + Picos(1) };
        }
        self.operations += 1;
        assert!(self.fault != Fault::Panic || self.operations < 4, "operation {} fails", self.operations);
        let deep = self.lists.queue_lengths().posted > 40;
        let (mut outcome, visits) = self.lists.apply(op);
        let visits = if self.fault == Fault::NoVisits { 0 } else { visits };
        let before = self.pending.last().map(|last| last.outcome);
        match (self.fault, outcome, before) {
            (Fault::WrongOrder, Outcome::Matched(recv, msg), _) if msg.0 > 1 => {
                outcome = Outcome::Matched(recv, mb_core::MsgId(msg.0 - 1));
            }
            (Fault::WrongWhenDeep, Outcome::Matched(recv, msg), _) if deep => {
                outcome = Outcome::Matched(mb_core::RecvId(recv.0 + 1), msg);
            }
            (Fault::Repeats, _, Some(before)) => outcome = before,
            (Fault::LostMessage, Outcome::Cancelled(_) | Outcome::NotCancelled(_), _) => return Accepted::Yes,
            _ => {}
        }
        let at = self.free_at.max(now) + self.each;
        self.free_at = at;
        self.pending.push(Completion { at, outcome, visits, delays: Delays::default() });
        Accepted::Yes
    }

    fn next_event(&self) -> Option<Picos> {
        let first = self.pending.first().map(|completion| completion.at);
        match self.fault {
            Fault::EndlessEvents if self.operations > 0 => Some(first.unwrap_or(self.free_at)),
            Fault::TimeGoesBackwards if self.operations > 1 => first.map(|_| Picos(1)),
            _ => first,
        }
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        if self.fault == Fault::EndlessEvents && self.operations > 1 {
            self.free_at = self.free_at.max(until) + Picos(1);
            return;
        }
        let due = self.pending.iter().take_while(|completion| completion.at <= until).count();
        let early = if self.fault == Fault::BeforeTheOffer { self.each + Picos(1) } else { Picos::ZERO };
        let due = self.pending.drain(..due);
        done.extend(due.map(|completion| Completion { at: completion.at.saturating_sub(early), ..completion }));
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }

    fn busy(&self) -> Picos {
        Picos::ZERO
    }
}

impl Shortcuts for Faulty {}

impl Measurable for Faulty {}
