/// One BPF instruction of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Class and operation.
    pub code: u8,
    /// Destination register.
    pub dst: u8,
    /// Source register.
    pub src: u8,
    /// Offset.
    pub off: i16,
    /// Constant.
    pub imm: i32,
}

/// The instructions as text.
pub fn disassemble(code: &crate::Code) -> String {
    let _ = code;
    String::new()
}
