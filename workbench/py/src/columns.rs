// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Structures as columns: a dictionary with one list per field, which is what data frames are made of.

/// Fills `$dict` with one list per `name => value`, the value taken from every item of `$items`.
macro_rules! columns {
    ($dict:expr, $items:expr, |$item:ident| { $($name:literal => $value:expr),+ $(,)? }) => {
        $( $dict.set_item($name, $items.iter().map(|$item| $value).collect::<Vec<_>>())?; )+
    };
}

pub(crate) use columns;
