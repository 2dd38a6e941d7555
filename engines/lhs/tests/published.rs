// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The variants of Tanabe and Ohta's figures 4, 5 and 6: the times that the model card shows.

use mb_core::{Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, Shortcuts};
use mb_kit::Server;
use mb_lhs::{Attribute, ENTRY, Lhs, LhsParameters};
use mb_testkit::{checked, preset};

/// Picoseconds of a search that finds the message at a depth of 1000, in an engine with `parameters`.
fn thousand(parameters: &LhsParameters) -> u64 {
    let mut engine = Server::new(Lhs::new(checked(parameters)).unwrap());
    let envelope = |bits| Envelope { bits, initiator: Initiator(bits as u32) };
    for number in 1..=1024 {
        engine.offer(Picos::ZERO, Op::Arrive { msg: MsgId(number), envelope: envelope(number) });
    }
    let mut done = Vec::new();
    engine.settle(&mut done);
    let now = Picos::from_ns(1_000_000_000);
    engine.offer(now, Op::Probe { probe: ProbeId(0), pattern: Pattern::exactly(envelope(1000)) });
    done.clear();
    engine.settle(&mut done);
    (done[0].at - now).0
}

/// `parameters` with one entry in each cache line, as section 3 of Tanabe and Ohta recommends.
fn entry_is_a_line(parameters: &LhsParameters) -> LhsParameters {
    LhsParameters { entry: 64, pointer: 8, ..parameters.clone() }
}

#[test]
fn the_variants_of_figure_5_take_what_the_card_says() {
    // Hardware prefetcher, software prefetch, its offset; 16 bytes for each entry, and 64.
    for (hwp, swp, swp_offset, packed, lines) in [
        (false, false, 0, 47_500_000, 87_500_000),
        (true, false, 0, 35_800_000, 43_040_000),
        (true, true, 0, 38_877_000, 43_138_464),
        (false, true, 0, 50_577_000, 89_038_500),
        (false, true, 256, 38_437_000, 40_294_231),
        (false, true, 512, 38_797_000, 40_490_385),
    ] {
        let parameters = LhsParameters { hwp, swp, swp_offset, ..preset(&ENTRY, "dimmnet2") };
        assert_eq!(thousand(&parameters), packed, "{parameters:?}");
        let parameters = entry_is_a_line(&parameters);
        assert_eq!(thousand(&parameters), lines, "{parameters:?}");
    }
}

#[test]
fn the_variants_of_figure_6_take_what_the_card_says() {
    for (attribute, hwp, packed, lines) in [
        (Attribute::Uncacheable, false, 428_438_000, 428_438_000),
        (Attribute::WriteBack, false, 40_938_000, 78_438_000),
        (Attribute::WriteBack, true, 29_238_000, 31_638_000),
        (Attribute::Cached, true, 28_438_000, 28_438_000),
    ] {
        let parameters = LhsParameters { attribute, hwp, ..preset(&ENTRY, "dimmnet3") };
        assert_eq!(thousand(&parameters), packed, "{parameters:?}");
        let parameters = entry_is_a_line(&parameters);
        assert_eq!(thousand(&parameters), lines, "{parameters:?}");
    }
}

#[test]
fn the_other_presets_take_what_the_card_says() {
    assert_eq!(thousand(&preset(&ENTRY, "undivided")), 635_000_000);
    // The 63rd of its group: two misses, and a cycle of 312.5 ps for each of 91 cycles, rounded up to a picosecond.
    assert_eq!(thousand(&preset(&ENTRY, "ipush")), 63 * 28_438 + 200_000);
    assert_eq!(thousand(&preset(&ENTRY, "multicore")), 63 * 28_438 + 200_000);
}
