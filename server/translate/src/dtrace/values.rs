//! What names and calls of D mean at a probe.

use bathyscope_plan::Span;

use super::{MapUse, clause::ClauseWriter, points::DtracePointKind};
use crate::{
    ScriptTarget,
    emit::{Meaning, Value, ValueKind, settled},
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};

impl ClauseWriter<'_, '_> {
    /// `execname`, `pid` or `tid` at this probe.
    pub(super) fn thread(&self, what: &str) -> String {
        let own = match &self.point.kind {
            DtracePointKind::Stable(stable) => stable.thread,
            _ => None,
        };
        let (index, name) = match what {
            "execname" => (0, "comm"),
            "pid" => (1, "pid"),
            _ => (2, "tid"),
        };
        own.and_then(|own| own.get(index).copied()).unwrap_or(name).to_owned()
    }

    /// A condition.
    pub(super) fn truth(&mut self, expr: &Expr) -> Result<String> {
        if let Some(text) = self.profiled(expr) {
            return Ok(text.to_owned());
        }
        if let Some(text) = self.contains(expr)? {
            return Ok(text);
        }
        let value = settled(self.value(expr)?, expr.span)?;
        match value.kind {
            ValueKind::Text => refuse(expr.span, "a text has no truth", "compare it: `execname == \"sh\"`"),
            ValueKind::Shown => refuse(expr.span, "stacks and symbols have no truth", "use another condition"),
            _ => Ok(value.text),
        }
    }

    /// `arg0` of a profile probe says that the kernel ran, `arg1` that the process did.
    fn profiled(&self, expr: &Expr) -> Option<&'static str> {
        match (&self.point.kind, expr.name()?) {
            (DtracePointKind::Profile, "arg0") => Some("!usermode"),
            (DtracePointKind::Profile, "arg1") => Some("usermode"),
            _ => None,
        }
    }

    /// `strstr(a, b)` is true if `b` is in `a`.
    fn contains(&mut self, expr: &Expr) -> Result<Option<String>> {
        match &expr.kind {
            ExprKind::Call { name, arguments } if name == "strstr" && arguments.len() == 2 => {
                Ok(Some(format!("strcontains({})", self.values(arguments)?)))
            }
            _ => Ok(None),
        }
    }

    fn returned(&self) -> bool {
        matches!(self.point.kind, DtracePointKind::CallReturn | DtracePointKind::AnyCallReturn)
    }

    fn compared(&mut self, operator: &str, left: &Expr, right: &Expr) -> Result<Option<Value>> {
        let is_zero = right.number() == Some(0) || right.name() == Some("NULL");
        // What failed is told by -1 there, and by the negative number of the error here.
        if self.returned() && matches!(left.name(), Some("arg0" | "arg1")) && right.number() == Some(-1) {
            let sign = if operator == "==" { "<" } else { ">=" };
            return Ok(Some(Value::number(format!("args.ret {sign} 0")).loose()));
        }
        if !is_zero {
            return Ok(None);
        }
        let negative = operator == "==";
        if let Some(text) = self.profiled(left) {
            let text = match (text, negative) {
                ("usermode", false) | ("!usermode", true) => "usermode",
                _ => "!usermode",
            };
            return Ok(Some(Value::number(text).loose()));
        }
        let found = self.contains(left)?;
        Ok(found.map(|text| Value::number(if negative { format!("!{text}") } else { text }).loose()))
    }

    /// `arg0` and so on.
    fn argument(&mut self, index: usize, span: Span) -> Result<Value> {
        let none = |what: &str, hint: &str| refuse(span, what.to_owned(), hint.to_owned());
        let signed = |text: String| Ok(Value::number(format!("(int64){text}")).loose().or_pointer(text));
        match &self.point.kind {
            DtracePointKind::CallEntry(fields) => match fields.get(index) {
                Some(Some(field)) => {
                    let text = format!("args.{}", field.name);
                    if matches!(field.kind, 's' | 'p') {
                        return Ok(Value::number(format!("(uint64){text}")).loose().or_pointer(text));
                    }
                    let value = Value::number(text);
                    Ok(if field.kind == 'd' { value } else { value.unsigned() })
                }
                Some(None) => none("these system calls have different arguments there", "name one call in each probe"),
                None => none(&format!("this system call has no arg{index}"), "its arguments begin with arg0"),
            },
            DtracePointKind::AnyCallEntry if index < 6 => signed(format!("args.args[{index}]")),
            DtracePointKind::CallReturn | DtracePointKind::AnyCallReturn if index < 2 => {
                let hint = "compare it with 0, or use `errno`";
                self.note(span, "a system call that failed returns the negative number of the error, not -1", hint);
                Ok(Value::number("args.ret"))
            }
            DtracePointKind::CallReturn | DtracePointKind::AnyCallReturn => {
                none("arguments are gone when the call returns", "keep them at the entry: `self->x = arg0`")
            }
            DtracePointKind::KernelReturn | DtracePointKind::UserReturn => match index {
                1 => signed("retval".to_owned()),
                0 => none("where in the function it returns is not known", "leave it out; what it returns is arg1"),
                _ => none("arguments are gone when the function returns", "keep them at the entry: `self->x = arg0`"),
            },
            DtracePointKind::KernelEntry
            | DtracePointKind::UserEntry
            | DtracePointKind::Usdt
            | DtracePointKind::Raw
                if index < 10 =>
            {
                signed(format!("arg{index}"))
            }
            DtracePointKind::Stable(_) => self.stable(i64::try_from(index).unwrap_or(i64::MAX), "", span),
            DtracePointKind::Profile => none(
                "addresses of samples are values in `func(arg0)` and `ufunc(arg1)` only",
                "use these, or `stack()`",
            ),
            _ => none("this probe has no arguments", "leave it out"),
        }
    }

    fn stable(&mut self, index: i64, member: &str, span: Span) -> Result<Value> {
        let DtracePointKind::Stable(stable) = &self.point.kind else {
            let hint = "cast it: `((struct NAME *)arg0)->member`, with the names that Linux has";
            return refuse(span, "the types of arguments are not known here", hint);
        };
        let found = stable.arguments.iter().find(|it| it.index == index && it.member == member);
        if let Some(found) = found {
            return Ok(Value::new(found.value, found.kind));
        }
        let known: Vec<String> = stable
            .arguments
            .iter()
            .map(|it| match it.member {
                "" => format!("args[{}]", it.index),
                member => format!("args[{}]->{member}", it.index),
            })
            .collect();
        let what = if member.is_empty() { format!("args[{index}]") } else { format!("args[{index}]->{member}") };
        let hint = match member {
            "fi_pathname" | "fi_name" => {
                "a block request does not know its file; trace the system calls for that".to_owned()
            }
            _ if known.is_empty() => "this probe has no arguments here".to_owned(),
            _ => format!("there are: {}", known.join(", ")),
        };
        refuse(span, format!("`{what}` has no equal at this probe"), hint)
    }

    /// A name of the language.
    fn builtin(&mut self, name: &str, span: Span) -> Result<Option<Value>> {
        let names = &self.point.names;
        Ok(Some(match name {
            "execname" => Value::text(self.thread("execname")),
            "pid" | "tid" => Value::number(self.thread(name)),
            "ppid" | "uid" | "gid" | "cpu" => Value::number(name),
            "curcpu" => Value::number("cpu"),
            "timestamp" => Value::number("nsecs"),
            "walltimestamp" => Value::new("nsecs", ValueKind::Date),
            "curthread" => Value::new("curtask", ValueKind::Unknown),
            "NULL" => Value::number("0"),
            "stackdepth" => Value::number("len(kstack)"),
            "ustackdepth" => Value::number("len(ustack)"),
            "errno" if self.returned() => Value::number("args.ret < 0 ? -args.ret : 0").loose(),
            "probename" => Value::text(format!("\"{}\"", names.name)),
            "probeprov" => Value::text(format!("\"{}\"", names.provider)),
            "probefunc" => self.function(span)?,
            "$target" => match &self.whole.options.target {
                ScriptTarget::None => {
                    return refuse(span, "`$target` needs a process", "give -p PID or -c COMMAND, or write the number");
                }
                ScriptTarget::Process(pid) => Value::number(pid.to_string()),
                ScriptTarget::Command(_) => Value::number("cpid"),
            },
            "vtimestamp" => {
                let hint = "use `timestamp`; time on a CPU is what a capture of thread states shows";
                return refuse(span, "`vtimestamp` has no equal: the kernel counts it at switches only", hint);
            }
            "errno" => {
                return refuse(span, "`errno` is known when a system call returns", "use it in `syscall:::return`");
            }
            "probemod" => return refuse(span, "the module of a probe is not known", "use `probefunc`"),
            "caller" | "ucaller" => {
                return refuse(span, format!("`{name}` has no equal"), "use `stack(2)` or `ustack(2)`");
            }
            "cwd" | "root" | "zonename" | "id" | "epid" | "ipl" | "uregs" | "curlwpsinfo" => {
                return refuse(
                    span,
                    format!("`{name}` has no equal"),
                    "leave it out, or use `curthread->…` with the members that Linux has",
                );
            }
            _ => return Ok(None),
        }))
    }

    fn function(&mut self, span: Span) -> Result<Value> {
        let known = self.point.names.one_function().map(|name| Value::text(format!("\"{name}\"")));
        match (&self.point.kind, known) {
            (_, Some(known)) => Ok(known),
            (DtracePointKind::AnyCallEntry | DtracePointKind::AnyCallReturn, None) => {
                Ok(Value::new("syscall_name(args.id)", ValueKind::Shown))
            }
            (DtracePointKind::CallEntry(_) | DtracePointKind::CallReturn, None) => {
                Ok(Value::new("syscall_name(args.__syscall_nr)", ValueKind::Shown))
            }
            (
                DtracePointKind::KernelEntry
                | DtracePointKind::KernelReturn
                | DtracePointKind::UserEntry
                | DtracePointKind::UserReturn,
                None,
            ) => Ok(Value::new("func", ValueKind::Shown)),
            _ => {
                self.note(span, "`probefunc` of this probe is shown as the name of its attach point", "");
                Ok(Value::new("probe", ValueKind::Shown))
            }
        }
    }

    fn named(&mut self, name: &str, span: Span) -> Result<Value> {
        let digits = name.strip_prefix("arg").unwrap_or_default();
        if let (false, Ok(index)) = (digits.is_empty(), digits.parse::<usize>()) {
            return self.argument(index, span);
        }
        if let Some(value) = self.builtin(name, span)? {
            return Ok(value);
        }
        if let Some(text) = self.whole.constants.get(name) {
            let is_text = text.starts_with('"');
            return Ok(Value::new(text.clone(), if is_text { ValueKind::Text } else { ValueKind::Number }));
        }
        if name.starts_with('$') && name.trim_start_matches('$').parse::<usize>().is_ok() {
            return self.parameter_value(name, span);
        }
        if name.starts_with('`') {
            return refuse(
                span,
                "variables of the kernel are not translated",
                "write `*kaddr(\"name\")` into the script",
            );
        }
        if name.starts_with('@') {
            return refuse(span, "the value of an aggregation is read when it is printed", "use `printa`");
        }
        if self.whole.assigned.contains(name) {
            let map = self.map(format!("@{name}"), MapUse::Global, span)?;
            return Ok(Value::new(map, ValueKind::Unknown));
        }
        if name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
            return Ok(Value::number(name));
        }
        refuse(span, format!("`{name}` is not defined"), "assign to it somewhere, or correct its name")
    }

    fn parameter_value(&mut self, name: &str, span: Span) -> Result<Value> {
        let is_text = name.starts_with("$$");
        let Some(text) = self.parameter(name).cloned() else {
            return refuse(
                span,
                format!("the parameter `{name}` is not given"),
                "give it behind the script, or write the value",
            );
        };
        if is_text {
            if text.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
                return refuse(span, "this parameter has characters that are not translated", "write a plain text");
            }
            return Ok(Value::text(format!("\"{text}\"")));
        }
        match text.parse::<i64>() {
            Ok(number) => Ok(Value::number(number.to_string())),
            Err(_not_a_number) => refuse(
                span,
                format!("the parameter `{name}` is no number"),
                format!("write `$${}` for a text", name.trim_start_matches('$')),
            ),
        }
    }

    fn call(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<Value> {
        if let (DtracePointKind::Profile, [at]) = (&self.point.kind, arguments)
            && matches!((name, at.name()), ("func" | "sym", Some("arg0")) | ("ufunc" | "usym", Some("arg1")))
        {
            let hint = "addresses of one function are elements of their own with the same name";
            self.note(span, "a sample is shown by its symbol", hint);
            let symbol = if name.starts_with('u') { "usym" } else { "ksym" };
            return Ok(Value::new(format!("{symbol}(reg(\"ip\"))"), ValueKind::Shown));
        }
        match (name, arguments) {
            ("stack" | "ustack", _) => Ok(Value::new(self.stack(name, arguments, span)?, ValueKind::Shown)),
            ("copyinstr", [at]) => Ok(Value::text(format!("str({})", self.user(at)?))),
            ("copyinstr", [at, size]) => {
                let (at, size) = (self.user(at)?, self.text_of(size)?);
                Ok(Value::text(format!("str({at}, {size})")))
            }
            ("stringof" | "string", [value]) => self.string_of(value),
            ("strlen", [value]) => Ok(Value::number(format!("strlen({})", self.text_of(value)?))),
            ("strjoin", [_, _]) => Ok(Value::text(format!("str_concat({})", self.values(arguments)?))),
            ("index", [_, _]) => Ok(Value::number(format!("strstr({})", self.values(arguments)?))),
            ("func" | "sym", [at]) => {
                Ok(Value::new(format!("ksym({})", self.value(at)?.as_pointer()), ValueKind::Shown))
            }
            ("ufunc" | "usym" | "uaddr", [at]) => {
                Ok(Value::new(format!("usym({})", self.value(at)?.as_pointer()), ValueKind::Shown))
            }
            ("getmajor", [dev]) => Ok(Value::number(format!("({} >> 20)", self.value(dev)?.operand()))),
            ("getminor", [dev]) => Ok(Value::number(format!("({} & 0xfffff)", self.value(dev)?.operand()))),
            ("copyin", _) => {
                refuse(span, "memory of a process is read by type in the script", "write `*(int32 *)uptr(arg0)` there")
            }
            ("strstr", _) => refuse(
                span,
                "`strstr` is translated as a condition only",
                "write `strstr(a, b) != NULL`, or use `index`",
            ),
            (
                "basename" | "dirname" | "cleanpath" | "substr" | "strtok" | "strchr" | "strrchr" | "lltostr"
                | "rindex",
                _,
            ) => refuse(
                span,
                format!("`{name}` has no equal: texts are not taken apart in the kernel"),
                "use the whole text",
            ),
            ("rand", []) => Ok(Value::number("rand")),
            ("ntohs" | "htons" | "ntohl" | "htonl" | "ntohll" | "htonll", [value]) => {
                let bits = if name.ends_with("ll") {
                    64
                } else if name.ends_with('s') {
                    16
                } else {
                    32
                };
                Ok(Value::number(format!("bswap((uint{bits}){})", self.value(value)?.operand())))
            }
            ("inet_ntoa" | "inet_ntoa6" | "inet_ntop", _) => {
                refuse(span, format!("`{name}` is not translated"), "write `ntop(address)` into the script")
            }
            ("count" | "sum" | "avg" | "min" | "max" | "quantize" | "lquantize", _) => {
                refuse(span, format!("`{name}` is assigned to an aggregation"), format!("write `@ = {name}(…)`"))
            }
            _ => {
                refuse(span, format!("the function `{name}` has no equal"), "use the value itself, or another function")
            }
        }
    }

    /// A pointer into the process.
    fn user(&mut self, at: &Expr) -> Result<String> {
        if self.has_no_arguments() {
            return refuse(
                at.span,
                "this probe belongs to no process",
                "read it at an entry, and keep it in a variable",
            );
        }
        let text = self.value(at)?.as_pointer();
        let is_user = text.starts_with("args.") && matches!(self.point.kind, DtracePointKind::CallEntry(_));
        Ok(if is_user { text } else { format!("uptr({text})") })
    }

    fn string_of(&mut self, value: &Expr) -> Result<Value> {
        let made = settled(self.value(value)?, value.span)?;
        match made.kind {
            ValueKind::Text | ValueKind::Shown => Ok(made),
            _ => Ok(Value::text(format!("str({})", made.as_pointer()))),
        }
    }

    fn member(&mut self, of: &Expr, name: &str, span: Span) -> Result<Value> {
        match (of.name(), name) {
            (Some("self"), _) => {
                let map = self.map(format!("@self_{name}"), MapUse::Thread, span)?;
                return Ok(Value::new(format!("{map}[{}]", self.thread("tid")), ValueKind::Unknown));
            }
            (Some("this"), _) if self.locals.contains(name) => {
                return Ok(Value::new(format!("${name}"), ValueKind::Unknown));
            }
            (Some("this"), _) => {
                let hint = "assign to it in a clause before, at the same probe; use `self->` between probes";
                return refuse(span, format!("`this->{name}` is not assigned at this probe"), hint);
            }
            (Some("curpsinfo"), "pr_fname") => return Ok(Value::text(self.thread("execname"))),
            (Some("curpsinfo"), "pr_pid") => return Ok(Value::number(self.thread("pid"))),
            (Some("curpsinfo"), "pr_ppid") => return Ok(Value::number("ppid")),
            (Some("curpsinfo"), "pr_uid" | "pr_euid") => return Ok(Value::number("uid")),
            (Some("curpsinfo"), _) => {
                let hint = "use `execname`; arguments of a program are shown by the tool `execsnoop`";
                return refuse(span, format!("`curpsinfo->{name}` has no equal"), hint);
            }
            _ => {}
        }
        if let ExprKind::Index { of: args, keys } = &of.kind
            && args.name() == Some("args")
            && let [key] = keys.as_slice()
        {
            return match key.number() {
                Some(index) => self.stable(index, name, span),
                None => refuse(key.span, "the number of an argument is written as a number", "write `args[0]`"),
            };
        }
        let value = settled(self.value(of)?, of.span)?;
        if matches!(value.kind, ValueKind::Number | ValueKind::Text | ValueKind::Shown) {
            let hint = "cast it: `((struct NAME *)arg0)->member`";
            return refuse(span, format!("`{name}` is a member of nothing that is known"), hint);
        }
        Ok(Value::new(format!("{}.{name}", value.operand()), ValueKind::Unknown))
    }

    fn element(&mut self, of: &Expr, keys: &[Expr], span: Span) -> Result<Value> {
        match (of.name(), keys) {
            (Some("args"), [key]) => match key.number() {
                Some(index) if matches!(self.point.kind, DtracePointKind::Stable(_)) => self.stable(index, "", span),
                Some(index) => self.argument(usize::try_from(index).unwrap_or(usize::MAX), span),
                None => refuse(key.span, "the number of an argument is written as a number", "write `args[0]`"),
            },
            (Some(name), _) if name.starts_with('@') => {
                refuse(span, "the value of an aggregation is read when it is printed", "use `printa`")
            }
            (Some(name), _) if !self.whole.assigned.contains(name) => refuse(
                span,
                format!("the array `{name}` is never assigned to"),
                "assign to it somewhere, or correct its name",
            ),
            (Some(_), _) => Ok(Value::new(self.variable(&with_keys(of, keys, span)?)?, ValueKind::Unknown)),
            (None, [key]) => {
                if let ExprKind::Member { of: scope, .. } = &of.kind
                    && scope.name() == Some("self")
                {
                    return Ok(Value::new(self.variable(&with_keys(of, keys, span)?)?, ValueKind::Unknown));
                }
                let (of, key) = (self.value(of)?.operand(), self.text_of(key)?);
                Ok(Value::new(format!("{of}[{key}]"), ValueKind::Unknown))
            }
            _ => refuse(span, "this is no array", "use an array, or a variable with keys"),
        }
    }

    fn cast(&mut self, to: &str, of: &Expr) -> Result<Value> {
        if to == "string" {
            return self.string_of(of);
        }
        let value = settled(self.value(of)?, of.span)?;
        let (base, stars) = to.split_at(to.find('*').unwrap_or(to.len()));
        let base = type_name(base.trim());
        if stars.is_empty() && !base.contains("struct") && !base.contains("union") {
            return Ok(Value::number(format!("({base}){}", value.operand())).loose());
        }
        Ok(Value::new(format!("({base} {stars}){}", value.as_pointer()), ValueKind::Unknown).loose())
    }
}

fn with_keys(of: &Expr, keys: &[Expr], span: Span) -> Result<Expr> {
    Expr::new(ExprKind::Index { of: Box::new(of.clone()), keys: keys.to_vec() }, span)
}

/// A type of C by the names of the probe language.
fn type_name(name: &str) -> String {
    match name {
        "char" | "signed char" => "int8",
        "unsigned char" | "uchar_t" | "uint8_t" => "uint8",
        "short" | "int16_t" => "int16",
        "unsigned short" | "ushort_t" | "uint16_t" => "uint16",
        "int" | "signed" | "signed int" | "int32_t" | "pid_t" => "int32",
        "unsigned" | "unsigned int" | "uint_t" | "uint32_t" | "uid_t" | "gid_t" => "uint32",
        "long" | "long long" | "int64_t" | "ssize_t" | "off_t" | "intptr_t" | "hrtime_t" => "int64",
        "unsigned long" | "unsigned long long" | "ulong_t" | "uint64_t" | "size_t" | "uintptr_t" => "uint64",
        other => other,
    }
    .to_owned()
}

impl Meaning for ClauseWriter<'_, '_> {
    fn special(&mut self, expr: &Expr) -> Result<Option<Value>> {
        match &expr.kind {
            ExprKind::Binary { operator: operator @ ("==" | "!="), left, right } => {
                self.compared(operator, left, right)
            }
            ExprKind::Binary { operator: operator @ ("&&" | "||"), left, right } => {
                let has = |it: &Expr| self.profiled(it).is_some() || is_search(it);
                if !has(left) && !has(right) {
                    return Ok(None);
                }
                let (left, right) = (self.truth(left)?, self.truth(right)?);
                Ok(Some(Value::number(format!("({left}) {operator} ({right})")).loose()))
            }
            ExprKind::Prefix { operator: "!", of } if self.profiled(of).is_some() || is_search(of) => {
                Ok(Some(Value::number(format!("!({})", self.truth(of)?)).loose()))
            }
            _ => Ok(None),
        }
    }

    fn leaf(&mut self, expr: &Expr) -> Result<Value> {
        match &expr.kind {
            ExprKind::Name(name) => self.named(name, expr.span),
            ExprKind::Member { of, name } => self.member(of, name, expr.span),
            ExprKind::Index { of, keys } => self.element(of, keys, expr.span),
            ExprKind::Call { name, arguments } => self.call(name, arguments, expr.span),
            ExprKind::Cast { to, of } => self.cast(to, of),
            ExprKind::Postfix { operator, of } => {
                Ok(Value::number(format!("{}{operator}", self.variable(of)?)).loose())
            }
            _ => refuse(expr.span, "this is not translated", "write it in another way"),
        }
    }
}

fn is_search(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { name, .. } if name == "strstr")
}
