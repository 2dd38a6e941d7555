// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the pipeline of the embedded processor of Hemmert et al. while a header walks four posted
//! receives, for the viewer Konata:
//! `cargo run --package mb-list_ooo --example pipeline > walk.kanata`.

use std::error::Error;
use std::io::Write as _;

use mb_core::{Envelope, Initiator, MsgId, Op, Pattern, RecvId};
use mb_list_ooo::parameters::ListOooParts;
use mb_list_ooo::{ENTRY, pipeline};

fn main() -> Result<(), Box<dyn Error>> {
    let envelope = |bits| Envelope { bits, initiator: Initiator(1) };
    let post = |number| Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) };
    let arrive = |number| Op::Arrive { msg: MsgId(number), envelope: envelope(number) };
    // The first arrivals fill the instruction cache and teach the predictor.
    let quiet: Vec<Op> = (1..=6).map(post).chain([arrive(6), arrive(5)]).collect();
    let parameters = ListOooParts::new(&mb_testkit::preset(&ENTRY, "hemmert2007"));
    let text = pipeline::draw(&parameters, &quiet, &[arrive(4)], String::new())?;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
