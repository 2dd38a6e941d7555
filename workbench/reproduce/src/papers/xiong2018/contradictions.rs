// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where Xiong et al. contradicts itself, or Tanabe and Ohta.

use super::arithmetic::{printed, share_of};
use super::comparison::{BY_S1, FITTED, alpu, hash, preposted_on, unloaded_on};
use super::designs::Designs;
use super::structure::refilled;
use crate::benchmarks::Sources;
use crate::claim_test::Procedure;
use crate::contradictions::{Contradiction, both};
use crate::error::MeasureError;

pub(super) const CONTRADICTIONS: &[Contradiction<Designs>] = &[
    Contradiction {
        number: 15,
        place: "tanabe2013 section 4.2; section V-A1",
        says: [
            "the ALPU stays below the 44.4 ns for each message of DIMMnet-2",
            "four lists are 22 times as fast as the ALPU at 1000 entries: some 75 ns for each beyond its cells",
        ],
        procedure: Procedure::Measure(|designs| {
            let shown = |settings| {
                let (time, ours) = (alpu(settings, 1000)?, preposted_on(&designs.p2l4, 1000)?);
                Ok::<_, MeasureError>(format!(
                    "{:.1} us at 1000 entries, {:.1} times four lists",
                    time.as_ns() / 1e3,
                    time.0 as f64 / ours.0 as f64
                ))
            };
            both((BY_S1, shown(&designs.alpu_by_tanabe2013)?), (FITTED, shown(&designs.alpu)?))
        }),
        counts: "the first, which was not fitted to a sentence of Xiong et al. (xiong2018.lat.p2l4_vs_alpu_1000); both are presets of `alpu`",
    },
    Contradiction {
        number: 16,
        place: "table I; section III-C1",
        says: [
            "2816 registers, and 119 modules and 118 registers more for 64 lists than for one",
            "two CAMs of 256 entries that are compared in a cycle, and a list manager for each list",
        ],
        procedure: Procedure::Shown(
            |_| {
                both(
                    ("table I", format!("{} registers", printed("xiong2018.t1.two_level_regs")?)),
                    (
                        "two CAMs of 256 entries of 97 bits",
                        format!(
                            "{} bits",
                            printed("xiong2018.queues")?
                                * printed("xiong2018.cam.depth")?
                                * printed("xiong2018.cam.entry_bits")?
                        ),
                    ),
                )
            },
            "arithmetic on printed numbers",
        ),
        counts: "neither: arithmetic on printed numbers alone; it needs RTL to synthesise, and our models have no area",
    },
    Contradiction {
        number: 17,
        place: "section V-A2",
        says: [
            "at 500 and 1000 entries the hash processor beats four lists",
            "at 10 000 and 30 000 entries four lists beat it",
        ],
        procedure: Procedure::Measure(|designs| {
            let shown = |sources| {
                let ratio = |length| {
                    let [ours, theirs] =
                        [unloaded_on(&designs.p2l4, length, sources)?, hash(&designs.hash, length, sources)?];
                    Ok::<_, MeasureError>(theirs.0 as f64 / ours.0 as f64)
                };
                Ok::<_, MeasureError>(format!(
                    "four lists {:.2}, {:.2}, {:.2} times as fast at 500, 1000, 10 000",
                    ratio(500)?,
                    ratio(1000)?,
                    ratio(10_000)?
                ))
            };
            both(
                (Sources::InTurn.as_str(), shown(Sources::InTurn)?),
                (Sources::Single.as_str(), shown(Sources::Single)?),
            )
        }),
        counts: "the first distribution: with it the hash processor wins at 500 and 1000 with up to 10 cycles for an element, and with the 6 \
                 that are assumed it also wins at 10 000; with one source four lists win at the three lengths \
                 (xiong2018.unload.hash_wins_mid, xiong2018.unload.p2l_wins_large)",
    },
    Contradiction {
        number: 18,
        place: "abstract, VI; section V-A2",
        says: [
            "one to two orders of magnitude over both the ALPU and the hash processor",
            "the hash processor wins at 500 and 1000 entries against one list and four",
        ],
        procedure: Procedure::Measure(|designs| {
            let of_each = |ratios: [f64; 3]| {
                format!("{:.2}, {:.2}, {:.2} times with 1, 4, 64 lists", ratios[0], ratios[1], ratios[2])
            };
            let (mut over_alpu, mut over_hash) = ([0.0; 3], [0.0; 3]);
            for (place, design) in designs.all().into_iter().enumerate() {
                let theirs = [alpu(&designs.alpu_by_tanabe2013, 1000)?, hash(&designs.hash, 1000, Sources::InTurn)?];
                let ours = [preposted_on(design, 1000)?, unloaded_on(design, 1000, Sources::InTurn)?];
                over_alpu[place] = theirs[0].0 as f64 / ours[0].0 as f64;
                over_hash[place] = theirs[1].0 as f64 / ours[1].0 as f64;
            }
            both(
                ("over the ALPU, by Tanabe and Ohta, latency at 1000", of_each(over_alpu)),
                ("over the hash processor, unloading 1000", of_each(over_hash)),
            )
        }),
        counts: "both, each as its own claim: xiong2018.overall.orders, whose range overlaps, and xiong2018.unload.hash_wins_mid",
    },
    Contradiction {
        number: 19,
        place: "section I; table I",
        says: ["about 10 % of the logic", "8.2 % for matching alone, 11.3 % with processor and network"],
        procedure: Procedure::Shown(
            |_| {
                both(
                    ("matching with 64 lists", format!("{:.1} %", 100.0 * share_of(&["xiong2018.t1.p2l64_alms"])?)),
                    (
                        "all of table I",
                        format!(
                            "{:.1} %",
                            100.0
                                * share_of(&[
                                    "xiong2018.t1.cpu_alms",
                                    "xiong2018.t1.net_alms",
                                    "xiong2018.t1.p2l64_alms"
                                ])?
                        ),
                    ),
                )
            },
            "arithmetic on printed numbers",
        ),
        counts: "the second, which the sentence is about; arithmetic on printed numbers, in which no model has a part (xiong2018.overall.logic)",
    },
    Contradiction {
        number: 20,
        place: "section III-C1, III-D; MPI",
        says: [
            "first empty slot, lowest slot that matches, lists filled and emptied in turn",
            "a message matches the oldest receive that accepts it",
        ],
        procedure: Procedure::Measure(|designs| {
            let shown = |corrections| {
                Ok::<_, MeasureError>(format!(
                    "of receives 5 and 8, alike, {} is matched first",
                    refilled(designs, corrections)?.0
                ))
            };
            both(
                ("as published: `cam_list:paper_literal`", shown(mb_cam_list::Corrections::NONE)?),
                ("in MPI's order: the other presets", shown(mb_cam_list::Corrections::ALL)?),
            )
        }),
        counts: "the second: the first breaks MPI's order; `engines/cam_list/README.md` has the five places and their price",
    },
];
