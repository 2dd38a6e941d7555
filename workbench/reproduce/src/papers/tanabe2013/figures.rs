// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 4.3, figures 5 and 6: settings of prefetching and caching, and what the bottleneck is.

use mb_catalog::EngineChoice;
use mb_core::{Clock, Cycles};
use mb_lhs::{Attribute, ENVELOPE, LhsParameters};

use super::designs::{APART, Change, Designs, PACKED, apart, changed, slope};
use super::structure::different;
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, measure, number};
use crate::error::MeasureError;
use crate::verdict::Measured;

/// The six conditions of figure 5; the second is the one that the paper found best.
const FIGURE5: [Change; 6] = [
    |p| (p.hwp, p.swp) = (false, false),
    |p| (p.hwp, p.swp) = (true, false),
    |p| (p.hwp, p.swp, p.swp_offset) = (true, true, 0),
    |p| (p.hwp, p.swp, p.swp_offset) = (false, true, 0),
    |p| (p.hwp, p.swp, p.swp_offset) = (false, true, 256),
    |p| (p.hwp, p.swp, p.swp_offset) = (false, true, 512),
];

/// The four conditions of figure 6.
const FIGURE6: [Change; 4] = [
    |p| (p.attribute, p.hwp) = (Attribute::Uncacheable, false),
    |p| (p.attribute, p.hwp) = (Attribute::WriteBack, false),
    |p| (p.attribute, p.hwp) = (Attribute::WriteBack, true),
    |p| (p.attribute, p.hwp) = (Attribute::Cached, true),
];

/// How far a time that is close may be off: as far as a number that the paper calls about.
const CLOSE: f64 = 1.25;
/// Far more: an order of magnitude.
const FAR: f64 = 10.0;

const SAME_LATENCY: &str = "Both machines wait equally long for memory, as section 4.2 says, and 16 bytes for each envelope load neither \
     bus. The same wait is a larger share of the time on the faster host of DIMMnet-3. In nanoseconds DIMMnet-2 \
     varies more.";
const NO_OVERLAP: &str = "Without prefetching, our core waits for memory at each sector of eight envelopes. An out-of-order core would \
     begin to wait while it works on the envelope before. On the scale of figure 6, which includes the \
     uncacheable setting, the difference is small.";
const HOST_BOUND: &str = "With envelopes of 16 bytes a search uses a part of the bus's bandwidth, and a second bus changes nothing. \
     With a line for each envelope, the bus limits the search.";

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    measure("tanabe2013.fig5.conditions", |designs: &Designs| number(different(&designs.dimmnet2, &FIGURE5)? as f64)),
    measure("tanabe2013.fig6.conditions", |designs: &Designs| number(different(&designs.dimmnet3, &FIGURE6)? as f64)),
    measure("tanabe2013.fig5.best", |designs: &Designs| {
        let mut interpretations = apart(|change| best(&changed(&designs.dimmnet2, change)?))?;
        let free = best(&changed(&designs.dimmnet2, |parameters| parameters.swp_cycles = Cycles::ZERO)?)?;
        interpretations.push(Interpretation::new("if a prefetch instruction costs nothing", free));
        Ok(interpretations)
    }),
    differs("tanabe2013.fig5.sensitive", sensitivity, SAME_LATENCY),
    differs("tanabe2013.fig6.close_to_cached", close_to_cached, NO_OVERLAP),
    measure("tanabe2013.fig6.uncached", |designs: &Designs| {
        apart(|change| {
            let [uncacheable, write_back, ..] = times(&changed(&designs.dimmnet3, change)?, &FIGURE6)?[..] else {
                return Err(MeasureError::NotSeen("figure 6"));
            };
            // The paper does not say in how many loads an envelope is read past the caches.
            let loads = ENVELOPE / designs.dimmnet3.parameters.typed::<LhsParameters>().word;
            let shown = format!("{uncacheable:.0} ns if in {loads} loads, write-back {write_back:.1} ns");
            Ok(Measured::Fact(uncacheable > FAR * write_back, shown))
        })
    }),
    differs(
        "tanabe2013.dimmnet2.bottleneck",
        |designs: &Designs| {
            apart(|change| {
                let (bus, host) = halved(&changed(&designs.dimmnet2, change)?)?;
                Ok(Measured::Fact(bus > host, gains(bus, host)))
            })
        },
        HOST_BOUND,
    ),
    measure("tanabe2013.dimmnet3.bottleneck", |designs: &Designs| {
        apart(|change| {
            let (bus, host) = halved(&changed(&designs.dimmnet3, change)?)?;
            Ok(Measured::Fact(host > bus, gains(bus, host)))
        })
    }),
];

/// Nanoseconds for each message, by setting.
fn times(design: &EngineChoice, settings: &[Change]) -> Result<Vec<f64>, MeasureError> {
    settings.iter().map(|change| slope(&changed(design, change)?)).collect()
}

fn best(design: &EngineChoice) -> Result<Measured, MeasureError> {
    let times = times(design, &FIGURE5)?;
    let others = times.iter().enumerate().filter(|(setting, _)| *setting != 1).map(|(_, time)| *time);
    let next = others.fold(f64::INFINITY, f64::min);
    Ok(Measured::Fact(times[1] < next, format!("{:.1} ns, the best of the others {next:.1} ns", times[1])))
}

/// The spread over the settings of each figure that go through the cache.
fn sensitivity(designs: &Designs) -> Interpretations {
    let mut interpretations = Vec::new();
    for (name, change) in APART {
        let ends = |design, settings: &[Change]| {
            let times = times(&changed(design, change)?, settings)?;
            Ok::<_, MeasureError>(
                times.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), time| (low.min(*time), high.max(*time))),
            )
        };
        let (two, three) = (ends(&designs.dimmnet2, &FIGURE5)?, ends(&designs.dimmnet3, &FIGURE6[1..])?);
        let (ours, theirs) = (two.1 / two.0, three.1 / three.0);
        interpretations.push(Interpretation::new(
            name,
            Measured::Fact(ours > theirs, format!("slowest to fastest {ours:.2} and {theirs:.2}")),
        ));
        if name == PACKED {
            let (ours, theirs) = (two.1 - two.0, three.1 - three.0);
            let shown = format!("{ours:.1} and {theirs:.1} ns between them");
            interpretations
                .push(Interpretation::new("16 bytes apart, in nanoseconds", Measured::Fact(ours > theirs, shown)));
        }
    }
    Ok(interpretations)
}

fn close_to_cached(designs: &Designs) -> Interpretations {
    let mut interpretations = Vec::new();
    for (name, change) in APART {
        let [uncacheable, off, on, cached] = times(&changed(&designs.dimmnet3, change)?, &FIGURE6)?[..] else {
            return Err(MeasureError::NotSeen("figure 6"));
        };
        let shown = format!("{off:.1} and {on:.1} ns against {cached:.1}");
        interpretations.push(Interpretation::new(name, Measured::Fact(off.max(on) < CLOSE * cached, shown)));
        if name == PACKED {
            let share = (off.max(on) - cached) / (uncacheable - cached);
            let shown = format!("{:.1} % of the way to uncacheable", 100.0 * share);
            interpretations.push(Interpretation::new(
                "16 bytes apart, on the scale of the figure",
                Measured::Fact(share < 0.1, shown),
            ));
        }
    }
    Ok(interpretations)
}

/// What a bus of twice the bandwidth saves, and what a host of twice the clock saves, as shares of
/// the time.
fn halved(design: &EngineChoice) -> Result<(f64, f64), MeasureError> {
    let saved = |change: Change| Ok::<_, MeasureError>(1.0 - slope(&changed(design, change)?)? / slope(design)?);
    let bus = saved(|parameters| parameters.bandwidth *= 2)?;
    let host = saved(|parameters| parameters.host_clock = Clock::from_khz(2 * parameters.host_clock.hertz() / 1000))?;
    Ok((bus, host))
}

fn gains(bus: f64, host: f64) -> String {
    format!("twice the bandwidth saves {:.1} %, twice the clock of the host {:.1} %", 100.0 * bus, 100.0 * host)
}
