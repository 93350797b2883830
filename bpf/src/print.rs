use std::fmt;

use crate::ir::Program;

pub(crate) fn program(program: &Program, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", program.name)
}
