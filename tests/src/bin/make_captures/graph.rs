//! Calls of functions of the kernel, nested, in the order of their ends.

use bathyscope_capture::{Append, ColumnType, Method, StreamKind, StreamSchema, TraceSpec};

use crate::{Maker, Rows, START_NS, column, dice::Dice};

const CPUS: u64 = 8;
const THREADS: u64 = 24;
const FUNCTIONS: u64 = 3_000;
const MOST_DEPTH: usize = 12;
const STEP_NS: u64 = 250;
/// Ids of texts: names of threads, then functions, then the state of a call.
const FUNCTION: u64 = THREADS + 1;
const RETURNED: u64 = FUNCTION + FUNCTIONS;

pub(crate) struct Graph {
    dice: Dice,
    now_ns: u64,
    /// Of each thread the calls that are open: function, and when it began.
    open: Vec<Vec<(u64, u64)>>,
}

impl Graph {
    pub(crate) fn new() -> Self {
        Self { dice: Dice::new(4), now_ns: START_NS, open: vec![Vec::new(); THREADS as usize] }
    }
}

impl Maker for Graph {
    fn method(&self) -> Method {
        Method::Trace(TraceSpec { tracer: Some("function_graph".to_owned()), ..TraceSpec::default() })
    }

    fn schemas(&self) -> Vec<StreamSchema> {
        let (text, number) = (ColumnType::Text, ColumnType::U64);
        let own = [("func", text), ("depth", number), ("duration_ns", number), ("caller", text), ("state", text)];
        vec![StreamSchema::new("function_graph", StreamKind::Events, own.map(|(name, ty)| column(name, ty)))]
    }

    fn dictionaries(&self) -> Append {
        let threads = (0..THREADS).map(|number| format!("worker-{number}"));
        let functions = (0..FUNCTIONS).map(|number| format!("do_part_{}_{number}", number % 31));
        let all = threads.chain(functions).chain(["returned".to_owned()]);
        Append { strings: (1..).zip(all.map(String::into_bytes)).collect(), ..Append::default() }
    }

    fn event(&mut self, streams: &mut [Rows]) -> u16 {
        let thread = self.dice.few(THREADS);
        let Some(open) = self.open.get_mut(thread as usize) else { return 0 };
        loop {
            self.now_ns += self.dice.length(STEP_NS);
            if open.is_empty() || (open.len() < MOST_DEPTH && self.dice.below(100) < 48) {
                open.push((self.dice.few(FUNCTIONS), self.now_ns));
                continue;
            }
            let Some((function, began_ns)) = open.pop() else { continue };
            let values = [
                self.now_ns,
                thread % CPUS,
                700 + thread,
                700 + thread,
                1 + thread,
                FUNCTION + function,
                open.len() as u64,
                self.now_ns - began_ns,
                0,
                RETURNED,
            ];
            if let Some(rows) = streams.first_mut() {
                rows.push(&values);
            }
            return 0;
        }
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}
