//! The stacks of calls, as `strace -k` prints them.

use bathyscope_capture::{CaptureId, FrameId, MappingKind, ShownCell, StackId, visible};
use bathyscope_recorder::{CUT_NAME, Recorder};
use bathyscope_store::{Store, StoreError};
use bathyscope_views::Dictionaries;
use serde_json::{Value, json};

use crate::verbs::trace::{names::NameReader, rows::StreamRow};

/// What stands behind a call whose stack could not be copied.
const NONE: &str = " > [no stack was recorded]\n";

/// Stacks of a capture that runs or has just ended.
#[derive(Default)]
pub(super) struct Stacks {
    dictionaries: Dictionaries,
    names: NameReader,
}

impl Stacks {
    /// Loads what rows refer to, with the names of functions, which are looked up before.
    pub(super) async fn load(
        &mut self,
        recorder: &Recorder,
        store: &Store,
        id: CaptureId,
        rows: &[StreamRow],
    ) -> Result<(), StoreError> {
        let last = rows.iter().filter_map(stack_of).max().unwrap_or(0);
        if last <= self.names.last_stack() {
            return Ok(());
        }
        self.names.load(recorder, store, id, &mut self.dictionaries).await
    }

    /// The frames of a row's stack, innermost first, a line each.
    pub(super) fn lines(&self, row: &StreamRow) -> String {
        let Some(id) = stack_of(row) else { return NONE.to_owned() };
        let frames = self.dictionaries.stack(id).unwrap_or_default();
        frames.iter().map(|frame| self.line(*frame)).collect()
    }

    fn line(&self, frame: FrameId) -> String {
        let place = self.dictionaries.frame(frame);
        let mapping = place.and_then(|place| self.dictionaries.mapping(place.mapping));
        let (Some(place), Some(mapping)) = (place, mapping) else { return NONE.to_owned() };
        if mapping.kind == MappingKind::Unknown {
            return match mapping.name.as_slice() {
                CUT_NAME => " > [the stack goes on, and was not copied farther]\n".to_owned(),
                _ => format!(" > [nothing is mapped there] [{:#x}]\n", place.offset),
            };
        }
        let function = self.dictionaries.symbol(frame);
        let function =
            function.map(|it| format!("{}+{:#x}", visible(it.function.as_bytes()), it.offset)).unwrap_or_default();
        format!(" > {}({function}) [{:#x}]\n", visible(&mapping.name), place.offset)
    }

    /// The same as values.
    pub(super) fn values(&self, row: &StreamRow) -> Value {
        let frames = stack_of(row).and_then(|id| self.dictionaries.stack(id));
        let value = |frame: &FrameId| {
            let place = self.dictionaries.frame(*frame);
            let mapping = place.and_then(|place| self.dictionaries.mapping(place.mapping));
            let symbol = self.dictionaries.symbol(*frame);
            json!({
                "file": mapping.map(|mapping| visible(&mapping.name)),
                "function": symbol.map(|symbol| visible(symbol.function.as_bytes())),
                "offset": symbol.map(|symbol| symbol.offset),
                "place": place.map(|place| place.offset),
            })
        };
        frames.map_or(Value::Null, |frames| frames.iter().map(value).collect())
    }
}

/// The stack of a row, which is in its last column where there are any.
fn stack_of(row: &StreamRow) -> Option<StackId> {
    match row.cells.last() {
        Some(ShownCell::Stack { id, .. }) => Some(*id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::{Frame, Mapping, Symbol};

    use super::*;

    fn stacks() -> Stacks {
        let mut stacks = Stacks::default();
        let all = &mut stacks.dictionaries;
        let names = [
            (MappingKind::File, &b"/usr/lib/libc.so.6"[..]),
            (MappingKind::File, b"/bin/a\nb"),
            (MappingKind::Unknown, b"[cut]"),
            (MappingKind::Unknown, b""),
        ];
        for (id, (kind, name)) in (1..).zip(names) {
            all.insert_mapping(id, Mapping { kind, build_id: Vec::new(), name: name.to_vec(), pid: 0 });
            all.insert_frame(id, Frame { mapping: id, offset: 0xf7a04 });
        }
        all.insert_symbol(1, Symbol { function: "write".to_owned(), offset: 0x14, lines: Vec::new() });
        all.insert_stack(1, [1, 2, 3, 4].into());
        stacks
    }

    fn row(stack: ShownCell) -> StreamRow {
        StreamRow { time_ns: 0, stream: 0, cells: vec![ShownCell::Number(0), stack], text: None }
    }

    #[test]
    fn frames_look_as_straces_do() {
        let stack = row(ShownCell::Stack { id: 1, top: String::new(), depth: 4 });
        let expected = " > /usr/lib/libc.so.6(write+0x14) [0xf7a04]\n > /bin/a\\nb() [0xf7a04]\n \
                        > [the stack goes on, and was not copied farther]\n > [nothing is mapped there] [0xf7a04]\n";
        assert_eq!(stacks().lines(&stack), expected);
        assert_eq!(stacks().lines(&row(ShownCell::Null)), NONE);
    }

    #[test]
    fn frames_are_values_too() {
        let stacks = stacks();
        let values = stacks.values(&row(ShownCell::Stack { id: 1, top: String::new(), depth: 4 }));
        let first = json!({ "file": "/usr/lib/libc.so.6", "function": "write", "offset": 0x14, "place": 0xf7a04 });
        assert_eq!((&values[0], &values[1]["function"]), (&first, &Value::Null));
        assert_eq!(stacks.values(&row(ShownCell::Null)), Value::Null);
    }
}
