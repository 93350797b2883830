//! A small program file with code, symbols and a build id, as a simulated process has it mapped.

use super::world::{CODE_BYTES, CODE_OFFSET, FUNCTION_BYTES, FUNCTIONS};

const HEADER_BYTES: u64 = 64;
const PROGRAM_HEADER_BYTES: u64 = 56;
const SECTION_HEADER_BYTES: u16 = 64;
const NOTE_OFFSET: u64 = HEADER_BYTES + 2 * PROGRAM_HEADER_BYTES;
const NOTE_BYTES: u64 = 36;
const SECTION_NAMES: &[u8] = b"\0.text\0.symtab\0.strtab\0.shstrtab\0.note.gnu.build-id\0";

/// Name and type; flags, address, offset and size; link and information; alignment and bytes of an entry.
type Section = (u32, u32, [u64; 4], [u32; 2], [u64; 2]);

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn u64s(&mut self, values: &[u64]) -> &mut Self {
        self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self
    }

    fn pad_to(&mut self, offset: u64) {
        self.bytes.resize(offset as usize, 0);
    }

    fn here(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// The file of a program with this build id.
pub(super) fn program(build_id: [u8; 20]) -> Vec<u8> {
    let mut file = Writer::default();
    file.pad_to(NOTE_OFFSET);
    file.u32(4).u32(20).u32(3);
    file.bytes.extend(b"GNU\0");
    file.bytes.extend(build_id);
    file.pad_to(CODE_OFFSET);
    // Returns, so that whoever disassembles it finds instructions.
    file.bytes.resize((CODE_OFFSET + CODE_BYTES) as usize, 0xc3);

    let mut names = vec![0_u8];
    let symbols_at = file.here();
    file.u64s(&[0; 3]);
    for (index, name) in (0_u64..).zip(FUNCTIONS) {
        let name_at = u32::try_from(names.len()).unwrap_or(0);
        names.extend(name.as_bytes());
        names.push(0);
        // A global function in section 1.
        file.u32(name_at).u16(0x12).u16(1);
        file.u64s(&[CODE_OFFSET + index * FUNCTION_BYTES, FUNCTION_BYTES]);
    }
    let names_at = file.here();
    file.bytes.extend(&names);
    let section_names_at = file.here();
    file.bytes.extend(SECTION_NAMES);
    file.pad_to(file.here().next_multiple_of(8));
    let sections_at = file.here();
    let name_bytes = names.len() as u64;
    let symbol_bytes = names_at - symbols_at;
    let sections: [Section; 6] = [
        (0, 0, [0; 4], [0; 2], [0; 2]),
        (1, 1, [6, CODE_OFFSET, CODE_OFFSET, CODE_BYTES], [0, 0], [16, 0]),
        (7, 2, [0, 0, symbols_at, symbol_bytes], [3, 1], [8, 24]),
        (15, 3, [0, 0, names_at, name_bytes], [0, 0], [1, 0]),
        (23, 3, [0, 0, section_names_at, SECTION_NAMES.len() as u64], [0, 0], [1, 0]),
        (33, 7, [2, NOTE_OFFSET, NOTE_OFFSET, NOTE_BYTES], [0, 0], [4, 0]),
    ];
    for (name, kind, place, [link, information], end) in sections {
        file.u32(name).u32(kind).u64s(&place).u32(link).u32(information).u64s(&end);
    }
    let mut head = header(sections_at, u16::try_from(sections.len()).unwrap_or(0));
    head.extend_from_slice(file.bytes.get(head.len()..).unwrap_or_default());
    head
}

fn header(sections_at: u64, sections: u16) -> Vec<u8> {
    let mut head = Writer::default();
    head.bytes.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // A position-independent program for x86-64; the entry is the first function.
    head.u16(3).u16(62).u32(1).u64s(&[CODE_OFFSET, HEADER_BYTES, sections_at]).u32(0);
    head.u16(64).u16(56).u16(2).u16(SECTION_HEADER_BYTES).u16(sections).u16(4);
    // What is loaded: everything up to the end of the code, at its own offset.
    let loaded = CODE_OFFSET + CODE_BYTES;
    head.u32(1).u32(5).u64s(&[0, 0, 0, loaded, loaded, 0x1000]);
    head.u32(4).u32(4).u64s(&[NOTE_OFFSET, NOTE_OFFSET, NOTE_OFFSET, NOTE_BYTES, NOTE_BYTES, 4]);
    head.bytes
}

#[cfg(test)]
mod tests {
    use object::{Object as _, ObjectSymbol as _};

    use super::*;

    #[test]
    fn the_file_is_one_that_others_read() {
        let bytes = program([7; 20]);
        let file = object::File::parse(&*bytes).unwrap();
        assert_eq!(file.build_id().unwrap(), Some([7; 20].as_slice()));
        let found: Vec<(String, u64)> =
            file.symbols().map(|symbol| (symbol.name().unwrap().to_owned(), symbol.address())).collect();
        assert_eq!(found.len(), FUNCTIONS.len());
        assert_eq!(found[2], ("handle_request".to_owned(), CODE_OFFSET + 2 * FUNCTION_BYTES));
    }
}
