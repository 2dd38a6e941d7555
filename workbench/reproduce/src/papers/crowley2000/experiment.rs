// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One run of the machine: a processor, what it is fed, what it does with packets, and what the
//! paper leaves open.

use std::ops::ControlFlow;

use mb_core::Clock;
use mb_core::parameters::ParameterSet;
use mb_netproc::contract::{Application, Classifier, ClassifyIn, Idle, OsThread};
use mb_netproc::parameters::Handler;
use mb_netproc::{Arrival, LoadedProgram, PacketMachineParameters, PacketReport, Spine, Tables, TimedChip, presets};
use mb_packets::arrivals::arrivals;
use mb_packets::session::{TABLES_SEED, filters, routes};
use mb_packets::traffic::generate;
use mb_packets::{Checker, Expectations, FilterSet, Mix, RouteTable, Sizes, TrafficParameters};
use mb_processor::chip::{ChipConfig, FetchPolicy, IssueOrder};
use mb_processor::shared_l2::SharedL2Config;

use crate::error::MeasureError;

/// Section 3.3: the clock of all processors.
pub const MHZ: u64 = 500;
/// Of generated packets; results are those of one trace, as the paper's are.
const SEED: u64 = 1;
/// Memory of SPINE in bytes, more than 192 buffers, 16,384 flows and 1000 routes need. That of the presets is larger,
/// and is copied for each run.
const HEAP: u64 = 8 << 20;

/// A processor of the paper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PaperChip {
    /// Simultaneous multithreading, with this many contexts and as many units.
    Smt(usize),
    /// This many cores of one unit each.
    Cmp(usize),
    /// This many cores of two units each.
    Cmp2(usize),
    /// The SMT's core with a single context and all of its units (section 3.4).
    Superscalar,
}

impl PaperChip {
    /// The three with eight units that figures 5 to 7 compare.
    pub const THREE: [Self; 3] = [Self::Smt(8), Self::Cmp(8), Self::Cmp2(4)];

    /// Its preset, with a source for every value.
    ///
    /// # Errors
    /// When a preset cannot be read.
    pub fn preset(self) -> Result<ParameterSet, MeasureError> {
        Ok(presets::preset(&match self {
            Self::Smt(contexts) => format!("smt{contexts}"),
            Self::Cmp(cores) => format!("cmp{}", cores.min(8)),
            Self::Cmp2(cores) => format!("cmp2_{cores}"),
            Self::Superscalar => "smt8".to_owned(),
        })?)
    }

    /// Its parameters.
    ///
    /// # Errors
    /// When a preset cannot be read.
    pub fn parameters(self) -> Result<PacketMachineParameters, MeasureError> {
        let preset: PacketMachineParameters = self.preset()?.typed();
        Ok(match self {
            // Presets have at most 8 cores.
            Self::Cmp(cores) => {
                PacketMachineParameters { processor: ChipConfig { cores, ..preset.processor }, ..preset }
            }
            Self::Superscalar => {
                let processor = ChipConfig { contexts: 1, fetch_threads: 1, ..preset.processor };
                PacketMachineParameters { processor, ..preset }
            }
            Self::Smt(_) | Self::Cmp2(_) => preset,
        })
    }

    /// Functional units.
    #[must_use]
    pub const fn units(self) -> usize {
        match self {
            Self::Smt(number) | Self::Cmp(number) => number,
            Self::Cmp2(cores) => 2 * cores,
            Self::Superscalar => 8,
        }
    }

    /// Threads that handle packets; one thread alone receives them too.
    #[must_use]
    pub const fn workers(self) -> usize {
        match self {
            Self::Smt(harts) | Self::Cmp(harts) | Self::Cmp2(harts) if harts > 1 => harts - 1,
            _ => 1,
        }
    }

    /// As the paper names it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Smt(_) => "SMT".to_owned(),
            Self::Cmp(_) => "CMP".to_owned(),
            Self::Cmp2(8) => "CMP2-8".to_owned(),
            Self::Cmp2(_) => "CMP2".to_owned(),
            Self::Superscalar => "superscalar".to_owned(),
        }
    }
}

/// The work that is done for packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// They are dropped upon delivery; their lengths are those of the Internet mix.
    Null,
    /// One application handles all of them; datagrams have the mean length of the Internet mix.
    Alone(Application),
    /// A scenario of Table 6.
    Scenario(Mix, Sizes),
}

/// The assumptions of an experiment, and the further work that the paper names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumptions {
    /// Order of issue.
    pub order: IssueOrder,
    /// Which contexts of the SMT fetch.
    pub fetch: FetchPolicy,
    /// Rename registers over those of the presets, in percent.
    pub rename_percent: usize,
    /// Bytes of each L1 cache of a core.
    pub l1_bytes: u64,
    /// How workers wait, and how every thread waits for a lock.
    pub idle: Idle,
    /// How the OS thread waits for packets and buffers.
    pub os_idle: Idle,
    /// Mean length of a burst of packets of one application.
    pub mean_burst: u64,
    /// Which thread classifies.
    pub classify_in: ClassifyIn,
    /// Which threads receive packets.
    pub os: OsThread,
    /// Priorities of the OS thread and of workers in the SMT's fetch; lower values fetch first.
    pub priorities: (u8, u8),
    /// Clock in megahertz. Memory stays as fast as it is.
    pub mhz: u64,
}

impl Default for Assumptions {
    /// Those by which claims are judged.
    fn default() -> Self {
        Self {
            order: IssueOrder::OutOfOrder,
            fetch: FetchPolicy::Icount,
            rename_percent: 100,
            l1_bytes: 32 << 10,
            idle: Idle::Wait,
            os_idle: Idle::Spin,
            mean_burst: 16,
            classify_in: ClassifyIn::Worker,
            os: OsThread::Pinned,
            priorities: (0, 0),
            mhz: MHZ,
        }
    }
}

/// One run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Experiment {
    /// The processor.
    pub chip: PaperChip,
    /// The work that is done for packets.
    pub work: Work,
    /// Who classifies.
    pub classifier: Classifier,
    /// Packets.
    pub packets: u64,
    /// Values that the paper does not give.
    pub assumptions: Assumptions,
}

impl Experiment {
    /// The clock.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        Clock::from_mhz(self.assumptions.mhz)
    }

    /// The parameters of the machine with the assumptions.
    ///
    /// # Errors
    /// When a preset cannot be read.
    pub fn parameters(&self) -> Result<PacketMachineParameters, MeasureError> {
        let preset = self.chip.parameters()?;
        let Assumptions { order, fetch, rename_percent, l1_bytes, idle, os_idle, classify_in, os, mhz, .. } =
            self.assumptions;
        Ok(PacketMachineParameters {
            clock: Clock::from_mhz(mhz),
            application: match self.work {
                Work::Null => Handler::Null,
                Work::Alone(Application::IpForward) => Handler::IpForward,
                Work::Alone(Application::HttpMon) => Handler::HttpMon,
                Work::Alone(Application::Md5) => Handler::Md5,
                Work::Alone(Application::TripleDes) => Handler::TripleDes,
                Work::Alone(_) | Work::Scenario(..) => Handler::ByFilter,
            },
            classifier: self.classifier,
            classify_in,
            idle,
            os_idle,
            os,
            // Tables that nothing looks up are small, so that they are built soon.
            routes: match self.work {
                Work::Null | Work::Alone(Application::Md5 | Application::TripleDes) => 1,
                _ => preset.routes,
            },
            processor: ChipConfig {
                order,
                fetch_policy: fetch,
                rename_registers: (preset.processor.rename_registers * rename_percent / 100).max(1),
                ..preset.processor
            },
            caches: preset.caches.with_l1_bytes(l1_bytes),
            heap_bytes: HEAP,
            ..preset
        })
    }

    /// Its cores.
    ///
    /// # Errors
    /// When a preset cannot be read.
    pub fn cores(&self) -> Result<ChipConfig, MeasureError> {
        let (os, worker) = self.assumptions.priorities;
        let mut priorities = [worker; ChipConfig::MAX_CONTEXTS];
        priorities[0] = os;
        Ok(ChipConfig { priorities, ..self.parameters()?.chip() })
    }

    /// Its caches, buses and memory.
    ///
    /// # Errors
    /// When a preset cannot be read.
    pub fn caches(&self) -> Result<SharedL2Config, MeasureError> {
        Ok(self.parameters()?.memory())
    }

    /// The traffic.
    #[must_use]
    pub fn traffic(&self) -> TrafficParameters {
        let (mix, sizes) = match self.work {
            Work::Null => (Mix::Router, Sizes::Imix),
            Work::Alone(Application::HttpMon) => (Mix::HttpMon, Sizes::Imix),
            Work::Alone(Application::Md5) => (Mix::Md5, Sizes::Fixed),
            Work::Alone(Application::TripleDes) => (Mix::TripleDes, Sizes::Fixed),
            Work::Alone(_) => (Mix::IpForward, Sizes::Imix),
            Work::Scenario(mix, sizes) => (mix, sizes),
        };
        let mean_burst = self.assumptions.mean_burst;
        // 340 bytes are the mean of the Internet mix: (7 * 40 + 4 * 576 + 1500) / 12.
        TrafficParameters {
            packets: self.packets as usize,
            mix,
            sizes,
            datagram_bytes: 340,
            mean_burst,
            ..TrafficParameters::default()
        }
    }

    /// Filters, routes, and the packets that arrive.
    pub(super) fn input(&self) -> Result<(FilterSet, RouteTable, Vec<Arrival>), MeasureError> {
        let parameters = self.parameters()?;
        let (filters, routes) = (filters(&parameters), routes(&parameters));
        // Ports are those of the scenarios, also where every filter selects one application.
        let ports = FilterSet::of_scenarios(parameters.filters, TABLES_SEED);
        let capture = generate(&self.traffic(), &ports, &routes, SEED)
            .map_err(|application| self.failed(format!("no filter selects {application:?}")))?;
        let arrivals = arrivals(&capture, &filters).map_err(|error| self.failed(error.to_string()))?;
        Ok((filters, routes, arrivals))
    }

    /// The memory from which the run starts.
    pub(super) fn image(&self, filters: &FilterSet, routes: &RouteTable) -> Result<LoadedProgram, MeasureError> {
        let tables =
            Tables { filters: filters.filters().to_vec(), routes: routes.routes().to_vec(), routes6: routes.routes6() };
        let parameters = self.parameters()?;
        LoadedProgram::new(Spine::Plain.file(), parameters.harts(), &parameters.spine(), &tables, parameters.heap_bytes)
            .map_err(|error| self.failed(error.to_string()))
    }

    /// Runs it. Every decision of every packet is compared with the references.
    ///
    /// # Errors
    /// When the run ends early, a packet is lost, or a decision is wrong.
    pub fn simulate(&self) -> Result<PacketReport, MeasureError> {
        let (filters, routes, arrivals) = self.input()?;
        let parameters = self.parameters()?;
        let image = self.image(&filters, &routes)?;
        let proceed = &mut |_| ControlFlow::Continue(());
        let started = image.start(parameters.limits(), proceed).map_err(|error| self.failed(error.to_string()))?;
        let (cores, memory) = parameters.bus_clock();
        let mut chip = TimedChip::new(&self.cores()?, &self.caches()?, started, None)?.with_memory_clock(cores, memory);
        let spine = parameters.spine();
        let mut checker = Checker::new(Expectations {
            filters,
            default_application: spine.default_application,
            routes: routes.lookup(),
            buffer_bytes: spine.buffer_bytes,
            des_keys: spine.des_keys,
            des_iv: spine.des_iv,
            flows: spine.flows,
        });
        let (controller, limits) = (parameters.controller(self.packets), parameters.limits());
        let run = mb_netproc::run(&image, &mut chip, controller, &arrivals, limits, &mut checker, proceed);
        if let Some(error) = run.error {
            return Err(self.failed(error.to_string()));
        }
        checker.finish();
        if let Some(wrong) = checker.mismatches.first() {
            return Err(self.failed(format!("packet {}: {}", wrong.packet, wrong.text)));
        }
        let report = run.report;
        if !report.is_balanced || report.completed() != self.packets || checker.checked != self.packets {
            return Err(self.failed(format!("{} of {} packets are accounted for", report.completed(), self.packets)));
        }
        Ok(report)
    }

    fn failed(&self, what: String) -> MeasureError {
        MeasureError::Run { run: format!("{:?} on {:?}", self.work, self.chip), what }
    }
}
