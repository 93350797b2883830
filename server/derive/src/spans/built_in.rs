//! The spans that everybody has.

use super::definition::{Span, SpanEdge, SpanPairing};

/// A span of the table of built-in ones.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInSpan {
    /// Its name, which its stream has.
    pub name: &'static str,
    /// The stream of its begins, and the columns of the key there.
    pub begin: (&'static str, &'static [&'static str]),
    /// The stream of its ends, and the columns of the key there.
    pub end: (&'static str, &'static [&'static str]),
    /// Which of several begins an end belongs to.
    pub pairing: SpanPairing,
    /// More columns of the begin.
    pub carried: &'static [&'static str],
}

/// All built-in spans.
pub const BUILT_IN_SPANS: [BuiltInSpan; 4] = [
    // A device has one request at a sector at a time; flushes are all at sector 0. A request that is completed in parts ends
    // with the first of them.
    BuiltInSpan {
        name: "block requests",
        begin: ("block:block_rq_issue", &["dev", "sector"]),
        end: ("block:block_rq_complete", &["dev", "sector"]),
        pairing: SpanPairing::Exclusive,
        carried: &["nr_sector", "bytes", "rwbs"],
    },
    // Several handlers of one interrupt run one after another.
    BuiltInSpan {
        name: "interrupt handlers",
        begin: ("irq:irq_handler_entry", &["cpu", "irq"]),
        end: ("irq:irq_handler_exit", &["cpu", "irq"]),
        pairing: SpanPairing::Nested,
        carried: &["name"],
    },
    BuiltInSpan {
        name: "soft interrupts",
        begin: ("irq:softirq_entry", &["cpu", "vec"]),
        end: ("irq:softirq_exit", &["cpu", "vec"]),
        pairing: SpanPairing::Exclusive,
        carried: &[],
    },
    // No item runs twice at a time.
    BuiltInSpan {
        name: "workqueue items",
        begin: ("workqueue:workqueue_execute_start", &["work"]),
        end: ("workqueue:workqueue_execute_end", &["work"]),
        pairing: SpanPairing::Exclusive,
        carried: &["function"],
    },
];

impl From<&BuiltInSpan> for Span {
    fn from(span: &BuiltInSpan) -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let edge =
            |(stream, key): (&str, &[&str])| SpanEdge { stream: stream.to_owned(), key: names(key), condition: None };
        Self {
            name: span.name.to_owned(),
            begin: edge(span.begin),
            end: edge(span.end),
            pairing: span.pairing,
            carried: names(span.carried),
        }
    }
}
