//! What tracks are of, as addresses of pages have it.

use bathyscope_capture::{TrackKind, TrackRule};

use super::value_text;
use crate::Source;

/// What the track of a stream with this key is of: `tid:N`, `cpu:N`, `idle:N` by CPU, or a value of the key's column as people
/// read it.
pub(crate) fn track_key(source: &dyn Source, stream: u16, key: u64) -> String {
    let rule = source.streams().get(usize::from(stream)).and_then(TrackRule::of);
    match (rule.as_ref().map(TrackRule::kind), TrackRule::idle_cpu(key)) {
        (Some(TrackKind::Thread), Some(cpu)) => format!("idle:{cpu}"),
        (Some(TrackKind::Thread), None) => format!("tid:{key}"),
        (Some(TrackKind::Cpu), _) => format!("cpu:{key}"),
        (Some(TrackKind::Value(_)) | None, _) => value_text(source, stream, key),
    }
}
