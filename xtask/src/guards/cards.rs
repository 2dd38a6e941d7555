// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every engine has a model card, the README of its folder, with the agreed headings in order and none empty.

use super::Objection;
use crate::tree::Tree;

const HEADINGS: &[&str] = &[
    "Mechanism",
    "What is modelled",
    "What is not",
    "Parameters",
    "Timing, in formulas",
    "Validation",
    "Status",
    "References",
];

/// Objects to a card that is missing, and to one whose second-level headings differ or are empty.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    for folder in tree.texts().filter_map(|(path, _)| path.strip_suffix("/Cargo.toml")) {
        if folder.strip_prefix("engines/").is_some_and(|name| !name.contains('/')) {
            let path = format!("{folder}/README.md");
            match tree.text(&path) {
                Some(text) => objections.extend(check_card(&path, text)),
                None => objections.push(Objection::new(&path, 1, "the engine has no model card")),
            }
        }
    }
    objections
}

fn check_card(path: &str, text: &str) -> Vec<Objection> {
    let lines: Vec<&str> = text.lines().collect();
    let found: Vec<(usize, &str)> =
        lines.iter().enumerate().filter_map(|(index, line)| Some((index, line.strip_prefix("## ")?.trim()))).collect();
    let names: Vec<&str> = found.iter().map(|(_, name)| *name).collect();
    if names != HEADINGS {
        let wrong = names.iter().zip(HEADINGS).position(|(name, expected)| name != expected);
        let at = wrong.unwrap_or(names.len().min(HEADINGS.len()));
        let expected = HEADINGS.get(at).map_or("no further heading".to_owned(), |name| format!("`## {name}`"));
        let line = found.get(at).map_or(lines.len(), |(index, _)| index + 1);
        return vec![Objection::new(path, line, format!("heading {} of a model card must be {expected}", at + 1))];
    }
    let ends = found.iter().skip(1).map(|(index, _)| *index).chain([lines.len()]);
    found
        .iter()
        .zip(ends)
        .filter(|((start, _), end)| lines[start + 1..*end].iter().all(|line| line.trim().is_empty()))
        .map(|((start, name), _)| Objection::new(path, start + 1, format!("`## {name}` is empty")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    fn assert_card(card: &str, expected: &[&str]) {
        assert_objections(check, &[("engines/alpu/Cargo.toml", ""), ("engines/alpu/README.md", card)], expected);
    }

    fn complete_card() -> String {
        format!("## {}\nText.\n", HEADINGS.join("\nText.\n## "))
    }

    #[test]
    fn an_engine_without_a_card_is_rejected() {
        assert_objections(
            check,
            &[("engines/alpu/Cargo.toml", "")],
            &["engines/alpu/README.md:1: the engine has no model card"],
        );
    }

    #[test]
    fn a_card_that_lacks_a_heading_is_rejected() {
        assert_card(
            &complete_card().replace("## What is not\nText.\n", ""),
            &["engines/alpu/README.md:5: heading 3 of a model card must be `## What is not`"],
        );
    }

    #[test]
    fn a_card_that_ends_early_is_rejected() {
        assert_card(
            &complete_card().replace("## References\nText.\n", ""),
            &["engines/alpu/README.md:14: heading 8 of a model card must be `## References`"],
        );
    }

    #[test]
    fn a_card_with_an_empty_section_is_rejected() {
        assert_card(
            &complete_card().replace("## What is not\nText.\n", "## What is not\n\n"),
            &["engines/alpu/README.md:5: `## What is not` is empty"],
        );
    }

    #[test]
    fn a_complete_card_is_accepted() {
        assert_card(&complete_card(), &[]);
    }
}
