// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `#[derive(Parameters)]` and `#[derive(Choice)]`: a struct's fields are the one description of its parameters.
//!
//! Both are used through `mb_core::parameters`, where the traits and an example are.
//! `#[derive(Columns)]` and `#[derive(Mergeable)]` do the same for result columns (`mb_core::columns`).

mod columns;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprRange, Field, Fields, Lit, LitStr, RangeLimits, Result, Type,
};

/// Implements `mb_core::parameters::Parameters` for a struct with named fields.
///
/// Every field has a doc comment, which is the parameter's meaning, and `#[parameter(...)]` with
/// - `range = LOW..=HIGH`, in the unit of the field's type, for a number; nothing for a choice,
/// - `holds = VARIANT` for the number of entries of the engine's structure: a variant of `mb_core::Holds`,
/// - `key = "..."` where presets write another word than the field's name,
/// - `nested`, alone or with `prefix = "..."`, where the field's type is itself a parameter struct. Its parameters
///   take the place of the field, each key after the prefix. Its doc comment is for readers of the code only.
///
/// With `#[parameters(sourced = Name)]`, the struct `Name` is derived too: the same fields, each with its source
/// (`mb_core::parameters::SourcedParameters`). Parameter structs nested in it have one as well.
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
    let sourced = sourced(input)?.map(|sourced| sourced_struct(input, &sourced, &fields));
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
    let sourced_fields = fields.iter().map(Parameter::sourced_field);
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

/// The name given by `#[parameters(sourced = Name)]`.
fn sourced(input: &DeriveInput) -> Result<Option<Ident>> {
    let mut name = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("parameters")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("sourced") {
                return Err(meta.error("expected `sourced = Name`"));
            }
            name = Some(meta.value()?.parse()?);
            Ok(())
        })?;
    }
    Ok(name)
}

/// A field: one parameter, or a parameter struct.
struct Parameter<'a> {
    field: &'a Field,
    meaning: String,
    kind: Kind,
}

/// The kind of a field.
enum Kind {
    One { key: String, domain: TokenStream, holds: TokenStream },
    Nested { prefix: String },
}

impl<'a> Parameter<'a> {
    fn read(field: &'a Field) -> Result<Self> {
        let meaning = meaning(field)?;
        let attribute = field.attrs.iter().find(|attribute| attribute.path().is_ident("parameter"));
        let Some(attribute) = attribute else {
            return Err(Error::new(
                field.span(),
                "expected #[parameter(range = LOW..=HIGH)], #[parameter] for a choice, \
                 or #[parameter(nested)] for a parameter struct",
            ));
        };
        let kind = match Attributes::read(attribute)? {
            Attributes { key: None, range: None, holds: None, nested: true, prefix } => {
                Kind::Nested { prefix: prefix.unwrap_or_default() }
            }
            Attributes { key, range, holds, nested: false, prefix: None } => {
                let key = key.unwrap_or_else(|| field.ident.as_ref().map_or_else(String::new, key_of));
                let holds = holds.map_or_else(
                    || quote! { ::std::option::Option::None },
                    |variant| quote! { ::std::option::Option::Some(::mb_core::Holds::#variant) },
                );
                Kind::One { key, domain: domain(&field.ty, range), holds }
            }
            Attributes { nested: true, .. } => {
                return Err(Error::new(
                    attribute.span(),
                    "a nested parameter struct has neither `key`, `range` nor `holds`",
                ));
            }
            Attributes { nested: false, .. } => {
                return Err(Error::new(attribute.span(), "`prefix` belongs to `nested`"));
            }
        };
        Ok(Self { field, meaning, kind })
    }

    fn name(&self) -> Option<&Ident> {
        self.field.ident.as_ref()
    }

    fn ty(&self) -> &Type {
        &self.field.ty
    }

    /// How many parameters it is.
    fn length(&self) -> TokenStream {
        let ty = self.ty();
        match self.kind {
            Kind::One { .. } => quote! { 1 },
            Kind::Nested { .. } => quote! { <#ty as ::mb_core::parameters::Parameters>::SPECS.len() },
        }
    }

    /// Its specifications, a slice.
    fn specs(&self) -> TokenStream {
        let (ty, meaning, length) = (self.ty(), &self.meaning, self.length());
        match &self.kind {
            Kind::One { key, domain, holds } => {
                quote! {
                    &[::mb_core::parameters::ParameterSpec {
                        key: #key,
                        domain: #domain,
                        meaning: #meaning,
                        holds: #holds,
                    }]
                }
            }
            Kind::Nested { prefix } if prefix.is_empty() => {
                quote! { <#ty as ::mb_core::parameters::Parameters>::SPECS }
            }
            Kind::Nested { prefix } => {
                quote! {{
                    const SPECS: &[::mb_core::parameters::ParameterSpec] =
                        <#ty as ::mb_core::parameters::Parameters>::SPECS;
                    const KEYS: &[::mb_core::parameters::nested::Key; #length] =
                        &::mb_core::parameters::nested::keys(#prefix, SPECS);
                    const RENAMED: &[::mb_core::parameters::ParameterSpec; #length] =
                        &::mb_core::parameters::nested::with_keys(SPECS, KEYS);
                    RENAMED
                }}
            }
        }
    }

    /// The field in a struct expression, from the slice `values`, which it shortens.
    fn expression(&self) -> TokenStream {
        let (name, length) = (self.name(), self.length());
        let own = quote! { ::mb_core::parameters::nested::take(&mut values, #length) };
        match self.kind {
            Kind::One { .. } => quote! { #name: ::mb_core::parameters::ParameterType::from_value(&#own[0]) },
            Kind::Nested { .. } => quote! { #name: ::mb_core::parameters::Parameters::from_values(#own) },
        }
    }

    /// Its values, a vector.
    fn values(&self) -> TokenStream {
        let name = self.name();
        match self.kind {
            Kind::One { .. } => quote! { ::std::vec![::mb_core::parameters::ParameterType::to_value(&self.#name)] },
            Kind::Nested { .. } => quote! { ::mb_core::parameters::Parameters::values(&self.#name) },
        }
    }

    /// The field with its sources.
    fn sourced_field(&self) -> TokenStream {
        let (name, ty, meaning, visibility) = (self.name(), self.ty(), &self.meaning, &self.field.vis);
        let ty = match self.kind {
            Kind::One { .. } => quote! { ::mb_core::parameters::Sourced<#ty> },
            Kind::Nested { .. } => quote! { <#ty as ::mb_core::parameters::SourcedParameters>::Sourced },
        };
        quote! { #[doc = #meaning] #visibility #name: #ty }
    }

    /// Its values with their sources, a vector.
    fn parameters(&self) -> TokenStream {
        let (name, ty) = (self.name(), self.ty());
        match self.kind {
            Kind::One { .. } => quote! { ::std::vec![::mb_core::parameters::Parameter::of(sourced.#name)] },
            Kind::Nested { .. } => {
                quote! { <#ty as ::mb_core::parameters::SourcedParameters>::parameters(sourced.#name) }
            }
        }
    }
}

/// The domain of a field.
fn domain(ty: &Type, range: Option<(Expr, Expr)>) -> TokenStream {
    let Some((low, high)) = range else {
        return quote! { ::mb_core::parameters::Domain::Choice(<#ty as ::mb_core::parameters::Choice>::WORDS) };
    };
    quote! {{
        let (low, high): (u64, u64) = (#low, #high);
        assert!(low <= high, "the range of a parameter is empty");
        assert!(high <= <#ty as ::mb_core::parameters::Quantity>::MAX, "the type of the field is too small");
        ::mb_core::parameters::Domain::Range {
            unit: <#ty as ::mb_core::parameters::Quantity>::UNIT,
            low,
            high,
        }
    }}
}

fn key_of(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// What `#[parameter(...)]` holds.
#[derive(Default)]
struct Attributes {
    key: Option<String>,
    range: Option<(Expr, Expr)>,
    holds: Option<Ident>,
    nested: bool,
    prefix: Option<String>,
}

impl Attributes {
    fn read(attribute: &Attribute) -> Result<Self> {
        let mut found = Self::default();
        if matches!(attribute.meta, syn::Meta::Path(_)) {
            return Ok(found);
        }
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("key") {
                found.key = Some(meta.value()?.parse::<LitStr>()?.value());
                Ok(())
            } else if meta.path.is_ident("holds") {
                found.holds = Some(meta.value()?.parse()?);
                Ok(())
            } else if meta.path.is_ident("nested") {
                found.nested = true;
                Ok(())
            } else if meta.path.is_ident("prefix") {
                found.prefix = Some(meta.value()?.parse::<LitStr>()?.value());
                Ok(())
            } else if meta.path.is_ident("range") {
                let range: ExprRange = meta.value()?.parse()?;
                match (range.start, range.limits, range.end) {
                    (Some(low), RangeLimits::Closed(_), Some(high)) => {
                        found.range = Some((*low, *high));
                        Ok(())
                    }
                    _ => Err(meta.error("expected a range LOW..=HIGH")),
                }
            } else {
                Err(meta.error(
                    "expected `range = LOW..=HIGH`, `key = \"...\"`, `holds = VARIANT`, `nested` or `prefix = \"...\"`",
                ))
            }
        })?;
        Ok(found)
    }
}

/// The first paragraph of the field's doc comment as one line.
fn meaning(field: &Field) -> Result<String> {
    let mut lines = Vec::new();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Expr::Lit(literal) = &attribute.meta.require_name_value()?.value
            && let Lit::Str(text) = &literal.lit
        {
            let line = text.value().trim().to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return Err(Error::new(field.span(), "expected a doc comment: it is the meaning of the field"));
    }
    Ok(lines.join(" "))
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
        for other in [quote! { key = "a" }, quote! { range = 0..=1 }, quote! { holds = OldestOfQueue }] {
            assert_eq!(
                refused(quote! { struct P { #[doc = "D."] #[parameter(nested, #other)] walk: Walk } }, parameters),
                "a nested parameter struct has neither `key`, `range` nor `holds`"
            );
        }
        assert_eq!(
            refused(quote! { struct P { #[doc = "D."] #[parameter(prefix = "a_")] walk: Walk } }, parameters),
            "`prefix` belongs to `nested`"
        );
        assert_eq!(
            refused(quote! { struct P { #[doc = "D."] #[parameter(nest)] walk: Walk } }, parameters),
            "expected `range = LOW..=HIGH`, `key = \"...\"`, `holds = VARIANT`, `nested` or `prefix = \"...\"`"
        );
    }

    #[test]
    fn the_struct_with_sources_has_a_name() {
        assert_eq!(refused(quote! { #[parameters(source = P2)] struct P {} }, parameters), "expected `sourced = Name`");
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
