//! Functions that print formats call.

use super::{
    PrintError, PrintErrorKind, evaluate,
    expression::{Expr, Named},
    number::{BinaryOp, PrintInt},
    parser::{PrintParser, Tall},
    words::PrintWord,
};

/// The most names of one set.
const MAX_NAMES: usize = 4096;
/// Errors are the last so many addresses.
const LEAST_ERROR: u64 = 4095_u64.wrapping_neg();

impl PrintParser<'_> {
    /// A call whose name was read.
    pub(super) fn call(&mut self, name: &str) -> Result<Tall, PrintError> {
        self.expect("(")?;
        let found = match name {
            "__print_flags" | "__print_flags_u64" => self.flags()?,
            "__print_symbolic" | "__print_symbolic_u64" => {
                let value = self.expression()?;
                let names = self.names()?;
                self.grown([value], |[value]| Expr::Symbolic { value: Box::new(value), names })?
            }
            "__print_hex" | "__print_hex_str" => {
                let what = self.two()?;
                let between = if name == "__print_hex" { " " } else { "" };
                self.grown(what, |[bytes, count]| Expr::Hex { between, what: Box::new((bytes, count)) })?
            }
            "__print_hex_dump" => self.hex_dump()?,
            "__print_array" => {
                let [array, count] = self.two()?;
                self.expect(",")?;
                let size = self.expression()?;
                self.grown([array, count, size], |[array, count, size]| Expr::Array(Box::new((array, count, size))))?
            }
            "__print_dynamic_array" => {
                let field = self.own_field()?;
                self.expect(",")?;
                let size = self.expression()?;
                self.grown([size], |[size]| {
                    let count = Expr::Binary(BinaryOp::Divide, Box::new((Expr::LengthOf(field), size.clone())));
                    Expr::Array(Box::new((Expr::Field(field), count, size)))
                })?
            }
            _ => match self.field_call(name)? {
                Some(found) => found,
                None => self.plain_call(name)?,
            },
        };
        self.expect(")")?;
        Ok(found)
    }

    /// Calls whose argument is the name of a field.
    fn field_call(&mut self, name: &str) -> Result<Option<Tall>, PrintError> {
        let of_field: fn(usize) -> Expr = match name {
            "__get_str"
            | "__get_rel_str"
            | "__get_dynamic_array"
            | "__get_rel_dynamic_array"
            | "__get_sockaddr_raw" => Expr::Field,
            "__get_dynamic_array_len" | "__get_rel_dynamic_array_len" => Expr::LengthOf,
            "__get_bitmask" | "__get_rel_bitmask" | "__get_cpumask" | "__get_rel_cpumask" => {
                |field| Expr::Bits(Box::new(Expr::Field(field)))
            }
            "__get_sockaddr" | "__get_rel_sockaddr" => |field| Expr::SocketAddress(Box::new(Expr::Field(field))),
            _ => return Ok(None),
        };
        Ok(Some(Tall::leaf(of_field(self.own_field()?))))
    }

    /// Functions and macros of the kernel over plain values.
    fn plain_call(&mut self, name: &str) -> Result<Tall, PrintError> {
        match name {
            "__builtin_expect" => {
                let [value, _expected] = self.two()?;
                Ok(value)
            }
            "__builtin_constant_p" => {
                self.expression()?;
                Ok(Tall::leaf(Expr::Number(PrintInt::signed(0))))
            }
            "IS_ERR_VALUE" | "IS_ERR" => {
                let value = self.expression()?;
                let least = Tall::leaf(Expr::Number(PrintInt::unsigned(LEAST_ERROR)));
                self.grown([value, least], |[value, least]| {
                    Expr::Binary(BinaryOp::GreaterOrEqual, Box::new((value, least)))
                })
            }
            // How long a tick is differs between kernels, and no format says it.
            "jiffies_to_msecs" | "jiffies_to_usecs" | "page_to_pfn" => {
                self.expression()?;
                Ok(Tall::leaf(Expr::Hidden))
            }
            // Numbers in a struct of their own, put in and taken out again.
            "native_make_pte" | "native_make_pmd" | "native_make_pud" | "native_make_p4d" | "native_make_pgd"
            | "pte_val" | "pmd_val" | "pud_val" | "p4d_val" | "pgd_val" | "PTR_ERR" | "ERR_PTR" | "PTR_ERR_OR_ZERO" => {
                self.expression()
            }
            "nvme_trace_disk_name" => {
                // The first argument is the kernel's buffer.
                self.name()?;
                self.expect(",")?;
                let name = self.expression()?;
                self.grown([name], |[name]| Expr::DiskName(Box::new(name)))
            }
            _ => self.fail(PrintErrorKind::Function),
        }
    }

    fn own_field(&mut self) -> Result<usize, PrintError> {
        let name = self.name()?;
        self.field(name)
    }

    fn two(&mut self) -> Result<[Tall; 2], PrintError> {
        let first = self.expression()?;
        self.expect(",")?;
        Ok([first, self.expression()?])
    }

    fn flags(&mut self) -> Result<Tall, PrintError> {
        let value = self.expression()?;
        self.expect(",")?;
        let between = match self.peek() {
            PrintWord::Name("NULL") => {
                self.name()?;
                Vec::new()
            }
            _ => self.text()?,
        };
        let names = self.names()?;
        self.grown([value], |[value]| Expr::Flags { value: Box::new(value), between, names })
    }

    /// `, { NUMBER, "NAME" }, …`
    fn names(&mut self) -> Result<Named, PrintError> {
        let mut names = Named::new();
        while self.take(",") {
            if names.len() >= MAX_NAMES {
                return self.fail(PrintErrorKind::TooLarge);
            }
            self.expect("{")?;
            if self.take("}") {
                continue;
            }
            let number = self.expression()?;
            self.expect(",")?;
            let Some(number) = evaluate::constant(&number.expr) else { return self.fail(PrintErrorKind::Name) };
            match self.peek() {
                PrintWord::Text(_) => names.push((number, self.text()?)),
                // The kernel's own end of a list: no name.
                _ => match evaluate::constant(&self.expression()?.expr) {
                    Some(0) => {}
                    _ => return self.fail(PrintErrorKind::Syntax),
                },
            }
            // A list may end in a comma.
            let _last = self.take(",");
            self.expect("}")?;
        }
        Ok(names)
    }

    /// `__print_hex_dump(text, type, bytes in a row, bytes in a group, bytes, count, ascii)`: here on one line.
    fn hex_dump(&mut self) -> Result<Tall, PrintError> {
        let mut arguments = vec![self.expression()?];
        while arguments.len() < 7 {
            self.expect(",")?;
            arguments.push(self.expression()?);
        }
        let mut what = arguments.into_iter().skip(4);
        match (what.next(), what.next()) {
            (Some(bytes), Some(count)) => {
                self.grown([bytes, count], |[bytes, count]| Expr::Hex { between: " ", what: Box::new((bytes, count)) })
            }
            _ => self.fail(PrintErrorKind::Syntax),
        }
    }
}
