// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Back-off of programs into software (section 4.4 of the paper), and the return from it.
//!
//! The home MOPED of a program orders the steps: a refusal anywhere raises, the home sets the bit everywhere, each
//! MOPED reports when no descriptor of the program is reserved at it, and the bit is cleared everywhere. Both setting
//! and clearing have two rounds: no refusal is answered before all MOPEDs stop matching, and none is granted again
//! before no MOPED refuses. Otherwise a process that moves, or a descriptor that is forwarded, meets a MOPED that is a
//! step behind.

use crate::contract::{BACKOFF_BIT, DRAINED, EPISODE_SHIFT};
use crate::message::{Message, Step};
use crate::parameters::Backoff;

/// The bit of a program, as one MOPED sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Bit {
    #[default]
    Clear,
    /// Set here; other MOPEDs may not have set it yet.
    Raised,
    /// Set everywhere.
    Set,
    /// Back-off ends: this MOPED refuses nothing, but others may still refuse.
    Ending,
}

/// The state of a program at a MOPED.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramState {
    /// Descriptors reserved here.
    pub(crate) reserved: usize,
    pub(crate) bit: Bit,
    pub(crate) episode: u32,
    pub(crate) drained: bool,
    /// The home has ordered the bit to be set, and waits for `DrainedHere`.
    owes_drained: bool,
    home: Home,
}

/// The additional state of the home of a program.
#[derive(Clone, Debug, Default)]
struct Home {
    raised: bool,
    set: usize,
    drained: usize,
    resumed: bool,
    ending: bool,
}

/// The programs of one MOPED.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    nodes: usize,
    mode: Backoff,
    all: Vec<ProgramState>,
}

type Out = Vec<(usize, Message)>;

impl Programs {
    pub(crate) fn new(nodes: usize, programs: usize, mode: Backoff) -> Self {
        Self { nodes, mode, all: vec![ProgramState::default(); programs] }
    }

    pub(crate) fn get(&self, program: u16) -> &ProgramState {
        &self.all[usize::from(program)]
    }

    /// Whether nothing of the program matches here.
    pub(crate) fn is_stopped(&self, program: u16) -> bool {
        self.mode == Backoff::Stop && matches!(self.get(program).bit, Bit::Raised | Bit::Set)
    }

    /// The word `MOPED_BACKOFF`.
    pub(crate) fn word(&self, program: u16) -> u64 {
        let found = self.get(program);
        let bit = if found.bit == Bit::Clear { 0 } else { BACKOFF_BIT };
        let drained = if found.drained { DRAINED } else { 0 };
        bit | drained | u64::from(found.episode & 0x1fff_ffff) << EPISODE_SHIFT
    }

    fn home(&self, program: u16) -> usize {
        usize::from(program) % self.nodes
    }

    fn to_home(&self, program: u16, step: Step, out: &mut Out) {
        out.push((self.home(program), Message::Backoff { program, step }));
    }

    fn to_all(&self, program: u16, step: Step, out: &mut Out) {
        out.extend((0..self.nodes).map(|node| (node, Message::Backoff { program, step })));
    }

    pub(crate) fn reserve(&mut self, program: u16) {
        self.all[usize::from(program)].reserved += 1;
    }

    pub(crate) fn release(&mut self, program: u16, out: &mut Out) {
        self.all[usize::from(program)].reserved -= 1;
        self.report_drained(program, out);
    }

    /// Sets the bit here and notifies the home.
    pub(crate) fn raise(&mut self, program: u16, out: &mut Out) {
        let mode = self.mode;
        let found = &mut self.all[usize::from(program)];
        if matches!(found.bit, Bit::Clear | Bit::Ending) {
            found.bit = if mode == Backoff::Stop { Bit::Raised } else { Bit::Set };
            self.to_home(program, Step::Raise, out);
        }
    }

    /// The program requests the end of its back-off.
    pub(crate) fn resume(&self, program: u16, out: &mut Out) {
        if self.mode == Backoff::Stop {
            self.to_home(program, Step::Resume, out);
        }
    }

    fn report_drained(&mut self, program: u16, out: &mut Out) {
        let found = &mut self.all[usize::from(program)];
        if found.owes_drained && found.reserved == 0 {
            found.owes_drained = false;
            self.to_home(program, Step::DrainedHere, out);
        }
    }

    pub(crate) fn step(&mut self, program: u16, step: Step, out: &mut Out) {
        let (nodes, mode) = (self.nodes, self.mode);
        let found = &mut self.all[usize::from(program)];
        match step {
            Step::Raise => {
                if !found.home.raised {
                    found.home = Home { raised: true, ..Home::default() };
                    let episode = found.episode.wrapping_add(1);
                    self.to_all(program, Step::Set { episode }, out);
                }
            }
            Step::Set { episode } => {
                if matches!(found.bit, Bit::Clear | Bit::Ending) {
                    found.bit = if mode == Backoff::Stop { Bit::Raised } else { Bit::Set };
                }
                found.episode = episode;
                found.drained = false;
                found.owes_drained = true;
                self.to_home(program, Step::SetHere, out);
                self.report_drained(program, out);
            }
            Step::SetHere => {
                found.home.set += 1;
                if found.home.set == nodes {
                    self.to_all(program, Step::SetEverywhere, out);
                }
            }
            Step::SetEverywhere => found.bit = Bit::Set,
            Step::DrainedHere => {
                found.home.drained += 1;
                if found.home.drained == nodes {
                    self.to_all(program, Step::DrainedEverywhere, out);
                    if mode == Backoff::Published {
                        self.end(program, out);
                    } else {
                        self.begin_end(program, out);
                    }
                }
            }
            Step::DrainedEverywhere => found.drained = true,
            Step::Resume => {
                found.home.resumed = found.home.raised;
                self.begin_end(program, out);
            }
            Step::End => {
                (found.bit, found.drained) = (Bit::Ending, false);
                self.to_home(program, Step::EndHere, out);
            }
            Step::EndHere => {
                found.home.set += 1;
                if found.home.set == nodes {
                    self.end(program, out);
                }
            }
            // A descriptor of the next episode may have come before it.
            Step::Clear => {
                if found.bit != Bit::Raised {
                    (found.bit, found.drained) = (Bit::Clear, false);
                }
            }
        }
    }

    /// Begins to end back-off, once software has requested it and no descriptor is left.
    fn begin_end(&mut self, program: u16, out: &mut Out) {
        let nodes = self.nodes;
        let home = &mut self.all[usize::from(program)].home;
        if home.raised && home.resumed && home.drained == nodes && !home.ending {
            home.ending = true;
            home.set = 0;
            self.to_all(program, Step::End, out);
        }
    }

    fn end(&mut self, program: u16, out: &mut Out) {
        self.all[usize::from(program)].home.raised = false;
        self.to_all(program, Step::Clear, out);
    }
}
