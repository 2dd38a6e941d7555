// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The shipped captures are what the generator writes, so that their contents are known and the generator does not
//! change unnoticed.

use mb_packets::read::read;
use mb_packets::session::TABLES_SEED;
use mb_packets::traffic::generate;
use mb_packets::write::write;
use mb_packets::{FilterSet, Mix, RouteTable, TrafficParameters};

#[test]
fn shipped_captures_are_what_the_generator_writes() {
    let plain = TrafficParameters { packets: 150, mean_burst: 8, ..TrafficParameters::default() };
    let cases = [
        (&include_bytes!("../../examples/router.pcap")[..], plain.clone()),
        (
            &include_bytes!("../../examples/web_switch.pcap")[..],
            TrafficParameters { mix: Mix::WebSwitch, ipv6_percent: 30, vlan_percent: 20, ..plain.clone() },
        ),
        (&include_bytes!("../../examples/vpn.pcap")[..], TrafficParameters { mix: Mix::Vpn, ..plain }),
    ];
    let (filters, routes) = (FilterSet::of_scenarios(8, TABLES_SEED), RouteTable::generate(1000, TABLES_SEED));
    for (file, parameters) in cases {
        let capture = generate(&parameters, &filters, &routes, 1).unwrap();
        assert_eq!(read(file), Ok(capture.clone()), "{:?}", parameters.mix);
        assert_eq!(write(&capture).unwrap(), file, "{:?}", parameters.mix);
    }
}
