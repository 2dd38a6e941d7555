// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `#[derive(Parameters)]` and `#[derive(Choice)]`: a struct's fields are the one description of its parameters.
//!
//! Both are used through `mb_core::parameters`, where the traits and an example are.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprRange, Field, Fields, Lit, LitStr, RangeLimits, Result};

/// Implements `mb_core::parameters::Parameters` for a struct with named fields.
///
/// Every field has a doc comment, which is the parameter's meaning, and `#[parameter(...)]` with
/// - `range = LOW..=HIGH`, in the unit of the field's type, for a number; nothing for a choice,
/// - `key = "..."` where presets write another word than the field's name.
#[proc_macro_derive(Parameters, attributes(parameter))]
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

fn parameters(input: &DeriveInput) -> Result<TokenStream> {
    let refused = || Error::new(input.ident.span(), "Parameters can be derived for a struct with named fields");
    let Data::Struct(data) = &input.data else { return Err(refused()) };
    let Fields::Named(fields) = &data.fields else { return Err(refused()) };
    let specs = fields.named.iter().map(spec).collect::<Result<Vec<_>>>()?;
    let name = &input.ident;
    let names: Vec<_> = fields.named.iter().filter_map(|field| field.ident.as_ref()).collect();
    let places = 0..names.len();
    Ok(quote! {
        #[automatically_derived]
        impl ::mb_core::parameters::Parameters for #name {
            const SPECS: &'static [::mb_core::parameters::ParameterSpec] = &[#(#specs),*];

            fn from_values(values: &[::mb_core::parameters::Value]) -> Self {
                Self { #(#names: ::mb_core::parameters::ParameterType::from_value(&values[#places])),* }
            }

            fn values(&self) -> ::std::vec::Vec<::mb_core::parameters::Value> {
                ::std::vec![#(::mb_core::parameters::ParameterType::to_value(&self.#names)),*]
            }
        }
    })
}

/// The specification of one field.
fn spec(field: &Field) -> Result<TokenStream> {
    let meaning = meaning(field)?;
    let attribute = field.attrs.iter().find(|attribute| attribute.path().is_ident("parameter"));
    let Some(attribute) = attribute else {
        return Err(Error::new(
            field.span(),
            "expected #[parameter(range = LOW..=HIGH)], or #[parameter] for a choice",
        ));
    };
    let Attributes { key, range } = Attributes::read(attribute)?;
    let key = key.or_else(|| field.ident.as_ref().map(|ident| ident.unraw().to_string()));
    let kind = &field.ty;
    let domain = if let Some((low, high)) = range {
        quote! {{
            let (low, high): (u64, u64) = (#low, #high);
            assert!(low <= high, "the range of a parameter is empty");
            assert!(high <= <#kind as ::mb_core::parameters::Quantity>::MAX, "the type of the field is too small");
            ::mb_core::parameters::Domain::Range {
                unit: <#kind as ::mb_core::parameters::Quantity>::UNIT,
                low,
                high,
            }
        }}
    } else {
        quote! { ::mb_core::parameters::Domain::Choice(<#kind as ::mb_core::parameters::Choice>::WORDS) }
    };
    Ok(quote! { ::mb_core::parameters::ParameterSpec { key: #key, domain: #domain, meaning: #meaning } })
}

/// What `#[parameter(...)]` holds.
#[derive(Default)]
struct Attributes {
    key: Option<String>,
    range: Option<(Expr, Expr)>,
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
                Err(meta.error("expected `range = LOW..=HIGH` or `key = \"...\"`"))
            }
        })?;
        Ok(found)
    }
}

/// The field's doc comment as one line.
fn meaning(field: &Field) -> Result<String> {
    let mut lines = Vec::new();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Expr::Lit(literal) = &attribute.meta.require_name_value()?.value
            && let Lit::Str(text) = &literal.lit
        {
            lines.push(text.value().trim().to_owned());
        }
    }
    if lines.is_empty() {
        return Err(Error::new(field.span(), "expected a doc comment: it is the meaning of the parameter"));
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
            "expected a doc comment: it is the meaning of the parameter"
        );
        assert_eq!(
            refused(quote! { struct P { #[doc = "Meaning."] entry: u64 } }, parameters),
            "expected #[parameter(range = LOW..=HIGH)], or #[parameter] for a choice"
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
