//! Variables at the places of an attach point, where the script asks for `args` there.

use std::collections::BTreeSet;

use bathyscope_bpf::lang::AskedArguments;
use bathyscope_capture::{MAX_DATA_TYPES, ProgramData};
use bathyscope_catalog::elf::{CodePlace, ElfFile, ProgramDebug};
use bathyscope_plan::{UserPlace, UserPlaces};

use super::program::decompressed_debug;

/// The most places of one attach point whose variables are read.
const MAX_DESCRIBED: usize = 64;

/// Adds what debug information says of the places from number `from` on, which are in one file.
pub(super) fn add(
    asked: &AskedArguments,
    elf: &ElfFile<'_>,
    debug: Option<&ElfFile<'_>>,
    from: usize,
    found: &mut UserPlaces,
) {
    let places = found.places.get(from..).unwrap_or_default();
    let Some(first) = places.first() else { return };
    let path = &first.file.path;
    let missing = |why: &str| format!("{path}: {why}; use `arg0`, `arg1`, …");
    if from + places.len() > MAX_DESCRIBED {
        found.data_missing =
            missing(&format!("variables are read at {MAX_DESCRIBED} places at most; name fewer functions"));
        return;
    }
    let debug = match open(elf, debug) {
        Ok(Some(debug)) => debug,
        Ok(None) => {
            found.data_missing = missing(
                "it has no debug information; compile it with -g, or install its debug information below /usr/lib/debug",
            );
            return;
        }
        Err(error) => {
            found.data_missing = missing(&error.to_string());
            return;
        }
    };
    let wanted = (!asked.all).then_some(&asked.names);
    let mut data = std::mem::take(&mut found.data);
    // Places of files that have no debug information.
    data.places.resize(from, Vec::new());
    if let Some(symbol) = describe(elf, &debug, places, wanted, &mut data) {
        found.data_missing = missing(&format!("its debug information does not describe `{symbol}`"));
    }
    found.data = data;
}

/// The debug information of a program, its own or that of the file which has it.
fn open(
    elf: &ElfFile<'_>,
    debug: Option<&ElfFile<'_>>,
) -> Result<Option<ProgramDebug>, bathyscope_catalog::elf::ElfError> {
    let own = ProgramDebug::open(elf, &decompressed_debug)?;
    if !own.is_empty() {
        return Ok(Some(own));
    }
    let other = debug.map(|debug| ProgramDebug::open(debug, &decompressed_debug)).transpose()?;
    Ok(other.filter(|other| !other.is_empty()))
}

/// Adds what is said of places; the first of which nothing is.
fn describe<'p>(
    elf: &ElfFile<'_>,
    debug: &ProgramDebug,
    places: &'p [UserPlace],
    wanted: Option<&BTreeSet<String>>,
    data: &mut ProgramData,
) -> Option<&'p str> {
    let mut undescribed = None;
    for place in places {
        let told = debug.at(elf, code_place(place), wanted);
        let told = told.filter(|told| data.types.len() + told.types.len() <= MAX_DATA_TYPES);
        if told.is_none() {
            undescribed.get_or_insert(place.symbol.as_str());
        }
        let told = told.unwrap_or_default();
        data.add(told.types, told.variables);
    }
    undescribed
}

/// A place of a function: what has an offset behind its name is within it.
fn code_place(place: &UserPlace) -> CodePlace {
    let is_within = place.symbol.rsplit_once('+').is_some_and(|(name, rest)| {
        !name.is_empty() && rest.starts_with(|letter: char| letter.is_ascii_digit()) && rest != "0"
    });
    CodePlace { address: place.address, at_begin: !is_within && !place.symbol.starts_with("0x") }
}
