//! What the console and its reader say to each other: a letter, a length, and so many bytes.

use std::io::{self, Read, Write};

use bathyscope_store::MAX_IMPORT_MESSAGE_BYTES;
use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::mpsc,
};

/// The most bytes of a file in one frame.
pub(super) const DATA_BYTES: usize = 64 << 10;
/// A letter and four bytes of length.
pub(super) const HEAD_BYTES: usize = 5;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// To the reader: a file follows.
    Begin,
    /// To the reader: bytes of it.
    Data,
    /// To the reader: that was all of it.
    End,
    /// To the reader: nobody wants more of it; answered with `Idle`, whatever was being done.
    Cancel,
    /// To the console: a message of the child.
    Message,
    /// To the console: the child has said everything; with what it used of a CPU.
    Ended,
    /// To the console: how the child has failed.
    Failed,
    /// To the console: nothing is being read any more; with what the child used of a CPU, if there was one.
    Idle,
}

impl FrameKind {
    const ALL: [(Self, u8); 8] = [
        (Self::Begin, b'b'),
        (Self::Data, b'd'),
        (Self::End, b'e'),
        (Self::Cancel, b'c'),
        (Self::Message, b'M'),
        (Self::Ended, b'E'),
        (Self::Failed, b'F'),
        (Self::Idle, b'I'),
    ];

    fn letter(self) -> u8 {
        Self::ALL.into_iter().find_map(|(kind, letter)| (kind == self).then_some(letter)).unwrap_or_default()
    }
}

/// The head of a frame.
///
/// # Errors
/// If the frame would be too long.
pub(super) fn head(kind: FrameKind, bytes: usize) -> io::Result<[u8; HEAD_BYTES]> {
    let length = u32::try_from(bytes).map_err(|_range| io::Error::from(io::ErrorKind::InvalidInput))?;
    let [a, b, c, d] = length.to_le_bytes();
    Ok([kind.letter(), a, b, c, d])
}

/// What a head says: a kind, and how many bytes follow.
///
/// # Errors
/// If it is no head of a frame.
pub(super) fn read_head(head: [u8; HEAD_BYTES]) -> io::Result<(FrameKind, usize)> {
    let [letter, length @ ..] = head;
    let kind = FrameKind::ALL.into_iter().find_map(|(kind, own)| (own == letter).then_some(kind));
    let length = u32::from_le_bytes(length) as usize;
    match kind {
        Some(kind) if length <= MAX_IMPORT_MESSAGE_BYTES => Ok((kind, length)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it sent an invalid frame")),
    }
}

/// Writes a frame.
///
/// # Errors
/// If the other side is gone.
pub(super) fn write(to: &mut impl Write, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&head(kind, bytes.len())?)?;
    to.write_all(bytes)
}

/// Reads a frame.
///
/// # Errors
/// If the other side is gone, or says what is no frame.
pub(super) fn read(from: &mut impl Read) -> io::Result<(FrameKind, Vec<u8>)> {
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head)?;
    let (kind, length) = read_head(head)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok((kind, bytes))
}

/// Reads a frame without holding up others.
///
/// # Errors
/// If the other side is gone, or says what is no frame.
pub(super) async fn read_async(from: &mut (impl AsyncRead + Unpin)) -> io::Result<(FrameKind, Vec<u8>)> {
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head).await?;
    let (kind, length) = read_head(head)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).await?;
    Ok((kind, bytes))
}

/// Sends a file in frames.
///
/// # Errors
/// If it cannot be read, or the other side is gone.
pub fn to_frames(file: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut part = vec![0; DATA_BYTES];
    loop {
        let read = match file.read(&mut part) {
            Ok(0) => return write(to, FrameKind::End, &[]),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        write(to, FrameKind::Data, part.get(..read).unwrap_or_default())?;
    }
}

/// Takes a file from frames, to its end also where nobody wants it any more.
pub async fn take_frames(from: &mut (impl AsyncRead + Unpin), parts: mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let part = match read_async(from).await {
            Ok((FrameKind::Data, bytes)) => Ok(Bytes::from(bytes)),
            Ok((FrameKind::End, _)) => return,
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "it broke the protocol")),
            Err(error) => Err(error),
        };
        let is_last = part.is_err();
        // Where the file was refused, the rest of it is passed over.
        let _refused = parts.send(part).await;
        if is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        for (kind, _letter) in FrameKind::ALL {
            let mut wire = Vec::new();
            write(&mut wire, kind, b"abc").unwrap();
            assert_eq!(read(&mut wire.as_slice()).unwrap(), (kind, b"abc".to_vec()));
            assert_eq!(read(&mut &wire[..7]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
        let too_long = u32::try_from(MAX_IMPORT_MESSAGE_BYTES + 1).unwrap().to_le_bytes();
        for head in [[b'?', 0, 0, 0, 0], [b'M', too_long[0], too_long[1], too_long[2], too_long[3]]] {
            assert_eq!(read_head(head).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }

    #[tokio::test]
    async fn a_file_that_does_not_end_is_not_taken_for_whole() {
        let file = vec![7_u8; DATA_BYTES + 10];
        let mut wire = Vec::new();
        to_frames(&mut file.as_slice(), &mut wire).unwrap();
        let take = async |wire: &[u8]| {
            let (parts, mut taken) = mpsc::channel(8);
            take_frames(&mut &*wire, parts).await;
            let mut all = Vec::new();
            while let Some(part) = taken.recv().await {
                all.extend(part?);
            }
            Ok::<_, io::Error>(all)
        };
        assert_eq!(take(&wire).await.unwrap(), file);
        assert!(take(&wire[..wire.len() - HEAD_BYTES]).await.is_err());
    }
}
