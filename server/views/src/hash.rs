//! Maps by number, and the two FNV-1a hashes.

pub(crate) use bathyscope_capture::IdMap;

/// The 32-bit FNV-1a hash, which the front end computes too, for colours.
pub(crate) fn fnv1a_32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Where the 64-bit FNV-1a hash begins.
pub(crate) const FNV1A_64: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues the 64-bit FNV-1a hash.
pub(crate) fn fnv1a_64(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_is_the_published_one() {
        let cases: [(&str, u32, u64); 3] = [
            ("", 0x811c_9dc5, 0xcbf2_9ce4_8422_2325),
            ("a", 0xe40c_292c, 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0xbf9c_f968, 0x8594_4171_f739_67e8),
        ];
        for (text, short, long) in cases {
            assert_eq!((fnv1a_32(text.as_bytes()), fnv1a_64(FNV1A_64, text.as_bytes())), (short, long), "{text}");
        }
    }
}
