//! Transforms, groups and sandwiches of stacks against lists of names that are changed one by one.

use std::collections::BTreeMap;

use bathyscope_capture::MappingKind;
use bathyscope_views::{
    FlameQuery, FoldedStacks, GroupBy, MemorySource, NodeId, NodeKind, Transform, flame, fold, sandwich,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, symbol};

/// What frames are called, and whose they are.
const FRAMES: [(&str, MappingKind, &[u8]); 8] = [
    ("main", MappingKind::File, b"/bin/x"),
    ("walk", MappingKind::File, b"/bin/x"),
    ("std::visit", MappingKind::File, b"/bin/x"),
    ("_start", MappingKind::File, b"/bin/x"),
    ("read", MappingKind::File, b"/usr/lib/libc.so.6"),
    ("memcpy", MappingKind::File, b"/usr/lib/libc.so.6"),
    ("sys_read", MappingKind::Kernel, b"[kernel.kallsyms]"),
    ("do_idle", MappingKind::Kernel, b"[kernel.kallsyms]"),
];
const COMMS: [&[u8]; 3] = [b"sh", b"nginx", b"walk"];

/// Frames from the root, comm, CPU.
type Sample = (Vec<usize>, usize, u64);

fn source(samples: &[Sample]) -> MemorySource {
    let mut build = Build::default();
    build.profile();
    for (at, (frames, comm, cpu)) in samples.iter().enumerate() {
        let ids: Vec<u32> = frames
            .iter()
            .rev()
            .map(|frame| {
                let (name, kind, module) = FRAMES[*frame];
                build.frame(kind, module, *frame as u64, symbol(name, &[]))
            })
            .collect();
        let stack = build.stacks.stack(&ids);
        let tid = 10 + *comm as u64;
        build.sample((at as u64, *cpu, tid, tid, COMMS[*comm]), stack);
    }
    build.finish()
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    vec((vec(0..FRAMES.len(), 1..9), 0..COMMS.len(), 0u64..3), 1..60)
}

type Naive = Vec<(Vec<(String, NodeKind)>, u64)>;

fn naive(folded: &FoldedStacks) -> Naive {
    let owned =
        |frames: Vec<(&str, NodeKind)>| frames.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    folded.iter().map(|stack| (owned(stack.frames), stack.samples)).collect()
}

fn sums(stacks: &Naive) -> BTreeMap<Vec<String>, u64> {
    let mut sums = BTreeMap::new();
    for (stack, samples) in stacks {
        *sums.entry(stack.iter().map(|(name, _)| name.clone()).collect()).or_default() += samples;
    }
    sums
}

fn module(name: &str) -> &'static str {
    let of = FRAMES.iter().find(|frame| frame.0 == name);
    of.map_or("", |frame| std::str::from_utf8(frame.2).unwrap())
}

/// One stack without its group, as a transform leaves it; none if it is left out.
fn changed(transform: &Transform, mut stack: Vec<String>) -> Option<Vec<String>> {
    let at =
        |name: &str, stack: &[String]| -> Vec<usize> { (0..stack.len()).filter(|at| stack[*at] == name).collect() };
    match transform {
        Transform::FocusFunction { name, inverted } => {
            let found = at(name, &stack);
            return Some(if *inverted { stack[..=*found.last()?].to_vec() } else { stack[*found.first()?..].to_vec() });
        }
        Transform::MergeFunction(name) => stack.retain(|other| other != name),
        Transform::DropFunction(name) => return (!stack.contains(name)).then_some(stack),
        Transform::CollapseFunction(name) => {
            if let Some(first) = at(name, &stack).first() {
                stack.truncate(first + 1);
            }
        }
        Transform::CollapseModule(path) => {
            stack = stack
                .into_iter()
                .map(|name| if module(&name) == path { "libc.so.6".to_owned() } else { name })
                .collect();
            stack.dedup_by(|a, b| a == b && a == "libc.so.6");
        }
        Transform::CollapseRecursion { name, direct: false } => {
            if let [first, .., last] = at(name, &stack)[..] {
                stack.drain(first + 1..=last);
            }
        }
        Transform::CollapseRecursion { name, .. } => stack.dedup_by(|a, b| a == b && a == name),
        Transform::HideKernel => stack.retain(|name| !["sys_read", "do_idle"].contains(&name.as_str())),
        Transform::HideRuntime => {
            stack.retain(|name| !["std::visit", "_start", "read", "memcpy", "libc.so.6"].contains(&name.as_str()));
        }
        Transform::Rename { .. } => stack.iter_mut().for_each(|name| *name = name.replace("main", "root")),
        Transform::FocusNode { .. } | Transform::MergeNode { .. } => unreachable!("nodes have a test of their own"),
    }
    Some(stack)
}

fn modelled(transform: &Transform, before: &Naive) -> BTreeMap<Vec<String>, u64> {
    let mut after: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for (stack, samples) in before {
        let groups = stack.iter().take_while(|(_, kind)| *kind == NodeKind::Process).count();
        let names =
            |part: &[(String, NodeKind)]| -> Vec<String> { part.iter().map(|(name, _)| name.clone()).collect() };
        let Some(mut inner) = changed(transform, names(&stack[groups..])) else { continue };
        if inner.is_empty() {
            inner.push("[hidden frames]".to_owned());
        }
        *after.entry([names(&stack[..groups]), inner].concat()).or_default() += samples;
    }
    after
}

fn transforms() -> impl Strategy<Value = Transform> {
    let name = || (0..FRAMES.len()).prop_map(|frame| FRAMES[frame].0.to_owned());
    prop_oneof![
        (name(), any::<bool>()).prop_map(|(name, inverted)| Transform::FocusFunction { name, inverted }),
        name().prop_map(Transform::MergeFunction),
        name().prop_map(Transform::DropFunction),
        name().prop_map(Transform::CollapseFunction),
        Just(Transform::CollapseModule("/usr/lib/libc.so.6".to_owned())),
        (name(), any::<bool>()).prop_map(|(name, direct)| Transform::CollapseRecursion { name, direct }),
        Just(Transform::HideKernel),
        Just(Transform::HideRuntime),
        Just(Transform::Rename { pattern: "ma(i)n".to_owned(), text: "root".to_owned() }),
    ]
}

proptest! {
    #[test]
    fn transforms_are_those_of_plain_lists(samples in samples(), by_comm: bool, list in vec(transforms(), 1..4), invert: bool) {
        let source = source(&samples);
        let by = if by_comm { GroupBy::Comm } else { GroupBy::None };
        let mut query = FlameQuery { by, ..FlameQuery::default() };
        for transform in list {
            let before = naive(&fold(&source, &query, &GO).unwrap());
            query.transforms.push(transform.clone());
            let folded = fold(&source, &query, &GO).unwrap();
            prop_assert_eq!(sums(&naive(&folded)), modelled(&transform, &before), "{}", transform);
            prop_assert_eq!(folded.recorded(), samples.len() as u64);
            let said = folded.applied().last().unwrap();
            prop_assert_eq!((said.samples, &said.text), (folded.total(), &transform.to_string()));
        }
        let plain = naive(&fold(&source, &query, &GO).unwrap());
        let turned = naive(&fold(&source, &FlameQuery { invert, ..query }, &GO).unwrap());
        let reversed = plain.into_iter().map(|(mut stack, samples)| {
            if invert { stack.reverse() }
            (stack, samples)
        });
        prop_assert_eq!(sums(&turned), sums(&reversed.collect()));
    }

    #[test]
    fn transforms_of_nodes_are_about_stacks_through_them(
        samples in samples(), by_comm: bool, inverted: bool, merges: bool, pick in any::<prop::sample::Index>(),
    ) {
        let source = source(&samples);
        let by = if by_comm { GroupBy::Comm } else { GroupBy::None };
        let query = FlameQuery { by, width: 8192, ..FlameQuery::default() };
        let graph = flame(&source, &FlameQuery { invert: inverted, ..query.clone() }, &GO).unwrap();
        prop_assume!(graph.nodes.id.len() > 1);
        let chosen = 1 + pick.index(graph.nodes.id.len() - 1);
        let (node, mut path, mut depth) = (graph.nodes.id[chosen], Vec::new(), graph.nodes.depth[chosen]);
        for at in (0..=chosen).rev().filter(|at| *at > 0) {
            if graph.nodes.depth[at] == depth {
                path.insert(0, graph.names[graph.nodes.name[at] as usize].clone());
                depth -= 1;
            }
        }
        let transform = if merges { Transform::MergeNode { node, inverted } } else { Transform::FocusNode { node, inverted } };
        let before = naive(&fold(&source, &query, &GO).unwrap());
        let after = fold(&source, &FlameQuery { transforms: vec![transform], ..query }, &GO).unwrap();
        let mut expected: Naive = Vec::new();
        for (mut stack, samples) in before {
            if inverted {
                stack.reverse();
            }
            let is_below = stack.iter().map(|(name, _)| name).take(path.len()).eq(&path);
            if is_below && merges {
                stack.remove(path.len() - 1);
            } else if is_below {
                let group = stack.first().filter(|(_, kind)| path.len() > 1 && *kind == NodeKind::Process).cloned();
                stack = group.into_iter().chain(stack.into_iter().skip(path.len() - 1)).collect();
            } else if !merges {
                continue;
            }
            if inverted {
                stack.reverse();
            }
            if stack.iter().all(|(_, kind)| *kind == NodeKind::Process) {
                stack.push(("[hidden frames]".to_owned(), NodeKind::User));
            }
            expected.push((stack, samples));
        }
        prop_assert_eq!(sums(&naive(&after)), sums(&expected));
    }

    #[test]
    fn a_function_stands_between_its_callers_and_what_it_calls(samples in samples(), frame in 0..FRAMES.len()) {
        let source = source(&samples);
        let name = FRAMES[frame].0;
        let query = FlameQuery { by: GroupBy::None, width: 8192, ..FlameQuery::default() };
        let found = sandwich(&source, &query, name, &GO).unwrap();
        let with: Vec<&Sample> = samples.iter().filter(|sample| sample.0.contains(&frame)).collect();
        let own = with.iter().filter(|sample| sample.0.last() == Some(&frame)).count() as u64;
        prop_assert_eq!((found.total, found.own), (with.len() as u64, own));
        for half in [&found.callers, &found.callees] {
            let first: Vec<&str> = (0..half.nodes.id.len())
                .filter(|at| half.nodes.depth[*at] == 1)
                .map(|at| half.names[half.nodes.name[at] as usize].as_str())
                .collect();
            prop_assert_eq!((half.total, first), (with.len() as u64, if with.is_empty() { vec![] } else { vec![name] }));
        }
        let mut callers: BTreeMap<&str, u64> = BTreeMap::new();
        for sample in &with {
            let last = sample.0.iter().rposition(|other| *other == frame).unwrap();
            if last > 0 { *callers.entry(FRAMES[sample.0[last - 1]].0).or_default() += 1; }
        }
        let second: BTreeMap<&str, u64> = (0..found.callers.nodes.id.len())
            .filter(|at| found.callers.nodes.depth[*at] == 2)
            .map(|at| (found.callers.names[found.callers.nodes.name[at] as usize].as_str(), found.callers.nodes.value[at]))
            .collect();
        prop_assert_eq!(callers, second);
    }

    #[test]
    fn the_first_level_is_what_was_asked_for(samples in samples()) {
        let source = source(&samples);
        type Key = fn(&Sample) -> String;
        let comm: Key = |sample| String::from_utf8(COMMS[sample.1].to_vec()).unwrap();
        let cases: [(GroupBy, Key); 5] = [
            (GroupBy::Process, comm),
            (GroupBy::Comm, comm),
            (GroupBy::Thread, |sample| format!("{} {}", String::from_utf8(COMMS[sample.1].to_vec()).unwrap(), 10 + sample.1)),
            (GroupBy::Cpu, |sample| format!("CPU {}", sample.2)),
            (GroupBy::Source, |_| "cpu-clock".to_owned()),
        ];
        for (by, key) in cases {
            let mut expected: BTreeMap<String, u64> = BTreeMap::new();
            samples.iter().for_each(|sample| *expected.entry(key(sample)).or_default() += 1);
            let mut found: BTreeMap<String, u64> = BTreeMap::new();
            for (stack, samples) in naive(&fold(&source, &FlameQuery { by, ..FlameQuery::default() }, &GO).unwrap()) {
                *found.entry(stack[0].0.clone()).or_default() += samples;
            }
            prop_assert_eq!(expected, found, "{:?}", by);
        }
    }
}

#[test]
fn what_does_nothing_is_said() {
    let source = source(&[(vec![0, 1], 0, 0)]);
    let node = NodeId(7);
    let cases = [
        (Transform::MergeFunction("nobody".to_owned()), "no stack has this function", 1),
        (Transform::FocusFunction { name: "nobody".to_owned(), inverted: false }, "no stack has this function", 0),
        (
            Transform::FocusNode { node, inverted: false },
            "there is no such frame in this grouping, range and filter",
            1,
        ),
        (Transform::CollapseModule("/lib/z.so".to_owned()), "no stack has functions of it", 1),
        (Transform::Rename { pattern: "zzz".to_owned(), text: String::new() }, "no name matches the pattern", 1),
    ];
    for (transform, problem, total) in cases {
        let query = FlameQuery { transforms: vec![transform], ..FlameQuery::default() };
        let folded = fold(&source, &query, &GO).unwrap();
        assert_eq!((folded.applied()[0].problem, folded.total()), (Some(problem), total));
    }
}

#[test]
fn frames_tell_their_module() {
    let source = source(&[(vec![0, 4, 6], 0, 0)]);
    let graph = flame(&source, &FlameQuery { by: GroupBy::None, ..FlameQuery::default() }, &GO).unwrap();
    let modules: Vec<&str> = graph.nodes.module.iter().map(|module| graph.modules[*module as usize].as_str()).collect();
    assert_eq!(modules, ["", "/bin/x", "/usr/lib/libc.so.6", "[kernel.kallsyms]"]);
}
