//! Names of parameters and members → where they are, by the kernel's types.
//!
//! A parameter is `$argN`; a member behind a pointer is what is at an offset from it, one `+OFFSET(…)` for each pointer
//! on the way. Types follow from those in C unless they are given.

use std::fmt;

use bathyscope_capture::{ProgramData, ProgramVariable, VariablePlace};

use super::{
    BaseType, DynamicArgument, DynamicDefinition, DynamicError, DynamicProblem as Problem, End, Fetch, FetchType,
    MAX_ARGUMENT_NAME_BYTES, MAX_ARGUMENTS, MAX_ARRAY, ProbeSite,
};
use crate::{
    constants::X86_DEBUG_REGISTERS,
    suggest::closest,
    types::{Signature, TypeId, Types},
};

/// Bytes that a register holds.
const WORD_BYTES: u64 = 8;
/// Members that are named where one is missing.
const NAMED_MEMBERS: usize = 6;
/// Members that are looked through for the nearest name.
const COMPARED_MEMBERS: usize = 4096;

/// What has a name where a function begins or returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeVariable {
    /// Its name; empty for a parameter that has none.
    pub name: String,
    /// Its type in C.
    pub type_name: String,
    /// How it is recorded; none if it is a whole struct, of which members can be.
    pub argument: Option<DynamicArgument>,
    /// Names of its members, or of what it points to, at most 4096.
    pub members: Vec<String>,
    /// Whether the members are behind a pointer: `->` and not `.`.
    pub pointer: bool,
}

/// The parameters of a function, and `$retval` last if it returns something.
pub fn variables(types: &Types, function: TypeId) -> Option<Vec<ProbeVariable>> {
    let signature = types.signature(function)?;
    let places = Places::of(types, &signature);
    let one = |(index, parameter): (usize, &crate::types::Parameter<'_>)| {
        let fetch = places.fetch(index);
        let argument = fetch.and_then(|fetch| {
            let state =
                State { value: ResolvedValue::Word { fetch, shift: 0 }, ty: parameter.ty, user: false, width: None };
            state.argument(types, Some(parameter.name), None).ok()
        });
        let (record, pointer) = record_behind(types, parameter.ty);
        ProbeVariable {
            name: parameter.name.to_owned(),
            type_name: types.render(parameter.ty),
            argument,
            members: members(types, record),
            pointer,
        }
    };
    let mut all: Vec<ProbeVariable> = signature.parameters.iter().enumerate().map(one).collect();
    if signature.returns != TypeId::VOID {
        all.push(ProbeVariable {
            name: "$retval".to_owned(),
            type_name: types.render(signature.returns),
            argument: Some(DynamicArgument {
                name: None,
                fetch: Fetch::ReturnValue,
                ty: base_of(types, signature.returns).map(FetchType::one),
            }),
            members: Vec::new(),
            pointer: false,
        });
    }
    Some(all)
}

/// The parameters and variables at a place of a program, as its debug information describes them.
pub fn program_variables(data: &ProgramData) -> Vec<ProbeVariable> {
    let mut types = Types::built_in();
    let ids = types.add_program(data);
    let variables = data.places.first().map(Vec::as_slice).unwrap_or_default();
    let names = ProgramNames { variables, ids: &ids, missing: "" };
    let one = |variable: &ProgramVariable| {
        let ty = ids.get(variable.ty as usize).copied().unwrap_or(TypeId::VOID);
        let argument = names.state(variable).and_then(|state| state.argument(&types, Some(&variable.name), None)).ok();
        let (record, pointer) = record_behind(&types, ty);
        let members = if names.state(variable).is_ok() { members(&types, record) } else { Vec::new() };
        ProbeVariable { name: variable.name.clone(), type_name: types.render(ty), argument, members, pointer }
    };
    variables.iter().map(one).collect()
}

fn members(types: &Types, record: TypeId) -> Vec<String> {
    types.field_names(record, COMPARED_MEMBERS).into_iter().map(str::to_owned).collect()
}

/// The struct that a type is or points to.
fn record_behind(types: &Types, ty: TypeId) -> (TypeId, bool) {
    types.pointer(ty).map_or((ty, false), |pointer| (pointer.to, true))
}

impl FetchType {
    /// One value of this kind.
    pub fn one(base: BaseType) -> Self {
        Self { base, count: None }
    }
}

impl DynamicDefinition {
    /// The function of the kernel whose parameters have names here, and whether the place is where it returns.
    pub fn kernel_function(&self) -> Option<(Option<&str>, &str, bool)> {
        match &self.place {
            ProbeSite::Function { module, symbol, offset: 0, on } => {
                Some((module.as_deref(), symbol, matches!(on, End::Return { .. })))
            }
            ProbeSite::Traced { symbol, on } => Some((None, symbol, matches!(on, End::Return { .. }))),
            _ => None,
        }
    }

    /// Whether an argument is written by the name of a parameter.
    pub fn has_names(&self) -> bool {
        self.arguments.iter().any(|argument| names_in(&argument.fetch))
    }

    /// The same with the names of parameters, and of members behind them, replaced by where they are. `function` is what
    /// the place names, as the kernel's types describe it; `at` has where each argument begins in the text.
    ///
    /// # Errors
    /// A name that there is not, with its place.
    pub fn with_types(self, types: &Types, function: Option<TypeId>, at: &[usize]) -> Result<Self, DynamicError> {
        let signature = function.and_then(|function| types.signature(function));
        let name = match &self.place {
            ProbeSite::Function { symbol, .. } | ProbeSite::Traced { symbol, .. } => symbol.clone(),
            _ => String::new(),
        };
        let inside = matches!(self.place, ProbeSite::Function { offset: 1.., .. });
        let places = signature.as_ref().map(|signature| Places::of(types, signature));
        let known = signature.as_ref().zip(places.as_ref());
        let mut arguments: Vec<DynamicArgument> = Vec::new();
        for (index, argument) in self.arguments.iter().cloned().enumerate() {
            let at = at.get(index).copied().unwrap_or(0);
            if !names_in(&argument.fetch) {
                arguments.push(with_type_of_return(types, argument, signature.as_ref()));
                continue;
            }
            let wrong = |problem| DynamicError { at, problem };
            let Some((signature, places)) = known else {
                return Err(wrong(match (inside, name.is_empty()) {
                    (true, _) => Problem::VariableInside,
                    (false, true) => Problem::NoFunction,
                    (false, false) => Problem::NoSignature(name),
                }));
            };
            let finder = SignatureNames { types, signature, places, function: &name };
            arguments.extend(Finder { types, names: &finder }.resolve(argument).map_err(wrong)?);
        }
        self.with_arguments(arguments)
    }

    /// The same with the names of a program's parameters and variables, and of members behind them, replaced by where they are,
    /// as its debug information says of the place. `missing` says why it says nothing; it may be empty.
    ///
    /// # Errors
    /// A name that there is not, or that a probe cannot read, with its place.
    pub fn with_program(mut self, data: &ProgramData, missing: &str, at: &[usize]) -> Result<Self, DynamicError> {
        let mut types = Types::built_in();
        let ids = types.add_program(data);
        let variables = data.places.first().map(Vec::as_slice).unwrap_or_default();
        let names = ProgramNames { variables, ids: &ids, missing };
        let mut arguments: Vec<DynamicArgument> = Vec::new();
        for (index, argument) in std::mem::take(&mut self.arguments).into_iter().enumerate() {
            let at = at.get(index).copied().unwrap_or(0);
            let found = Finder { types: &types, names: &names }.resolve(argument);
            arguments.extend(found.map_err(|problem| DynamicError { at, problem })?);
        }
        self.with_arguments(arguments)
    }

    fn with_arguments(mut self, mut arguments: Vec<DynamicArgument>) -> Result<Self, DynamicError> {
        if arguments.len() > MAX_ARGUMENTS {
            return Err(DynamicError { at: 0, problem: Problem::TooManyArguments });
        }
        own_names(&mut arguments);
        self.arguments = arguments;
        Ok(self)
    }
}

/// `$retval` by itself is of the type that the function returns.
fn with_type_of_return(types: &Types, argument: DynamicArgument, signature: Option<&Signature<'_>>) -> DynamicArgument {
    let returns = signature.filter(|_| argument.fetch == Fetch::ReturnValue && argument.ty.is_none());
    let ty = returns.and_then(|signature| base_of(types, signature.returns)).map(FetchType::one);
    DynamicArgument { ty: ty.or(argument.ty), ..argument }
}

fn names_in(fetch: &Fetch) -> bool {
    match fetch {
        Fetch::Variable(_) => true,
        Fetch::Dereference { of, .. } => names_in(of),
        _ => false,
    }
}

/// Two members of the same name get different ones.
fn own_names(arguments: &mut [DynamicArgument]) {
    let mut taken: Vec<String> = Vec::new();
    for argument in arguments {
        let Some(name) = &mut argument.name else { continue };
        let base = name.clone();
        let mut number = 2;
        while taken.contains(name) {
            *name = format!("{}_{number}", base.get(..base.len().min(MAX_ARGUMENT_NAME_BYTES - 4)).unwrap_or("arg"));
            number += 1;
        }
        taken.push(name.clone());
    }
}

/// Which `$argN` each parameter is: structs by value take two registers or none.
struct Places(Vec<Option<u32>>);

impl Places {
    fn of(types: &Types, signature: &Signature<'_>) -> Self {
        let (mut next, mut lost, mut all) = (1_u32, false, Vec::new());
        for parameter in &signature.parameters {
            let bytes = types.size(parameter.ty).unwrap_or(WORD_BYTES);
            let words = u32::try_from(bytes.div_ceil(WORD_BYTES)).unwrap_or(u32::MAX).max(1);
            // What does not fit into registers is on the stack, between what comes there in its order.
            lost |= words > 2 || (words == 2 && next > 5);
            all.push((!lost).then_some(next));
            next = next.saturating_add(words);
        }
        Self(all)
    }

    fn fetch(&self, index: usize) -> Option<Fetch> {
        self.0.get(index).copied().flatten().map(Fetch::Argument)
    }
}

/// What names mean at a place.
trait PlaceNames {
    /// Where what has a name is.
    fn find(&self, name: &str) -> Result<State, Problem>;

    /// All that can be recorded, by name; what has none has an empty one.
    fn all(&self) -> Vec<(&str, State)>;
}

/// Replaces names by where they are.
struct Finder<'a> {
    types: &'a Types,
    names: &'a dyn PlaceNames,
}

impl Finder<'_> {
    /// The arguments that one with a name stands for.
    fn resolve(&self, argument: DynamicArgument) -> Result<Vec<DynamicArgument>, Problem> {
        let DynamicArgument { name, fetch, ty } = argument;
        match fetch {
            Fetch::Variable(path) if path.starts_with('$') => Ok(self.all()),
            Fetch::Variable(path) => {
                let (state, last) = self.path(&path)?;
                let own = name.unwrap_or(last);
                Ok(vec![state.argument(self.types, Some(&own), ty)?])
            }
            Fetch::Dereference { offset, user, of } => {
                let of = Box::new(self.inner(*of)?);
                Ok(vec![DynamicArgument { name, fetch: Fetch::Dereference { offset, user, of }, ty }])
            }
            fetch => Ok(vec![DynamicArgument { name, fetch, ty }]),
        }
    }

    /// A name within `+OFFSET(…)` is its value, whatever it is.
    fn inner(&self, fetch: Fetch) -> Result<Fetch, Problem> {
        match fetch {
            Fetch::Variable(path) if path.starts_with('$') => Err(Problem::Fetch),
            Fetch::Variable(path) => Ok(self.path(&path)?.0.fetch()),
            Fetch::Dereference { offset, user, of } => {
                Ok(Fetch::Dereference { offset, user, of: Box::new(self.inner(*of)?) })
            }
            fetch => Ok(fetch),
        }
    }

    /// All that can be recorded.
    fn all(&self) -> Vec<DynamicArgument> {
        let one = |(name, state): (&str, State)| state.argument(self.types, Some(name), None).ok();
        self.names.all().into_iter().filter_map(one).collect()
    }

    /// Follows `parameter->member.member[1]`; gives what is there and the last name.
    fn path(&self, path: &str) -> Result<(State, String), Problem> {
        let (first, mut rest) = path.split_at(path.find(['-', '.', '[']).unwrap_or(path.len()));
        let mut last = first;
        let mut state = self.names.find(first)?;
        while !rest.is_empty() {
            if let Some(behind) = rest.strip_prefix('[') {
                let (index, behind) = behind.split_once(']').ok_or(Problem::Fetch)?;
                state = state.element(self.types, index.parse().map_err(|_digits| Problem::Number)?)?;
                rest = behind;
                continue;
            }
            let (arrow, behind) = match rest.strip_prefix("->") {
                Some(behind) => (true, behind),
                None => (false, rest.strip_prefix('.').ok_or(Problem::Fetch)?),
            };
            let (member, behind) = behind.split_at(behind.find(['-', '.', '[']).unwrap_or(behind.len()));
            state = state.member(self.types, member, arrow)?;
            (last, rest) = (member, behind);
        }
        let name = last.get(..last.len().min(MAX_ARGUMENT_NAME_BYTES)).unwrap_or(last);
        Ok((state, name.to_owned()))
    }
}

/// What a function's parameters are, by the kernel's types.
struct SignatureNames<'a> {
    types: &'a Types,
    signature: &'a Signature<'a>,
    places: &'a Places,
    function: &'a str,
}

impl PlaceNames for SignatureNames<'_> {
    fn find(&self, name: &str) -> Result<State, Problem> {
        let found = self.signature.parameters.iter().position(|parameter| parameter.name == name && !name.is_empty());
        let Some((index, parameter)) = found.and_then(|index| Some((index, self.signature.parameters.get(index)?)))
        else {
            let names: Vec<&str> = self.signature.parameters.iter().map(|it| it.name).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Problem::NoParameter { name: name.to_owned(), function: self.function.to_owned(), known });
        };
        let fetch = self.places.fetch(index).ok_or_else(|| Problem::ByValue(name.to_owned()))?;
        Ok(State { value: ResolvedValue::Word { fetch, shift: 0 }, ty: parameter.ty, user: false, width: None })
    }

    fn all(&self) -> Vec<(&str, State)> {
        let parameters = self.signature.parameters.iter().enumerate();
        let one = |(index, parameter): (usize, &crate::types::Parameter<'_>)| {
            let value = ResolvedValue::Word { fetch: self.places.fetch(index)?, shift: 0 };
            let state = State { value, ty: parameter.ty, user: false, width: None };
            let is_read = state.clone().argument(self.types, None, None).is_ok();
            is_read.then_some((self.signature.parameters.get(index)?.name, state))
        };
        parameters.filter_map(one).collect()
    }
}

/// What a program's parameters and variables are, by its debug information.
struct ProgramNames<'a> {
    variables: &'a [ProgramVariable],
    ids: &'a [TypeId],
    missing: &'a str,
}

impl ProgramNames<'_> {
    fn state(&self, variable: &ProgramVariable) -> Result<State, Problem> {
        let unreadable = |why: &str| Problem::UnreadableVariable { name: variable.name.clone(), why: why.to_owned() };
        let register = |number: u8| {
            let name =
                register_name(number).ok_or_else(|| unreadable("it is in a register that a probe cannot read"))?;
            Ok(Fetch::Register(name))
        };
        let word = |fetch| ResolvedValue::Word { fetch, shift: 0 };
        let value = match &variable.place {
            VariablePlace::Register(number) | VariablePlace::Sum { register: number, offset: 0 } => {
                word(register(*number)?)
            }
            VariablePlace::Memory { register: number, offset } => {
                ResolvedValue::Memory { base: register(*number)?, bits: offset.saturating_mul(8) }
            }
            VariablePlace::Constant(value) => word(Fetch::Immediate(value.cast_unsigned())),
            VariablePlace::Unreadable(why) => return Err(unreadable(why)),
            VariablePlace::Sum { .. } | VariablePlace::Pieces(_) => {
                return Err(unreadable("the compiler keeps it in a way that only a script can read, as `args.NAME`"));
            }
        };
        let ty = self.ids.get(variable.ty as usize).copied().unwrap_or(TypeId::VOID);
        Ok(State { value, ty, user: false, width: None })
    }
}

impl PlaceNames for ProgramNames<'_> {
    fn find(&self, name: &str) -> Result<State, Problem> {
        if let Some(variable) = self.variables.iter().find(|variable| variable.name == name) {
            return self.state(variable);
        }
        let names: Vec<&str> = self.variables.iter().map(|variable| variable.name.as_str()).collect();
        let hint = match (closest(name, names.iter().copied()), self.missing) {
            (Some(near), _) => format!("; did you mean `{near}`?"),
            (None, "") if names.is_empty() => "; nothing is in scope there".to_owned(),
            (None, "") => format!("; there are {}", names.join(", ")),
            (None, missing) => {
                let why = missing.split_once("; use `arg0`").map_or(missing, |(why, _)| why);
                format!(": {why}; write registers such as %di")
            }
        };
        Err(Problem::NoVariable { name: name.to_owned(), hint })
    }

    fn all(&self) -> Vec<(&str, State)> {
        let named = |variable: &'_ ProgramVariable| self.state(variable).ok();
        self.variables.iter().filter_map(|it| Some((it.name.as_str(), named(it)?))).collect()
    }
}

/// A register as the kernel's language of probes calls it, by its number in debug information.
fn register_name(number: u8) -> Option<String> {
    match number {
        31 if cfg!(target_arch = "aarch64") => Some("sp".to_owned()),
        0..=30 if cfg!(target_arch = "aarch64") => Some(format!("x{number}")),
        _ => X86_DEBUG_REGISTERS.get(usize::from(number)).map(|name| (*name).to_owned()),
    }
}

/// Where a value is.
#[derive(Clone, Debug)]
enum ResolvedValue {
    /// In a register, from a bit on.
    Word { fetch: Fetch, shift: u64 },
    /// In memory: bits from an address.
    Memory { base: Fetch, bits: i64 },
}

/// A value on the way along a path.
#[derive(Clone, Debug)]
struct State {
    value: ResolvedValue,
    ty: TypeId,
    /// Whether the memory is the program's.
    user: bool,
    /// How many bits, of a bitfield.
    width: Option<u32>,
}

impl State {
    /// The word that is there.
    fn fetch(&self) -> Fetch {
        match &self.value {
            ResolvedValue::Word { fetch, .. } => fetch.clone(),
            ResolvedValue::Memory { base, bits } => dereference(base.clone(), bits.div_euclid(8), self.user),
        }
    }

    fn member(self, types: &Types, name: &str, arrow: bool) -> Result<Self, Problem> {
        let pointer = types.pointer(self.ty);
        let told = || types.render(self.ty);
        let (value, record, user) = match (pointer, arrow) {
            (Some(pointer), true) => {
                (ResolvedValue::Memory { base: self.fetch(), bits: 0 }, pointer.to, pointer.notes.user)
            }
            (None, true) => return Err(Problem::NoPointer(told())),
            (Some(_), false) => return Err(Problem::IsPointer(told())),
            (None, false) => (self.value.clone(), self.ty, self.user),
        };
        let Some(field) = types.field(record, name) else {
            return Err(Problem::NoMember {
                name: name.to_owned(),
                of: types.render(record),
                hint: hint(types, record, name),
            });
        };
        let value = match value {
            ResolvedValue::Memory { base, bits } => {
                ResolvedValue::Memory { base, bits: bits.saturating_add_unsigned(field.bit_offset) }
            }
            // A struct in registers: its second word is in the next.
            ResolvedValue::Word { fetch: Fetch::Argument(number), shift } => {
                let at = shift.saturating_add(field.bit_offset);
                let further = u32::try_from(at / 64).unwrap_or(0);
                ResolvedValue::Word { fetch: Fetch::Argument(number.saturating_add(further)), shift: at % 64 }
            }
            ResolvedValue::Word { fetch, shift } => {
                ResolvedValue::Word { fetch, shift: shift.saturating_add(field.bit_offset) }
            }
        };
        Ok(Self { value, ty: field.ty, user, width: field.bits })
    }

    fn element(self, types: &Types, index: u64) -> Result<Self, Problem> {
        let (element, base, user) = match (types.stripped(self.ty), types.pointer(self.ty)) {
            (crate::types::CType::Array { element, .. }, _) => (element, self.value.clone(), self.user),
            (_, Some(pointer)) => {
                (pointer.to, ResolvedValue::Memory { base: self.fetch(), bits: 0 }, pointer.notes.user)
            }
            _ => return Err(Problem::NoPointer(types.render(self.ty))),
        };
        let bytes = types.size(element).unwrap_or(1);
        let further = bytes.saturating_mul(8).saturating_mul(index);
        match base {
            ResolvedValue::Memory { base, bits } if further < 1 << 40 => Ok(Self {
                value: ResolvedValue::Memory { base, bits: bits.saturating_add_unsigned(further) },
                ty: element,
                user,
                width: None,
            }),
            _ => Err(Problem::Number),
        }
    }

    /// How it is recorded, with the type that is asked for or the one that it has in C.
    fn argument(self, types: &Types, name: Option<&str>, asked: Option<FetchType>) -> Result<DynamicArgument, Problem> {
        let name = name.map(str::to_owned).filter(|name| !name.is_empty());
        if let Some(width) = self.width {
            let (fetch, ty) = self.bit_field(types, width)?;
            return Ok(DynamicArgument { name, fetch, ty: Some(asked.unwrap_or(ty)) });
        }
        let wants_text = asked.is_none_or(|ty| matches!(ty.base, BaseType::Text | BaseType::UserText));
        if wants_text && asked.is_none_or(|ty| ty.count.is_none()) {
            if let Some((fetch, user)) = self.text(types, asked.is_some()) {
                let usual = if user { BaseType::UserText } else { BaseType::Text };
                return Ok(DynamicArgument { name, fetch, ty: Some(asked.unwrap_or(FetchType::one(usual))) });
            }
            if asked.is_some() {
                return Err(Problem::NoText(types.render(self.ty)));
            }
        }
        if let Some(asked) = asked {
            return Ok(DynamicArgument { name, fetch: self.fetch(), ty: Some(asked) });
        }
        let (fetch, ty) = self.number(types)?;
        Ok(DynamicArgument { name, fetch, ty: Some(ty) })
    }

    fn bit_field(self, types: &Types, width: u32) -> Result<(Fetch, FetchType), Problem> {
        let container = types.size(self.ty).unwrap_or(4).clamp(1, 8) * 8;
        let (fetch, shift, container) = match self.value {
            ResolvedValue::Memory { base, bits } => {
                let within = bits.rem_euclid(container.cast_signed());
                (dereference(base, (bits - within).div_euclid(8), self.user), within.cast_unsigned(), container)
            }
            ResolvedValue::Word { fetch, shift } => (fetch, shift, 64),
        };
        let base =
            BaseType::Bits { width: narrow(u64::from(width))?, shift: narrow(shift)?, container: narrow(container)? };
        Ok((fetch, FetchType::one(base)))
    }

    /// The text that it is or points to, and whether it is the program's: what is `const char *` or an array of `char`, and
    /// any pointer to `char` if text is asked for.
    fn text(&self, types: &Types, any: bool) -> Option<(Fetch, bool)> {
        let is_char =
            |ty: TypeId| types.integer(ty).is_some_and(|integer| integer.bytes == 1 && (integer.character || any));
        if let crate::types::CType::Array { element, .. } = types.stripped(self.ty) {
            return is_char(element).then(|| (self.fetch(), self.user));
        }
        let pointer = types.pointer(self.ty)?;
        let right = is_char(pointer.to) && (any || pointer.notes.constant);
        let untyped = any && pointer.to == TypeId::VOID;
        (right || untyped).then(|| (dereference(self.fetch(), 0, pointer.notes.user), pointer.notes.user))
    }

    fn number(self, types: &Types) -> Result<(Fetch, FetchType), Problem> {
        if let crate::types::CType::Array { element, count } = types.stripped(self.ty)
            && let Some(base) = base_of(types, element)
            && (1..=MAX_ARRAY).contains(&count)
        {
            return Ok((self.fetch(), FetchType { base, count: Some(count) }));
        }
        let Some(base) = base_of(types, self.ty) else { return Err(self.whole(types)) };
        if let ResolvedValue::Word { fetch, shift: shift @ 1.. } = self.value {
            let width = types.size(self.ty).unwrap_or(WORD_BYTES).saturating_mul(8);
            let base = BaseType::Bits { width: narrow(width)?, shift: narrow(shift)?, container: 64 };
            return Ok((fetch, FetchType::one(base)));
        }
        Ok((self.fetch(), FetchType::one(base)))
    }

    fn whole(&self, types: &Types) -> Problem {
        let (record, _) = record_behind(types, self.ty);
        let names = types.field_names(record, NAMED_MEMBERS);
        let members = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Problem::Whole { of: types.render(self.ty), members }
    }
}

fn narrow(number: u64) -> Result<u8, Problem> {
    u8::try_from(number).map_err(|_large| Problem::Bits)
}

fn dereference(of: Fetch, offset: i64, user: bool) -> Fetch {
    Fetch::Dereference { offset, user, of: Box::new(of) }
}

/// How a number of this type is recorded; none for what is none.
fn base_of(types: &Types, ty: TypeId) -> Option<BaseType> {
    if types.pointer(ty).is_some() {
        return Some(BaseType::Hex(64));
    }
    let integer = types.integer(ty)?;
    let bits = u8::try_from(integer.bytes.checked_mul(8)?).ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
    Some(if integer.signed && !integer.boolean { BaseType::Signed(bits) } else { BaseType::Unsigned(bits) })
}

fn hint(types: &Types, record: TypeId, name: &str) -> String {
    let names = types.field_names(record, COMPARED_MEMBERS);
    if let Some(near) = closest(name, names.iter().copied()) {
        return format!("; did you mean `{near}`?");
    }
    match names.get(..names.len().min(NAMED_MEMBERS)).unwrap_or_default() {
        [] => "; its members are not described".to_owned(),
        some => format!("; it has {}", some.join(", ")),
    }
}

impl fmt::Display for ProbeVariable {
    /// As it is declared in C: `int dfd`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if self.type_name.ends_with('*') { "" } else { " " };
        write!(f, "{}{between}{}", self.type_name, self.name)
    }
}
