//! Tracepoints, raw tracepoints and iterators.

use std::{fmt::Write as _, sync::Arc};

use bathyscope_catalog::{EventFormat, types::TypeKind};
use bathyscope_plan::{AttachPoint, Space};

use super::{
    PointKind, ResolvedPoint, SHOWN_NAMES, Shape, UnresolvedPoint, Wildcards, has_wildcard, limit_matches, matches,
    parts,
};
use crate::lang::{
    ast::AttachText,
    check::{
        checker::ScriptChecker,
        context::{Args, Word},
        visit::Uses,
    },
};

/// What can be iterated over, with the members of its context beside `meta`.
pub(in crate::lang::check) const ITERATORS: [&str; 3] = ["task", "task_file", "task_vma"];

impl ScriptChecker<'_> {
    pub(super) fn tracepoint(&mut self, text: &AttachText, uses: &Uses) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        let parts = parts(text);
        let (system, name) = match parts.as_slice() {
            [system, name] => (*system, *name),
            [name] => return Err(self.no_system(name)),
            _ => {
                let message = format!("`{}` does not name a tracepoint", text.text);
                return Err(UnresolvedPoint::wrong(message, "write `tracepoint:SYSTEM:NAME`"));
            }
        };
        if !has_wildcard(system) && !has_wildcard(name) {
            return self.tracepoint_named(text, system, name, uses).map(|found| vec![found]);
        }
        let host = self.host;
        let (systems, names) = (Wildcards::new(system), Wildcards::new(name));
        let all: Vec<(&str, &str)> = host
            .tracepoints()
            .iter()
            .filter_map(|it| it.split_once(':'))
            .filter(|(of, event)| systems.matches(of) && names.matches(event))
            .collect();
        if all.is_empty() {
            let message = format!("no tracepoint matches `{system}:{name}`");
            return Err(UnresolvedPoint::missing(message, "search with `-l 'tracepoint:*…*'`"));
        }
        limit_matches(text, all.len(), self.config)?;
        if !uses.args() {
            return Ok(all.into_iter().map(|(system, name)| point(text, system, name, None, uses)).collect());
        }
        all.into_iter().map(|(system, name)| self.tracepoint_named(text, system, name, uses)).collect()
    }

    fn tracepoint_named(
        &self,
        text: &AttachText,
        system: &str,
        name: &str,
        uses: &Uses,
    ) -> Result<ResolvedPoint, UnresolvedPoint> {
        match self.host.tracepoint(system, name) {
            Ok(Some(format)) => Ok(point(text, system, name, Some(format), uses)),
            Ok(None) => Err(self.no_tracepoint(system, name)),
            Err(why) => Err(UnresolvedPoint::missing(
                format!("the format of tracepoint `{system}:{name}` cannot be read: {why}"),
                "reading it needs root's rights, or a tracefs that is mounted for this user",
            )),
        }
    }

    fn no_tracepoint(&self, system: &str, name: &str) -> UnresolvedPoint {
        let message = format!("there is no tracepoint `{system}:{name}`");
        let what = format!("tracepoint of {system}");
        UnresolvedPoint::missing(message, self.hints.about(&what, name, || self.instead_of_tracepoint(system, name)))
    }

    fn instead_of_tracepoint(&self, system: &str, name: &str) -> String {
        let all = self.host.tracepoints();
        let same: Vec<&str> = all
            .iter()
            .filter_map(|it| it.split_once(':').filter(|(_, event)| *event == name).map(|_| it.as_str()))
            .take(SHOWN_NAMES)
            .collect();
        if !same.is_empty() {
            return format!("did you mean `tracepoint:{}`?", same.join("`, `tracepoint:"));
        }
        let here = all.iter().filter_map(|it| it.split_once(':').filter(|(of, _)| *of == system));
        if let Some(near) = crate::lang::suggest(name, here.map(|(_, event)| event)) {
            return format!("did you mean `tracepoint:{system}:{near}`?");
        }
        let mut systems: Vec<&str> = all.iter().filter_map(|it| it.split_once(':')).map(|(of, _)| of).collect();
        systems.dedup();
        if !systems.contains(&system)
            && let Some(near) = crate::lang::suggest(system, systems.iter().copied())
            && all.binary_search(&format!("{near}:{name}")).is_ok()
        {
            return format!("did you mean `tracepoint:{near}:{name}`?");
        }
        format!("list what there is with `-l 'tracepoint:{system}:*'`")
    }

    fn no_system(&self, name: &str) -> UnresolvedPoint {
        let message = format!("`tracepoint:{name}` does not name the subsystem");
        let all = self.host.tracepoints();
        let found = all.iter().find(|it| it.split_once(':').is_some_and(|(_, event)| event == name));
        let hint =
            found.map_or_else(|| "write `tracepoint:SYSTEM:NAME`".to_owned(), |it| format!("write `tracepoint:{it}`"));
        UnresolvedPoint::wrong(message, hint)
    }

    pub(super) fn raw_tracepoint(&mut self, text: &AttachText) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        let parts = parts(text);
        let name = match parts.as_slice() {
            [name] | [_, name] => *name,
            _ => {
                let message = format!("`{}` does not name a raw tracepoint", text.text);
                return Err(UnresolvedPoint::wrong(message, "write `rawtracepoint:NAME`"));
            }
        };
        let host = self.host;
        if !host.features().raw_tracepoint {
            return Err(self.no_raw_tracepoints(name));
        }
        if has_wildcard(name) {
            let wanted = Wildcards::new(name);
            let names: Vec<&String> = host.raw_tracepoints().iter().filter(|it| wanted.matches(it)).collect();
            let usable: Vec<ResolvedPoint> = names.iter().filter_map(|name| self.raw_point(text, name)).collect();
            if usable.is_empty() {
                return Err(UnresolvedPoint::missing(
                    format!("no raw tracepoint matches `{name}`"),
                    "search with `-l 'rawtracepoint:*…*'`",
                ));
            }
            limit_matches(text, usable.len(), self.config)?;
            return Ok(usable);
        }
        if let Some(found) = self.raw_point(text, name) {
            let AttachPoint::RawTracepoint { module, .. } = &found.point else { return Ok(vec![found]) };
            let own = if module.is_empty() { "vmlinux" } else { module.as_str() };
            return match parts.as_slice() {
                [wanted, _] if !matches(wanted, own) => Err(UnresolvedPoint::missing(
                    format!("there is no raw tracepoint `{name}` in `{wanted}`"),
                    format!("it is one of `{own}`"),
                )),
                _ => Ok(vec![found]),
            };
        }
        let hint = self.hints.about("raw tracepoint", name, || {
            crate::lang::suggest(name, host.raw_tracepoints().iter().map(String::as_str)).map_or_else(
                || "raw tracepoints have the names of tracepoints without the subsystem".to_owned(),
                |near| format!("did you mean `rawtracepoint:{near}`?"),
            )
        });
        Err(UnresolvedPoint::missing(format!("there is no raw tracepoint `{name}`"), hint))
    }

    fn no_raw_tracepoints(&self, name: &str) -> UnresolvedPoint {
        let message = format!("this kernel has no typed raw tracepoints, which `rawtracepoint:{name}` needs");
        let all = self.host.tracepoints();
        let found = all.iter().find(|it| it.split_once(':').is_some_and(|(_, event)| event == name));
        let hint = found.map_or_else(|| "use a tracepoint".to_owned(), |it| format!("use `tracepoint:{it}`"));
        UnresolvedPoint::missing(message, hint)
    }

    fn raw_point(&self, text: &AttachText, name: &str) -> Option<ResolvedPoint> {
        let known = self.types.raw_tracepoint(name)?;
        let word = |(index, it): (usize, &bathyscope_catalog::types::Parameter<'_>)| Word {
            name: if it.name.is_empty() { format!("arg{index}") } else { it.name.to_owned() },
            ty: it.ty,
            offset: u32::try_from(index * 8).unwrap_or(u32::MAX),
        };
        let words = known.parameters.iter().enumerate().map(word).collect();
        let mut shape = Shape::new(PointKind::RawTracepoint, &text.text);
        let full = format!("rawtracepoint:{name}");
        shape.args = Args::Words { name: full.clone(), words };
        let module = known.module.unwrap_or_default().to_owned();
        let point = AttachPoint::RawTracepoint { module, name: name.to_owned() };
        Some(ResolvedPoint { name: full, point, shape, layout: String::new() })
    }

    pub(super) fn iterator(&mut self, text: &AttachText) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        let parts = parts(text);
        let (target, pin) = match parts.as_slice() {
            [target] => (*target, None),
            [target, pin] => (*target, Some((*pin).to_owned())),
            _ => {
                let message = format!("`{}` does not say what to iterate over", text.text);
                return Err(UnresolvedPoint::wrong(message, "write `iter:task`"));
            }
        };
        if !ITERATORS.contains(&target) {
            let hint = crate::lang::suggest(target, ITERATORS).map_or_else(
                || format!("there are {}", ITERATORS.join(", ")),
                |near| format!("did you mean `iter:{near}`?"),
            );
            return Err(UnresolvedPoint::wrong(format!("there is no iterator `{target}`"), hint));
        }
        if let Some(pin) = &pin {
            let message = format!("`{}` would leave its program in the kernel at `{pin}`", text.text);
            let hint = "nothing of a script stays behind when it ends, even if everything is killed; leave the path out: \
                        the iterator runs when the script starts";
            return Err(UnresolvedPoint::wrong(message, hint));
        }
        if !self.host.features().iterator {
            return Err(UnresolvedPoint::missing(
                format!("this kernel has no iterators, which `iter:{target}` needs"),
                "a tracepoint tells about processes as they do something: `tracepoint:sched:*`",
            ));
        }
        let record = self.types.find(TypeKind::Struct, &format!("bpf_iter__{target}"));
        let mut words = Vec::new();
        for name in ["meta", "task", "fd", "file", "vma"] {
            if let Some(field) = record.and_then(|record| self.types.field(record, name)) {
                let offset = u32::try_from(field.byte_offset()).unwrap_or(u32::MAX);
                words.push(Word { name: name.to_owned(), ty: field.ty, offset });
            }
        }
        if words.is_empty() {
            return Err(UnresolvedPoint::missing(
                format!("the kernel's types do not describe `bpf_iter__{target}`"),
                "this needs a kernel with BTF",
            ));
        }
        let mut shape = Shape::new(PointKind::Iter, &text.text);
        let name = format!("iter:{target}");
        shape.args = Args::Words { name: name.clone(), words };
        let point = AttachPoint::Iterator { target: target.to_owned(), pin };
        Ok(vec![ResolvedPoint { name, point, shape, layout: String::new() }])
    }
}

fn point(text: &AttachText, system: &str, name: &str, format: Option<Arc<EventFormat>>, uses: &Uses) -> ResolvedPoint {
    let mut shape = Shape::new(PointKind::Tracepoint, &text.text);
    let full = format!("tracepoint:{system}:{name}");
    let syscall = system == "syscalls";
    if syscall {
        shape.space = Space::User;
    }
    let layout = layout(format.as_deref(), syscall, uses);
    shape.args = match format {
        Some(format) => Args::Format { format, name: full.clone(), syscall },
        None => Args::Unknown,
    };
    let point = AttachPoint::Tracepoint { system: system.to_owned(), name: name.to_owned() };
    ResolvedPoint { name: full, point, shape, layout }
}

/// What a body sees of a record: equal for tracepoints that can share a program.
fn layout(format: Option<&EventFormat>, syscall: bool, uses: &Uses) -> String {
    let mut layout = if syscall { "user".to_owned() } else { String::new() };
    let Some(format) = format.filter(|_| uses.args()) else { return layout };
    for field in &format.fields {
        if uses.whole || uses.fields.contains(&field.name) {
            let _infallible = write!(
                layout,
                ";{} {} {} {} {} {:?}",
                field.name, field.type_name, field.offset, field.size, field.signed, field.kind
            );
        }
    }
    // A field that is missing is told for each tracepoint that lacks it.
    for field in &uses.fields {
        if format.field(field).is_none() {
            let _infallible = write!(layout, ";no {field} in {}", format.name);
        }
    }
    layout
}
