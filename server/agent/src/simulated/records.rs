//! perf records, as the kernel writes them.

use bathyscope_protocol::{RingContent, RingInfo, RingKind};

use super::{
    sample_records::Parts,
    world::{CODE_ADDRESS, CODE_BYTES, CODE_OFFSET},
};

/// IP, TID, TIME, CPU, PERIOD, CALLCHAIN.
const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 5;
/// LOST.
const READ_FORMAT: u64 = 1 << 4;
const MISC_KERNEL: u16 = 1;
const MISC_USER: u16 = 2;
const MISC_EXEC: u16 = 1 << 13;
const MISC_BUILD_ID: u16 = 1 << 14;
/// What stands in a call chain before frames of the kernel.
pub(super) const CONTEXT_KERNEL: u64 = (-128_i64).cast_unsigned();
/// What stands in a call chain before frames of the user.
pub(super) const CONTEXT_USER: u64 = (-512_i64).cast_unsigned();

/// When, where and by whom a record was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) time_ns: u64,
    pub(super) cpu: u32,
}

pub(super) fn ring_info(content: RingContent, data_bytes: u32, cpu: u32) -> RingInfo {
    sample_ring_info(content, (0, 0), data_bytes, cpu)
}

/// Of a ring whose samples hold more: further bits of `sample_type`, and `branch_sample_type`.
pub(super) fn sample_ring_info(content: RingContent, more: (u64, u64), data_bytes: u32, cpu: u32) -> RingInfo {
    let (sample_type, branch_sample_type) = (SAMPLE_TYPE | more.0, more.1);
    let kind = RingKind::Perf { sample_type, read_format: READ_FORMAT, sample_id_all: true, branch_sample_type };
    RingInfo { kind, content, data_bytes, cpu: Some(cpu) }
}

fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len();
    let mut bytes = Vec::with_capacity(size);
    bytes.extend(kind.to_le_bytes());
    bytes.extend(misc.to_le_bytes());
    bytes.extend(u16::try_from(size).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend(body);
    bytes
}

fn u32s(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn u64s(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// What stands at the end of records that are no samples.
fn sample_id(at: Moment) -> Vec<u8> {
    [u32s(&[at.pid, at.tid]), u64s(&[at.time_ns]), u32s(&[at.cpu, 0])].concat()
}

fn text(bytes: &[u8]) -> Vec<u8> {
    let mut text = bytes.to_vec();
    text.resize((bytes.len() + 1).next_multiple_of(8), 0);
    text
}

pub(super) fn comm(at: Moment, name: &[u8], exec: bool) -> Vec<u8> {
    let misc = if exec { MISC_EXEC } else { 0 };
    record(3, misc, &[u32s(&[at.pid, at.tid]), text(name), sample_id(at)].concat())
}

pub(super) fn fork(at: Moment, parent: u32) -> Vec<u8> {
    record(7, 0, &[u32s(&[at.pid, parent, at.tid, parent]), u64s(&[at.time_ns]), sample_id(at)].concat())
}

pub(super) fn exit(at: Moment, parent: u32) -> Vec<u8> {
    record(4, 0, &[u32s(&[at.pid, parent, at.tid, parent]), u64s(&[at.time_ns]), sample_id(at)].concat())
}

pub(super) fn mapping(at: Moment, path: &[u8], build_id: [u8; 20]) -> Vec<u8> {
    let place = u64s(&[CODE_ADDRESS, CODE_BYTES, CODE_OFFSET]);
    let id = [[20, 0, 0, 0].as_slice(), &build_id].concat();
    let body = [u32s(&[at.pid, at.tid]), place, id, u32s(&[5, 2]), text(path), sample_id(at)].concat();
    record(10, MISC_USER | MISC_BUILD_ID, &body)
}

pub(super) fn lost(at: Moment, count: u64) -> Vec<u8> {
    record(2, 0, &[u64s(&[1, count]), sample_id(at)].concat())
}

pub(super) fn sample(at: Moment, period: u64, (in_kernel, chain): (bool, &[u64]), parts: &Parts) -> Vec<u8> {
    let ip = chain.iter().copied().find(|address| !matches!(*address, CONTEXT_KERNEL | CONTEXT_USER)).unwrap_or(0);
    let place = [u64s(&[at.time_ns]), u64s(&parts.address), u32s(&[at.cpu, 0])].concat();
    let head = [u64s(&[ip]), u32s(&[at.pid, at.tid]), place].concat();
    let more = [u64s(&parts.branches), u64s(&parts.access)].concat();
    let misc = if in_kernel { MISC_KERNEL } else { MISC_USER };
    record(9, misc, &[head, u64s(&[period, chain.len() as u64]), u64s(chain), more].concat())
}

#[cfg(test)]
mod tests {
    use linux_perf_event_reader::{Endianness, EventRecord, RawEventRecord, RecordParseInfo, RecordType, SampleFormat};

    use super::*;

    const AT: Moment = Moment { pid: 7, tid: 8, time_ns: 9, cpu: 1 };

    fn check(bytes: &[u8], expected: impl FnOnce(&EventRecord<'_>) -> bool) {
        use linux_perf_event_reader::RawData;
        let info = RecordParseInfo {
            endian: Endianness::LittleEndian,
            sample_format: SampleFormat::from_bits_retain(SAMPLE_TYPE),
            branch_sample_format: linux_perf_event_reader::BranchSampleFormat::empty(),
            read_format: linux_perf_event_reader::ReadFormat::from_bits_retain(READ_FORMAT),
            common_data_offset_from_end: Some(24),
            sample_regs_user: 0,
            user_regs_count: 0,
            sample_regs_intr: 0,
            intr_regs_count: 0,
            id_parse_info: linux_perf_event_reader::RecordIdParseInfo {
                nonsample_record_id_offset_from_end: None,
                sample_record_id_offset_from_start: None,
            },
            nonsample_record_time_offset_from_end: Some(16),
            sample_record_time_offset_from_start: Some(16),
        };
        let kind = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        let misc = u16::from_le_bytes(bytes[4..6].try_into().unwrap());
        assert_eq!(usize::from(u16::from_le_bytes(bytes[6..8].try_into().unwrap())), bytes.len());
        assert!(bytes.len().is_multiple_of(8));
        let raw = RawEventRecord {
            record_type: RecordType(kind),
            misc,
            data: RawData::Single(&bytes[8..]),
            parse_info: info,
        };
        assert_eq!(raw.timestamp(), Some(9));
        assert!(expected(&raw.parse().unwrap()), "{raw:?}");
    }

    #[test]
    fn records_are_those_that_a_reader_of_perf_expects() {
        check(
            &comm(AT, b"name", true),
            |record| matches!(record, EventRecord::Comm(comm) if comm.pid == 7 && comm.is_execve && &*comm.name.as_slice() == b"name"),
        );
        check(&fork(AT, 3), |record| matches!(record, EventRecord::Fork(fork) if fork.pid == 7 && fork.ppid == 3));
        check(&exit(AT, 3), |record| matches!(record, EventRecord::Exit(exit) if exit.tid == 8));
        check(&lost(AT, 5), |record| matches!(record, EventRecord::Lost(lost) if lost.count == 5));
        check(&mapping(AT, b"/a", [6; 20]), |record| {
            use linux_perf_event_reader::Mmap2FileId;
            matches!(record, EventRecord::Mmap2(map) if map.address == CODE_ADDRESS && &*map.path.as_slice() == b"/a"
                && matches!(&map.file_id, Mmap2FileId::BuildId(id) if id == &[6; 20]))
        });
        check(&sample(AT, 11, (true, &[CONTEXT_KERNEL, 1, CONTEXT_USER, 2]), &Parts::default()), |record| {
            matches!(record, EventRecord::Sample(sample) if sample.period == Some(11) && sample.cpu == Some(1)
                && sample.ip == Some(1) && sample.callchain.as_ref().map(|chain| chain.len()) == Some(4))
        });
    }
}
