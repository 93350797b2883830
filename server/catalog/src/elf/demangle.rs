//! Names as people write them.

use std::fmt::{self, Write};

use cpp_demangle::{BorrowedSymbol, DemangleOptions, ParseOptions};

/// The longest name that is made readable, and the longest result, in bytes.
const MAX_MANGLED_BYTES: usize = 8 << 10;
const MAX_READABLE_BYTES: usize = 16 << 10;
/// How deeply a name may be nested.
const MAX_NESTING: u32 = 96;

/// A name as a person reads it: Rust and C++ names without mangling, others as they are.
pub fn demangle(name: &str) -> String {
    readable(name, false).unwrap_or_else(|| name.to_owned())
}

/// The same without the types of parameters and of what is returned, as probes name C++ functions: `space::f`.
pub fn demangle_without_parameters(name: &str) -> String {
    readable(name, true).unwrap_or_else(|| name.to_owned())
}

fn readable(name: &str, bare: bool) -> Option<String> {
    if name.len() > MAX_MANGLED_BYTES {
        return None;
    }
    let mut text = Bounded(String::new());
    // Older Rust names look like C++ names, so Rust comes first.
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return write!(text, "{rust:#}").ok().map(|()| text.0);
    }
    if !name.starts_with("_Z") && !name.starts_with("___Z") {
        return None;
    }
    let options = ParseOptions::default().recursion_limit(MAX_NESTING);
    let (symbol, rest) = BorrowedSymbol::with_tail_and_options(name.as_bytes(), &options).ok()?;
    let options = DemangleOptions::new().recursion_limit(MAX_NESTING);
    let options = if bare { options.no_params().no_return_type() } else { options };
    symbol.structured_demangle(&mut text, &options).ok()?;
    let mut text = text.0;
    if bare {
        // Copies that the compiler made are the same function: `.isra.0`, `.cold`.
        text.truncate(text.find(" [clone ").unwrap_or(text.len()));
    } else {
        // Such as a version: `@@GLIBCXX_3.4`.
        text.push_str(std::str::from_utf8(rest).ok()?);
    }
    Some(text)
}

/// Text that does not grow without end.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_READABLE_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_readable() {
        let cases = [
            ("main", "main", "main"),
            ("_ZN3foo3barEi", "foo::bar(int)", "foo::bar"),
            ("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place", "core::ptr::drop_in_place"),
            ("_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"),
            ("_ZNSt6vectorIiSaIiEE9push_backEOi", "", "std::vector<int, std::allocator<int> >::push_back"),
            ("_ZN3foo3barEi.isra.0", "foo::bar(int) [clone .isra.0]", "foo::bar"),
            ("_ZN3foo3barEi@@V_1", "foo::bar(int)@@V_1", "foo::bar"),
            ("_Z", "_Z", "_Z"),
            ("_Zgarbage", "_Zgarbage", "_Zgarbage"),
        ];
        for (mangled, full, bare) in cases {
            if !full.is_empty() {
                assert_eq!(demangle(mangled), full);
            }
            assert_eq!(demangle_without_parameters(mangled), bare);
        }
    }

    #[test]
    fn what_would_grow_without_end_stays_as_it_is() {
        let nested = format!("_Z1f{}i", "P".repeat(5000));
        assert_eq!(demangle(&nested), nested);
        let long = format!("_ZN{}E", "1a".repeat(100_000));
        assert_eq!(demangle(&long), long);
        // Each argument refers to all before it: the readable form doubles with each.
        let doubling = format!("_Z1fI{}Evv", (0..30).map(|n| format!("S{n}_")).collect::<String>());
        assert_eq!(demangle(&doubling), doubling);
    }
}
