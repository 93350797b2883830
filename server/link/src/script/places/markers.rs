//! USDT markers.

use bathyscope_catalog::elf::{ArgumentLocation, ElfFile, Marker, MarkerArgument};
use bathyscope_plan::{UsdtArgument, UsdtPlace, UserPlace, UserPlaces};

use super::{
    file::{Files, OpenFile},
    pattern,
};
use crate::ScriptAgent;

/// Finds the markers of a file, or of all that the process has mapped.
pub(super) fn search<A: ScriptAgent>(
    files: &mut Files<'_, A>,
    file: &str,
    rest: &[&str],
    found: &mut UserPlaces,
) -> Result<(), String> {
    let (provider, name) = match rest {
        [name] => ("*", *name),
        [provider, name] => (*provider, *name),
        _ => return Err("a USDT probe has a provider and a name; write usdt:FILE:PROVIDER:NAME".to_owned()),
    };
    let all = file == "*";
    let (providers, names) = (pattern(provider), pattern(name));
    let mut known: Vec<String> = Vec::new();
    for file in files.named(file)? {
        let markers = ElfFile::parse(&file).and_then(|elf| elf.markers().map(|markers| (elf, markers)));
        let (elf, markers) = match markers {
            Ok(found) => found,
            Err(_other) if all => continue,
            Err(error) => return Err(format!("{}: {error}", file.about.path)),
        };
        let before = found.places.len();
        for marker in markers {
            if providers.matches(&marker.provider) && names.matches(&marker.name) {
                add(&elf, &file, marker, found);
            } else {
                known.push(format!("{}:{}", marker.provider, marker.name));
            }
        }
        if found.places.len() > before {
            files.add_symbols(&elf, &file, found)?;
        }
    }
    if !found.places.is_empty() {
        return Ok(());
    }
    let wanted = format!("{provider}:{name}");
    let near = files.suggestions.near(&wanted, || known.iter().map(String::as_str));
    Err(match near {
        Some(near) => format!("no USDT probe `{wanted}` in {file}; did you mean `{near}`?"),
        None if known.is_empty() => format!("{file} has no USDT probes"),
        None => format!("no USDT probe `{wanted}` in {file}"),
    })
}

fn add(elf: &ElfFile<'_>, file: &OpenFile, marker: Marker, found: &mut UserPlaces) {
    let Marker { provider, name, offset, semaphore, arguments } = marker;
    let unreadable = arguments.iter().position(|argument| converted(argument).is_none());
    if let Some(number) = unreadable {
        let text = arguments.get(number).map_or("", |argument| argument.text.as_str());
        let text = bathyscope_capture::visible(text.as_bytes());
        let warning = format!("argument {number} of `{provider}:{name}` is in `{text}`, which cannot be read; it is 0");
        if !found.warnings.contains(&warning) {
            found.warnings.push(warning);
        }
    }
    let argument = |argument: &MarkerArgument| UsdtArgument {
        bytes: argument.bytes,
        signed: argument.signed,
        place: converted(argument).unwrap_or(UsdtPlace::Constant(0)),
    };
    let arguments = arguments.iter().map(argument).collect();
    let address = elf.address_of(offset).unwrap_or(offset);
    // Where the file's content is in an archive.
    let (offset, semaphore) =
        (file.from.saturating_add(offset), semaphore.map_or(0, |at| file.from.saturating_add(at)));
    let file = file.about.clone();
    found.places.push(UserPlace { file, offset, address, symbol: name, provider, semaphore, arguments });
}

/// Where an argument is, in the plan's words; none if it cannot be read.
fn converted(argument: &MarkerArgument) -> Option<UsdtPlace> {
    if argument.float {
        return None;
    }
    match argument.place {
        ArgumentLocation::Constant(value) => Some(UsdtPlace::Constant(value)),
        ArgumentLocation::Register { pt_regs, shift } => {
            Some(UsdtPlace::Register { offset: u32::from(pt_regs), shift })
        }
        ArgumentLocation::Memory { base: Some(base), index, displacement } => Some(UsdtPlace::Memory {
            base: u32::from(base),
            index: index.map(|(index, _)| u32::from(index)),
            scale: index.map_or(1, |(_, scale)| scale),
            displacement,
        }),
        // A sum without a base is one with the index as base, if that is not multiplied.
        ArgumentLocation::Memory { base: None, index: Some((index, 1)), displacement } => {
            Some(UsdtPlace::Memory { base: u32::from(index), index: None, scale: 1, displacement })
        }
        _ => None,
    }
}
