// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Contexts with supervisor mode: traps, interrupts, privileged instructions, and calls of the host.
//!
//! A trap is taken at commit, when the instruction is the oldest of its context: everything before
//! it has committed, everything from it on is squashed, and fetch continues at the handler
//! `redirect` cycles later. An interrupt is taken in place of the commit of the oldest instruction,
//! unless that has had an effect: an atomic, a device access, a write to a register, a call.
//! sret, wfi and sfence.vma execute at commit, and nothing after them is fetched before.

use mb_core::ParameterError;
use mb_core::parameters::Parameters;

use super::Chip;
use super::code::Kind;
use super::commit::Waits;
use super::config::ChipConfig;
use super::context::{Context, Full};
use super::core::Shared;
use super::fetch::Fetch;
use super::interface::{CallHandler, ChipObserver};
use super::setting::{Environment, Setting};
use super::translation::{Translation, TranslationConfig};
use crate::cores::functional::{HartState, HostAnswer, HostCall};
use crate::isa::rv64::supervisor::{Exception, HartCounters, Privilege, Privileged, Supervisor, TrapCause};
use crate::isa::rv64::sv39::PAGE_BYTES;
use crate::isa::{Counter, CsrAccess, Effect, FloatStatus};
use crate::memory::system::MemorySystem;

/// ESRCH: no such hart.
const NO_HART: u64 = 3_u64.wrapping_neg();

impl Shared {
    fn take<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        cause: TrapCause,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let head = context.head;
        let pc = context.pc();
        self.squash(context, index, head, now, environment.config, environment.observer);
        let Some(supervisor) = &mut context.supervisor else { return };
        if supervisor.privilege() == Privilege::User {
            context.entered = now;
        }
        let handler = supervisor.trap(cause, pc);
        context.statistics.traps += 1;
        context.full = Full::Nothing;
        context.waits = false;
        context.redirect(handler, now + environment.config.redirect);
        context.fetch.block = Fetch::NO_BLOCK;
        environment.active = true;
    }

    /// Takes an interrupt that is pending, if the oldest instruction has had no effect.
    #[inline]
    pub(super) fn take_interrupt<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> bool {
        let Some(interrupt) = context.supervisor.as_ref().and_then(|supervisor| supervisor.interrupt(now)) else {
            return false;
        };
        if context.halted {
            return false;
        }
        if context.head < context.renamed {
            let is_illegal = context.entry(context.head).decoded.kind == Kind::Illegal;
            let executes_now = is_illegal && context.has_ended::<S>(context.head, now);
            if context.has_uncommitted_effect() || executes_now {
                return false;
            }
        }
        self.take(context, index, TrapCause::Interrupt(interrupt), now, environment);
        true
    }

    /// Treats the oldest instruction of a context, which is privileged, illegal or has failed, if the
    /// context has supervisor mode.
    ///
    /// It commits if the result is `Ok`; fetch continues at the address, if there is one. `Err`: it
    /// waits, or a trap was taken.
    #[cold]
    pub(super) fn special<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> Result<Option<u64>, Waits> {
        if context.supervisor.is_none() {
            return Ok(None);
        }
        self.trap_or_execute(context, index, now, environment)
    }

    fn trap_or_execute<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> Result<Option<u64>, Waits> {
        let entry = *context.entry(context.head);
        let drained = environment.memory.drained(self.number, index as u8);
        let operands = entry.sources.map(|source| self.registers.file[source].value);
        let Some(supervisor) = &mut context.supervisor else { return Ok(None) };
        let exception = match (entry.trap, entry.decoded.kind) {
            (Some(exception), _) => (exception, entry.undo),
            (None, Kind::Outside) => (Exception::FetchAccess, entry.undo),
            (None, Kind::Illegal) => {
                let effect = entry.decoded.operation.evaluate(entry.pc, operands, context.float_status.rounding);
                let word = match effect {
                    Effect::Illegal(word) | Effect::Csr(CsrAccess { word, .. }) => word,
                    // A floating-point instruction while they are off.
                    _ => 0,
                };
                let allowed = |instruction: &Privileged| instruction.is_allowed(supervisor.privilege());
                let known = matches!(effect, Effect::Illegal(_)).then(|| Privileged::decode(word)).flatten();
                match known.filter(allowed) {
                    Some(Privileged::Breakpoint) => (Exception::Breakpoint, entry.pc),
                    None => (Exception::Illegal, word.into()),
                    Some(Privileged::Return) => {
                        let next = supervisor.sret();
                        if supervisor.privilege() == Privilege::User {
                            context.statistics.supervisor_cycles += now - context.entered;
                        }
                        return Ok(Some(next));
                    }
                    Some(Privileged::Wait) => {
                        context.waits = !supervisor.wakes(now);
                        if context.waits {
                            return Err(Waits);
                        }
                        return Ok(Some(entry.pc.wrapping_add(4)));
                    }
                    Some(Privileged::TranslationFence { address, asid }) => {
                        if !drained {
                            self.draining |= 1 << index;
                            return Err(Waits);
                        }
                        let address = (address != 0).then(|| self.register(context, address.into()));
                        let asid = (asid != 0).then(|| self.register(context, asid.into()) as u16);
                        if let Some(translation) = &mut self.translation {
                            translation.fence(address, asid);
                        }
                        return Ok(Some(entry.pc.wrapping_add(4)));
                    }
                }
            }
            (None, _) => (entry.access().access_fault(), entry.undo),
        };
        self.take(context, index, TrapCause::Exception(exception.0, exception.1), now, environment);
        Err(Waits)
    }

    /// Takes the trap of a store that memory refuses.
    pub(super) fn store_fails<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let address = context.entry(context.head).undo;
        self.take(context, index, TrapCause::Exception(Exception::StoreAccess, address), now, environment);
    }

    /// Tells memory and observer about a write to satp.
    #[cold]
    pub(super) fn report_address_space<S: Setting>(
        &self,
        context: &Context,
        index: usize,
        environment: &mut Environment<'_, S>,
    ) {
        let Some(supervisor) = &context.supervisor else { return };
        let root = supervisor.root().map_or(0, |page| page * PAGE_BYTES);
        environment.memory.page_table(self.number, index as u8, root);
        environment.observer.address_space(self.number * environment.config.contexts + index, supervisor.asid());
    }

    /// Executes ecall, which is the oldest instruction: an exception in user mode, a call of the host
    /// in supervisor mode. `None`: it does not end in this cycle.
    pub(super) fn supervisor_call<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> Option<u64> {
        let number = context.head;
        let privilege = context.supervisor.as_ref().map(Supervisor::privilege);
        if privilege == Some(Privilege::User) {
            let entry = context.entry_mut(number);
            (entry.fails, entry.trap, entry.undo) = (true, Some(Exception::UserCall), 0);
            return Some(0);
        }
        let hart = self.number * environment.config.contexts + index;
        let arguments = [10, 11, 12, 13, 14, 15].map(|register| self.register(context, register));
        let call = HostCall { hart, number: self.register(context, 17), arguments, time: now };
        let answer = environment.host.supervisor_call(call, environment.memory);
        context.waits = answer == HostAnswer::Wait;
        match answer {
            HostAnswer::Value(value) => Some(value),
            HostAnswer::Stop(value) => {
                self.stops.push(index);
                environment.ended = true;
                Some(value)
            }
            HostAnswer::Interrupt(target) if target < environment.config.harts() as u64 => {
                environment.interrupts.push(target as usize);
                Some(0)
            }
            HostAnswer::Interrupt(_) => Some(NO_HART),
            HostAnswer::Wait => {
                self.retry = true;
                None
            }
            HostAnswer::Exit(status) => {
                self.exits.push((index, status));
                environment.ended = true;
                let pc = context.entry(number).pc;
                self.squash(context, index, number, now, environment.config, environment.observer);
                context.fetch.pc = pc;
                context.halted = true;
                context.full = Full::Nothing;
                None
            }
        }
    }
}

impl Context {
    /// Accesses a register for the oldest instruction; `None`: it is illegal.
    pub(super) fn control(&mut self, access: &CsrAccess, now: u64) -> Option<u64> {
        let retired = self.retired();
        let Some(supervisor) = &mut self.supervisor else {
            return match access.counter() {
                Some(Counter::Cycle | Counter::Time) => Some(now),
                Some(Counter::Retired) => Some(retired),
                None => self.float_status.access(access),
            };
        };
        if matches!(access.number, FloatStatus::FFLAGS | FloatStatus::FRM | FloatStatus::FCSR) {
            if !supervisor.has_float() {
                return None;
            }
            if access.writes {
                supervisor.touch_float();
            }
            return self.float_status.access(access);
        }
        let counters = HartCounters { cycle: now, time: now, retired };
        let old = supervisor.read(access.number, access.writes, counters)?;
        if access.writes {
            supervisor.write(access.number, access.combine(old));
            // Nothing behind a write is fetched before it commits; what is fetched then is translated
            // again.
            self.fetch.block = Fetch::NO_BLOCK;
        }
        Some(old)
    }
}

impl Chip {
    /// A chip whose harts have supervisor mode and TLBs, in cycle `cycle`, with harts in these states.
    /// A hart in wfi continues after it.
    ///
    /// # Errors
    /// An invalid configuration, or another number of states than of harts.
    pub fn with_supervisor(
        config: &ChipConfig,
        translation: &TranslationConfig,
        states: &[HartState],
        cycle: u64,
    ) -> Result<Self, ParameterError> {
        translation.check_domains()?;
        if states.len() != config.harts() {
            let text = format!("states: found {}, expected one for each of {} harts", states.len(), config.harts());
            return Err(ParameterError::Contradiction(text));
        }
        let mut chip = Self::new(config, 0)?;
        chip.now = cycle;
        for core in &mut chip.cores {
            core.shared.translation = Some(Translation::new(translation));
            core.start(cycle);
        }
        for (hart, state) in states.iter().enumerate() {
            for (index, &value) in state.registers.iter().enumerate() {
                chip.set_register(hart, index, value);
            }
            chip.set_pc(hart, state.pc);
            let (core, context) = chip.place(hart);
            let context = &mut chip.cores[core].contexts[context];
            context.supervisor = Some(state.supervisor);
            context.float_status = state.float;
            context.retired_before = state.retired;
            context.entered = cycle;
        }
        Ok(chip)
    }

    /// The state of a hart with supervisor mode after its last committed instruction. `None` if the
    /// hart has none, or if its oldest instruction has had an effect that is not committed: an
    /// atomic, a device access, a call. That one commits some cycles later.
    #[must_use]
    pub fn state(&self, hart: usize) -> Option<HartState> {
        let (core, place) = self.place(hart);
        let context = &self.cores[core].contexts[place];
        let supervisor = context.supervisor?;
        if context.has_uncommitted_effect() {
            return None;
        }
        let mut registers = [0; 64];
        for (index, value) in registers.iter_mut().enumerate() {
            *value = self.register(hart, index);
        }
        let (float, retired) = (context.float_status, context.retired());
        Some(HartState { pc: self.pc(hart), registers, float, supervisor, retired, waits: false })
    }

    /// Privilege mode and supervisor registers of a hart, if it has them.
    #[must_use]
    pub fn supervisor(&self, hart: usize) -> Option<&Supervisor> {
        let (core, context) = self.place(hart);
        self.cores[core].contexts[context].supervisor.as_ref()
    }

    /// Whether a hart waits: in wfi for an interrupt, in wrs for the loss of its reservation, or for the
    /// host.
    #[must_use]
    pub fn is_waiting(&self, hart: usize) -> bool {
        let (core, context) = self.place(hart);
        self.cores[core].contexts[context].waits
    }

    /// Lets a hart continue that was halted and has not ended its program.
    pub fn resume(&mut self, hart: usize) {
        let (core, context) = self.place(hart);
        self.cores[core].contexts[context].halted = false;
        self.next[core] = self.next[core].min(self.now);
    }

    /// Sets the line of a hart's external interrupt. No effect on a hart without supervisor mode.
    pub fn set_external(&mut self, hart: usize, pending: bool) {
        let (core, context) = self.place(hart);
        if let Some(supervisor) = &mut self.cores[core].contexts[context].supervisor {
            supervisor.set_external(pending);
            self.next[core] = self.next[core].min(self.now);
        }
    }
}
