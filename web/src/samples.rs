//! Small captures of real kernels that come with the program, so that everything but recording can be tried anywhere.
//!
//! `tests/samples/record` makes them. Each is a `.bathy` file, named in `samples/samples.json`.

use std::{io::Read as _, sync::LazyLock};

use flate2::read::GzDecoder;
use rust_embed::RustEmbed;
use serde::Deserialize;

include!(concat!(env!("OUT_DIR"), "/samples.rs"));

/// A file below `samples`, as it was before it was compressed.
fn file(name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    GzDecoder::new(&*Files::get(&format!("{name}.gz"))?.data).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What is known of a sample without opening it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Sample {
    /// Its name in addresses.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// The id that it has once it was opened, 16 hexadecimal digits.
    #[serde(default)]
    pub id: String,
}

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let manifest = file("samples.json").and_then(|text| serde_json::from_slice(&text).ok());
    manifest.unwrap_or_default()
});

/// All samples, in the order to show them.
pub fn all() -> &'static [Sample] {
    &SAMPLES
}

/// The sample called `name`, and its file.
pub fn open(name: &str) -> Option<(&'static Sample, Vec<u8>)> {
    let sample = all().iter().find(|sample| sample.name == name)?;
    file(&format!("{}.bathy", sample.name)).map(|bytes| (sample, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_and_the_files_agree() {
        let manifest: Vec<Sample> = serde_json::from_slice(&file("samples.json").unwrap()).unwrap();
        assert_eq!(manifest, all());
        for sample in &manifest {
            assert!(open(&sample.name).is_some(), "{} has no file", sample.name);
        }
        assert_eq!(Files::iter().count(), manifest.len() + 1, "a file is not in the manifest");
    }
}
