//! The features of the regression: principal components of images that are fetched, found in a folder
//! or made up; or features that somebody else has prepared.

use std::path::Path;

use smidgen::io::{TableOptions, read_table};
use smidgen::value::{Symbol, Table};

use super::images::{self, Both, Images};
use super::pca::Components;
use crate::synthetic::Logistic;
use crate::{Error, Options, Progress, Size};

const FEATURES: usize = 50;

pub struct Features {
    pub train: Logistic,
    pub test: Logistic,
    /// Where they come from, in words.
    pub origin: String,
}

/// `--data` names a folder of images or an .npz file with x_train, y_train, x_test and y_test. Without it
/// images are fetched, but for the smallest size, which needs no network.
pub fn features(options: &Options, progress: Progress<'_>) -> Result<Features, Error> {
    let side = options.size.pick(8, 28, 28);
    let made_up = |seed: u64| {
        let counts = options.size.pick([400, 100], [12_214, 2037], [12_214, 2037]);
        let origin = format!("made-up images of sevens and nines, seed {seed}");
        (images::made_up(seed, side, counts), origin)
    };
    let (both, origin) = match (&options.data, options.generate) {
        (Some(path), _) if path.extension().is_some_and(|e| e == "npz") => return prepared(path),
        (Some(folder), _) => (images::read(folder)?, format!("images of {}", folder.display())),
        (None, Some(seed)) => made_up(seed),
        (None, None) if options.size == Size::Tiny => made_up(1),
        (None, None) => {
            let folder = images::fetched(progress)?;
            (images::read(&folder)?, "MNIST, sevens and nines".to_owned())
        }
    };
    progress("principal components");
    Ok(reduced(&both, options.size.pick(5, FEATURES, FEATURES), origin))
}

fn reduced([train, test]: &Both, wanted: usize, origin: String) -> Features {
    let features = wanted.min(train.pixels);
    let components = Components::of(&train.data, train.pixels, features);
    let of = |images: &Images| Logistic {
        features,
        x: components.features(&images.data),
        y: images.nines.clone(),
    };
    let origin = format!(
        "{origin}; {features} principal components with {:.0} % of the variance",
        100.0 * components.share
    );
    Features { train: of(train), test: of(test), origin }
}

fn prepared(path: &Path) -> Result<Features, Error> {
    let part = |x: &str, y: &str| {
        let arrays = vec![x.to_owned(), y.to_owned()];
        let options = TableOptions { arrays, ..TableOptions::default() };
        let table =
            read_table(path, &options).map_err(|error| Error::message(error.to_string()))?;
        logistic(&table, x, y).ok_or_else(|| {
            Error::message(format!("{}: it needs numbers {x} and {y}", path.display()))
                .hint("x_train and x_test have a row for each image, y_train and y_test its label")
        })
    };
    Ok(Features {
        train: part("x_train", "y_train")?,
        test: part("x_test", "y_test")?,
        origin: format!("features of {}", path.display()),
    })
}

fn logistic(table: &Table, x: &str, y: &str) -> Option<Logistic> {
    let x = table.column(Symbol::new(x))?.reals()?;
    let y = table.column(Symbol::new(y))?.reals()?;
    let rows = table.rows();
    let features = x.row(0).len();
    let x = (0..rows).flat_map(|i| x.row(i)).copied().collect();
    Some(Logistic { features, x, y: (0..rows).map(|i| y.row(i)[0]).collect() })
}
