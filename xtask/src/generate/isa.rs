// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Output of `spec/isa/match_unit.toml`: fields and operation tables of `match_unit/asm`, and the manual.
//!
//! The specification is checked first: fields tile the word, codes fit their field and are unique.

use std::path::Path;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use serde::Deserialize;

use super::Generated;
use crate::tree::Tree;

const SPEC: &str = "spec/isa/match_unit.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    title: String,
    paper: String,
    word_bits: u32,
    store_words: u32,
    state: Vec<SpecItem>,
    slot: Vec<Slot>,
    codes: Vec<Codes>,
    rule: Vec<SpecItem>,
    refusal: Vec<SpecItem>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecItem {
    name: String,
    meaning: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slot {
    name: String,
    offset: u32,
    bits: u32,
    meaning: String,
    source: String,
    field: Vec<Field>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    name: String,
    offset: u32,
    bits: u32,
    meaning: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Codes {
    name: String,
    field: String,
    #[serde(default)]
    also: Vec<String>,
    meaning: String,
    value: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    name: String,
    text: String,
    code: u32,
    meaning: String,
    source: String,
}

/// Layout and manual of the match unit.
pub(crate) fn match_unit(tree: &Tree, _: &Path) -> Result<Vec<Generated>, String> {
    let text = tree.text(SPEC).ok_or_else(|| format!("{SPEC}: missing"))?;
    let spec: Spec = toml::from_str(text).map_err(|error| format!("{SPEC}: {error}"))?;
    check(&spec).map_err(|reason| format!("{SPEC}: {reason}"))?;
    Ok(vec![
        Generated { path: "match_unit/asm/src/layout.rs".to_owned(), text: layout(&spec) },
        Generated { path: "docs/isa_match_unit.md".to_owned(), text: manual(&spec) },
    ])
}

fn check(spec: &Spec) -> Result<(), String> {
    let mut next = 0;
    for slot in &spec.slot {
        if slot.offset != next {
            return Err(format!("slot {} begins at bit {}, expected {next}", slot.name, slot.offset));
        }
        for field in &slot.field {
            if field.offset != next || field.bits == 0 || field.bits > 32 {
                return Err(format!(
                    "field {}.{} is {} bits at bit {}, expected 1 to 32 bits at {next}",
                    slot.name, field.name, field.bits, field.offset
                ));
            }
            next += field.bits;
        }
        if next != slot.offset + slot.bits {
            return Err(format!("slot {} has {} bits, its fields have {}", slot.name, slot.bits, next - slot.offset));
        }
    }
    if next != spec.word_bits {
        return Err(format!("the slots have {next} bits, the word {}", spec.word_bits));
    }
    let mut taken: Vec<(&str, u32)> = Vec::new();
    for codes in &spec.codes {
        for place in std::iter::once(&codes.field).chain(&codes.also) {
            let Some(field) = find(spec, place) else {
                return Err(format!("codes {} name the unknown field {place}", codes.name));
            };
            for value in &codes.value {
                if value.code >> field.bits != 0 {
                    return Err(format!(
                        "code {} of {} does not fit the {} bits of {place}",
                        value.code, value.name, field.bits
                    ));
                }
                if taken.contains(&(place, value.code)) {
                    return Err(format!("code {} of {place} is given twice", value.code));
                }
                taken.push((place, value.code));
            }
        }
    }
    Ok(())
}

fn find<'a>(spec: &'a Spec, place: &str) -> Option<&'a Field> {
    let (slot, field) = place.split_once('.')?;
    spec.slot.iter().find(|s| s.name == slot)?.field.iter().find(|f| f.name == field)
}

/// The smallest unsigned type that holds `bits` bits.
fn rust_type(bits: u32) -> Ident {
    match bits {
        0..=8 => format_ident!("u8"),
        9..=16 => format_ident!("u16"),
        _ => format_ident!("u32"),
    }
}

fn number(value: u32) -> Literal {
    Literal::u32_unsuffixed(value)
}

/// Doc comments, one per line of `text`, wrapped at 100 columns.
fn doc(text: &str) -> TokenStream {
    const WIDTH: usize = 90;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && line.len() + 1 + word.len() > WIDTH {
            lines.push(format!(" {word}"));
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    quote!(#(#[doc = #lines])*)
}

/// The text of `layout.rs`, one formatted item after the other.
fn layout(spec: &Spec) -> String {
    let mut items = vec![constants(spec), fields(spec), packing()];
    items.extend(spec.codes.iter().map(enumeration));
    items.push(rules(&spec.refusal));
    let file: syn::File = syn::parse2(quote!(#(#items)*)).expect("the generated items are Rust");
    let mut out = format!(
        "// SPDX-License-Identifier: Apache-2.0 OR MIT\n\
         //! Fields of the instruction word, their packing and the operation tables.\n\
         //!\n\
         //! Generated from `{SPEC}` by `make gen`; do not edit.\n"
    );
    for item in file.items {
        out.push('\n');
        out.push_str(&prettyplease::unparse(&syn::File { items: vec![item], ..empty_file() }));
    }
    out
}

/// A file without items.
fn empty_file() -> syn::File {
    syn::parse2(TokenStream::new()).expect("an empty file is Rust")
}

fn constants(spec: &Spec) -> TokenStream {
    let (word_bits, store_words) = (number(spec.word_bits), number(spec.store_words));
    quote! {
        /// Bits of an instruction word.
        pub const WORD_BITS: u32 = #word_bits;
        /// Words of the microcode store, and addresses that a branch can reach.
        pub const STORE_WORDS: usize = #store_words;
    }
}

fn fields(spec: &Spec) -> TokenStream {
    let all: Vec<(&Slot, &Field)> =
        spec.slot.iter().flat_map(|slot| slot.field.iter().map(move |field| (slot, field))).collect();
    let docs = all.iter().map(|(_, field)| doc(&field.meaning));
    let names: Vec<Ident> = all.iter().map(|(slot, field)| format_ident!("{}_{}", slot.name, field.name)).collect();
    let types: Vec<Ident> = all.iter().map(|(_, field)| rust_type(field.bits)).collect();
    let paths = all.iter().map(|(slot, field)| format!("{}.{}", slot.name, field.name));
    let offsets: Vec<Literal> = all.iter().map(|(_, field)| number(field.offset)).collect();
    let widths: Vec<Literal> = all.iter().map(|(_, field)| number(field.bits)).collect();
    let count = Literal::usize_unsuffixed(all.len());
    quote! {
        /// The fields of one word, each with its bits at the low end.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Fields {
            #(#docs pub #names: #types,)*
        }

        /// Slot and name, offset and width of every field, the lowest first.
        pub const FIELDS: [(&str, usize, usize); #count] = [#((#paths, #offsets, #widths),)*];

        impl Fields {
            /// Packs the fields into a word, least significant bits first.
            ///
            /// # Panics
            /// When a value has more bits than its field.
            #[must_use]
            pub const fn pack(self) -> [u64; 3] {
                let mut word = [0; 3];
                #(put(&mut word, #offsets, #widths, self.#names as u64);)*
                word
            }

            /// Unpacks the fields of a word; bits beyond the word are ignored.
            #[must_use]
            pub const fn unpack(word: [u64; 3]) -> Self {
                Self { #(#names: take(word, #offsets, #widths) as #types,)* }
            }
        }
    }
}

fn packing() -> TokenStream {
    quote! {
        const fn put(word: &mut [u64; 3], offset: usize, bits: usize, value: u64) {
            assert!(value >> bits == 0, "a value has more bits than its field");
            word[offset / 64] |= value << (offset % 64);
            if offset % 64 + bits > 64 {
                word[offset / 64 + 1] |= value >> (64 - offset % 64);
            }
        }

        /// The bits `offset` to `offset + bits - 1` of a word, at the low end; at most 32 of them.
        #[must_use]
        pub const fn take(word: [u64; 3], offset: usize, bits: usize) -> u64 {
            let mut value = word[offset / 64] >> (offset % 64);
            if offset % 64 + bits > 64 {
                value |= word[offset / 64 + 1] << (64 - offset % 64);
            }
            value & ((1 << bits) - 1)
        }
    }
}

fn enumeration(codes: &Codes) -> TokenStream {
    let name = format_ident!("{}", codes.name);
    let meaning = doc(&codes.meaning);
    let variants: Vec<Ident> = codes.value.iter().map(|value| format_ident!("{}", value.name)).collect();
    let docs = codes.value.iter().map(|value| doc(&format!("`{}`: {}", value.text, value.meaning)));
    let numbers: Vec<Literal> = codes.value.iter().map(|value| number(value.code)).collect();
    let texts = codes.value.iter().map(|value| &value.text);
    let count = Literal::usize_unsuffixed(variants.len());
    let code_doc = doc(&format!("Its bits in the field `{}`.", codes.field));
    quote! {
        #meaning
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum #name {
            #(#docs #variants,)*
        }

        impl #name {
            /// Every value, in the order of the codes.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];

            #code_doc
            #[must_use]
            pub const fn code(self) -> u8 {
                match self { #(Self::#variants => #numbers,)* }
            }

            /// The value with these bits, if there is one.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { #(#numbers => Some(Self::#variants),)* _ => None }
            }

            /// Its text in a program.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { #(Self::#variants => #texts,)* }
            }

            /// The value with this text, if there is one.
            #[must_use]
            pub fn from_text(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.text() == text)
            }
        }
    }
}

fn rules(refusals: &[SpecItem]) -> TokenStream {
    let camel = |item: &SpecItem| -> Ident {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        format_ident!("{}", item.name.split(' ').map(capital).collect::<String>())
    };
    let variants: Vec<Ident> = refusals.iter().map(camel).collect();
    let docs = refusals.iter().map(|item| doc(&item.meaning));
    let names = refusals.iter().map(|item| &item.name);
    let meanings = refusals.iter().map(|item| &item.meaning);
    let count = Literal::usize_unsuffixed(variants.len());
    quote! {
        /// The rule by which a text, a word or a program is rejected.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule {
            #(#docs #variants,)*
        }

        impl Rule {
            /// Every rule, in the order of the specification.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];

            /// Its short name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { #(Self::#variants => #names,)* }
            }

            /// What it rejects.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { #(Self::#variants => #meanings,)* }
            }
        }
    }
}

fn manual(spec: &Spec) -> String {
    let mut out = format!(
        "<!-- Generated from {SPEC} by `make gen`; do not edit. -->\n# {}\n\n\
         In the column *source*, hemmert2007 is {}.\n\
         \"ours\" marks what that paper leaves open, with the reason for the choice.\n\
         The word has {} bits, bit 0 is the least significant one, and the microcode store holds {} words.\n\
         How programs are written is described in `match_unit/asm/README.md`, how they are stored in `spec/isa/image.md`.\n",
        spec.title, spec.paper, spec.word_bits, spec.store_words
    );
    let mut put = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    put("\n## State\n".into());
    items(&mut put, "what", &spec.state);
    put("\n## The six slots\n\n| slot | bits | width | meaning | source |\n|---|---|---|---|---|".into());
    for slot in &spec.slot {
        put(format!(
            "| [{0}](#slot-{0}) | {1} to {2} | {3} | {4} | {5} |",
            slot.name,
            slot.offset + slot.bits - 1,
            slot.offset,
            slot.bits,
            cell(&slot.meaning),
            cell(&slot.source)
        ));
    }
    for slot in &spec.slot {
        put(format!("\n## Slot {}\n\n{}\n", slot.name, slot.meaning));
        put("| field | bits | width | meaning | source |\n|---|---|---|---|---|".into());
        for field in slot.field.iter().rev() {
            let high = field.offset + field.bits - 1;
            let range = if field.bits == 1 { high.to_string() } else { format!("{high} to {}", field.offset) };
            put(format!(
                "| {} | {range} | {} | {} | {} |",
                field.name,
                field.bits,
                cell(&field.meaning),
                cell(&field.source)
            ));
        }
        for codes in spec.codes.iter().filter(|c| c.field.starts_with(&format!("{}.", slot.name))) {
            let places = std::iter::once(&codes.field).chain(&codes.also).map(|f| format!("`{f}`"));
            put(format!("\n### {}: {}\n", places.collect::<Vec<_>>().join(", "), codes.name));
            put(format!("{}\n\n| text | code | meaning | source |\n|---|---|---|---|", codes.meaning));
            for value in &codes.value {
                put(format!(
                    "| `{}` | {} | {} | {} |",
                    cell(&value.text),
                    value.code,
                    cell(&value.meaning),
                    cell(&value.source)
                ));
            }
        }
    }
    put("\n## Execution\n".into());
    items(&mut put, "rule", &spec.rule);
    put("\n## What is rejected\n\nThe assembler, the decoder and the image reader reject:\n".into());
    items(&mut put, "name", &spec.refusal);
    out
}

fn items(put: &mut impl FnMut(String), head: &str, list: &[SpecItem]) {
    put(format!("| {head} | meaning | source |\n|---|---|---|"));
    for item in list {
        put(format!("| {} | {} | {} |", item.name, cell(&item.meaning), cell(&item.source)));
    }
}

/// Text inside a table: a bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the generator says of the specification in the tree with one piece of it replaced.
    fn refusal(from: &str, to: &str) -> String {
        let spec = include_str!("../../../spec/isa/match_unit.toml");
        assert!(spec.contains(from), "the specification has no {from:?}");
        let changed = spec.replacen(from, to, 1);
        match_unit(&Tree::of(&[(SPEC, &changed)]), Path::new("")).expect_err("an impossible specification")
    }

    #[test]
    fn fields_that_leave_a_gap_are_refused() {
        assert_eq!(
            refusal("offset = 32", "offset = 33"),
            "spec/isa/match_unit.toml: field alu.imm_sel is 2 bits at bit 33, expected 1 to 32 bits at 32"
        );
    }

    #[test]
    fn a_word_of_another_size_is_refused() {
        assert_eq!(
            refusal("word_bits = 164", "word_bits = 163"),
            "spec/isa/match_unit.toml: the slots have 164 bits, the word 163"
        );
    }

    #[test]
    fn a_code_given_twice_is_refused() {
        assert_eq!(refusal("code = 16", "code = 7"), "spec/isa/match_unit.toml: code 7 of alu.op is given twice");
    }

    #[test]
    fn a_code_that_does_not_fit_is_refused() {
        assert_eq!(
            refusal("code = 16", "code = 32"),
            "spec/isa/match_unit.toml: code 32 of Equal does not fit the 5 bits of alu.op"
        );
    }
}
