// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The wording of errors about names that do not exist.

/// A longer list of names is shortened.
const MOST_LISTED: usize = 16;
/// So many names of a shortened list remain.
const NEAREST: usize = 8;
/// Letters of a longer name that are shown; the time to compare names grows with their length.
const MOST_LETTERS: usize = 100;

/// The error for `found`, which is not the name of a `kind`, such as a parameter.
#[must_use]
pub fn unknown<'a>(kind: &str, found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    unknown_of(kind, found, &known.into_iter().collect::<Vec<_>>(), None)
}

/// The same where the command `listing` lists the names.
#[must_use]
pub fn unknown_of(kind: &str, found: &str, known: &[&str], listing: Option<&str>) -> String {
    let cut = found.char_indices().nth(MOST_LETTERS).map(|(end, _)| format!("{}...", &found[..end]));
    let found = cut.as_deref().unwrap_or(found);
    let meant = suggestion(found, known).map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    let expected = if known.is_empty() {
        "there are none".to_owned()
    } else if known.len() <= MOST_LISTED {
        format!("expected one of: {}", known.join(", "))
    } else {
        let mut nearest = known.to_vec();
        nearest.sort_by_key(|name| (!completes(found, name), distance(found, name)));
        nearest.truncate(NEAREST);
        let all = listing.map_or_else(String::new, |listing| format!("; `{listing}` lists all"));
        format!("expected one of {}: {}, ...{all}", known.len(), nearest.join(", "))
    };
    format!("unknown {kind} `{found}`; {meant}{expected}")
}

/// The name that `found` becomes when at most a third of its letters change, or the only name that it completes to.
fn suggestion<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let distances = known.iter().map(|name| (distance(found, name), *name));
    let (changes, nearest) = distances.min_by_key(|(changes, _)| *changes)?;
    if changes * 3 <= found.chars().count() && !found.is_empty() {
        return Some(nearest);
    }
    let mut completed = known.iter().filter(|name| completes(found, name));
    let first = completed.next()?;
    completed.next().is_none().then_some(first)
}

/// Whether `name` begins with `part`, or has it as its last component after a dot.
fn completes(part: &str, name: &str) -> bool {
    part.len() >= 3 && (name.starts_with(part) || name.rsplit_once('.').is_some_and(|(_, last)| last == part))
}

/// The number of letters to insert, remove, replace or exchange with a neighbour to turn one name into the other,
/// where case does not matter.
fn distance(one: &str, other: &str) -> usize {
    let letters = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    let (one, other) = (letters(one), letters(other));
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, &letter) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, &wanted) in other.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != wanted);
            next.push(replaced.min(above[column + 1] + 1).min(next[column] + 1));
            if row > 0 && column > 0 && letter == other[column - 1] && one[row - 1] == wanted {
                next[column + 1] = next[column + 1].min(before[column - 1] + 1);
            }
        }
        before = std::mem::replace(&mut above, next);
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_insertions_removals_replacements_and_exchanges() {
        for (one, other, expected) in [
            ("linear", "linear", 0),
            ("Linear", "linear", 0),
            ("linar", "linear", 1),
            ("linnear", "linear", 1),
            ("lineor", "linear", 1),
            ("lienar", "linear", 1),
            ("ca", "abc", 3),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_the_nearest_name_and_all_names() {
        let message = |found| unknown("engine", found, ["linear", "list_mt", "alpu"]);
        let all = "expected one of: linear, list_mt, alpu";
        for (found, near) in [("lienar", "linear"), ("listmt", "list_mt"), ("Linear", "linear"), ("lin", "linear")] {
            assert_eq!(message(found), format!("unknown engine `{found}`; did you mean `{near}`? {all}"));
        }
        for found in ["cam", "al", ""] {
            assert_eq!(message(found), format!("unknown engine `{found}`; {all}"));
        }
        assert_eq!(unknown("parameter", "rob", []), "unknown parameter `rob`; there are none");
    }

    #[test]
    fn a_long_name_is_cut() {
        let shown = format!("{}...", "é".repeat(100));
        assert_eq!(
            unknown("engine", &"é".repeat(1 << 20), ["linear"]),
            format!("unknown engine `{shown}`; expected one of: linear")
        );
        assert!(
            unknown("engine", &"é".repeat(100), []).starts_with(&format!("unknown engine `{}`; ", "é".repeat(100)))
        );
    }

    #[test]
    fn the_last_component_of_a_name_suggests_the_name() {
        let message = |found| unknown("parameter", found, ["core.clock", "l2.size", "core.size"]);
        assert!(message("clock").contains("did you mean `core.clock`?"), "{}", message("clock"));
        assert!(!message("size").contains("did you mean"), "{}", message("size"));
    }

    #[test]
    fn a_long_list_is_shortened_to_the_nearest_names() {
        let names: Vec<_> = (0..17).map(|number| format!("part{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let nearest = "part9, part0, part1, part2, part3, part4, part5, part6, ...";
        let meant = "unknown part `part99`; did you mean `part9`? expected one of 17:";
        assert_eq!(unknown_of("part", "part99", &names, None), format!("{meant} {nearest}"));
        assert_eq!(
            unknown_of("part", "part99", &names, Some("matchbench parts")),
            format!("{meant} {nearest}; `matchbench parts` lists all")
        );
        assert_eq!(
            unknown_of("part", "x", &names[..2], Some("matchbench parts")),
            "unknown part `x`; expected one of: part0, part1"
        );
    }
}
