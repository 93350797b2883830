//! Socket addresses.

use std::net::Ipv6Addr;

use super::{
    table::set,
    text::{Bytes, put, quoted},
};

/// Appends a `struct sockaddr`. Of one that is too short or of another family the family and the bytes are shown.
pub(super) fn socket_address(out: &mut String, bytes: &[u8]) {
    let b = Bytes(bytes);
    let Some(family) = b.u16(0) else {
        out.push_str("{sa_family=");
        quoted(out, bytes);
        out.push('}');
        return;
    };
    out.push_str("{sa_family=");
    set("af").write_one(out, u64::from(family));
    let known = match family {
        1 => unix(out, bytes),
        2 => internet(out, b),
        10 => internet6(out, b),
        16 => netlink(out, b),
        17 => packet(out, b),
        _ => None,
    };
    if known.is_none() && bytes.len() > 2 {
        out.push_str(", sa_data=");
        quoted(out, bytes.get(2..).unwrap_or_default());
    }
    out.push('}');
}

fn unix(out: &mut String, bytes: &[u8]) -> Option<()> {
    let path = bytes.get(2..).unwrap_or_default();
    if path.is_empty() {
        return Some(());
    }
    out.push_str(", sun_path=");
    match path.split_first() {
        // A name that is no path begins with a NUL and has its length.
        Some((0, name)) => {
            out.push('@');
            quoted(out, name);
        }
        _ => quoted(out, path.split(|byte| *byte == 0).next().unwrap_or_default()),
    }
    Some(())
}

fn internet(out: &mut String, b: Bytes<'_>) -> Option<()> {
    let (port, address) = (b.u16_be(2)?, b.0.get(4..8)?);
    let [a, c, d, e] = address.try_into().ok()?;
    put(out, format_args!(", sin_port=htons({port}), sin_addr=inet_addr(\"{a}.{c}.{d}.{e}\")"));
    Some(())
}

fn internet6(out: &mut String, b: Bytes<'_>) -> Option<()> {
    let (port, flow, scope) = (b.u16_be(2)?, b.u32(4)?.swap_bytes(), b.u32(24)?);
    let address: [u8; 16] = b.0.get(8..24)?.try_into().ok()?;
    let address = Ipv6Addr::from(address);
    put(out, format_args!(", sin6_port=htons({port}), sin6_flowinfo=htonl({flow})"));
    put(out, format_args!(", inet_pton(AF_INET6, \"{address}\", &sin6_addr), sin6_scope_id={scope}"));
    Some(())
}

fn netlink(out: &mut String, b: Bytes<'_>) -> Option<()> {
    put(out, format_args!(", nl_pid={}, nl_groups={:08x}", b.u32(4)?, b.u32(8)?));
    Some(())
}

fn packet(out: &mut String, b: Bytes<'_>) -> Option<()> {
    put(out, format_args!(", sll_protocol=htons({:#x}), sll_ifindex={}", b.u16_be(2)?, b.i32(4)?));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_families_and_of_none() {
        let cases: [(&[u8], &str); 8] = [
            (
                &[2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
                r#"{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}"#,
            ),
            (
                &[10, 0, 0, 53, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0],
                r#"{sa_family=AF_INET6, sin6_port=htons(53), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=3}"#,
            ),
            (b"\x01\0/run/x\0yyy", r#"{sa_family=AF_UNIX, sun_path="/run/x"}"#),
            (b"\x01\0\0hidden", r#"{sa_family=AF_UNIX, sun_path=@"hidden"}"#),
            (b"\x01\0", "{sa_family=AF_UNIX}"),
            (&[16, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0], "{sa_family=AF_NETLINK, nl_pid=7, nl_groups=00000001}"),
            (&[2, 0, 0, 80], r#"{sa_family=AF_INET, sa_data="\0P"}"#),
            (&[9], r#"{sa_family="\t"}"#),
        ];
        for (bytes, expected) in cases {
            let mut out = String::new();
            socket_address(&mut out, bytes);
            assert_eq!(out, expected);
        }
    }
}
