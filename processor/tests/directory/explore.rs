// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All states of small systems, with the protocol and with planted faults.

use std::collections::BTreeSet;

use mb_processor::directory::protocol::{
    CacheAction, CacheEvent, CacheState, CacheTransition, DeviceTransactions, DirectoryAction, DirectoryEvent,
    DirectoryState, DirectoryTransition, Protocol,
};
use stateright::Model;

use super::model::{Found, Op, Size, System, World, explore, symmetries};

/// The requests of a device in a design.
fn device(design: DeviceTransactions) -> Vec<Op> {
    let mut ops = vec![Op::DeviceGetX, Op::DeviceWrite, Op::DeviceRelease];
    ops.push(if design == DeviceTransactions::Base { Op::DeviceGetS } else { Op::DeviceCopy });
    if design == DeviceTransactions::OptCache {
        ops.push(Op::DeviceBlank);
    }
    ops
}

fn system(design: DeviceTransactions, migratory: bool, nodes: u8, devices: usize, lines: u8) -> System {
    let devices = (0..usize::from(nodes)).map(|node| if node < devices { device(design) } else { Vec::new() });
    System {
        protocol: Protocol::new(design, migratory),
        nodes,
        lines,
        devices: devices.collect(),
        ordered: true,
        size: Size::Small,
        symmetries: Vec::new(),
    }
}

#[expect(clippy::print_stdout, reason = "the numbers of states are a result")]
fn holds(name: &str, system: System) -> Found {
    let found = explore(system);
    println!("{name}: {} states, depth {}", found.states, found.depth);
    if let Some((violation, path)) = &found.violation {
        panic!("{name}: {violation}\n{path}");
    }
    found
}

const DESIGNS: [DeviceTransactions; 3] =
    [DeviceTransactions::Base, DeviceTransactions::OptCopy, DeviceTransactions::OptCache];

#[test]
fn two_caches_and_one_device_keep_the_invariants() {
    for design in DESIGNS {
        for migratory in [false, true] {
            for ordered in [true, false] {
                let system = System { ordered, ..system(design, migratory, 2, 1, 1) };
                holds(&format!("{design:?} migratory {migratory} ordered {ordered}"), system);
            }
        }
    }
}

/// Plants a fault into a transition of a cache controller.
fn cache(state: CacheState, event: CacheEvent, change: fn(&mut CacheTransition)) -> impl Fn(&mut Protocol) {
    move |protocol| {
        let mut transition = protocol.cache(state, event, 0).expect("a transition").clone();
        change(&mut transition);
        protocol.set_cache(state, event, Some(transition));
    }
}

/// Plants a fault into a transition of the directory.
fn directory(
    state: DirectoryState,
    event: DirectoryEvent,
    change: fn(&mut DirectoryTransition),
) -> impl Fn(&mut Protocol) {
    move |protocol| {
        let mut transition = protocol.directory(state, event, 0).expect("a transition").clone();
        change(&mut transition);
        protocol.set_directory(state, event, Some(transition));
    }
}

/// Asserts that a planted fault violates an invariant, which is named.
#[expect(clippy::print_stdout, reason = "the violations are a result")]
fn fails(design: DeviceTransactions, migratory: bool, plant: impl Fn(&mut Protocol), expected: &str) {
    let mut system = system(design, migratory, 2, 1, 1);
    plant(&mut system.protocol);
    let found = explore(system);
    let (violation, path) = found.violation.unwrap_or_else(|| panic!("no violation; expected: {expected}"));
    println!("{violation}: {} steps", path.lines().count());
    assert!(violation.contains(expected), "{violation}; expected: {expected}\n{path}");
}

#[test]
fn planted_faults_violate_each_invariant() {
    use CacheState as C;
    use DirectoryAction as A;
    use DirectoryState as D;
    // One writer or many readers.
    let keeps = cache(C::S, CacheEvent::Inv, |entry| entry.next = C::S);
    fails(DeviceTransactions::Base, false, keeps, "a copy that can be read is old");
    let ignores = cache(C::S, CacheEvent::Inv, |entry| {
        entry.actions.retain(|&action| action != CacheAction::Drop);
        entry.next = C::S;
    });
    fails(DeviceTransactions::Base, false, ignores, "one writer or many readers");
    let silent = directory(D::S, DirectoryEvent::GetX, |entry| {
        entry.actions.retain(|&action| action != A::InvalidateSharers);
    });
    fails(DeviceTransactions::Base, false, silent, "deadlock");
    let early = cache(C::IM, CacheEvent::DataMore, |entry| {
        entry.actions.extend([CacheAction::UnblockExclusive, CacheAction::Restart]);
        entry.next = C::M;
    });
    fails(DeviceTransactions::Base, false, early, "one writer or many readers");
    // Values.
    let clean = cache(C::M, CacheEvent::Replace, |entry| {
        entry.actions = vec![CacheAction::SendPutE];
        entry.next = C::EI;
    });
    fails(DeviceTransactions::Base, false, clean, "the last write is lost");
    let shares = cache(C::M, CacheEvent::FwdGetS, |entry| entry.next = C::S);
    fails(DeviceTransactions::Base, false, shares, "the last write is lost");
    let forgets =
        directory(D::M, DirectoryEvent::PutM, |entry| entry.actions.retain(|&action| action != A::WriteMemory));
    fails(DeviceTransactions::Base, true, forgets, "the last write is lost");
    let late = directory(D::I, DirectoryEvent::PutStale, |entry| entry.actions.insert(0, A::WriteMemory));
    fails(DeviceTransactions::Base, false, late, "the last write is lost");
    let stays = cache(C::SM, CacheEvent::Inv, |entry| entry.next = C::SM);
    fails(DeviceTransactions::Base, false, stays, "a copy that can be read is old");
    let exclusive = cache(C::ID, CacheEvent::Modified, |entry| {
        entry.actions = vec![CacheAction::Deliver, CacheAction::UnblockShared, CacheAction::Restart];
        entry.next = C::I;
    });
    fails(DeviceTransactions::Base, true, exclusive, "lost");
    // Answers.
    let mute = cache(C::I, CacheEvent::Inv, |entry| entry.actions.clear());
    fails(DeviceTransactions::Base, false, mute, "deadlock");
    let busy = directory(D::SS, DirectoryEvent::UnblockShared, |entry| entry.next = D::SS);
    fails(DeviceTransactions::Base, false, busy, "deadlock");
    let asleep = cache(C::IS, CacheEvent::Data, |entry| {
        entry.actions.retain(|&action| action != CacheAction::Restart);
    });
    fails(DeviceTransactions::Base, false, asleep, "deadlock");
    let forever = directory(D::MS, DirectoryEvent::GetX, |entry| {
        entry.actions.clear();
        entry.next = D::MS;
    });
    fails(DeviceTransactions::Base, false, forever, "deadlock");
    // The device.
    let kept = cache(C::D, CacheEvent::FwdGetX, |entry| entry.next = C::D);
    fails(DeviceTransactions::Base, false, kept, "a copy that can be read is old");
    let changed = directory(D::MC, DirectoryEvent::CopyDone, |entry| entry.next = D::S);
    fails(DeviceTransactions::OptCopy, false, changed, "with an old value");
    let missing = |protocol: &mut Protocol| protocol.set_cache(C::O, CacheEvent::FwdGetX, None);
    let expected = "cache controller: event FwdGetX in state O of line 0x0; expected an event of the table";
    fails(DeviceTransactions::Base, false, missing, expected);
    let unasked =
        directory(D::M, DirectoryEvent::Blank, |entry| entry.actions.retain(|&action| action != A::InvalidateOwner));
    fails(DeviceTransactions::OptCache, false, unasked, "one writer or many readers");
}

/// All states of a system, without the explorer.
fn walk(system: &System) -> BTreeSet<World> {
    let mut all: BTreeSet<_> = system.init_states().into_iter().collect();
    let mut rest: Vec<_> = all.iter().cloned().collect();
    while let Some(world) = rest.pop() {
        let mut steps = Vec::new();
        system.actions(&world, &mut steps);
        for next in steps.into_iter().filter_map(|step| system.next_state(&world, step)) {
            if all.insert(next.clone()) {
                rest.push(next);
            }
        }
    }
    all
}

/// The states of a system without its symmetries turn into those that are explored with them, and into no others.
#[test]
fn symmetries_leave_out_no_state() {
    assert!(
        symmetries(&system(DeviceTransactions::Base, true, 2, 1, 1)).is_empty(),
        "a node with a device, and one without"
    );
    for (nodes, devices, lines, ordered, kinds) in
        [(2, 0, 1, true, 1), (2, 0, 1, false, 1), (1, 1, 2, true, 1), (3, 0, 1, true, 5)]
    {
        let whole = system(DeviceTransactions::Base, true, nodes, devices, lines);
        let whole = System { ordered, ..whole };
        let reduced =
            System { symmetries: symmetries(&whole), ..system(DeviceTransactions::Base, true, nodes, devices, lines) };
        let reduced = System { ordered, ..reduced };
        assert_eq!(reduced.symmetries.len(), kinds, "{nodes} nodes, {lines} lines");
        let (all, representatives) = (walk(&whole), walk(&reduced));
        let least: BTreeSet<_> = all.iter().map(|world| reduced.least(world.clone())).collect();
        assert_eq!(least.len(), representatives.len(), "{nodes} nodes, {lines} lines");
        assert!(least == representatives, "{nodes} nodes, {lines} lines: other states");
        assert!(all.len() > representatives.len(), "{nodes} nodes, {lines} lines");
        assert_eq!(explore(reduced).states, representatives.len(), "{nodes} nodes, {lines} lines: other numbers");
    }
}

/// A larger system: every message order of a pair, without runs to the end.
fn large(design: DeviceTransactions, migratory: bool, nodes: u8, devices: usize, lines: u8) -> System {
    let whole = System { size: Size::Large, ..system(design, migratory, nodes, devices, lines) };
    System { symmetries: symmetries(&whole), ..whole }
}

/// Three caches with two devices and one line.
fn three(design: DeviceTransactions, migratory: bool) {
    holds(
        &format!("3 caches, 2 devices, 1 line, {design:?}, migratory {migratory}"),
        large(design, migratory, 3, 2, 1),
    );
}

/// Two caches of one line each, so that one line evicts the other, one device and two lines.
fn two_lines(design: DeviceTransactions, migratory: bool) {
    let system = System { size: Size::SingleLine, ..large(design, migratory, 2, 1, 2) };
    holds(&format!("2 caches of one line, 1 device, 2 lines, {design:?}, migratory {migratory}"), system);
}

/// A test for each of the large systems, so that a run that was interrupted continues where it stopped.
macro_rules! large_systems {
    ($($name:ident: $kind:ident($design:ident, $migratory:literal);)+) => {$(
        #[test]
        #[ignore = "millions of states; `make nightly` runs it"]
        fn $name() {
            $kind(DeviceTransactions::$design, $migratory);
        }
    )+};
}

large_systems! {
    three_caches_and_two_devices_keep_the_invariants_base: three(Base, false);
    three_caches_and_two_devices_keep_the_invariants_base_migratory: three(Base, true);
    three_caches_and_two_devices_keep_the_invariants_optcopy: three(OptCopy, false);
    three_caches_and_two_devices_keep_the_invariants_optcopy_migratory: three(OptCopy, true);
    three_caches_and_two_devices_keep_the_invariants_optcache: three(OptCache, false);
    three_caches_and_two_devices_keep_the_invariants_optcache_migratory: three(OptCache, true);
    two_lines_keep_the_invariants_base: two_lines(Base, false);
    two_lines_keep_the_invariants_base_migratory: two_lines(Base, true);
    two_lines_keep_the_invariants_optcopy: two_lines(OptCopy, false);
    two_lines_keep_the_invariants_optcopy_migratory: two_lines(OptCopy, true);
    two_lines_keep_the_invariants_optcache: two_lines(OptCache, false);
    two_lines_keep_the_invariants_optcache_migratory: two_lines(OptCache, true);
}
