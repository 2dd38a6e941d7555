// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `#[derive(Columns)]` and `#[derive(Mergeable)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Field, Fields, LitStr, Result, Token, Type};

use crate::field::meaning;

pub(crate) fn columns(input: &DeriveInput) -> Result<TokenStream> {
    let (mut specs, mut cells) = (Vec::new(), Vec::new());
    for field in named_fields(input)? {
        let (name, ty) = (&field.ident, &field.ty);
        let Attributes { unit, internal, nested, none } = Attributes::of(field)?;
        if nested {
            specs.push(quote! { columns.extend(<#ty as ::mb_core::columns::Columns>::columns()); });
            cells.push(quote! { cells.extend(::mb_core::columns::Columns::cells(&self.#name)); });
        } else if !none {
            let column = name.as_ref().map_or_else(String::new, |name| name.unraw().to_string());
            let column = column + if is_time(ty) { "_ns" } else { "" };
            specs.push(spec(&column, ty, &unit, &as_phrase(&meaning(field)?), internal));
            cells.push(cell(ty, &quote! { self.#name }));
        }
        for computed in computed(&field.attrs)? {
            specs.push(spec(&computed.name, &computed.ty, &computed.unit, &computed.meaning, false));
            cells.push(cell(&computed.ty, &computed.value));
        }
    }
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::mb_core::columns::Columns for #name #arguments #bounds {
            fn columns() -> ::std::vec::Vec<::mb_core::columns::ColumnSpec> {
                let mut columns = ::std::vec::Vec::new();
                #(#specs)*
                columns
            }

            fn cells(&self) -> ::std::vec::Vec<::mb_core::columns::Cell> {
                let mut cells = ::std::vec::Vec::new();
                #(#cells)*
                cells
            }
        }
    })
}

pub(crate) fn mergeable(input: &DeriveInput) -> Result<TokenStream> {
    let mut merges = Vec::new();
    for field in named_fields(input)? {
        let name = &field.ident;
        let rule = field.attrs.iter().find(|attribute| attribute.path().is_ident("merge"));
        let rule = rule.map(Attribute::parse_args::<Ident>).transpose()?;
        merges.push(match rule {
            None => quote! { ::mb_core::columns::Mergeable::merge(&mut self.#name, &other.#name); },
            Some(rule) if rule == "max" => quote! { self.#name = ::std::cmp::Ord::max(self.#name, other.#name); },
            Some(rule) if rule == "keep" => TokenStream::new(),
            Some(rule) => return Err(Error::new(rule.span(), "expected `max` or `keep`; without #[merge], a sum")),
        });
    }
    let name = &input.ident;
    let mut bounded = input.generics.clone();
    for parameter in bounded.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(::mb_core::columns::Mergeable));
    }
    let (generics, arguments, bounds) = bounded.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::mb_core::columns::Mergeable for #name #arguments #bounds {
            fn merge(&mut self, other: &Self) {
                #(#merges)*
            }
        }
    })
}

fn named_fields(input: &DeriveInput) -> Result<&Punctuated<Field, Token![,]>> {
    if let Data::Struct(data) = &input.data
        && let Fields::Named(fields) = &data.fields
    {
        return Ok(&fields.named);
    }
    Err(Error::new(input.ident.span(), "can be derived for a struct with named fields"))
}

/// What `#[column(...)]` says.
#[derive(Default)]
struct Attributes {
    unit: String,
    internal: bool,
    nested: bool,
    none: bool,
}

impl Attributes {
    fn of(field: &Field) -> Result<Self> {
        let mut found = Self::default();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("column")) {
            attribute.parse_nested_meta(|meta| {
                match meta.path.require_ident()?.to_string().as_str() {
                    "unit" => found.unit = meta.value()?.parse::<LitStr>()?.value(),
                    "internal" => found.internal = true,
                    "nested" => found.nested = true,
                    "none" => found.none = true,
                    _ => return Err(meta.error("expected `unit = \"...\"`, `internal`, `nested` or `none`")),
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// A column that is computed from several fields: `name: Type = expression, unit = "...", meaning = "..."`.
struct Computed {
    name: String,
    ty: Type,
    value: TokenStream,
    unit: String,
    meaning: String,
}

impl Parse for Computed {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name: Ident = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        input.parse::<Token![=]>()?;
        let value = input.parse::<Expr>()?.into_token_stream();
        let (mut unit, mut meaning) = (String::new(), None);
        while input.parse::<Option<Token![,]>>()?.is_some() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let text = input.parse::<LitStr>()?.value();
            match key.to_string().as_str() {
                "unit" => unit = text,
                "meaning" => meaning = Some(text),
                _ => return Err(Error::new(key.span(), "expected `unit` or `meaning`")),
            }
        }
        let meaning = meaning.ok_or_else(|| Error::new(name.span(), "expected `meaning = \"...\"`"))?;
        Ok(Self { name: name.to_string(), ty, value, unit, meaning })
    }
}

fn computed(attributes: &[Attribute]) -> Result<Vec<Computed>> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("computed")).map(Attribute::parse_args).collect()
}

/// A column is in nanoseconds if its name ends in `_ns`, and only then.
fn spec(name: &str, ty: &Type, unit: &str, meaning: &str, internal: bool) -> TokenStream {
    let unit = if name.ends_with("_ns") { "ns" } else { unit };
    quote! {
        columns.push(::mb_core::columns::ColumnSpec {
            name: #name,
            kind: <#ty as ::mb_core::columns::CellValue>::KIND,
            unit: #unit,
            meaning: #meaning,
            internal: #internal,
        });
    }
}

fn cell(ty: &Type, value: &TokenStream) -> TokenStream {
    quote! { cells.push(<#ty as ::mb_core::columns::CellValue>::cell(&(#value))); }
}

fn is_time(ty: &Type) -> bool {
    ty.to_token_stream().into_iter().last().is_some_and(|token| token.to_string() == "Picos")
}

/// A sentence as tables have it: without capital and full stop.
fn as_phrase(sentence: &str) -> String {
    let sentence = sentence.strip_suffix('.').unwrap_or(sentence);
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().collect::<String>() + letters.as_str()
        }
        _ => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(tokens: TokenStream, derive: fn(&DeriveInput) -> Result<TokenStream>) -> String {
        derive(&syn::parse2(tokens).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn a_declaration_that_says_too_little_or_too_much_is_refused() {
        let cases = [
            (quote! { struct R { hits: u64 } }, "expected a doc comment: it is the meaning of the field"),
            (
                quote! { struct R { #[doc = "D."] #[column(of = "a")] hits: u64 } },
                "expected `unit = \"...\"`, `internal`, `nested` or `none`",
            ),
            (
                quote! { struct R { #[doc = "D."] #[computed(share: f64 = 0.5)] hits: u64 } },
                "expected `meaning = \"...\"`",
            ),
            (
                quote! { struct R { #[doc = "D."] #[computed(share: f64 = 0.5, name = "a")] hits: u64 } },
                "expected `unit` or `meaning`",
            ),
            (quote! { struct R(u64); }, "can be derived for a struct with named fields"),
        ];
        for (tokens, message) in cases {
            assert_eq!(refused(tokens, columns), message);
        }
        assert_eq!(
            refused(quote! { struct R { #[merge(min)] hits: u64 } }, mergeable),
            "expected `max` or `keep`; without #[merge], a sum"
        );
    }

    #[test]
    fn a_meaning_has_neither_capital_nor_full_stop() {
        assert_eq!(as_phrase("Bytes sent."), "bytes sent");
        assert_eq!(as_phrase("A rank; of all ranks."), "a rank; of all ranks");
        assert_eq!(as_phrase("PRQ length."), "PRQ length");
        assert_eq!(as_phrase("`a` over `b`."), "`a` over `b`");
    }
}
