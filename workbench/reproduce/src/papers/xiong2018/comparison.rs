// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections IV-B and V: against the ALPU and the hash processor.
//!
//! Neither comparator has a number of its own in the paper. The slope and the fixed time of our
//! ALPU of 256 cells were chosen so that the paper's two sentences on it come out; what counts is
//! therefore the same unit with the times that follow from Tanabe and Ohta. The cycles of our hash
//! processor are assumed, and the paper does not say from whom its messages come: three
//! distributions of sources are tried, of which the even one counts.

use mb_catalog::CatalogError;
use mb_core::engine::{Accepted, EngineEntry, ReplayEngine};
use mb_core::{Cycles, Envelope, Initiator, MsgId, Op, ParameterSet, Pattern, Picos, RecvId, Source};
use mb_hash_buckets::HashBucketsParameters;

use super::designs::Designs;
use crate::benchmarks::{self, EngineRun, Sources};
use crate::claim_test::{
    ClaimTest, Interpretation, Interpretations, count, differs, fact, measure, shown as shown_only,
};
use crate::error::MeasureError;
use crate::verdict::Measured;

/// Both systems of section IV-B have this much network time.
const NETWORK: Picos = Picos::from_ns(200);

pub(super) const BY_S1: &str = "256 cells with the processor of Tanabe and Ohta";
pub(super) const FITTED: &str = "with the processor that was fitted to this";

const INPUT: &str = "an input of the model, which a run gives back";
const ONE_MICROSECOND: &str = "With the times that follow from Tanabe and Ohta, the search of our ALPU takes \
     {xiong2018.lat.alpu_gap_const:.3} us longer than four lists. The microsecond is the way from the processor \
     to the NIC and to the unit. Tanabe and Ohta leave it out, and the paper gives no other number for it.";
const SLOPE: &str = "The two papers contradict each other. Tanabe and Ohta put the ALPU below 44.4 ns for each entry; \
     {xiong2018.lat.p2l4_vs_alpu_1000.published} times four lists means more than that for each entry beyond the \
     cells.";
const EVEN_BUCKETS: &str = "With 64 even buckets the hash processor reads N/64 elements where four lists read N/4, so it \
     stays ahead at the lengths beyond the CAM that were run. Three distributions of sources were \
     tried, none of which gives both sentences of the paper. Sources that become more uneven with the \
     length of the queue were not tried.";
const EVEN_ORDER: &str = "64 even buckets have as many elements to read as 64 lists. The difference that remains is that of cycles for \
     an element and of clocks. With shares of 1/k the ratio is {xiong2018.unload.p2l64_order @ 64 sources, the \
     k-th as often as 1/k:.0}, and with a single source {xiong2018.unload.p2l64_order @ one source:.0}.";

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    shown_only("xiong2018.alpu256.entries", |designs: &Designs| count(cells(&designs.alpu)? as usize), INPUT),
    measure("xiong2018.alpu.constant_if_fits", |designs: &Designs| {
        let times = (1..=256).map(|length| alpu(&designs.alpu, length)).collect::<Result<Vec<_>, _>>()?;
        let (first, beyond) = (times[0], alpu(&designs.alpu, 257)?);
        let constant = times.iter().all(|time| *time == first) && beyond > first;
        fact(constant, format!("{} at 1 to 256 entries, {} at 257", shown(first), shown(beyond)))
    }),
    differs(
        "xiong2018.lat.alpu_gap_const",
        |designs: &Designs| {
            let ours = preposted(&mb_cam_list::ENTRY, &designs.p2l4, 200)?;
            let gap = |settings: &ParameterSet| {
                Ok::<_, MeasureError>(Measured::Number((alpu(settings, 200)? - ours).as_ns() / 1e3))
            };
            Ok(vec![
                Interpretation::new(BY_S1, gap(&designs.alpu_by_tanabe2013)?),
                Interpretation::calibrated(FITTED, gap(&designs.alpu)?),
            ])
        },
        ONE_MICROSECOND,
    ),
    differs(
        "xiong2018.lat.p2l4_vs_alpu_1000",
        |designs: &Designs| {
            let ours = preposted(&mb_cam_list::ENTRY, &designs.p2l4, 1000)? + NETWORK;
            let ratio = |settings: &ParameterSet| {
                Ok::<_, MeasureError>(Measured::Number(over(alpu(settings, 1000)? + NETWORK, ours)))
            };
            Ok(vec![
                Interpretation::new(BY_S1, ratio(&designs.alpu_by_tanabe2013)?),
                Interpretation::calibrated(FITTED, ratio(&designs.alpu)?),
            ])
        },
        SLOPE,
    ),
    measure("xiong2018.lat.outperforms_when_traversal_dominates", |designs: &Designs| {
        let faster = |settings: &ParameterSet| {
            let mut least = f64::INFINITY;
            for length in [257, 300, 400, 500, 600, 700, 800, 900, 1000] {
                for design in [&designs.two_level, &designs.p2l4] {
                    least = least.min(over(alpu(settings, length)?, preposted(&mb_cam_list::ENTRY, design, length)?));
                }
            }
            Ok::<_, MeasureError>(Measured::Fact(least > 1.0, format!("{least:.1} times as fast at least")))
        };
        Ok(vec![
            Interpretation::new(BY_S1, faster(&designs.alpu_by_tanabe2013)?),
            Interpretation::calibrated(FITTED, faster(&designs.alpu)?),
        ])
    }),
    shown_only("xiong2018.hash64.buckets", buckets, INPUT),
    measure("xiong2018.hash64.serial", serial),
    measure("xiong2018.unload.below256", below_256),
    measure("xiong2018.unload.hash_wins_mid", hash_wins_mid),
    differs(
        "xiong2018.unload.p2l_wins_large",
        |designs: &Designs| {
            each_distribution(|sources| {
                let hash = unloaded(&mb_hash_buckets::ENTRY, &designs.hash, LARGE, sources)?;
                let ours = unloaded(&mb_cam_list::ENTRY, &designs.p2l4, LARGE, sources)?;
                let ratio = over(hash, ours);
                Ok(Measured::Fact(ratio > 1.0, format!("{ratio:.2} times as fast with four lists")))
            })
        },
        EVEN_BUCKETS,
    ),
    differs(
        "xiong2018.unload.p2l64_order",
        |designs: &Designs| {
            each_distribution(|sources| {
                let hash = unloaded(&mb_hash_buckets::ENTRY, &designs.hash, LARGE, sources)?;
                Ok(Measured::Number(over(hash, unloaded(&mb_cam_list::ENTRY, &designs.p2l64, LARGE, sources)?)))
            })
        },
        EVEN_ORDER,
    ),
    measure("xiong2018.overall.orders", |designs: &Designs| {
        let ours = preposted(&mb_cam_list::ENTRY, &designs.p2l4, 1000)? + NETWORK;
        let over_alpu = over(alpu(&designs.alpu_by_tanabe2013, 1000)? + NETWORK, ours);
        each_distribution(|sources| {
            let hash = unloaded(&mb_hash_buckets::ENTRY, &designs.hash, LARGE, sources)?;
            let over_hash = over(hash, unloaded(&mb_cam_list::ENTRY, &designs.p2l64, LARGE, sources)?);
            Ok(Measured::Range(over_alpu.min(over_hash), over_alpu.max(over_hash)))
        })
    }),
];

/// The first source whose receive is read by a message from source 0.
fn buckets(designs: &Designs) -> Interpretations {
    let mut run = EngineRun::new(built(&mb_hash_buckets::ENTRY, &designs.hash)?);
    let envelope = |bits, source| Envelope { bits, initiator: Initiator(source) };
    for source in 1..=1000_u32 {
        let pattern = Pattern::exactly(envelope(0, source));
        run.serve(Op::Post { recv: RecvId(source.into()), pattern })?;
        let arrival = Op::Arrive { msg: MsgId(source.into()), envelope: envelope(1, 0) };
        if run.serve(arrival)?.0.visits > 0 {
            return count(source as usize);
        }
    }
    Err(MeasureError::NotSeen("a second source in a bucket"))
}

/// The length of the longer of the paper's large queues is three times this; all ratios have
/// settled here.
const LARGE: u64 = 10_000;

fn each_distribution(measured: impl Fn(Sources) -> Result<Measured, MeasureError>) -> Interpretations {
    Sources::ALL.into_iter().map(|sources| Ok(Interpretation::new(sources.as_str(), measured(sources)?))).collect()
}

fn built(entry: &EngineEntry, settings: &ParameterSet) -> Result<Box<dyn ReplayEngine>, MeasureError> {
    Ok((entry.build)(settings).map_err(|error| CatalogError::Parameter { engine: entry.card.name, error })?)
}

/// How long the last of `length` receives takes to be matched.
fn preposted(entry: &EngineEntry, settings: &ParameterSet, length: u64) -> Result<Picos, MeasureError> {
    benchmarks::preposted(built(entry, settings)?, length, Sources::Single)
}

/// How long it takes to match `length` receives, the last first.
fn unloaded(
    entry: &EngineEntry,
    settings: &ParameterSet,
    length: u64,
    sources: Sources,
) -> Result<Picos, MeasureError> {
    benchmarks::unloading(built(entry, settings)?, length, sources)
}

/// [`preposted`] on one of the paper's designs.
pub(super) fn preposted_on(design: &ParameterSet, length: u64) -> Result<Picos, MeasureError> {
    preposted(&mb_cam_list::ENTRY, design, length)
}

/// [`unloaded`] on one of the paper's designs.
pub(super) fn unloaded_on(design: &ParameterSet, length: u64, sources: Sources) -> Result<Picos, MeasureError> {
    unloaded(&mb_cam_list::ENTRY, design, length, sources)
}

/// [`unloaded`] on a hash processor.
pub(super) fn hash(settings: &ParameterSet, length: u64, sources: Sources) -> Result<Picos, MeasureError> {
    unloaded(&mb_hash_buckets::ENTRY, settings, length, sources)
}

pub(super) fn alpu(settings: &ParameterSet, length: u64) -> Result<Picos, MeasureError> {
    preposted(&mb_alpu::ENTRY, settings, length)
}

/// The length up to which an ALPU takes as long as for one entry.
fn cells(settings: &ParameterSet) -> Result<u64, MeasureError> {
    let one = alpu(settings, 1)?;
    for length in 2..5000 {
        if alpu(settings, length)? > one {
            return Ok(length - 1);
        }
    }
    Err(MeasureError::NotSeen("the end of the cells"))
}

/// The hash processor with other cycles for each element, which the paper does not give.
fn with_element(hash: &ParameterSet, cycles: u64) -> Result<ParameterSet, MeasureError> {
    let mut changed = hash.clone();
    let change = |parameters: &mut HashBucketsParameters| parameters.element = Cycles(cycles);
    changed
        .change(&Source::User, change)
        .map_err(|error| CatalogError::Parameter { engine: mb_hash_buckets::ENTRY.card.name, error })?;
    Ok(changed)
}

/// The claim holds with the cycles that we assume for each element, and from a number on.
fn below_256(designs: &Designs) -> Interpretations {
    let least = |hash: &ParameterSet, sources| {
        let mut least = f64::INFINITY;
        for length in [16, 64, 128, 255] {
            let hash = unloaded(&mb_hash_buckets::ENTRY, hash, length, sources)?;
            for design in designs.all() {
                least = least.min(over(hash, unloaded(&mb_cam_list::ENTRY, design, length, sources)?));
            }
        }
        Ok::<_, MeasureError>(least)
    };
    each_distribution(|sources| {
        let mut from = 0;
        while least(&with_element(&designs.hash, from)?, sources)? <= 1.0 {
            from += 1;
        }
        let (least, assumed) =
            (least(&designs.hash, sources)?, designs.hash.typed::<mb_hash_buckets::HashBucketsParameters>().element.0);
        let shown = format!("{least:.1} times with {assumed} assumed cycles, holds from {from} on");
        Ok(Measured::Fact(least > 1.0, shown))
    })
}

/// The paper gives no cycles of the hash processor. The claim holds with those we assume for each
/// element, and up to a limit.
fn hash_wins_mid(designs: &Designs) -> Interpretations {
    let least = |hash: &ParameterSet, sources| {
        let mut least = f64::INFINITY;
        for length in [500, 1000] {
            let hash = unloaded(&mb_hash_buckets::ENTRY, hash, length, sources)?;
            for design in [&designs.two_level, &designs.p2l4] {
                least = least.min(over(unloaded(&mb_cam_list::ENTRY, design, length, sources)?, hash));
            }
        }
        Ok::<_, MeasureError>(least)
    };
    each_distribution(|sources| {
        let mut most = 0;
        while least(&with_element(&designs.hash, most + 1)?, sources)? > 1.0 {
            most += 1;
        }
        let (least, assumed) =
            (least(&designs.hash, sources)?, designs.hash.typed::<mb_hash_buckets::HashBucketsParameters>().element.0);
        let shown = format!("{least:.2} times with {assumed} assumed cycles, wins to {most}");
        Ok(Measured::Fact(least > 1.0, shown))
    })
}

/// An arrival and a post that come at once are served one after the other, though they search
/// different queues.
fn serial(designs: &Designs) -> Interpretations {
    let filled = || {
        let mut run = EngineRun::new(built(&mb_hash_buckets::ENTRY, &designs.hash)?);
        for number in 1..=100 {
            run.serve(Sources::Single.post(number))?;
            run.serve(Sources::Single.arrive(1000 + number))?;
        }
        run.pause();
        Ok::<_, MeasureError>(run)
    };
    let (arrival, request) = (Sources::Single.arrive(100), Sources::Single.post(1100));
    let alone = [filled()?.serve(arrival)?.1, filled()?.serve(request)?.1];
    let mut run = filled()?;
    let (start, mut done) = (run.now, Vec::new());
    for op in [arrival, request] {
        if run.engine.offer(start, op) != Accepted::Yes {
            return Err(MeasureError::NotSeen("room for two operations"));
        }
    }
    run.engine.settle(&mut done);
    let [first, second] = done.as_slice() else { return Err(MeasureError::NotSeen("two answers")) };
    let ends = [first.at - start, second.at - start];
    fact(
        ends[0] == alone[0] && ends[1] >= alone[0] + alone[1],
        format!("{} and {} alone, {} together", shown(alone[0]), shown(alone[1]), shown(ends[1])),
    )
}

fn over(slow: Picos, fast: Picos) -> f64 {
    slow.0 as f64 / fast.0 as f64
}

fn shown(time: Picos) -> String {
    format!("{:.1} ns", time.as_ns())
}
