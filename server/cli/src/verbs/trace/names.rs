//! Names of functions of a capture that runs or has just ended, for lines that are printed as rows come.

use bathyscope_capture::{CaptureId, FrameId, MappingId, StackId};
use bathyscope_recorder::Recorder;
use bathyscope_store::{Store, StoreError};
use bathyscope_views::Dictionaries;

/// What was loaded of a capture's stacks and names.
#[derive(Debug, Default)]
pub(in crate::verbs) struct NameReader {
    stacks: StackId,
    frames: FrameId,
    mappings: MappingId,
}

impl NameReader {
    /// The last stack that was loaded.
    pub(in crate::verbs) fn last_stack(&self) -> StackId {
        self.stacks
    }

    /// Looks up the names of what has none yet, and loads what is new.
    pub(in crate::verbs) async fn load(
        &mut self,
        recorder: &Recorder,
        store: &Store,
        id: CaptureId,
        into: &mut Dictionaries,
    ) -> Result<(), StoreError> {
        if recorder.is_recording(id) {
            recorder.name_functions(id).await;
        } else {
            recorder.ended(id).await;
        }
        for (id, stack) in store.stacks(id, self.stacks).await? {
            self.stacks = self.stacks.max(id);
            into.insert_stack(id, stack);
        }
        for (id, frame) in store.frames(id, self.frames).await? {
            self.frames = self.frames.max(id);
            into.insert_frame(id, frame);
        }
        for (id, mapping) in store.mappings(id, self.mappings).await? {
            self.mappings = self.mappings.max(id);
            into.insert_mapping(id, mapping);
        }
        // Names come in no order.
        for (id, symbol) in store.symbols(id, 0).await? {
            into.insert_symbol(id, symbol);
        }
        Ok(())
    }
}
