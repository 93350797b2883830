//! Functions: those of SystemTap's library, and those of the script.

use bathyscope_plan::Span;

use super::{
    parse::SourceFunction,
    points::StapPointKind,
    statistics,
    writer::{HandlerWriter, Scope},
};
use crate::{
    ScriptTarget,
    emit::{Meaning, Value, ValueKind, settled},
    refusal::{Result, refuse},
    tree::{Expr, ExprKind, StatementKind},
};

/// Functions of the script that may be put into each other, and into the whole.
const MAX_SCOPES: usize = 8;
const MAX_INLINED: usize = 200;

/// A clock whose moments are others here, but whose differences are the same.
pub(super) fn clock(name: &str) -> Option<&'static str> {
    match name {
        "gettimeofday_ns" => Some("nsecs"),
        "gettimeofday_us" => Some("nsecs / 1000"),
        "gettimeofday_ms" => Some("nsecs / 1000000"),
        "gettimeofday_s" => Some("nsecs / 1000000000"),
        _ => None,
    }
}

/// What has the same meaning everywhere and takes nothing.
fn plain(name: &str) -> Option<Value> {
    Some(match name {
        "execname" => Value::text("comm"),
        "pexecname" => Value::text("pcomm"),
        "pid" | "tid" | "uid" | "gid" | "ppid" | "cpu" | "jiffies" => Value::number(name),
        "local_clock_ns" | "cpu_clock_ns" | "ktime_get_ns" => Value::number("nsecs"),
        "local_clock_us" | "cpu_clock_us" => Value::number("nsecs / 1000").loose(),
        "local_clock_ms" | "cpu_clock_ms" => Value::number("nsecs / 1000000").loose(),
        "local_clock_s" | "cpu_clock_s" => Value::number("nsecs / 1000000000").loose(),
        "user_mode" => Value::number("usermode"),
        "num_online_cpus" => Value::number("ncpus"),
        "task_current" => Value::new("curtask", ValueKind::Unknown),
        "backtrace" | "callers" | "sprint_backtrace" => Value::new("kstack", ValueKind::Shown),
        "ubacktrace" | "sprint_ubacktrace" => Value::new("ustack", ValueKind::Shown),
        _ => return None,
    })
}

impl HandlerWriter<'_, '_> {
    pub(super) fn constant(&self, expr: &Expr) -> Option<i64> {
        let given = || {
            let digits = expr.name()?.strip_prefix('$')?;
            super::points::parameter(digits, &self.whole.options.parameters)?.parse().ok()
        };
        expr.number().or_else(given)
    }

    /// A function of the script to be put in.
    pub(super) fn enter(&mut self, name: &str, given: usize, span: Span) -> Result<SourceFunction> {
        let Some(function) = self.whole.functions.get(name).cloned() else {
            return refuse(span, format!("there is no function `{name}`"), "define it");
        };
        if function.parameters.len() != given {
            let message = format!("`{name}` takes {} values, and is given {given}", function.parameters.len());
            return refuse(span, message, "give it as many");
        }
        self.whole.inlined += 1;
        if self.scopes.len() >= MAX_SCOPES || self.whole.inlined > MAX_INLINED {
            return refuse(
                span,
                format!("`{name}` is put in too often: functions do not call themselves here"),
                "use a loop",
            );
        }
        Ok(function)
    }

    /// A function of the script as a value: it is one expression.
    fn own(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<Value> {
        let function = self.enter(name, arguments.len(), span)?;
        let [only] = function.body.as_slice() else {
            return refuse(
                span,
                format!("`{name}` is more than one `return`"),
                "write its statements where it is called",
            );
        };
        let StatementKind::Return(Some(result)) = &only.kind else {
            return refuse(span, format!("`{name}` returns no value"), "write `return` in it");
        };
        let mut scope = Scope { prefix: format!("{name}_"), ..Scope::default() };
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let value = self.value_or_clock(argument)?;
            scope.parameters.insert(parameter.clone(), value);
        }
        self.scopes.push(scope);
        let value = self.value(result);
        self.scopes.pop();
        value
    }

    fn value_or_clock(&mut self, expr: &Expr) -> Result<Value> {
        let value = self.value(expr)?;
        settled(value, expr.span)
    }

    /// `@count(array[key])` and its kin.
    pub(super) fn statistic(&mut self, kind: &str, of: &Expr, span: Span) -> Result<String> {
        let name = statistics::global(of).to_owned();
        let Some(statistics) = self.whole.statistics.get(&name).cloned() else {
            return refuse(span, format!("`{name}` holds no statistics"), "add to it by `<<<`");
        };
        let map = statistics.map(&name, kind);
        let ExprKind::Index { keys, .. } = &of.kind else { return Ok(map) };
        // Within a loop over this map the value is at hand.
        if let Some(it) = self.loops.iter().rev().find(|it| it.array == name && it.map == map)
            && keys.len() == it.keys.len()
            && keys.iter().zip(&it.keys).all(|(key, name)| key.name() == Some(name.as_str()))
        {
            return Ok(format!("{}.1", it.entry));
        }
        Ok(format!("{map}[{}]", self.values(keys)?))
    }

    pub(super) fn call(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<Value> {
        if self.whole.functions.contains_key(name) {
            return self.own(name, arguments, span);
        }
        if let Some(kind) = statistics::kind(name) {
            let Some(of) = arguments.first() else {
                return refuse(span, "a statistic is of a global", "write `@count(name)`");
            };
            if matches!(kind, "hist_log" | "hist_linear") {
                return refuse(span, "a histogram is printed, and not a value", "write `print(@hist_log(name))`");
            }
            return Ok(Value::number(self.statistic(kind, of, span)?));
        }
        if let ([], Some(value)) = (arguments, plain(name)) {
            return Ok(value);
        }
        if clock(name).is_some() && arguments.is_empty() {
            return Ok(Value::new(name, ValueKind::Date));
        }
        if let Some(value) = self.argument(name, arguments, span)? {
            return Ok(value);
        }
        self.library(name, arguments, span)
    }

    /// `int_arg(1)` and its kin.
    fn argument(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<Option<Value>> {
        let cast = match name {
            "int_arg" | "s32_arg" => "int32",
            "uint_arg" | "u32_arg" => "uint32",
            "long_arg" | "longlong_arg" | "s64_arg" => "int64",
            "ulong_arg" | "ulonglong_arg" | "u64_arg" | "pointer_arg" => "uint64",
            _ => return Ok(None),
        };
        let is_entry = matches!(
            self.point.kind,
            StapPointKind::Kernel { is_return: false, .. } | StapPointKind::User { is_return: false }
        );
        let index = arguments.first().and_then(|it| self.constant(it));
        match index {
            Some(index @ 1..=6) if is_entry => {
                let argument = format!("arg{}", index - 1);
                Ok(Some(Value::number(format!("({cast}){argument}")).loose().or_pointer(argument)))
            }
            _ => refuse(
                span,
                format!("`{name}` is for the arguments 1 to 6 at the entry of a function"),
                "use it there, and keep the value in an array by `tid()`",
            ),
        }
    }

    fn library(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<Value> {
        match (name, arguments) {
            ("@entry", [value]) => self.at_entry(value, span),
            ("target", []) => match &self.whole.options.target {
                ScriptTarget::None => {
                    refuse(span, "`target()` needs a process", "give -x PID or -c COMMAND, or write the number")
                }
                ScriptTarget::Process(pid) => Ok(Value::number(pid.to_string())),
                ScriptTarget::Command(_) => Ok(Value::number("cpid")),
            },
            ("pp", []) => {
                self.note(span, "the name of a probe is that of its attach point", "");
                Ok(Value::new("probe", ValueKind::Shown))
            }
            ("probefunc" | "ppfunc", []) => self.probed_function(span),
            ("returnval", []) => self.named("$return", span),
            ("user_string" | "user_string_warn" | "user_string2", [at, ..]) => {
                let pointer = self.value(at)?.as_pointer();
                let is_user = pointer.starts_with("args.") && matches!(self.point.kind, StapPointKind::CallEntry(_));
                Ok(Value::text(if is_user { format!("str({pointer})") } else { format!("str(uptr({pointer}))") }))
            }
            ("user_string_n", [at, size]) => {
                let (at, size) = (self.value(at)?.as_pointer(), self.text_of(size)?);
                Ok(Value::text(format!("str(uptr({at}), {size})")))
            }
            ("kernel_string" | "kernel_string2", [at, ..]) => {
                Ok(Value::text(format!("str({})", self.value(at)?.as_pointer())))
            }
            ("kernel_string_n", [at, size]) => {
                let (at, size) = (self.value(at)?.as_pointer(), self.text_of(size)?);
                Ok(Value::text(format!("str({at}, {size})")))
            }
            ("strlen", [text]) => Ok(Value::number(format!("strlen({})", self.text_of(text)?))),
            ("isinstr", [_, _]) => Ok(Value::number(format!("strcontains({})", self.values(arguments)?))),
            ("symname" | "symdata", [at]) => {
                Ok(Value::new(format!("ksym({})", self.value(at)?.as_pointer()), ValueKind::Shown))
            }
            ("usymname" | "usymdata", [at]) => {
                Ok(Value::new(format!("usym({})", self.value(at)?.as_pointer()), ValueKind::Shown))
            }
            ("errno_str", [number]) => Ok(Value::new(format!("strerror({})", self.text_of(number)?), ValueKind::Shown)),
            ("ctime", [Expr { kind: ExprKind::Call { name, .. }, .. }]) if name == "gettimeofday_s" => {
                Ok(Value::new("strftime(\"%a %b %e %H:%M:%S %Y\", nsecs)", ValueKind::Shown))
            }
            ("ctime", _) => refuse(span, "`ctime` shows the present only", "write `ctime(gettimeofday_s())`"),
            ("bio_rw_str", [_]) if self.point.text.starts_with("tracepoint:block:") => Ok(Value::text("args.rwbs")),
            ("randint", [limit]) => {
                let limit = settled(self.value(limit)?, limit.span)?;
                Ok(Value::number(format!("rand % {}", limit.operand())).loose())
            }
            ("sprintf" | "sprint" | "substr" | "str_replace" | "tokenize" | "stringat", _) => refuse(
                span,
                format!("`{name}` has no equal: texts are not made or taken apart in the kernel"),
                "print the parts",
            ),
            ("thread_indent" | "indent", _) => {
                refuse(span, format!("`{name}` has no equal"), "record a trace by function_graph, which nests calls")
            }
            ("user_string_quoted" | "kernel_string_quoted", _) => {
                refuse(span, format!("`{name}` is not translated"), "print `user_string` in quotes")
            }
            ("@cast" | "@defined" | "@var" | "@choose_defined" | "@const", _) => refuse(
                span,
                format!("`{name}` needs debug information, which is not read"),
                "name the value as this kernel has it",
            ),
            ("euid" | "egid" | "get_cycles" | "module_name" | "modname" | "cmdline_str" | "env_var" | "caller", _) => {
                refuse(
                    span,
                    format!("`{name}()` has no equal"),
                    "leave it out, or use `execname()`, `uid()`, `backtrace()`",
                )
            }
            _ => refuse(
                span,
                format!("the function `{name}` has no equal"),
                "use the arguments and variables of the probe",
            ),
        }
    }

    fn probed_function(&mut self, span: Span) -> Result<Value> {
        match (&self.point.kind, &self.point.name) {
            (StapPointKind::Kernel { .. } | StapPointKind::User { .. }, Some(name)) => {
                Ok(Value::text(format!("\"{name}\"")))
            }
            (StapPointKind::Kernel { .. } | StapPointKind::User { .. }, None) => {
                Ok(Value::new("func", ValueKind::Shown))
            }
            _ => refuse(span, "this probe is at no function", "use `name` for a system call, or `pp()`"),
        }
    }
}
