// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A field of a parameter struct.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprRange, Field, Lit, LitStr, RangeLimits, Result, Type};

/// A field: one parameter, or a parameter struct.
pub(crate) struct Parameter<'a> {
    field: &'a Field,
    meaning: String,
    kind: Kind,
}

/// The kind of a field.
enum Kind {
    One { key: String, domain: TokenStream, holds: TokenStream, file: TokenStream },
    Nested { prefix: String, about: String, embed: Option<Expr> },
    Fixed { value: Expr },
}

impl<'a> Parameter<'a> {
    pub(crate) fn read(field: &'a Field) -> Result<Self> {
        let meaning = meaning(field)?;
        let attribute = field.attrs.iter().find(|attribute| attribute.path().is_ident("parameter"));
        let Some(attribute) = attribute else {
            return Err(Error::new(
                field.span(),
                "expected #[parameter(range = LOW..=HIGH)], #[parameter] for a choice, \
                 or #[parameter(nested)] for a parameter struct",
            ));
        };
        let wrong = |text| Err(Error::new(attribute.span(), text));
        let kind = match Attributes::read(attribute)? {
            Attributes {
                key: None,
                range: None,
                unit: None,
                holds: None,
                file: None,
                fixed: None,
                nested: true,
                prefix,
                about,
                embed,
            } => Kind::Nested { prefix: prefix.unwrap_or_default(), about: about.unwrap_or_default(), embed },
            Attributes { nested: true, .. } => {
                return wrong("a nested parameter struct has no `key`, `range`, `unit`, `holds`, `file` or `fixed`");
            }
            Attributes { prefix: Some(_), .. }
            | Attributes { about: Some(_), .. }
            | Attributes { embed: Some(_), .. } => {
                return wrong("`prefix`, `about` and `embed` belong to `nested`");
            }
            Attributes { key: None, range: None, unit: None, holds: None, file: None, fixed: Some(value), .. } => {
                Kind::Fixed { value }
            }
            Attributes { fixed: Some(_), .. } => return wrong("a field with a fixed value is no parameter"),
            Attributes { key, range, unit, holds, file, .. } => {
                let key = key.unwrap_or_else(|| field.ident.as_ref().map_or_else(String::new, key_of));
                let holds = holds.map_or_else(
                    || quote! { ::std::option::Option::None },
                    |variant| quote! { ::std::option::Option::Some(::mb_core::Holds::#variant) },
                );
                let file = file.map_or_else(
                    || quote! { ::std::option::Option::None },
                    |file| quote! { ::std::option::Option::Some(#file) },
                );
                Kind::One { key, domain: domain(&field.ty, range, unit), holds, file }
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
    pub(crate) fn length(&self) -> TokenStream {
        let ty = self.ty();
        match &self.kind {
            Kind::One { .. } => quote! { 1 },
            Kind::Fixed { .. } => quote! { 0 },
            Kind::Nested { embed: None, .. } => quote! { <#ty as ::mb_core::parameters::Parameters>::SPECS.len() },
            Kind::Nested { embed: Some(table), .. } => quote! {
                ::mb_core::parameters::nested::count(<#ty as ::mb_core::parameters::Parameters>::SPECS, #table)
            },
        }
    }

    /// Its specifications, a slice.
    pub(crate) fn specs(&self) -> TokenStream {
        let (ty, meaning, length) = (self.ty(), &self.meaning, self.length());
        match &self.kind {
            Kind::One { key, domain, holds, file } => {
                quote! {
                    &[::mb_core::parameters::ParameterSpec {
                        key: #key,
                        domain: #domain,
                        meaning: #meaning,
                        holds: #holds,
                        file: #file,
                    }]
                }
            }
            Kind::Fixed { .. } => quote! { &[] },
            Kind::Nested { prefix, about, embed } => {
                let specs = match embed {
                    None => quote! { <#ty as ::mb_core::parameters::Parameters>::SPECS },
                    Some(table) => quote! {{
                        const SPECS: &[::mb_core::parameters::ParameterSpec; #length] =
                            &::mb_core::parameters::nested::embed(
                                <#ty as ::mb_core::parameters::Parameters>::SPECS,
                                #table,
                            );
                        SPECS
                    }},
                };
                if prefix.is_empty() && about.is_empty() {
                    return specs;
                }
                quote! {{
                    const SPECS: &[::mb_core::parameters::ParameterSpec] = #specs;
                    const TEXTS: &[(
                        ::mb_core::parameters::nested::Key,
                        ::mb_core::parameters::nested::Meaning,
                    ); #length] = &::mb_core::parameters::nested::texts(#prefix, #about, SPECS);
                    const RENAMED: &[::mb_core::parameters::ParameterSpec; #length] =
                        &::mb_core::parameters::nested::renamed(SPECS, TEXTS);
                    RENAMED
                }}
            }
        }
    }

    /// The field in a struct expression, from the slice `values`, which it shortens.
    pub(crate) fn expression(&self) -> TokenStream {
        let (name, ty, length) = (self.name(), self.ty(), self.length());
        let own = quote! { ::mb_core::parameters::nested::take(&mut values, #length) };
        match &self.kind {
            Kind::One { .. } => quote! { #name: ::mb_core::parameters::ParameterType::from_value(&#own[0]) },
            Kind::Fixed { value } => quote! { #name: #value },
            Kind::Nested { embed: None, .. } => quote! { #name: ::mb_core::parameters::Parameters::from_values(#own) },
            Kind::Nested { embed: Some(table), .. } => quote! {
                #name: ::mb_core::parameters::Parameters::from_values(
                    &::mb_core::parameters::nested::expand(
                        <#ty as ::mb_core::parameters::Parameters>::SPECS, #table, #own,
                    ),
                )
            },
        }
    }

    /// Its values, a vector.
    pub(crate) fn values(&self) -> TokenStream {
        let name = self.name();
        match &self.kind {
            Kind::One { .. } => quote! { ::std::vec![::mb_core::parameters::ParameterType::to_value(&self.#name)] },
            Kind::Fixed { .. } => quote! { ::std::vec::Vec::new() },
            Kind::Nested { embed, .. } => {
                self.embedded(embed.as_ref(), &quote! { ::mb_core::parameters::Parameters::values(&self.#name) })
            }
        }
    }

    /// `all`, a vector with an element for each parameter of the nested struct, without those that are none here.
    fn embedded(&self, embed: Option<&Expr>, all: &TokenStream) -> TokenStream {
        let ty = self.ty();
        embed.map_or_else(
            || all.clone(),
            |table| {
                quote! {
                    ::mb_core::parameters::nested::contract(
                        <#ty as ::mb_core::parameters::Parameters>::SPECS, #table, #all,
                    )
                }
            },
        )
    }

    /// The field with its sources, unless it is no parameter.
    pub(crate) fn sourced_field(&self) -> Option<TokenStream> {
        let (name, ty, meaning, visibility) = (self.name(), self.ty(), &self.meaning, &self.field.vis);
        let ty = match self.kind {
            Kind::One { .. } => quote! { ::mb_core::parameters::Sourced<#ty> },
            Kind::Fixed { .. } => return None,
            Kind::Nested { .. } => quote! { <#ty as ::mb_core::parameters::SourcedParameters>::Sourced },
        };
        Some(quote! { #[doc = #meaning] #visibility #name: #ty })
    }

    /// Its values with their sources, a vector.
    pub(crate) fn parameters(&self) -> TokenStream {
        let (name, ty) = (self.name(), self.ty());
        match &self.kind {
            Kind::One { .. } => quote! { ::std::vec![::mb_core::parameters::Parameter::of(sourced.#name)] },
            Kind::Fixed { .. } => quote! { ::std::vec::Vec::new() },
            Kind::Nested { embed, .. } => self.embedded(
                embed.as_ref(),
                &quote! { <#ty as ::mb_core::parameters::SourcedParameters>::parameters(sourced.#name) },
            ),
        }
    }
}

/// The domain of a field.
fn domain(ty: &Type, range: Option<(Expr, Expr)>, unit: Option<Ident>) -> TokenStream {
    let Some((low, high)) = range else {
        return quote! { ::mb_core::parameters::Domain::Choice(<#ty as ::mb_core::parameters::Choice>::WORDS) };
    };
    let unit = unit.map_or_else(
        || quote! { <#ty as ::mb_core::parameters::Quantity>::UNIT },
        |unit| quote! { ::mb_core::parameters::Unit::#unit },
    );
    quote! {{
        let (low, high): (u64, u64) = (#low, #high);
        assert!(low <= high, "the range of a parameter is empty");
        assert!(high <= <#ty as ::mb_core::parameters::Quantity>::MAX, "the type of the field is too small");
        ::mb_core::parameters::Domain::Range {
            unit: #unit,
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
    unit: Option<Ident>,
    holds: Option<Ident>,
    file: Option<String>,
    fixed: Option<Expr>,
    nested: bool,
    prefix: Option<String>,
    about: Option<String>,
    embed: Option<Expr>,
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
            } else if meta.path.is_ident("unit") {
                found.unit = Some(meta.value()?.parse()?);
                Ok(())
            } else if meta.path.is_ident("file") {
                found.file = Some(meta.value()?.parse::<LitStr>()?.value());
                Ok(())
            } else if meta.path.is_ident("fixed") {
                found.fixed = Some(meta.value()?.parse()?);
                Ok(())
            } else if meta.path.is_ident("embed") {
                found.embed = Some(meta.value()?.parse()?);
                Ok(())
            } else if meta.path.is_ident("nested") {
                found.nested = true;
                Ok(())
            } else if meta.path.is_ident("prefix") {
                found.prefix = Some(meta.value()?.parse::<LitStr>()?.value());
                Ok(())
            } else if meta.path.is_ident("about") {
                found.about = Some(meta.value()?.parse::<LitStr>()?.value());
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
                    "expected `range = LOW..=HIGH`, `key = \"...\"`, `unit = UNIT`, `holds = VARIANT`, `file = \"...\"`, `fixed = VALUE`, \
                     `nested`, `prefix = \"...\"`, `about = \"...\"` or `embed = TABLE`",
                ))
            }
        })?;
        Ok(found)
    }
}

/// The first paragraph of the field's doc comment as one line.
pub(crate) fn meaning(field: &Field) -> Result<String> {
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
