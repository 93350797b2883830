//! USDT markers: the notes that `sys/sdt.h` and its like leave in a program.

use super::{
    file::{ElfError, ElfFile, notes, number},
    place::{ArgumentLocation, operand},
};

/// The most markers of one file.
const MAX_MARKERS: usize = 1 << 17;
/// The most bytes of notes.
const MAX_NOTE_BYTES: u64 = 64 << 20;
/// The longest name of a provider or marker.
const MAX_NAME_BYTES: usize = 256;
/// The longest description of arguments, and the most arguments (the macros have no more than 12).
const MAX_ARGUMENT_BYTES: usize = 4096;
const MAX_ARGUMENTS: usize = 12;
const NT_STAPSDT: u32 = 3;

/// One place of a USDT marker; a marker may have several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Its provider.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// Where it is in the file: what a uprobe is attached to.
    pub offset: u64,
    /// Where its semaphore is in the file, if it has one: the kernel counts it up while somebody listens.
    pub semaphore: Option<u64>,
    /// Its arguments.
    pub arguments: Vec<MarkerArgument>,
}

/// An argument of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerArgument {
    /// Its size: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether it is signed.
    pub signed: bool,
    /// Whether it is a floating-point number.
    pub float: bool,
    /// Where it is.
    pub place: ArgumentLocation,
    /// As the note has it, for messages: `-4@8(%rsp)`.
    pub text: String,
}

impl ElfFile<'_> {
    /// The USDT markers, in the order of the notes.
    ///
    /// # Errors
    /// If the notes cannot be read. Single notes that make no sense are left out.
    pub fn markers(&self) -> Result<Vec<Marker>, ElfError> {
        let Some(section) = self.section(b".note.stapsdt") else { return Ok(Vec::new()) };
        if section.bytes > MAX_NOTE_BYTES {
            let (bytes, limit) = (section.bytes, MAX_NOTE_BYTES);
            return Err(ElfError::TooLarge { what: "the notes of its USDT probes", bytes, limit });
        }
        let content = self.content(section, "the notes of its USDT probes")?;
        let base = self.section(b".stapsdt.base").map(|section| section.address);
        let found = notes(&content).filter(|(name, kind, _)| *name == b"stapsdt" && *kind == NT_STAPSDT);
        Ok(found.take(MAX_MARKERS).filter_map(|(_, _, note)| self.marker(note, base)).collect())
    }

    fn marker(&self, note: &[u8], base: Option<u64>) -> Option<Marker> {
        let (address, linked_base, semaphore) = (number(note, 0, 8)?, number(note, 8, 8)?, number(note, 16, 8)?);
        // If the file was moved after linking (prelink), all addresses in the notes have moved as far as the base.
        let moved = match base {
            Some(base) if linked_base != 0 => base.wrapping_sub(linked_base),
            _ => 0,
        };
        let address = address.wrapping_add(moved);
        let offset = self.offset_of(address)?;
        let semaphore = match semaphore {
            0 => None,
            at => Some(self.offset_of(at.wrapping_add(moved))?),
        };
        let mut texts = note.get(24..)?.split(|byte| *byte == 0);
        let mut text = |limit| std::str::from_utf8(texts.next()?).ok().filter(|text| text.len() <= limit);
        let provider = text(MAX_NAME_BYTES).filter(|name| !name.is_empty())?.to_owned();
        let name = text(MAX_NAME_BYTES).filter(|name| !name.is_empty())?.to_owned();
        let arguments = text(MAX_ARGUMENT_BYTES).unwrap_or_default();
        let arguments = split(arguments).take(MAX_ARGUMENTS).map(|text| self.argument(text, address)).collect();
        Some(Marker { provider, name, offset, semaphore, arguments })
    }

    /// `[-]SIZE[f]@OPERAND`.
    fn argument(&self, text: &str, address: u64) -> MarkerArgument {
        let (head, place) = text.split_once('@').unwrap_or(("", text));
        let (signed, size) = match head.strip_prefix('-') {
            Some(size) => (true, size),
            None => (false, head),
        };
        let (float, size) = match size.strip_suffix('f') {
            Some(size) => (true, size),
            None => (false, size),
        };
        let bytes = match size {
            "1" => Some(1),
            "2" => Some(2),
            "4" => Some(4),
            // Very old notes have no sizes.
            "8" | "" => Some(8),
            _ => None,
        };
        let place = if bytes.is_some() { operand(self, place, address) } else { ArgumentLocation::Unreadable };
        MarkerArgument { bytes: bytes.unwrap_or(8), signed, float, place, text: text.to_owned() }
    }
}

/// Arguments are apart by blanks, but blanks also stand in brackets: `8@x1 -4@[sp, 24]`.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut open = 0_u32;
    let parts = text.split(move |byte: char| {
        match byte {
            '[' | '(' => open += 1,
            ']' | ')' => open = open.saturating_sub(1),
            _ => {}
        }
        byte == ' ' && open == 0
    });
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_apart() {
        let all = |text| split(text).collect::<Vec<_>>();
        assert_eq!(all("-4@%edi 8@8(%rsp)  8@$5"), ["-4@%edi", "8@8(%rsp)", "8@$5"]);
        assert_eq!(all("8@x1 -4@[sp, 24] 4@5"), ["8@x1", "-4@[sp, 24]", "4@5"]);
        assert_eq!(all(""), [""; 0]);
        assert_eq!(all("8@x1) 4@x2"), ["8@x1)", "4@x2"]);
    }
}
