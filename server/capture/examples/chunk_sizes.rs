//! Measures the chunk format on made-up scheduler switches: `cargo run --release --example chunk_sizes`.
#![expect(clippy::print_stdout, reason = "a measuring program")]

use std::time::Instant;

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, MAX_CHUNK_ROWS, StreamKind, StreamSchema, decode_chunk,
    encode_chunk,
};

/// A small generator (xorshift): the same rows on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

fn schema() -> StreamSchema {
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
    let (number, text) = (ColumnType::I64, ColumnType::Text);
    let own = [
        ("prev_comm", text),
        ("prev_pid", number),
        ("prev_prio", number),
        ("prev_state", number),
        ("next_comm", text),
        ("next_pid", number),
        ("next_prio", number),
    ];
    StreamSchema::new("sched:sched_switch", StreamKind::Events, own.map(|(name, ty)| column(name, ty)))
}

/// Switches on 16 CPUs among 400 threads, of which few run most of the time, about 1.2 million in a second.
fn switches(random: &mut Random, now_ns: &mut u64, running: &mut [u64; 16], rows: usize) -> Batch {
    let mut columns: [Vec<u64>; 8] = Default::default();
    for _ in 0..rows {
        *now_ns += 1 << random.below(11);
        let cpu = random.below(16);
        let awake = 20 + random.below(380);
        let slot = &mut running[cpu as usize % 16];
        let before = *slot;
        *slot = if before == 0 || random.below(3) == 0 { 1 + random.below(awake) } else { 0 };
        let values = [*now_ns, cpu, before / 3 * 3 + 900, before + 900, before, *slot, 120 - before % 3 * 20];
        columns.iter_mut().zip(values.into_iter().chain([random.below(3) % 2])).for_each(|(c, v)| c.push(v));
    }
    let [time, cpu, pid, tid, comm, next, prio, state] = columns;
    let ids = |values: &[u64]| ColumnData::Id(values.iter().map(|value| *value as u32 / 2).collect());
    let signed = |values: &[u64]| ColumnData::I64(values.iter().map(|value| value.cast_signed()).collect());
    let next_pid: Vec<u64> = next.iter().map(|next| next + 900).collect();
    let own = [ids(&comm), signed(&tid), signed(&prio), signed(&state), ids(&next), signed(&next_pid), signed(&prio)];
    let common = [ColumnData::U64(time), ColumnData::U64(cpu), ColumnData::U64(pid), ColumnData::U64(tid), ids(&comm)];
    Batch { columns: common.into_iter().chain(own).collect() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = schema();
    let all: Vec<usize> = (0..schema.columns.len()).collect();
    for rows in [1000, 10_000, MAX_CHUNK_ROWS] {
        let (mut random, mut now_ns, mut running) = (Random(88_172_645_463_325_252), 1 << 40, [0; 16]);
        let count = 2_000_000 / rows;
        let batches: Vec<Batch> = (0..count).map(|_| switches(&mut random, &mut now_ns, &mut running, rows)).collect();
        let total = (count * rows) as f64;
        let start = Instant::now();
        let chunks = batches.iter().map(|batch| encode_chunk(&schema, batch)).collect::<Result<Vec<_>, _>>()?;
        let encode = total / start.elapsed().as_secs_f64() / 1e6;
        let bytes: usize = chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        let mut rates = [0.0; 2];
        for (rate, wanted) in rates.iter_mut().zip([&all[..], &[0, 2][..]]) {
            let start = Instant::now();
            for chunk in &chunks {
                std::hint::black_box(decode_chunk(&schema, &chunk.bytes, wanted)?);
            }
            *rate = total / start.elapsed().as_secs_f64() / 1e6;
        }
        println!(
            "{rows:6} rows a chunk: {:5.2} bytes/row, encode {encode:5.1} M rows/s, decode {:5.1} M rows/s, time and \
             pid only {:5.1} M rows/s",
            bytes as f64 / total,
            rates[0],
            rates[1]
        );
    }
    Ok(())
}
