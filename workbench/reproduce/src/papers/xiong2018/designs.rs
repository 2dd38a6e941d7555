// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The designs of the paper.

use mb_catalog::CatalogError;
use mb_core::ParameterSet;

use crate::error::MeasureError;

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

    pub(super) fn all(&self) -> [&ParameterSet; 3] {
        [&self.two_level, &self.p2l4, &self.p2l64]
    }
}
