//! Records by hand, against expected values and against another reader of the same format.

mod beside_perf;

use linux_perf_event_reader as other;
use proptest::prelude::*;

use super::*;

const FORMAT: PerfFormat = PerfFormat {
    sample_type: SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_PERIOD | SAMPLE_CALLCHAIN,
    read_format: 0,
    sample_id_all: true,
    branch_sample_type: 0,
};

fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(HEADER_BYTES + body.len()).unwrap();
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// tid, time, cpu.
fn ids(time: u64) -> Vec<u8> {
    words(&[pair(7, 8), time, 2])
}

#[test]
fn samples_are_split_at_their_markers() {
    let chain = [MARKER_KERNEL, 0xffff_ffff_8100_0001, 0xffff_ffff_8100_0002, MARKER_USER, 0x1000, 0x2000];
    let head = [0xffff_ffff_8100_0001, pair(7, 8), 1234, 3, 1, chain.len() as u64];
    let parsed = parse_record(&record(RECORD_SAMPLE, 1, &words(&[&head[..], &chain].concat())), FORMAT).unwrap();
    let kernel = vec![0xffff_ffff_8100_0001, 0xffff_ffff_8100_0002];
    let sample = Sample { cpu: 3, pid: 7, tid: 8, kernel, user: vec![0x1000, 0x2000], ..Sample::default() };
    assert_eq!(parsed, PerfRecord { time_ns: Some(1234), event: PerfEvent::Sample(sample) });
}

#[test]
fn copies_of_stacks_and_branches_are_read() {
    let with = |extra| PerfFormat { sample_type: FORMAT.sample_type | extra, ..FORMAT };
    let dwarf = with(SAMPLE_REGS_USER | SAMPLE_STACK_USER);
    let head = [0x1000, pair(7, 8), 1234, 3, 1, 2, MARKER_KERNEL, 0xffff_ffff_8100_0001];
    let read =
        |tail: &[u64], format| parse_record(&record(RECORD_SAMPLE, 2, &words(&[&head[..], tail].concat())), format);
    let sample = |tail: &[u64], format| match read(tail, format).unwrap().event {
        PerfEvent::Sample(sample) => sample,
        other => panic!("{other:?}"),
    };
    // rbp, rsp, rip, then 24 bytes of which 16 were copied.
    let copied = sample(&[ABI_64, 0x7fff_0040, 0x7fff_0000, 0x1000, 24, 1, 2, 3, 16], dwarf);
    let registers = Registers { bp: 0x7fff_0040, sp: 0x7fff_0000, ip: 0x1000 };
    assert_eq!(copied.copied, Some(Box::new(CopiedStack { registers, bytes: words(&[1, 2]) })));
    assert_eq!((copied.user, copied.kernel.len()), (vec![0x1000], 1));
    // A thread of the kernel, and a program of 32 bits.
    assert_eq!(sample(&[0, 0], dwarf).copied, None);
    let narrow = sample(&[1, 1, 2, 3, 8, 5, 8], dwarf);
    assert_eq!((narrow.copied, narrow.user), (None, vec![]));
    for bad in
        [&[][..], &[ABI_64, 1, 2], &[ABI_64, 1, 2, 3, u64::MAX], &[ABI_64, 1, 2, 3, 16, 1], &[ABI_64, 1, 2, 3, 8, 1]]
    {
        assert_eq!(read(bad, dwarf), Err(MalformedRecord), "{bad:?}");
    }
    let lbr = PerfFormat { branch_sample_type: BRANCH_CALL_STACK, ..with(SAMPLE_BRANCH_STACK) };
    assert_eq!(sample(&[2, 0x2010, 0x1000, 0, 0x3010, 0x2000, 0], lbr).user, [0x1000, 0x2010, 0x3010]);
    assert_eq!(sample(&[0], lbr).user, Vec::<u64>::new());
    assert_eq!(read(&[u64::MAX], lbr), Err(MalformedRecord));
}

#[test]
fn accesses_to_memory_are_read() {
    let with = |weight| {
        let sample_type = FORMAT.sample_type | SAMPLE_ADDR | SAMPLE_DATA_SRC | weight;
        PerfFormat { sample_type, ..FORMAT }
    };
    let head = [0x1000, pair(7, 8), 1234, 0x7fff_1000, 3, 1, 0];
    let read =
        |tail: &[u64], format| parse_record(&record(RECORD_SAMPLE, 2, &words(&[&head[..], tail].concat())), format);
    let access = |tail: &[u64], format| match read(tail, format).unwrap().event {
        PerfEvent::Sample(sample) => sample.memory.unwrap(),
        other => panic!("{other:?}"),
    };
    let told = Access { address: 0x7fff_1000, data_source: 0x6810_0142, ..Access::default() };
    assert_eq!(access(&[0x6810_0142], with(0)), told);
    let parts = Access { weight: 7, instruction_latency: 9, retire_latency: 0xffff, ..told };
    assert_eq!(access(&[7 | 9 << 32 | 0xffff << 48, 0x6810_0142], with(SAMPLE_WEIGHT_STRUCT)), parts);
    let whole = Access { weight: 1 << 40, ..told };
    assert_eq!(access(&[1 << 40, 0x6810_0142], with(SAMPLE_WEIGHT)), whole);
    // Bits that nobody knows are kept as they are.
    assert_eq!(access(&[0, u64::MAX], with(SAMPLE_WEIGHT_STRUCT)).data_source, u64::MAX);
    for (tail, format) in [(&[][..], with(0)), (&[7], with(SAMPLE_WEIGHT)), (&[], with(SAMPLE_WEIGHT_STRUCT))] {
        assert_eq!(read(tail, format), Err(MalformedRecord), "{tail:?}");
    }
}

#[test]
fn branches_are_rows_or_stacks() {
    let with = |branch_sample_type| PerfFormat {
        sample_type: FORMAT.sample_type | SAMPLE_BRANCH_STACK,
        branch_sample_type,
        ..FORMAT
    };
    let head = [0x1000, pair(7, 8), 1234, 3, 1, 2, MARKER_USER, 0x1000];
    let read =
        |tail: &[u64], format| parse_record(&record(RECORD_SAMPLE, 2, &words(&[&head[..], tail].concat())), format);
    let sample = |tail: &[u64], format| match read(tail, format).unwrap().event {
        PerfEvent::Sample(sample) => sample,
        other => panic!("{other:?}"),
    };
    let branch = |from, to, flags| Branch { from, to, flags: BranchFlags(flags) };
    let two = [branch(0x10, 0x20, 1), branch(0x30, 0x40, u64::MAX)];
    let entries = [0x10, 0x20, 1, 0x30, 0x40, u64::MAX];
    let any = 1 << 3;
    let plain = sample(&[&[2][..], &entries].concat(), with(any));
    assert_eq!((plain.branches, plain.user), (two.to_vec(), vec![0x1000]));
    let indexed = sample(&[&[2, 99][..], &entries].concat(), with(any | BRANCH_HW_INDEX));
    assert_eq!(indexed.branches, two);
    let counted = sample(&[&[2][..], &entries, &[5, 6]].concat(), with(any | BRANCH_COUNTERS));
    assert_eq!(counted.branches, two);
    assert_eq!(sample(&[0], with(any)).branches, []);
    let calls = sample(&[&[2][..], &entries].concat(), with(BRANCH_CALL_STACK));
    assert_eq!((calls.branches, calls.user), (vec![], vec![0x20, 0x10, 0x30]));
    let bad: [(&[u64], u64); 6] = [
        (&[], any),
        (&[1], any),
        (&[1, 2, 3], any),
        (&[u64::MAX / 24 + 1, 0, 0, 0], any),
        (&[0], any | BRANCH_HW_INDEX),
        (&[1, 1, 2, 3], any | BRANCH_COUNTERS),
    ];
    for (tail, filter) in bad {
        assert_eq!(read(tail, with(filter)), Err(MalformedRecord), "{tail:?}");
    }
}

#[test]
fn maps_carry_build_ids_or_inodes() {
    let body = |id: [u64; 3]| {
        let mut body = words(&[pair(7, 8), 0x1000, 0x2000, 0x3000]);
        body.extend(words(&id));
        body.extend(words(&[pair(5, 2)]));
        body.extend(b"/usr/bin/x\0\0\0\0\0\0");
        body.extend(ids(99));
        body
    };
    let with_id = record(
        RECORD_MMAP2,
        2 | MISC_MMAP_BUILD_ID,
        &body([pair(20, 0x0403_0201), 0x0c0b_0a09_0807_0605, 0x1413_1211_100f_0e0d]),
    );
    let parsed = parse_record(&with_id, FORMAT).unwrap();
    let PerfEvent::Map(map) = parsed.event else { panic!("{parsed:?}") };
    assert_eq!(map.file, MapFile::BuildId((1..=20).collect()));
    assert_eq!((map.pid, map.start, map.end, map.file_offset), (7, 0x1000, 0x3000, 0x3000));
    assert_eq!((map.name, parsed.time_ns, map.executable), (b"/usr/bin/x".to_vec(), Some(99), true));
    let with_inode = record(RECORD_MMAP2, 2, &body([pair(8, 1), 4711, 0]));
    let PerfEvent::Map(map) = parse_record(&with_inode, FORMAT).unwrap().event else { panic!() };
    assert_eq!(map.file, MapFile::Inode { device: (8, 1), inode: 4711 });
    let data = record(RECORD_MMAP2, 2 | MISC_MMAP_DATA, &body([pair(8, 1), 4711, 0]));
    let PerfEvent::Map(map) = parse_record(&data, FORMAT).unwrap().event else { panic!() };
    assert!(!map.executable);
    let too_long = record(RECORD_MMAP2, MISC_MMAP_BUILD_ID, &body([pair(21, 0), 0, 0]));
    assert_eq!(parse_record(&too_long, FORMAT), Err(MalformedRecord));
}

#[test]
fn processes_come_and_go() {
    let event =
        |kind, misc, body: &[u8]| parse_record(&record(kind, misc, &[body, &ids(5)].concat()), FORMAT).unwrap().event;
    let comm = [&words(&[pair(7, 8)])[..], b"dd\0\0\0\0\0\0"].concat();
    assert_eq!(
        event(RECORD_COMM, MISC_COMM_EXEC, &comm),
        PerfEvent::Comm { pid: 7, tid: 8, exec: true, comm: b"dd".to_vec() }
    );
    let fork = words(&[pair(9, 7), pair(10, 8), 5]);
    assert_eq!(event(RECORD_FORK, 0, &fork), PerfEvent::Fork { pid: 9, tid: 10, parent_pid: 7, parent_tid: 8 });
    assert_eq!(event(RECORD_EXIT, 0, &fork), PerfEvent::Exit { pid: 9, tid: 10 });
    assert_eq!(event(RECORD_LOST, 0, &words(&[1, 17])), PerfEvent::Lost { count: 17 });
    assert_eq!(event(RECORD_LOST_SAMPLES, 0, &words(&[18])), PerfEvent::Lost { count: 18 });
    assert_eq!(event(RECORD_THROTTLE, 0, &words(&[1, 2, 3])), PerfEvent::Throttle { begins: true });
    assert_eq!(event(99, 0, &[]), PerfEvent::Other);
}

/// What another reader makes of the same sample; only for records that do not make it panic.
fn second_opinion(record: &[u8]) -> Option<(Option<u64>, Option<u32>, Vec<u64>)> {
    let info = other::RecordParseInfo {
        endian: other::Endianness::LittleEndian,
        sample_format: other::SampleFormat::from_bits_truncate(FORMAT.sample_type),
        branch_sample_format: other::BranchSampleFormat::empty(),
        read_format: other::ReadFormat::empty(),
        common_data_offset_from_end: Some(24),
        sample_regs_user: 0,
        user_regs_count: 0,
        sample_regs_intr: 0,
        intr_regs_count: 0,
        id_parse_info: other::RecordIdParseInfo {
            nonsample_record_id_offset_from_end: None,
            sample_record_id_offset_from_start: None,
        },
        nonsample_record_time_offset_from_end: Some(16),
        sample_record_time_offset_from_start: Some(16),
    };
    let body = other::RawData::Single(record.get(HEADER_BYTES..)?);
    let raw = other::RawEventRecord::new(other::RecordType::SAMPLE, 1, body, info);
    let Ok(other::EventRecord::Sample(sample)) = raw.parse() else { return None };
    let chain = sample.callchain?;
    let addresses = (0..chain.len()).filter_map(|index| chain.get(index));
    Some((sample.timestamp, sample.cpu, addresses.filter(|address| *address < FIRST_MARKER).collect()))
}

proptest! {
    #[test]
    fn garbage_does_no_harm(
        kind in 0_u32..16,
        misc in any::<u16>(),
        body in proptest::collection::vec(any::<u8>(), 0..600),
        sample_type in any::<u64>(),
        read_format in 0_u64..32,
        sample_id_all in any::<bool>(),
        branch_sample_type in any::<u64>(),
    ) {
        let format = PerfFormat { sample_type, read_format, sample_id_all, branch_sample_type };
        let _parsed = parse_record(&record(kind, misc, &body), format);
        let _cut = parse_record(&body, format);
        let _known = parse_record(&record(kind, misc, &body), FORMAT);
    }

    #[test]
    fn two_readers_agree_about_samples(
        head in proptest::collection::vec(0..u64::from(u32::MAX), 5),
        user in proptest::collection::vec(0..FIRST_MARKER, 0..20),
        kernel in proptest::collection::vec(0..FIRST_MARKER, 0..20),
    ) {
        let chain = [&[MARKER_KERNEL][..], &kernel, &[MARKER_USER], &user].concat();
        let body = [&head[..], &[chain.len() as u64], &chain].concat();
        let bytes = record(RECORD_SAMPLE, 1, &words(&body));
        let parsed = parse_record(&bytes, FORMAT).unwrap();
        let PerfEvent::Sample(sample) = parsed.event else { panic!() };
        let opinion = (parsed.time_ns, Some(sample.cpu), [sample.kernel, sample.user].concat());
        prop_assert_eq!(Some(opinion), second_opinion(&bytes));
    }
}
