// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `#[derive(Parameters)]` and `#[derive(Choice)]`: a struct's fields are the one description of its parameters.
//!
//! Both are used through `mb_core::parameters`, where the traits and an example are.
//! `#[derive(Columns)]` and `#[derive(Mergeable)]` do the same for result columns (`mb_core::columns`).

mod columns;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result};

use self::field::Parameter;

mod field;

/// Implements `mb_core::parameters::Parameters` for a struct with named fields.
///
/// Every field has a doc comment, which is the parameter's meaning, and `#[parameter(...)]` with
/// - `range = LOW..=HIGH`, in the unit of the field's type, for a number; nothing for a choice,
/// - `unit = UNIT` for a number of another unit than its type's: a variant of `mb_core::parameters::Unit`,
/// - `holds = VARIANT` for the number of entries of the engine's structure: a variant of `mb_core::Holds`,
/// - `file = "..."` for a choice in whose place the user may give a file of this kind,
/// - `key = "..."` where presets write another word than the field's name,
/// - `fixed = VALUE` where the field is no parameter and always has this value,
/// - `nested`, alone or with `prefix = "..."`, `about = "..."` or `embed = TABLE`, where the field's type is itself a
///   parameter struct. Its parameters take the place of the field, each key after the prefix and each meaning after
///   what it is about. The table, of `mb_core::parameters::Embedded`, fixes, renames, joins and narrows some of them.
///   The doc comment is for readers of the code only.
///
/// With `#[parameters(sourced = Name)]`, the struct `Name` is derived too: the same fields, each with its source
/// (`mb_core::parameters::SourcedParameters`). Parameter structs nested in it have one as well, or
/// `#[parameters(preset)]`: their sources are a table (`mb_core::parameters::PresetValues`).
#[proc_macro_derive(Parameters, attributes(parameter, parameters))]
pub fn derive_parameters(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    parameters(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `mb_core::parameters::Choice` for an enum of variants without fields.
///
/// A variant's word is its name in snake case, or the one given by `#[choice("...")]`.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn derive_choice(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    choice(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `mb_core::columns::Columns` for a struct with named fields: a field is a column of its name, with `_ns`
/// appended to a time, and its doc comment up to the first blank line is the meaning.
///
/// `#[column(...)]` has
/// - `unit = "..."`; a name that ends in `_ns` has the unit ns,
/// - `internal` for a column that no table has,
/// - `nested` where the field's type has columns itself, which take its place,
/// - `none` for a field that is no column.
///
/// `#[computed(name: Type = expression, unit = "...", meaning = "...")]` adds a column behind the field's own one; the
/// expression reads `self`.
#[proc_macro_derive(Columns, attributes(column, computed))]
pub fn derive_columns(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    columns::columns(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `mb_core::columns::Mergeable` for a struct with named fields: each is the sum of both values, with
/// `#[merge(max)]` the larger one, with `#[merge(keep)]` the own one.
#[proc_macro_derive(Mergeable, attributes(merge))]
pub fn derive_mergeable(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    columns::mergeable(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn parameters(input: &DeriveInput) -> Result<TokenStream> {
    let refused = || Error::new(input.ident.span(), "Parameters can be derived for a struct with named fields");
    let Data::Struct(data) = &input.data else { return Err(refused()) };
    let Fields::Named(fields) = &data.fields else { return Err(refused()) };
    let fields = fields.named.iter().map(Parameter::read).collect::<Result<Vec<_>>>()?;
    let name = &input.ident;
    let lengths = fields.iter().map(Parameter::length);
    let specs = fields.iter().map(Parameter::specs);
    let from_values = fields.iter().map(Parameter::expression);
    let values = fields.iter().map(Parameter::values);
    let sourced = sourced(input)?.map(|sourced| match sourced {
        SourcedAs::Struct(sourced) => sourced_struct(input, &sourced, &fields),
        SourcedAs::Preset => preset(input),
    });
    Ok(quote! {
        #[automatically_derived]
        impl ::mb_core::parameters::Parameters for #name {
            const SPECS: &'static [::mb_core::parameters::ParameterSpec] =
                &::mb_core::parameters::nested::join::<{ 0 #(+ #lengths)* }>(&[#(#specs),*]);

            fn from_values(values: &[::mb_core::parameters::Value]) -> Self {
                let mut values = values;
                Self { #(#from_values),* }
            }

            fn values(&self) -> ::std::vec::Vec<::mb_core::parameters::Value> {
                [#(#values),*].concat()
            }
        }

        #sourced
    })
}

/// The struct that has a source for every value, and how it becomes a list of parameters.
fn sourced_struct(input: &DeriveInput, sourced: &Ident, fields: &[Parameter]) -> TokenStream {
    let (name, visibility) = (&input.ident, &input.vis);
    let meaning = format!("[`{name}`] with a source for every value.");
    let sourced_fields = fields.iter().filter_map(Parameter::sourced_field);
    let parameters = fields.iter().map(Parameter::parameters);
    quote! {
        #[doc = #meaning]
        #[derive(Clone, PartialEq, Eq, Debug)]
        #visibility struct #sourced { #(#sourced_fields),* }

        #[automatically_derived]
        impl ::mb_core::parameters::SourcedParameters for #name {
            type Sourced = #sourced;

            fn parameters(sourced: #sourced) -> ::std::vec::Vec<::mb_core::parameters::Parameter> {
                [#(#parameters),*].concat()
            }
        }
    }
}

/// The values with a table of their sources.
fn preset(input: &DeriveInput) -> TokenStream {
    let name = &input.ident;
    quote! {
        #[automatically_derived]
        impl ::mb_core::parameters::SourcedParameters for #name {
            type Sourced = ::mb_core::parameters::PresetValues<Self>;

            fn parameters(sourced: Self::Sourced) -> ::std::vec::Vec<::mb_core::parameters::Parameter> {
                sourced.parameters()
            }
        }
    }
}

/// How values have sources.
enum SourcedAs {
    Struct(Ident),
    Preset,
}

/// What `#[parameters(...)]` says.
fn sourced(input: &DeriveInput) -> Result<Option<SourcedAs>> {
    let mut found = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("parameters")) {
        attribute.parse_nested_meta(|meta| {
            found = Some(if meta.path.is_ident("sourced") {
                SourcedAs::Struct(meta.value()?.parse()?)
            } else if meta.path.is_ident("preset") {
                SourcedAs::Preset
            } else {
                return Err(meta.error("expected `sourced = Name` or `preset`"));
            });
            Ok(())
        })?;
    }
    Ok(found)
}

fn choice(input: &DeriveInput) -> Result<TokenStream> {
    let refused = || Error::new(input.ident.span(), "Choice can be derived for an enum of variants without fields");
    let Data::Enum(data) = &input.data else { return Err(refused()) };
    let mut words = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(refused());
        }
        let given = variant.attrs.iter().find(|attribute| attribute.path().is_ident("choice"));
        words.push(match given {
            Some(attribute) => attribute.parse_args::<LitStr>()?.value(),
            None => snake_case(&variant.ident.unraw().to_string()),
        });
    }
    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| format_ident!("{}", variant.ident)).collect();
    Ok(quote! {
        #[automatically_derived]
        impl ::mb_core::parameters::Choice for #name {
            const WORDS: &'static [&'static str] = &[#(#words),*];
            const ALL: &'static [Self] = &[#(Self::#variants),*];

            fn word(self) -> &'static str {
                match self { #(Self::#variants => #words),* }
            }
        }
    })
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(tokens: TokenStream, derive: fn(&DeriveInput) -> Result<TokenStream>) -> String {
        derive(&syn::parse2(tokens).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn a_field_without_a_doc_comment_or_attribute_is_refused() {
        assert_eq!(
            refused(quote! { struct P { #[parameter(range = 0..=1)] entry: u64 } }, parameters),
            "expected a doc comment: it is the meaning of the field"
        );
        assert_eq!(
            refused(quote! { struct P { #[doc = "Meaning."] entry: u64 } }, parameters),
            "expected #[parameter(range = LOW..=HIGH)], #[parameter] for a choice, \
             or #[parameter(nested)] for a parameter struct"
        );
    }

    #[test]
    fn a_nested_struct_has_a_prefix_only() {
        for other in
            [quote! { key = "a" }, quote! { range = 0..=1 }, quote! { holds = OldestOfQueue }, quote! { fixed = 1 }]
        {
            assert_eq!(
                refused(quote! { struct P { #[doc = "D."] #[parameter(nested, #other)] walk: Walk } }, parameters),
                "a nested parameter struct has no `key`, `range`, `unit`, `holds`, `file` or `fixed`"
            );
        }
        assert_eq!(
            refused(quote! { struct P { #[doc = "D."] #[parameter(prefix = "a_")] walk: Walk } }, parameters),
            "`prefix`, `about` and `embed` belong to `nested`"
        );
        assert_eq!(
            refused(quote! { struct P { #[doc = "D."] #[parameter(nest)] walk: Walk } }, parameters),
            "expected `range = LOW..=HIGH`, `key = \"...\"`, `unit = UNIT`, `holds = VARIANT`, `file = \"...\"`, `fixed = VALUE`, \
             `nested`, `prefix = \"...\"`, `about = \"...\"` or `embed = TABLE`"
        );
    }

    #[test]
    fn a_field_with_a_fixed_value_is_no_parameter() {
        assert_eq!(
            refused(quote! { struct P { #[doc = "D."] #[parameter(fixed = 1, range = 0..=1)] a: u64 } }, parameters),
            "a field with a fixed value is no parameter"
        );
    }

    #[test]
    fn the_struct_with_sources_has_a_name() {
        assert_eq!(
            refused(quote! { #[parameters(source = P2)] struct P {} }, parameters),
            "expected `sourced = Name` or `preset`"
        );
    }

    #[test]
    fn a_range_has_both_ends() {
        for range in [quote! { 0.. }, quote! { 0..7 }, quote! { ..=7 }] {
            assert_eq!(
                refused(quote! { struct P { #[doc = "D."] #[parameter(range = #range)] entry: u64 } }, parameters),
                "expected a range LOW..=HIGH"
            );
        }
    }

    #[test]
    fn other_items_are_refused() {
        assert_eq!(
            refused(quote! { enum P {} }, parameters),
            "Parameters can be derived for a struct with named fields"
        );
        assert_eq!(
            refused(quote! { enum P { A(u64) } }, choice),
            "Choice can be derived for an enum of variants without fields"
        );
    }

    #[test]
    fn a_variant_is_written_in_snake_case() {
        assert_eq!(snake_case("WriteBack"), "write_back");
        assert_eq!(snake_case("Nic"), "nic");
    }
}
