//! Commands that ask how good a model is: predictions, leaving out, calibration, exact answers.

use std::path::PathBuf;

use clap::Args;

use super::{Format, InputArgs, SeedArgs, at_least_one};

#[derive(Args)]
pub struct PredictArgs {
    /// The program; its observations are predicted
    pub file: PathBuf,
    /// The draws of the program, as `sample --out` wrote them
    #[arg(long, value_name = "DRAWS")]
    pub draws_from: PathBuf,
    /// Draws that are used, spread evenly over those that there are
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 1000, value_parser = at_least_one)]
    pub draws: usize,
    /// Also evaluate this expression in each draw (repeatable)
    #[arg(long, value_name = "EXPR")]
    pub record: Vec<String>,
    #[command(flatten)]
    pub seed: SeedArgs,
    /// Write the predictions to a .csv, .json, .parquet or .arrow file
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Threads; the predictions do not depend on it [default: one per processor]
    #[arg(long, allow_negative_numbers = true, value_name = "T", value_parser = at_least_one)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Args)]
pub struct LooArgs {
    /// The program
    pub file: PathBuf,
    /// The draws of the program, as `sample --out` wrote them
    #[arg(long, value_name = "DRAWS")]
    pub draws_from: PathBuf,
    /// Write the log likelihood of every unit of data in every draw to a .csv, .json, .parquet or .arrow file
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// How the result is printed; JSON has every unit with its k_hat
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Threads [default: one per processor]
    #[arg(long, allow_negative_numbers = true, value_name = "T", value_parser = at_least_one)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Args)]
pub struct EnumerateArgs {
    /// The program; its [infer ...]s are skipped
    pub file: PathBuf,
    /// Also answer about this expression (repeatable)
    #[arg(long, value_name = "EXPR")]
    pub record: Vec<String>,
    /// Runs of the program that are gone through at most
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 1_000_000, value_parser = at_least_one)]
    pub most: usize,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Args)]
pub struct CalibrateArgs {
    /// The program; what it observes is drawn anew in every simulation
    pub file: PathBuf,
    /// The kernel of one draw, instead of the program's own [infer ...]
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// Simulations
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 200, value_parser = at_least_one)]
    pub simulations: usize,
    /// Draws that each truth is ranked among
    #[arg(long, allow_negative_numbers = true, value_name = "L", default_value_t = 31, value_parser = at_least_one)]
    pub draws: usize,
    /// Applications of the kernel before the first draw
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 500)]
    pub warmup: usize,
    /// Applications of the kernel per draw [default: by eight pilot simulations]
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = at_least_one)]
    pub thin: Option<usize>,
    /// Also rank this expression (repeatable)
    #[arg(long, value_name = "EXPR")]
    pub record: Vec<String>,
    #[command(flatten)]
    pub seed: SeedArgs,
    /// Write a page with rank plots, for a browser
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Threads; the ranks do not depend on it [default: one per processor]
    #[arg(long, allow_negative_numbers = true, value_name = "T", value_parser = at_least_one)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub inputs: InputArgs,
}
