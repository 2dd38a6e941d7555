// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Kanata export, read by a parser of its own.

use std::collections::BTreeMap;

use mb_core::Cycles;
use mb_processor::out_of_order::ppc440;
use mb_processor::out_of_order::{PipelineKanata, pc_and_class};
use mb_processor::{BranchKind, InstructionClass, Memory};

use crate::script::{Bench, DATA, Program, Script, TEXT};

/// A row: name and detail, and the stages with their first cycle and the cycle after their last.
#[derive(Default)]
struct Row {
    texts: [String; 2],
    stages: Vec<(String, u64, Option<u64>)>,
    retired: bool,
}

fn read(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    let mut cycle = None;
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    let mut retired = 0;
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        if let ["C=" | "C", _] = fields[..] {
            assert_eq!(cycle.is_none(), fields[0] == "C=", "the first cycle is absolute, the others are steps");
            cycle = Some(cycle.unwrap_or(0) + number(1));
            continue;
        }
        let (now, id) = (cycle.unwrap(), number(1) as usize);
        match (fields[0], fields.len()) {
            ("I", 4) => assert!(rows.insert(id, Row::default()).is_none()),
            ("L", 4) => fields[3].clone_into(&mut rows.get_mut(&id).unwrap().texts[number(2) as usize]),
            ("S", 4) => rows.get_mut(&id).unwrap().stages.push((fields[3].to_owned(), now, None)),
            ("E", 4) => {
                let stages = &mut rows.get_mut(&id).unwrap().stages;
                let open = stages.iter_mut().find(|(name, _, end)| name == fields[3] && end.is_none()).unwrap();
                open.2 = Some(now);
            }
            ("R", 4) => {
                let row = rows.get_mut(&id).unwrap();
                assert!(!row.retired && row.stages.iter().all(|(_, _, end)| end.is_some()));
                assert_eq!(number(2), retired, "rows retire in order");
                row.retired = true;
                retired += 1;
            }
            _ => panic!("what is {line:?}?"),
        }
    }
    assert!(rows.values().all(|row| row.retired));
    assert!(rows.keys().copied().eq(0..rows.len()), "rows are numbered from 0");
    rows.into_values().collect()
}

#[test]
fn a_kanata_diagram_has_every_instruction_with_its_stages() {
    let mut program = Program::new();
    program.load(3, 4, DATA);
    program.compute(InstructionClass::Multiply, 4, 5);
    program.store(6, 5, DATA + 64);
    program.branch(BranchKind::Conditional, Some(5), TEXT + 0x100, true);
    program.constant(InstructionClass::Integer, 7);
    let mut bench = Bench::warm(&ppc440(32), 0);
    let mut kanata = PipelineKanata::new(String::new(), pc_and_class);
    let mut hart = Script { instructions: program.instructions, at: 0 };
    let (core, caches, host) = (&mut bench.core, &mut bench.hierarchy, &mut bench.host);
    core.run_observed(&mut hart, &mut Memory::new(0, 0), host, caches, Cycles(1000), &mut kanata).unwrap();
    let rows = read(&kanata.finish().unwrap());
    let stages: Vec<String> = rows
        .iter()
        .map(|row| {
            let stages = row.stages.iter().map(|(name, begin, end)| format!("{name} {begin}-{}", end.unwrap()));
            stages.collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(
        stages,
        [
            // Address in 2; the line arrives in 14, 11 cycles after the access.
            "Fe 0-1 Di 1-2 Ex 2-3 Me 3-14 Wb 14-15 Cm 15-16",
            "Fe 0-1 Di 1-14 Ex 14-17 Wb 17-18 Cm 18-19",
            // Address in 3, data in 17.
            "Fe 1-2 Di 2-3 Ex 3-17 Wb 17-18 Cm 18-19",
            "Fe 1-2 Di 2-17 Ex 17-18 Wb 18-19 Cm 19-20",
            // The branch resolves in 18 as mispredicted.
            "Fe 21-22 Di 22-23 Ex 23-24 Wb 24-25 Cm 25-26",
        ]
    );
    assert_eq!(rows[0].texts, ["00001000 Load".to_owned(), "pc 0x1000, Load, 8 bytes at 0x100000".to_owned()]);
    assert_eq!(rows[3].texts[1], "pc 0x100c, Integer, mispredicted");
}
