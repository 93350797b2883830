//! `perf sched`, `perf lock`, `perf kmem`.

use bathyscope_bpf::tools;
use bathyscope_capture::{Method, ScriptSpec, StatesSpec, Target};

use super::target::whose;
use crate::{
    answer::{Refusal, Result, SpanKind, StoredView, ViewName},
    call::{Call, Step},
    options::{Order, Rule, Table, Takes},
};

const SCHED: Table = Table {
    tool: "perf sched record",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-a", "--all-cpus"], Takes::Nothing),
        Rule::taken(&["-g"], Takes::Nothing),
        Rule::ignored(&["-o", "--output"], Takes::Value, "rows are kept in the capture"),
        Rule::ignored(&["-m", "--mmap-pages"], Takes::Value, "buffers are set up by Bathyscope"),
        Rule::ignored(&["-v", "--verbose", "-q", "-R"], Takes::Nothing, "nothing is printed"),
    ],
};

const SHOWN: Table = Table {
    tool: "perf sched",
    order: Order::Anywhere,
    rules: &[
        Rule::ignored(
            &["-s", "--sort", "-C", "--cpu", "--CPU", "-p", "--pid", "-t", "--tid", "--time", "--comm", "--state"],
            Takes::Value,
            "rows are sorted and filtered where they are shown",
        ),
        Rule::ignored(
            &[
                "-w",
                "--wakeups",
                "-M",
                "--migrations",
                "-V",
                "--cpu-visual",
                "-n",
                "--next",
                "-S",
                "--with-summary",
                "--summary",
                "-I",
                "--idle-hist",
                "-v",
                "--show-prio",
                "--compact",
                "-g",
                "--call-graph",
            ],
            Takes::Nothing,
            "it is about how perf prints",
        ),
        Rule::ignored(&["-i", "--input"], Takes::Value, "the newest capture is shown"),
    ],
};

/// Reads `perf sched`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read_sched(call: &mut Call<'_>) -> Result<Step> {
    let Some((command, words)) = call.words.split_first() else {
        return Err(Refusal::new(
            call.source(),
            "`perf sched` needs a command",
            "Write record, latency, timehist or map.",
        ));
    };
    call.marks.mark(&command.source, SpanKind::Tool);
    call.ignore_redirects("rows are kept in the capture");
    match command.text.as_str() {
        "record" => {
            let arguments = SCHED.read(words, call.marks)?;
            let whose = call.while_runs(Target::System, &arguments.operands)?;
            let stacks = arguments.has("-g");
            let states = StatesSpec { sleep_stacks: stacks, wake_stacks: stacks };
            call.capture(Method::States(states), whose, ViewName::Timeline)
        }
        "latency" | "lat" | "timehist" | "map" => {
            SHOWN.read(words, call.marks)?;
            Ok(Step::View(StoredView::newest(ViewName::Timeline)))
        }
        "script" => Ok(Step::View(StoredView::newest(ViewName::Events))),
        name => Err(Refusal::new(
            command.source.clone(),
            format!("`perf sched {name}` is not supported"),
            "Write record, latency, timehist or map.",
        )),
    }
}

const LOCK: Table = Table {
    tool: "perf lock",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-p", "--pid"], Takes::Value),
        Rule::taken(&["-a", "--all-cpus"], Takes::Nothing),
        Rule::ignored(&["-b", "--use-bpf"], Takes::Nothing, "it is always done with BPF"),
        Rule::ignored(
            &["-v", "--verbose", "-q", "--quiet", "-t", "--threads", "-l", "--lock-addr"],
            Takes::Nothing,
            LOCKS,
        ),
        Rule::ignored(
            &["-k", "--key", "-F", "--field", "-E", "--entries", "--max-stack", "--stack-skip"],
            Takes::Value,
            LOCKS,
        ),
        Rule::ignored(&["-i", "--input", "-o", "--output"], Takes::Value, "waits are kept in the capture"),
        Rule::refused(&["-h", "--help"], Takes::Nothing, "It is about perf itself.", "Remove it."),
    ],
};
const LOCKS: &str = "waits are summed by stack, and sorted where they are shown";

/// Reads `perf lock`: a script that sums waits for locks of the kernel by stack.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read_lock(call: &mut Call<'_>) -> Result<Step> {
    let Some((command, words)) = call.words.split_first() else {
        return Err(Refusal::new(call.source(), "`perf lock` needs a command", "Write contention, record or report."));
    };
    call.marks.mark(&command.source, SpanKind::Tool);
    call.ignore_redirects("waits are kept in the capture");
    let arguments = LOCK.read(words, call.marks)?;
    match command.text.as_str() {
        "contention" | "con" | "record" | "rec" => {
            let whose = whose(&arguments, call, true)?;
            let Some(tool) = tools::find("klockstat") else {
                return Err(Refusal::new(call.source(), "the tool library has no klockstat", "Write a script."));
            };
            let (text, file) = (tool.text.to_owned(), tool.name.to_owned());
            call.capture(Method::Script(ScriptSpec { text, file, ..ScriptSpec::default() }), whose, ViewName::Maps)
        }
        "report" | "script" => Ok(Step::View(StoredView::newest(ViewName::Maps))),
        name => Err(Refusal::new(
            command.source.clone(),
            format!("`perf lock {name}` is not supported"),
            "Write contention, record or report.",
        )),
    }
}

/// Reads `perf kmem`, which is not supported.
///
/// # Errors
/// Always.
pub(super) fn read_kmem(call: &mut Call<'_>) -> Result<Step> {
    Err(Refusal::new(
        call.source(),
        "`perf kmem` is not supported: its tables of allocations are not computed",
        "Write `perf record -e kmem:kmalloc -e kmem:kfree -a`, or use the tool slabrate.",
    ))
}
