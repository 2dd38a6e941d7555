// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines in shared libraries: a sound one is the engine built in, and each planted fault is found and named.

use std::path::PathBuf;

use mb_catalog::EngineChoice;
use mb_core::{Engine, EngineFault, Picos, Source};
use mb_own::judged::{self, JudgedEngine, Judgement, Judgements};
use mb_own::library;
use mb_own::{Check, EngineVerdict};
use mb_testkit::drive::{Fetch, Offer, Visits, judge};
use mb_testkit::streams;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// A library of `workbench/own/examples`, which cargo builds before this test.
fn path(name: &str) -> String {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    let file = folder.parent().unwrap().join("examples").join(format!("lib{name}.so"));
    file.to_string_lossy().into_owned()
}

fn faulty(fault: &str) -> EngineChoice {
    let mut choice = library::choose(&path("faulty"), None).unwrap();
    choice.set("fault", fault, Source::User).unwrap();
    choice
}

fn verdict(choice: &EngineChoice) -> EngineVerdict {
    mb_own::test(choice, &mut |_| ()).unwrap()
}

/// Streams of operations as the test kit makes them.
fn some_streams(count: usize) -> Vec<Vec<Offer>> {
    let mut runner = TestRunner::new(Config { rng_seed: RngSeed::Fixed(1), ..Config::default() });
    let streams = streams::streams(300);
    (0..count).map(|_| streams.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
fn the_same_engine_on_both_sides_gives_the_same_completions() {
    let (inside, outside) =
        (mb_catalog::find("linear:bgp").unwrap(), library::choose(&path("outside_linear"), Some("bgp")).unwrap());
    assert_eq!(outside.placement(), inside.placement());
    let values =
        |choice: &EngineChoice| choice.parameters.iter().map(|(_, parameter)| parameter.clone()).collect::<Vec<_>>();
    // Every value, and every source.
    assert_eq!(values(&outside), values(&inside));
    for stream in some_streams(20) {
        for fetch in [Fetch::RunUntil, Fetch::Answer, Fetch::RunToCompletion] {
            let answers =
                |choice: &EngineChoice| judge(choice.build().unwrap().as_mut(), &stream, fetch, Visits::OfAWalk);
            assert_eq!(answers(&outside).unwrap(), answers(&inside).unwrap());
        }
    }
}

#[test]
fn sound_engines_pass_every_check() {
    for choice in [faulty("none"), library::choose(&path("outside_linear"), Some("software")).unwrap()] {
        let EngineVerdict { passed, failure } = verdict(&choice);
        assert_eq!(failure, None);
        assert_eq!(passed.iter().map(|each| each.check).collect::<Vec<_>>(), Check::ALL);
        assert!(passed.iter().all(|each| each.runs > 30));
        let own = choice.own.clone().unwrap();
        assert_eq!(mb_own::check(own.as_ref(), &choice.parameters, &mut |_| ()), Ok(()));
    }
}

#[test]
fn every_planted_fault_is_found_and_named() {
    for (fault, check, text) in [
        ("wrong_order", Check::Corpus, "the engine says `receive 1 matched message 8`, which answers no open"),
        ("lost_message", Check::Corpus, "never answered; the oracle says `receive"),
        ("time_goes_backwards", Check::Corpus, "its next event is at 1 ps, but it was brought to"),
        ("before_the_offer", Check::Corpus, "answers early: at 999 ps, 1 ps before it was accepted at 1000 ps"),
        ("panic", Check::Corpus, "`offer` failed: panicked at workbench/own/examples/faulty.rs:"),
        ("endless_busy", Check::Corpus, "it refused an operation 200000 times in a row"),
        ("endless_events", Check::Corpus, "the engine has events at 1000 ps and never becomes idle"),
        ("repeats", Check::Corpus, "which answers no open operation"),
        ("random", Check::Twice, "in a second engine"),
        ("wrong_when_deep", Check::Streams, "the engine says `receive"),
    ] {
        let EngineVerdict { passed, failure } = verdict(&faulty(fault));
        let failure = failure.unwrap_or_else(|| panic!("{fault} is not found"));
        assert_eq!(failure.check, check, "{fault}: {}", failure.text);
        assert!(failure.text.contains(text), "{fault}: {}", failure.text);
        let before = Check::ALL.iter().position(|known| *known == check).unwrap();
        assert_eq!(passed.len(), before, "{fault}");
        if check == Check::Corpus {
            assert!(failure.text.contains("spec/cases/"), "{fault}: {}", failure.text);
            assert!(failure.clause.is_some(), "{fault}");
            assert!(failure.text.contains(", in the sequence\n  1  "), "{fault}: {}", failure.text);
        }
    }
}

#[test]
fn a_fault_that_no_check_reaches_ends_the_replay() {
    let choice = faulty("wrong_when_deep");
    let run = |depth: u64| {
        let mut engine = choice.build().unwrap();
        let envelope = |tag| mb_core::Envelope { bits: tag, initiator: mb_core::Initiator(1) };
        let post = |number| mb_core::Op::Post {
            recv: mb_core::RecvId(number),
            pattern: mb_core::Pattern::exactly(envelope(number)),
        };
        let arrive = mb_core::Op::Arrive { msg: mb_core::MsgId(1), envelope: envelope(3) };
        EngineFault::catch(|| {
            let mut done = Vec::new();
            for op in (1..=depth).map(post).chain([arrive]) {
                engine.offer(mb_core::Picos::ZERO, op);
            }
            engine.run_until(mb_core::Picos(1_000_000), &mut done);
            done.len()
        })
    };
    assert_eq!(run(10), Ok(11));
    assert_eq!(
        run(50).unwrap_err().0,
        "it says `receive 4 matched message 1`, which is the outcome of no open operation, \
         expected `receive 3 matched message 1`"
    );
}

/// Receives are posted and matched from the youngest on, at depths of `depth` to 1, and two messages by matched probes
/// at depth 1; what is said of the engine then.
fn judgement_of(choice: &EngineChoice, depth: u64) -> Judgement {
    let judgements = Judgements::default();
    let mut engine = JudgedEngine::new(choice.build().unwrap(), choice.placement(), &judgements);
    let envelope = |tag| mb_core::Envelope { bits: tag, initiator: mb_core::Initiator(1) };
    let pattern = |tag| mb_core::Pattern::exactly(envelope(tag));
    let posts = (1..=depth).map(|tag| mb_core::Op::Post { recv: mb_core::RecvId(tag), pattern: pattern(tag) });
    let arrive = |tag| mb_core::Op::Arrive { msg: mb_core::MsgId(tag), envelope: envelope(tag) };
    let late = [depth + 1, depth + 2];
    let probe = |tag| mb_core::Op::MatchedProbe { probe: mb_core::ProbeId(tag), pattern: pattern(tag) };
    let ops = posts.chain((1..=depth).rev().map(arrive)).chain(late.map(arrive)).chain(late.map(probe));
    let (mut now, mut done) = (Picos(1000), Vec::new());
    for op in ops {
        assert_eq!(engine.offer(now, op), mb_core::Accepted::Yes);
        // Longer than any operation: none waits for an older one.
        now += Picos(10_000_000);
        engine.run_until(now, &mut done);
    }
    assert_eq!(done.len() as u64, 2 * depth + 4);
    drop(engine);
    judged::sum(&judgements)
}

#[test]
fn what_no_engine_can_do_is_counted_and_honest_engines_do_none_of_it() {
    let honest = Judgement { matches: 12, ..Judgement::default() };
    let too_fast = |fastest| Judgement { too_fast: 12, fastest: Some(Picos(fastest)), ..honest };
    assert_eq!(judgement_of(&faulty("none"), 10), honest);
    // 10 + 9 + ... + 1, and 1 for each probe.
    let unvisited = Judgement { unvisited: 12, unvisited_depth: (57, 10), ..honest };
    assert_eq!(judgement_of(&faulty("no_visits"), 10), unvisited);
    assert_eq!(judgement_of(&faulty("no_time"), 10), too_fast(0));
    assert_eq!(judgement_of(&faulty("too_fast"), 10), too_fast(1));
    let outside = library::choose(&path("outside_linear"), Some("software")).unwrap();
    assert_eq!(judgement_of(&outside, 10), honest);
    // The same test on every preset of matchbench: hash tables, CAMs and lists. The bound alone is too fast.
    for choice in mb_catalog::all().unwrap() {
        let found = judgement_of(&choice, 10);
        let expected = if choice.spec() == "ideal:zero" { too_fast(0) } else { honest };
        // Measured engines take the time that a stopwatch gives them: none here.
        if choice.entry.card.timing != mb_core::Timing::Measured {
            assert_eq!(found, expected, "{}", choice.spec());
        }
    }
}

#[test]
fn an_engine_that_answers_early_is_called_that() {
    let mut engine = faulty("before_the_offer").build().unwrap();
    let envelope = mb_core::Envelope { bits: 1, initiator: mb_core::Initiator(1) };
    let found = EngineFault::catch(|| {
        engine.offer(Picos(5000), mb_core::Op::Arrive { msg: mb_core::MsgId(1), envelope });
        engine.run_until(Picos(9000), &mut Vec::new());
    });
    assert_eq!(
        found.unwrap_err().0,
        "it answers early: `message 1 unexpected` at 4999 ps, 1 ps before its operation was accepted at 5000 ps; \
         no engine is faster than the bound, which answers at that time"
    );
}

#[test]
fn what_is_no_engine_is_refused_before_it_runs() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let refused = |path: &str| library::open(path).unwrap_err();
    let arch = std::env::consts::ARCH;
    assert_eq!(refused("./nowhere.so"), "./nowhere.so: found no such file, expected a shared library; check the path");
    let text = folder.join("text.so");
    std::fs::write(&text, "no library").unwrap();
    let text = text.to_string_lossy();
    assert_eq!(refused(&text), format!("{text}: found no object file, expected a shared library for {arch}"));
    // Every length of a sound one, cut.
    let whole = std::fs::read(path("faulty")).unwrap();
    for length in (0..whole.len().min(4096)).step_by(61) {
        let cut = folder.join("cut.so");
        std::fs::write(&cut, &whole[..length]).unwrap();
        assert!(library::open(&cut.to_string_lossy()).is_err(), "{length} bytes");
    }
    // The machine in the header of the file.
    let mut other = whole.clone();
    let machine: u16 = if arch == "aarch64" { 62 } else { 183 };
    other[18..20].copy_from_slice(&machine.to_le_bytes());
    let file = folder.join("machine.so");
    std::fs::write(&file, other).unwrap();
    let file = file.to_string_lossy();
    let found = if arch == "aarch64" { "x86_64" } else { "aarch64" };
    let expected = format!("{file}: found a shared library for {found}, expected a shared library for {arch}");
    assert_eq!(refused(&file), expected);
}

#[test]
fn a_preset_that_does_not_exist_is_named() {
    let path = path("faulty");
    assert_eq!(
        library::choose(&path, Some("sund")).unwrap_err(),
        format!("{path}: engine `faulty`: unknown preset `sund`; did you mean `sound`? expected one of: sound")
    );
}
