// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets, priorities and percentiles against values written out.

use mb_netproc::PacketMachineParameters;
use mb_netproc::presets::{PAPER, names, preset};
use mb_netproc::report::Latency;
use mb_netproc::scheduling::Priorities;
use mb_processor::chip::{ChipConfig, cmp, cmp2, smt};
use mb_processor::shared_l2::SharedL2Config;

#[test]
fn every_preset_has_the_cores_of_the_paper() {
    for name in names() {
        let parameters: PacketMachineParameters = preset(&name).unwrap().typed();
        let number: usize = name[name.len() - 1..].parse().unwrap();
        let expected: ChipConfig = match &name[..name.len() - 1] {
            "smt" => smt(number),
            "cmp" => cmp(number),
            _ => cmp2(number),
        };
        assert_eq!(parameters.chip(), expected, "{name}");
        assert_eq!(parameters.memory(), SharedL2Config::crowley2000(expected.cores, expected.contexts), "{name}");
    }
    assert!(PAPER.iter().all(|name| names().iter().any(|known| known == name)));
}

#[test]
fn other_names_are_refused() {
    for name in ["smt0", "smt9", "cmp", "cmp2_", "cmp16", "smt08", "xeon"] {
        assert_eq!(
            preset(name).unwrap_err().to_string(),
            format!(
                "parameter `architecture`: found `{name}`, expected smt1 to smt8, cmp1 to cmp8, or cmp2_1 to cmp2_8"
            )
        );
    }
}

#[test]
fn every_word_is_an_order_of_contexts() {
    assert_eq!(Priorities::Equal.of_contexts(), [0; 8]);
    assert_eq!(Priorities::OsFirst.of_contexts(), [0, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(Priorities::WorkersFirst.of_contexts(), [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(Priorities::Ascending.of_contexts(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(Priorities::WorkersAscending.of_contexts(), [8, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn percentiles_are_nearest_ranks() {
    let found = Latency::of(&(1..=1000).rev().collect::<Vec<_>>());
    let expected = Latency { median: 500, p90: 900, p99: 990, p999: 999, largest: 1000 };
    assert_eq!(found, expected);
    // 99 per cent of 10 packets are all of them.
    assert_eq!(Latency::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).p99, 10);
    assert_eq!(Latency::of(&[]), Latency::default());
}
