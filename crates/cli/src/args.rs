//! What can be typed: commands and their options.

mod criticism;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use criticism::{CalibrateArgs, EnumerateArgs, LooArgs, PredictArgs};

#[derive(Parser)]
#[command(
    name = "smidgen",
    version,
    about = "Probabilistic programming whose inference reads only as much data as it needs",
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Execute the directives of a program in order
    Run(RunArgs),
    /// Draw from the posterior with several chains and summarise the draws
    Sample(SampleArgs),
    /// Predict what a program observes, with the draws of a run
    ///
    /// Every choice that the draws have keeps its value; the observations are drawn, for the rows that were
    /// observed or, with `--data NAME=new.csv`, for others, whose table need not have the observed column. A choice
    /// that only new rows need (a new group) is drawn from its prior given the rest. Predictions are named by label
    /// or column, and row: y[17].
    Predict(PredictArgs),
    /// Estimate how well a program predicts what it has not seen (PSIS-LOO)
    ///
    /// A round of a loop is one unit of data. elpd_loo is the sum over units of the log density of each given all
    /// others; k_hat above 0.7 says that the estimate for a unit is not to be trusted.
    Loo(LooArgs),
    /// Check by simulation whether a program is sampled rightly
    ///
    /// Simulation-based calibration: choices are drawn from the prior and data from the program given them, row by
    /// row; the posterior is sampled and each truth ranked among its draws. The last line of the text and the field
    /// "verdict" of the JSON are PASS, WARN or FAIL; a program that is right fails with probability 1% at most.
    Calibrate(CalibrateArgs),
    /// Give exact answers for a program whose choices are finite
    ///
    /// All runs of the program are gone through: the law of what is recorded, given the observations, and the
    /// evidence. A choice with infinitely many values is refused, with its place.
    Enumerate(EnumerateArgs),
    /// Compare two models by how they predict, or one program's subsampled with exact inference
    ///
    /// With several programs each is sampled (or its draws are given, by --draws-from in the same order), and they
    /// are compared by PSIS-LOO: elpd, difference with its standard error, stacking weights. With one, the program is sampled as it is written and with every subsampled_mh replaced by its exact
    /// twin, and some decisions are made both ways. The report says how decisions and posterior
    /// differ, and whether it pays. The exit code is 0 whatever the verdict: PASS, WARN or FAIL is
    /// the last line of the text and the field "verdict" of the JSON.
    Compare(CompareArgs),
    /// Make a page about draws that were kept in files
    ///
    /// The page says whether the draws can be trusted, and has estimates, traces, densities, ranks,
    /// autocorrelations and pairs; from .json, .parquet and .arrow files also what the kernels did,
    /// warnings and the program. `smidgen sample --html` makes the same page without a file of draws.
    Report(ReportArgs),
    /// Show a run folder, while it goes on or afterwards, on a page for a browser on this machine
    ///
    /// The address, which is printed once, contains a token; without it nothing is shown. The page changes nothing.
    View(ViewArgs),
    /// Parse and resolve a program without running it
    Check(CheckArgs),
    /// Tell what the kernels of a program would do, at what cost, and why not faster
    Explain(ExplainArgs),
    /// Type directives and expressions at a prompt
    Repl(ReplArgs),
    /// Explain a name of the language, or list all names
    Help(HelpArgs),
    /// Show the trace of a program, or the scaffold of a block of it
    Debug(DebugArgs),
    /// Run one of the paper's experiments, or `exact`, and write a page about it
    ///
    /// bayeslr: logistic regression on images, risk against time. sublinearity: sections and time per
    /// transition as the data grow. exact: exact draws that read almost no rows. jointdpm: a mixture of
    /// logistic regressions, accuracy against time. sv: stochastic volatility, effective draws per second.
    /// Draws, a summary, the figures and page.html are left in a folder.
    Experiment(ExperimentArgs),
    /// Measure single-site transitions per second on small bundled programs
    Bench(BenchArgs),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading
    #[default]
    Text,
    /// For other programs
    Json,
}

/// What a program takes from outside.
#[derive(Args, Default)]
pub struct InputArgs {
    /// Give {NAME} of the program a value: a JSON number, boolean, string or list, or @file.json
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = crate::inputs::parse_param)]
    pub params: Vec<(String, String)>,
    /// Load the table NAME from this file instead of the one in the program
    #[arg(long = "data", value_name = "NAME=PATH", value_parser = crate::inputs::parse_data)]
    pub data: Vec<(String, PathBuf)>,
}

#[derive(Args, Default)]
pub struct SeedArgs {
    /// Seed of the random streams; a fresh one is drawn and shown without it
    #[arg(long, allow_negative_numbers = true, value_name = "S")]
    pub seed: Option<u64>,
}

#[derive(Args)]
pub struct RunArgs {
    /// The program
    pub file: PathBuf,
    #[command(flatten)]
    pub inputs: InputArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    /// How results are printed; JSON is one object a line
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Args, Default)]
pub struct SampleArgs {
    /// The program
    #[arg(required_unless_present = "resume")]
    pub file: Option<PathBuf>,
    /// The kernel of one draw, instead of the program's own [infer ...]
    #[arg(long, value_name = "KERNEL", conflicts_with = "resume")]
    pub kernel: Option<String>,
    /// Draws kept per chain [default: 1000]
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    pub draws: Option<usize>,
    /// Applications of the kernel before the first draw
    #[arg(
        long,
        allow_negative_numbers = true,
        value_name = "N",
        default_value_t = 1000,
        conflicts_with = "resume"
    )]
    pub warmup: usize,
    /// Applications of the kernel per draw
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 1, value_parser = at_least_one, conflicts_with = "resume")]
    pub thin: usize,
    /// Independent chains
    #[arg(long, allow_negative_numbers = true, value_name = "C", default_value_t = 4, value_parser = chains, conflicts_with = "resume")]
    pub chains: usize,
    #[command(flatten)]
    pub seed: SeedArgs,
    /// Also record this expression after each draw (repeatable)
    #[arg(long, value_name = "EXPR", conflicts_with = "resume")]
    pub record: Vec<String>,
    /// Write the draws to a .csv, .json, .parquet or .arrow file; to a folder NAME.run while they are made,
    /// with checkpoints, so that `--resume NAME.run` goes on after whatever has stopped the run
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Write a report about the draws, with plots, to a page for a browser
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Threads that run the chains; the draws do not depend on it [default: one per processor]
    #[arg(long, allow_negative_numbers = true, value_name = "T", value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Let the default kernel use subsampling
    #[arg(long, conflicts_with = "resume")]
    pub approximate: bool,
    /// Draw from the prior instead: observations are drawn as well, nothing is conditioned on
    #[arg(long, conflicts_with_all = ["kernel", "approximate", "init", "stats", "keep_warmup", "resume"])]
    pub prior: bool,
    /// Keep statistics of every draw: lp__, acceptance_rate__, step_size__, tree_depth__, energy__,
    /// diverging__, n_used__ and n_total__ (sections or rows read)
    #[arg(long, conflicts_with = "resume")]
    pub stats: bool,
    /// Keep the draws of the warm-up too, in rows with warmup__ = 1
    #[arg(long, conflicts_with = "resume")]
    pub keep_warmup: bool,
    /// Keep the states of the program beside --out, for predict and loo: up to 256 MB, all, or none.
    /// Where the draws have every random choice, they are enough and no file of states is written
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Keep::Auto)]
    pub keep_states: Keep,
    /// Begin at these values: a JSON object of values by name (or a list of them, one per chain), or the
    /// draws of a former run
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub init: Option<PathBuf>,
    /// Go on with a run that was stopped, from its last checkpoints: the draws are those of a run that was
    /// not. Program, options and seed are those of the folder; --draws may be larger, --out is a file to export to
    #[arg(long, value_name = "NAME.run")]
    pub resume: Option<PathBuf>,
    /// With --resume: draw everything again from the seed, and compare it with what is there
    #[arg(long, requires = "resume")]
    pub from_seed: bool,
    /// Begin a new run, with a warm-up of its own, where the chains of this one stood
    #[arg(long, value_name = "NAME.run", conflicts_with_all = ["resume", "init"])]
    pub restart_from: Option<PathBuf>,
    /// Go on when the file of this table grows: every change opens an epoch with draws of its own, after settling draws (a tenth of
    /// the warm-up, at least 50). A CSV is read up to its last whole line, an .arrows stream up to its last whole message; of a
    /// folder, files are read in the order of their names
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["resume", "prior", "live"])]
    pub follow: Option<String>,
    /// With --follow, or --resume of a run that follows a table: end after so many epochs [default: go on until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub epochs: Option<usize>,
    /// With --follow: instead of chains, so many particles from the prior that take the rows as they come, are drawn anew by their
    /// weights and moved by the kernel where that is needed, and estimate the evidence
    #[arg(long, value_name = "N", value_parser = particles, requires = "follow", conflicts_with_all = ["resume", "window", "chains", "warmup", "draws", "init", "restart_from", "stats", "keep_warmup", "checkpoint_every"])]
    pub particles: Option<usize>,
    /// With --follow: only the last rows of the table count, so many and the rest of a block (65,536 rows, in a small window an eighth of
    /// it); blocks before them leave the model
    #[arg(long, value_name = "TABLE=ROWS", value_parser = crate::inputs::parse_window, requires = "follow", conflicts_with = "resume")]
    pub window: Option<(String, usize)>,
    /// With --out NAME.run or --resume: show the run on a page for a browser on this machine
    #[arg(long)]
    pub live: bool,
    /// With --out NAME.run: remove what is there
    #[arg(long, conflicts_with = "resume")]
    pub discard: bool,
    /// With --out NAME.run: draws from one checkpoint to the next [default: as many as make checkpoints cost
    /// half a per cent]. The draws depend on it, and on nothing else about checkpoints
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "resume")]
    pub checkpoint_every: Option<u64>,
    #[command(flatten)]
    pub inputs: InputArgs,
}

/// Which states are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Keep {
    /// As many as there is room for
    #[default]
    Auto,
    All,
    No,
}

#[derive(Args)]
pub struct CompareArgs {
    /// The program, or several to be compared by how they predict
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// With several programs: the draws of each, in the same order (repeatable)
    #[arg(long, value_name = "DRAWS")]
    pub draws_from: Vec<PathBuf>,
    /// The kernel of one draw, instead of the program's own [infer ...]
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// Draws kept per chain, in each run
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 1000)]
    pub draws: usize,
    /// Applications of the kernel before the first draw
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 1000)]
    pub warmup: usize,
    /// Applications of the kernel per draw
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    pub thin: usize,
    /// Independent chains, in each run
    #[arg(long, allow_negative_numbers = true, value_name = "C", default_value_t = 2, value_parser = chains)]
    pub chains: usize,
    #[command(flatten)]
    pub seed: SeedArgs,
    /// Also compare this expression (repeatable)
    #[arg(long, value_name = "EXPR")]
    pub record: Vec<String>,
    /// Write the whole report, with plots, to a page for a browser
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Threads that run the chains; the draws do not depend on it [default: one per processor]
    #[arg(long, allow_negative_numbers = true, value_name = "T", value_parser = at_least_one)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Args)]
pub struct ReportArgs {
    /// Files of draws (.csv, .json, .parquet, .arrow); those after the first are further chains
    #[arg(required = true, value_name = "DRAWS")]
    pub files: Vec<PathBuf>,
    /// Write the page to this file
    #[arg(short, long, value_name = "PATH", required_unless_present = "png")]
    pub out: Option<PathBuf>,
    /// Only about these: a name, a vector's name for all its entries, or with * for any characters
    /// (repeatable)
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// The program that is shown, instead of the one in the files (.csv files have none)
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// The title of the page
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Write each figure as a PNG file to this folder
    #[arg(long, value_name = "FOLDER")]
    pub png: Option<PathBuf>,
}

#[derive(Args)]
pub struct ViewArgs {
    /// The run folder
    #[arg(value_name = "NAME.run")]
    pub run: PathBuf,
    /// The port [default: one that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
}

#[derive(Args)]
pub struct CheckArgs {
    /// The program
    pub file: PathBuf,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Args)]
pub struct ExplainArgs {
    /// The program; its [infer ...]s are looked at, and run only for a short warm-up
    pub file: PathBuf,
    /// The kernel to explain, instead of the program's own [infer ...]
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    #[command(flatten)]
    pub seed: SeedArgs,
    /// How the result is printed; JSON is one object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Args)]
pub struct ReplArgs {
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Args)]
pub struct HelpArgs {
    /// A directive, special form, kernel or procedure
    pub name: Option<String>,
    /// Print the whole reference as Markdown
    #[arg(long, conflicts_with = "name")]
    pub markdown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// All nodes of the trace
    Trace,
    /// What a move of one block touches
    Scaffold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Picture {
    /// A listing
    Text,
    /// A graph for Graphviz
    Dot,
}

#[derive(Args)]
pub struct DebugArgs {
    /// What to show
    #[arg(value_enum)]
    pub view: View,
    /// The program; its [infer ...]s are skipped
    pub file: PathBuf,
    /// Scaffold: the scope of the block
    #[arg(long, value_name = "SCOPE", default_value = "default")]
    pub scope: String,
    /// Scaffold: the block of the scope (of scope `default`: the number of the choice, from 0)
    /// [default: the first]
    #[arg(long, value_name = "BLOCK")]
    pub block: Option<String>,
    /// How it is drawn
    #[arg(long, value_enum, default_value_t = Picture::Text)]
    pub format: Picture,
    /// Write it to a file instead
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Args)]
pub struct ExperimentArgs {
    /// Which experiment
    #[arg(value_name = "NAME", value_parser = experiment_name)]
    pub name: String,
    /// About two minutes on two cores (the default)
    #[arg(long, conflicts_with_all = ["full", "tiny"])]
    pub quick: bool,
    /// As long as good figures take
    #[arg(long, conflicts_with = "tiny")]
    pub full: bool,
    /// Seconds: to see whether everything works
    #[arg(long)]
    pub tiny: bool,
    /// The folder for what it leaves [default: smidgen-NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of the random streams
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Make data up, with this seed, instead of fetching or carrying them
    #[arg(long, value_name = "SEED", conflicts_with = "data")]
    pub generate: Option<u64>,
    /// Take data from there (see docs/experiments.md)
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
}

fn experiment_name(text: &str) -> Result<String, String> {
    let known: Vec<&str> = smidgen_experiment::EXPERIMENTS.iter().map(|e| e.name).collect();
    match known.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("there are {}", known.join(", "))),
    }
}

#[derive(Args)]
pub struct BenchArgs {
    /// Processor seconds spent on each program
    #[arg(long, allow_negative_numbers = true, value_name = "S", default_value_t = 1.0, value_parser = positive_seconds)]
    pub seconds: f64,
    /// A program with hand-written code for the same models, to be run beside
    #[arg(long, value_name = "PATH")]
    pub anchor: Option<std::path::PathBuf>,
    /// Only one part: small programs, kernels, sections, models, or (not otherwise) growth with the
    /// data or instruction counts
    #[arg(long, value_enum, value_name = "PART")]
    pub only: Option<Part>,
    /// Earlier counts, as `--only instructions --format json` printed them: counts that have grown by
    /// more than a tenth are an error
    #[arg(long, value_name = "JSON")]
    pub against: Option<std::path::PathBuf>,
    /// The largest number of rows for `--only growth`
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub rows: usize,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A part of the benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Transitions per second on small programs
    Programs,
    /// What the kernels beside mh cost
    Kernels,
    /// What one section costs
    Sections,
    /// Whole runs of models by the default kernel: 4 chains of 1000 + 1000
    Models,
    /// What a transition costs from a thousand rows on
    Growth,
    /// Instructions per transition, counted by valgrind's callgrind
    Instructions,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(n) => Ok(n),
        Err(_) => Err("it must be a whole number, at least 1".to_owned()),
    }
}

/// Of one particle nothing can be drawn by weight.
fn particles(text: &str) -> Result<usize, String> {
    match chains(text)? {
        1 => Err("it must be at least 2".to_owned()),
        n => Ok(n),
    }
}

/// Each chain has a model of its own.
fn chains(text: &str) -> Result<usize, String> {
    const MOST: usize = 1_000_000;
    match at_least_one(text)? {
        n if n > MOST => Err(format!("it must be at most {MOST}")),
        n => Ok(n),
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= 3600.0 => Ok(seconds),
        _ => Err("it must be a number of seconds, more than 0 and at most 3600".to_owned()),
    }
}
