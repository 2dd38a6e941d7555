// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `processor/firmware/stream.c` prints the checksum of the oracle's answers to the same stream.

use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, ProbeId, RecvId};
use mb_firmware::Guest;
use mb_oracle::Oracle;
use mb_processor::{Hart, Isa, Memory, Ppc32, Rv64, Service, Step, Syscall, SyscallHandler, SyscallResult};

/// A handler that records what is written.
struct Console(Vec<u8>);

impl SyscallHandler for Console {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        let [_, address, length, ..] = call.arguments;
        match call.service {
            Service::Write => {
                self.0.extend_from_slice(memory.get(address, length as usize).unwrap());
                SyscallResult::Value(length)
            }
            Service::Exit => SyscallResult::Exit(call.arguments[0]),
            _ => panic!("unexpected call {call:?}"),
        }
    }
}

fn printed<H: Hart>(isa: Isa, mut hart: H) -> String {
    let mut memory = Guest::Stream.program(isa).memory(0);
    let mut console = Console(Vec::new());
    loop {
        match hart.step(&mut memory, &mut console).unwrap() {
            Step::Retired(_) => {}
            Step::Exited(0) => return String::from_utf8(console.0).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

/// The generator of `processor/firmware/stream.c`: Marsaglia's xorshift.
struct Xorshift(u32);

impl Xorshift {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        ((u64::from(self.0) * u64::from(limit)) >> 32) as u32
    }
}

fn op(random: &mut Xorshift, number: u32) -> Op {
    let (kind, envelope, wildcard) = (random.below(100), random.below(24), random.below(8));
    let posts = if number / 500 % 2 == 1 { 55 } else { 25 };
    let name = u64::from(number);
    let bits = u64::from(envelope / 4) << 32 | u64::from(envelope % 4);
    let envelope = Envelope { bits, initiator: Initiator(envelope % 3) };
    if kind < 80 - posts {
        return Op::Arrive { msg: MsgId(name), envelope };
    }
    let mut pattern = Pattern::exactly(envelope);
    match wildcard {
        0 => pattern.ignore = 3,
        1 => pattern.initiator = None,
        _ => {}
    }
    match kind {
        ..80 => Op::Post { recv: RecvId(name), pattern },
        80..90 => Op::Cancel { recv: RecvId(u64::from(number - random.below(64.min(number + 1)))) },
        90..95 => Op::Probe { probe: ProbeId(name), pattern },
        _ => Op::MatchedProbe { probe: ProbeId(name), pattern },
    }
}

#[test]
fn a_fixed_stream_has_the_checksum_of_the_oracle() {
    let (mut oracle, mut random) = (Oracle::new(), Xorshift(2_463_534_242));
    let mut checksum = 0xcbf2_9ce4_8422_2325_u64;
    let mut kinds = [0; 5];
    for number in 0..4000 {
        let op = op(&mut random, number);
        let (found, partner) = match oracle.apply(op).0 {
            Outcome::Matched(recv, msg) => (true, Some(if matches!(op, Op::Post { .. }) { msg.0 } else { recv.0 })),
            Outcome::Probed(_, found) => (found.is_some(), found.map(|msg| msg.0)),
            Outcome::Cancelled(_) => (true, None),
            Outcome::Posted(_) | Outcome::Unexpected(_) | Outcome::NotCancelled(_) => (false, None),
        };
        let kind = match op {
            Op::Post { .. } => 0,
            Op::Arrive { .. } => 1,
            Op::Cancel { .. } => 2,
            Op::Probe { .. } => 3,
            Op::MatchedProbe { .. } => 4,
        };
        kinds[kind] += u32::from(found);
        for word in std::iter::once(u64::from(found)).chain(partner) {
            checksum = (checksum ^ word).wrapping_mul(0x100_0000_01b3);
        }
    }
    assert!(kinds.iter().all(|&found| found > 30), "every kind of operation must find entries: {kinds:?}");
    let expected = format!("{checksum:016x}\n");
    let ppc32 = Ppc32::load(&Guest::Stream.program(Isa::Ppc32), 1).unwrap().remove(0);
    let rv64 = Rv64::load(&Guest::Stream.program(Isa::Rv64), 1).unwrap().remove(0);
    assert_eq!([printed(Isa::Ppc32, ppc32), printed(Isa::Rv64, rv64)], [expected.clone(), expected]);
}
