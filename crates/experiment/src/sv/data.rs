//! Returns of stochastic volatility: x_t = exp(h_t / 2) ε_t with h_t ~ N(φ h_{t-1}, σ²) and h_0 = 0. The 200 series of length 5 that the
//! program comes with, others made up, or one real series: daily prices of the S&P 500 out of a Python package.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use smidgen::infer::proposer::standard_normal;
use smidgen::value::{Column, Rng, Symbol, Table, math};

use crate::{Error, Options, Progress};

const CARRIED: &str = include_str!("../../../../examples/data/sv.csv");
pub const LENGTH: usize = 5;
const PHI: f64 = 0.95;
const SIGMA: f64 = 0.1;

/// Returns by series and time.
#[derive(Clone, Debug, Default)]
pub struct Returns {
    rows: Vec<[f64; 3]>,
}

impl Returns {
    /// Those that the program comes with, or others of the same law; some of them for the smallest size.
    pub fn new(options: &Options) -> Returns {
        let mut returns = match options.generate {
            None => carried(),
            Some(seed) => generated(200, seed),
        };
        returns.rows.truncate(LENGTH * options.size.pick(20, 200, 200));
        returns
    }

    pub fn origin(&self, options: &Options) -> String {
        let from = match options.generate {
            None => "as carried by the program".to_owned(),
            Some(seed) => format!("made up with seed {seed}"),
        };
        format!("{} series, φ {PHI}, σ {SIGMA}, {from}", self.series())
    }

    pub fn series(&self) -> usize {
        self.rows.len() / LENGTH
    }

    /// Columns `series`, `t` and `x`.
    pub fn table(&self) -> Arc<Table> {
        let column = |k: usize| Column::Reals(self.rows.iter().map(|row| row[k]).collect());
        Arc::new(Table::new(vec![
            (Symbol::new("series"), column(0)),
            (Symbol::new("t"), column(1)),
            (Symbol::new("x"), column(2)),
        ]))
    }

    pub fn csv(&self) -> String {
        let row = |[series, t, x]: &[f64; 3]| format!("{series},{t},{x}\n");
        "series,t,x\n".to_owned() + &self.rows.iter().map(row).collect::<String>()
    }
}

fn carried() -> Returns {
    let row = |line: &str| {
        let cells: Vec<f64> = line.split(',').filter_map(|cell| cell.parse().ok()).collect();
        cells.try_into().expect("the file has three columns of numbers")
    };
    Returns { rows: CARRIED.lines().skip(1).map(row).collect() }
}

fn generated(series: usize, seed: u64) -> Returns {
    let mut rng = Rng::from_seed(seed);
    let mut rows = Vec::new();
    for s in 0..series {
        let mut h = 0.0;
        for t in 1..=LENGTH {
            h = PHI * h + SIGMA * standard_normal(&mut rng);
            rows.push([s as f64, t as f64, math::exp(h / 2.0) * standard_normal(&mut rng)]);
        }
    }
    Returns { rows }
}

/// One series of daily returns in percent, without their mean.
#[derive(Clone, Debug)]
pub struct Daily {
    pub returns: Vec<f64>,
    pub name: String,
}

impl Daily {
    /// From a file of the user's (the last column, or the one called `x`), or fetched; the last so many.
    pub fn find(options: &Options, progress: Progress<'_>) -> Result<Daily, String> {
        let days = options.size.pick(60, 1000, usize::MAX);
        let mut daily = match &options.data {
            Some(path) => Daily::read(path)?,
            None => Daily::fetch(progress)?,
        };
        let first = daily.returns.len().saturating_sub(days);
        daily.returns.drain(..first);
        let mean = daily.returns.iter().sum::<f64>() / daily.returns.len().max(1) as f64;
        daily.returns.iter_mut().for_each(|x| *x -= mean);
        match daily.returns.len() {
            0..20 => Err("fewer than 20 returns".to_owned()),
            _ => Ok(daily),
        }
    }

    /// A CSV file with a header; returns are in the column `x`, else in the last.
    fn read(path: &Path) -> Result<Daily, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let header = text.lines().next().unwrap_or_default().split(',');
        let names: Vec<&str> = header.map(str::trim).collect();
        let column = names.iter().position(|name| *name == "x").unwrap_or(names.len() - 1);
        let mut returns = Vec::new();
        for (k, line) in text.lines().enumerate().skip(1) {
            let cell = line.split(',').nth(column).and_then(|cell| cell.trim().parse().ok());
            let place = || format!("{}, line {}: no number", path.display(), k + 1);
            returns.push(cell.filter(|x: &f64| x.is_finite()).ok_or_else(place)?);
        }
        Ok(Daily { returns, name: path.display().to_string() })
    }

    /// Through pip, which knows its mirrors and proxies.
    fn fetch(progress: Progress<'_>) -> Result<Daily, String> {
        progress("fetching daily prices of the S&P 500 (pip download arch)");
        let output = Command::new("python3")
            .args(["-c", include_str!("prices.py")])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("python3: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            return Err(last.unwrap_or("python3 failed").trim().to_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let prices: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
        let change = |pair: &[f64]| 100.0 * math::ln(pair[1] / pair[0]);
        let returns = prices.windows(2).map(change).filter(|x| x.is_finite()).collect();
        Ok(Daily { returns, name: "S&P 500".to_owned() })
    }

    /// Columns `t`, from 1 on, and `x`.
    pub fn table(&self) -> Arc<Table> {
        let times = (1..=self.returns.len()).map(|t| t as f64).collect();
        Arc::new(Table::new(vec![
            (Symbol::new("t"), Column::Reals(times)),
            (Symbol::new("x"), Column::Reals(self.returns.as_slice().into())),
        ]))
    }
}

/// A file of the user's must be right; a network need not be there.
pub fn daily(options: &Options, progress: Progress<'_>) -> Result<Result<Daily, String>, Error> {
    match Daily::find(options, progress) {
        Err(text) if options.data.is_some() => Err(Error::message(text)
            .hint("--data names a CSV file of daily returns in percent, in a column x")),
        found => Ok(found),
    }
}
