// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections 3 and 4.1: what the controller does with a message, what the host reads, and the sizes,
//! seen from words and times.

use mb_cam_list::{CamListParameters, Corrections, HardwareConfig, SteppedHardware};
use mb_catalog::{CatalogError, EngineChoice};
use mb_core::{Envelope, Op, Outcome, Pattern, Picos, ProbeId, RecvId};
use mb_lhs::{Attribute, Divider, DividerRegisters, LhsParameters, Store, WORD};

use super::designs::{Change, Designs, LINE_EACH, SETTING, apart, changed, search, searched};
use crate::benchmarks::{EngineRun, Sources};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, fact, measure, number, shown};
use crate::error::MeasureError;
use crate::verdict::Measured;

const STRIDE: &str = "Section 4.2 measures envelopes of 16 bytes, one behind the other. With a line for each envelope, \
     write-back without prefetching would be much slower than the cache, which contradicts section \
     4.3.";

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    measure("tanabe2013.lhs.split_rule", split_rule),
    measure("tanabe2013.lhs.len_check", |designs: &Designs| {
        let registers = registers(designs)?;
        let stores = |length| divided(registers, length, registers.size_location);
        let (short, long) = (stores(registers.entry), stores(registers.entry + 1));
        let is_divided = |stores: &[Store]| stores.contains(&Store::LargeWithPointer);
        fact(!is_divided(&short) && is_divided(&long), format!("{} bytes whole, one more divided", registers.entry))
    }),
    measure("tanabe2013.lhs.size_loc_reg", |designs: &Designs| {
        // The length is in one place and reads as zero in the others, so only the register that
        // names it divides.
        let places = [0, 4, 8, 12];
        let all = registers(designs)?;
        let mut right = true;
        for register in places {
            for place in places {
                let stores = divided(DividerRegisters { size_location: register, ..all }, 100, place);
                right &= stores.contains(&Store::LargeWithPointer) == (register == place);
            }
        }
        fact(right, format!("divided where the register says, at bytes {places:?}"))
    }),
    measure("tanabe2013.lhs.entry_len_reg", |designs: &Designs| {
        let all = registers(designs)?;
        let heads: Vec<_> = [32, 64, 128]
            .map(|entry| {
                let stores = divided(DividerRegisters { entry, pointer: 8, ..all }, 300, all.size_location);
                stores.iter().filter(|store| **store == Store::Head).count() as u64 * WORD
            })
            .to_vec();
        fact(heads == [24, 56, 120], format!("heads of {heads:?} bytes beside a pointer of 8"))
    }),
    differs(
        "tanabe2013.lhs.entry_line_size",
        |designs: &Designs| {
            apart(|change| {
                let design = changed(&designs.dimmnet2, change)?;
                let heads = heads_in_a_line(&design)?;
                Ok(Measured::Fact(heads == 1, format!("{heads} in a line")))
            })
        },
        STRIDE,
    ),
    measure("tanabe2013.lhs.access_ways", |designs: &Designs| {
        let ways: [Change; 3] = [
            |parameters| parameters.hwp = false,
            |_| (),
            |parameters| (parameters.hwp, parameters.swp, parameters.swp_offset) = (false, true, 256),
        ];
        number(different(&designs.dimmnet2, &ways)? as f64)
    }),
    measure("tanabe2013.lhs.size_order", |designs: &Designs| {
        let steps = steps(&designs.dimmnet2, 200)?;
        let shortest = steps.iter().min().copied().unwrap_or_default();
        let waits = steps.iter().filter(|step| **step > shortest).count();
        fact(waits <= 2, format!("{waits} of 200 envelopes waited for, the others took {:.1} ns", shortest.as_ns()))
    }),
    measure("tanabe2013.lhs.example_order", |designs: &Designs| {
        // B1, B2, A1 and A2 with bodies; the receive of A2.
        let at = |large| {
            let change = |parameters: &mut LhsParameters| (parameters.message, parameters.large) = (4096, large);
            search(&changed(&designs.dimmnet2, change)?, 4)
        };
        let body = at(Picos::from_ns(1000))?.0.abs_diff(at(Picos::ZERO)?.0);
        number(body as f64)
    }),
    shown("tanabe2013.alpu.cells", |designs: &Designs| number(constant_up_to(&designs.alpu, 2000)? as f64), SETTING),
    measure("tanabe2013.alpu.spill", |designs: &Designs| {
        let cells = constant_up_to(&designs.alpu, 2000)?;
        let times = [cells, cells + 1, cells + 2, 2 * cells].map(|depth| search(&designs.alpu, depth));
        let times = times.into_iter().collect::<Result<Vec<_>, _>>()?;
        fact(
            times.is_sorted() && times[0] < times[1],
            format!("constant up to {cells}, then {:.1} ns each", (times[2] - times[1]).as_ns()),
        )
    }),
    measure("tanabe2013.tcam.no_fifo", no_order),
    shown(
        "tanabe2013.dimmnet2.lh_entries",
        |designs: &Designs| {
            let steps = steps(&designs.dimmnet2, 1100)?;
            let large = designs.dimmnet2.parameters.typed::<LhsParameters>().large;
            let first = steps.iter().position(|step| *step > large);
            number(first.ok_or(MeasureError::NotSeen("the end of the LH buffer"))? as f64)
        },
        SETTING,
    ),
    measure("tanabe2013.dimmnet.vl", |designs: &Designs| {
        let at = |large| search(&changed(&designs.undivided, |parameters| parameters.large = large)?, 100);
        let reads = (at(Picos::from_ns(700))? - at(Picos::from_ns(600))?).0 / Picos::from_ns(100).0;
        fact(reads == 100, format!("{reads} vector loads for 100 envelopes"))
    }),
    measure("tanabe2013.bench.clear", |designs: &Designs| {
        let (completion, _, _) = searched(&designs.dimmnet2, 700)?;
        let found = matches!(completion.outcome, Outcome::Matched(RecvId(700), _));
        fact(
            found && completion.visits == 700,
            format!("envelope 700 matches, after {} that do not", completion.visits - 1),
        )
    }),
    measure("tanabe2013.bench.search_order", |designs: &Designs| {
        let (_, _, run) = searched(&designs.dimmnet2, 700)?;
        let times: Vec<_> = steps(&designs.dimmnet2, 700)?;
        let left = run.engine.queue_lengths().unexpected;
        fact(
            left == 699 && times.iter().all(|step| step.0 > 0),
            format!("each deeper envelope takes longer, {left} of 700 left in place"),
        )
    }),
    measure("tanabe2013.bench.flush", |designs: &Designs| {
        let again = |attribute| -> Result<(Picos, Picos), MeasureError> {
            let design = changed(&designs.dimmnet3, |parameters| parameters.attribute = attribute)?;
            let (_, first, mut run) = searched(&design, 700)?;
            run.pause();
            let (_, second) = run.serve(Sources::InTurn.post(699))?;
            Ok((first, second))
        };
        let ((first, second), (cached, _)) = (again(Attribute::WriteBack)?, again(Attribute::Cached)?);
        let line = Picos::from_ns(40);
        fact(
            first - second < line && cached < second,
            format!(
                "{:.2} us, again {:.2} us, forced into the cache {:.2} us",
                first.as_ns() / 1e3,
                second.as_ns() / 1e3,
                cached.as_ns() / 1e3
            ),
        )
    }),
    measure("tanabe2013.ipush.grouping", |designs: &Designs| {
        let (completion, _, _) = searched(&designs.ipush, 1000)?;
        let groups = designs.ipush.parameters.typed::<LhsParameters>().groups as u64;
        fact(
            groups > 1 && u64::from(completion.visits) == 1000_u64.div_ceil(groups),
            format!("{} of 1000 messages searched", completion.visits),
        )
    }),
    measure("tanabe2013.multicore.subqueues", |designs: &Designs| {
        let mut times = Vec::new();
        for design in [&designs.ipush, &designs.multicore] {
            let mut run = searched(design, 1000)?.2;
            run.pause();
            let any = Pattern { initiator: None, ..pattern(Sources::InTurn, 999) };
            times.push(run.serve(Op::Post { recv: RecvId(0), pattern: any })?.1.as_ns() / 1e3);
        }
        fact(
            times[1] < times[0],
            format!("any source at 999: {:.1} us by one core, {:.1} us by several", times[0], times[1]),
        )
    }),
];

/// The controller's registers, with an entry of a line, as section 3 recommends.
fn registers(designs: &Designs) -> Result<DividerRegisters, MeasureError> {
    let design = changed(&designs.dimmnet2, LINE_EACH)?;
    Ok(DividerRegisters::new(&design.parameters.typed())
        .map_err(|error| CatalogError::Parameter { engine: mb_lhs::ENTRY.card.name, error })?)
}

/// Where the words of a message go whose length stands at byte `at` of its header, all other bytes
/// zero.
fn divided(registers: DividerRegisters, length: u64, at: u64) -> Vec<Store> {
    let mut divider = Divider::new(registers, true);
    let words = (0..length.div_ceil(WORD)).map(|word| if word == at / WORD { length << (8 * (at % WORD)) } else { 0 });
    words.map(|word| divider.word(word)).collect()
}

/// Every length around the entry's, with a pointer.
fn split_rule(designs: &Designs) -> Interpretations {
    let registers = registers(designs)?;
    let mut right = true;
    for length in 16..=256 {
        let stores = divided(registers, length, registers.size_location);
        let count = |store| stores.iter().filter(|other| **other == store).count() as u64;
        let (head, large, pointers) = (count(Store::Head), count(Store::Large), count(Store::LargeWithPointer));
        right &= if length <= 64 {
            (large, pointers) == (0, 0)
        } else {
            (head * WORD, pointers, large) == (56, 1, length.div_ceil(WORD) - 8)
        };
    }
    fact(right, "whole up to 64 bytes; longer ones: 56 bytes and a pointer, the rest in the large memory")
}

/// A pattern that accepts message `number` alone.
fn pattern(sources: Sources, number: u64) -> Pattern {
    Pattern::exactly(Envelope { bits: number, initiator: sources.of(number) })
}

/// How much longer each depth takes than the one before.
fn steps(design: &EngineChoice, depth: u64) -> Result<Vec<Picos>, MeasureError> {
    let mut run = EngineRun::new(design.build()?);
    for number in 1..=depth {
        run.serve(Sources::InTurn.arrive(number))?;
    }
    let mut before = Picos::ZERO;
    let mut steps = Vec::new();
    for number in 1..=depth {
        run.pause();
        let pattern = pattern(Sources::InTurn, number);
        let (_, took) = run.serve(Op::Probe { probe: ProbeId(0), pattern })?;
        steps.push(took.saturating_sub(before));
        before = took;
    }
    Ok(steps)
}

/// Envelopes for each that is waited for, without prefetching and sectors.
fn heads_in_a_line(design: &EngineChoice) -> Result<usize, MeasureError> {
    let change = |parameters: &mut LhsParameters| (parameters.hwp, parameters.sector) = (false, parameters.line);
    let steps = steps(&changed(design, change)?, 64)?;
    let shortest = steps.iter().min().copied().unwrap_or_default();
    let waits = steps.iter().filter(|step| **step > shortest).count();
    // All take the same if each is waited for.
    Ok(steps.len().checked_div(waits).unwrap_or(1))
}

/// The deepest message that is found as soon as the first.
fn constant_up_to(design: &EngineChoice, limit: u64) -> Result<u64, MeasureError> {
    let first = search(design, 1)?;
    for depth in 2..=limit {
        if search(design, depth)? > first + Picos::from_ns(30) {
            return Ok(depth - 1);
        }
    }
    Err(MeasureError::NotSeen("the end of the cells"))
}

/// How many different times settings give.
pub(super) fn different(design: &EngineChoice, settings: &[Change]) -> Result<usize, MeasureError> {
    let mut times =
        settings.iter().map(|change| search(&changed(design, change)?, 1000)).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    times.dedup();
    Ok(times.len())
}

/// A CAM alone: the first empty slot takes a new entry and the lowest that matches wins.
fn no_order(_: &Designs) -> Interpretations {
    let mut choice = mb_catalog::find("cam_list:two_level")?;
    choice.change(|parameters: &mut CamListParameters| parameters.cam = 2)?;
    let parameters = HardwareConfig::new(&choice.parameters.typed())
        .map_err(|error| CatalogError::Parameter { engine: choice.entry.card.name, error })?;
    // Receive 1 leaves the lowest slot to receive 3, which accepts the same message as receive 2.
    let post = |recv, tag| Op::Post { recv: RecvId(recv), pattern: pattern(Sources::Single, tag) };
    let ops = [post(1, 1), post(2, 2), Sources::Single.arrive(1), post(3, 2), Sources::Single.arrive(2)];
    let last = |corrections| {
        let mut machine = SteppedHardware::new(&parameters, corrections);
        for op in ops {
            machine.offer(op);
            while !machine.is_idle() {
                machine.step();
            }
        }
        machine.done().last().map(|done| done.outcome)
    };
    let taker = |outcome| match outcome {
        Some(Outcome::Matched(RecvId(recv), _)) => recv,
        _ => 0,
    };
    let (alone, with_ages) = (taker(last(Corrections::NONE)), taker(last(Corrections::ALL)));
    Ok(vec![Interpretation::new(
        "",
        Measured::Fact(
            alone == 3 && with_ages == 2,
            format!("receive {alone} is matched before receive 2; with ages receive {with_ages}"),
        ),
    )])
}
