// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ledger is read strictly: what is wrong in it is told with line and claim.

use std::collections::BTreeSet;

use mb_reproduce::ledger::{self, Claim, ClaimedValue, Kind, Method, Origin, Precision};
use mb_reproduce::papers::crowley2000;
use mb_reproduce::verdict::{self, Measured, Verdict};
use mb_reproduce::{REGISTRY, preset_value};

use crate::common::CLAIMS;

const CLAIM: &str = r#"
[[section]]
paper = "hemmert2007"
testable_by = "synthesis"
[[section.claim]]
id = "hemmert2007.mu.slots"
where = "§4.2"
system = "mu, hw"
statement = "There are six slots."
quantity = "slots"
value = 6
unit = "slots"
conditions = "always"
kind = "configuration"
testable_by = "rtl sim"
also_by = ["cycle model"]
origin = "stated"
precision = "exact"
"#;

fn read(text: &str) -> Result<Vec<Claim>, String> {
    ledger::read("try.toml", text).map_err(|error| error.to_string())
}

/// Reads the claim with `old` replaced by `new`.
fn edited(old: &str, new: &str) -> Result<Claim, String> {
    assert!(CLAIM.contains(old), "{old}");
    read(&CLAIM.replace(old, new)).map(|mut claims| claims.remove(0))
}

fn value(precision: &str, value: &str) -> Result<ClaimedValue, String> {
    let text = CLAIM.replace("value = 6", &format!("value = {value}"));
    read(&text.replace("\"exact\"", &format!("\"{precision}\""))).map(|mut claims| claims.remove(0).value)
}

#[test]
fn the_ledger_of_the_project_has_claims_of_every_registered_paper_and_of_no_other() {
    let papers: BTreeSet<_> = CLAIMS.iter().map(|claim| claim.paper.as_str()).collect();
    assert_eq!(papers, REGISTRY.keys().map(|(key, _)| key).collect());
}

#[test]
fn a_paper_is_found_by_its_key_and_by_its_alias() {
    for (key, alias) in REGISTRY.keys() {
        assert_eq!((REGISTRY.find(key).unwrap().key(), REGISTRY.find(alias).unwrap().key()), (key, key));
    }
    let papers: Vec<&str> = REGISTRY.keys().map(|(key, _)| key).collect();
    assert_eq!(
        REGISTRY.find("s9").map(mb_reproduce::RegisteredPaper::key).unwrap_err().to_string(),
        format!("unknown paper `s9`; expected one of: {}", papers.join(", "))
    );
}

#[test]
fn a_claim_has_the_fields_of_the_ledger() {
    let claim = read(CLAIM).unwrap().remove(0);
    assert_eq!(
        (claim.id.as_str(), claim.paper.as_str(), claim.place.as_str()),
        ("hemmert2007.mu.slots", "hemmert2007", "§4.2")
    );
    assert_eq!(claim.systems, ["mu", "hw"]);
    assert_eq!((claim.value, claim.precision), (ClaimedValue::Number(6.0, 0), Precision::Exact));
    assert_eq!((claim.testable_by, claim.also_by), (Method::RtlSim, vec![Method::CycleModel]));
    assert_eq!((claim.formula, claim.note), (None, None));
}

#[test]
fn what_a_claim_does_not_state_is_that_of_its_section_or_usual() {
    let unstated = [
        "kind = \"configuration\"\n",
        "testable_by = \"rtl sim\"\n",
        "origin = \"stated\"\n",
        "precision = \"exact\"\n",
    ];
    let text = unstated.iter().fold(CLAIM.to_owned(), |text, field| text.replace(field, ""));
    let claim = read(&text).unwrap().remove(0);
    assert_eq!((claim.kind, &claim.testable_by), (Kind::Result, &Method::Synthesis));
    assert_eq!((claim.origin, claim.precision), (Origin::Stated, Precision::Exact));
    let fields: Vec<&str> = text.lines().skip(5).collect();
    let row = format!(
        "[[section]]\npaper = \"hemmert2007\"\ntestable_by = \"synthesis\"\nconfiguration = [{{ {} }}]",
        fields.join(", ")
    );
    assert_eq!(read(&row).unwrap(), [Claim { kind: Kind::Configuration, ..claim }]);
}

#[test]
fn values_have_the_form_that_their_precision_calls_for() {
    assert_eq!(value("rounded", "0.94"), Ok(ClaimedValue::Number(0.94, 2)));
    assert_eq!(value("rounded", "1.0"), Ok(ClaimedValue::Number(1.0, 1)));
    assert_eq!(value("exact", "[16, 24]"), Ok(ClaimedValue::Numbers(vec![16.0, 24.0])));
    assert_eq!(value("range", "[16, 24]"), Ok(ClaimedValue::Range(16.0, 24.0)));
    assert_eq!(value("at-least", "31"), Ok(ClaimedValue::Limit { limit: 31.0, inclusive: true, lowest: true }));
    assert_eq!(value("at-least", "\"> 2\""), Ok(ClaimedValue::Limit { limit: 2.0, inclusive: false, lowest: true }));
    assert_eq!(
        value("at-most", "\"<= 0.06\""),
        Ok(ClaimedValue::Limit { limit: 0.06, inclusive: true, lowest: false })
    );
    assert_eq!(value("ordinal", "\"a < b\""), Ok(ClaimedValue::Text("a < b".to_owned())));
}

#[test]
fn values_are_printed_as_the_paper_has_them() {
    let printed = |precision: &str, text: &str| value(precision, text).unwrap().to_string();
    assert_eq!(printed("rounded", "1.0"), "1.0");
    assert_eq!(printed("exact", "[10, 30]"), "10, 30");
    assert_eq!(printed("range", "[2, 3]"), "2 to 3");
    assert_eq!(printed("at-least", "31"), ">= 31");
    assert_eq!(printed("at-most", "\"< 0.01\""), "< 0.01");
}

#[test]
fn a_value_of_another_form_is_refused() {
    for (precision, text, message) in [
        ("exact", "true", "`value` is true; precision exact calls for a number, numbers or words"),
        ("exact", "[1, \"a\"]", "`value` is [1, \"a\"]; precision exact calls for numbers"),
        ("rounded", "\"6\"", "`value` is \"6\"; precision rounded calls for a number"),
        ("approx", "inf", "`value` is inf; precision approx calls for a number"),
        ("range", "[3, 2]", "`value` is [3, 2]; precision range calls for [lowest, highest]"),
        ("range", "3", "`value` is 3; precision range calls for [lowest, highest]"),
        ("ordinal", "3", "`value` is 3; precision ordinal calls for a relation in words"),
        (
            "at-least",
            "\"< 3\"",
            "`value` is \"< 3\"; precision at-least calls for a number, \"> number\" or \">= number\"",
        ),
        (
            "at-most",
            "\"<= a\"",
            "`value` is \"<= a\"; precision at-most calls for a number, \"< number\" or \"<= number\"",
        ),
    ] {
        assert_eq!(value(precision, text), Err(format!("try.toml:6: claim `hemmert2007.mu.slots`: {message}")));
    }
}

#[test]
fn a_field_that_is_missing_is_named() {
    assert_eq!(edited("unit = \"slots\"\n", ""), Err("try.toml:5: missing field `unit`".to_owned()));
}

#[test]
fn a_field_that_no_claim_has_is_refused() {
    assert_eq!(
        edited("unit = \"slots\"", "unit = \"slots\"\ncolour = \"red\""),
        Err(
            "try.toml:13: unknown field `colour`, expected one of `id`, `where`, `system`, `statement`, `quantity`, \
             `value`, `unit`, `conditions`, `kind`, `testable_by`, `origin`, `precision`, `preset`, `evidence`, `formula`, `note`, \
             `also_by`"
                .to_owned()
        )
    );
}

#[test]
fn an_empty_field_is_refused() {
    assert_eq!(
        edited("unit = \"slots\"", "unit = \" \""),
        Err("try.toml:6: claim `hemmert2007.mu.slots`: `unit` is empty".to_owned())
    );
}

#[test]
fn an_unknown_word_is_refused() {
    for (old, new, message) in [
        ("\"configuration\"", "\"guess\"", "unknown kind `guess`; expected one of: configuration, result, background"),
        ("\"stated\"", "\"said\"", "unknown origin `said`; expected one of: stated, derived, inferred"),
        (
            "\"exact\"",
            "\"sharp\"",
            "unknown precision `sharp`; expected one of: exact, rounded, approx, at-least, at-most, range, ordinal",
        ),
        (
            "\"rtl sim\"",
            "\"cannot: \"",
            "unknown way of testing `cannot: `; expected one of: cycle model, rtl sim, execution-driven cpu model, trace \
             replay, synthesis, host measurement, cannot: WHY",
        ),
        (
            "hemmert2007.mu.slots",
            "hemmert2007.Mu",
            "found this id; expected `hemmert2007.what` or `hemmert2007.subject.what` for a claim of paper `hemmert2007`, in \
             small letters, digits and underscores",
        ),
    ] {
        let id = if new == "hemmert2007.Mu" { new } else { "hemmert2007.mu.slots" };
        assert_eq!(edited(old, new), Err(format!("try.toml:6: claim `{id}`: {message}")));
    }
}

#[test]
fn an_id_that_is_used_twice_is_refused() {
    let message = "try.toml:24: claim `hemmert2007.mu.slots`: the id is that of the claim in line 6";
    assert_eq!(read(&CLAIM.repeat(2)), Err(message.to_owned()));
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    assert_eq!(
        edited("value = 6", "value = "),
        Err("try.toml:11: string values must be quoted, expected literal string".to_owned())
    );
}

#[test]
fn every_row_that_names_a_preset_has_its_value() {
    let rows: Vec<_> = CLAIMS.iter().filter_map(|claim| Some((claim, claim.preset.as_ref()?))).collect();
    assert!(rows.len() >= 90, "{}", rows.len());
    for (claim, preset) in rows {
        let found = Measured::Number(preset_value::of(preset).unwrap_or_else(|what| panic!("{}: {what}", claim.id)));
        assert_eq!(verdict::judge(claim, &found).unwrap().verdict, Verdict::Holds, "{}: {found:?}", claim.id);
    }
}

#[test]
fn a_preset_or_a_parameter_that_is_not_there_is_refused() {
    assert_eq!(preset_value::of("list_mt:mt1 2 * cores * contexts"), Ok(16.0));
    assert_eq!(
        preset_value::of("list_mt:mt1 core"),
        Err("found `core`, expected a formula of numbers and of parameters of `list_mt:mt1`".to_owned())
    );
    assert!(preset_value::of("list_mt:mt3 cores").unwrap_err().contains("mt3"));
    let text = CLAIM.replace("kind =", "preset = \"list_mt:mt1 core\"\nkind =").replace("hemmert2007", "crowley2000");
    let claims = read(&text).unwrap();
    assert_eq!(
        crowley2000::PAPER.findings(&claims, &crowley2000::model::Model::published()).unwrap_err().to_string(),
        "spec/claims.toml: claim `crowley2000.mu.slots`: preset: found `core`, expected a formula of numbers and of \
         parameters of `list_mt:mt1`"
    );
}
