//! Samples of processes, functions and files whose names try to be something else than text.

use std::sync::Arc;

use bathyscope_capture::{
    Append, ColumnType, Frame, Mapping, MappingKind, Method, ProfileSpec, StreamKind, StreamSchema, Symbol,
};

use crate::{Maker, Rows, START_NS, column, hostile_names::hostile_names};

const PERIOD_NS: u64 = 1_000_000;

pub(crate) struct Hostile {
    names: Vec<Vec<u8>>,
    made: u64,
}

impl Hostile {
    pub(crate) fn new() -> Self {
        Self { names: hostile_names(), made: 0 }
    }

    fn ids(&self) -> impl Iterator<Item = (u32, &Vec<u8>)> {
        (1..).zip(&self.names)
    }
}

impl Maker for Hostile {
    fn method(&self) -> Method {
        Method::Profile(ProfileSpec::default())
    }

    fn schemas(&self) -> Vec<StreamSchema> {
        vec![StreamSchema::new("cpu-clock", StreamKind::Samples, [column("stack", ColumnType::Stack)])]
    }

    fn dictionaries(&self) -> Append {
        let file = |name: &[u8]| Mapping { kind: MappingKind::File, build_id: Vec::new(), name: name.to_vec(), pid: 0 };
        let function = |name: &[u8]| Symbol {
            function: String::from_utf8_lossy(name).into_owned(),
            offset: 16,
            lines: Vec::new(),
        };
        let count = u32::try_from(self.names.len()).unwrap_or(1);
        // Each below the next one.
        let frames = |id: u32| [id, 1 + id % count];
        Append {
            strings: self.ids().map(|(id, name)| (id, name.clone())).collect(),
            mappings: self.ids().map(|(id, name)| (id, file(name))).collect(),
            frames: self.ids().map(|(id, _)| (id, Frame { mapping: id, offset: 256 })).collect(),
            symbols: self.ids().map(|(id, name)| (id, function(name))).collect(),
            stacks: self.ids().map(|(id, _)| (id, Arc::from(frames(id)))).collect(),
            ..Append::default()
        }
    }

    fn event(&mut self, streams: &mut [Rows]) -> u16 {
        let name = 1 + self.made % self.names.len() as u64;
        self.made += 1;
        if let Some(rows) = streams.first_mut() {
            rows.push(&[self.now_ns(), 0, 100 + name, 100 + name, name, name]);
        }
        0
    }

    fn now_ns(&self) -> u64 {
        START_NS + self.made * PERIOD_NS
    }

    fn title(&self) -> Option<String> {
        Some("</title><script>window.hacked=3</script><img src=x onerror=window.hacked=4>".to_owned())
    }
}
