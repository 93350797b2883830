use crate::Code;

/// An object that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// Two programs have one name.
    #[error("two programs are called `{name}`")]
    Program {
        /// The name.
        name: String,
    },
    /// Two different maps have one name.
    #[error("two different maps are called `{name}`")]
    Map {
        /// The name.
        name: String,
    },
    /// The file could not be written.
    #[error("writing the object file failed: {why}")]
    Write {
        /// Why.
        why: String,
    },
}

/// An ELF object of programs and their maps, for the loader. Maps of one name are one map.
///
/// # Errors
/// If names clash.
pub fn object(programs: &[&Code]) -> Result<Vec<u8>, ObjectError> {
    let _ = programs;
    unimplemented!()
}
