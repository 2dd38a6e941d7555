// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Kanata export.

use mb_processor::chip::{Chip, ChipConfig, ChipKanata, ChipStop, Passage, hart_and_pc, smt};
use mb_processor::predictor::Direction;

use crate::assembler::{DATA, TEXT, address, bne, exit, flat, ld, mul};
use crate::run::{Watcher, run_watched};

/// The diagram of a run of two harts.
fn diagram(interval: std::ops::Range<u64>) -> String {
    let mut config = ChipConfig { issue_width: 8, ..smt(2) };
    config.predictor.direction = Direction::NotTaken;
    let mut words = address(8, DATA);
    words.extend([ld(5, 8, 0), mul(6, 5, 5), bne(8, 0, 8), mul(6, 5, 5)]);
    words.extend(exit());
    let mut memory = flat(&words, (1, 2), 5, 1);
    let mut chip = Chip::new(&config, TEXT).unwrap();
    let name: fn(&Passage) -> String = hart_and_pc;
    let mut kanata = ChipKanata::new(interval, name);
    let mut watcher = Watcher::Diagram(&mut kanata);
    while run_watched(&mut chip, 1000, &mut memory, &mut watcher).unwrap() != ChipStop::Halted {}
    let mut text = String::new();
    kanata.finish(&mut text).unwrap();
    text
}

/// The lines about the row whose label begins with `name`, with their cycles.
fn row(text: &str, name: &str) -> Vec<String> {
    let label = text.lines().find(|line| line.starts_with('L') && line.contains(&format!("\t0\t{name}"))).unwrap();
    let id = label.split('\t').nth(1).unwrap();
    let (mut cycle, mut found) = (0, Vec::new());
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[0] {
            "C=" | "C" => cycle += fields[1].parse::<u64>().unwrap(),
            "S" if fields[1] == id => found.push(format!("{} {cycle}", fields[3])),
            "R" if fields[1] == id => found.push(format!("R{} {cycle}", fields[3])),
            "L" if fields[1] == id && fields[2] == "1" => found.push(fields[3].to_owned()),
            _ => {}
        }
    }
    found
}

#[test]
fn a_diagram_has_the_stages_of_committed_and_squashed_instructions_of_each_hart() {
    let text = diagram(0..u64::MAX);
    assert!(text.starts_with("Kanata\t0004\nC=\t0\nI\t0\t0\t"));
    // lui, addi, then the load, which is issued in 6, and takes 5 cycles.
    let load = row(&text, "0: 00010008 Load");
    assert_eq!(load[0], "hart 0, pc 0x10008, Load, 8 bytes at 0x20000");
    assert_eq!(load[1..], ["Fe 0", "Rn 3", "Me 6", "Wb 11", "Cm 12", "R0 13"]);
    // The branch is issued with the load, and ends 2 cycles later; the multiplication behind it is
    // squashed then, in the queue.
    let branch = row(&text, "0: 00010010 Integer");
    assert_eq!(branch[0], "hart 0, pc 0x10010, Integer, mispredicted");
    assert_eq!(branch[1..], ["Fe 0", "Rn 3", "Is 6", "Wb 8", "Cm 28", "R0 29"]);
    let squashed = row(&text, "0: 00010014 Multiply");
    assert_eq!(squashed, ["hart 0, pc 0x10014, Multiply, squashed", "Fe 0", "Rn 3", "R1 8"]);
    // The other hart is a thread of its own, and is fetched a cycle later.
    assert_eq!(row(&text, "1: 00010008 Load")[1], "Fe 1");
    assert_eq!(
        text.lines().filter(|line| line.starts_with('I') && line.ends_with("\t1")).count() * 2,
        text.lines().filter(|line| line.starts_with('I')).count()
    );
}

#[test]
fn a_diagram_of_an_interval_has_what_is_fetched_in_it() {
    let text = diagram(1..2);
    assert!(text.lines().filter(|line| line.starts_with('I')).count() > 4);
    assert!(text.lines().filter(|line| line.starts_with('I')).all(|line| line.ends_with("\t1")));
    assert!(text.lines().any(|line| line == "C=\t1"));
}
