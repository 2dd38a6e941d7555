// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads of one program share its memory: reservations, code that nobody writes, calls without an answer.

use mb_processor::{Answer, Call, Denied, Fault, Hart, Host, Machine, Memory, Ppc32, Program, Rv64, Service, Step};

use super::elf::{self, CODE, DATA};
use super::{Bare, Visible};

/// Code of a load that reserves what the first argument points to, a conditional store of the second argument, a plain one,
/// and a plain one by the third argument; and two threads that execute any of them.
struct Pair<H> {
    memory: Memory,
    threads: Vec<H>,
    succeeded: fn(&H) -> bool,
}

const RESERVE: u64 = CODE;
const CONDITIONAL: u64 = CODE + 4;
const STORE: u64 = CODE + 8;

impl<H: Visible> Pair<H> {
    /// Thread `thread` executes the instruction at `pc` for `address` and `value`.
    fn go(&mut self, thread: usize, pc: u64, address: u64, value: u64) {
        let hart = &mut self.threads[thread];
        hart.jump(pc);
        hart.set_argument(0, address);
        hart.set_argument(1, value);
        let step = hart.step(&mut self.memory, &mut Bare::default());
        assert!(matches!(step, Ok(Step::Retired(_))), "{step:?}");
    }

    /// Whether thread 0 can write conditionally after thread 0 reserved the first word and then `between` happened.
    fn keeps(&mut self, between: impl FnOnce(&mut Self)) -> bool {
        self.memory.write(DATA, &[0; 256]).expect("there is room");
        self.go(0, RESERVE, DATA, 0);
        between(self);
        let before = self.memory.get(DATA, 4).expect("it is there").to_vec();
        self.go(0, CONDITIONAL, DATA, 0x0707_0707);
        let done = (self.succeeded)(&self.threads[0]);
        let after = self.memory.get(DATA, 4).expect("it is there");
        assert_eq!(after, if done { &[7; 4][..] } else { &before });
        done
    }

    fn check(&mut self) {
        let granule = Memory::GRANULE;
        assert!(self.keeps(|_| {}));
        assert!(self.keeps(|pair| pair.go(0, STORE, DATA + 4, 1)), "one's own store");
        assert!(self.keeps(|pair| pair.go(1, STORE, DATA + granule, 1)), "a store beyond the granule");
        assert!(self.keeps(|pair| pair.go(1, RESERVE, DATA, 0)), "a reservation by another thread");
        assert!(!self.keeps(|pair| pair.go(1, STORE, DATA + granule - 4, 1)), "a store to the granule's end");
        assert!(!self.keeps(|pair| pair.go(1, STORE, DATA + granule - 1, 1)), "a store across the granule's end");
        assert!(!self.keeps(|pair| pair.go(0, RESERVE, DATA + granule, 0)), "a later reservation");
        assert!(!self.keeps(|pair| pair.memory.write(DATA + 8, &[1]).expect("there is room")), "a write by the host");
        assert!(!self.keeps(|pair| pair.go(0, CONDITIONAL, DATA, 0)), "an earlier conditional store");
        let both = self.keeps(|pair| {
            pair.go(1, RESERVE, DATA, 0);
            pair.go(1, CONDITIONAL, DATA, 5);
            assert!((pair.succeeded)(&pair.threads[1]));
        });
        assert!(!both, "two threads that had both reserved");
        assert!(!self.keeps(|pair| {
            pair.threads[1].set_thread(0);
            pair.go(1, RESERVE, DATA + granule, 0);
            pair.threads[1].set_thread(1);
        }));
    }
}

#[test]
fn a_store_by_another_thread_breaks_a_reservation_of_ppc32() {
    // lwarx 5,0,3; stwcx. 4,0,3; stw 4,0(3)
    let code: Vec<u8> =
        [0x7ca0_1828_u32, 0x7c80_192d, 0x9083_0000].iter().flat_map(|word| word.to_be_bytes()).collect();
    let program = Program::load(&elf::file(Machine::Ppc32, &code)).expect("a program");
    let threads = Ppc32::load(&program, 2).expect("of PPC32");
    Pair { memory: program.memory(0), threads, succeeded: |thread| thread.cr() >> 29 & 1 == 1 }.check();
}

#[test]
fn a_store_by_another_thread_breaks_a_reservation_of_rv64() {
    // lr.w a5,(a0); sc.w a2,a1,(a0); sw a1,0(a0)
    let code: Vec<u8> =
        [0x1005_27af_u32, 0x18b5_262f, 0x00b5_2023].iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::load(&elf::file(Machine::Rv64, &code)).expect("a program");
    let threads = Rv64::load(&program, 2).expect("of RV64");
    Pair { memory: program.memory(0), threads, succeeded: |thread| thread.register(12) == 0 }.check();
}

#[test]
fn nobody_writes_code() {
    // stw 3,0(3)
    let program = Program::load(&elf::file(Machine::Ppc32, &0x9063_0000_u32.to_be_bytes())).expect("a program");
    let mut memory = program.memory(0);
    let mut thread = Ppc32::load(&program, 1).expect("of PPC32").remove(0);
    for address in [CODE, CODE + 3] {
        thread.set_argument(0, address);
        let step = thread.step(&mut memory, &mut Bare::default());
        assert_eq!(step, Err(Fault::Code { pc: CODE, address }));
        assert_eq!(thread.pc(), CODE);
        assert_eq!(memory.write(address, &[0]), Err(Denied::Code));
    }
    assert_eq!(memory, program.memory(0));
    thread.set_argument(0, CODE + 4);
    assert!(matches!(thread.step(&mut memory, &mut Bare::default()), Ok(Step::Retired(_))));
    // What follows the last word is no code.
    let step = thread.step(&mut memory, &mut Bare::default());
    assert_eq!(step, Err(Fault::Access { pc: CODE + 4, address: CODE + 4, bytes: 4 }));
}

/// Has an answer at the second time of asking.
struct Slow(Vec<Call>);

impl Host for Slow {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Call, _: &mut Memory) -> Answer {
        self.0.push(call);
        if self.0.len() == 2 { Answer::Value(9) } else { Answer::Wait }
    }
}

#[test]
fn a_thread_stays_at_a_call_until_there_is_an_answer() {
    // lui a7,0x4d420; ecall
    let code: Vec<u8> = [0x4d42_08b7_u32, 0x0000_0073].iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::load(&elf::file(Machine::Rv64, &code)).expect("a program");
    let mut memory = program.memory(0);
    let mut thread = Rv64::load(&program, 3).expect("of RV64").remove(2);
    thread.set_argument(0, 5);
    let mut host = Slow(Vec::new());
    assert!(!thread.is_system());
    assert!(matches!(thread.step(&mut memory, &mut host), Ok(Step::Retired(_))));
    assert!(thread.is_system());
    let before = thread.state();
    assert_eq!(thread.step(&mut memory, &mut host), Ok(Step::Waiting));
    assert_eq!(thread.state(), before);
    assert!(matches!(thread.step(&mut memory, &mut host), Ok(Step::Retired(_))));
    assert_eq!((thread.pc(), thread.register(10)), (CODE + 8, 9));
    assert_eq!(host.0, [Call { thread: 2, service: Service::Own(0), arguments: [5, 0, 0, 0] }; 2]);
}
