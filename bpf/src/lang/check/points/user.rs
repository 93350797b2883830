//! Places in user space, which the console found; and addresses of memory.

use std::fmt::Write as _;

use bathyscope_capture::ProgramVariable;
use bathyscope_plan::{AttachPoint, Diagnostic, UserPlace, UserPlaces};

use super::{PointKind, ResolvedPoint, Shape, UnresolvedPoint, limit_matches, parts};
use crate::lang::{
    ast::AttachText,
    check::{checker::ScriptChecker, context::Args, variables::ProgramVariables, visit::Uses},
};

impl ScriptChecker<'_> {
    pub(super) fn user(
        &mut self,
        kind: PointKind,
        text: &AttachText,
        uses: &Uses,
    ) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        let name = kind.name();
        let host = self.host;
        if !host.features().uprobe {
            let message = format!("this kernel cannot probe user-space code, which `{}` needs", text.text);
            return Err(UnresolvedPoint::missing(message, "trace the system calls instead: `tracepoint:syscalls:*`"));
        }
        if parts(text).len() < 2 {
            let form = match kind {
                PointKind::Usdt => "write `usdt:FILE:PROVIDER:NAME`",
                PointKind::Uretprobe => "write `uretprobe:FILE:FUNCTION`",
                _ => "write `uprobe:FILE:FUNCTION`",
            };
            return Err(UnresolvedPoint::wrong(
                format!("`{}` does not name a file and a place in it", text.text),
                form,
            ));
        }
        let Some(places) = host.user_places(&text.text) else {
            let message = format!("the probe sites of `{}` were not looked up", text.text);
            return Err(UnresolvedPoint::missing(
                message,
                "files of user space are looked at when the script is started",
            ));
        };
        for warning in &places.warnings {
            self.report(Diagnostic::warning(text.span, warning.clone())).hint("");
        }
        if places.places.is_empty() {
            let trouble = if places.trouble.is_empty() { "there is no such probe site" } else { &places.trouble };
            let (message, hint) = trouble.split_once("; ").unwrap_or((trouble, ""));
            return Err(UnresolvedPoint::missing(message, hint));
        }
        limit_matches(text, places.places.len(), self.config)?;
        let variables = if uses.args() && kind == PointKind::Uprobe { self.variables_of(places) } else { Vec::new() };
        let mut variables = variables.into_iter();
        let mut place = |place| self.place(kind, name, text, place, (uses, variables.next()));
        Ok(places.places.iter().map(&mut place).collect())
    }

    /// The variables at each of the places; none at all where they were not read.
    fn variables_of(&mut self, places: &UserPlaces) -> Vec<ProgramVariables> {
        let ids = self.types.add_program(&places.data);
        let missing = if ids.is_empty() && !places.data.types.is_empty() {
            "its debug information is damaged; use `arg0`, `arg1`, …"
        } else {
            &places.data_missing
        };
        let described = |variables: &Vec<ProgramVariable>| ProgramVariables::new(variables, &ids, missing);
        let mut all: Vec<ProgramVariables> = places.data.places.iter().map(described).collect();
        all.resize(places.places.len(), ProgramVariables::new(&[], &ids, missing));
        all
    }

    fn place(
        &self,
        kind: PointKind,
        name: &str,
        text: &AttachText,
        place: &UserPlace,
        (uses, variables): (&Uses, Option<ProgramVariables>),
    ) -> ResolvedPoint {
        let mut shape = Shape::new(kind, &text.text);
        shape.place = Some((place.file.path.clone(), place.address));
        // Where the place is in its file is then part of the program.
        let mut layout =
            if uses.addresses { format!("{}:{:#x} ", place.file.path, place.address) } else { String::new() };
        let (file, offset, pid) = (place.file.clone(), place.offset, self.options.pid);
        // A path is shown as it was written; what wildcards and short names stand for, from `/` on.
        let written = parts(text).first().copied().unwrap_or_default();
        let as_written = written.contains('/') && !written.starts_with('/') && !written.contains(['*', '?']);
        let is_part = written.contains("!/");
        let path = if as_written || is_part { written } else { place.file.path.as_str() };
        if kind == PointKind::Usdt {
            shape.args = Args::Usdt(place.arguments.clone());
            if uses.numbered {
                // Where arguments are is part of the program.
                let _infallible = write!(layout, "{:?}", place.arguments);
            }
            let point = AttachPoint::Usdt {
                file,
                offset,
                semaphore: place.semaphore,
                pid,
                provider: place.provider.clone(),
                name: place.symbol.clone(),
                arguments: place.arguments.clone(),
            };
            return ResolvedPoint {
                name: format!("{name}:{path}:{}:{}", place.provider, place.symbol),
                point,
                shape,
                layout,
            };
        }
        if let Some(variables) = variables {
            variables.add_to(&mut shape, &mut layout, uses);
        }
        let exit = kind == PointKind::Uretprobe;
        let point = AttachPoint::Uprobe { file, offset, exit, pid, symbol: place.symbol.clone() };
        let symbol = if place.symbol.is_empty() { format!("{offset:#x}") } else { place.symbol.clone() };
        ResolvedPoint { name: format!("{name}:{path}:{symbol}"), point, shape, layout }
    }

    pub(super) fn watchpoint(&mut self, text: &AttachText) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        let form = "write `watchpoint:ADDRESS:BYTES:rw`";
        if !self.host.features().watchpoint {
            return Err(UnresolvedPoint::missing(
                "this machine has no hardware breakpoints, which `watchpoint` needs",
                "probe the functions that write there",
            ));
        }
        let parts = parts(text);
        let [address, bytes, mode] = parts.as_slice() else {
            return Err(UnresolvedPoint::wrong(format!("`{}` is no watchpoint", text.text), form));
        };
        let known = match address.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => address.parse().ok().or_else(|| self.host.kernel_symbol(address)),
        };
        let Some(address) = known else {
            return Err(UnresolvedPoint::wrong(format!("`{address}` is neither an address nor a kernel symbol"), form));
        };
        let bytes: u8 = match bytes.parse() {
            Ok(bytes @ (1 | 2 | 4 | 8)) => bytes,
            _ => {
                return Err(UnresolvedPoint::wrong(
                    format!("{bytes} bytes cannot be watched"),
                    "watch 1, 2, 4 or 8 bytes",
                ));
            }
        };
        if mode.is_empty() || !mode.bytes().all(|b| matches!(b, b'r' | b'w' | b'x')) {
            return Err(UnresolvedPoint::wrong(format!("`{mode}` is no kind of access"), "use letters of `rwx`"));
        }
        let (read, write, execute) = (mode.contains('r'), mode.contains('w'), mode.contains('x'));
        if execute && (read || write) {
            return Err(UnresolvedPoint::wrong("execution is watched alone", "use two watchpoints: `x` and `rw`"));
        }
        if execute && bytes != 8 {
            return Err(UnresolvedPoint::wrong("execution is watched in 8 bytes", "write `8:x`"));
        }
        if address % u64::from(bytes) != 0 && !execute {
            let message = format!("the address {address:#x} is no multiple of {bytes}");
            return Err(UnresolvedPoint::wrong(message, "watch fewer bytes, or an address before it"));
        }
        if self.options.pid.is_none() && address < 1 << 63 && !self.options.unsafe_allowed {
            return Err(UnresolvedPoint::wrong(
                format!("{address:#x} is an address of a process, and it is not said of which"),
                "give the process with -p",
            ));
        }
        let name = format!("watchpoint:{address:#x}:{bytes}:{mode}");
        let pid = self.options.pid.filter(|_| address < 1 << 63);
        let point = AttachPoint::Watchpoint { address, bytes, read, write, execute, pid };
        let mut shape = Shape::new(PointKind::Watchpoint, &text.text);
        if pid.is_some() {
            shape.space = bathyscope_plan::Space::User;
        }
        Ok(vec![ResolvedPoint { name, point, shape, layout: String::new() }])
    }
}
