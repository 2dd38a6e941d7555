// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Supervisor mode of a hart: its control and status registers, traps, and privileged instructions.
//! It has neither memory nor time; every core with privileges executes this.
//!
//! Exists: user and supervisor mode, the registers of [`number`], sret, wfi, sfence.vma, timer
//! interrupts by stimecmp (Sstc), software and external interrupts, Sv39.
//! Does not exist: machine mode and its registers, delegation, physical memory protection, Sv48 and
//! Sv57, senvcfg, the hypervisor extension, vector state, big-endian mode. What a machine-mode
//! program does elsewhere is done by the host: it receives `ecall` of supervisor mode.
//!
//! Source: The RISC-V Instruction Set Manual, Volume II: Privileged Architecture, chapter
//! "Supervisor-Level ISA"; sections in quotes below are of this chapter.

use super::sv39::PrivilegeState;

pub use super::traps::{Exception, Interrupt, Privilege, TrapCause};

/// Numbers of the registers.
pub mod number {
    /// Status of the hart.
    pub const SSTATUS: u16 = 0x100;
    /// Interrupt enables.
    pub const SIE: u16 = 0x104;
    /// Trap handler.
    pub const STVEC: u16 = 0x105;
    /// Counters that user mode may read.
    pub const SCOUNTEREN: u16 = 0x106;
    /// For the trap handler.
    pub const SSCRATCH: u16 = 0x140;
    /// Address of the instruction that trapped.
    pub const SEPC: u16 = 0x141;
    /// Cause of the trap.
    pub const SCAUSE: u16 = 0x142;
    /// Address or instruction that belongs to the cause.
    pub const STVAL: u16 = 0x143;
    /// Pending interrupts.
    pub const SIP: u16 = 0x144;
    /// Time of the next timer interrupt.
    pub const STIMECMP: u16 = 0x14d;
    /// Address space.
    pub const SATP: u16 = 0x180;
    /// Cycles.
    pub const CYCLE: u16 = 0xc00;
    /// Time.
    pub const TIME: u16 = 0xc01;
    /// Executed instructions of the hart.
    pub const INSTRET: u16 = 0xc02;
}

/// Instructions that only a hart with privileges executes. [`Operation`](super::Operation) decodes
/// them as illegal, which they are for a hart without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Privileged {
    /// ebreak and c.ebreak.
    Breakpoint,
    /// sret.
    Return,
    /// wfi.
    Wait,
    /// sfence.vma with the numbers of its registers.
    TranslationFence {
        /// Register of the virtual address; 0: all addresses.
        address: u8,
        /// Register of the address-space identifier; 0: all of them.
        asid: u8,
    },
}

impl Privileged {
    /// Decodes the bits of an instruction that is illegal without privileges.
    #[must_use]
    pub const fn decode(word: u32) -> Option<Self> {
        match word {
            0x0010_0073 | 0x9002 => Some(Self::Breakpoint),
            0x1020_0073 => Some(Self::Return),
            0x1050_0073 => Some(Self::Wait),
            _ if word & 0xfe00_7fff == 0x1200_0073 => {
                Some(Self::TranslationFence { address: (word >> 15 & 31) as u8, asid: (word >> 20 & 31) as u8 })
            }
            _ => None,
        }
    }

    /// Whether a hart in this mode may execute it. wfi in user mode is illegal ("Wait for
    /// Interrupt": it may not wait there for an unbounded time).
    #[must_use]
    pub fn is_allowed(self, privilege: Privilege) -> bool {
        self == Self::Breakpoint || privilege == Privilege::Supervisor
    }
}

/// The side effects of a write to a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// Nothing.
    Nothing,
    /// Which interrupts are taken.
    Interrupts,
    /// Address translation or its rights. Translations that a hart keeps without this part of its
    /// state must be dropped.
    Translation,
}

/// The counters that a hart shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HartCounters {
    /// cycle.
    pub cycle: u64,
    /// time.
    pub time: u64,
    /// instret.
    pub retired: u64,
}

// Fields of sstatus.
const ENABLE: u64 = 1 << 1;
const PREVIOUS_ENABLE: u64 = 1 << 5;
const PREVIOUS_SUPERVISOR: u64 = 1 << 8;
const FLOAT: u64 = 3 << 13;
const SUM: u64 = 1 << 18;
const MXR: u64 = 1 << 19;
/// UXL: user mode has 64 bits.
const WIDTH: u64 = 2 << 32;
/// SD: some state is dirty.
const DIRTY: u64 = 1 << 63;
const WRITABLE: u64 = ENABLE | PREVIOUS_ENABLE | PREVIOUS_SUPERVISOR | FLOAT | SUM | MXR;

const SOFTWARE: u64 = 1 << Interrupt::Software as u64;
const TIMER: u64 = 1 << Interrupt::Timer as u64;
const EXTERNAL: u64 = 1 << Interrupt::External as u64;

const SV39: u64 = 8;

/// Privilege mode and supervisor registers of a hart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Supervisor {
    privilege: Privilege,
    status: u64,
    enabled: u64,
    software: bool,
    external: bool,
    handler: u64,
    counters: u64,
    scratch: u64,
    pc: u64,
    cause: u64,
    value: u64,
    compare: u64,
    address_space: u64,
}

impl Default for Supervisor {
    fn default() -> Self {
        Self::new()
    }
}

impl Supervisor {
    /// The start of the machine: supervisor mode, interrupts disabled, no translation, no time for a
    /// timer interrupt, floating point off.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            privilege: Privilege::Supervisor,
            status: 0,
            enabled: 0,
            software: false,
            external: false,
            handler: 0,
            counters: 0,
            scratch: 0,
            pc: 0,
            cause: 0,
            value: 0,
            compare: u64::MAX,
            address_space: 0,
        }
    }

    /// The current mode.
    #[inline]
    #[must_use]
    pub const fn privilege(&self) -> Privilege {
        self.privilege
    }

    /// The privilege state, which decides whether accesses are permitted.
    #[must_use]
    pub const fn mode(&self) -> PrivilegeState {
        PrivilegeState { privilege: self.privilege, sum: self.status & SUM != 0, mxr: self.status & MXR != 0 }
    }

    /// Physical page of the root table, if addresses are translated. Both modes use the same.
    #[inline]
    #[must_use]
    pub const fn root(&self) -> Option<u64> {
        if self.address_space >> 60 == SV39 { Some(self.address_space & ((1 << 44) - 1)) } else { None }
    }

    /// The current address-space identifier, 16 bits.
    #[must_use]
    pub const fn asid(&self) -> u16 {
        (self.address_space >> 44) as u16
    }

    /// Whether floating-point instructions and registers exist now (sstatus.FS is not Off).
    #[inline]
    #[must_use]
    pub const fn has_float(&self) -> bool {
        self.status & FLOAT != 0
    }

    /// Notes that a floating-point register or fcsr was written (sstatus.FS becomes Dirty).
    #[inline]
    pub const fn touch_float(&mut self) {
        self.status |= FLOAT;
    }

    /// Makes the software interrupt pending.
    pub const fn raise_software(&mut self) {
        self.software = true;
    }

    /// Sets the line of the external interrupt.
    pub const fn set_external(&mut self, pending: bool) {
        self.external = pending;
    }

    /// The time at which a timer interrupt ends a wait; `u64::MAX` for none.
    #[must_use]
    pub const fn next_timer(&self) -> u64 {
        if self.enabled & TIMER != 0 { self.compare } else { u64::MAX }
    }

    /// Address of the handler of exceptions.
    #[must_use]
    pub const fn handler(&self) -> u64 {
        self.handler & !3
    }

    const fn pending(&self, time: u64) -> u64 {
        (if self.software { SOFTWARE } else { 0 })
            | (if time >= self.compare { TIMER } else { 0 })
            | (if self.external { EXTERNAL } else { 0 })
    }

    /// Whether wfi ends: an interrupt is pending that sie enables, whether or not it is taken
    /// ("Wait for Interrupt").
    #[inline]
    #[must_use]
    pub const fn wakes(&self, time: u64) -> bool {
        self.pending(time) & self.enabled != 0
    }

    /// The interrupt that the hart takes before its next instruction. External interrupts precede
    /// software and timer interrupts ("Supervisor Interrupt Registers").
    #[inline]
    #[must_use]
    pub const fn interrupt(&self, time: u64) -> Option<Interrupt> {
        let ready = self.pending(time) & self.enabled;
        let taken = matches!(self.privilege, Privilege::User) || self.status & ENABLE != 0;
        if ready == 0 || !taken {
            None
        } else if ready & EXTERNAL != 0 {
            Some(Interrupt::External)
        } else if ready & SOFTWARE != 0 {
            Some(Interrupt::Software)
        } else {
            Some(Interrupt::Timer)
        }
    }

    /// Whether the current mode may access a register; `writes` if the instruction writes it.
    fn is_accessible(&self, register: u16, writes: bool) -> bool {
        let read_only = register >> 10 == 3;
        let supervisor = self.privilege == Privilege::Supervisor;
        let level = register >> 8 & 3;
        let counter = match register {
            number::CYCLE..=number::INSTRET => supervisor || self.counters >> (register & 31) & 1 != 0,
            _ => true,
        };
        counter && !(read_only && writes) && (level == 0 || level == 1 && supervisor)
    }

    /// Reads a register for an instruction; `writes` if it also writes the register. `None`: the
    /// instruction is illegal. The floating-point registers are not here.
    #[must_use]
    pub fn read(&self, register: u16, writes: bool, counters: HartCounters) -> Option<u64> {
        if !self.is_accessible(register, writes) {
            return None;
        }
        Some(match register {
            number::SSTATUS => {
                let dirty = if self.status & FLOAT == FLOAT { DIRTY } else { 0 };
                self.status | WIDTH | dirty
            }
            number::SIE => self.enabled,
            number::STVEC => self.handler,
            number::SCOUNTEREN => self.counters,
            number::SSCRATCH => self.scratch,
            number::SEPC => self.pc,
            number::SCAUSE => self.cause,
            number::STVAL => self.value,
            number::SIP => self.pending(counters.time),
            number::STIMECMP => self.compare,
            number::SATP => self.address_space,
            number::CYCLE => counters.cycle,
            number::TIME => counters.time,
            number::INSTRET => counters.retired,
            _ => return None,
        })
    }

    /// Writes a register for an instruction that was allowed to [`read`](Self::read) it with
    /// `writes`. Fields without meaning keep zero; of sip, only the software interrupt is writable;
    /// a write of satp with a mode other than Bare and Sv39 has no effect.
    pub const fn write(&mut self, register: u16, value: u64) -> Written {
        match register {
            number::SSTATUS => {
                let before = self.status;
                self.status = value & WRITABLE;
                if (before ^ self.status) & (SUM | MXR) != 0 {
                    return Written::Translation;
                }
                return Written::Interrupts;
            }
            number::SIE => self.enabled = value & (SOFTWARE | TIMER | EXTERNAL),
            number::SIP => self.software = value & SOFTWARE != 0,
            number::STIMECMP => self.compare = value,
            // Modes: direct (0) and vectored (1).
            number::STVEC => self.handler = value & !2,
            number::SCOUNTEREN => self.counters = value & 7,
            number::SSCRATCH => self.scratch = value,
            number::SEPC => self.pc = value & !1,
            number::SCAUSE => self.cause = value,
            number::STVAL => self.value = value,
            number::SATP => {
                if matches!(value >> 60, 0 | SV39) {
                    self.address_space = value;
                    return Written::Translation;
                }
            }
            _ => {}
        }
        if matches!(register, number::SIE | number::SIP | number::STIMECMP) {
            Written::Interrupts
        } else {
            Written::Nothing
        }
    }

    /// Takes a trap at the instruction at `pc`; returns the address of the handler.
    pub const fn trap(&mut self, cause: TrapCause, pc: u64) -> u64 {
        let base = self.handler();
        let enable = if self.status & ENABLE != 0 { PREVIOUS_ENABLE } else { 0 };
        let from = if matches!(self.privilege, Privilege::Supervisor) { PREVIOUS_SUPERVISOR } else { 0 };
        self.status = self.status & !(ENABLE | PREVIOUS_ENABLE | PREVIOUS_SUPERVISOR) | enable | from;
        self.privilege = Privilege::Supervisor;
        self.pc = pc;
        match cause {
            TrapCause::Exception(exception, value) => {
                (self.cause, self.value) = (exception as u64, value);
                base
            }
            TrapCause::Interrupt(interrupt) => {
                (self.cause, self.value) = (1 << 63 | interrupt as u64, 0);
                if self.handler & 1 != 0 { base + 4 * interrupt as u64 } else { base }
            }
        }
    }

    /// Executes sret; returns the address of the next instruction.
    pub const fn sret(&mut self) -> u64 {
        let enable = if self.status & PREVIOUS_ENABLE != 0 { ENABLE } else { 0 };
        self.privilege = if self.status & PREVIOUS_SUPERVISOR != 0 { Privilege::Supervisor } else { Privilege::User };
        self.status = self.status & !(ENABLE | PREVIOUS_SUPERVISOR) | PREVIOUS_ENABLE | enable;
        self.pc
    }
}
