// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sv39 against a naive walker that follows the numbered steps of the specification.

use std::collections::BTreeMap;

use mb_processor::rv64::supervisor::Privilege;
use mb_processor::rv64::sv39::{Access, Leaf, PrivilegeState, WalkFault, walk};
use proptest::prelude::*;

/// The outcome of a translation: the physical address, a page fault, or an access fault.
type Translated = Result<u64, WalkFault>;

/// "Virtual Address Translation Process", step by step, with LEVELS 3 and PTESIZE 8, in decimal
/// arithmetic on fields instead of masks.
fn naive(tables: &BTreeMap<u64, u64>, root: u64, va: u64, access: Access, mode: PrivilegeState) -> Translated {
    let sign = va >> 38 & 1;
    for bit in 39..64 {
        if va >> bit & 1 != sign {
            return Err(WalkFault::Page);
        }
    }
    let vpn = [va / 4096 % 512, va / 4096 / 512 % 512, va / 4096 / 512 / 512 % 512];
    // Step 1.
    let mut a = root * 4096;
    let mut i = 2_usize;
    loop {
        // Step 2.
        let Some(&pte) = tables.get(&(a + vpn[i] * 8)) else { return Err(WalkFault::Access) };
        let bit = |number: u32| pte >> number & 1 == 1;
        let (valid, read, write, execute, user) = (bit(0), bit(1), bit(2), bit(3), bit(4));
        let (accessed, dirty) = (bit(6), bit(7));
        // Step 3: "or if any bits or encodings that are reserved for future standard use are set".
        if !valid || (!read && write) || (54..64).any(bit) {
            return Err(WalkFault::Page);
        }
        let ppn = [pte >> 10 & 511, pte >> 19 & 511, pte >> 28 & ((1 << 26) - 1)];
        // Step 4.
        if !read && !execute {
            if i == 0 || user || accessed || dirty {
                return Err(WalkFault::Page);
            }
            a = ((ppn[2] * 512 + ppn[1]) * 512 + ppn[0]) * 4096;
            i -= 1;
            continue;
        }
        // Step 5: misaligned superpage.
        if (0..i).any(|low| ppn[low] != 0) {
            return Err(WalkFault::Page);
        }
        // Steps 6 and 7: rights.
        let user_page_allowed = match mode.privilege {
            Privilege::User => user,
            Privilege::Supervisor => !user || (mode.sum && access != Access::Fetch),
        };
        let right = match access {
            Access::Fetch => execute,
            Access::Load => read || (mode.mxr && execute),
            Access::Store => write,
        };
        if !user_page_allowed || !right {
            return Err(WalkFault::Page);
        }
        // Step 8, with Svade.
        if !accessed || (access == Access::Store && !dirty) {
            return Err(WalkFault::Page);
        }
        // Step 9.
        let part = |level: usize| if level < i { vpn[level] } else { ppn[level] };
        return Ok(((part(2) * 512 + part(1)) * 512 + part(0)) * 4096 + va % 4096);
    }
}

fn real(tables: &BTreeMap<u64, u64>, root: u64, va: u64, access: Access, mode: PrivilegeState) -> Translated {
    let leaf = walk(root, va, |address| tables.get(&address).copied())?;
    if leaf.permits(access, mode) { Ok(leaf.physical(va)) } else { Err(WalkFault::Page) }
}

/// The slots of a table that have entries.
const SLOTS: [u64; 5] = [0, 1, 255, 256, 511];

/// Three levels of tables: the root at page 1, then pages 2 to 4, then pages 5 to 8. Most entries
/// are plausible for their level; some are not, miss, or have a bit changed.
fn tables() -> impl Strategy<Value = BTreeMap<u64, u64>> {
    let entry = |page: u64| {
        let (first, last, size) = match page {
            1 => (2_u64, 5_u64, 18),
            2..=4 => (5, 9, 9),
            _ => (1, 64, 0),
        };
        let leaf = prop::sample::select(vec![0xcf, 0xdf, 0xc7, 0xd7, 0xcb, 0xdb, 0x5f, 0x57, 0x97, 0xd3, 0xc9, 0xef]);
        let leaf = (leaf, 0_u64..64).prop_map(move |(flags, number)| number << size << 10 | flags);
        let pointer = (first..last).prop_map(|number: u64| number << 10 | 1);
        let any = (0_u64..256, 0_u64..1 << 44).prop_map(|(flags, number)| number << 10 | flags);
        let usual = if page < 5 { 9 } else { 0 };
        let change = prop_oneof![9 => Just(0_u64), 1 => (0_u32..64).prop_map(|bit| 1 << bit)];
        let value = prop_oneof![usual + 1 => pointer, 5 => leaf, 1 => any];
        let value = (value, change).prop_map(|(value, change)| value ^ change);
        prop::collection::vec(prop::option::weighted(0.95, value), SLOTS.len())
    };
    (1_u64..9).map(entry).collect::<Vec<_>>().prop_map(|pages| {
        let mut tables = BTreeMap::new();
        for (page, entries) in (1_u64..).zip(pages) {
            for (slot, entry) in SLOTS.into_iter().zip(entries) {
                tables.extend(entry.map(|entry| (page * 4096 + slot * 8, entry)));
            }
        }
        tables
    })
}

fn mode() -> impl Strategy<Value = PrivilegeState> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(user, sum, mxr)| {
        let privilege = if user { Privilege::User } else { Privilege::Supervisor };
        PrivilegeState { privilege, sum, mxr }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn random_tables_translate_as_the_specification_says(tables in tables(), mode in mode(), offset in 0_u64..4096) {
        let slots = [0, 1, 255, 256, 511, 7];
        for top in slots {
            for middle in slots {
                for low in slots {
                    let address = (top << 30 | middle << 21 | low << 12 | offset) << 25;
                    let address = (address as i64 >> 25) as u64;
                    for access in [Access::Fetch, Access::Load, Access::Store] {
                        let found = real(&tables, 1, address, access, mode);
                        prop_assert_eq!(found, naive(&tables, 1, address, access, mode), "{:#x} {:?}", address, access);
                    }
                }
            }
        }
    }

    #[test]
    fn addresses_that_are_not_sign_extended_fault(address: u64) {
        let tables = (0..512).map(|slot| (4096 + slot * 8, slot << 28 | 0xcf)).collect();
        let mode = PrivilegeState { privilege: Privilege::Supervisor, sum: false, mxr: false };
        let found = real(&tables, 1, address, Access::Load, mode);
        prop_assert_eq!(found, naive(&tables, 1, address, Access::Load, mode));
        let extended = (address << 25) as i64 >> 25;
        prop_assert_eq!(found.is_ok(), extended == address as i64);
    }
}

#[test]
fn the_generator_reaches_leaves_of_all_levels_and_both_faults() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeMap::new();
    for _ in 0..400 {
        let tables = tables().new_tree(&mut runner).unwrap().current();
        for slot in 0..125_u64 {
            let part = |level: u32| SLOTS[(slot / 5_u64.pow(level) % 5) as usize];
            let address = ((part(2) << 30 | part(1) << 21 | part(0) << 12) << 25) as i64 >> 25;
            let outcome = walk(1, address as u64, |entry| tables.get(&entry).copied());
            *seen.entry(format!("{:?}", outcome.map(Leaf::bytes))).or_insert(0) += 1;
        }
    }
    for outcome in ["Ok(4096)", "Ok(2097152)", "Ok(1073741824)", "Err(Page)", "Err(Access)"] {
        assert!(seen.get(outcome).is_some_and(|&count| count > 20), "{seen:?}");
    }
}
