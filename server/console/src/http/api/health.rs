//! Whether the console answers. It says nothing else, because everybody may ask.

use super::super::access::Anonymous;

/// `ok`.
pub(in crate::http) async fn healthz(_: Anonymous) -> &'static str {
    "ok"
}
