// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `meta.json`: the description of a trace (`spec/trace.md`, section 2). Unknown keys are
//! preserved.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{FileLocation, TraceError};

/// The value of `format`.
pub(crate) const FORMAT: &str = "matchbench-trace";

/// Name of the file.
pub(crate) const META_FILE: &str = "meta.json";

/// Name of a bundle.
pub(crate) const BUNDLE_FILE: &str = "bundle.mbt";

/// Most ranks of a trace: records hold ranks as signed 32-bit numbers.
pub(crate) const MAX_RANKS: u32 = i32::MAX as u32;

/// How a trace was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceOrigin {
    /// Written while a program ran.
    Recorded,
    /// Generated from a pattern.
    Generated,
}

/// The content of `meta.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Meta {
    format: String,
    version: u64,
    /// Ranks in the world.
    pub ranks: u32,
    run_id: String,
    /// Recorded or generated.
    pub origin: TraceOrigin,
    /// Names of the MPI functions that `Other` records index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_calls: Vec<String>,
    /// All other keys.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Meta {
    /// A description with the required keys only.
    #[must_use]
    pub fn new(origin: TraceOrigin, ranks: u32, run_id: u64) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: 1,
            ranks,
            run_id: format!("{run_id:016x}"),
            origin,
            other_calls: Vec::new(),
            more: Map::new(),
        }
    }

    /// The number of the run, as in the headers.
    #[must_use]
    pub fn run_id(&self) -> u64 {
        u64::from_str_radix(&self.run_id, 16).unwrap_or_default()
    }

    /// Parses and checks the text of the `meta.json` at `path`.
    ///
    /// # Errors
    /// When the text is not JSON, or a required key is missing or out of range.
    pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<Self, TraceError> {
        let defect = |reason: String| TraceError::defect(path, FileLocation::File, 0, reason);
        let meta: Self = serde_json::from_slice(text).map_err(|error| defect(error.to_string()))?;
        if meta.format != FORMAT {
            return Err(defect(format!("`format` is {:?}, expected {FORMAT:?}", meta.format)));
        }
        if meta.version != 1 {
            return Err(defect(format!("`version` is {}, expected 1", meta.version)));
        }
        if meta.ranks == 0 || meta.ranks > MAX_RANKS {
            return Err(defect(format!("`ranks` is {}, expected 1 to {MAX_RANKS}", meta.ranks)));
        }
        if meta.run_id.len() != 16 || !meta.run_id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(defect(format!("`run_id` is {:?}, expected 16 hexadecimal digits", meta.run_id)));
        }
        Ok(meta)
    }
}
