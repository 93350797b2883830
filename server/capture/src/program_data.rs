//! Variables of programs and their types, as debug information describes them: the console reads them, the agent's compiler uses them.
//! Both sides take them for hostile: [`ProgramData::is_sound`] says whether they can be used.

use serde::{Deserialize, Serialize};

/// The most types of one attach point.
pub const MAX_DATA_TYPES: usize = 1 << 14;
/// Types within each other, by value.
const MAX_DATA_DEPTH: u32 = 48;
/// The largest type.
const MAX_DATA_BYTES: u64 = 1 << 30;

/// The variables at the places of an attach point, and their types.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramData {
    /// The types, which refer to each other by their numbers.
    pub types: Vec<DataType>,
    /// The variables of each place, in the order of the places; empty where they were not asked for.
    pub places: Vec<Vec<ProgramVariable>>,
}

/// A variable or parameter at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramVariable {
    /// Its name.
    pub name: String,
    /// The number of its type.
    pub ty: u32,
    /// Whether the function takes it.
    pub parameter: bool,
    /// Where it is.
    pub place: VariablePlace,
}

/// Where a variable is. Registers have the numbers that DWARF gives them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariablePlace {
    /// In a register.
    Register(u8),
    /// In memory, so many bytes from where a register points.
    Memory {
        /// The register.
        register: u8,
        /// The bytes.
        offset: i64,
    },
    /// It is what is in a register and so much more.
    Sum {
        /// The register.
        register: u8,
        /// How much more.
        offset: i64,
    },
    /// It is always this number.
    Constant(i64),
    /// Its bytes are at several places, one behind the other.
    Pieces(Vec<VariablePiece>),
    /// A probe cannot read it: why, the end of a sentence.
    Unreadable(String),
}

/// Some bytes of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariablePiece {
    /// Where they are.
    pub place: VariablePlace,
    /// How many.
    pub bytes: u32,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataType {
    /// Nothing, or what probes cannot read.
    Void,
    /// A number.
    Integer {
        /// Its size.
        bytes: u8,
        /// Whether it has a sign.
        signed: bool,
        /// What its values mean.
        meaning: IntegerMeaning,
    },
    /// A floating-point number.
    Float {
        /// Its size.
        bytes: u8,
    },
    /// An address.
    Pointer {
        /// Of what.
        to: u32,
    },
    /// Several of one type.
    Array {
        /// The type.
        element: u32,
        /// How many.
        count: u32,
    },
    /// A struct or union.
    Record {
        /// Its name; empty if it has none.
        name: String,
        /// Whether its members share their place.
        union: bool,
        /// Its size.
        bytes: u32,
        /// Its members.
        members: Vec<DataMember>,
    },
    /// A number whose values have names.
    Enumeration {
        /// Its name; empty if it has none.
        name: String,
        /// Its size.
        bytes: u8,
        /// Whether it has a sign.
        signed: bool,
        /// The names.
        constants: Vec<(String, i64)>,
    },
    /// A struct of which only the name is known.
    Declared {
        /// The name.
        name: String,
    },
    /// Another name of a type.
    Named {
        /// The name.
        name: String,
        /// The type.
        to: u32,
    },
}

/// What the values of an integer mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntegerMeaning {
    /// Numbers.
    Number,
    /// True and false.
    Boolean,
    /// Characters of a text.
    Character,
}

/// A member of a struct or union.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataMember {
    /// Its name; that of a struct without a name is empty, and its members are found as if they were the outer's.
    pub name: String,
    /// The number of its type.
    pub ty: u32,
    /// Where it begins.
    pub bit_offset: u64,
    /// How many bits it has, if it is a bit field.
    pub bits: Option<u32>,
}

impl ProgramData {
    /// Whether every type refers to types that there are, no type is in itself, and members are within their struct.
    pub fn is_sound(&self) -> bool {
        let mut sizes = Sizes { types: &self.types, known: vec![None; self.types.len()] };
        let variables = || self.places.iter().flatten();
        self.types.len() <= MAX_DATA_TYPES
            && (0_u32..).zip(&self.types).all(|(at, _)| sizes.of(at, 0).is_some())
            && variables().all(|variable| (variable.ty as usize) < self.types.len())
    }

    /// Adds what was read of one more place, whose variables refer to types of its own.
    pub fn add(&mut self, types: Vec<DataType>, mut variables: Vec<ProgramVariable>) {
        let before = u32::try_from(self.types.len()).unwrap_or(u32::MAX);
        let shift = |number: &mut u32| *number = number.saturating_add(before);
        variables.iter_mut().for_each(|variable| shift(&mut variable.ty));
        self.types.extend(types.into_iter().map(|mut ty| {
            match &mut ty {
                DataType::Pointer { to } | DataType::Array { element: to, .. } | DataType::Named { to, .. } => {
                    shift(to)
                }
                DataType::Record { members, .. } => members.iter_mut().for_each(|member| shift(&mut member.ty)),
                DataType::Void
                | DataType::Integer { .. }
                | DataType::Float { .. }
                | DataType::Enumeration { .. }
                | DataType::Declared { .. } => {}
            }
            ty
        }));
        self.places.push(variables);
    }
}

/// Sizes of types in bytes, each computed once.
struct Sizes<'a> {
    types: &'a [DataType],
    known: Vec<Option<u64>>,
}

impl Sizes<'_> {
    /// The size of a type; none if it is not sound.
    fn of(&mut self, at: u32, depth: u32) -> Option<u64> {
        let index = at as usize;
        if let Some(known) = self.known.get(index)? {
            return Some(*known);
        }
        let depth = Some(depth + 1).filter(|depth| *depth < MAX_DATA_DEPTH)?;
        let types = self.types;
        let size = match types.get(index)? {
            DataType::Void | DataType::Declared { .. } => 0,
            DataType::Integer { bytes, .. } | DataType::Enumeration { bytes, .. } => {
                u64::from(*bytes).checked_sub(1).filter(|less| *less < 16)? + 1
            }
            DataType::Float { bytes } => u64::from(*bytes),
            DataType::Pointer { to } => types.get(*to as usize).map(|_| 8)?,
            DataType::Named { to, .. } => self.of(*to, depth)?,
            DataType::Array { element, count } => self.of(*element, depth)?.checked_mul(u64::from(*count))?,
            DataType::Record { bytes, members, .. } => {
                for member in members {
                    let size = self.of(member.ty, depth)?.checked_mul(8)?;
                    let end = member.bit_offset.checked_add(member.bits.map_or(size, u64::from))?;
                    let fits = end <= u64::from(*bytes) * 8 && member.bits.is_none_or(|bits| (1..=64).contains(&bits));
                    fits.then_some(())?;
                }
                u64::from(*bytes)
            }
        };
        let size = Some(size).filter(|size| *size <= MAX_DATA_BYTES)?;
        *self.known.get_mut(index)? = Some(size);
        Some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: DataType = DataType::Integer { bytes: 4, signed: true, meaning: IntegerMeaning::Number };

    fn record(bytes: u32, members: &[(u32, u64)]) -> DataType {
        let member = |(ty, bit_offset): &(u32, u64)| DataMember {
            name: "m".into(),
            ty: *ty,
            bit_offset: *bit_offset,
            bits: None,
        };
        DataType::Record { name: "s".into(), union: false, bytes, members: members.iter().map(member).collect() }
    }

    fn is_sound(types: &[DataType]) -> bool {
        ProgramData { types: types.to_vec(), places: Vec::new() }.is_sound()
    }

    #[test]
    fn types_that_cannot_be_are_refused() {
        // A list: its pointer leads to itself, which is no containment.
        assert!(is_sound(&[INT, record(16, &[(0, 0), (2, 64)]), DataType::Pointer { to: 1 }]));
        assert!(!is_sound(&[record(8, &[(0, 0)])]), "a struct in itself");
        assert!(!is_sound(&[record(8, &[(1, 0)]), DataType::Named { name: "t".into(), to: 0 }]));
        assert!(!is_sound(&[INT, record(4, &[(0, 8)])]), "a member behind the end");
        assert!(!is_sound(&[DataType::Pointer { to: 1 }]), "a number that no type has");
        assert!(!is_sound(&[INT, DataType::Array { element: 0, count: u32::MAX }]), "too large");
        assert!(!is_sound(&[DataType::Integer { bytes: 0, signed: false, meaning: IntegerMeaning::Number }]));
        let bits = DataMember { name: "b".into(), ty: 0, bit_offset: 30, bits: Some(2) };
        let with = |member| DataType::Record { name: String::new(), union: false, bytes: 4, members: vec![member] };
        assert!(is_sound(&[INT, with(bits.clone())]));
        assert!(!is_sound(&[INT, with(DataMember { bits: Some(3), ..bits })]));
    }

    #[test]
    fn types_of_several_places_are_told_apart() {
        let variable =
            |ty| ProgramVariable { name: "v".into(), ty, parameter: false, place: VariablePlace::Register(0) };
        let mut data = ProgramData::default();
        for _place in 0..2 {
            data.add(vec![INT, DataType::Pointer { to: 0 }], vec![variable(1)]);
        }
        assert_eq!(data.types, [INT, DataType::Pointer { to: 0 }, INT, DataType::Pointer { to: 2 }]);
        assert_eq!(data.places.iter().map(|it| it[0].ty).collect::<Vec<_>>(), [1, 3]);
        assert!(data.is_sound());
        data.places[1][0].ty = 4;
        assert!(!data.is_sound());
    }
}
