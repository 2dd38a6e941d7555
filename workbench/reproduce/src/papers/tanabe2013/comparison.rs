// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Figure 4 and what is said of it: slopes, ratios, order.

use mb_catalog::EngineChoice;
use mb_lhs::LhsParameters;

use super::designs::{DEPTH, Designs, apart, changed, search, slope};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, fact, measure, number};
use crate::error::MeasureError;
use crate::verdict::Measured;

const EXPOSED: &str = "Section 4.2 leaves 9.4 ns for each message beside its loop of 35 ns, to which our loop was fitted. A \
     prefetcher that stays 256 bytes ahead hides the wait for memory behind the loops of a line with four \
     envelopes, except for two misses in each page. With a line for each envelope, the bus takes longer for a \
     line than the loop, and the slope is {tanabe2013.dimmnet2_lhs.ns_per_msg @ one in each cache line:.1} ns.";
const GAIN: &str = "Follows from the time of DIMMnet-2 for a message, which is {tanabe2013.dimmnet2_lhs.ns_per_msg:.1} ns here \
     and {tanabe2013.dimmnet2_lhs.ns_per_msg.published} ns in the paper (see tanabe2013.dimmnet2_lhs.ns_per_msg).";
const DECOMPOSED: &str = "The paper divides 14.3 by 600/100 and leaves out the loop of 35 ns, which both sides have. In addition, our \
     ratio is {tanabe2013.dimmnet2_lhs.speedup:.1} in place of {tanabe2013.dimmnet2_lhs.speedup.published}.";
/// The interpretation with nothing but the fitted loop.
const LOOP_ALONE: &str = "DIMMnet-3, the fitted loop alone";
const DESIRED: &str = "With 16 groups, which are ours, a search of 1000 messages reads 63. The paper aims at a factor \
     of ten and gives no number of groups.";

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    measure("tanabe2013.fig4.conditions", |designs: &Designs| {
        let mut times =
            designs.figure4().map(|design| search(design, DEPTH)).into_iter().collect::<Result<Vec<_>, _>>()?;
        times.sort();
        times.dedup();
        number(times.len() as f64)
    }),
    differs(
        "tanabe2013.dimmnet2_lhs.ns_per_msg",
        |designs: &Designs| apart(|change| Ok(Measured::Number(slope(&changed(&designs.dimmnet2, change)?)?))),
        EXPOSED,
    ),
    differs("tanabe2013.dimmnet2_lhs.speedup", |designs: &Designs| over(designs, &designs.undivided), GAIN),
    differs("tanabe2013.dimmnet2_lhs.vs_qsnet", |designs: &Designs| over(designs, &designs.qsnet2), GAIN),
    differs("tanabe2013.dimmnet2_lhs.vs_bgp", |designs: &Designs| over(designs, &designs.bgp), GAIN),
    differs(
        "tanabe2013.lhs.cache_gain",
        |designs: &Designs| {
            // The rest that the paper's division leaves: the whole gain over that of the latencies.
            let whole = over(designs, &designs.undivided)?;
            let part = |interpretation: Interpretation| {
                let gain = interpretation.measured.as_number().ok_or(MeasureError::NotSeen("a ratio"))?;
                Ok(Interpretation { measured: Measured::Number(gain / 6.0), ..interpretation })
            };
            whole.into_iter().map(part).collect()
        },
        DECOMPOSED,
    ),
    measure("tanabe2013.lhs.below_mem_latency", |designs: &Designs| {
        apart(|change| {
            let ours = slope(&changed(&designs.dimmnet2, change)?)?;
            let latency = designs.dimmnet2.parameters.typed::<LhsParameters>().latency.as_ns();
            let fitted = loop_ns(&designs.dimmnet2);
            Ok(Measured::Fact(ours < latency, format!("{ours:.1} ({fitted:.1} the fitted loop) and {latency} ns")))
        })
    }),
    measure("tanabe2013.dimmnet2_nolhs.slowest", |designs: &Designs| {
        let [slowest, others @ ..] = designs.figure4();
        let mut right = true;
        for depth in [1, 2, 10, 100, 600, 1024] {
            let time = search(slowest, depth)?;
            for other in others {
                right &= search(other, depth)? < time;
            }
        }
        fact(right, "at depths of 1 to 1024")
    }),
    measure("tanabe2013.dimmnet3_lhs.ns_per_msg", |designs: &Designs| {
        let mut interpretations = apart(|change| Ok(Measured::Number(slope(&changed(&designs.dimmnet3, change)?)?)))?;
        interpretations.push(Interpretation::calibrated(LOOP_ALONE, Measured::Number(loop_ns(&designs.dimmnet3))));
        Ok(interpretations)
    }),
    measure("tanabe2013.lhs.latency_1000", |designs: &Designs| {
        let time = |design: &EngineChoice| Ok::<_, MeasureError>(Measured::Number(search(design, 1000)?.as_ns() / 1e3));
        Ok(vec![
            Interpretation::new("DIMMnet-3", time(&designs.dimmnet3)?),
            Interpretation::new("DIMMnet-2", time(&designs.dimmnet2)?),
            Interpretation::calibrated(LOOP_ALONE, Measured::Number(loop_ns(&designs.dimmnet3))),
        ])
    }),
    differs(
        "tanabe2013.ipush.combined",
        |designs: &Designs| {
            let groups = |parameters: &mut LhsParameters| parameters.groups = 16;
            let without = slope(&changed(&designs.undivided, groups)?)?;
            apart(|change| {
                let with = changed(&changed(&designs.dimmnet2, groups)?, change)?;
                Ok(Measured::Number(without / slope(&with)?))
            })
        },
        GAIN,
    ),
    differs(
        "tanabe2013.lhs.grouping_order",
        |designs: &Designs| number(slope(&designs.dimmnet3)? / slope(&designs.ipush)?),
        DESIRED,
    ),
];

/// Nanoseconds of the host's loop, which was fitted to DIMMnet-2 without LHS: what a message costs
/// if nothing is waited for.
fn loop_ns(design: &EngineChoice) -> f64 {
    let parameters: LhsParameters = design.parameters.typed();
    parameters.host_clock.span(parameters.r#loop).as_ns()
}

/// How much longer a deep search takes on `other` than on DIMMnet-2, in both interpretations.
fn over(designs: &Designs, other: &EngineChoice) -> Interpretations {
    let other = slope(other)?;
    apart(|change| Ok(Measured::Number(other / slope(&changed(&designs.dimmnet2, change)?)?)))
}
