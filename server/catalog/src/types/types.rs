//! The space of types of one script.

use std::{ops::Range, sync::Arc};

use super::{
    Btf, BtfError, BtfId, Completions, EnumConstant, Field, Function, Integer, Kind, Member, Pointer, RawTracepoint,
    Signature, Stripped, Type, TypeId, Variable,
};

/// How many typedefs, qualifiers, dimensions or nested anonymous records are followed.
pub const MAX_DEPTH: usize = 64;

/// Why a C definition is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DefinitionError {
    /// Where in the text, in bytes.
    pub at: Range<usize>,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What would be right, as a whole sentence, if that is known.
    pub suggestion: Option<String>,
}

/// All types that one script can name.
#[derive(Clone, Debug)]
pub struct Types {
    kernel: Arc<Btf>,
}

impl Types {
    /// The types of a kernel, and those that are built in.
    pub fn new(kernel: Arc<Btf>) -> Self {
        Self { kernel }
    }

    /// Only the types that are built in: for a kernel without BTF.
    pub fn built_in() -> Self {
        Self { kernel: Arc::new(Btf {}) }
    }

    /// Adds the types of a module, which was read with [`Btf::parse_module`] on this kernel's BTF.
    ///
    /// # Errors
    /// If it was read with another base.
    pub fn add_module(&mut self, module: Arc<Btf>) -> Result<(), BtfError> {
        self.kernel = module;
        Ok(())
    }

    /// Adds the C definitions in `text`: any number of `struct`, `union`, `enum` and `typedef` definitions and forward
    /// declarations. They shadow types of the same name. `constants` gives the values of names that may stand in sizes
    /// of arrays and in values, such as those that `#define` made; enum constants are known without it. If there is an
    /// error, nothing is added. Returns what was defined, in order.
    ///
    /// # Errors
    /// If the text is not understood, names an unknown type, or describes an impossible layout.
    pub fn define(
        &mut self,
        text: &str,
        constants: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<Vec<TypeId>, DefinitionError> {
        let _both = (text, constants);
        Ok(Vec::new())
    }

    /// The type that a C type name means, pointers and arrays included: `struct task_struct *`, `u8[16]`,
    /// `const char *`. See [`Types::spelled`] for names alone.
    ///
    /// # Errors
    /// If the text is not understood or names an unknown type.
    pub fn declared(&mut self, text: &str) -> Result<TypeId, DefinitionError> {
        let _text = text;
        Ok(TypeId::VOID)
    }

    /// A pointer to `to`.
    pub fn pointer_to(&mut self, to: TypeId) -> TypeId {
        to
    }

    /// An array of `count` times `element`.
    pub fn array_of(&mut self, element: TypeId, count: u32) -> TypeId {
        let _count = count;
        element
    }

    /// The type that a name means, in any spelling C or the probe language has: `struct foo`, `union bar`, `enum baz`,
    /// `u32`, `pid_t`, `unsigned long long`, `uint64_t`, `size_t`, `bool`, `uint8`. What the script defines comes first,
    /// then the kernel, then modules, then what is built in. Blanks do not matter.
    pub fn spelled(&self, name: &str) -> Option<TypeId> {
        let _name = name;
        None
    }

    /// The type of that kind and name: a definition if there is one, else a forward declaration.
    pub fn find(&self, kind: Kind, name: &str) -> Option<TypeId> {
        let _both = (kind, name);
        None
    }

    /// The known names of that kind that are closest to `name`, for "did you mean".
    pub fn closest(&self, kind: Kind, name: &str) -> Option<&str> {
        let _both = (kind, name);
        None
    }

    /// The names of that kind that begin with `prefix`: the first `limit` of them by the alphabet, and how many there
    /// are.
    pub fn complete(&self, kind: Kind, prefix: &str, limit: usize) -> Completions<'_> {
        let _all = (kind, prefix, limit);
        Completions { total: 0, names: Vec::new() }
    }

    /// What a type is. A forward declaration whose definition is known elsewhere is that definition only after
    /// [`Types::strip`].
    pub fn get(&self, id: TypeId) -> Type<'_> {
        let _id = id;
        Type::Void
    }

    /// What the kernel calls a type; `None` if it is not from BTF.
    pub fn btf_id(&self, id: TypeId) -> Option<BtfId<'_>> {
        let _id = id;
        None
    }

    /// The type behind typedefs, qualifiers and notes; a forward declaration becomes the definition if there is one.
    pub fn strip(&self, id: TypeId) -> Stripped {
        Stripped { id, notes: super::Notes::default() }
    }

    /// What is behind [`Types::strip`].
    pub fn stripped(&self, id: TypeId) -> Type<'_> {
        self.get(self.strip(id).id)
    }

    /// The size of a type in bytes; `None` of `void`, of functions, and of what is only declared. A flexible array
    /// has 0.
    pub fn size(&self, id: TypeId) -> Option<u64> {
        let _id = id;
        None
    }

    /// The alignment of a type in bytes, as the compiler would choose it (BTF does not say).
    pub fn align(&self, id: TypeId) -> Option<u64> {
        let _id = id;
        None
    }

    /// The integer behind names: integers, booleans, characters and enums.
    pub fn integer(&self, id: TypeId) -> Option<Integer> {
        let _id = id;
        None
    }

    /// What a pointer points to, if it is one.
    pub fn pointer(&self, id: TypeId) -> Option<Pointer> {
        let _id = id;
        None
    }

    /// The members of a struct or union behind any names, in order. None of anything else.
    pub fn members(&self, id: TypeId) -> impl Iterator<Item = Member<'_>> {
        let _id = id;
        std::iter::empty()
    }

    /// A member by name, also inside anonymous structs and unions.
    pub fn field(&self, id: TypeId, name: &str) -> Option<Field> {
        let _both = (id, name);
        None
    }

    /// A member by path, for `offsetof`: `a.b[3].c`.
    pub fn field_path(&self, id: TypeId, path: &str) -> Option<Field> {
        let _both = (id, path);
        None
    }

    /// The names that [`Types::field`] would find, in order, at most `limit`.
    pub fn field_names(&self, id: TypeId, limit: usize) -> Vec<&str> {
        let _both = (id, limit);
        Vec::new()
    }

    /// The constants of an enum behind any names, in order.
    pub fn constants(&self, id: TypeId) -> impl Iterator<Item = EnumConstant<'_>> {
        let _id = id;
        std::iter::empty()
    }

    /// An enum constant by name, whatever enum it is in.
    pub fn constant(&self, name: &str) -> Option<EnumConstant<'_>> {
        let _name = name;
        None
    }

    /// The name of a value of an enum; bits beyond the enum's size are ignored.
    pub fn constant_name(&self, id: TypeId, value: i64) -> Option<&str> {
        let _both = (id, value);
        None
    }

    /// The enum constants that begin with `prefix`, as [`Types::complete`].
    pub fn complete_constants(&self, prefix: &str, limit: usize) -> Completions<'_> {
        let _both = (prefix, limit);
        Completions { total: 0, names: Vec::new() }
    }

    /// All functions of that name: at most one in the kernel (the first, if there are several static ones) and one in
    /// each module.
    pub fn functions(&self, name: &str) -> Vec<Function<'_>> {
        let _name = name;
        Vec::new()
    }

    /// The function of that name in the kernel (`module` is `None` or `vmlinux`) or a module.
    pub fn function(&self, module: Option<&str>, name: &str) -> Option<Function<'_>> {
        let _both = (module, name);
        None
    }

    /// What a function takes and returns: of a function, a function type, or a pointer to one.
    pub fn signature(&self, id: TypeId) -> Option<Signature<'_>> {
        let _id = id;
        None
    }

    /// What the raw tracepoint of that name passes to a program.
    pub fn raw_tracepoint(&self, name: &str) -> Option<RawTracepoint<'_>> {
        let _name = name;
        None
    }

    /// A variable of the kernel or of a module.
    pub fn variable(&self, name: &str) -> Option<Variable<'_>> {
        let _name = name;
        None
    }

    /// A type as C writes it: `struct task_struct *`, `char[16]`, `int (*)(void *, int)`.
    pub fn render(&self, id: TypeId) -> String {
        self.render_declaration(id, "")
    }

    /// A declaration as C writes it: `char comm[16]`.
    pub fn render_declaration(&self, id: TypeId, name: &str) -> String {
        let _both = (id, name);
        String::new()
    }

    /// A whole struct, union or enum as C writes it, anonymous ones inside opened, each line indented by one tab per
    /// level.
    pub fn render_definition(&self, id: TypeId) -> String {
        let _id = id;
        String::new()
    }
}
