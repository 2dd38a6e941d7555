// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions for each packet, printed beside Table 2 of crowley2000:
//! `cargo test -p mb-firmware --test netproc counts -- --nocapture`.

use mb_core::random::Random;
use mb_netproc::spine::Spine;

use crate::contract::{Classifier, Config, app, phase};
use crate::filters::cost;
use crate::frames::{Ipv4, Segment, TCP, UDP, ethernet, ipv6, udp};
use crate::harts::Counts;
use crate::machine::{HandlerMachine, run};
use crate::routes::{addresses4, routes4, routes6};

const PACKETS: usize = 16;

/// Segments with payloads of this length to random destinations of the routes.
fn packets(payload: usize, destinations: &[u32]) -> Vec<Vec<u8>> {
    let mut random = Random::of(5, &[]);
    let text: Vec<u8> = (0..payload).map(|_| random.next() as u8).collect();
    let mut frame = |(i, address): (usize, &u32)| {
        let mut text = text.clone();
        let line = b"GET /index.html HTTP/1.1\r\nHost: www\r\n\r\n";
        let part = line.len().min(text.len());
        text[..part].copy_from_slice(&line[..part]);
        let sequence = 1 + (i * payload) as u32;
        let segment = Segment { sequence, ..Segment::new(4000 + random.below(64) as u16, 80, 16, &text) };
        Ipv4::new([10, 0, 0, 1], address.to_be_bytes(), TCP).frame(&segment.bytes())
    };
    destinations.iter().enumerate().map(&mut frame).collect()
}

fn measure(build: Spine, application: u32, payload: usize) -> HandlerMachine {
    let mut random = Random::of(3, &[]);
    let routes4 = routes4(&mut random, 1000, (8, 28));
    let destinations: Vec<u32> = addresses4(&mut random, &routes4, PACKETS);
    let config = Config { routes4, flows: 1024, flow_buckets: 1024, ..Config::of(application) };
    run(build, &config, 1, packets(payload, &destinations))
}

/// Datagrams of IPv6 to destinations of a thousand routes.
fn measure6() -> HandlerMachine {
    let mut random = Random::of(6, &[]);
    let routes6 = routes6(&mut random, 1000);
    let destinations: Vec<u128> = (0..PACKETS).map(|_| random.pick(&routes6).0).collect();
    let frames = destinations.iter().map(|&to| ethernet(&[], 0x86dd, &ipv6(1, to, UDP, &udp(1, 2, &[0; 64]))));
    run(Spine::Plain, &Config { routes6, ..Config::of(app::IP_FORWARD) }, 1, frames)
}

#[expect(clippy::print_stdout, reason = "figures for a reader")]
fn row(name: &str, payload: usize, counts: Counts) -> f64 {
    let total = counts.total() as f64;
    let percent = |part: u64| 100.0 * part as f64 / total;
    let each = total / PACKETS as f64;
    let (memory, control, other) = (percent(counts.memory), percent(counts.control), percent(counts.other));
    println!("{name:<26} {payload:>5} {each:>9.0} {memory:>7.1} {control:>8.1} {other:>6.1}");
    each
}

#[expect(clippy::print_stdout, reason = "figures for a reader; the assertions are about their relations")]
#[test]
fn counts_of_applications_beside_table_2() {
    let published = [
        (app::IP_FORWARD, "IP-FORWARD", (200.0, 25.4, 12.7, 61.9)),
        (app::HTTPMON, "HTTPMON", (400.0, 35.0, 12.1, 52.9)),
        (app::MD5, "MD5", (2000.0, 10.7, 2.8, 86.5)),
        (app::TRIPLE_DES, "3DES", (40000.0, 17.8, 1.2, 81.0)),
    ];
    println!("{:<26} {:>5} {:>9} {:>7} {:>8} {:>6}", "handler", "bytes", "each", "memory%", "control%", "other%");
    for (application, name, (each, memory, control, other)) in published {
        println!("{name:<26} {:>5} {each:>9.0} {memory:>7.1} {control:>8.1} {other:>6.1}", "paper");
        let mut found = Vec::new();
        for payload in [6, 64, 350, 512, 1460] {
            let machine = measure(Spine::Plain, application, payload);
            found.push(row(name, payload, machine.counts(phase::HANDLER)));
        }
        row(
            &format!("{name} (Zba, Zbb)"),
            512,
            measure(Spine::BitManipulation, application, 512).counts(phase::HANDLER),
        );
        let grows = found[4] / found[0];
        match application {
            app::IP_FORWARD => assert!((0.99..1.01).contains(&grows), "{name} does not read the payload"),
            app::HTTPMON => assert!(grows < 3.0, "{name} reads the first line only"),
            _ => assert!(grows > 10.0, "{name} reads all bytes"),
        }
    }
    println!();
    let six = measure6();
    row("IP-FORWARD, IPv6", 64, six.counts(phase::HANDLER));
    let machine = measure(Spine::Plain, app::NULL, 64);
    let os = row("OS path (null)", 64, machine.counts(phase::OS));
    row("worker (null): handler", 64, machine.counts(phase::HANDLER));
    row("worker (null): completion", 64, machine.counts(phase::COMPLETE));
    assert!(os > 50.0 && os < 450.0, "{os} instructions");
    println!();
    println!("{:<8} {:>6} {:>6} {:>6} {:>6}", "filters", 1, 8, 32, 128);
    for (name, build, classifier) in [
        ("dpf", Spine::Plain, Classifier::Dpf),
        ("dpf zb", Spine::BitManipulation, Classifier::Dpf),
        ("table", Spine::Plain, Classifier::Table),
    ] {
        let [a, b, c, d] = [1, 8, 32, 128].map(|count| cost(build, classifier, count));
        println!("{name:<8} {a:>6.0} {b:>6.0} {c:>6.0} {d:>6.0}");
    }
}
