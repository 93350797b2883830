//! Switches and wake-ups as the source of thread states records them.

use bathyscope_capture::{Append, ColumnType, Method, StatesSpec, StreamKind, StreamSchema};

use crate::{Maker, Rows, START_NS, column, machine::Machine};

pub(crate) struct States {
    machine: Machine,
    texts: Vec<Vec<u8>>,
    now_ns: u64,
}

impl States {
    pub(crate) fn new() -> Self {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        let machine = Machine::new(false, START_NS, |text| {
            let known = texts.iter().position(|one| one == text);
            let index = known.unwrap_or_else(|| {
                texts.push(text.to_vec());
                texts.len() - 1
            });
            1 + index as u64
        });
        Self { machine, texts, now_ns: START_NS }
    }
}

impl Maker for States {
    fn method(&self) -> Method {
        Method::States(StatesSpec::default())
    }

    fn schemas(&self) -> Vec<StreamSchema> {
        let (number, text) = (ColumnType::U64, ColumnType::Text);
        let switch = [("state", text), ("next_pid", number), ("next_tid", number), ("next_comm", text)];
        let wakeup = [
            ("wakee_pid", number),
            ("wakee_tid", number),
            ("wakee_comm", text),
            ("target_cpu", number),
            ("new", number),
        ];
        vec![
            StreamSchema::new("switches", StreamKind::Events, switch.map(|(name, ty)| column(name, ty))),
            StreamSchema::new("wakeups", StreamKind::Events, wakeup.map(|(name, ty)| column(name, ty))),
        ]
    }

    fn dictionaries(&self) -> Append {
        Append { strings: (1..).zip(self.texts.iter().cloned()).collect(), ..Append::default() }
    }

    fn event(&mut self, streams: &mut [Rows]) -> u16 {
        let Some((time, stream, row)) = self.machine.next_event() else { return 0 };
        self.now_ns = time;
        if let Some(rows) = streams.get_mut(stream) {
            rows.push(&row);
        }
        stream as u16
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}
