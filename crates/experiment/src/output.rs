//! The folder that an experiment leaves: the program as it ran, draws as `smidgen sample --out` writes
//! them, `summary.json`, every figure as a file of its own, and `page.html` with everything on it.

use std::fs;
use std::path::{Path, PathBuf};

use smidgen::draws::Run;
use smidgen::report::page::{Figure, Page};
use smidgen::report::plot::{Mark, Plot, Point, Shape};

use crate::chain::Program;
use crate::{Error, Options};

/// Pixels of a PNG for each unit of its plot.
#[cfg(feature = "png")]
const PNG_SCALE: f64 = 3.0;

/// A plot with the name of its file and a sentence about it.
#[derive(Clone, Debug)]
pub struct Picture {
    pub file: &'static str,
    pub plot: Plot,
    pub caption: String,
}

impl Picture {
    pub fn new(file: &'static str, plot: Plot, caption: impl Into<String>) -> Picture {
        Picture { file, plot, caption: caption.into() }
    }
}

/// Points without intervals.
pub fn marks(shape: Shape, points: &[(f64, f64)]) -> Mark {
    let point = |&(x, y): &(f64, f64)| Point { x, y, ..Point::default() };
    Mark::Points(shape, points.iter().map(point).collect())
}

/// The folder of one experiment.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder, so that what cannot be written is known before anything runs.
    pub fn new(options: &Options) -> Result<Folder, Error> {
        let folder = Folder(options.out.clone());
        fs::create_dir_all(&folder.0).map_err(|error| folder.wrong(&folder.0, &error))?;
        Ok(folder)
    }

    fn wrong(&self, path: &Path, error: &std::io::Error) -> Error {
        Error::message(format!("{}: cannot be written: {error}", path.display()))
            .hint("--out names another folder")
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.0.join(name);
        fs::write(&path, bytes).map_err(|error| self.wrong(&path, &error))?;
        Ok(path)
    }

    /// A copy of the program that runs.
    pub fn program(&self, program: &Program) -> Result<(), Error> {
        self.write(program.name, program.text.as_bytes()).map(drop)
    }

    pub fn draws(&self, name: &str, run: &Run) -> Result<(), Error> {
        let path = self.0.join(name);
        smidgen::io::write_draws(&path, run).map_err(|error| Error::message(error.to_string()))?;
        Ok(())
    }

    pub fn summary(&self, summary: &serde_json::Value) -> Result<(), Error> {
        self.write("summary.json", format!("{summary:#}\n").as_bytes()).map(drop)
    }

    /// Puts the pictures on the page, side by side, and writes each to a file.
    pub fn pictures(&self, page: &mut Page, pictures: &[Picture]) -> Result<(), Error> {
        for picture in pictures {
            let svg = picture.plot.standalone();
            self.write(&format!("{}.svg", picture.file), svg.as_bytes())?;
            #[cfg(feature = "png")]
            {
                let png = smidgen::report::png::render(&svg, PNG_SCALE)
                    .map_err(|error| Error::message(format!("{}: {error}", picture.file)))?;
                self.write(&format!("{}.png", picture.file), &png)?;
            }
        }
        let figure = |p: &Picture| Figure::new(p.plot.svg(), &p.caption);
        page.figures(&pictures.iter().map(figure).collect::<Vec<_>>());
        Ok(())
    }

    pub fn page(&self, page: Page) -> Result<PathBuf, Error> {
        self.write("page.html", page.html().as_bytes())
    }
}
