// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of a trace: a row per record, with what a reader of Parquet wants to see.

use crate::common;

use common::expand_done::one_done_per_request;
use common::{everything, ping};
use mb_trace::columns::{Column, Values};
use mb_trace::{Kind, Trace};

fn table(trace: &Trace, rows: usize) -> Vec<Vec<Column>> {
    let comms = trace.check(|_| std::ops::ControlFlow::Continue(())).unwrap();
    trace.batches(&comms, rows).collect()
}

/// The cells of column `name`, as text; `-` where there is no value.
fn cells(batch: &[Column], name: &str) -> Vec<String> {
    let column = batch.iter().find(|column| column.name == name).unwrap();
    let texts: Vec<String> = match &column.values {
        Values::Bool(values) => values.iter().map(ToString::to_string).collect(),
        Values::U32(values) => values.iter().map(ToString::to_string).collect(),
        Values::U64(values) => values.iter().map(ToString::to_string).collect(),
        Values::I32(values) => values.iter().map(ToString::to_string).collect(),
        Values::Word(values, words) => values.iter().map(|&at| words[usize::from(at)].to_owned()).collect(),
    };
    match &column.valid {
        None => texts,
        Some(valid) => {
            texts.into_iter().zip(valid).map(|(text, &valid)| if valid { text } else { "-".to_owned() }).collect()
        }
    }
}

#[test]
fn a_message_is_four_rows_that_say_who_and_what() {
    let batches = table(&Trace::in_memory(ping()), 100);
    let batch = &batches[0];
    let rows: Vec<String> = ["rank", "index", "kind", "mode", "comm", "peer", "peer_world", "tag", "bytes", "wall_ns"]
        .map(|name| cells(batch, name))
        .into_iter()
        .fold(vec![String::new(); 9], |rows, cells| {
            rows.iter().zip(cells).map(|(row, cell)| format!("{row} {cell}")).collect()
        });
    let expected = [
        " 0 0 init - - - - - - 0",
        " 0 1 comm - 0 - - - - 0",
        " 0 3 comm - 1 - - - - 0",
        " 0 5 send standard 0 1 1 7 512 1000",
        " 0 6 finalize - - - - - - 1000",
        " 1 0 init - - - - - - 0",
        " 1 1 comm - 0 - - - - 0",
        " 1 3 comm - 2 - - - - 0",
        " 1 5 recv - 0 0 0 7 512 0",
    ];
    assert_eq!(rows, expected);
    assert_eq!(cells(batch, "kind")[9..], ["done", "finalize"]);
    assert_eq!(cells(batch, "comm")[9..], ["0", "-"], "a Done is told the communicator of its receive");
}

#[test]
fn batches_of_any_size_make_the_same_table() {
    let trace = Trace::in_memory(everything());
    let records = |trace: &Trace| {
        let all = (0..4).flat_map(|rank| trace.rank(rank).iter());
        let all = all.filter(|record| record.kind != Kind::Extra as u8);
        all.map(|record| if record.kind == Kind::Done as u8 { record.ended().count() } else { 1 }).sum::<usize>()
    };
    let whole = table(&trace, usize::MAX);
    assert_eq!(whole.len(), 1);
    for rows in [1, 7, 64] {
        let batches = table(&trace, rows);
        assert_eq!(batches.len(), records(&trace).div_ceil(rows));
        for column in &whole[0] {
            let pieces: Vec<String> = batches.iter().flat_map(|batch| cells(batch, column.name)).collect();
            assert_eq!(pieces, cells(&whole[0], column.name), "{}", column.name);
        }
    }
}

#[test]
fn a_done_of_several_has_a_row_for_each() {
    let several = everything();
    let ranks: Vec<_> = several.iter().map(|records| one_done_per_request(records)).collect();
    assert!(ranks[0].len() > several[0].len());
    let (single, several) = (table(&Trace::in_memory(ranks), usize::MAX), Trace::in_memory(several));
    for rows in [1, 2, usize::MAX] {
        let batches = table(&several, rows);
        assert!(batches[..batches.len() - 1].iter().all(|batch| cells(batch, "rank").len() == rows));
        for column in single[0].iter().filter(|column| !["index", "aux"].contains(&column.name)) {
            let pieces: Vec<String> = batches.iter().flat_map(|batch| cells(batch, column.name)).collect();
            assert_eq!(pieces, cells(&single[0], column.name), "{}", column.name);
        }
    }
}

#[test]
fn peers_are_world_ranks_in_any_communicator_and_nothing_when_wild() {
    let batches = table(&Trace::in_memory(everything()), usize::MAX);
    let batch = &batches[0];
    let (ranks, kinds, comms) = (cells(batch, "rank"), cells(batch, "kind"), cells(batch, "comm"));
    let (peers, world, operations) = (cells(batch, "peer"), cells(batch, "peer_world"), cells(batch, "operation"));
    let of = |wanted: &dyn Fn(usize) -> bool| -> Vec<(String, String)> {
        (0..ranks.len()).filter(|&row| wanted(row)).map(|row| (peers[row].clone(), world[row].clone())).collect()
    };
    let pairs =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
    // Rank 2 in the intercommunicator, number 7: its partner is rank 1 of the odd half, world rank
    // 3.
    let inter = of(&|row| ranks[row] == "2" && comms[row] == "7" && kinds[row] != "comm");
    assert_eq!(inter, pairs(&[("1", "3"), ("1", "3"), ("1", "3")]), "send, receive, and what it finished with");
    let wild = of(&|row| ranks[row] == "0" && kinds[row] == "recv" && peers[row] == "-1");
    assert_eq!(wild, pairs(&[("-1", "-"), ("-1", "-")]));
    let proc_null = of(&|row| ranks[row] == "0" && peers[row] == "-3");
    assert_eq!(proc_null, pairs(&[("-3", "-"), ("-3", "-"), ("-3", "-")]));
    let gather = of(&|row| operations[row] == "gather");
    assert_eq!(gather, pairs(&[("0", "0"), ("0", "1"), ("0", "0"), ("0", "1")]), "roots of the two halves");
}
