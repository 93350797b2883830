//! The program of one tracepoint: filter, reserve, fill, submit.

use bathyscope_capture::Display;
use bathyscope_catalog::{ColumnSource, FieldColumn, Operand as Named, columns_of};

use super::{
    COMM_BYTES, ColumnPlace, DYNAMIC_TEXT_ROOM, Encoding, MAX_RECORD_BYTES, ProbeError, ProbeProgram, TracepointProbe,
    USER_TEXT_ROOM,
    condition::Conditions,
    frame::{Frame, ProbeCounter, dynamic_text_address, largest_access, load_number},
    target::{TargetFilter, require_thread},
};
use crate::ir::{Builder, End, Helper, IrBinaryOp, MapDefinition, MapKind, Op, Operand, ProgramKind, Reg, Size, Test};

/// The smallest ring: a page.
const MIN_RING_BYTES: u32 = 4096;
/// The largest ring.
const MAX_RING_BYTES: u32 = 1 << 30;
/// A flag of `ringbuf_submit`: nobody is woken; readers poll, which costs a fortieth of waking for each record.
const NO_WAKEUP: i64 = 1;
/// Fixed text up to this is copied by loads and stores, which is faster than a helper.
const MAX_INLINE_COPY: u32 = 32;
/// Events of the scheduler that name a thread besides the one that runs, and where.
const NAMED_THREADS: [(&str, &str); 4] = [
    ("sched_switch", "next_pid"),
    ("sched_waking", "args.pid"),
    ("sched_wakeup", "args.pid"),
    ("sched_wakeup_new", "args.pid"),
];
/// Bytes of the length before text.
const LENGTH_BYTES: u32 = 4;

/// The program of one tracepoint of a capture.
///
/// # Errors
/// If a field or the predicate does not fit the event, or a size or name its limits.
pub fn tracepoint_program(probe: &TracepointProbe<'_>) -> Result<ProbeProgram, ProbeError> {
    check_ring(probe.ring_bytes)?;
    let columns = columns_of(probe.format, probe.fields)?;
    let (layout, record_bytes) = layout(&columns, probe.ring_bytes)?;
    let mut frame = Frame::new(probe.name, ProgramKind::Tracepoint)?;
    require_target(&mut frame, probe);
    let mut cpu = None;
    if let Some(predicate) = probe.predicate {
        predicate.validate()?;
        let conditions = Conditions::new(&mut frame, probe.format, predicate);
        cpu = conditions.require(predicate)?;
    }
    frame.require_allowance(record_bytes, None);
    let ring_name = format!("{}_ring", probe.name);
    let record = reserve(&mut frame, &ring_name, probe.ring_bytes, record_bytes);
    fill(&mut frame, record, cpu, &columns, &layout);
    frame.builder.call_only(Helper::RingbufSubmit, &[record.into(), Operand::Constant(NO_WAKEUP)]);
    frame.builder.end(End::Return(Operand::Constant(0)));
    let counters = frame.counters_name.clone();
    Ok(ProbeProgram { program: frame.finish(), layout, record_bytes, ring: ring_name, counters })
}

/// Goes on only where the hit is the target's. Of single threads these are also the scheduler's events that name one of them:
/// without the switch to a thread and its wake-ups, nothing would tell what it does.
fn require_target(frame: &mut Frame, probe: &TracepointProbe<'_>) {
    let named =
        NAMED_THREADS.iter().find(|(event, _)| probe.target == TargetFilter::Threads && *event == probe.format.name);
    let field = named.and_then(|(_, field)| match Named::resolve(probe.format, field) {
        Ok(Named::Field(ColumnSource::Number { offset, bytes, .. })) => Some((offset, bytes)),
        _ => None,
    });
    let Some((offset, bytes)) = field else { return frame.require_target(probe.target) };
    let (other, wanted) = (frame.builder.block(), frame.builder.block());
    require_thread(&mut frame.builder, frame.pid_tgid, wanted, other);
    frame.builder.switch_to(other);
    let thread = load_number(&mut frame.builder, offset, bytes, false);
    require_thread(&mut frame.builder, thread, wanted, frame.filtered);
    frame.builder.switch_to(wanted);
}

pub(crate) fn check_ring(bytes: u32) -> Result<(), ProbeError> {
    if bytes.is_power_of_two() && (MIN_RING_BYTES..=MAX_RING_BYTES).contains(&bytes) {
        return Ok(());
    }
    Err(ProbeError::Ring { bytes, least: MIN_RING_BYTES, most: MAX_RING_BYTES })
}

fn encoding(column: &FieldColumn) -> (Encoding, u32, u32) {
    let narrow = |bytes: u32| u8::try_from(bytes).unwrap_or(8);
    match column.source {
        ColumnSource::Number { bytes, signed: true, .. } => (Encoding::Signed { bytes: narrow(bytes) }, bytes, bytes),
        ColumnSource::Number { bytes, signed: false, .. } => {
            let hex = column.column.display == Display::Hex;
            (Encoding::Unsigned { bytes: narrow(bytes), hex }, bytes, bytes)
        }
        ColumnSource::FixedText { bytes, .. } => {
            let room = u16::try_from(bytes).unwrap_or(u16::MAX);
            (Encoding::FixedText { bytes: room }, u32::from(room), 8)
        }
        ColumnSource::DynamicText { .. } => length_text(DYNAMIC_TEXT_ROOM),
        ColumnSource::UserText { .. } => length_text(USER_TEXT_ROOM),
    }
}

fn length_text(room: u16) -> (Encoding, u32, u32) {
    (Encoding::LengthText { room }, LENGTH_BYTES + u32::from(room), LENGTH_BYTES)
}

/// Places the columns one after the other, each aligned as it is accessed.
fn layout(columns: &[FieldColumn], ring_bytes: u32) -> Result<(Vec<ColumnPlace>, u32), ProbeError> {
    let number = |bytes| (Encoding::Unsigned { bytes, hex: false }, u32::from(bytes), u32::from(bytes));
    let comm = (Encoding::FixedText { bytes: COMM_BYTES }, u32::from(COMM_BYTES), 8);
    let common = [("time", number(8)), ("cpu", number(4)), ("pid", number(4)), ("tid", number(4)), ("comm", comm)];
    let common = common.into_iter().map(|(name, encoding)| (name.to_owned(), encoding));
    let own = columns.iter().map(|column| (column.column.name.clone(), encoding(column)));
    let mut places = Vec::new();
    let mut end = 0_u32;
    for (name, (encoding, bytes, alignment)) in common.chain(own) {
        let offset = end.next_multiple_of(alignment);
        end = offset.saturating_add(bytes);
        places.push(ColumnPlace { name, offset, encoding });
        if end > MAX_RECORD_BYTES {
            return Err(ProbeError::Record { bytes: end });
        }
    }
    let bytes = end.next_multiple_of(8);
    // The kernel puts 8 bytes before each record and never fills a ring to the last byte.
    if bytes > MAX_RECORD_BYTES || bytes.saturating_add(16) > ring_bytes {
        return Err(ProbeError::Record { bytes });
    }
    Ok((places, bytes))
}

fn reserve(frame: &mut Frame, ring_name: &str, ring_bytes: u32, record_bytes: u32) -> Reg {
    let ring = frame.builder.map(MapDefinition::new(ring_name.to_owned(), MapKind::RingBuffer, 0, 0, ring_bytes));
    let ring = frame.builder.map_address(ring);
    let bytes = Operand::Constant(i64::from(record_bytes));
    let record = frame.builder.call(Helper::RingbufReserve, &[ring.into(), bytes, Operand::Constant(0)]);
    let (there, full) = (frame.builder.block(), frame.builder.block());
    frame.builder.branch(Test::Eq, record, 0, full, there);
    frame.builder.switch_to(full);
    frame.count(ProbeCounter::RingFull);
    frame.builder.end(End::Return(Operand::Constant(0)));
    frame.builder.switch_to(there);
    record
}

fn offset_in(record_offset: u32) -> i16 {
    // Records are at most MAX_RECORD_BYTES long.
    i16::try_from(record_offset).unwrap_or(i16::MAX)
}

fn store(builder: &mut Builder, record: Reg, offset: u32, size: Size, value: Reg) {
    builder.push(Op::Store { base: record, offset: offset_in(offset), size, value: value.into() });
}

fn fill(frame: &mut Frame, record: Reg, cpu: Option<Reg>, columns: &[FieldColumn], layout: &[ColumnPlace]) {
    let at = |index: usize| layout.get(index).map_or(0, |place| place.offset);
    let time = frame.builder.call(Helper::KtimeGetNs, &[]);
    store(&mut frame.builder, record, at(0), Size::B8, time);
    let cpu = cpu.unwrap_or_else(|| frame.builder.call(Helper::GetSmpProcessorId, &[]));
    store(&mut frame.builder, record, at(1), Size::B4, cpu);
    store(&mut frame.builder, record, at(2), Size::B4, frame.tgid);
    let tid = frame.tid();
    store(&mut frame.builder, record, at(3), Size::B4, tid);
    let builder = &mut frame.builder;
    let room = address(builder, record, at(4));
    builder.call_only(Helper::GetCurrentComm, &[room.into(), Operand::Constant(i64::from(COMM_BYTES))]);
    for (index, column) in columns.iter().enumerate() {
        copy(builder, record, at(index + 5), column.source);
    }
}

fn address(builder: &mut Builder, record: Reg, offset: u32) -> Reg {
    builder.binary(IrBinaryOp::Add, record, i64::from(offset))
}

fn copy(builder: &mut Builder, record: Reg, to: u32, source: ColumnSource) {
    match source {
        ColumnSource::Number { offset, bytes, .. } => {
            let number = load_number(builder, offset, bytes, false);
            store(builder, record, to, Size::of(bytes).unwrap_or(Size::B8), number);
        }
        ColumnSource::FixedText { offset, bytes } if bytes <= MAX_INLINE_COPY => {
            let mut done = 0;
            while done < bytes {
                let size = largest_access(&[offset + done, to + done], bytes - done);
                let piece = builder.load_context(offset + done, size, false);
                store(builder, record, to + done, size, piece);
                done += size.bytes();
            }
        }
        ColumnSource::FixedText { offset, bytes } => {
            let room = address(builder, record, to);
            let from = builder.reg();
            builder.push(Op::ContextAddress { to: from, offset });
            let bytes = Operand::Constant(i64::from(bytes));
            builder.call_only(Helper::ProbeReadKernel, &[room.into(), bytes, from.into()]);
        }
        ColumnSource::DynamicText { offset, relative } => {
            let from = dynamic_text_address(builder, offset, relative);
            copy_text(builder, record, to, Helper::ProbeReadKernelStr, DYNAMIC_TEXT_ROOM, from);
        }
        ColumnSource::UserText { offset } => {
            let from = load_number(builder, offset, 8, false);
            copy_text(builder, record, to, Helper::ProbeReadUserStr, USER_TEXT_ROOM, from);
        }
    }
}

fn copy_text(builder: &mut Builder, record: Reg, to: u32, helper: Helper, room: u16, from: Reg) {
    let text = address(builder, record, to + LENGTH_BYTES);
    let length = builder.call(helper, &[text.into(), Operand::Constant(i64::from(room)), from.into()]);
    store(builder, record, to, Size::B4, length);
}
