//! Return probes of programs that the Go compiler made are refused.
//!
//! A return probe puts another return address on the stack. Go moves its stacks and walks them by what is there: it finds an
//! address that is in none of its functions and ends the program. Scripts refuse it where they look places up
//! ([`crate::script`]); here it is refused for the lines of a trace.

use bathyscope_catalog::{
    dynamic::{Line, ProbeSite, parse_dynamic},
    elf::ElfFile,
};
use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::LinkError;
use crate::script::{ScriptAgent, open_program};

/// Refuses lines that would put a return probe into a Go program. What is wrong with a line in another way is told by
/// whoever makes the probe.
///
/// # Errors
/// The first such line.
pub(super) fn refuse(agent: &mut impl ScriptAgent, lines: &[String]) -> Result<(), LinkError> {
    for line in lines {
        let Ok(Line::Define(definition)) = parse_dynamic(line) else { continue };
        let ProbeSite::File { path, returns: true, .. } = &definition.place else { continue };
        let Ok(program) = open_program(agent, path, None) else { continue };
        if ElfFile::parse(&program.file).is_ok_and(|elf| elf.is_go()) {
            return Err(LinkError::Refused(AgentError {
                kind: AgentErrorKind::Invalid,
                doing: format!("checking the probe `{}`", bathyscope_capture::visible(line.as_bytes())),
                why: format!(
                    "{} was made by the Go compiler, which moves its stacks: a return probe would end the program",
                    bathyscope_capture::visible(path.as_bytes())
                ),
                remedy: "Probe where the function begins (p instead of r), or each of its return instructions."
                    .to_owned(),
                detail: String::new(),
            }));
        }
    }
    Ok(())
}
