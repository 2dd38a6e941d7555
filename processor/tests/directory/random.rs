// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random requests of harts and devices against a flat memory.
//!
//! Doublewords of shared lines belong to a hart or a device each, which writes increasing values, so
//! that a reader knows what it may see: nothing older than it has seen, nothing that is not written.
//! The owner reads exactly its last value. Two doublewords of each line are counters that all harts
//! increase, by atomics and by load-reserved and store-conditional. Other lines belong to a device,
//! which writes them whole. A private area of each hart takes accesses of any width and alignment.
//! In between everything comes to rest, and all of memory is compared.

use mb_processor::directory::protocol::{
    CacheAction, CacheEvent, CacheState, DeviceTransactions, DirectoryAction, DirectoryEvent, DirectoryState, Protocol,
    Transition,
};
use mb_processor::directory::{DirectoryConfig, NodeCacheConfig};
use mb_testkit::streams::in_proportion;

use super::tester::{AccessResult, Tester, tiny};

/// Runs random requests; a panic of the memory is a failure too.
fn run(config: &DirectoryConfig, protocol: Option<Protocol>, seed: u64, accesses: u64) -> AccessResult {
    let tester = Tester::new(config, protocol, seed);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tester.run(accesses)));
    result.unwrap_or_else(|_| Err("a panic".into()))
}

/// The chip of Table 1 with each design and rule, and with lines of devices written into the L1.
fn chips() -> Vec<DirectoryConfig> {
    let table = DirectoryConfig::gu2011(16, 1);
    let mut all = Vec::new();
    for design in [DeviceTransactions::Base, DeviceTransactions::OptCopy, DeviceTransactions::OptCache] {
        for migratory in [false, true] {
            all.push(DirectoryConfig { design, migratory, ..table });
        }
        all.push(DirectoryConfig { design, device_level: 1, ..table });
    }
    all
}

fn configurations() -> Vec<DirectoryConfig> {
    let small = |chip: &DirectoryConfig| DirectoryConfig {
        design: chip.design,
        migratory: chip.migratory,
        device_level: chip.device_level,
        ..tiny()
    };
    chips().iter().flat_map(|chip| [small(chip), *chip]).collect()
}

#[expect(clippy::print_stdout, reason = "the numbers of accesses are a result")]
fn accesses(all: &[DirectoryConfig], count: u64) {
    let mut total = 0;
    for (seed, config) in all.iter().enumerate() {
        let kinds = run(config, None, seed as u64, count.div_ceil(all.len() as u64));
        let DirectoryConfig { nodes, design, migratory, device_level, .. } = config;
        println!("{nodes} nodes, {design:?}, migratory {migratory}, L{device_level}: {kinds:?}");
        assert!(kinds.is_ok(), "{design:?} migratory {migratory} L{device_level}: {kinds:?}");
        total += kinds.unwrap_or_default().iter().sum::<u64>();
    }
    assert!(total >= count, "{total}");
}

#[test]
fn random_accesses_agree_with_a_flat_memory() {
    accesses(&configurations(), in_proportion(400_000));
}

#[test]
#[expect(clippy::print_stdout, reason = "what the tester found is a result")]
fn planted_faults_are_found() {
    use CacheState as C;
    type Plant = fn(&mut Protocol);
    let faults: [(&str, Plant); 9] = [
        ("a copy survives Inv", |protocol| {
            cache(protocol, C::S, CacheEvent::Inv, &[CacheAction::SendAck], C::S);
        }),
        ("an upgrade does not lose its copy", |protocol| {
            cache(protocol, C::SM, CacheEvent::Inv, &[CacheAction::SendAck], C::SM);
        }),
        ("a modified line leaves as a clean one", |protocol| {
            cache(protocol, C::M, CacheEvent::Replace, &[CacheAction::SendPutE], C::EI);
        }),
        ("the owner forgets that it owns", |protocol| {
            cache(protocol, C::O, CacheEvent::Replace, &[CacheAction::Drop], C::I);
        }),
        ("an exclusive answer to the device is not written back", |protocol| {
            let actions = [CacheAction::Deliver, CacheAction::UnblockExclusive, CacheAction::Restart];
            cache(protocol, C::ID, CacheEvent::Modified, &actions, C::I);
        }),
        ("writing begins before all acknowledgements", |protocol| {
            let actions = [CacheAction::Fill, CacheAction::Expect, CacheAction::UnblockExclusive, CacheAction::Restart];
            cache(protocol, C::IM, CacheEvent::DataMore, &actions, C::M);
        }),
        ("a read does not wake those who wait", |protocol| {
            cache(protocol, C::IS, CacheEvent::Data, &[CacheAction::Fill, CacheAction::UnblockShared], C::S);
        }),
        ("the device keeps a line that was taken", |protocol| {
            let actions = [CacheAction::SendDataX, CacheAction::Drop];
            cache(protocol, C::D, CacheEvent::FwdGetX, &actions, C::I);
        }),
        ("a write-back does not reach memory", |protocol| {
            for (state, next) in [(DirectoryState::M, DirectoryState::I), (DirectoryState::O, DirectoryState::S)] {
                let actions = vec![DirectoryAction::ClearOwner, DirectoryAction::SendPutAck];
                protocol.set_directory(state, DirectoryEvent::PutM, Some(Transition { actions, next }));
            }
        }),
    ];
    for (name, plant) in faults {
        let migratory = name.contains("device");
        let found = (0..20).find_map(|seed| {
            let config = DirectoryConfig { migratory, ..tiny() };
            let mut protocol = Protocol::new(config.design, config.migratory);
            plant(&mut protocol);
            run(&config, Some(protocol), seed, 100_000).err()
        });
        println!("{name}: {}", found.as_deref().unwrap_or("not found"));
        assert!(found.is_some(), "{name}");
    }
}

fn cache(protocol: &mut Protocol, state: CacheState, event: CacheEvent, actions: &[CacheAction], next: CacheState) {
    let transition = Transition { actions: actions.to_vec(), next };
    protocol.set_cache(state, event, Some(transition));
}

#[test]
fn sixty_four_nodes_agree_with_a_flat_memory() {
    let table = DirectoryConfig::gu2011(64, 1);
    let l2 = NodeCacheConfig { bytes: 16 << 10, ..table.l2 };
    for design in [DeviceTransactions::Base, DeviceTransactions::OptCache] {
        let config = DirectoryConfig { l2, design, ..table };
        let kinds = run(&config, None, 1, 50_000);
        assert!(kinds.is_ok(), "{design:?}: {kinds:?}");
    }
}

#[test]
#[ignore = "100 million accesses; `make nightly` runs it"]
fn a_hundred_million_random_accesses_agree_with_a_flat_memory() {
    accesses(&chips(), 100_000_000);
}
