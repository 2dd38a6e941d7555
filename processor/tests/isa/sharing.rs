// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shared memory of threads: reservations, write-protected code, and system calls that wait.

use mb_processor::{
    Fault, Hart, Isa, Memory, Ppc32, Program, Rv64, Service, Step, Syscall, SyscallHandler, SyscallResult, WriteError,
};

use super::elf::{self, CODE, DATA};
use super::{LinuxCalls, Visible};

/// Two threads of a program with three instructions: a load-reserve at the address in the first
/// argument, a store-conditional and a plain store of the second argument to the same address.
struct Pair<H> {
    memory: Memory,
    threads: Vec<H>,
    succeeded: fn(&H) -> bool,
}

const RESERVE: u64 = CODE;
const CONDITIONAL: u64 = CODE + 4;
const STORE: u64 = CODE + 8;

impl<H: Visible> Pair<H> {
    /// Executes the instruction at `pc` on `thread` with these arguments.
    fn execute(&mut self, thread: usize, pc: u64, address: u64, value: u64) {
        let hart = &mut self.threads[thread];
        hart.jump(pc);
        hart.set_argument(0, address);
        hart.set_argument(1, value);
        let step = hart.step(&mut self.memory, &mut LinuxCalls::default());
        assert!(matches!(step, Ok(Step::Retired(_))), "{step:?}");
    }

    /// Whether the store-conditional of thread 0 succeeds, when `between` runs after its
    /// load-reserve.
    fn keeps(&mut self, between: impl FnOnce(&mut Self)) -> bool {
        self.memory.write(DATA, &[0; 256]).expect("an address in memory");
        self.execute(0, RESERVE, DATA, 0);
        between(self);
        let before = self.memory.get(DATA, 4).expect("an address in memory").to_vec();
        self.execute(0, CONDITIONAL, DATA, 0x0707_0707);
        let done = (self.succeeded)(&self.threads[0]);
        let after = self.memory.get(DATA, 4).expect("an address in memory");
        assert_eq!(after, if done { &[7; 4][..] } else { &before });
        done
    }

    fn check(&mut self) {
        let granule = Memory::RESERVATION_GRANULE;
        assert!(self.keeps(|_| {}));
        assert!(self.keeps(|pair| pair.execute(0, STORE, DATA + 4, 1)), "a store of the thread itself");
        assert!(self.keeps(|pair| pair.execute(1, STORE, DATA + granule, 1)), "a store beyond the granule");
        assert!(self.keeps(|pair| pair.execute(1, RESERVE, DATA, 0)), "a reservation of another thread");
        assert!(!self.keeps(|pair| pair.execute(1, STORE, DATA + granule - 4, 1)), "a store to the end of the granule");
        assert!(
            !self.keeps(|pair| pair.execute(1, STORE, DATA + granule - 1, 1)),
            "a store across the end of the granule"
        );
        assert!(!self.keeps(|pair| pair.execute(0, RESERVE, DATA + granule, 0)), "a later reservation");
        assert!(
            !self.keeps(|pair| pair.memory.write(DATA + 8, &[1]).expect("an address in memory")),
            "a write by the host"
        );
        assert!(!self.keeps(|pair| pair.execute(0, CONDITIONAL, DATA, 0)), "an earlier conditional store");
        let both = self.keeps(|pair| {
            pair.execute(1, RESERVE, DATA, 0);
            pair.execute(1, CONDITIONAL, DATA, 5);
            assert!((pair.succeeded)(&pair.threads[1]));
        });
        assert!(!both, "two threads with a reservation each");
        assert!(!self.keeps(|pair| {
            pair.threads[1].set_thread(0);
            pair.execute(1, RESERVE, DATA + granule, 0);
            pair.threads[1].set_thread(1);
        }));
    }
}

#[test]
fn a_store_by_another_thread_breaks_a_reservation_of_ppc32() {
    // lwarx 5,0,3; stwcx. 4,0,3; stw 4,0(3)
    let code: Vec<u8> =
        [0x7ca0_1828_u32, 0x7c80_192d, 0x9083_0000].iter().flat_map(|word| word.to_be_bytes()).collect();
    let program = Program::load(&elf::file(Isa::Ppc32, &code)).expect("a program");
    let threads = Ppc32::load(&program, 2).expect("of PPC32");
    Pair { memory: program.memory(0), threads, succeeded: |thread| thread.cr() >> 29 & 1 == 1 }.check();
}

#[test]
fn a_store_by_another_thread_breaks_a_reservation_of_rv64() {
    // lr.w a5,(a0); sc.w a2,a1,(a0); sw a1,0(a0)
    let code: Vec<u8> =
        [0x1005_27af_u32, 0x18b5_262f, 0x00b5_2023].iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::load(&elf::file(Isa::Rv64, &code)).expect("a program");
    let threads = Rv64::load(&program, 2).expect("of RV64");
    Pair { memory: program.memory(0), threads, succeeded: |thread| thread.register(12) == 0 }.check();
}

#[test]
fn a_write_to_code_is_refused() {
    // stw 3,0(3)
    let program = Program::load(&elf::file(Isa::Ppc32, &0x9063_0000_u32.to_be_bytes())).expect("a program");
    let mut memory = program.memory(0);
    let mut thread = Ppc32::load(&program, 1).expect("of PPC32").remove(0);
    for address in [CODE, CODE + 3] {
        thread.set_argument(0, address);
        let step = thread.step(&mut memory, &mut LinuxCalls::default());
        assert_eq!(step, Err(Fault::Code { pc: CODE, address }));
        assert_eq!(thread.pc(), CODE);
        assert_eq!(memory.write(address, &[0]), Err(WriteError::Code));
    }
    assert_eq!(memory, program.memory(0));
    thread.set_argument(0, CODE + 4);
    assert!(matches!(thread.step(&mut memory, &mut LinuxCalls::default()), Ok(Step::Retired(_))));
    // There is no code after the last word.
    let step = thread.step(&mut memory, &mut LinuxCalls::default());
    assert_eq!(step, Err(Fault::Access { pc: CODE + 4, address: CODE + 4, bytes: 4 }));
}

/// A handler that waits at the first call and has a result at the second.
struct Slow(Vec<Syscall>);

impl SyscallHandler for Slow {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        self.0.push(call);
        if self.0.len() == 2 { SyscallResult::Value(9) } else { SyscallResult::Wait }
    }
}

#[test]
fn a_thread_stays_at_a_system_call_until_it_has_a_result() {
    // lui a7,0x4d420; ecall
    let code: Vec<u8> = [0x4d42_08b7_u32, 0x0000_0073].iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::load(&elf::file(Isa::Rv64, &code)).expect("a program");
    let mut memory = program.memory(0);
    let mut thread = Rv64::load(&program, 3).expect("of RV64").remove(2);
    thread.set_argument(0, 5);
    let mut handler = Slow(Vec::new());
    assert!(!thread.is_system());
    assert!(matches!(thread.step(&mut memory, &mut handler), Ok(Step::Retired(_))));
    assert!(thread.is_system());
    let before = thread.state();
    assert_eq!(thread.step(&mut memory, &mut handler), Ok(Step::Waiting));
    assert_eq!(thread.state(), before);
    assert!(matches!(thread.step(&mut memory, &mut handler), Ok(Step::Retired(_))));
    assert_eq!((thread.pc(), thread.register(10)), (CODE + 8, 9));
    assert_eq!(
        handler.0,
        [Syscall { thread: 2, pc: CODE + 4, service: Service::Custom(0), arguments: [5, 0, 0, 0, 0, 0] }; 2]
    );
}
