// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs, profiles, the debugger, and exported files, which independent readers parse.

use std::collections::BTreeMap;

use mb_asm::word::{Register, Slot, Word};
use mb_core::Clock;
use mb_session::debugger::{BreakpointCondition, Debugger, Relation, StopReason, UnknownAddress};
use mb_session::export::{Kanata, Vcd};
use mb_session::profile::Profile;
use mb_session::session::{APPENDED, AfterMatch, Session, SessionStep};
use mb_session::trace::{Tracer, value};
use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, flags, op, options};
use mb_unit::list_manager::{List, ListManagerParameters, ProtocolError, StallCause};
use mb_unit::match_processor::{IssueEvent, MatchProcessor};
use mb_unit::programs::BuiltinProgram;
use mb_unit::unit::{MatchUnit, UnitState, WRITE_STAGE};

const MEMORY: ListManagerParameters = ListManagerParameters::HEMMERT2007;

fn item(bits: u64) -> Item {
    Item {
        bits,
        care: u64::MAX,
        nid: ANY_NID,
        pid: ANY_PID,
        options: options::VALID | options::PUT | options::ANY_SOURCE,
        length: 4096,
        threshold: 1,
        ..Item::default()
    }
}

fn header(bits: u64) -> MessageHeader {
    MessageHeader { op: op::PUT, bits, length: 64, ..MessageHeader::default() }
}

/// Items 1 to 5 in both lists, and headers for the third, for none, and for the second unexpected one.
fn session(program: BuiltinProgram, memory: ListManagerParameters, after_match: AfterMatch) -> Session {
    let mut session = Session::new(&program.assemble(), memory, after_match);
    for bits in 1..=5 {
        session.append(List::Posted, item(bits), bits);
        session.append(List::Unexpected, item(bits), 10 * bits);
    }
    session.arrive(header(3), 100);
    session.arrive(header(9), 100);
    let search = MessageHeader { flags: flags::SEARCH | flags::ANY_SOURCE, length: u64::MAX, ..header(2) };
    session.arrive(search, 1000);
    session
}

#[test]
fn a_run_answers_every_header_and_counts_cycles_words_and_stalls() {
    for program in BuiltinProgram::ALL {
        let mut events = Vec::new();
        let report = session(program, MEMORY, AfterMatch::Keep)
            .run(&mut |event: &IssueEvent, _: &MatchUnit| events.push(*event))
            .unwrap();
        let items: Vec<Option<u64>> = report.answers.iter().map(|answered| answered.item).collect();
        assert_eq!(items, [Some(3), None, Some(20)]);
        let visits: Vec<u32> = report.answers.iter().map(|completed| completed.result.visits).collect();
        assert_eq!(visits, [3, 5, 2]);
        assert_eq!(report.words, events.len() as u64);
        let waited: u64 = events.iter().filter_map(|event| event.stall).map(|(cycles, _)| cycles).sum();
        assert_eq!(report.cycles, report.words + waited, "every cycle issues a word or waits");
        assert_eq!(waited, report.stalls.total() + report.stalls.of(StallCause::Idle));
    }
}

#[test]
fn a_removed_item_is_found_once() {
    let mut session = session(BuiltinProgram::Mpi, MEMORY, AfterMatch::Remove);
    session.arrive(header(3), 2000);
    let report = session.run(&mut ()).unwrap();
    assert_eq!(report.answers[3].item, None);
    assert_eq!(session.processor().lists().len(List::Posted), 4);
}

#[test]
fn slow_memory_shows_as_memory_stalls_and_a_slow_list_manager_as_answer_stalls() {
    let stalls =
        |memory| session(BuiltinProgram::PortalsHemmert2007, memory, AfterMatch::Keep).run(&mut ()).unwrap().stalls;
    assert_eq!(stalls(MEMORY).of(StallCause::Memory), 0);
    assert_eq!(stalls(MEMORY).of(StallCause::Answer), 0);
    assert!(stalls(ListManagerParameters { latency: 40, ..MEMORY }).of(StallCause::Memory) > 20);
    assert!(stalls(ListManagerParameters { reaction: 20, ..MEMORY }).of(StallCause::Answer) > 10);
}

#[test]
fn a_profile_adds_up_to_the_run() {
    let program = BuiltinProgram::PortalsHemmert2007.assemble();
    let mut profile = Profile::new(&program);
    let report = session(BuiltinProgram::PortalsHemmert2007, MEMORY, AfterMatch::Keep).run(&mut profile).unwrap();
    let parts = profile.by_label(&program);
    assert_eq!(parts.iter().map(|part| part.issued).sum::<u64>(), report.words);
    assert_eq!(parts.iter().map(|part| part.words).sum::<usize>(), program.words.len());
    let stalled: u64 = parts.iter().flat_map(|part| part.stalled).sum();
    assert_eq!(stalled, report.cycles - report.words);
    let flush = parts.iter().find(|part| part.label == "flush").unwrap();
    assert_eq!((flush.words, flush.issued), (4, 4), "one match in the posted list drains one item");
    for (slot, uses) in profile.slots(&program) {
        assert!(uses > 0 && uses <= report.words, "{slot}: {uses}");
    }
    let input = profile.slots(&program).iter().find(|(slot, _)| *slot == Slot::Input).unwrap().1;
    assert!(input * 10 > report.words * 8, "the input slot limits the program");
}

#[test]
fn a_debugger_steps_breaks_and_shows_the_state() {
    let program = BuiltinProgram::PortalsHemmert2007.assemble();
    let mut debugger = Debugger::new(program, session(BuiltinProgram::PortalsHemmert2007, MEMORY, AfterMatch::Keep));
    assert_eq!(debugger.step(4), Ok(StopReason::Stepped));
    let state = debugger.session().processor().unit().state();
    assert_eq!((state.pc, state.alu[10]), (4, u64::MAX), "the constant for any");
    assert_eq!(debugger.step(1), Ok(StopReason::Stepped), "the first word of the header, after a wait");
    assert_eq!(debugger.last().unwrap().cycle, 101);
    assert_eq!(debugger.last().unwrap().stall, Some((97, StallCause::Idle)));

    let decide = debugger.address_of("decide").unwrap();
    debugger.set_breakpoint(decide, None);
    assert_eq!(debugger.resume(), Ok(StopReason::Breakpoint(decide)));
    let processor = debugger.session().processor();
    assert_eq!(processor.lists().answered(), 3, "two items have failed and the answer to the third has begun");
    let fifo = processor.lists().fifo(processor.now());
    assert_eq!(fifo[0].word, 4, "the match bits of the item behind the one that matches are next");
    assert!(fifo.windows(2).all(|pair| pair[0].entered < pair[1].entered));
    assert_eq!(debugger.breakpoints().collect::<Vec<_>>(), [decide]);
    assert!(debugger.clear_breakpoint(decide) && !debugger.clear_breakpoint(decide));

    let Ok(StopReason::SearchDone(answered)) = debugger.resume() else { panic!("the search ends") };
    assert_eq!((answered.header, answered.item), (0, Some(3)));
    let unexpected = debugger.address_of("unexpected").unwrap();
    assert_eq!(debugger.run_to(unexpected), Ok(StopReason::Reached(unexpected)));
    assert!(matches!(debugger.resume(), Ok(StopReason::SearchDone(_))));
    assert_eq!(debugger.resume(), Ok(StopReason::Idle));
}

#[test]
fn conditions_watches_and_writes_stop_and_change_a_run() {
    let program = BuiltinProgram::Mpi.assemble();
    let register = |name: &str| program.registers[name];
    let (ours, handle) = (register("ours"), register("handle"));
    let start = || Debugger::new(program.clone(), session(BuiltinProgram::Mpi, MEMORY, AfterMatch::Keep));
    let mut debugger = start();
    let posted = debugger.address_of("posted").unwrap();
    let third = BreakpointCondition { register: ours, relation: Relation::GreaterEqual, value: 3 };
    debugger.set_breakpoint(posted, Some(third));
    assert_eq!(debugger.run_to_end(), Ok(StopReason::Breakpoint(posted)));
    assert_eq!(value(&debugger.session().processor().unit().state(), ours), 3, "items 1 and 2 do not stop it");
    assert!(debugger.clear_breakpoint(posted));

    assert!(debugger.watch(handle, true) && !debugger.watch(handle, true));
    // Slots are given to both lists in turn, so the third posted item has handle 5.
    assert_eq!(debugger.run_to_end(), Ok(StopReason::Changed { register: handle, before: 3, after: 5 }));
    assert!(debugger.watch(handle, false) && !debugger.watch(handle, false));
    assert_eq!(debugger.run_to_end(), Ok(StopReason::Idle));
    let found = |debugger: &Debugger| debugger.session().answers().iter().map(|done| done.item).collect::<Vec<_>>();
    assert_eq!(found(&debugger), [Some(3), None, Some(20)]);

    // With other match bits in the register, the first header finds another item.
    let mut debugger = start();
    assert_eq!(debugger.run_to(posted), Ok(StopReason::Reached(posted)));
    assert!(debugger.write(register("bits"), 4) && !debugger.write(Register::from_name("a0").unwrap(), 4));
    assert_eq!(debugger.run_to_end(), Ok(StopReason::Idle));
    assert_eq!(found(&debugger), [Some(4), None, Some(20)]);
}

#[test]
fn a_header_without_a_match_is_appended_as_in_an_mpi_receiver() {
    let mut session = Session::new(&BuiltinProgram::Mpi.assemble(), MEMORY, AfterMatch::Append);
    let search = |bits| MessageHeader { flags: flags::SEARCH | flags::ANY_SOURCE, length: u64::MAX, ..header(bits) };
    // A message before its receive, a receive before its message, and each of them once.
    for arrived in [header(1), search(1), search(2), header(2), header(1)] {
        session.arrive(arrived, 0);
    }
    let found: Vec<_> = session.run(&mut ()).unwrap().answers.iter().map(|done| done.item).collect();
    assert_eq!(found, [None, Some(APPENDED), None, Some(APPENDED + 2), None]);
    let lists = session.processor().lists();
    assert_eq!((lists.len(List::Posted), lists.len(List::Unexpected)), (0, 1));
}

#[test]
fn an_unknown_label_is_reported_with_the_known_ones() {
    let program = BuiltinProgram::Mpi.assemble();
    let debugger = Debugger::new(program, session(BuiltinProgram::Mpi, MEMORY, AfterMatch::Keep));
    assert_eq!(
        debugger.address_of("lost").unwrap_err().to_string(),
        "unknown label `lost`; expected one of: arrived, flush, header, posted, rest, unexpected"
    );
    assert_eq!(debugger.address_of("41"), Ok(41));
    assert_eq!(debugger.address_of("42").unwrap_err(), UnknownAddress::Address { address: 42, last: 41 });
}

/// The error of a program that has eight words of header and then `rest`.
fn error_of(rest: &str) -> String {
    let header = "wait || _ = in\n".repeat(8);
    let text = format!("header: {header}{rest}\ngoto header\nnop\nnop\n");
    let program = mb_asm::assemble("broken.mb", &text).unwrap();
    let mut session = Session::new(&program, MEMORY, AfterMatch::Keep);
    session.append(List::Posted, item(1), 1);
    session.append(List::Posted, item(2), 2);
    session.arrive(self::header(1), 0);
    let error: ProtocolError = session.run(&mut ()).unwrap_err();
    error.to_string()
}

#[test]
fn a_protocol_violation_is_reported_with_its_word() {
    assert_eq!(
        error_of(&"wait || _ = in\n".repeat(17)),
        "word 24: waits for item 2, which is sent only after an answer for item 0; at most two items may be unanswered"
    );
    assert_eq!(
        error_of("out.last = a0"),
        "word 8: answers item 0, but only 0 items were sent; expected one answer per item"
    );
    assert_eq!(
        error_of("here: nop\ngoto here\nnop\nnop"),
        "word 8: 65537 words issued without input or the end of an answer; expected the program to wait for input"
    );
    assert_eq!(
        error_of("wait || _ = in\nhere: out = a0\ngoto here\nnop\nnop"),
        "word 9: 65537 words issued without input or the end of an answer; expected the program to wait for input"
    );
    let answered = "wait || _ = in || out.last = a0\n";
    let item = "wait || _ = in\n".repeat(7);
    let two = format!("{answered}{item}{answered}{item}");
    assert_eq!(
        error_of(&format!("a1 = 7\n{two}wait || _ = in || out.last = a1")),
        "word 25: answers the end of the list with 0x7; expected 0"
    );
    assert_eq!(
        error_of(&format!("a1 = 7\nwait || _ = in || out.last = a1\n{item}out.last = a0")),
        "word 17: sends an answer after the search has ended; expected none before the next header"
    );
    assert_eq!(
        error_of(&format!("{two}{}", "wait || _ = in\n".repeat(9))),
        "word 32: waits for the next header, but item 2 is unanswered; expected one answer per item"
    );
}

/// The assembler rejects such a program; a match processor accepts bare words.
#[test]
fn execution_past_the_last_word_is_reported() {
    let error = MatchProcessor::new(&[Word::default(); 3], MEMORY).unwrap_err();
    assert_eq!(
        error.to_string(),
        "word 3: not part of the program; expected an unconditional branch in the third word from the end"
    );
}

/// The events of a run with the state after each.
fn watched(program: BuiltinProgram) -> Vec<(IssueEvent, UnitState)> {
    let mut seen = Vec::new();
    let mut watch = |event: &IssueEvent, unit: &MatchUnit| seen.push((*event, unit.state()));
    session(program, ListManagerParameters { latency: 30, ..MEMORY }, AfterMatch::Keep).run(&mut watch).unwrap();
    seen
}

#[test]
fn a_tracer_reports_every_register_change_and_both_fifo_levels() {
    for program in BuiltinProgram::ALL {
        let words = program.assemble().words;
        let mut session = session(program, ListManagerParameters { reaction: 3, ..MEMORY }, AfterMatch::Keep);
        let mut tracer = Tracer::new(&words, &session);
        let mut before = session.processor().unit().state();
        let mut sent = Vec::new();
        loop {
            match session.step(&mut ()).unwrap() {
                SessionStep::Idle => break,
                SessionStep::SearchDone(_) => {}
                SessionStep::Issued(event) => {
                    let row = tracer.row(&event, &session);
                    let state = session.processor().unit().state();
                    for (register, written) in &row.writes {
                        assert_eq!(value(&state, *register), *written);
                    }
                    let changed = (0..16).filter(|&n| before.alu[n] != state.alu[n]).count()
                        + (0..16).filter(|&n| before.ternary[n] != state.ternary[n]).count()
                        + (before.predicates ^ state.predicates).count_ones() as usize;
                    let told =
                        row.writes.iter().filter(|(register, _)| value(&before, *register) != value(&state, *register));
                    assert_eq!(told.count(), changed, "every change is told once");
                    sent.extend(event.issued.sent.map(|_| event.cycle + WRITE_STAGE));
                    let waiting = sent.iter().filter(|&&at| at <= event.cycle && event.cycle < at + 3).count();
                    assert_eq!(row.output, waiting);
                    assert_eq!(row.input, session.processor().lists().fifo(event.cycle).len());
                    before = state;
                }
            }
        }
        assert_eq!(session.answers().len(), 3);
    }
}

/// Begin and end of each stage of each word of a Kanata file, by a reader that refuses what the format does not allow.
fn read_kanata(text: &str) -> BTreeMap<u64, BTreeMap<String, (u64, u64)>> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    let mut cycle: Option<u64> = None;
    let mut words: BTreeMap<u64, BTreeMap<String, (u64, u64)>> = BTreeMap::new();
    let mut retired = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        match fields[0] {
            "C=" => assert_eq!(cycle.replace(number(1)), None, "the first cycle is given once"),
            "C" => {
                assert!(number(1) > 0);
                cycle = Some(cycle.unwrap() + number(1));
            }
            "I" => assert!(words.insert(number(1), BTreeMap::new()).is_none()),
            "L" => assert!(words.contains_key(&number(1)) && fields.len() == 4),
            "S" => {
                let stages = words.get_mut(&number(1)).unwrap();
                assert!(stages.insert(fields[3].to_owned(), (cycle.unwrap(), 0)).is_none());
            }
            "E" => words.get_mut(&number(1)).unwrap().get_mut(fields[3]).unwrap().1 = cycle.unwrap(),
            "R" => {
                assert!(words[&number(1)].values().all(|(begin, end)| begin < end), "every stage has ended");
                retired.push(number(1));
            }
            other => panic!("unknown command {other}"),
        }
    }
    assert_eq!(retired, (0..words.len() as u64).collect::<Vec<_>>(), "words retire in order, each once");
    words
}

#[test]
fn a_kanata_file_has_every_word_in_its_stages() {
    for program in BuiltinProgram::ALL {
        let mut kanata = Kanata::new(&program.assemble());
        session(program, ListManagerParameters { latency: 30, ..MEMORY }, AfterMatch::Keep).run(&mut kanata).unwrap();
        let words = read_kanata(&kanata.finish());
        let seen = watched(program);
        assert_eq!(words.len(), seen.len());
        let mut waits = 0;
        for (stages, (event, _)) in words.values().zip(&seen) {
            let at = event.cycle;
            assert_eq!(stages["Rd"], (at, at + 1));
            assert_eq!(stages["Op"], (at + 1, at + 2));
            assert_eq!(stages["Wr"], (at + WRITE_STAGE, at + WRITE_STAGE + 1));
            let waited = event.stall.filter(|(_, cause)| *cause != StallCause::Idle);
            assert_eq!(stages.get("Wt").copied(), waited.map(|(cycles, _)| (at - cycles, at)));
            waits += u64::from(waited.is_some());
        }
        assert!(waits > 0, "the memory of this test is slow");
    }
}

/// Values of each signal by time, and the places.
type Waves = (BTreeMap<String, BTreeMap<u64, u64>>, BTreeMap<u64, String>);

/// The changes of each signal of a VCD file, by a reader of its own.
fn read_vcd(text: &str) -> Waves {
    let (declarations, changes) = text.split_once("$enddefinitions $end\n").unwrap();
    assert!(declarations.contains("$timescale 1 ps $end"));
    // Signals by code: names with their scopes, and the width.
    let mut names: BTreeMap<&str, (Vec<String>, usize)> = BTreeMap::new();
    let mut scopes: Vec<&str> = Vec::new();
    for line in declarations.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        match fields[0] {
            "$scope" => scopes.push(fields[2]),
            "$upscope" => assert!(scopes.pop().is_some()),
            "$var" => {
                assert_eq!(fields[5], "$end");
                assert_eq!(fields[1], if fields[4] == "place" { "string" } else { "wire" });
                let width = fields[2].parse().unwrap();
                let name =
                    if scopes.len() == 1 { fields[4].to_owned() } else { scopes[1..].join(".") + "." + fields[4] };
                let (known, same) = names.entry(fields[3]).or_insert_with(|| (Vec::new(), width));
                assert_eq!(*same, width, "two names of a signal have its width");
                known.push(name);
            }
            _ => {}
        }
    }
    assert!(scopes.is_empty());
    let mut signals: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    let mut texts = BTreeMap::new();
    let mut time = None;
    for line in changes.lines() {
        if let Some(number) = line.strip_prefix('#') {
            let next: u64 = number.parse().unwrap();
            assert!(time.is_none_or(|time| time < next), "time goes on");
            time = Some(next);
            continue;
        }
        if let Some((place, code)) = line.strip_prefix('s').and_then(|rest| rest.split_once(' ')) {
            assert_eq!(names[code].0, ["program.place"]);
            texts.insert(time.unwrap(), place.to_owned());
            continue;
        }
        let (value, code) = match line.strip_prefix('b') {
            Some(rest) => rest.split_once(' ').unwrap(),
            None => line.split_at(1),
        };
        let (known, width) = &names[code];
        assert!(value.len() <= *width);
        let value = u64::from_str_radix(value, 2).unwrap();
        for name in known {
            signals.entry(name.clone()).or_default().insert(time.unwrap(), value);
        }
    }
    (signals, texts)
}

#[test]
fn a_vcd_file_has_the_state_of_every_cycle() {
    let clock = Clock::from_mhz(500);
    for program in BuiltinProgram::ALL {
        let assembled = program.assemble();
        let mut vcd = Vcd::new(&assembled, clock);
        session(program, ListManagerParameters { latency: 30, ..MEMORY }, AfterMatch::Keep).run(&mut vcd).unwrap();
        let (signals, places) = read_vcd(&vcd.finish());
        let names = &assembled.registers;
        assert!(!names.is_empty(), "the program names registers");
        let at = |name: &str, cycle: u64| {
            signals
                .get(name)
                .and_then(|changes| changes.range(..=2000 * cycle).next_back())
                .map_or(0, |(_, value)| *value)
        };
        let seen = watched(program);
        let last = seen.last().unwrap().0.cycle;
        let mut issues = 0;
        let mut sent = BTreeMap::new();
        for (event, state) in &seen {
            let cycle = event.cycle;
            assert_eq!((at("issue", cycle), at("pc", cycle)), (1, u64::from(event.issued.at)), "cycle {cycle}");
            assert_eq!(at("p", cycle), u64::from(state.predicates));
            for number in 1..16 {
                assert_eq!(at(&format!("a{number}"), cycle), state.alu[number]);
                assert_eq!(at(&format!("t{number}"), cycle), state.ternary[number]);
            }
            for (name, register) in names {
                assert_eq!(at(&format!("program.{name}"), cycle), value(state, *register), "{name}");
            }
            let place = places.range(..=2000 * cycle).next_back().unwrap().1;
            let (label, distance) = place.split_once('+').unwrap_or((place, "0"));
            let first = assembled.labels.get(label).map_or_else(|| label.parse().unwrap(), |address| address.index());
            assert_eq!(first + distance.parse::<usize>().unwrap(), usize::from(event.issued.at), "{place}");
            assert_eq!(at("in_pop", cycle), u64::from(event.took.is_some()));
            if let Some(entry) = event.took {
                assert_eq!(at("in_data", cycle), entry.word);
            }
            if let Some((_, cause)) = event.stall {
                assert_eq!(at("stall", cycle - 1), cause as u64 + 1, "cycle {cycle}");
            }
            if let Some(word) = event.issued.sent {
                sent.insert(cycle + WRITE_STAGE, word);
            }
        }
        for cycle in 0..=last + WRITE_STAGE {
            issues += at("issue", cycle);
            let word = sent.get(&cycle);
            assert_eq!(at("out_valid", cycle), u64::from(word.is_some()), "cycle {cycle}");
            if let Some(word) = word {
                assert_eq!((at("out_data", cycle), at("out_last", cycle)), (word.word, u64::from(word.last)));
            }
        }
        assert!(issues >= seen.len() as u64);
    }
}
