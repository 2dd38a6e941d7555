// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host of chips without a kernel.

use mb_processor::chip::CallHandler;
use mb_processor::system::MemorySystem;
use mb_processor::{Service, Syscall, SyscallResult};

/// Accepts every call.
pub(crate) struct Host;

impl CallHandler for Host {
    fn call<M: MemorySystem>(&mut self, _: u64, call: Syscall, _: &mut M) -> SyscallResult {
        if call.service == Service::Exit { SyscallResult::Exit(call.arguments[0]) } else { SyscallResult::Value(0) }
    }
}
