// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where Gu et al. contradict themselves.

use mb_moped::storage::{self, FieldSource, Structure, Widths};

use super::directed::{self, LENGTH};
use super::model::{Figure10Quantity, KERNELS, Model, PATTERNS};
use super::runs::Transport;
use crate::claim_test::Procedure;
use crate::contradictions::{Contradiction, both};
use crate::error::MeasureError;

pub(super) const CONTRADICTIONS: &[Contradiction<Model>] = &[
    Contradiction {
        number: 21,
        place: "section 4.6; figure 9",
        says: ["a send or receive line takes 71 bytes", "its fields have an address of 64 bits, which makes 73 bytes"],
        procedure: Procedure::Measure(|model| {
            let of = |widths| {
                let fields = storage::fields(&model.device, widths);
                format!("{} bytes", storage::bytes(&fields, Structure::Line, &[FieldSource::Paper]))
            };
            both(("addresses of 48 bits", of(Widths::PAPER)), ("addresses of figure 9", of(Widths::FIGURE_9)))
        }),
        counts: "the first: gu2011.hw.total_bytes and gu2011.hw.chip_bytes have both, and the total is just over 2 kB with either",
    },
    Contradiction {
        number: 22,
        place: "abstract; section 6",
        says: [
            "misses to memory are reduced by 43 to 88 % for applications and by 75 to 100 % for microbenchmarks",
            "with BASEMOPED they are not reduced much, and rise for PP, XC, CG and MG",
        ],
        procedure: Procedure::Measure(|model| {
            let of = |design| {
                let mut words = Vec::new();
                for benchmark in PATTERNS.into_iter().chain(KERNELS) {
                    let reduction = model.reduction(benchmark, design, Figure10Quantity::Global);
                    if let Ok(reduction) = reduction {
                        words.push(format!("{} {reduction:.0} %", benchmark.name()));
                    }
                }
                if words.is_empty() { "not run".to_owned() } else { words.join(", ") }
            };
            both(("OPTCOPY", of(Transport::OptCopy)), ("BASEMOPED", of(Transport::Base)))
        }),
        counts: "the first with OPTCOPY, for the abstract's percentages (gu2011.abs.global_npb, gu2011.abs.global_imb); the second \
                 is a claim of its own (gu2011.basemoped.global_up)",
    },
    Contradiction {
        number: 23,
        place: "section 4.5; section 4.2",
        says: [
            "OPTCACHE grants receive lines without their bytes, and fills them with zeros",
            "buffers have any alignment, so that the first and the last line have bytes of others",
        ],
        procedure: Procedure::Measure(|model| {
            let of = |offset| {
                let found = directed::transfer_at(model, Transport::OptCache, offset)?;
                Ok::<_, MeasureError>(format!(
                    "{} lines without their bytes, {} with them",
                    found.rights_without_data,
                    found.rights - found.rights_without_data
                ))
            };
            debug_assert_eq!(LENGTH % 64, 0, "whole lines if aligned");
            both(("aligned buffers", of(0)?), ("buffers 8 bytes behind a line", of(8)?))
        }),
        counts: "both: lines that the message fills only in part are requested with their bytes, and nothing of others is lost",
    },
];
