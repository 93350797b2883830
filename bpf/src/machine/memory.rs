//! Memory that programs can reach directly: regions far from each other, so that nothing reaches from one into another.

use std::collections::HashMap;

/// The upper half of the addresses of regions; below it is the region's number, and the offset in the low 32 bits.
const BASE: u64 = 0x00b0_0000_0000_0000;
const NUMBER_SHIFT: u32 = 32;
/// Regions begin there, so that what is before one is not in another.
const START: u64 = 1 << 30;

/// What a region is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegionUse {
    Context { hidden: usize },
    Stack,
    Value,
    Constant,
    Key,
    Record,
}

#[derive(Clone, Debug)]
pub(super) struct Region {
    pub bytes: Vec<u8>,
    /// Which bytes were written; none for all.
    written: Option<Vec<bool>>,
    pub purpose: RegionUse,
}

/// All regions, by number.
#[derive(Debug, Default)]
pub(super) struct Regions {
    all: HashMap<u32, Region>,
    next: u32,
}

impl Regions {
    /// A new region; gives its number.
    pub(super) fn add(&mut self, bytes: Vec<u8>, purpose: RegionUse) -> u32 {
        let written = (purpose == RegionUse::Stack).then(|| vec![false; bytes.len()]);
        self.next += 1;
        self.all.insert(self.next, Region { bytes, written, purpose });
        self.next
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<Region> {
        self.all.remove(&number)
    }

    pub(super) fn address(number: u32) -> u64 {
        BASE | u64::from(number) << NUMBER_SHIFT | START
    }

    pub(super) fn bytes(&self, number: u32) -> &[u8] {
        self.all.get(&number).map_or(&[], |region| &region.bytes)
    }

    pub(super) fn bytes_mut(&mut self, number: u32) -> Option<&mut Vec<u8>> {
        self.all.get_mut(&number).map(|region| &mut region.bytes)
    }

    /// The region of an address, with the offset.
    pub(super) fn find(&self, address: u64) -> Option<(u32, &Region, usize)> {
        let number = u32::try_from(address.checked_sub(BASE)? >> NUMBER_SHIFT).ok()?;
        let offset = (address & 0xffff_ffff).checked_sub(START).map_or(usize::MAX, |offset| offset as usize);
        self.all.get(&number).map(|region| (number, region, offset))
    }

    fn range(region: &Region, offset: usize, bytes: usize) -> Result<std::ops::Range<usize>, String> {
        let end = offset.checked_add(bytes).filter(|end| *end <= region.bytes.len());
        let hidden = matches!(region.purpose, RegionUse::Context { hidden } if offset < hidden);
        match end {
            Some(end) if !hidden => Ok(offset..end),
            _ => {
                let (room, purpose) = (region.bytes.len(), region.purpose);
                Err(format!("{bytes} bytes at {offset} are outside of {purpose:?} of {room}"))
            }
        }
    }

    /// Reads, as an instruction does (`aligned`) or a helper.
    pub(super) fn read(&self, address: u64, bytes: usize, aligned: bool) -> Result<Vec<u8>, String> {
        let Some((_, region, offset)) = self.find(address) else {
            return Err(format!("{bytes} bytes are read at {address:#x}, where nothing is"));
        };
        let range = Self::range(region, offset, bytes)?;
        check_alignment(region, offset, bytes, aligned)?;
        if let Some(written) = &region.written
            && written.get(range.clone()).unwrap_or_default().contains(&false)
        {
            return Err(format!("stack bytes at {offset} are read and were not written"));
        }
        Ok(region.bytes.get(range).unwrap_or_default().to_vec())
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8], aligned: bool) -> Result<(), String> {
        let Some((number, region, offset)) = self.find(address) else {
            return Err(format!("{} bytes are written at {address:#x}, where nothing is", bytes.len()));
        };
        if matches!(region.purpose, RegionUse::Context { .. } | RegionUse::Constant | RegionUse::Key) {
            return Err(format!("{:?} is written", region.purpose));
        }
        let range = Self::range(region, offset, bytes.len())?;
        check_alignment(region, offset, bytes.len(), aligned)?;
        let Some(region) = self.all.get_mut(&number) else { return Ok(()) };
        if let Some(place) = region.bytes.get_mut(range.clone()) {
            place.copy_from_slice(bytes);
        }
        if let Some(written) = region.written.as_mut().and_then(|written| written.get_mut(range)) {
            written.fill(true);
        }
        Ok(())
    }
}

fn check_alignment(region: &Region, offset: usize, bytes: usize, aligned: bool) -> Result<(), String> {
    let strict = matches!(region.purpose, RegionUse::Stack | RegionUse::Context { .. });
    if aligned && strict && !offset.is_multiple_of(bytes) {
        return Err(format!("{bytes} bytes at {offset} of {:?} are not aligned", region.purpose));
    }
    Ok(())
}
