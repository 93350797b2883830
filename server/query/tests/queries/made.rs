//! A capture with many chunks.

use bathyscope_capture::{Batch, Column, ColumnData, ColumnType, Display, StreamKind, StreamSchema};
use bathyscope_views::MemorySource;

use crate::fixture::{Build, Own};

/// Chunks of [`switches`].
pub(crate) const CHUNKS: usize = 20;
/// Rows of each.
pub(crate) const ROWS: usize = 500;

/// 20 chunks of 500 rows, a row each microsecond; `chunk` is the same in a chunk, `prio` its negative, `dur` below 1000.
pub(crate) fn switches() -> MemorySource {
    let mut build = Build::default();
    let own = [
        ("chunk", ColumnType::U64, Display::Decimal),
        ("prio", ColumnType::I64, Display::Decimal),
        ("dur", ColumnType::U64, Display::DurationNs),
    ];
    build.stream("sched:sched_switch", StreamKind::Events, &own);
    let comms: [&[u8]; 4] = [b"one", b"two", b"three", b"a b"];
    for chunk in 0..CHUNKS as u64 {
        if chunk > 0 {
            build.chunk();
        }
        for row in 0..ROWS as u64 {
            let n = chunk * ROWS as u64 + row;
            let comm = comms[(n / 7 % 4) as usize];
            let fields = [Own::U(chunk), Own::I(-(chunk as i64) - 1 + i64::from(row == 0)), Own::U(n * 7919 % 1000)];
            build.event((n * 1000, n % 8, n % 13, n % 29, comm), &fields);
        }
    }
    build.finish()
}

/// What takes time and is told when it ends, counts, and a sample's kin with a name that SQL must not read.
pub(crate) fn mixed() -> MemorySource {
    let mut build = Build::default();
    let duration = ("duration_ns", ColumnType::U64, Display::DurationNs);
    build.stream("it's \"taken\"", StreamKind::Events, &[duration]);
    build.event((500, 1, 7, 8, b"one"), &[Own::U(200)]);
    build.event((900, 0, 7, 9, b"two"), &[Own::U(900)]);
    let text = |name| (name, ColumnType::Text, Display::Text);
    let value = ("value", ColumnType::U64, Display::Decimal);
    build.stream(
        "counts",
        StreamKind::Events,
        &[text("event"), text("scope"), value, ("span_ns", duration.1, duration.2)],
    );
    build.event((1000, 0, 0, 0, b""), &[Own::T(b"cs"), Own::T(b"all"), Own::U(42), Own::U(1000)]);
    build.finish()
}

/// System calls, of half of which it is not known how long they took.
pub(crate) fn calls() -> MemorySource {
    let mut build = Build::default();
    let own = [
        ("call", ColumnType::Text, Display::Text),
        ("result", ColumnType::I64, Display::Decimal),
        ("duration_ns", ColumnType::U64, Display::DurationNs),
    ];
    build.stream("syscalls", StreamKind::Events, &own);
    let rows: [(&[u8], u64); 6] =
        [(b"read", 0), (b"read", 50), (b"write", 30), (b"write", 0), (b"futex", 0), (b"read", 7)];
    for (time, (call, length)) in (0..).zip(rows) {
        if time == 4 {
            build.chunk();
        }
        build.event((time, 0, 1, 1, b"sh"), &[Own::T(call), Own::I(0), Own::U(length)]);
    }
    build.finish()
}

/// A count, a gauge, and a pressure, as captures have them since there are gauges.
pub(crate) fn gauges() -> MemorySource {
    let mut build = Build::default();
    let text = |name| (name, ColumnType::Text, Display::Text);
    let number = |name| (name, ColumnType::U64, Display::Decimal);
    let own = [text("event"), text("scope"), number("value"), number("span_ns"), number("gauge"), text("unit")];
    build.stream("counts", StreamKind::Events, &own);
    let rows: [(&[u8], u64, u64, &[u8]); 3] =
        [(b"cs", 42, 0, b""), (b"memory:free", 4096, 1, b"bytes"), (b"pressure:io-some", 250, 0, b"ns")];
    for (event, value, gauge, unit) in rows {
        let row = [Own::T(event), Own::T(b"all"), Own::U(value), Own::U(1000), Own::U(gauge), Own::T(unit)];
        build.event((1000, 0, 0, 0, b""), &row);
    }
    build.finish()
}

/// So many rows with a number each that no other row has, far from the others.
pub(crate) fn all_different(rows: u64) -> MemorySource {
    let own = [Column { name: "v".to_owned(), ty: ColumnType::U64, display: Display::Decimal }];
    let schema = StreamSchema::new("big", StreamKind::Events, own);
    let batch = |from: u64| {
        let numbers = || from..rows.min(from + 65_536);
        let column = |of: fn(u64) -> u64| ColumnData::U64(numbers().map(of).collect());
        let comm = ColumnData::Id(numbers().map(|_| 0).collect());
        let v = column(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Batch { columns: vec![column(|n| n), column(|n| n % 4), column(|_| 1), column(|_| 1), comm, v] }
    };
    let mut source = MemorySource::new(0);
    source.push_stream(schema, (0..rows).step_by(65_536).map(batch).collect());
    source
}
