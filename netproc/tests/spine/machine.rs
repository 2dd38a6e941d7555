// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A machine for tests: harts in random order, and the network controller without timing.

use std::collections::VecDeque;

use mb_core::random::Random;
use mb_netproc::spine::Spine;
use mb_processor::Memory;

use crate::contract::{Config, phase};
use crate::harts::{self, Counts, Event, Hart};

/// A packet that arrives.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) frame: Vec<u8>,
    /// The filter that the hardware classifier reports.
    pub(crate) class: Option<u32>,
    /// Whether its frame check sequence is wrong.
    pub(crate) damaged: bool,
}

impl Arrival {
    pub(crate) fn of(frame: Vec<u8>) -> Self {
        Self { frame, class: None, damaged: false }
    }
}

/// A packet that software has reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Completed {
    pub(crate) number: usize,
    pub(crate) hart: usize,
    pub(crate) verdict: u8,
    pub(crate) next_hop: u32,
    pub(crate) application: u32,
    pub(crate) class: u32,
    pub(crate) reason: u8,
    pub(crate) result: Vec<u8>,
    /// The frame in its buffer.
    pub(crate) frame: Vec<u8>,
}

/// Why a run ended before all packets were reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// A fault of the hart.
    Fault { hart: usize, pc: u64, address: u64 },
    /// An error that the program has reported.
    Error { hart: usize, error: u64 },
    /// Too many turns.
    Turns,
}

/// The controller.
#[derive(Debug, Default)]
struct Controller {
    ring: u64,
    slots: u64,
    announced: u64,
    filled: u64,
    ready: bool,
    waiting: VecDeque<Arrival>,
    reported: Vec<bool>,
}

/// The machine.
pub(crate) struct HandlerMachine {
    pub(crate) memory: Memory,
    pub(crate) harts: Vec<Hart>,
    pub(crate) completed: Vec<Completed>,
    /// Instructions of all harts when the program was ready.
    pub(crate) start: Counts,
    controller: Controller,
    buffer_bytes: usize,
    random: Random,
    status: u64,
}

/// Turns of a hart after which a run ends.
const TURNS: u64 = 8_000_000;
/// Turns after which the start ends: tables of a million routes take about 10^8.
const START_TURNS: u64 = 2_000_000_000;

impl HandlerMachine {
    /// A machine with the program, not started.
    pub(crate) fn new(spine: Spine, config: &Config, seed: u64) -> Self {
        let program = spine.program();
        let memory = config.memory(&program);
        let harts = harts::harts(spine, &program, config.harts);
        Self {
            memory,
            harts,
            completed: Vec::new(),
            start: Counts::default(),
            controller: Controller::default(),
            buffer_bytes: config.buffer_bytes as usize,
            random: Random::of(seed, &[]),
            status: program.symbol("np_status").expect("np_status").address,
        }
    }

    /// Runs hart 0 until the program is ready.
    pub(crate) fn start(&mut self) -> Result<(), Stop> {
        for _ in 0..START_TURNS {
            self.turn(0)?;
            if self.controller.ready {
                for hart in &mut self.harts {
                    let counts = std::mem::take(&mut hart.counts);
                    for count in counts {
                        self.start.add(count);
                    }
                }
                return Ok(());
            }
        }
        Err(Stop::Turns)
    }

    /// Lets the packets arrive, and runs until all are reported.
    pub(crate) fn run(&mut self, arrivals: impl IntoIterator<Item = Arrival>) -> Result<(), Stop> {
        if !self.controller.ready {
            self.start()?;
        }
        let before = self.controller.waiting.len();
        self.controller.waiting.extend(arrivals);
        let new = self.controller.waiting.len() - before;
        let all = self.controller.reported.len() + new;
        self.controller.reported.resize(all, false);
        for _ in 0..TURNS {
            if self.completed.len() == all && self.harts.iter().all(|hart| hart.phase <= phase::IDLE) {
                return Ok(());
            }
            if self.random.below(16) == 0 {
                self.deliver();
            }
            let who = self.random.below(self.harts.len() as u64) as usize;
            for _ in 0..=self.random.below(12) {
                if !self.turn(who)? {
                    break;
                }
            }
        }
        Err(Stop::Turns)
    }

    /// Executes some more instructions of every hart.
    pub(crate) fn settle(&mut self) {
        for who in 0..self.harts.len() {
            for _ in 0..200 {
                self.turn(who).expect("no error");
            }
        }
    }

    /// Executes an instruction of a hart; false if it waits.
    fn turn(&mut self, who: usize) -> Result<bool, Stop> {
        match harts::step(&mut self.harts, who, &mut self.memory) {
            Event::Executed => Ok(true),
            Event::Waits => Ok(false),
            Event::Fault { pc, address } => Err(Stop::Fault { hart: who, pc, address }),
            Event::Device { offset, value } => self.store(who, offset, value).map(|()| true),
        }
    }

    fn word(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.memory.read(address).expect("an address of the program"))
    }

    fn half(&self, address: u64) -> u32 {
        u32::from_le_bytes(self.memory.read(address).expect("an address of the program"))
    }

    /// A DMA transfer.
    fn dma(&mut self, address: u64, bytes: &[u8]) {
        self.memory.write(address, bytes).expect("a buffer in memory");
        harts::written(&mut self.harts, None, address, bytes.len() as u64);
    }

    /// Lets the next packet arrive, if there is one and a slot for it.
    fn deliver(&mut self) {
        if self.controller.filled == self.controller.announced {
            return;
        }
        let Some(arrival) = self.controller.waiting.pop_front() else { return };
        let slot = self.controller.ring + self.controller.filled % self.controller.slots * 32;
        let buffer = self.word(slot);
        assert_eq!(self.half(slot + 24), 0, "a slot given to the controller has status 0");
        let stored = &arrival.frame[..arrival.frame.len().min(self.buffer_bytes)];
        self.dma(buffer, stored);
        let long = arrival.frame.len() > self.buffer_bytes;
        let status = 1 | u32::from(long) << 1 | u32::from(arrival.damaged) << 2;
        self.dma(slot + 8, &self.controller.filled.to_le_bytes());
        self.dma(slot + 16, &(arrival.frame.len() as u32).to_le_bytes());
        self.dma(slot + 20, &arrival.class.unwrap_or(u32::MAX).to_le_bytes());
        self.dma(slot + 24, &status.to_le_bytes());
        self.controller.filled += 1;
    }

    /// A store to a register.
    fn store(&mut self, hart: usize, offset: u64, value: u64) -> Result<(), Stop> {
        match offset {
            0x00 => self.controller.ring = value,
            0x08 => self.controller.slots = value,
            0x10 => {
                assert!(value >= self.controller.announced, "the count of slots given is never reduced");
                assert!(value - self.controller.filled <= self.controller.slots, "more slots than the ring has");
                self.controller.announced = value;
            }
            0x18 => self.complete(hart, value),
            0x20 => self.controller.ready = true,
            0x28 => return Err(Stop::Error { hart, error: value }),
            _ => panic!("store to register {offset:#x}"),
        }
        Ok(())
    }

    fn complete(&mut self, hart: usize, value: u64) {
        let (record, verdict) = (value & !63, (value & 63) as u8);
        let number = self.word(record) as usize;
        let reported = self.controller.reported.get_mut(number).expect("the number of a packet that arrived");
        assert!(!std::mem::replace(reported, true), "packet {number} is reported twice");
        let data = self.word(record + 8);
        let length = self.half(record + 16) as usize;
        let [result_length] = self.memory.read(record + 71).expect("a record");
        self.completed.push(Completed {
            number,
            hart,
            verdict,
            next_hop: self.half(record + 64),
            application: self.half(record + 68) & 0xffff,
            class: self.half(record + 36),
            reason: self.memory.read::<1>(record + 70).expect("a record")[0],
            result: self.memory.get(record + 72, result_length.into()).expect("a record").to_vec(),
            frame: self.memory.get(data, length).expect("a buffer").to_vec(),
        });
    }

    /// Packet, error, caller and value in the status of a hart.
    pub(crate) fn error(&self, hart: usize) -> (u64, u32, u64, u64) {
        let status = self.status + 64 * hart as u64;
        (self.word(status), self.half(status + 20), self.word(status + 24), self.word(status + 32))
    }

    /// The instructions of all harts in a phase.
    pub(crate) fn counts(&self, phase: usize) -> Counts {
        let mut sum = Counts::default();
        for hart in &self.harts {
            sum.add(hart.counts[phase]);
        }
        sum
    }

    /// The reported packets in order of their numbers.
    pub(crate) fn by_number(&self) -> Vec<Completed> {
        let mut packets = self.completed.clone();
        packets.sort_by_key(|packet| packet.number);
        packets
    }
}

/// Runs a program on packets; returns the machine after all were reported.
pub(crate) fn run(
    spine: Spine,
    config: &Config,
    seed: u64,
    frames: impl IntoIterator<Item = Vec<u8>>,
) -> HandlerMachine {
    let mut machine = HandlerMachine::new(spine, config, seed);
    machine.run(frames.into_iter().map(Arrival::of)).unwrap_or_else(|stop| panic!("{stop:?} {:x?}", machine.error(0)));
    machine
}
