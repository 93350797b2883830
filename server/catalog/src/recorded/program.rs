//! Types of a made program, as its debug information would describe them.

use bathyscope_capture::{DataMember, DataType, IntegerMeaning};

/// The types of a program with a list: `int`, `struct node`, a pointer to it, one to text, `char`, an enum, eight letters, a text
/// of Rust, and a number of 8 bytes without a sign. Variables refer to them by these places.
pub fn list_types() -> Vec<DataType> {
    let member = |name: &str, ty, bit_offset, bits| DataMember { name: name.to_owned(), ty, bit_offset, bits };
    let record = |name: &str, bytes, members| DataType::Record { name: name.to_owned(), union: false, bytes, members };
    let number = |bytes, signed, meaning| DataType::Integer { bytes, signed, meaning };
    let node = vec![
        member("next", 2, 0, None),
        member("len", 0, 64, None),
        member("low", 0, 96, Some(3)),
        member("name", 3, 128, None),
        member("text", 6, 192, None),
        member("kind", 5, 256, None),
    ];
    vec![
        number(4, true, IntegerMeaning::Number),
        record("node", 40, node),
        DataType::Pointer { to: 1 },
        DataType::Pointer { to: 4 },
        number(1, true, IntegerMeaning::Character),
        DataType::Enumeration { name: "colour".into(), bytes: 4, signed: false, constants: vec![("RED".into(), 0)] },
        DataType::Array { element: 4, count: 8 },
        record("&str", 16, vec![member("data_ptr", 3, 0, None), member("length", 8, 64, None)]),
        number(8, false, IntegerMeaning::Number),
    ]
}
