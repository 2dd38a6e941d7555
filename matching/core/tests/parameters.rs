// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters that a struct describes: specifications, values as text, and every message word for word.

use mb_core::parameters::{
    Choice, Domain, Embedded, ParameterError, ParameterSet, ParameterSpec, Parameters, PresetValues, Source, Sourced,
    Unit, Value, ValueSources,
};
use mb_core::{Clock, Cycles, Picos};

const MOST: u64 = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
enum Mode {
    Nic,
    #[choice("host_cpu")]
    Host,
    WriteBack,
}

#[derive(Clone, PartialEq, Debug, Parameters)]
struct Walk {
    /// Time of each entry,
    /// in either list.
    #[parameter(range = 0..=10_000)]
    entry: Picos,
    /// Clock.
    #[parameter(range = 1..=10_000)]
    clock: Clock,
    /// Cycles of a match.
    #[parameter(key = "match", range = 1..=MOST)]
    compare: Cycles,
    /// Lists.
    #[parameter(range = 1..=65_536)]
    lists: u32,
    /// Mode.
    #[parameter]
    mode: Mode,
    /// Prefetcher.
    #[parameter]
    r#loop: bool,
}

const VALUES: [(&str, &str); 6] =
    [("entry", "44.4"), ("clock", "321.3"), ("match", "3"), ("lists", "4"), ("mode", "nic"), ("loop", "off")];

fn set(key: &str, text: &str) -> Result<ParameterSet, ParameterError> {
    let given = VALUES.into_iter().chain([(key, text)]);
    ParameterSet::complete(Walk::SPECS, given.map(|(key, text)| (key, text, Source::User)))
}

fn walk(key: &str, text: &str) -> Walk {
    set(key, text).unwrap().typed()
}

fn message(key: &str, text: &str) -> String {
    set(key, text).unwrap_err().to_string()
}

#[test]
fn the_specifications_follow_from_the_fields() {
    let range = |unit, low, high| Domain::Range { unit, low, high };
    let spec = |key, domain, meaning| ParameterSpec { key, domain, meaning, holds: None, file: None };
    assert_eq!(
        Walk::SPECS,
        [
            spec("entry", range(Unit::Nanoseconds, 0, 10_000), "Time of each entry, in either list."),
            spec("clock", range(Unit::Megahertz, 1, 10_000), "Clock."),
            spec("match", range(Unit::Cycles, 1, 8), "Cycles of a match."),
            spec("lists", range(Unit::Count, 1, 65_536), "Lists."),
            spec("mode", Domain::Choice(&["nic", "host_cpu", "write_back"]), "Mode."),
            spec("loop", Domain::Choice(&["off", "on"]), "Prefetcher."),
        ]
    );
}

#[test]
fn the_struct_has_the_values_of_the_set() {
    let expected = Walk {
        entry: Picos(44_400),
        clock: Clock::from_khz(321_300),
        compare: Cycles(3),
        lists: 4,
        mode: Mode::Nic,
        r#loop: false,
    };
    assert_eq!(walk("lists", "4"), expected);
    assert_eq!(walk("mode", "host_cpu").mode, Mode::Host);
    assert!(walk("loop", "on").r#loop);
}

#[test]
fn decimals_are_kept_exactly() {
    assert_eq!(walk("entry", "0.001").entry, Picos(1));
    assert_eq!(walk("clock", "150").clock, Clock::from_mhz(150));
}

#[test]
fn a_value_can_have_its_unit_as_a_suffix() {
    for (text, picos) in [
        ("25 ns", 25_000),
        ("25ns", 25_000),
        ("1.5 us", 1_500_000),
        ("0.000001 us", 1),
        ("17 ps", 17),
        ("0.01 ms", 10_000_000),
        ("0.000000000001 s", 1),
    ] {
        assert_eq!(walk("entry", text).entry, Picos(picos), "{text}");
    }
    for (text, khz) in [("500 MHz", 500_000), ("2 GHz", 2_000_000), ("1234567 kHz", 1_234_567)] {
        assert_eq!(walk("clock", text).clock, Clock::from_khz(khz), "{text}");
    }
    for text in ["3 cycles", "3cycle", "3"] {
        assert_eq!(walk("match", text).compare, Cycles(3), "{text}");
    }
}

#[test]
fn a_value_is_shown_as_a_preset_writes_it() {
    for (key, text, with_unit) in [
        ("entry", "44.4", "44.4 ns"),
        ("entry", "0.001", "0.001 ns"),
        ("entry", "100", "100 ns"),
        ("clock", "321.3", "321.3 MHz"),
        ("match", "2", "2 cycles"),
        ("lists", "7", "7"),
        ("mode", "nic", "nic"),
    ] {
        let set = set(key, text).unwrap();
        let (spec, parameter) = set.iter().find(|(spec, _)| spec.key == key).unwrap();
        assert_eq!(parameter.value.to_string(), text);
        assert_eq!(spec.show(&parameter.value), with_unit);
        assert_eq!(spec.parse(with_unit), Ok(parameter.value));
    }
}

#[test]
fn an_unknown_key_names_the_known_ones() {
    assert_eq!(
        message("entyr", "3"),
        "unknown parameter `entyr`; did you mean `entry`? expected one of: entry, clock, match, lists, mode, loop"
    );
}

#[test]
fn a_value_outside_its_range_names_the_range() {
    assert_eq!(
        message("entry", "10000.001"),
        "parameter `entry`: found `10000.001`, expected 0 to 10000 ns with at most three decimals"
    );
    assert_eq!(
        message("entry", "10.001 us"),
        "parameter `entry`: found `10.001 us`, expected 0 to 10000 ns with at most three decimals"
    );
    assert_eq!(
        message("clock", "0"),
        "parameter `clock`: found `0`, expected 1 to 10000 MHz with at most three decimals"
    );
    assert_eq!(message("match", "9"), "parameter `match`: found `9`, expected a whole number from 1 to 8 (cycles)");
    assert_eq!(message("lists", "0"), "parameter `lists`: found `0`, expected a whole number from 1 to 65536 (count)");
}

#[test]
fn a_value_of_the_wrong_form_says_what_was_found_and_expected() {
    let decimals = "expected 0 to 10000 ns with at most three decimals";
    for text in ["1.2345", "-1", "x", "", "1e3", ".5", "99999999999999999999", "ns"] {
        assert_eq!(message("entry", text), format!("parameter `entry`: found `{text}`, {decimals}"));
    }
    assert_eq!(
        message("lists", "1.5"),
        "parameter `lists`: found `1.5`, expected a whole number from 1 to 65536 (count)"
    );
    assert_eq!(message("mode", "gpu"), "parameter `mode`: found `gpu`, expected one of: nic, host_cpu, write_back");
}

#[test]
fn a_wrong_unit_names_the_units() {
    assert_eq!(
        message("entry", "25 MHz"),
        "parameter `entry`: found `25 MHz`, expected a number without a unit or with one of: ps, ns, us, ms, s"
    );
    assert_eq!(
        message("clock", "25 ns"),
        "parameter `clock`: found `25 ns`, expected a number without a unit or with one of: kHz, MHz, GHz"
    );
    assert_eq!(
        message("match", "3 ns"),
        "parameter `match`: found `3 ns`, expected a number without a unit or with one of: cycles, cycle"
    );
    assert_eq!(
        message("lists", "3 cycles"),
        "parameter `lists`: found `3 cycles`, expected a whole number from 1 to 65536 (count) without a unit"
    );
}

#[test]
fn a_missing_value_names_its_parameter() {
    let given = VALUES.iter().filter(|(key, _)| *key != "clock").map(|&(key, text)| (key, text, Source::User));
    let error = ParameterSet::complete(Walk::SPECS, given).unwrap_err();
    assert_eq!(error.to_string(), "parameter `clock`: no value found; every parameter needs one");
}

#[test]
fn a_typed_change_keeps_the_sources_of_other_values() {
    let mut set = set("lists", "4").unwrap();
    let why = Source::Assumed("why".into());
    set.change(&why, |walk: &mut Walk| walk.lists = 5).unwrap();
    assert_eq!(set.get("lists").unwrap().source, why);
    assert_eq!(set.get("entry").unwrap().source, Source::User);
    assert_eq!(set.typed::<Walk>().lists, 5);
    let error = set.change(&why, |walk: &mut Walk| walk.lists = 0).unwrap_err();
    assert_eq!(error.to_string(), "parameter `lists`: found `0`, expected a whole number from 1 to 65536 (count)");
    assert_eq!(set.typed::<Walk>().lists, 5);
}

#[test]
fn a_set_is_not_read_as_another_struct() {
    #[derive(Debug, Parameters)]
    struct Other {
        /// Lists.
        #[parameter(range = 1..=2)]
        lists: u64,
    }
    assert!(set("lists", "4").unwrap().try_typed::<Other>().is_none());
}

#[derive(Clone, PartialEq, Debug, Parameters)]
#[parameters(sourced = SourcedCache)]
struct Cache {
    /// Cycles of a hit.
    #[parameter(range = 1..=100)]
    hit: Cycles,
    /// Ways.
    #[parameter(key = "associativity", range = 1..=64)]
    ways: u32,
}

#[derive(Clone, PartialEq, Debug, Parameters)]
#[parameters(sourced = SourcedHierarchy)]
struct Hierarchy {
    /// Without a prefix.
    #[parameter(nested)]
    l1: Cache,
    /// Line.
    #[parameter(range = 16..=256)]
    line: u64,
    /// With one.
    #[parameter(nested, prefix = "l2_")]
    l2: Cache,
}

#[derive(Clone, PartialEq, Debug, Parameters)]
struct Chip {
    /// Clock.
    #[parameter(range = 1..=1000)]
    clock: Clock,
    /// Two levels of structs.
    #[parameter(nested, prefix = "cache_")]
    caches: Hierarchy,
}

const CHIP: [(&str, &str); 6] = [
    ("clock", "500"),
    ("cache_hit", "1"),
    ("cache_associativity", "2"),
    ("cache_line", "64"),
    ("cache_l2_hit", "10"),
    ("cache_l2_associativity", "8"),
];

fn chip(key: &str, text: &str) -> Result<ParameterSet, ParameterError> {
    let given = CHIP.into_iter().chain([(key, text)]);
    ParameterSet::complete(Chip::SPECS, given.map(|(key, text)| (key, text, Source::User)))
}

#[test]
fn the_parameters_of_a_nested_struct_stand_in_its_place_behind_its_prefix() {
    assert_eq!(Chip::SPECS.iter().map(|spec| spec.key).collect::<Vec<_>>(), CHIP.map(|(key, _)| key));
    let inner = Cache::SPECS[1];
    assert_eq!(Chip::SPECS[5], ParameterSpec { key: "cache_l2_associativity", ..inner });
}

#[test]
fn a_nested_struct_has_its_values() {
    let cache = |hit, ways| Cache { hit: Cycles(hit), ways };
    let expected =
        Chip { clock: Clock::from_mhz(500), caches: Hierarchy { l1: cache(1, 2), line: 64, l2: cache(10, 8) } };
    let set = chip("clock", "500").unwrap();
    assert_eq!(set.typed::<Chip>(), expected);
    assert_eq!(Chip::from_values(&expected.values()), expected);
    let mut set = set;
    set.change(&Source::User, |chip: &mut Chip| chip.caches.l2.ways = 4).unwrap();
    assert_eq!(set.get("cache_l2_associativity").unwrap().value.to_string(), "4");
}

#[test]
fn an_error_names_the_key_with_its_prefix() {
    assert_eq!(
        chip("cache_l2_hit", "0").unwrap_err().to_string(),
        "parameter `cache_l2_hit`: found `0`, expected a whole number from 1 to 100 (cycles)"
    );
    assert_eq!(
        chip("l2_hit", "1").unwrap_err().to_string(),
        "unknown parameter `l2_hit`; expected one of: clock, cache_hit, cache_associativity, cache_line, cache_l2_hit, \
         cache_l2_associativity"
    );
}

fn hierarchy(l2_ways: u32) -> Result<ParameterSet, ParameterError> {
    let l1 = SourcedCache {
        hit: Sourced::paper(Cycles(1), "crowley2000", "table 4"),
        ways: Sourced::measured(2, "by hand"),
    };
    let l2 = SourcedCache { hit: Sourced::assumed(Cycles(10), "why"), ways: Sourced::assumed(l2_ways, "a guess") };
    ParameterSet::from_sourced::<Hierarchy>(SourcedHierarchy { l1, line: Sourced::assumed(64, "usual"), l2 })
}

#[test]
fn a_struct_with_sources_is_a_set() {
    let set = hierarchy(8).unwrap();
    let cache = |hit, ways| Cache { hit: Cycles(hit), ways };
    assert_eq!(set.typed::<Hierarchy>(), Hierarchy { l1: cache(1, 2), line: 64, l2: cache(10, 8) });
    let sources: Vec<_> =
        set.iter().map(|(spec, parameter)| (spec.key, parameter.source.kind(), parameter.source.detail())).collect();
    let expected = [
        ("hit", "paper", "crowley2000, table 4"),
        ("associativity", "measured", "by hand"),
        ("line", "assumed", "usual"),
        ("l2_hit", "assumed", "why"),
        ("l2_associativity", "assumed", "a guess"),
    ];
    assert_eq!(sources, expected.map(|(key, kind, detail)| (key, kind, detail.to_owned())));
}

#[test]
fn a_value_with_a_source_is_in_its_domain() {
    assert_eq!(
        hierarchy(65).unwrap_err().to_string(),
        "parameter `l2_associativity`: found `65`, expected a whole number from 1 to 64 (count)"
    );
}

/// Two caches that are alike, of which `line` is that of a machine and `l2_hit` is no parameter.
const ALIKE: &[(&str, Embedded)] = &[
    ("hit", Embedded::As("hit", "Cycles of a hit in either cache.")),
    ("l2_hit", Embedded::As("hit", "")),
    ("line", Embedded::Range(32, 64)),
    ("l2_associativity", Embedded::Fixed(Value::Whole(4))),
];

/// Caches of a machine.
#[derive(Clone, PartialEq, Debug, Parameters)]
struct Machine {
    /// Clock.
    #[parameter(range = 1..=100)]
    clock: Clock,
    /// Its caches.
    #[parameter(nested, prefix = "own.", about = "Own cache", embed = ALIKE)]
    caches: Hierarchy,
    /// No parameter.
    #[parameter(fixed = 7)]
    fixed: u64,
}

#[test]
fn an_embedded_struct_has_fewer_joined_and_narrower_parameters() {
    let found: Vec<_> = Machine::SPECS.iter().map(|spec| (spec.key, spec.domain.to_string(), spec.meaning)).collect();
    assert_eq!(found[1].0, "own.hit", "{found:?}");
    assert_eq!(found[1].2, "Own cache: Cycles of a hit in either cache.");
    assert!(found.iter().any(|(key, domain, _)| *key == "own.line" && domain == "32 to 64"), "{found:?}");
    assert!(found.iter().all(|(key, ..)| !key.ends_with("l2_hit") && !key.ends_with("l2_associativity")), "{found:?}");
    let value = |spec: &ParameterSpec| spec.parse(if spec.key == "own.hit" { "3" } else { "32" }).unwrap();
    let machine = Machine::from_values(&Machine::SPECS.iter().map(value).collect::<Vec<_>>());
    assert_eq!((machine.caches.l1.hit, machine.caches.l2.hit), (Cycles(3), Cycles(3)));
    assert_eq!((machine.caches.l2.ways, machine.fixed), (4, 7));
    assert_eq!(Machine::from_values(&machine.values()), machine);
    let mut wrong = machine;
    wrong.clock = Clock::from_mhz(101);
    assert_eq!(
        wrong.check_domains().unwrap_err().to_string(),
        "parameter `clock`: found `101`, expected 1 to 100 MHz with at most three decimals"
    );
}

#[test]
#[should_panic(expected = "`predictor`: has no source")]
fn a_preset_without_a_source_is_refused() {
    #[derive(Parameters)]
    #[parameters(preset)]
    struct Core {
        /// Width.
        #[parameter(range = 1..=4)]
        width: u32,
        /// Counters.
        #[parameter(range = 1..=4)]
        predictor: u32,
    }
    const SOURCES: ValueSources = &[(Source::assumed("any"), "width")];
    let values = Core { width: 1, predictor: 1 };
    drop(ParameterSet::from_sourced::<Core>(PresetValues { values, sources: SOURCES }));
}
