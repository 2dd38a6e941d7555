// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Xiong et al. (`xiong2018`): a CAM in front of 1, 4 or 64 lists.
//!
//! Its figures are not available as text, and its text has few numbers. Most of what can be measured
//! follows from three cycles for each element, or compares with the ALPU and the hash processor.

mod arithmetic;
mod comparison;
mod contradictions;
mod latency;
mod structure;
mod unloading;

use mb_cam_list::{CamList, CamListCounters};
use mb_catalog::CatalogError;
use mb_core::engine::{Accepted, Completion, Engine, Shortcuts};
use mb_core::{Clock, Cycles, Envelope, Initiator, MsgId, Op, ParameterSet, Pattern, Picos, ProbeId, RecvId};
use mb_kit::Server;

use crate::claim_test::{ClaimTest, cannot};
use crate::depth;
use crate::error::MeasureError;
use crate::registry::Paper;
use crate::study::StudyFile;

/// The registration of the paper.
pub static PAPER: Paper<Designs> = Paper {
    key: "xiong2018",
    alias: "s2",
    tests: TESTS,
    contradictions: contradictions::CONTRADICTIONS,
    subject: Designs::published,
    engines: &Designs::SPECS,
    study: Some(STUDY),
    figures: |_, claims, jobs| Ok(jobs.map(|jobs| depth::figures(&STUDY, claims, jobs)).transpose()?),
};

const STUDY: StudyFile =
    StudyFile { name: "xiong2018_figures", text: include_str!("../../../../studies/xiong2018_figures/study.toml") };

const TESTBED: &str = "about the testbed, which has no model";

/// Every test, group by group.
const TESTS: &[&[ClaimTest<Designs>]] =
    &[structure::TESTS, latency::TESTS, unloading::TESTS, comparison::TESTS, arithmetic::TESTS, WITHOUT_MEASUREMENT];

const WITHOUT_MEASUREMENT: &[ClaimTest<Designs>] = &[
    cannot(
        "xiong2018.blocking_bypass",
        "no operation says whether its receive blocks; a blocking receive is a post, behind older ones",
    ),
    cannot("xiong2018.bench.use_alpu_below", "the choice of a comparison; no run can show another number"),
    cannot("xiong2018.fig5.lengths", "the lengths at which figure 5 is read; xiong2018.unload measures at them"),
    cannot("xiong2018.soc.nodes", TESTBED),
    cannot("xiong2018.soc.eager", TESTBED),
    cannot("xiong2018.soc.network_ns", "the network is the replay's; its preset `papers200` has this as input"),
    cannot("xiong2018.hash64.no_network", "how its authors measured; our engines have no network, the replay has"),
];

/// The three designs of the paper and what it compares them with, by their settings.
#[derive(Clone, Debug)]
pub struct Designs {
    /// One list.
    pub two_level: ParameterSet,
    /// Four lists.
    pub p2l4: ParameterSet,
    /// 64 lists.
    pub p2l64: ParameterSet,
    /// The ALPU, calibrated on what this paper says of it.
    pub alpu: ParameterSet,
    /// The ALPU with as many cells and the processor that follows from Tanabe and Ohta.
    pub alpu_by_tanabe2013: ParameterSet,
    /// The hash processor.
    pub hash: ParameterSet,
}

impl Designs {
    /// Engine and preset of each, in the order of the fields.
    pub const SPECS: [&str; 6] = [
        "cam_list:two_level",
        "cam_list:p2l4",
        "cam_list:p2l64",
        "alpu:xiong2018",
        "alpu:tanabe2013",
        "hash_buckets:xiong2018",
    ];

    /// As the presets have them.
    ///
    /// # Errors
    /// When a preset cannot be read.
    pub fn published() -> Result<Self, MeasureError> {
        let [two_level, p2l4, p2l64, alpu, alpu_tanabe, hash] = Self::SPECS;
        let settings = |spec| Ok::<_, CatalogError>(mb_catalog::find(spec)?.parameters);
        let mut by_tanabe = mb_catalog::find(alpu_tanabe)?;
        by_tanabe.change(|alpu: &mut mb_alpu::AlpuParameters| alpu.cells = 256)?;
        Ok(Self {
            two_level: settings(two_level)?,
            p2l4: settings(p2l4)?,
            p2l64: settings(p2l64)?,
            alpu: settings(alpu)?,
            alpu_by_tanabe2013: by_tanabe.parameters,
            hash: settings(hash)?,
        })
    }

    fn all(&self) -> [&ParameterSet; 3] {
        [&self.two_level, &self.p2l4, &self.p2l64]
    }
}

/// The effect of one operation.
#[derive(Clone, Copy, Debug)]
struct Served {
    completion: Completion,
    /// Cycles from its offer to its answer.
    cycles: u64,
    /// Cycles of its search.
    searching: u64,
    /// Of these, cycles of steps along the lists.
    walking: u64,
}

/// An engine, one operation after the other.
struct SingleOperations {
    engine: Server<CamList>,
    clock: Clock,
    now: Picos,
    done: Vec<Completion>,
}

impl SingleOperations {
    fn new(settings: &ParameterSet) -> Result<Self, MeasureError> {
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
    fn with_receives(settings: &ParameterSet, length: u64) -> Result<Self, MeasureError> {
        let mut run = Self::new(settings)?;
        for number in 1..=length {
            run.serve(post(number))?;
        }
        Ok(run)
    }

    /// With messages 1 to `length`, each with a tag of its own.
    fn with_messages(settings: &ParameterSet, length: u64) -> Result<Self, MeasureError> {
        let mut run = Self::new(settings)?;
        for number in 1..=length {
            run.serve(arrive(number))?;
        }
        Ok(run)
    }

    fn counters(&self) -> CamListCounters {
        self.engine.service().counters()
    }

    /// Hands over operations at once; their answers, in order.
    fn serve_at_once(&mut self, ops: &[Op]) -> Result<Vec<Completion>, MeasureError> {
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
    fn serve(&mut self, op: Op) -> Result<Served, MeasureError> {
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

    fn cycle(&self, time: Picos) -> u64 {
        self.clock.edge_at_or_after(time).0
    }
}

fn envelope(bits: u64) -> Envelope {
    Envelope { bits, initiator: Initiator(0) }
}

fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

fn probe(number: u64) -> Op {
    Op::Probe { probe: ProbeId(0), pattern: Pattern::exactly(envelope(number)) }
}
