// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine, and the hardware that follows from them.

use mb_core::parameters::Choice;
use mb_core::{Clock, Cycles, ParameterError, Parameters};

const MOST_CYCLES: u64 = 1_000_000;

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct CamListParameters {
    /// Clock of the receive engine.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Entries of each queue's CAM.
    #[parameter(range = 1..=1_000_000, holds = OldestOfQueue)]
    pub cam: usize,
    /// Lists behind each CAM, filled in turn and walked in parallel.
    #[parameter(range = 1..=256)]
    pub lists: usize,
    /// Entries of all lists of a queue together, the same number for each; more are in host memory.
    #[parameter(range = 1..=16_777_216)]
    pub list_entries: usize,
    /// A search of a CAM.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub r#match: Cycles,
    /// Writing an entry into a CAM.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub cam_insert: Cycles,
    /// Each step of a walk along the lists.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub element: Cycles,
    /// Appending an entry to a list.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub list_insert: Cycles,
    /// Moving an entry from a list to the CAM; searches of the queue and insertions into it wait.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub transfer: Cycles,
    /// Removing an entry, after the answer.
    #[parameter(range = 0..=MOST_CYCLES)]
    pub remove: Cycles,
    /// From the head of an input queue to the start of the search.
    #[parameter(range = 0..=MOST_CYCLES)]
    pub dispatch: Cycles,
    /// Whether the lists are walked after the CAM found nothing, or from the start.
    #[parameter]
    pub search: ListSearch,
    /// Whether a search of one queue may overlap one of the other, or operations follow each other.
    #[parameter]
    pub arbiter: Arbiter,
    /// Additional cycles of a CAM search for ignore bits.
    #[parameter(range = 0..=MOST_CYCLES)]
    pub ternary: Cycles,
    /// Additional cycles of a CAM search to select the oldest match.
    #[parameter(range = 0..=MOST_CYCLES)]
    pub age_cam: Cycles,
    /// Additional cycles of a list search to select the oldest match.
    #[parameter(range = 0..=MOST_CYCLES)]
    pub age_lists: Cycles,
    /// Reading an entry in host memory.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub spill: Cycles,
    /// Whether five corrections keep MPI's order, or the design is as published, which breaks it.
    #[parameter]
    pub order: OutcomeOrder,
    /// Operations that can wait at each side, command and network; more are refused for the time being.
    #[parameter(range = 1..=1_000_000_000)]
    pub fifo: usize,
}

/// Whether outcomes keep MPI's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum OutcomeOrder {
    /// With the corrections of [`crate::hardware::Corrections`].
    Mpi,
    /// As published.
    Published,
}

/// When the lists are walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ListSearch {
    /// When the CAM has found nothing.
    AfterCam,
    /// From the same cycle on as the CAM; what it finds is dropped if the CAM has a match.
    WithCam,
}

/// The operations that may happen at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Arbiter {
    /// A search of each queue; results take effect in order of acceptance.
    Overlapped,
    /// One operation.
    Serial,
}

/// Sizes and cycles of the hardware. Each queue has its own CAM and lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HardwareConfig {
    /// Entries of a CAM.
    pub cam: usize,
    /// Lists behind a CAM.
    pub lists: usize,
    /// Entries of each of these lists.
    pub entries_per_list: usize,
    /// Cycles of a CAM search, masks and ages included.
    pub cam_search: u64,
    /// Cycles of an insertion into a CAM.
    pub cam_insert: u64,
    /// Cycles of a step along the lists.
    pub element: u64,
    /// Cycles of an insertion into a list.
    pub list_insert: u64,
    /// Cycles of the data mover.
    pub transfer: u64,
    /// Cycles of a removal.
    pub remove: u64,
    /// Cycles before a search.
    pub dispatch: u64,
    /// When the lists are walked.
    pub search: ListSearch,
    /// The operations that may overlap.
    pub arbiter: Arbiter,
    /// Cycles that ages add to a walk.
    pub age_lists: u64,
    /// Cycles of a read of host memory.
    pub spill: u64,
}

impl HardwareConfig {
    /// The hardware that `parameters` describe.
    ///
    /// # Errors
    /// When `list_entries` is not a multiple of `lists`.
    pub fn new(parameters: &CamListParameters) -> Result<Self, ParameterError> {
        let &CamListParameters { lists, list_entries, search, arbiter, .. } = parameters;
        if !list_entries.is_multiple_of(lists) {
            return Err(ParameterError::Contradiction(format!(
                "`list_entries` is {list_entries}, which {lists} lists cannot share evenly"
            )));
        }
        Ok(Self {
            cam: parameters.cam,
            lists,
            entries_per_list: list_entries / lists,
            cam_search: (parameters.r#match + parameters.ternary + parameters.age_cam).0,
            cam_insert: parameters.cam_insert.0,
            element: parameters.element.0,
            list_insert: parameters.list_insert.0,
            transfer: parameters.transfer.0,
            remove: parameters.remove.0,
            dispatch: parameters.dispatch.0,
            search,
            arbiter,
            age_lists: parameters.age_lists.0,
            spill: parameters.spill.0,
        })
    }

    /// Cycles of a search that leaves the CAM, `rows` steps along the lists and `spilled` entries in host memory.
    #[must_use]
    pub fn walk(&self, rows: u64, spilled: u64) -> u64 {
        let begin = match self.search {
            ListSearch::AfterCam => self.cam_search,
            ListSearch::WithCam => 0,
        };
        self.cam_search.max(begin + self.element * rows + self.age_lists + self.spill * spilled)
    }
}
