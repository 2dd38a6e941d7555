// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The registers of supervisor mode, after the privileged specification.

use mb_processor::rv64::supervisor::{
    Exception, HartCounters, Interrupt, Privilege, Privileged, Supervisor, TrapCause, Written, number as csr,
};

const COUNTERS: HartCounters = HartCounters { cycle: 11, time: 22, retired: 33 };

fn read(state: &Supervisor, number: u16) -> Option<u64> {
    state.read(number, false, COUNTERS)
}

/// The state in user mode, after an sret to `pc`.
fn in_user_mode(mut state: Supervisor, pc: u64) -> Supervisor {
    state.write(csr::SEPC, pc);
    assert_eq!(state.sret(), pc);
    assert_eq!(state.privilege(), Privilege::User);
    state
}

#[test]
fn each_register_keeps_its_writable_fields_only() {
    for (number, ones) in [
        // SIE, SPIE, SPP, FS, SUM, MXR are writable; UXL is 2; SD follows from FS.
        (csr::SSTATUS, 1 << 63 | 2 << 32 | 1 << 19 | 1 << 18 | 3 << 13 | 1 << 8 | 1 << 5 | 1 << 1),
        (csr::SIE, 1 << 9 | 1 << 5 | 1 << 1),
        (csr::STVEC, !2),
        (csr::SCOUNTEREN, 7),
        (csr::SSCRATCH, u64::MAX),
        (csr::SEPC, !1),
        (csr::SCAUSE, u64::MAX),
        (csr::STVAL, u64::MAX),
        (csr::SIP, 1 << 1),
        (csr::STIMECMP, u64::MAX),
        // The mode of all ones does not exist: no effect.
        (csr::SATP, 0),
    ] {
        let mut state = Supervisor::new();
        state.write(number, u64::MAX);
        assert_eq!(read(&state, number), Some(ones), "{number:#x}");
        state.write(number, 0);
        let zero = if number == csr::SSTATUS { 2 << 32 } else { 0 };
        // stimecmp of 0 is in the past, and shows in sip only.
        assert_eq!(read(&state, number), Some(zero), "{number:#x}");
    }
}

#[test]
fn satp_takes_the_modes_bare_and_sv39_alone() {
    let mut state = Supervisor::new();
    let value = 8 << 60 | 0xabcd << 44 | 0x123_4567_89ab;
    assert_eq!(state.write(csr::SATP, value), Written::Translation);
    assert_eq!((state.root(), state.asid()), (Some(0x123_4567_89ab), 0xabcd));
    for mode in [1, 2, 7, 9, 10, 15] {
        state.write(csr::SATP, mode << 60 | 1);
        assert_eq!(read(&state, csr::SATP), Some(value));
    }
    state.write(csr::SATP, 0);
    assert_eq!(state.root(), None);
}

#[test]
fn user_mode_reaches_no_supervisor_register() {
    let state = in_user_mode(Supervisor::new(), 0);
    for number in 0x100..0x400 {
        assert_eq!(read(&state, number), None, "{number:#x}");
    }
}

#[test]
fn registers_of_other_modes_do_not_exist() {
    let state = Supervisor::new();
    // mstatus, mtvec, menvcfg, mhartid, hstatus, vsstatus, senvcfg, pmpcfg0, sedeleg, sstateen0.
    for number in [0x300, 0x305, 0x30a, 0xf14, 0x600, 0x200, 0x10a, 0x3a0, 0x102, 0x10c] {
        assert_eq!(read(&state, number), None, "{number:#x}");
    }
}

#[test]
fn scounteren_opens_counters_for_user_mode() {
    for enabled in 0..8 {
        let mut state = Supervisor::new();
        state.write(csr::SCOUNTEREN, enabled);
        for (number, value) in [(csr::CYCLE, 11), (csr::TIME, 22), (csr::INSTRET, 33)] {
            assert_eq!(read(&state, number), Some(value));
            assert_eq!(state.read(number, true, COUNTERS), None, "counters are read-only");
            let user = in_user_mode(state, 0);
            let open = enabled >> (number & 3) & 1 != 0;
            assert_eq!(read(&user, number), open.then_some(value));
        }
    }
}

#[test]
fn traps_and_returns_stack_mode_and_interrupt_enable() {
    for enabled in [false, true] {
        for user in [false, true] {
            let mut state = Supervisor::new();
            state.write(csr::STVEC, 0x8000);
            state.write(csr::SEPC, 0x100);
            let spp = if user { 0 } else { 1 << 8 };
            state.write(csr::SSTATUS, spp | u64::from(enabled) << 5);
            assert_eq!(state.sret(), 0x100);
            let status = read_status(&state);
            assert_eq!(status, (enabled, true, false));
            let mode = if user { Privilege::User } else { Privilege::Supervisor };
            assert_eq!(state.privilege(), mode);
            assert_eq!(state.trap(TrapCause::Exception(Exception::StorePage, 0xdead), 0x104), 0x8000);
            assert_eq!(read_status(&state), (false, enabled, !user));
            let trap = [csr::SEPC, csr::SCAUSE, csr::STVAL].map(|number| read(&state, number).unwrap());
            assert_eq!(trap, [0x104, 15, 0xdead]);
        }
    }
}

/// SIE, SPIE and SPP, where supervisor mode can read them.
fn read_status(state: &Supervisor) -> (bool, bool, bool) {
    let mut state = *state;
    if state.privilege() == Privilege::User {
        // A trap moves the enable bit; undo that.
        state.trap(TrapCause::Exception(Exception::UserCall, 0), 0);
        let status = read(&state, csr::SSTATUS).unwrap();
        return (status >> 5 & 1 != 0, true, false);
    }
    let status = read(&state, csr::SSTATUS).unwrap();
    (status >> 1 & 1 != 0, status >> 5 & 1 != 0, status >> 8 & 1 != 0)
}

#[test]
fn interrupts_have_the_order_external_software_timer() {
    let pend = |state: &mut Supervisor, set: u32| {
        state.set_external(set & 4 != 0);
        state.write(csr::SIP, u64::from(set & 2 != 0) << 1);
        state.write(csr::STIMECMP, if set & 1 != 0 { 100 } else { 101 });
    };
    for pending in 0..8 {
        for enabled in 0..8 {
            let mut state = Supervisor::new();
            pend(&mut state, pending);
            let bits =
                u64::from(enabled >> 2 & 1) << 9 | u64::from(enabled >> 1 & 1) << 1 | u64::from(enabled & 1) << 5;
            state.write(csr::SIE, bits);
            let ready = pending & enabled;
            let expected = match ready {
                0 => None,
                1 => Some(Interrupt::Timer),
                2 | 3 => Some(Interrupt::Software),
                _ => Some(Interrupt::External),
            };
            assert_eq!(state.wakes(100), ready != 0);
            // Supervisor mode takes them if sstatus.SIE is set, user mode always.
            assert_eq!(state.interrupt(100), None);
            assert_eq!(in_user_mode(state, 0).interrupt(100), expected);
            state.write(csr::SSTATUS, 2);
            assert_eq!(state.interrupt(100), expected);
        }
    }
}

#[test]
fn a_vectored_handler_has_one_entry_for_each_interrupt() {
    let mut state = Supervisor::new();
    state.write(csr::STVEC, 0x8000 | 1);
    assert_eq!(state.trap(TrapCause::Interrupt(Interrupt::External), 4), 0x8000 + 4 * 9);
    assert_eq!(read(&state, csr::SCAUSE), Some(1 << 63 | 9));
    assert_eq!(state.trap(TrapCause::Exception(Exception::Illegal, 1), 4), 0x8000);
}

#[test]
fn privileged_instructions_have_their_encodings() {
    for (word, expected) in [
        (0x0010_0073, Some(Privileged::Breakpoint)),
        (0x9002, Some(Privileged::Breakpoint)),
        (0x1020_0073, Some(Privileged::Return)),
        (0x1050_0073, Some(Privileged::Wait)),
        (0x1200_0073, Some(Privileged::TranslationFence { address: 0, asid: 0 })),
        (0x12b5_0073, Some(Privileged::TranslationFence { address: 10, asid: 11 })),
        (0x3020_0073, None), // mret
        (0x0020_0073, None), // uret
        (0x1200_00f3, None), // sfence.vma with rd
        (0x1600_0073, None), // sinval.vma
        (0, None),
    ] {
        assert_eq!(Privileged::decode(word), expected, "{word:#x}");
    }
    for instruction in [Privileged::Return, Privileged::Wait, Privileged::TranslationFence { address: 0, asid: 0 }] {
        assert!(instruction.is_allowed(Privilege::Supervisor) && !instruction.is_allowed(Privilege::User));
    }
    assert!(Privileged::Breakpoint.is_allowed(Privilege::User));
}
