// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The variants of Tanabe and Ohta's figures 4, 5 and 6: the times that the model card shows.

use mb_core::{Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, Shortcuts};
use mb_kit::Server;
use mb_lhs::{ENTRY, Lhs};

/// Picoseconds of a search that finds the message at a depth of 1000, in a preset with changes.
fn thousand(preset: &str, changes: &[(&str, &str)]) -> u64 {
    let mut engine = Server::new(Lhs::new(&mb_testkit::preset(&ENTRY, preset, changes)).unwrap());
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

/// One entry in each cache line, as section 3 of Tanabe and Ohta recommends.
const ENTRY_IS_A_LINE: [(&str, &str); 2] = [("entry", "64"), ("pointer", "8")];

#[test]
fn the_variants_of_figure_5_take_what_the_card_says() {
    // Hardware prefetcher, software prefetch, its offset; 16 bytes for each entry, and 64.
    for (hwp, swp, offset, packed, lines) in [
        ("off", "off", "0", 47_500_000, 87_500_000),
        ("on", "off", "0", 35_800_000, 43_040_000),
        ("on", "on", "0", 38_877_000, 43_138_464),
        ("off", "on", "0", 50_577_000, 89_038_500),
        ("off", "on", "256", 38_437_000, 40_294_231),
        ("off", "on", "512", 38_797_000, 40_490_385),
    ] {
        let mut changes = vec![("hwp", hwp), ("swp", swp), ("swp_offset", offset)];
        assert_eq!(thousand("dimmnet2", &changes), packed, "{changes:?}");
        changes.extend(ENTRY_IS_A_LINE);
        assert_eq!(thousand("dimmnet2", &changes), lines, "{changes:?}");
    }
}

#[test]
fn the_variants_of_figure_6_take_what_the_card_says() {
    for (attribute, hwp, packed, lines) in [
        ("uncacheable", "off", 428_438_000, 428_438_000),
        ("write_back", "off", 40_938_000, 78_438_000),
        ("write_back", "on", 29_238_000, 31_638_000),
        ("cached", "on", 28_438_000, 28_438_000),
    ] {
        let mut changes = vec![("attribute", attribute), ("hwp", hwp)];
        assert_eq!(thousand("dimmnet3", &changes), packed, "{changes:?}");
        changes.extend(ENTRY_IS_A_LINE);
        assert_eq!(thousand("dimmnet3", &changes), lines, "{changes:?}");
    }
}

#[test]
fn the_other_presets_take_what_the_card_says() {
    assert_eq!(thousand("undivided", &[]), 635_000_000);
    // The 63rd of its group: two misses, and a cycle of 312.5 ps for each of 91 cycles, rounded up to a picosecond.
    assert_eq!(thousand("ipush", &[]), 63 * 28_438 + 200_000);
    assert_eq!(thousand("multicore", &[]), 63 * 28_438 + 200_000);
}
