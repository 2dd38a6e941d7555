// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Small programs in both modes on harts without timing.

use mb_processor::chip::{self, CallHandler, Chip, ChipConfig, TranslationConfig, blocking, cmp, in_order};
use mb_processor::functional::{
    Functional, FunctionalParameters, HartState, HartStop, HostAnswer, HostCall, HostMemory, SupervisorEnvironment,
};
use mb_processor::rv64::supervisor::{HartCounters, Privilege, number as csr};
use mb_processor::system::{MemorySystem, NoDevice};
use mb_processor::{FixedLatency, Memory, Syscall, SyscallResult};

use crate::assembler::*;

pub(crate) const BASE: u64 = 0x8000_0000;
pub(crate) const HANDLER: u64 = BASE + 0x1000;
pub(crate) const USER: u64 = BASE + 0x2000;
/// The root table: it maps all of memory at its own addresses for both modes.
pub(crate) const TABLE: u64 = BASE + 0x10_0000;
pub(crate) const DATA: u64 = BASE + 0x20_0000;

/// Records calls: exits at number 0, interrupts a hart at 1, else returns the number.
#[derive(Default)]
pub(crate) struct Calls(Vec<HostCall>);

impl SupervisorEnvironment for Calls {
    fn call(&mut self, call: HostCall, _: &mut dyn HostMemory) -> HostAnswer {
        self.answer(call)
    }
}

impl Calls {
    fn answer(&mut self, call: HostCall) -> HostAnswer {
        self.0.push(call);
        match call.number {
            0 => HostAnswer::Exit(call.arguments[0]),
            1 => HostAnswer::Interrupt(call.arguments[0]),
            number => HostAnswer::Value(number),
        }
    }
}

impl CallHandler for Calls {
    fn call<M: MemorySystem>(&mut self, _: u64, call: Syscall, _: &mut M) -> SyscallResult {
        panic!("{call:?}")
    }

    fn supervisor_call<M: MemorySystem>(&mut self, call: HostCall, _: &mut M) -> HostAnswer {
        self.answer(call)
    }
}

/// Runs a chip until a hart ends. The memory is behind a pointer, since the chip is compiled for each type.
pub(crate) fn run_chip(chip: &mut Chip, mut memory: &mut dyn MemorySystem) -> chip::ChipStop {
    chip.run_supervised(100_000, &mut memory, &mut Calls::default(), &mut ()).expect("no fault")
}

#[derive(Clone)]
pub(crate) struct SupervisorHarts {
    pub(crate) memory: Memory,
    pub(crate) states: Vec<HartState>,
    quantum: u32,
}

impl SupervisorHarts {
    /// Harts at BASE with stvec at HANDLER, where a call with number 0 ends the run.
    pub(crate) fn new(harts: u64) -> Self {
        let mut machine = Self { memory: Memory::new(BASE, 4 << 20), states: Vec::new(), quantum: 8 };
        for number in 0..harts {
            let mut state = HartState::new(BASE, number, 0);
            state.supervisor.write(csr::STVEC, HANDLER);
            machine.states.push(state);
        }
        machine.put(HANDLER, &[addi(17, 0, 0), ECALL]);
        machine
    }

    pub(crate) fn put(&mut self, address: u64, code: &[u32]) {
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory.write(address, &bytes).unwrap();
    }

    pub(crate) fn entry(&mut self, address: u64, value: u64) {
        self.memory.write(address, &value.to_le_bytes()).unwrap();
    }

    /// Hart 0 starts in this mode at `pc`, with Sv39 if there is a table.
    pub(crate) fn start(&mut self, pc: u64, user: bool, translated: bool) -> &mut HartState {
        let state = &mut self.states[0];
        if translated {
            state.supervisor.write(csr::SATP, 8 << 60 | TABLE >> 12);
        }
        state.supervisor.write(csr::SSTATUS, if user { 0 } else { 1 << 8 });
        state.supervisor.write(csr::SEPC, pc);
        state.pc = state.supervisor.sret();
        state
    }

    fn run(self) -> (HartStop, Functional, Calls) {
        let parameters = FunctionalParameters { quantum: self.quantum };
        let mut harts = Functional::new(self.memory, NoDevice, &self.states, 0, parameters);
        let mut calls = Calls::default();
        let stop = harts.run(&mut calls, 100_000);
        (stop, harts, calls)
    }

    /// The state of hart 0 after a run without time, which the handler ends.
    pub(crate) fn without_time(self) -> HartState {
        let (stop, harts, _) = self.run();
        assert!(matches!(stop, HartStop::Exited(_)), "{stop:?}");
        *harts.state(0)
    }

    /// Runs on chips with cores of both kinds until the handler ends it; returns the state of hart 0
    /// and the cycle.
    pub(crate) fn time(&self, config: &ChipConfig, translation: TranslationConfig, latency: u64) -> (HartState, Chip) {
        let mut memory = FixedLatency::new(self.memory.clone(), NoDevice, self.states.len(), 1, latency, 2);
        let mut chip = Chip::with_supervisor(config, &translation, &self.states, 0).expect("a chip");
        let stop = run_chip(&mut chip, &mut memory);
        assert!(matches!(stop, chip::ChipStop::Exited { .. }), "{stop:?}");
        (chip.state(0).expect("a precise state"), chip)
    }

    /// Runs until the handler ends it; returns scause, sepc and stval.
    fn trap(self) -> (u64, u64, u64) {
        let harts = self.states.len();
        let configs = [cmp(harts), in_order(cmp(harts)), blocking(cmp(harts), 1), blocking(cmp(harts), 64)];
        let chips = configs.map(|config| self.time(&config, TranslationConfig::default(), 3).0);
        let (stop, harts, _) = self.run();
        assert!(matches!(stop, HartStop::Exited(_)), "{stop:?}");
        let trap = trap_of(harts.state(0));
        for state in chips {
            // A chip does not show the bits of a floating-point instruction that is off.
            let (cause, pc, value) = trap_of(&state);
            let hidden = value == 0 && cause == 2;
            assert_eq!((cause, pc, if hidden { trap.2 } else { value }), trap);
            assert_eq!(state.registers, harts.state(0).registers);
            assert_eq!(state.retired, harts.state(0).retired);
        }
        trap
    }
}

/// scause, sepc and stval.
pub(crate) fn trap_of(state: &HartState) -> (u64, u64, u64) {
    let counters = HartCounters { cycle: 0, time: 0, retired: 0 };
    let read = |number| state.supervisor.read(number, false, counters).unwrap();
    (read(csr::SCAUSE), read(csr::SEPC), read(csr::STVAL))
}

/// Maps 1 GiB at `address` to the same physical addresses.
pub(crate) fn map_gib(machine: &mut SupervisorHarts, address: u64, flags: u64) {
    machine.entry(TABLE + (address >> 30) * 8, address >> 2 | flags);
}

#[test]
fn each_exception_has_its_cause_its_address_and_its_value() {
    // Registers: x5 = memory that exists, x6 = physical memory that does not, x7 = odd address.
    let missing = BASE + (512 << 20);
    for (name, user, code, cause, value) in [
        ("illegal word", true, 0xffff_ffff, 2, 0xffff_ffff),
        ("short illegal word", true, 0, 2, 0),
        ("ebreak", true, EBREAK, 3, USER),
        ("ebreak in supervisor mode", false, EBREAK, 3, USER),
        ("user call", true, ECALL, 8, 0),
        ("misaligned lr", true, lr_w(10, 7), 4, DATA + 1),
        ("misaligned amo", true, amoadd_w(10, 0, 7), 6, DATA + 1),
        ("load outside of memory", true, ld(10, 0, 6), 5, missing),
        ("store outside of memory", true, sd(10, 0, 6), 7, missing),
        ("amo outside of memory", true, amoadd_w(10, 0, 6), 7, missing),
        ("lr outside of memory", true, lr_w(10, 6), 5, missing),
        ("sret in user mode", true, SRET, 2, SRET.into()),
        ("wfi in user mode", true, WFI, 2, WFI.into()),
        ("sfence in user mode", true, sfence_vma(0, 0), 2, sfence_vma(0, 0).into()),
        ("supervisor register in user mode", true, csrrs(10, csr::SATP, 0), 2, csrrs(10, csr::SATP, 0).into()),
        ("machine register", false, csrrs(10, 0x300, 0), 2, csrrs(10, 0x300, 0).into()),
        ("write of a counter", false, csrrw(0, csr::TIME, 5), 2, csrrw(0, csr::TIME, 5).into()),
        ("closed counter", true, csrrs(10, csr::TIME, 0), 2, csrrs(10, csr::TIME, 0).into()),
        ("floating point that is off", false, fmv_d_x(1, 5), 2, fmv_d_x(1, 5).into()),
        ("fcsr that is off", false, csrrs(10, 3, 0), 2, csrrs(10, 3, 0).into()),
    ] {
        for quantum in [1, 64] {
            let mut machine = SupervisorHarts { quantum, ..SupervisorHarts::new(1) };
            machine.put(USER, &[code, NOP]);
            let state = machine.start(USER, user, false);
            state.registers[5..8].copy_from_slice(&[DATA, missing, DATA + 1]);
            assert_eq!(machine.trap(), (cause, USER, value), "{name}");
        }
    }
}

#[test]
fn accesses_of_floating_point_that_is_off_leave_the_load_store_queue() {
    for access in [fld(1, 0, 5), fsd(1, 0, 5)] {
        for config in [cmp(1), in_order(cmp(1)), blocking(cmp(1), 64)] {
            let mut machine = SupervisorHarts::new(1);
            // The handler continues after the instruction.
            machine.put(HANDLER, &[csrrs(28, csr::SEPC, 0), addi(28, 28, 4), csrrw(0, csr::SEPC, 28), SRET]);
            let traps = config.load_store_queue + 1;
            let mut code = vec![access; traps];
            code.extend([ld(6, 0, 5), addi(17, 0, 0), ECALL]);
            machine.put(USER, &code);
            machine.entry(DATA, 42);
            machine.start(USER, false, false).registers[5] = DATA;
            let (state, chip) = machine.time(&config, TranslationConfig::default(), 3);
            assert_eq!((state.registers[6], chip.statistics(0).traps), (42, traps as u64));
        }
    }
}

#[test]
fn page_faults_name_the_first_byte_that_has_no_right() {
    const RWX: u64 = 0xcf;
    const U: u64 = 0x10;
    for (name, user, flags, code, cause) in [
        ("not valid", false, 0, ld(10, 0, 5), 13),
        ("load from a page to execute", false, 0xc9, ld(10, 0, 5), 13),
        ("store to a page to read", false, 0xc3, sd(10, 0, 5), 15),
        ("amo to a page to read", false, 0xc3, amoadd_w(10, 0, 5), 15),
        ("lr from a page to execute", false, 0xc9, lr_w(10, 5), 13),
        ("user page without SUM", false, RWX | U, ld(10, 0, 5), 13),
        ("supervisor page", true, RWX, sd(10, 0, 5), 15),
        ("clear A", true, (RWX | U) & !0x40, ld(10, 0, 5), 13),
        ("clear D", true, (RWX | U) & !0x80, sd(10, 0, 5), 15),
        ("fetch without right", true, 0xc7 | U, jr(5), 12),
        ("fetch from a user page in supervisor mode", false, RWX | U, jr(5), 12),
    ] {
        let mut machine = SupervisorHarts::new(1);
        // Supervisor text must not be a user page, so the second GiB has text of one kind.
        map_gib(&mut machine, BASE, if user { RWX | U } else { RWX });
        if user {
            // The handler must be executable in supervisor mode: a second mapping of the same GiB.
            let alias = 3_u64 << 30;
            machine.entry(TABLE + 3 * 8, BASE >> 2 | RWX);
            machine.states[0].supervisor.write(csr::STVEC, alias + (HANDLER - BASE));
        }
        // The page under test, at 4 GiB.
        machine.entry(TABLE + 4 * 8, BASE >> 2 | flags);
        machine.put(USER, &[code, NOP]);
        let state = machine.start(USER, user, true);
        state.registers[5] = (4 << 30) + 0x20_0000;
        let target = (4 << 30) + 0x20_0000;
        let pc = if cause == 12 { target } else { USER };
        assert_eq!(machine.trap(), (cause, pc, target), "{name}");
    }
}

/// Two pages of 4 KiB at virtual 0 and 0x1000 with different physical pages, for user mode. The
/// second exists if `second`.
pub(crate) fn two_pages(second: bool) -> SupervisorHarts {
    let mut machine = SupervisorHarts::new(1);
    map_gib(&mut machine, BASE, 0xcf);
    let (middle, low) = (TABLE + 0x1000, TABLE + 0x2000);
    machine.entry(TABLE, middle >> 2 | 1);
    machine.entry(middle, low >> 2 | 1);
    machine.entry(low, (DATA + 0x4000) >> 2 | 0xdf);
    machine.entry(low + 8, DATA >> 2 | if second { 0xdf } else { 0 });
    machine
}

#[test]
fn accesses_across_pages_use_both_translations_or_neither() {
    for second in [true, false] {
        let mut machine = two_pages(second);
        machine.put(DATA + 0x4000, &[sd(6, -4, 5), ld(7, -4, 5), ECALL]);
        let state = machine.start(0, true, true);
        state.registers[5..7].copy_from_slice(&[0x1000, 0x1122_3344_5566_7788]);
        let (_, harts, _) = machine.run();
        let words = [DATA + 0x4ffc, DATA].map(|at| u32::from_le_bytes(harts.memory().read(at).unwrap()));
        if second {
            assert_eq!(words, [0x5566_7788, 0x1122_3344]);
            assert_eq!(harts.state(0).registers[7], 0x1122_3344_5566_7788);
        } else {
            // Nothing is written, and stval is the first byte of the second page.
            assert_eq!(words, [0, 0]);
            let mut machine = two_pages(false);
            machine.put(DATA + 0x4000, &[sd(6, -4, 5)]);
            machine.start(0, true, true).registers[5] = 0x1000;
            assert_eq!(trap_of(machine.run().1.state(0)), (15, 0, 0x1000));
        }
    }
}

#[test]
fn an_instruction_across_pages_is_fetched_from_both() {
    let mut machine = two_pages(true);
    let word = addi(7, 0, 99).to_le_bytes();
    machine.put(DATA + 0x4ff8, &[j(6)]);
    machine.memory.write(DATA + 0x4ffe, &word[..2]).unwrap();
    machine.memory.write(DATA, &word[2..]).unwrap();
    machine.memory.write(DATA + 2, &ECALL.to_le_bytes()).unwrap();
    machine.start(0xff8, true, true);
    let (_, harts, _) = machine.run();
    assert_eq!(harts.state(0).registers[7], 99);
    let mut machine = two_pages(false);
    machine.memory.write(DATA + 0x4ffe, &word[..2]).unwrap();
    machine.start(0xffe, true, true);
    assert_eq!(machine.trap(), (12, 0xffe, 0x1000));
}

#[test]
fn sum_and_mxr_open_pages_for_supervisor_mode() {
    for (flags, status, allowed) in [(0xdf, 1 << 18, true), (0xdf, 0, false), (0xc9, 1 << 19, true), (0xc9, 0, false)] {
        let mut machine = SupervisorHarts::new(1);
        map_gib(&mut machine, BASE, 0xcf);
        machine.entry(TABLE + 4 * 8, BASE >> 2 | flags);
        // With and without a translation that is kept from before the change.
        machine.put(
            USER,
            &[csrrs(0, csr::SSTATUS, 6), ld(10, 0, 5), csrrw(0, csr::SSTATUS, 8), ld(10, 0, 5), addi(17, 0, 0), ECALL],
        );
        let state = machine.start(USER, false, true);
        state.registers[5..9].copy_from_slice(&[(4 << 30) + 0x20_0000, status, 0, 0]);
        let (cause, pc, _) = machine.trap();
        assert_eq!((cause, pc), (13, if allowed { USER + 12 } else { USER + 4 }));
    }
}

#[test]
fn a_translation_changes_with_each_form_of_sfence() {
    // x7 holds the address and x8 the address space, both 0.
    for (address, asid) in [(0, 0), (7, 0), (0, 8), (7, 8)] {
        let mut machine = SupervisorHarts::new(1);
        map_gib(&mut machine, BASE, 0xcf);
        let (middle, low) = (TABLE + 0x1000, TABLE + 0x2000);
        machine.entry(TABLE, middle >> 2 | 1);
        machine.entry(middle, low >> 2 | 1);
        machine.entry(low, DATA >> 2 | 0xcf);
        machine.entry(DATA, 1);
        machine.entry(DATA + 0x1000, 2);
        // Reads the page, changes its entry, and reads it again behind the fence.
        let code = [ld(10, 0, 0), sd(6, 0, 5), sfence_vma(address, asid), ld(11, 0, 0), addi(17, 0, 0), ECALL];
        machine.put(USER, &code);
        let state = machine.start(USER, false, true);
        state.registers[5..7].copy_from_slice(&[low, (DATA + 0x1000) >> 2 | 0xcf]);
        let (chip, _) = machine.time(&cmp(1), TranslationConfig::default(), 3);
        assert_eq!(chip.registers[10..12], [1, 2]);
        let (_, harts, _) = machine.run();
        assert_eq!(harts.state(0).registers[10..12], [1, 2]);
    }
}

#[test]
fn stored_code_is_executed_after_fence_i() {
    let mut machine = SupervisorHarts::new(1);
    // The second pass executes what the first one stored over the first instruction.
    machine.put(
        USER,
        &[addi(10, 10, 1), NOP, sd(6, 0, 5), FENCE_I, addi(12, 12, -1), bnez(12, -20), addi(17, 0, 0), ECALL],
    );
    let state = machine.start(USER, false, false);
    state.registers[5..7].copy_from_slice(&[USER, u64::from(addi(10, 10, 100)) | u64::from(NOP) << 32]);
    state.registers[12] = 2;
    let (chip, _) = machine.time(&cmp(1), TranslationConfig::default(), 3);
    assert_eq!(chip.registers[10], 101);
    let (_, harts, _) = machine.run();
    assert_eq!(harts.state(0).registers[10], 101);
}

/// bne rs1, x0, offset
const fn bnez(rs1: u32, offset: i32) -> u32 {
    let bits = offset as u32;
    (bits >> 12 & 1) << 31
        | (bits >> 5 & 63) << 25
        | rs1 << 15
        | 1 << 12
        | (bits >> 1 & 15) << 8
        | (bits >> 11 & 1) << 7
        | 0x63
}

#[test]
fn wfi_waits_for_the_timer_and_the_interrupt_is_taken_behind_it() {
    let mut machine = SupervisorHarts::new(1);
    machine.put(USER, &[WFI, NOP, j(0)]);
    let state = machine.start(USER, false, false);
    state.supervisor.write(csr::SIE, 1 << 5);
    state.supervisor.write(csr::STIMECMP, 5000);
    state.supervisor.write(csr::SSTATUS, 2);
    let (chip, cycles) = machine.time(&cmp(1), TranslationConfig::default(), 3);
    assert_eq!((trap_of(&chip), chip.retired), ((1 << 63 | 5, USER + 4, 0), 2));
    assert!((5000..5040).contains(&cycles.now()), "{}", cycles.now());
    let (stop, harts, calls) = machine.run();
    assert_eq!(stop, HartStop::Exited(0));
    assert!((5000..5016).contains(&calls.0[0].time), "{}", calls.0[0].time);
    // wfi, then the handler: addi and the call, which does not retire.
    assert_eq!(harts.state(0).retired, 2);
    assert_eq!(harts.counts(0).interrupts, 1);
}

#[test]
fn a_hart_is_woken_by_another() {
    let mut machine = SupervisorHarts::new(2);
    // Hart 0 interrupts hart 1; both started at BASE with their number in a0.
    machine.put(
        BASE,
        &[bnez(10, 20), addi(10, 0, 1), addi(17, 0, 1), ECALL, WFI, WFI, addi(10, 0, 7), addi(17, 0, 0), ECALL],
    );
    for state in &mut machine.states {
        state.supervisor.write(csr::SIE, 2);
    }
    let (stop, harts, calls) = machine.run();
    assert_eq!(stop, HartStop::Exited(7));
    assert_eq!(calls.0.iter().map(|call| (call.hart, call.number)).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    // No hart takes the interrupt: sstatus.SIE is clear.
    assert_eq!(harts.counts(1).interrupts, 0);
}

#[test]
fn a_machine_that_waits_for_nothing_is_idle() {
    let mut machine = SupervisorHarts::new(1);
    machine.put(USER, &[WFI]);
    machine.start(USER, false, false);
    assert_eq!(machine.run().0, HartStop::Idle);
}

#[test]
fn a_handler_that_cannot_be_fetched_stops_the_run() {
    let mut machine = SupervisorHarts::new(1);
    machine.put(USER, &[ECALL]);
    machine.start(USER, true, false).supervisor.write(csr::STVEC, 0x1000);
    assert_eq!(machine.run().0, HartStop::TrapLoop { hart: 0, handler: 0x1000 });
}

#[test]
fn calls_of_supervisor_mode_return_the_answer() {
    let mut machine = SupervisorHarts::new(1);
    machine.put(USER, &[addi(17, 0, 42), ECALL, addi(5, 10, 0), addi(17, 0, 0), ECALL]);
    machine.start(USER, false, false).registers[10] = 5;
    let (_, harts, calls) = machine.run();
    assert_eq!((calls.0[0].number, calls.0[0].arguments[0], harts.state(0).registers[5]), (42, 5, 42));
    assert_eq!(harts.state(0).supervisor.privilege(), Privilege::Supervisor);
}

#[test]
fn instructions_are_counted_by_mode() {
    let mut machine = SupervisorHarts::new(1);
    machine.put(USER, &[NOP, NOP, NOP, ECALL]);
    machine.put(HANDLER, &[NOP, addi(17, 0, 0), ECALL]);
    machine.start(USER, true, false);
    let (_, harts, _) = machine.run();
    let counts = harts.counts(0);
    assert_eq!((counts.user, counts.supervisor, counts.exceptions), (3, 2, 1));
}
