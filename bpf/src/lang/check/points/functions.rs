//! Kernel functions: kprobes and trampolines.

use bathyscope_catalog::{kernel_names, types::Types};
use bathyscope_plan::AttachPoint;

use super::{
    PointKind, ResolvedPoint, Shape, UnresolvedPoint, Wildcards, alternatives::alternative, denied::denied,
    has_wildcard, limit_matches, parts,
};
use crate::lang::{
    ast::AttachText,
    check::{
        checker::ScriptChecker,
        context::{Args, Returned, Word},
        variables::ProgramVariables,
        visit::Uses,
    },
    host::KernelFunction,
};

/// What a function's attach point names.
struct Target<'t> {
    module: &'t str,
    function: &'t str,
    offset: u64,
}

impl ScriptChecker<'_> {
    pub(super) fn kprobe(
        &mut self,
        kind: PointKind,
        text: &AttachText,
        uses: &Uses,
    ) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        let exit = kind == PointKind::Kretprobe;
        let target = target(kind, text)?;
        if !self.host.features().kprobe {
            return Err(self.without_functions(kind, &target, "kprobes"));
        }
        if let Some(address) = address(target.function) {
            return self.raw_address(kind, text, address.saturating_add(target.offset));
        }
        if exit && target.offset != 0 {
            return Err(UnresolvedPoint::wrong(
                "a return has no offset",
                format!("write `kretprobe:{}`", target.function),
            ));
        }
        if has_wildcard(target.function) || has_wildcard(target.module) {
            return self.kprobes(kind, text, &target);
        }
        let found = self.known_function(&target).ok_or_else(|| self.no_function(kind, &target))?;
        self.refuse_dangerous(&found)?;
        let module = if target.module.is_empty() { String::new() } else { found.module };
        let mut point = self.kprobe_point(kind, text, &module, &found.name, target.offset);
        if kind == PointKind::Kprobe && uses.args() {
            self.add_kernel_variables(text, uses, &mut point);
        }
        Ok(vec![point])
    }

    /// Gives a place in the kernel the variables that debug information tells of it, or the reason why there are none.
    fn add_kernel_variables(&mut self, text: &AttachText, uses: &Uses, point: &mut ResolvedPoint) {
        let Some(places) = self.host.user_places(&text.text) else { return };
        let ids = self.types.add_kernel_data(&places.data);
        match places.data.places.first() {
            Some(variables) if !ids.is_empty() => {
                let variables = ProgramVariables::new(variables, &ids, &places.data_missing);
                variables.add_to(&mut point.shape, &mut point.layout, uses);
            }
            _ => {
                let hint = match &point.shape.args {
                    Args::None(hint) if !hint.is_empty() => hint.as_str(),
                    _ => "use `arg0`, `arg1`, …",
                };
                point.shape.args = Args::None([hint, &places.data_missing].join("; "));
            }
        }
    }

    fn kprobes(
        &self,
        kind: PointKind,
        text: &AttachText,
        target: &Target<'_>,
    ) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        if target.offset != 0 {
            return Err(UnresolvedPoint::wrong("an offset cannot follow a wildcard", "name one function"));
        }
        let all = self.matching(target);
        let harmless: Vec<&KernelFunction> =
            all.iter().copied().filter(|it| self.options.unsafe_allowed || denied(&it.name).is_none()).collect();
        if harmless.is_empty() {
            return Err(self.nothing_matches(kind, text, target, all.len()));
        }
        limit_matches(text, harmless.len(), self.config)?;
        let module = |it: &KernelFunction| if target.module.is_empty() { String::new() } else { it.module.clone() };
        Ok(harmless.into_iter().map(|it| self.kprobe_point(kind, text, &module(it), &it.name, 0)).collect())
    }

    fn matching(&self, target: &Target<'_>) -> Vec<&KernelFunction> {
        let (module, function) = (Wildcards::new(target.module), Wildcards::new(target.function));
        let in_module = |it: &KernelFunction| {
            target.module.is_empty() || module.matches(if it.module.is_empty() { "vmlinux" } else { &it.module })
        };
        self.host.functions().iter().filter(|it| in_module(it) && function.matches(&it.name)).collect()
    }

    fn kprobe_point(
        &self,
        kind: PointKind,
        text: &AttachText,
        module: &str,
        function: &str,
        offset: u64,
    ) -> ResolvedPoint {
        let exit = kind == PointKind::Kretprobe;
        let mut shape = Shape::new(kind, &text.text);
        if exit {
            shape.returned = Returned::Register(self.result_type(module, function));
        }
        if kind == PointKind::Kprobe
            && let Some(hint) = parameters_hint(&self.types, module, function)
        {
            shape.args = Args::None(hint);
        }
        let module_prefix = if module.is_empty() { String::new() } else { format!("{module}:") };
        let plus = if offset == 0 { String::new() } else { format!("+{offset}") };
        let name = format!("{}:{module_prefix}{function}{plus}", kind.name());
        let (module, function) = (module.to_owned(), function.to_owned());
        ResolvedPoint {
            name,
            point: AttachPoint::Kprobe { module, function, offset, exit },
            shape,
            layout: String::new(),
        }
    }

    fn result_type(&self, module: &str, function: &str) -> Option<bathyscope_catalog::types::TypeId> {
        let module = Some(module).filter(|module| !module.is_empty());
        let known = self.types.function(module, function)?;
        let returns = self.types.signature(known.id)?.returns;
        self.types.integer(returns).map(|_| returns)
    }

    fn raw_address(
        &self,
        kind: PointKind,
        text: &AttachText,
        address: u64,
    ) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        if !self.options.unsafe_allowed {
            let message = format!("a probe at the raw address {address:#x} is unsafe");
            return Err(UnresolvedPoint::wrong(message, "name a function, or allow it with --unsafe"));
        }
        let exit = kind == PointKind::Kretprobe;
        let point = AttachPoint::Kprobe { module: String::new(), function: String::new(), offset: address, exit };
        let name = format!("{}:{address:#x}", kind.name());
        Ok(vec![ResolvedPoint { name, point, shape: Shape::new(kind, &text.text), layout: String::new() }])
    }

    fn known_function(&self, target: &Target<'_>) -> Option<KernelFunction> {
        let all = self.host.functions();
        let first = all.partition_point(|it| it.name.as_str() < target.function);
        let same = all.get(first..)?.iter().take_while(|it| it.name == target.function);
        let wanted = |it: &&KernelFunction| {
            target.module.is_empty()
                || it.module == target.module
                || (it.module.is_empty() && target.module == "vmlinux")
        };
        same.into_iter().find(wanted).cloned()
    }

    fn refuse_dangerous(&self, function: &KernelFunction) -> Result<(), UnresolvedPoint> {
        match denied(&function.name) {
            Some(why) if !self.options.unsafe_allowed => Err(UnresolvedPoint::wrong(
                format!("`{}` is not probed: {why}", function.name),
                "probe what calls it; if it must be this function: --unsafe",
            )),
            _ => Ok(()),
        }
    }

    /// The kernel cannot probe functions this way.
    fn without_functions(&self, kind: PointKind, target: &Target<'_>, what: &str) -> UnresolvedPoint {
        let message = format!("this kernel has no {what}, which `{}:{}` needs", kind.name(), target.function);
        let exit = matches!(kind, PointKind::Kretprobe | PointKind::Fexit);
        let features = self.host.features();
        let hint = if !exit && what == "kprobes" && features.fentry {
            format!("use `fentry:{}`", target.function)
        } else if exit && what == "kprobes" && features.fentry {
            format!("use `fexit:{}`", target.function)
        } else if what != "kprobes" && features.kprobe {
            format!("use `{}:{}`", if exit { "kretprobe" } else { "kprobe" }, target.function)
        } else {
            match alternative(self.host, target.function, exit) {
                Some(name) => format!("use `tracepoint:{name}`"),
                None => "look for a tracepoint instead: `-l 'tracepoint:*'`".to_owned(),
            }
        };
        UnresolvedPoint::missing(message, hint)
    }

    fn no_function(&self, kind: PointKind, target: &Target<'_>) -> UnresolvedPoint {
        let place = if target.module.is_empty() { String::new() } else { format!(" in module `{}`", target.module) };
        let message = format!("there is no kernel function `{}`{place} that can be probed", target.function);
        let what = format!("{}:{}", kind.name(), target.module);
        let hint = self.hints.about(&what, target.function, || self.instead_of_function(kind, target));
        UnresolvedPoint::missing(message, hint)
    }

    fn instead_of_function(&self, kind: PointKind, target: &Target<'_>) -> String {
        let exit = matches!(kind, PointKind::Kretprobe | PointKind::Fexit);
        let near = crate::lang::suggest(target.function, self.host.functions().iter().map(|it| it.name.as_str()));
        // What moved is told before what is spelled alike.
        let here =
            |name: &String| self.host.functions().binary_search_by(|it| it.name.as_str().cmp(name.as_str())).is_ok();
        let near = kernel_names::other_names(target.function).into_iter().find(here).or(near);
        if let Some(words) = kernel_names::elsewhere(target.function) {
            return words.to_owned();
        }
        match (near, alternative(self.host, target.function, exit)) {
            (Some(near), _) if near == target.function => "it is elsewhere; leave the module out".to_owned(),
            (_, Some(name)) => format!("it may be inlined; use `tracepoint:{name}`"),
            (Some(near), None) => format!("did you mean `{near}`?"),
            (None, None) => {
                format!("it may be inlined or in a module that is not loaded; search with `-l '{}:*…*'`", kind.name())
            }
        }
    }

    fn nothing_matches(
        &self,
        kind: PointKind,
        text: &AttachText,
        target: &Target<'_>,
        dangerous: usize,
    ) -> UnresolvedPoint {
        if dangerous > 0 {
            let message = format!("all {dangerous} functions that `{}` matches are not probed, for safety", text.text);
            return UnresolvedPoint::wrong(message, "probe what calls them; if it must be these: --unsafe");
        }
        let message = format!("no kernel function matches `{}`", target.function);
        UnresolvedPoint::missing(message, format!("search with `-l '{}:*…*'`", kind.name()))
    }

    pub(super) fn fentry(&mut self, kind: PointKind, text: &AttachText) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        if text.parts.get(1).is_some_and(|part| part.text == "bpf") {
            return Err(UnresolvedPoint::wrong("probes at BPF programs are not supported", "probe a kernel function"));
        }
        let target = target(kind, text)?;
        if !self.host.features().fentry {
            return Err(self.without_functions(kind, &target, "function trampolines (fentry)"));
        }
        if target.offset != 0 {
            return Err(UnresolvedPoint::wrong(
                "fentry and fexit take no offset",
                format!("use `kprobe:{}+…`", target.function),
            ));
        }
        if has_wildcard(target.function) || has_wildcard(target.module) {
            let all = self.matching(&target);
            let described = |it: &KernelFunction| {
                let of = Some(it.module.as_str()).filter(|module| !module.is_empty());
                self.types.function(of, &it.name).is_some()
            };
            let is_usable =
                |it: &&KernelFunction| (self.options.unsafe_allowed || denied(&it.name).is_none()) && described(it);
            let usable: Vec<&KernelFunction> = all.iter().copied().filter(is_usable).collect();
            limit_matches(text, usable.len(), self.config)?;
            let found = usable.into_iter().filter_map(|it| self.fentry_point(kind, text, &it.module, &it.name).ok());
            let found: Vec<ResolvedPoint> = found.collect();
            if found.is_empty() {
                return Err(self.nothing_matches(kind, text, &target, all.len()));
            }
            return Ok(found);
        }
        let found = self.known_function(&target).ok_or_else(|| self.no_function(kind, &target))?;
        self.refuse_dangerous(&found)?;
        self.fentry_point(kind, text, &found.module, &found.name).map(|found| vec![found])
    }

    fn fentry_point(
        &self,
        kind: PointKind,
        text: &AttachText,
        module: &str,
        function: &str,
    ) -> Result<ResolvedPoint, UnresolvedPoint> {
        let exit = kind == PointKind::Fexit;
        let of = Some(module).filter(|module| !module.is_empty());
        let known = self.types.function(of, function);
        let Some(signature) = known.and_then(|known| self.types.signature(known.id)) else {
            let message = format!("the kernel's types do not describe `{function}`, which {} needs", kind.name());
            let hint = format!("use `{}:{function}`", if exit { "kretprobe" } else { "kprobe" });
            return Err(UnresolvedPoint::missing(message, hint));
        };
        let mut shape = Shape::new(kind, &text.text);
        let mut words = Vec::new();
        let mut offset = 0;
        for parameter in &signature.parameters {
            words.push(Word { name: parameter.name.to_owned(), ty: parameter.ty, offset });
            // A struct that is passed by value takes as many words as it needs.
            let bytes = self.types.size(parameter.ty).unwrap_or(8).clamp(1, 16);
            offset += if bytes > 8 { 16 } else { 8 };
        }
        if exit {
            let returns = Word { name: "retval".to_owned(), ty: signature.returns, offset };
            let nothing = signature.returns == bathyscope_catalog::types::TypeId::VOID;
            shape.returned = if nothing { Returned::None } else { Returned::Word(returns) };
        }
        shape.args = Args::Words { name: format!("{}:{function}", kind.name()), words };
        let module_prefix = if module.is_empty() { String::new() } else { format!("{module}:") };
        let name = format!("{}:{module_prefix}{function}", kind.name());
        let point = AttachPoint::Fentry { module: module.to_owned(), function: function.to_owned(), exit };
        Ok(ResolvedPoint { name, point, shape, layout: String::new() })
    }
}

/// What `args` would be, as hint for those who write it at a kprobe.
fn parameters_hint(types: &Types, module: &str, function: &str) -> Option<String> {
    let module = Some(module).filter(|module| !module.is_empty());
    let signature = types.signature(types.function(module, function)?.id)?;
    let list: Vec<String> = signature
        .parameters
        .iter()
        .enumerate()
        .map(|(index, it)| format!("arg{index} is `{}`", types.render_declaration(it.ty, it.name)))
        .collect();
    if list.is_empty() {
        return Some("the function has no arguments".to_owned());
    }
    Some(format!("use `arg0`, `arg1`, … ({}), or `fentry`", list.join(", ")))
}

fn target<'t>(kind: PointKind, text: &'t AttachText) -> Result<Target<'t>, UnresolvedPoint> {
    let name = kind.name();
    let parts = parts(text);
    let (module, function) = match parts.as_slice() {
        [function] => ("", *function),
        [module, function] => (*module, *function),
        _ => {
            let message = format!("`{}` does not name one function", text.text);
            return Err(UnresolvedPoint::wrong(
                message,
                format!("write `{name}:FUNCTION` or `{name}:MODULE:FUNCTION`"),
            ));
        }
    };
    let (function, offset) = match function.split_once('+') {
        None => (function, 0),
        Some((function, offset)) => {
            let offset = number(offset.trim()).ok_or_else(|| {
                UnresolvedPoint::wrong(
                    format!("`{offset}` is no offset"),
                    format!("write `{name}:{}+4`", function.trim()),
                )
            })?;
            (function.trim(), offset)
        }
    };
    if function.is_empty() {
        return Err(UnresolvedPoint::wrong(
            format!("`{}` names no function", text.text),
            format!("write `{name}:FUNCTION`"),
        ));
    }
    Ok(Target { module, function, offset })
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn address(text: &str) -> Option<u64> {
    text.starts_with(|c: char| c.is_ascii_digit()).then(|| number(text)).flatten()
}
