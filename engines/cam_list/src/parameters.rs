// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The settings of the engine, and what they are as numbers.

use mb_core::settings::{SettingError, SettingSpec, Settings, Unit};

const CYCLES: (u64, u64) = (0, 1_000_000);
const AT_LEAST_ONE: (u64, u64) = (1, 1_000_000);

pub(crate) const SETTINGS: &[SettingSpec] = &[
    SettingSpec { key: "clock", unit: Unit::Megahertz, help: "Clock of the receive engine.", range: (1, 100_000) },
    SettingSpec { key: "cam", unit: Unit::Count, help: "Entries of each queue's CAM.", range: (1, 1_000_000) },
    SettingSpec {
        key: "lists",
        unit: Unit::Count,
        help: "Lists behind each CAM, filled in turn and walked side by side.",
        range: (1, 256),
    },
    SettingSpec {
        key: "list_entries",
        unit: Unit::Count,
        help: "Entries of all lists of a queue together, the same number for each; more are in host memory.",
        range: (1, 16_777_216),
    },
    SettingSpec { key: "match", unit: Unit::Cycles, help: "A search of a CAM.", range: AT_LEAST_ONE },
    SettingSpec { key: "cam_insert", unit: Unit::Cycles, help: "Writing an entry into a CAM.", range: AT_LEAST_ONE },
    SettingSpec { key: "element", unit: Unit::Cycles, help: "Each step along the lists.", range: AT_LEAST_ONE },
    SettingSpec { key: "list_insert", unit: Unit::Cycles, help: "Appending an entry to a list.", range: AT_LEAST_ONE },
    SettingSpec {
        key: "transfer",
        unit: Unit::Cycles,
        help: "Moving an entry from a list to the CAM; searches of the queue and insertions into it wait.",
        range: AT_LEAST_ONE,
    },
    SettingSpec { key: "remove", unit: Unit::Cycles, help: "Taking an entry out, after the answer.", range: CYCLES },
    SettingSpec {
        key: "dispatch",
        unit: Unit::Cycles,
        help: "From the head of an input queue to the begin of the search.",
        range: CYCLES,
    },
    SettingSpec {
        key: "search",
        unit: Unit::Choice(&["after_cam", "with_cam"]),
        help: "Whether the lists are walked after the CAM found nothing, or from the begin on.",
        range: (0, 0),
    },
    SettingSpec {
        key: "arbiter",
        unit: Unit::Choice(&["overlapped", "serial"]),
        help: "Whether a search of one queue may overlap one of the other, or operations follow each other.",
        range: (0, 0),
    },
    SettingSpec { key: "ternary", unit: Unit::Cycles, help: "What masks add to a search of a CAM.", range: CYCLES },
    SettingSpec {
        key: "age_cam",
        unit: Unit::Cycles,
        help: "What picking the oldest match adds to a search of a CAM.",
        range: CYCLES,
    },
    SettingSpec {
        key: "age_lists",
        unit: Unit::Cycles,
        help: "What picking the oldest match adds to a search of the lists.",
        range: CYCLES,
    },
    SettingSpec { key: "spill", unit: Unit::Cycles, help: "Reading an entry in host memory.", range: AT_LEAST_ONE },
    SettingSpec {
        key: "order",
        unit: Unit::Choice(&["mpi", "published"]),
        help: "Whether five corrections keep MPI's order, or all is as the paper has it, which breaks it.",
        range: (0, 0),
    },
    SettingSpec {
        key: "fifo",
        unit: Unit::Count,
        help: "Operations that can wait at each side, command and network; more are refused for the time being.",
        range: (1, 1_000_000_000),
    },
];

/// When the lists are walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListSearch {
    /// When the CAM has found nothing.
    AfterCam,
    /// From the same cycle on as the CAM; what it finds is dropped if the CAM has a match.
    WithCam,
}

/// What may happen at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbiter {
    /// A search of each queue; results take effect in order of acceptance.
    Overlapped,
    /// One operation.
    Serial,
}

/// Sizes and cycles of the hardware. Each queue has its own CAM and lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
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
    /// What may overlap.
    pub arbiter: Arbiter,
    /// Cycles that ages add to a walk.
    pub age_lists: u64,
    /// Cycles of a read of host memory.
    pub spill: u64,
}

impl Parameters {
    /// The numbers of complete settings.
    ///
    /// # Errors
    /// When `list_entries` is no multiple of `lists`.
    pub fn new(settings: &Settings) -> Result<Self, SettingError> {
        let cycles = |key| settings.cycles(key).0;
        let (lists, entries) = (settings.whole("lists"), settings.whole("list_entries"));
        if !entries.is_multiple_of(lists) {
            return Err(SettingError::Contradiction(format!(
                "`list_entries` is {entries}, which {lists} lists cannot share evenly"
            )));
        }
        Ok(Self {
            cam: settings.whole("cam") as usize,
            lists: lists as usize,
            entries_per_list: (entries / lists) as usize,
            cam_search: cycles("match") + cycles("ternary") + cycles("age_cam"),
            cam_insert: cycles("cam_insert"),
            element: cycles("element"),
            list_insert: cycles("list_insert"),
            transfer: cycles("transfer"),
            remove: cycles("remove"),
            dispatch: cycles("dispatch"),
            search: if settings.word("search") == "with_cam" { ListSearch::WithCam } else { ListSearch::AfterCam },
            arbiter: if settings.word("arbiter") == "serial" { Arbiter::Serial } else { Arbiter::Overlapped },
            age_lists: cycles("age_lists"),
            spill: cycles("spill"),
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
