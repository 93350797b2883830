//! Pictures of few colours as PNG.

use std::io::Write as _;

use flate2::{Compression, write::ZlibEncoder};

/// The bytes that a PNG begins with.
const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
/// Eight bits for each pixel, which are indexes into the palette.
const INDEXED: [u8; 5] = [8, 3, 0, 0, 0];

/// A picture of at most 256 colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedPicture {
    width: u32,
    height: u32,
    /// Red, green and blue.
    palette: Vec<[u8; 3]>,
    /// An index into the palette for each pixel, line by line.
    pixels: Vec<u8>,
}

impl IndexedPicture {
    /// The most pixels of a side.
    pub const MAX_SIDE: u32 = 4096;

    /// A picture that is all of the first colour. Sides beyond [`Self::MAX_SIDE`] are cut, and so are colours beyond 256.
    pub fn new(width: u32, height: u32, palette: &[[u8; 3]]) -> Self {
        let (width, height) = (width.clamp(1, Self::MAX_SIDE), height.clamp(1, Self::MAX_SIDE));
        let palette = palette.iter().take(256).copied().collect();
        Self { width, height, palette, pixels: vec![0; width as usize * height as usize] }
    }

    /// Fills a rectangle, as much of it as is in the picture.
    pub fn fill(&mut self, (left, top): (u32, u32), (width, height): (u32, u32), colour: u8) {
        let (left, right) = (left.min(self.width), left.saturating_add(width).min(self.width));
        let lines = top.min(self.height)..top.saturating_add(height).min(self.height);
        for line in lines {
            let start = line as usize * self.width as usize;
            if let Some(line) = self.pixels.get_mut(start + left as usize..start + right as usize) {
                line.fill(colour);
            }
        }
    }

    /// The colour of a pixel; none outside of the picture.
    pub fn pixel(&self, left: u32, top: u32) -> Option<u8> {
        let is_inside = left < self.width && top < self.height;
        self.pixels.get(top as usize * self.width as usize + left as usize).copied().filter(|_| is_inside)
    }

    /// The picture as a PNG.
    pub fn to_png(&self) -> Vec<u8> {
        let mut lines = Vec::with_capacity(self.pixels.len() + self.height as usize);
        for line in self.pixels.chunks(self.width as usize) {
            // No filter: colours do not change gradually.
            lines.push(0);
            lines.extend_from_slice(line);
        }
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let packed = packed.write_all(&lines).and_then(|()| packed.finish()).unwrap_or_default();
        let mut head = [self.width.to_be_bytes(), self.height.to_be_bytes()].concat();
        head.extend(INDEXED);
        let mut out = SIGNATURE.to_vec();
        put(&mut out, b"IHDR", &head);
        put(&mut out, b"PLTE", &self.palette.concat());
        put(&mut out, b"IDAT", &packed);
        put(&mut out, b"IEND", &[]);
        out
    }
}

fn put(out: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    let mut sum = crc32fast::Hasher::new();
    sum.update(kind);
    sum.update(content);
    out.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(kind);
    out.extend(content);
    out.extend(sum.finalize().to_be_bytes());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::io::Read as _;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn a_picture_is_what_was_drawn() {
        let mut picture = IndexedPicture::new(5, 3, &[[0, 0, 0], [1, 2, 3]]);
        picture.fill((3, 1), (9, 1), 1);
        picture.fill((9, 9), (1, 1), 1);
        assert_eq!(
            [(2, 1), (3, 1), (4, 1), (4, 2)].map(|(x, y)| picture.pixel(x, y)),
            [Some(0), Some(1), Some(1), Some(0)]
        );
        assert_eq!((picture.pixel(5, 0), picture.pixel(0, 3)), (None, None));
        let png = picture.to_png();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x03\x08\x03\0\0\0"));
        // The sum of an end, as every PNG has it.
        assert!(png.ends_with(b"\0\0\0\0IEND\xaeB`\x82"));
        let at = png.windows(4).position(|window| window == b"IDAT").unwrap();
        let mut lines = Vec::new();
        ZlibDecoder::new(&png[at + 4..]).read_to_end(&mut lines).unwrap();
        assert_eq!(lines, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn sides_are_bounded() {
        let picture = IndexedPicture::new(0, u32::MAX, &[[0; 3]]);
        assert_eq!((picture.width, picture.height), (1, IndexedPicture::MAX_SIDE));
    }
}
