//! Functions, raw tracepoints and variables.

use super::{
    CType, Function, KernelVariable, Parameter, RawTracepoint, Signature, TypeId, TypeKind, Types,
    btf::kind,
    local::LocalType,
    types::{BtfType, Source},
};

/// The functions that the kernel makes for a tracepoint, in which its arguments have names: the best first.
const NAMED_BY: [&str; 3] = ["__probestub_", "__traceiter_", "__bpf_trace_"];

impl Types {
    /// All functions of that name: at most one in the kernel (the first, if there are several static ones) and one in
    /// each module.
    pub fn functions(&self, name: &str) -> Vec<Function<'_>> {
        self.sources.iter().filter_map(|source| self.function_in(source, name)).collect()
    }

    /// The function of that name in the kernel (`module` is `None` or `vmlinux`) or a module.
    pub fn function(&self, module: Option<&str>, name: &str) -> Option<Function<'_>> {
        let module = module.filter(|module| *module != "vmlinux");
        let source = self.sources.iter().find(|source| source.btf.module_name() == module)?;
        self.function_in(source, name)
    }

    fn function_in<'a>(&'a self, source: &'a Source, name: &str) -> Option<Function<'a>> {
        let id = source
            .btf
            .names()
            .candidates(name)
            .iter()
            .map(|index| source.id(*index))
            .find(|id| matches!(self.get(*id), CType::Function { name: n, .. } if n == name && !name.is_empty()))?;
        let CType::Function { name, .. } = self.get(id) else { return None };
        Some(Function { name, module: source.btf.module_name(), id })
    }

    /// Whether a type is marked with a tag of declarations, such as `bpf_kfunc`; `None` if nothing is, so that it is not
    /// known.
    pub fn is_tagged(&self, id: TypeId, tag: &str) -> Option<bool> {
        let mut any = false;
        for source in &self.sources {
            let count = u32::try_from(source.btf.len()).unwrap_or(u32::MAX);
            let tags = (0..count).filter_map(|index| source.btf.raw(index)).filter(|raw| raw.kind == kind::DECL_TAG);
            for raw in tags.filter(|raw| source.btf.name(raw.name) == tag) {
                if source.reference(raw.size_or_type) == id {
                    return Some(true);
                }
                any = true;
            }
        }
        any.then_some(false)
    }

    /// What a function takes and returns: of a function, a function type, or a pointer to one.
    pub fn signature(&self, id: TypeId) -> Option<Signature<'_>> {
        let mut at = self.strip(id).id;
        for _ in 0..3 {
            match self.get(at) {
                CType::Function { prototype: to, .. } | CType::Pointer { to } => at = self.strip(to).id,
                _ => break,
            }
        }
        if let Some(LocalType::Prototype { returns, parameters, variadic }) = self.locals.get(at) {
            let parameters = parameters.iter().map(|(name, ty)| Parameter { name, ty: *ty }).collect();
            return Some(Signature { parameters, returns: *returns, variadic: *variadic });
        }
        let CType::Prototype { returns, .. } = self.get(at) else { return None };
        let found = self.found(at)?;
        let parameter = |at: u32| {
            let at = at as usize * 8;
            Parameter { name: found.source.btf.name(found.number(at)), ty: found.reference(at + 4) }
        };
        let mut parameters: Vec<_> = (0..found.raw.entries).map(parameter).collect();
        // The dots are a last parameter without name and type.
        let variadic = parameters.pop_if(|last| last.name.is_empty() && last.ty == TypeId::VOID).is_some();
        Some(Signature { parameters, returns, variadic })
    }

    /// What the raw tracepoint of that name passes to a program.
    pub fn raw_tracepoint(&self, name: &str) -> Option<RawTracepoint<'_>> {
        let id = self.definition(TypeKind::Typedef, &format!("btf_trace_{name}"))?;
        let module = self.btf_id(id)?.module;
        // The first parameter is the tracepoint's own.
        let of = |id| self.signature(id).map(|signature| signature.parameters.into_iter().skip(1).collect::<Vec<_>>());
        let mut parameters = of(id)?;
        let named = NAMED_BY.iter().filter_map(|prefix| of(self.function(module, &format!("{prefix}{name}"))?.id));
        if let Some(named) = named.filter(|named| named.len() == parameters.len()).take(1).last() {
            for (parameter, named) in parameters.iter_mut().zip(named) {
                parameter.name = named.name;
            }
        }
        Some(RawTracepoint { module, id, parameters })
    }

    /// The names of raw tracepoints that begin with `prefix`, as [`Types::complete`].
    pub fn complete_raw_tracepoints(&self, prefix: &str, limit: usize) -> super::Completions<'_> {
        let mut found = self.complete(TypeKind::Typedef, &format!("btf_trace_{prefix}"), limit);
        for name in &mut found.names {
            *name = name.strip_prefix("btf_trace_").unwrap_or(name);
        }
        found
    }

    /// A variable of the kernel or of a module.
    pub fn variable(&self, name: &str) -> Option<KernelVariable<'_>> {
        let id = self.definition(TypeKind::Variable, name)?;
        let found = self.found(id)?;
        let CType::Variable { name, ty } = self.get(id) else { return None };
        let (section, offset, bytes) = section_of(found.source, id).unwrap_or_default();
        Some(KernelVariable { name, module: found.source.btf.module_name(), id, ty, section, offset, bytes })
    }
}

/// The section that lists a variable, where it is in it, and its size.
fn section_of(source: &Source, variable: TypeId) -> Option<(&str, u32, u32)> {
    source.btf.all().filter(|(_, raw)| raw.kind == kind::DATASEC).find_map(|(_, raw)| {
        let found = BtfType { source, raw };
        let at = (0..raw.entries as usize).map(|entry| entry * 12).find(|at| found.reference(*at) == variable)?;
        Some((found.name(), found.number(at + 4), found.number(at + 8)))
    })
}
