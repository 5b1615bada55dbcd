//! Opaque pixels as the bytes of a PNG file: a header, one compressed block, an end.
//!
//! Every row is written as its difference from the row above, since most rows of a plot are as
//! the one above.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Three bytes for each pixel.
const DEPTH: usize = 3;

/// The file of a picture whose pixels come row by row, four bytes each, of which the last, the
/// opacity, is left out: pictures have a background.
pub(super) fn encode(width: u32, height: u32, rgba: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Eight bits for each of red, green and blue; the usual compression and filters; no interlacing.
    header.extend([8, 2, 0, 0, 0]);
    chunk(&mut file, b"IHDR", &header);
    chunk(&mut file, b"IDAT", &compressed(width as usize, rgba)?);
    chunk(&mut file, b"IEND", &[]);
    Ok(file)
}

fn compressed(width: usize, rgba: &[u8]) -> std::io::Result<Vec<u8>> {
    /// The filter that subtracts the row above.
    const UP: u8 = 2;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let mut above = vec![0; DEPTH * width];
    let mut line = vec![UP; 1 + DEPTH * width];
    for row in rgba.chunks_exact(4 * width) {
        let colours = row.chunks_exact(4).flat_map(|pixel| &pixel[..DEPTH]);
        for ((difference, above), &own) in line[1..].iter_mut().zip(&mut above).zip(colours) {
            *difference = own.wrapping_sub(*above);
            *above = own;
        }
        encoder.write_all(&line)?;
    }
    encoder.finish()
}

/// Length, name, content, checksum.
fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    let mut sum = Crc::new();
    sum.update(name);
    sum.update(content);
    file.extend((content.len() as u32).to_be_bytes());
    file.extend(name);
    file.extend(content);
    file.extend(sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_pixels_come_back() {
        let (width, height) = (5_usize, 4_usize);
        let rgba: Vec<u8> = (0..4 * width * height).map(|k| (37 * k % 251) as u8).collect();
        let file = encode(width as u32, height as u32, &rgba).expect("a file");
        assert_eq!(file[..8], *b"\x89PNG\r\n\x1a\n");
        assert_eq!(file[8..16], *b"\0\0\0\x0dIHDR");
        assert_eq!(file[16..24], [0, 0, 0, 5, 0, 0, 0, 4]);
        // The checksum of an end, which has no content, is the same in every file.
        assert_eq!(file[file.len() - 12..], *b"\0\0\0\0IEND\xae\x42\x60\x82");
        let length = u32::from_be_bytes(file[33..37].try_into().unwrap()) as usize;
        assert_eq!(file[37..41], *b"IDAT");
        let mut lines = Vec::new();
        let mut decoder = flate2::read::ZlibDecoder::new(&file[41..41 + length]);
        decoder.read_to_end(&mut lines).expect("compressed lines");
        let mut above = [0; 15];
        for (line, row) in lines.chunks_exact(16).zip(rgba.chunks_exact(20)) {
            assert_eq!(line[0], 2);
            (0..15).for_each(|k| above[k] = line[1 + k].wrapping_add(above[k]));
            let wanted: Vec<u8> = row.chunks_exact(4).flat_map(|p| p[..3].to_vec()).collect();
            assert_eq!(above[..], wanted);
        }
        assert_eq!(lines.len(), 16 * height);
    }
}
