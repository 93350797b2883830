//! Lists of the kernel, held against the types of recorded kernels and, where it has some, of the one that runs.

use std::{collections::BTreeSet, fs, sync::Arc};

use bathyscope_catalog::{
    lists::{KERNEL_LISTS, KernelList, ListEnd, known_lists, list_steps},
    recorded::{KERNELS, kernel},
    types::{Btf, TypeKind, Types},
};

/// What a member leads to: `first entry = struct task_struct by sibling, next, This`.
fn told(types: &Types, owner: &str, path: &str) -> Vec<String> {
    let owner = types.find(TypeKind::Struct, owner).unwrap();
    let step = |it: &bathyscope_catalog::lists::ListStep| {
        format!("{} = {} by {}, {}, {:?}", it.name, types.render(it.entry), it.link, it.pointer, it.end)
    };
    list_steps(types, owner, path).iter().map(step).collect()
}

#[test]
fn heads_and_links_lead_to_their_entries() {
    let types = kernel("6.12").unwrap().types();
    assert_eq!(
        told(&types, "task_struct", "children"),
        [
            "first entry = struct task_struct by sibling, next, This",
            "last entry = struct task_struct by sibling, prev, This"
        ]
    );
    let sibling = told(&types, "task_struct", "sibling");
    assert_eq!(sibling[0], "next entry = struct task_struct by sibling, next, Head(\"real_parent->children\")");
    assert_eq!(told(&types, "task_struct", "tasks")[0], "next entry = struct task_struct by tasks, next, Ring");
    assert_eq!(told(&types, "task_struct", "pid"), Vec::<String>::new());
    assert_eq!(told(&types, "list_head", "next"), Vec::<String>::new());
}

#[test]
fn what_a_kernel_does_not_have_is_not_offered() {
    for (series, children) in [("6.1", "d_subdirs"), ("6.12", "d_children")] {
        let types = kernel(series).unwrap().types();
        for (member, is_known) in [("d_subdirs", children == "d_subdirs"), ("d_children", children == "d_children")] {
            assert_eq!(!told(&types, "dentry", member).is_empty(), is_known, "{series} {member}");
        }
    }
    assert_eq!(
        told(&kernel("6.12").unwrap().types(), "dentry", "d_children")[0],
        "first entry = struct dentry by d_sib, first, Null"
    );
    assert_eq!(known_lists(&Types::built_in()).count(), 0);
}

/// All kernels whose types are here.
fn all_types() -> Vec<(String, Types)> {
    let recorded = KERNELS.iter().map(|series| ((*series).to_owned(), kernel(series).unwrap().types()));
    let running = fs::read("/sys/kernel/btf/vmlinux").ok().and_then(|bytes| Btf::parse(bytes).ok());
    recorded.chain(running.map(|btf| ("running".to_owned(), Types::new(Arc::new(btf))))).collect()
}

#[test]
fn no_two_steps_of_a_member_have_one_name() {
    for (series, types) in all_types() {
        for row in KERNEL_LISTS {
            for (owner, path) in [(row.owner, row.head), (row.entry, row.link)] {
                let Some(owner) = types.find(TypeKind::Struct, owner) else { continue };
                let steps = list_steps(&types, owner, path);
                let names: BTreeSet<&str> = steps.iter().map(|step| step.name).collect();
                assert_eq!(names.len(), steps.len(), "{series} {row:?}");
                for step in &steps {
                    assert!(types.field_path(step.entry, step.link).is_some(), "{series} {step:?}");
                    assert!(!matches!(&step.end, ListEnd::Head(head) if head.is_empty()), "{series} {step:?}");
                }
            }
        }
    }
}

#[test]
fn rows_are_known_to_some_kernel() {
    let all = all_types();
    let is_known = |row: &&KernelList| all.iter().any(|(_, types)| known_lists(types).any(|known| known == *row));
    let unknown: Vec<&KernelList> = KERNEL_LISTS.iter().filter(|row| !is_known(row)).collect();
    // The recordings have what is often traced; a whole kernel has nearly all.
    let has_whole = all.iter().any(|(series, _)| series == "running");
    if has_whole {
        let names: Vec<String> =
            unknown.iter().map(|row| format!("{}.{} {}.{}", row.owner, row.head, row.entry, row.link)).collect();
        assert!(names.len() < 20, "not known to any: {names:#?}");
    }
    assert!(KERNEL_LISTS.len() - unknown.len() > 20, "{} of {}", unknown.len(), KERNEL_LISTS.len());
}
