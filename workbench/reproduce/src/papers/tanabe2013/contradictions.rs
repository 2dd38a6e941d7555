// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where Tanabe and Ohta contradicts itself.

use mb_catalog::EngineChoice;
use mb_lhs::{Attribute, LhsParameters};

use super::designs::{APART, Change, DEPTH, Designs, changed, search, slope};
use crate::claim_test::Procedure;
use crate::contradictions::{Contradiction, both};
use crate::error::MeasureError;

/// Megahertz of BlueGene/P, 8.5 times the 100 of DIMMnet-2 (tanabe2013.bgp.clock).
const BGP_MHZ: f64 = 850.0;

pub(super) const CONTRADICTIONS: &[Contradiction<Designs>] = &[
    Contradiction {
        number: 9,
        place: "section 7; 4.2",
        says: ["1000 messages take about 30 us", "a message takes 44.4 ns, so 1000 take 44.4 us"],
        procedure: Procedure::Measure(|designs| {
            let time =
                |design: &EngineChoice| Ok::<_, MeasureError>(format!("{:.1} us", search(design, 1000)?.as_ns() / 1e3));
            both(("on DIMMnet-3", time(&designs.dimmnet3)?), ("on DIMMnet-2", time(&designs.dimmnet2)?))
        }),
        counts: "the first, read as DIMMnet-3, for which the paper gives about 30 ns for each message (tanabe2013.lhs.latency_1000)",
    },
    Contradiction {
        number: 10,
        place: "section 4.2; 4.2, 7",
        says: [
            "14.3 times is 6 times by the memories, 600 to 100 ns, and 2.4 times by caches and prefetching",
            "the loop of 35 ns is on both sides: 44.4 ns of 635",
        ],
        procedure: Procedure::Measure(|designs| {
            let (without, with) = (slope(&designs.undivided)?, slope(&designs.dimmnet2)?);
            // The machine between the two: heads in the LH buffer, read past the caches at once.
            let between =
                slope(&changed(&designs.dimmnet2, |p| (p.attribute, p.word) = (Attribute::Uncacheable, 16))?)?;
            let split =
                |memories: f64, caches: f64| format!("{memories:.2} by the memories, {caches:.2} by the caches");
            both(
                ("6 and what is left of the whole", split(6.0, without / with / 6.0)),
                ("from a machine with LHS and without caches", split(without / between, between / with)),
            )
        }),
        counts: "the first, as printed, for tanabe2013.lhs.cache_gain; the second is what a run shows",
    },
    Contradiction {
        number: 11,
        place: "abstract, 4.2; tables 2 and 3",
        says: [
            "38.5 times as fast as BlueGene/P at a clock 8.5 times slower",
            "the host searches, at 2.6 GHz, which is 3.06 times faster",
        ],
        procedure: Procedure::Measure(|designs| {
            let ours = slope(&designs.dimmnet2)?;
            let bgp = slope(&designs.bgp)? * BGP_MHZ / 1e3;
            let LhsParameters { clock: nic, host_clock: host, .. } = designs.dimmnet2.parameters.typed();
            let cycles = |clock: mb_core::Clock| {
                let cycles = ours * clock.hertz() as f64 / 1e9;
                format!("{cycles:.1} cycles for each message, BlueGene/P {bgp:.0}")
            };
            both(("by the clock of the NIC", cycles(nic)), ("by the clock of the host", cycles(host)))
        }),
        counts: "neither: the time does not depend on it, and claims for each megahertz are not testable (tanabe2013.lhs.per_frequency)",
    },
    Contradiction {
        number: 12,
        place: "section 4.2; abstract, 7",
        says: ["the ALPU is always a little faster than DIMMnet-2", "LHS scales better than the ALPU"],
        procedure: Procedure::Measure(|designs| {
            let (alpu, ours) = (slope(&designs.alpu)?, slope(&designs.dimmnet2)?);
            let mhz = |design: &EngineChoice| {
                design.parameters.clock().expect("both designs have a clock").hertz() as f64 / 1e9
            };
            // Beyond the cells, where the scale shows.
            let grows =
                |design| Ok::<_, MeasureError>((search(design, DEPTH)? - search(design, DEPTH - 100)?).as_ns() / 100.0);
            let beyond =
                [grows(&designs.alpu)? * mhz(&designs.alpu), grows(&designs.dimmnet2)? * mhz(&designs.dimmnet2)];
            both(
                ("in time, to depth 1000", format!("{alpu:.1} ns and {ours:.1} ns for each message")),
                (
                    "by clocks of ALPU and NIC, beyond the cells",
                    format!("{:.1} and {:.1} cycles", beyond[0], beyond[1]),
                ),
            )
        }),
        counts: "neither: the slope of our ALPU and the loop of our host are both fitted (tanabe2013.alpu128.vs_dimmnet2, tanabe2013.lhs.per_frequency)",
    },
    Contradiction {
        number: 13,
        place: "sections 4.2, 6, 7; 1 and 4.2",
        says: ["2.3 times as fast as QsNET-II", "100 ns and 44.4 ns for each message, which is 2.25 times"],
        procedure: Procedure::Measure(|designs| {
            let [near, line] = APART.map(|(_, change)| {
                Ok::<_, MeasureError>(slope(&designs.qsnet2)? / slope(&changed(&designs.dimmnet2, change)?)?)
            });
            both((APART[0].0, format!("{:.2} times", near?)), (APART[1].0, format!("{:.2} times", line?)))
        }),
        counts: "the first, as printed: 2.25 rounds to it; how far apart envelopes lie matters more (14)",
    },
    Contradiction {
        number: 14,
        place: "section 4.2; 3",
        says: [
            "envelopes of 16 bytes lie one behind the other",
            "an entry of the LH buffer is as long as a cache line",
        ],
        procedure: Procedure::Measure(|designs| {
            let [near, line] = APART.map(|(_, change)| {
                let three = |more: Change| slope(&changed(&changed(&designs.dimmnet3, change)?, more)?);
                let two = slope(&changed(&designs.dimmnet2, change)?)?;
                let (off, cached) = (three(|p| p.hwp = false)?, three(|p| p.attribute = Attribute::Cached)?);
                Ok::<_, MeasureError>(format!(
                    "DIMMnet-2 {two:.1} ns; DIMMnet-3 without prefetching {:.2} times its cache",
                    off / cached
                ))
            });
            both((APART[0].0, near?), (APART[1].0, line?))
        }),
        counts: "the first, which was measured: with a line for each, figure 6 would not be close to the cache (tanabe2013.lhs.entry_line_size)",
    },
];
