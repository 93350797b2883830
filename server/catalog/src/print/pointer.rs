//! What the kernel's `%p…` show of bytes.

use std::fmt::Write as _;

use super::{MAX_PRINTED_BYTES, evaluate::little_endian, template::PointerKind};

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// Text of bytes in memory; none if there are too few of them. `width` is that of the conversion.
pub(super) fn of_bytes(kind: &PointerKind, bytes: &[u8], width: Option<usize>) -> Option<String> {
    match kind {
        PointerKind::Hex(between) => {
            Some(joined(bytes.get(..width.unwrap_or(1).min(64)).unwrap_or(bytes).iter(), between))
        }
        PointerKind::Bitmap { list: false } => Some(bits(bytes, width)),
        PointerKind::Bitmap { list: true } => Some(ranges(bytes, width)),
        PointerKind::Mac { between, reversed } => {
            let bytes = bytes.get(..6)?;
            Some(if *reversed { joined(bytes.iter().rev(), between) } else { joined(bytes.iter(), between) })
        }
        PointerKind::Ip4 { zeros } => Some(ip4(bytes.first_chunk()?, *zeros)),
        PointerKind::Ip6 { short, plain } => Some(ip6(bytes.first_chunk()?, *short, *plain)),
        PointerKind::Socket(with) => socket_address(bytes, with),
        PointerKind::Uuid { little, upper } => Some(uuid(bytes.first_chunk()?, *little, *upper)),
        PointerKind::Plain | PointerKind::Function { .. } | PointerKind::Error => None,
    }
}

fn joined<'a>(bytes: impl Iterator<Item = &'a u8>, between: &str) -> String {
    let all: Vec<String> = bytes.map(|byte| format!("{byte:02x}")).collect();
    all.join(between)
}

/// A bitmap as groups of 32 bits in hexadecimal, the highest first: `%*pb`.
pub(super) fn bits(bytes: &[u8], width: Option<usize>) -> String {
    let most = bytes.len().min(MAX_PRINTED_BYTES / 4) * 8;
    let count = width.unwrap_or(most).min(most);
    let groups: Vec<u64> = bytes.chunks(4).take(count.div_ceil(32)).map(little_endian).collect();
    let mut text = String::new();
    for (i, group) in groups.iter().enumerate().rev() {
        let in_group = if i + 1 == groups.len() { count - 32 * i } else { 32 };
        let digits = in_group.div_ceil(4);
        let group = group & (u64::MAX >> (64 - in_group.clamp(1, 64)));
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{comma}{group:0digits$x}");
    }
    text
}

/// A bitmap as the numbers that are in it: `%*pbl`.
fn ranges(bytes: &[u8], width: Option<usize>) -> String {
    let most = bytes.len().min(MAX_PRINTED_BYTES / 8) * 8;
    let count = width.unwrap_or(most).min(most);
    let is_set = |bit: usize| bit < count && bytes.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
    let mut parts: Vec<String> = Vec::new();
    let mut bit = 0;
    while bit < count {
        if !is_set(bit) {
            bit += 1;
            continue;
        }
        let start = bit;
        while is_set(bit + 1) {
            bit += 1;
        }
        parts.push(if start == bit { start.to_string() } else { format!("{start}-{bit}") });
        bit += 1;
    }
    parts.join(",")
}

fn ip4(bytes: &[u8; 4], zeros: bool) -> String {
    let [a, b, c, d] = bytes;
    if zeros { format!("{a:03}.{b:03}.{c:03}.{d:03}") } else { format!("{a}.{b}.{c}.{d}") }
}

fn ip6(bytes: &[u8; 16], short: bool, plain: bool) -> String {
    if short {
        return std::net::Ipv6Addr::from(*bytes).to_string();
    }
    let groups = bytes.chunks_exact(2).map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    groups.collect::<Vec<_>>().join(if plain { "" } else { ":" })
}

/// A `struct sockaddr`: with `p` its port, with `c` shortened.
pub(super) fn socket_address(bytes: &[u8], with: &str) -> Option<String> {
    let family = u16::from_le_bytes(*bytes.first_chunk()?);
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let with_port = with.contains('p');
    Some(match family {
        AF_INET => {
            let address = ip4(bytes.get(4..)?.first_chunk()?, false);
            if with_port { format!("{address}:{port}") } else { address }
        }
        AF_INET6 => {
            let address = ip6(bytes.get(8..)?.first_chunk()?, with.contains('c'), false);
            if with_port { format!("[{address}]:{port}") } else { address }
        }
        _ => return None,
    })
}

fn uuid(bytes: &[u8; 16], little: bool, upper: bool) -> String {
    const LITTLE: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::new();
    for (i, from) in LITTLE.into_iter().enumerate() {
        let byte = bytes.get(if little { from } else { i }).copied().unwrap_or(0);
        let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{dash}{byte:02x}");
    }
    if upper { text.to_uppercase() } else { text }
}
