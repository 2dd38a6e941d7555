// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A match program to start from: MPI matching on both lists, for items of 4, 8 or 16 words.
//!
//! Contract: the text assembles, keeps MPI's order, and does what [`crate::golden::mpi`] and
//! [`crate::golden::unexpected`] say. Tests run it in every size.

use std::fmt::Write;

use crate::layout::{WORDS, handle_word};

/// Words that a program needs to decide about an item: three to read bits, mask and initiator, two to compare, and
/// three to answer and branch.
const LOOP: usize = 8;

const HEAD: &str = "\
; A match program: MPI matching on the posted and the unexpected list. Change it, and run it with
;
;   matchbench match_unit run FILE --list list.toml --headers headers.toml
;   matchbench compare TRACE --engine match_unit --set program=FILE
;
; The list manager streams a header of 8 words and then items of ITEMS words, oldest first. The program answers each
; item: 0, or the handle of the item if it matches. Behind a match comes one more item, which the program drains.
; A list ends with an item that has the option END, matches every header, and has the handle 0. Nothing follows it.

.items ITEMS

.const SEARCH     = 0x20        ; header flag: a receive or a probe, which searches the unexpected list
.const ANY_HEADER = 0x10        ; header flag: any initiator will do
.const ANY_ITEM   = 0x40        ; item option: any initiator will do
.const END        = 0x8000      ; item option: the list ends here

.reg first     = a1             ; header word 0: op, flags, pid, nid
.reg from      = a2             ; the initiator, where an item has it
.reg item_id   = a3             ; item word 2: nid, pid, options
.reg handle    = a4             ; item word HANDLE: event queue, handle
.reg built     = a5             ; a constant being built
.reg bits      = t1             ; header word 1: match bits
.reg mask      = t2             ; header word 2: of a search, the bits that are compared
.reg ours      = t3             ; item word 0: match bits
.reg item_mask = t4             ; item word 1: the bits that are compared
.reg options   = t5             ; 16 bits of options or flags, four times
.reg tests     = t6             ; constant: the bit that each section of `options` is tested for

.segment init
        built = SEARCH << 16 | ANY_HEADER
        built = {END << 16 | ANY_ITEM, built.lo}
        tests = built

.segment header
; p13: a search of the unexpected list. p12: it accepts any initiator.
header: wait || first, options[3 3 3 3] = in
        wait || bits = in || from = perm first, a0 [x3:0 0 0 0 0] || p13, p12 = match.16:16:16:16 options, t0 care tests
        wait || mask = in || goto unexpected if p13
        wait || _ = in
        wait || _ = in
        wait || _ = in
        wait || _ = in
        wait || _ = in
        wait || ours = in
";

/// The text of a match program that reads items of `item_words` words.
///
/// # Panics
/// When there are no items of that size.
#[must_use]
pub fn template(item_words: usize) -> String {
    assert!(mb_asm::program::ITEM_WORDS.contains(&item_words), "items have 4, 8 or 16 words");
    let mut text = String::from("; SPDX-License-Identifier: Apache-2.0 OR MIT\n;\n");
    text += &HEAD.replace("ITEMS", &item_words.to_string()).replace("HANDLE", &handle_word(item_words).to_string());
    text.push_str(
        "\n.segment posted\n\
         ; p2: the bits match. p11, p14: the initiator is equal, or any is accepted. p15 then: the end of the list.\n",
    );
    item(&mut text, item_words, "posted", "item_mask", "p14");
    text.push_str(
        "\n.segment flush\n\
         ; The item behind the match, whose first word has been taken above.\n",
    );
    for word in 1..item_words {
        let label = if word == 1 { "flush:" } else { "" };
        let branch = if word + 3 == item_words { " || goto header" } else { "" };
        let _ = writeln!(text, "{label:8}wait || _ = in{branch}");
    }
    text.push_str(
        "\n.segment unexpected\n\
         ; The delay slots of the branch have taken header words 3 and 4. p4: any initiator will do.\n\
         unexpected:\n        wait || _ = in || p4 = p12\n        wait || _ = in\n        wait || _ = in\n        \
         wait || ours = in\n",
    );
    item(&mut text, item_words, "arrived", "mask", "p4");
    text.push_str("        goto flush\n        nop\n        nop\n");
    text
}

/// The words that decide about one item, from its second word to the first word of the next item. `care` is the
/// register with the bits that are compared, `any` the predicate for any initiator.
fn item(text: &mut String, item_words: usize, label: &str, care: &str, any: &str) {
    let words = item_words.max(LOOP);
    for word in 1..=words {
        let pop = match word {
            1 if care == "item_mask" => "wait || item_mask = in",
            2 => "wait || item_id, options[0 0 0 0] = in",
            _ if word == handle_word(item_words) => "wait || handle = in",
            // The first word of the next item, or of the one after the match.
            _ if word == words => "wait || ours = in",
            _ if word < item_words => "wait || _ = in",
            _ => "",
        };
        let ends = if any == "p14" { "p15, p14" } else { "p15" };
        let mut slots = vec![pop.to_owned()];
        match word {
            2 => slots.push(format!("p15 = match bits, ours care {care}")),
            3 => slots.push(format!(
                "p11 = eq.32:16:16 item_id, from || {ends} = match.16:16:16:16 options, t0 care tests || p2 = p15"
            )),
            4 => slots.push(format!("p1 = p11 | {any}")),
            _ => {}
        }
        match words - word {
            3 => slots.push("p3 = p1 & p2 || p5 = lut 7 p1, p2 || goto header if p15".to_owned()),
            2 => slots.push(format!("out.last = a0 if p5 || goto {label} if !p3")),
            1 => slots.push("out.last = handle if p3".to_owned()),
            _ => {}
        }
        slots.retain(|slot| !slot.is_empty());
        let line = if slots.is_empty() { "nop".to_owned() } else { slots.join(" || ") };
        let label = if word == 1 { format!("{label}:") } else { String::new() };
        if label.len() > LOOP - 1 {
            let _ = writeln!(text, "{label}\n        {line}");
        } else {
            let _ = writeln!(text, "{label:8}{line}");
        }
    }
}

const _: () = assert!(LOOP == WORDS, "an item of eight words is decided while it streams");
