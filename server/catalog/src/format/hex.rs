//! Which fields the kernel prints as hexadecimal numbers: its types do not tell addresses and masks from counts.

/// The most arguments that are looked at.
const MAX_ARGUMENTS: usize = 512;

/// The names of fields that a print format has as they are, with `%x` or `%p`.
pub(super) fn hex_fields(print: &str) -> Vec<String> {
    let Some((template, arguments)) = template(print) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for (conversion, argument) in conversions(template).into_iter().zip(arguments_of(arguments)) {
        let Some(name) = field_of(argument).filter(|_| matches!(conversion, 'x' | 'X' | 'p')) else { continue };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The text in the quotes at the beginning, and what stands behind it.
fn template(print: &str) -> Option<(&str, &str)> {
    let inside = print.trim_start().strip_prefix('"')?;
    let mut before = ' ';
    let end = inside.char_indices().find(|(_, one)| {
        let ends = *one == '"' && before != '\\';
        before = if before == '\\' { ' ' } else { *one };
        ends
    });
    let (end, _) = end?;
    Some((inside.get(..end)?, inside.get(end + 1..)?))
}

/// The letters of the conversions, one for each argument: a width of `*` takes one too.
fn conversions(template: &str) -> Vec<char> {
    let mut found = Vec::new();
    let mut rest = template.chars();
    while let Some(one) = rest.next() {
        if one != '%' {
            continue;
        }
        for part in rest.by_ref() {
            match part {
                '%' => break,
                '*' => found.push('*'),
                'l' | 'h' | 'L' | 'z' | 't' | 'j' | '-' | '+' | '#' | ' ' | '.' | '0'..='9' => {}
                letter => {
                    found.push(letter);
                    break;
                }
            }
        }
    }
    found
}

/// What stands between commas outside of brackets and quotes.
fn arguments_of(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut begin, mut found) = (0_usize, false, None, Vec::new());
    let mut escaped = false;
    for (at, one) in text.char_indices() {
        match one {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.extend(begin.and_then(|begin| text.get(begin..at)));
                begin = Some(at + 1);
                if found.len() >= MAX_ARGUMENTS {
                    return found;
                }
            }
            _ => {}
        }
    }
    found.extend(begin.and_then(|begin| text.get(begin..)));
    found
}

/// The field that an argument is, whatever it is cast to, or an element of.
fn field_of(argument: &str) -> Option<&str> {
    let mut rest = argument.trim();
    while let Some(cast) = rest.strip_prefix('(') {
        let (inside, behind) = cast.split_once(')')?;
        if behind.trim().is_empty() {
            rest = inside.trim();
            continue;
        }
        rest = behind.trim();
    }
    let name = rest.strip_prefix("REC->")?;
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_printed_as_hexadecimal_are_known() {
        let cases: [(&str, &[&str]); 7] = [
            (
                r#""(%lx) arg1=0x%Lx n=%Lu s=%Ld t=\"%s\"", REC->__probe_ip, REC->arg1, REC->n, REC->s, __get_str(t)"#,
                &["__probe_ip", "arg1"],
            ),
            (r#""a={0x%Lx,0x%Lx}", REC->a[0], REC->a[1]"#, &["a"]),
            (r#""ptr=%p flags=%s n=%zu", REC->ptr, (REC->flags) ? "a,%x" : "b", REC->n"#, &["ptr"]),
            (r#""%d,%d 0x%08x", ((unsigned int) ((REC->dev) >> 20)), REC->minor, (unsigned)(REC->mask)"#, &["mask"]),
            (r#""%*x 100%% %x", REC->width, REC->value, REC->last"#, &["value", "last"]),
            ("\"\"", &[]),
            ("\"%x\"", &[]),
        ];
        for (print, expected) in cases {
            assert_eq!(hex_fields(print), expected, "{print}");
        }
    }
}
