// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The reader of descriptions: every defect is named, and no bytes make it panic.

use mb_own::description::Description;
use proptest::prelude::*;

const SOUND: &str = r#"
name = "walk"
summary = "A list search"
reference = "none"
timing = "simulated"
[[parameter]]
key = "entry"
meaning = "Time of an entry."
unit = "ns"
low = 0
high = 1000
[[parameter]]
key = "side"
meaning = "Whose time."
words = ["nic", "host"]
[[preset]]
name = "guess"
values.entry = { value = "10 ns", source = "assumed", note = "a guess" }
values.side = { value = "nic", source = "paper", cite = "someone", where = "section 2" }
"#;

fn error(text: &str) -> String {
    let read = Description::read(text.as_bytes());
    read.and_then(|read| read.entry().map(|entry| entry.card.name.to_owned())).unwrap_err()
}

/// The error of the sound description with `old` replaced.
fn changed(old: &str, new: &str) -> String {
    assert_eq!(SOUND.matches(old).count(), 1, "{old}");
    error(&SOUND.replace(old, new))
}

#[test]
fn a_sound_description_is_an_entry() {
    let entry = Description::read(SOUND.as_bytes()).unwrap().entry().unwrap();
    assert_eq!(entry.parameters.iter().map(|spec| spec.key).collect::<Vec<_>>(), ["entry", "side"]);
    let choice = mb_catalog::choose(entry, None).unwrap();
    let values: Vec<_> = choice.parameters.iter().map(|(_, each)| each.value.to_string()).collect();
    assert_eq!(values, ["10", "nic"]);
    assert_eq!(choice.assumed_parameters(), (1, 2));
}

#[test]
fn every_defect_of_a_description_is_named() {
    for (old, new, expected) in [
        (
            "name = \"walk\"",
            "name = \"Walk\"",
            "name: found `Walk`, expected at most 64 of a to z, 0 to 9 and _, with a letter first",
        ),
        ("name = \"walk\"\n", "", "missing field `name`"),
        (
            "summary = \"A list search\"",
            "summary = \"\"",
            "summary: expected a line of 1 to 1000 bytes without control characters",
        ),
        ("\"simulated\"", "\"measured\"", "timing: found `measured`, expected `simulated`: a model computes its times"),
        (
            "unit = \"ns\"",
            "unit = \"s\"",
            "parameter `entry`: found the unit `s`, expected one of: ns, cycles, MHz, count",
        ),
        (
            "unit = \"ns\"\n",
            "",
            "parameter `entry`: expected `words` alone, or `unit` (ns, cycles, MHz, count), `low` and `high`",
        ),
        (
            "low = 0",
            "low = 1001",
            "parameter `entry`: found the range 1001 to 1000 ns, expected low <= high <= 18446744073709551",
        ),
        ("low = 0", "low = -1", "invalid value: integer `-1`, expected u64"),
        ("key = \"side\"", "key = \"entry\"", "parameter `entry`: found twice, expected once"),
        ("[\"nic\", \"host\"]", "[\"nic\", \"nic\"]", "parameter `side`: word `nic`: found twice, expected once"),
        ("[\"nic\", \"host\"]", "[]", "parameter `side`: found 0 words, expected 1 to 256"),
        ("meaning = \"Whose time.\"", "colour = \"red\"", "unknown field `colour`"),
        (
            "\"10 ns\"",
            "\"2 us\"",
            "preset `guess`: parameter `entry`: found `2 us`, expected 0 to 1000 ns with at most three decimals",
        ),
        (", note = \"a guess\"", "", "preset `guess`: parameter `entry`: field `note` is missing or empty"),
        (
            "values.side = { value = \"nic\", source = \"paper\", cite = \"someone\", where = \"section 2\" }\n",
            "",
            "preset `guess`: parameter `side`: no value found; every parameter needs one",
        ),
        (
            "words = [",
            "holds = \"some\"\nwords = [",
            "parameter `side`: holds: found `some`, expected one of: oldest_of_queue, places_of_both, by_other_rule",
        ),
    ] {
        let found = changed(old, new);
        assert!(found.starts_with("description: ") && found.contains(expected), "{new}: {found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
    let without = SOUND.split("[[preset]]").next().unwrap();
    assert_eq!(error(without), "description: found 0 presets, expected 1 to 64");
    assert!(error("name = ").starts_with("description: TOML parse error at line 1"));
    assert!(Description::read(&[0xff]).unwrap_err().starts_with("description: not UTF-8"));
    let long = vec![b' '; mb_own::description::LONGEST + 1];
    assert_eq!(Description::read(&long).unwrap_err(), "description: found 1048577 bytes, expected at most 1048576");
}

/// Reads `bytes` to the end; what is accepted must build choices.
fn read(bytes: &[u8]) {
    if let Ok(entry) = Description::read(bytes).and_then(Description::entry) {
        for preset in entry.presets {
            let choice = mb_catalog::choose(entry, Some(preset.name)).unwrap();
            assert_eq!(choice.parameters.iter().count(), entry.parameters.len());
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn no_change_of_a_sound_description_makes_the_reader_panic(
        at in 0..SOUND.len(),
        removed in 0_usize..40,
        inserted in prop::sample::select(vec![
            "", "\"", "\u{0}", "é", "9", "99999999999999999999", "-", "[[parameter]]\n", "[[preset]]\n", "]]", "{", "\n",
            "unit = \"MHz\"\n", "high = 9223372036854775807\n", "words = []\n", "values = 3\n", "name = \"a\"\n",
        ]),
    ) {
        let end = (at + removed).min(SOUND.len());
        read([&SOUND.as_bytes()[..at], inserted.as_bytes(), &SOUND.as_bytes()[end..]].concat().as_slice());
    }
}
