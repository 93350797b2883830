//! Maps: of which kinds, how large, and whether they are what the plan says.

use std::collections::HashMap;

use bathyscope_bpf::{
    Code,
    ir::{MapDefinition, MapKind},
    probe::TARGETS_MAP,
    unwind::{FILES_MAP, REGISTERED_MAP, ROWS_MAP},
};
use bathyscope_plan::{COUNTER_WORDS, COUNTERS, KERNEL_STACKS, MapPlan, Plan, RING, STACK_FRAMES, USER_STACKS};
use bathyscope_protocol::AgentError;

use super::{is_name, unexpected};

/// The most maps that all programs of a script name together.
const MAX_MAPS_NAMED: usize = 131_072;
/// The most different maps of a script.
const MAX_MAPS: usize = 4096;
/// The largest value of a map that is not an array of the agent's own; the kernel's is lower for most.
const MAX_VALUE_BYTES: u32 = 16 << 20;

/// Maps that the agent itself reads or writes, each with what it must be. Sizes of 0 are told by others.
const OWN: [(&str, MapKind, u32, u32); 7] = [
    (COUNTERS, MapKind::PerCpuArray, 4, 8 * COUNTER_WORDS),
    (KERNEL_STACKS, MapKind::Hash, 8, 8 * STACK_FRAMES),
    (USER_STACKS, MapKind::Hash, 8, 8 * STACK_FRAMES),
    (TARGETS_MAP, MapKind::Hash, 4, 4),
    (ROWS_MAP, MapKind::Array, 4, 0),
    (FILES_MAP, MapKind::Hash, 8, 8),
    (REGISTERED_MAP, MapKind::Array, 4, 0),
];

/// Checks the maps of all programs, and those of the plan. How much memory they take together is checked where they are made.
pub(super) fn check(plan: &Plan, codes: &[Code]) -> Result<(), AgentError> {
    let named: usize = codes.iter().map(|code| code.maps.len()).sum();
    if named > MAX_MAPS_NAMED {
        return Err(unexpected(format!("its programs name {named} maps")));
    }
    let mut known = HashMap::<&str, &MapDefinition>::new();
    for map in codes.iter().flat_map(|code| &code.maps) {
        match known.insert(&map.name, map) {
            None => check_one(map)?,
            Some(before) if before == map => {}
            Some(_other) => return Err(unexpected(format!("two different maps have the name `{}`", map.name))),
        }
    }
    if known.len() > MAX_MAPS {
        return Err(unexpected(format!("it has {} maps", known.len())));
    }
    let mut planned = std::collections::HashSet::new();
    for map in &plan.maps {
        let own = OWN.iter().any(|(name, ..)| *name == map.object_name) || map.object_name == RING;
        let fits = known.get(map.object_name.as_str()).is_none_or(|found| is_as_planned(map, found));
        if own || !fits || !planned.insert(&map.object_name) {
            return Err(unexpected(format!("the map `{}` is not as planned", map.object_name)));
        }
    }
    Ok(())
}

fn check_one(map: &MapDefinition) -> Result<(), AgentError> {
    let wrong = |what: &str| Err(unexpected(format!("the map `{}` {what}", map.name)));
    let legible = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !is_name(&map.name) || !map.name.bytes().all(legible) {
        return Err(unexpected("a map has a name that is none"));
    }
    if map.flags & !MapDefinition::NO_PREALLOC != 0 {
        return wrong("has flags that no script's has");
    }
    if map.value_bytes > MAX_VALUE_BYTES || map.content.len() > map.value_bytes as usize {
        return wrong("has values that are too large");
    }
    if (map.kind == MapKind::RingBuffer) != (map.name == RING) {
        return wrong("is a ring that is not the script's, or the script's ring and is none");
    }
    if map.kind.is_global() && (map.key_bytes, map.max_entries) != (4, 1) {
        return wrong("is a constant and has more than one entry");
    }
    let own = OWN.iter().find(|(name, ..)| *name == map.name);
    let as_agreed = own.is_none_or(|(_name, kind, key_bytes, value_bytes)| {
        map.kind == *kind && map.key_bytes == *key_bytes && (*value_bytes == 0 || map.value_bytes == *value_bytes)
    });
    if as_agreed { Ok(()) } else { wrong("is one that the agent uses, and not as agreed") }
}

fn is_as_planned(plan: &MapPlan, found: &MapDefinition) -> bool {
    let kind = MapKind::from(plan.kind);
    found.kind == kind
        && (found.key_bytes, found.value_bytes, found.max_entries)
            == (plan.key_bytes, plan.value_bytes, plan.max_entries)
        && (!kind.is_array() || plan.key_bytes == 4)
}
