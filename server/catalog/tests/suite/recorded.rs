//! What the recorded kernels say. The golden file was compared with what `bpftool btf dump` says of the same bytes.
#![cfg(feature = "recorded")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{fmt::Write as _, fs, sync::Arc};

use bathyscope_catalog::{
    parse_event_format,
    recorded::{KERNELS, Recording, Reduced, Roots, kernel, reduce, unpack},
    types::{Btf, BtfId, TypeKind, Types},
};
use proptest::prelude::*;

/// Members that scripts often ask for; some are not in every kernel.
const MEMBERS: [(&str, &str); 40] = [
    ("task_struct", "pid"),
    ("task_struct", "tgid"),
    ("task_struct", "comm"),
    ("task_struct", "__state"),
    ("task_struct", "real_parent"),
    ("task_struct", "mm"),
    ("task_struct", "cred"),
    ("task_struct", "nsproxy"),
    ("task_struct", "se.vruntime"),
    ("task_struct", "in_execve"),
    ("task_struct", "sched_reset_on_fork"),
    ("file", "f_path.dentry"),
    ("file", "f_inode"),
    ("file", "f_mode"),
    ("path", "dentry"),
    ("dentry", "d_name.name"),
    ("dentry", "d_name.len"),
    ("inode", "i_ino"),
    ("inode", "i_size"),
    ("super_block", "s_id"),
    ("sock", "__sk_common.skc_daddr"),
    ("sock", "__sk_common.skc_dport"),
    ("sock", "sk_protocol"),
    ("sock", "sk_type"),
    ("sock_common", "skc_reuse"),
    ("sock_common", "skc_ipv6only"),
    ("inet_sock", "inet_sport"),
    ("tcp_sock", "srtt_us"),
    ("sk_buff", "len"),
    ("sk_buff", "protocol"),
    ("sk_buff", "ip_summed"),
    ("request", "__data_len"),
    ("bio", "bi_iter.bi_sector"),
    ("gendisk", "disk_name"),
    ("mm_struct", "total_vm"),
    ("vm_area_struct", "vm_flags"),
    ("cgroup", "kn"),
    ("linux_binprm", "filename"),
    ("iov_iter", "count"),
    ("pt_regs", "di"),
];

const FUNCTIONS: [&str; 7] = [
    "vfs_read",
    "vfs_write",
    "tcp_sendmsg",
    "do_sys_openat2",
    "kfree_skb_reason",
    "blk_mq_start_request",
    "xfs_file_open",
];
const TRACEPOINTS: [&str; 5] =
    ["sched_switch", "sched_process_exec", "sys_enter", "tcp_retransmit_skb", "block_rq_issue"];

fn golden() -> String {
    let mut text = String::new();
    for series in KERNELS {
        let types = kernel(series).unwrap().types();
        writeln!(text, "# {series}").unwrap();
        for (record, path) in MEMBERS {
            let id = types.find(TypeKind::Struct, record).unwrap();
            let Some(field) = types.field_path(id, path) else {
                writeln!(text, "{record}.{path} -").unwrap();
                continue;
            };
            let bits = field.bits.map(|bits| format!(":{bits}")).unwrap_or_default();
            let ty = types.render(field.ty);
            writeln!(text, "{record}.{path} {}.{}{bits} {ty}", field.byte_offset(), field.bit_offset % 8).unwrap();
        }
        for record in ["task_struct", "file", "sock", "sk_buff", "request", "mm_struct", "inode"] {
            let id = types.find(TypeKind::Struct, record).unwrap();
            writeln!(text, "{record} {} {}", types.size(id).unwrap(), types.align(id).unwrap()).unwrap();
        }
        for function in FUNCTIONS {
            for found in types.functions(function) {
                writeln!(text, "{} {}", found.module.unwrap_or("vmlinux"), types.render(found.id)).unwrap();
            }
        }
        for tracepoint in TRACEPOINTS {
            let found = types.raw_tracepoint(tracepoint).unwrap();
            let shown = |p: &bathyscope_catalog::types::Parameter<'_>| types.render_declaration(p.ty, p.name);
            writeln!(text, "{tracepoint}: {}", found.parameters.iter().map(shown).collect::<Vec<_>>().join(", "))
                .unwrap();
        }
        for name in
            ["PIDTYPE_PGID", "BPF_MAP_TYPE_RINGBUF", "TCP_FIN_WAIT1", "REQ_OP_WRITE", "TASK_COMM_LEN", "NOWHERE"]
        {
            writeln!(text, "{name} {:?}", types.constant(name).map(|found| found.value)).unwrap();
        }
        let variable = types.variable("runqueues").unwrap();
        writeln!(text, "{} {} {}", variable.section, variable.offset, variable.bytes).unwrap();
    }
    text
}

#[test]
fn well_known_types_are_where_they_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/recorded.golden");
    let text = golden();
    if std::env::var_os("BATHYSCOPE_BLESS").is_some() {
        fs::write(path, &text).unwrap();
    }
    for (line, expected) in text.lines().zip(fs::read_to_string(path).unwrap().lines()) {
        assert_eq!(line, expected, "if this is right, run again with BATHYSCOPE_BLESS=1");
    }
}

#[test]
fn whole_definitions_are_written() {
    let types = kernel("6.18").unwrap().types();
    let qstr = types.spelled("struct qstr").unwrap();
    let expected = "struct qstr {\n\tunion {\n\t\tstruct {\n\t\t\tu32 hash;\n\t\t\tu32 len;\n\t\t};\n\t\tu64 hash_len;\n\t};\n\
                    \tconst unsigned char *name;\n};\n";
    assert_eq!(types.render_definition(qstr), expected);
    let operations = types.render_definition(types.spelled("struct file_operations").unwrap());
    assert!(operations.contains("\tssize_t (*read)(struct file *, char *, size_t, loff_t *);\n"), "{operations}");
    assert!(types.render_definition(types.spelled("struct sk_buff").unwrap()).contains("\t\t\t__u8 ip_summed: 2;\n"));
}

#[test]
fn every_recorded_format_is_read() {
    for series in KERNELS {
        let kernel = kernel(series).unwrap();
        assert!(kernel.formats.len() > 2000, "{series}");
        assert!(kernel.release.starts_with(series));
        for (name, text) in &kernel.formats {
            // Events without a record of their own have no fields.
            let parsed = parse_event_format(text.as_bytes());
            assert!(parsed.is_ok() || name.starts_with("ftrace:"), "{series} {name}: {parsed:?}");
        }
    }
}

#[test]
fn every_recorded_type_can_be_shown() {
    for series in KERNELS {
        let kernel = kernel(series).unwrap();
        let types = kernel.types();
        for module in [None].into_iter().chain(kernel.modules.iter().map(|module| module.module_name())) {
            for id in 1.. {
                let Some(id) = types.of_btf_id(BtfId { module, id }) else { break };
                let text = types.render_definition(id);
                assert!(!text.contains('\u{fffd}') && text.len() < 100_000, "{text}");
                assert_eq!(types.btf_id(id).map(|found| types.of_btf_id(found)), Some(Some(id)));
            }
        }
    }
}

#[test]
fn what_is_kept_stays_the_same_when_reduced_again() {
    let before = kernel("6.12").unwrap();
    let types = before.types();
    let roots =
        Roots::parse("depth 1\nstruct file xfs_inode # comment\nenum pid_type\nfunction vfs_rea*\nvariable runqueues")
            .unwrap();
    let reduced = reduce(&types, &roots);
    let kernel = Arc::new(Btf::parse(reduced[0].bytes.clone()).unwrap());
    let mut small = Types::new(Arc::clone(&kernel));
    for module in &reduced[1..] {
        let btf = Btf::parse_module(module.module.as_deref().unwrap(), module.bytes.clone(), &kernel).unwrap();
        small.add_module(Arc::new(btf)).unwrap();
    }
    assert_eq!(small.modules().collect::<Vec<_>>(), ["xfs"]);
    for name in ["struct file", "struct inode", "struct xfs_inode", "enum pid_type", "struct rq", "struct path"] {
        let show = |types: &Types| {
            types.spelled(name).map(|id| (types.render_definition(id), types.size(id), types.align(id)))
        };
        assert!(show(&small).is_some() && show(&small) == show(&types), "{name}");
    }
    let far = small.find(TypeKind::Struct, "file_system_type").unwrap();
    assert_eq!(small.size(far), None, "two pointers away");
    let read = |types: &Types| types.function(None, "vfs_read").map(|found| types.render(found.id));
    assert!(read(&small).is_some() && read(&small) == read(&types));
    assert_eq!(
        small.variable("runqueues").map(|found| found.offset),
        types.variable("runqueues").map(|found| found.offset)
    );
    assert_eq!(small.function(None, "vfs_write"), None);
    assert!(Roots::parse("strukt file").is_err());
}

#[test]
fn recordings_are_packed_and_unpacked() {
    let mut recording = Recording { release: "6.1.0-test".to_owned(), ..Recording::default() };
    recording.btf.push(Reduced { module: None, bytes: vec![1, 2, 3] });
    recording.btf.push(Reduced { module: Some("m".to_owned()), bytes: Vec::new() });
    recording.formats.insert("a:b".to_owned(), "name: b\nID: 1\n".to_owned());
    let packed = recording.pack().unwrap();
    assert_eq!(unpack(&packed).unwrap(), recording);
    assert!(unpack(&packed[..packed.len() / 2]).is_err());
    assert!(kernel("5.4").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn changed_bytes_of_a_real_kernel_do_no_harm(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..400),
    ) {
        let mut bytes = reduce(&kernel("6.1").unwrap().types(), &Roots::parse("struct path tcp_sock").unwrap())[0].bytes.clone();
        for (at, byte) in &changes {
            let at = 24 + at.index(bytes.len() - 24);
            bytes[at] = *byte;
        }
        if let Ok(btf) = Btf::parse(bytes) {
            let types = Types::new(Arc::new(btf));
            for name in types.complete(TypeKind::Struct, "", 300).names {
                let id = types.find(TypeKind::Struct, name).unwrap();
                let _all = (types.render_definition(id), types.align(id), types.field(id, "no_such_name"));
            }
        }
    }
}
