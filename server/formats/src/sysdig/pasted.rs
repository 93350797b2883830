//! Lines as people paste them: with the characters that documents print, behind `sysdig` and a prompt, in quotes.

use bathyscope_catalog::pasted::{Plain, behind_program, unquoted};

use super::{Result, SysdigError, SysdigFilter, parse_sysdig_filter};

/// A filter line as it was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastedFilter {
    /// What it asks for.
    pub filter: SysdigFilter,
    /// What was read as something else, in words.
    pub notes: Vec<String>,
}

/// Reads a line that was pasted: what documents print for quotes and dashes as what was typed; what is behind `sysdig`.
///
/// # Errors
/// What cannot be read or decided, with its place in what was pasted.
pub fn parse_pasted_filter(pasted: &str) -> Result<PastedFilter> {
    let plain = Plain::of(pasted);
    let mut notes = plain.notes.clone();
    let (mut line, mut before) = (plain.text.as_str(), 0);
    if let Some((behind, at)) = behind_program(line, "sysdig") {
        if behind.starts_with('-') {
            return Err(SysdigError {
                why: "an option of sysdig stands where its filter is expected".to_owned(),
                remedy: "Give the filter only; what is recorded and how it is shown is chosen in the form.".to_owned(),
                offset: plain.original(at),
            });
        }
        notes.push("what stands before the filter was passed over".to_owned());
        (line, before) = (behind, at);
        if let (inner, true) = unquoted(line) {
            (line, before) = (inner, before + 1);
        }
    }
    let filter = parse_sysdig_filter(line)
        .map_err(|error| SysdigError { offset: plain.original(before + error.offset), ..error })?;
    Ok(PastedFilter { filter, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_meant() {
        let typed = parse_sysdig_filter("proc.name=\"a b\" and evt.type=open").unwrap();
        let lines = [
            "proc.name=“a b” and evt.type=open",
            "# sysdig 'proc.name=\"a b\" and evt.type=open'",
            "[root@host ~]# sysdig proc.name=‘a b’ and evt.type=open",
        ];
        for line in lines {
            let read = parse_pasted_filter(line).unwrap();
            assert_eq!(read.filter, typed, "{line}");
            assert!(!read.notes.is_empty(), "{line}");
        }
        assert_eq!(parse_pasted_filter("evt.type=open").unwrap().notes, [""; 0]);
    }

    #[test]
    fn places_are_those_of_what_was_pasted() {
        let error = parse_pasted_filter("$ sysdig \"evt.type=open and proc.nmae=x\"").unwrap_err();
        assert_eq!(error.offset, 28);
        let error = parse_pasted_filter("proc.name=“a” and proc.nmae=x").unwrap_err();
        assert_eq!(error.offset, "proc.name=“a” and ".len());
        let error = parse_pasted_filter("sysdig -p%evt.type proc.name=x").unwrap_err();
        assert!(error.why.contains("an option of sysdig") && error.offset == 7, "{error:?}");
    }
}
