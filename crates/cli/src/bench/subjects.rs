//! Programs with synthetic data for the costs of kernels.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use smidgen::value::{Rng, math};
use smidgen::{Session, TopDirective};

use crate::failure::Failure;

/// A program and its table.
pub struct Written {
    name: String,
    program: String,
    table: String,
}

impl Written {
    pub fn open(&self, session: &mut Session, folder: &Path) -> Result<Vec<TopDirective>, Failure> {
        let path = self.write(folder)?;
        session.parse_file(&path).map_err(|d| Failure::wrong(session, d))
    }

    /// Writes both into a folder. Gives the path of the program.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Failure> {
        write(folder, &self.name, "csv", &self.table)?;
        write(folder, &self.name, "smg", &self.program)
    }
}

/// Writes a file and gives its path.
pub fn write(folder: &Path, name: &str, extension: &str, text: &str) -> Result<PathBuf, Failure> {
    let path = folder.join(name).with_extension(extension);
    std::fs::write(&path, text)
        .map(|()| path)
        .map_err(|error| Failure::message(format!("cannot write a temporary file: {error}")))
}

pub fn normal(rng: &mut Rng) -> f64 {
    let (u, v) = (1.0 - rng.uniform(), rng.uniform());
    math::sqrt(-2.0 * math::ln(u)) * math::cos(std::f64::consts::TAU * v)
}

fn push_row(text: &mut String, cells: &[f64]) {
    for (k, cell) in cells.iter().enumerate() {
        let comma = if k == 0 { "" } else { "," };
        write!(text, "{comma}{cell}").expect("a string takes everything");
    }
    text.push('\n');
}

fn header(features: usize, more: &str) -> String {
    let names: Vec<String> = (0..features).map(|k| format!("x{k}")).collect();
    format!("{},{more}\n", names.join(","))
}

/// Rows of features from ten clusters with a logistic regression in each, started at the
/// clusters they are from.
pub fn joint_dpm(features: usize, rows: usize) -> Written {
    const CLUSTERS: usize = 10;
    let mut rng = Rng::from_seed(1);
    let mut draws =
        |n: usize, scale: f64| -> Vec<f64> { (0..n).map(|_| scale * normal(&mut rng)).collect() };
    let centres = draws(CLUSTERS * features, 4.0);
    let weights = draws(CLUSTERS * (features + 1), 2.0);
    let mut table = header(features, "y,i,c");
    for i in 0..rows {
        let c = i % CLUSTERS;
        let noise = draws(features + 1, 1.0);
        let w = &weights[c * (features + 1)..];
        let eta = w[0] + (0..features).map(|j| w[j + 1] * noise[j]).sum::<f64>();
        let mut row: Vec<f64> =
            (0..features).map(|j| centres[c * features + j] + noise[j]).collect();
        // A normal threshold is close to a logistic one.
        let y = f64::from(u8::from(eta > 1.7 * noise[features]));
        row.extend([y, i as f64, (c + 1) as f64]);
        push_row(&mut table, &row);
    }
    let name = format!("joint_dpm{features}");
    let program = format!(
        "[table train \"{name}.csv\" (vector x \"x*\")]
[assume crp (make_crp 1)]
[assume z (mem (lambda (i) (scope_include 'z i (crp))))]
[assume w (mem (lambda (k) (scope_include 'w k (multivariate_diag_normal (zeros {p}) (fill {p} 2)))))]
[assume cluster (mem (lambda (k) (make_collapsed_multivariate_normal (zeros {d}) 0.05 {v} (id_matrix {d}))))]
[assume x (lambda (i) ((cluster (z i))))]
[assume y (lambda (i x) (bernoulli (linear_logistic (w (z i)) x)))]
[for row in train [predict (z row.i)]]
[for row in train [force (z row.i) row.c]]
[for row in train
  [observe (x row.i) row.x]
  [observe (y row.i row.x) row.y]]
",
        d = features,
        p = features + 1,
        v = features + 2,
    );
    Written { name, program, table }
}

/// Counts from ten clusters with a Poisson regression in each, started at the clusters they are from: a mixture
/// for which there is no code of its own.
pub fn poisson_mixture(features: usize, rows: usize) -> Written {
    const CLUSTERS: usize = 10;
    let mut rng = Rng::from_seed(3);
    let mut draws =
        |n: usize, scale: f64| -> Vec<f64> { (0..n).map(|_| scale * normal(&mut rng)).collect() };
    let weights = draws(CLUSTERS * features, 0.7);
    let mut table = header(features, "y,i,c");
    for i in 0..rows {
        let c = i % CLUSTERS;
        let mut row = draws(features + 1, 1.0);
        let noise = row.pop().expect("one more than features");
        let eta: f64 = (0..features).map(|j| weights[c * features + j] * row[j]).sum();
        // About as far from its mean as a count is.
        let mean = math::exp(eta.min(6.0));
        let y = (mean + math::sqrt(mean) * noise).round().max(0.0);
        row.extend([y, i as f64, (c + 1) as f64]);
        push_row(&mut table, &row);
    }
    let name = format!("poisson_mixture{features}");
    let program = format!(
        "[table train \"{name}.csv\" (vector x \"x*\")]
[assume crp (make_crp 1)]
[assume z (mem (lambda (i) (scope_include 'z i (crp))))]
[assume w (mem (lambda (k) (scope_include 'w k (multivariate_diag_normal (zeros {features}) (fill {features} 0.7)))))]
[assume y (lambda (i x) (poisson (exp (dot (w (z i)) x))))]
[for row in train [predict (z row.i)]]
[for row in train [force (z row.i) row.c]]
[for row in train [observe (y row.i row.x) row.y]]
"
    );
    Written { name, program, table }
}

/// One stochastic volatility series.
pub fn volatility(length: usize) -> Written {
    let mut rng = Rng::from_seed(2);
    let mut table = "t,x\n".to_owned();
    let mut h = 0.0;
    for t in 1..=length {
        h = 0.95 * h + 0.1 * normal(&mut rng);
        push_row(&mut table, &[t as f64, math::exp(h / 2.0) * normal(&mut rng)]);
    }
    let program = "[table returns \"volatility.csv\"]
[assume sig (sqrt (inv_gamma 5 0.05))]
[assume phi (beta 5 1)]
[assume h (mem (lambda (t) (scope_include 'h t (if (<= t 0) 0 (normal (* phi (h (- t 1))) sig)))))]
[for row in returns
  [observe (normal 0 (exp (/ (h row.t) 2))) row.x]]
"
    .to_owned();
    Written { name: "volatility".to_owned(), program, table }
}

/// Short series of stochastic volatility with parameters in common.
pub fn volatility_panel(series: usize, length: usize) -> Written {
    let mut rng = Rng::from_seed(5);
    let mut table = "s,t,x\n".to_owned();
    for s in 0..series {
        let mut h = 0.0;
        for t in 1..=length {
            h = 0.95 * h + 0.1 * normal(&mut rng);
            let x = math::exp(h / 2.0) * normal(&mut rng);
            push_row(&mut table, &[s as f64, t as f64, x]);
        }
    }
    let program = "[table returns \"volatility_panel.csv\"]
[assume sig (sqrt (inv_gamma 5 0.05))]
[assume phi (beta 5 1)]
[assume h (mem (lambda (s t) (if (<= t 0) 0 (normal (* phi (h s (- t 1))) sig))))]
[for row in returns
  [observe (normal 0 (exp (/ (h row.s row.t) 2))) row.x]]
[predict phi]
[predict sig]
"
    .to_owned();
    Written { name: "volatility_panel".to_owned(), program, table }
}

/// Counts whose rate changes after two fifths of the rows.
pub fn change_point(rows: usize) -> Written {
    let mut rng = Rng::from_seed(6);
    let mut table = "t,y\n".to_owned();
    for t in 0..rows {
        let mean: f64 = if 5 * t < 2 * rows { 3.0 } else { 7.0 };
        let y = (mean + math::sqrt(mean) * normal(&mut rng)).round().max(0.0);
        push_row(&mut table, &[t as f64, y]);
    }
    let program = format!(
        "[table counts \"change_point.csv\"]
[assume change (uniform_discrete 0 {})]
[assume before (gamma 1 0.2)]
[assume after (gamma 1 0.2)]
[for row in counts
  [observe (poisson (if (< row.t change) before after)) row.y]]
[predict change]
[predict before]
[predict after]
",
        rows - 1
    );
    Written { name: "change_point".to_owned(), program, table }
}

/// A mixture of two normal laws; which is which does not matter to what is predicted.
pub fn mixture_of_two(rows: usize) -> Written {
    let mut rng = Rng::from_seed(7);
    let mut table = "y\n".to_owned();
    for _ in 0..rows {
        let [mean, sd] = if rng.uniform() < 0.35 { [-1.5, 1.0] } else { [2.0, 0.8] };
        push_row(&mut table, &[mean + sd * normal(&mut rng)]);
    }
    let program = "[table data \"mixture_of_two.csv\"]
[assume p (beta 1 1)]
[assume mu (mem (lambda (k) (normal 0 5)))]
[assume sd (mem (lambda (k) (half_normal 2)))]
[assume z (mem (lambda (i) (if (flip p) 1 0)))]
[for row in data
  [observe (normal (mu (z row.index)) (sd (z row.index))) row.y]]
[predict (min (mu 0) (mu 1))]
[predict (max (mu 0) (mu 1))]
"
    .to_owned();
    Written { name: "mixture_of_two".to_owned(), program, table }
}

/// A logistic regression of the size of the paper's.
pub fn logistic(rows: usize) -> Written {
    const FEATURES: usize = 50;
    let mut rng = Rng::from_seed(3);
    let weights: Vec<f64> = (0..FEATURES).map(|_| 0.3 * normal(&mut rng)).collect();
    let mut table = header(FEATURES, "y");
    for _ in 0..rows {
        let mut row: Vec<f64> = (0..FEATURES).map(|_| normal(&mut rng)).collect();
        let eta: f64 = weights.iter().zip(&row).map(|(w, x)| w * x).sum();
        row.push(f64::from(u8::from(rng.uniform() < math::logistic(eta))));
        push_row(&mut table, &row);
    }
    let program = "[table train \"logistic.csv\" (vector x \"x*\")]
[assume w (multivariate_diag_normal (zeros 51) (fill 51 0.316))]
[for row in train
  [observe (bernoulli (linear_logistic w row.x)) row.y]]
"
    .to_owned();
    Written { name: "logistic".to_owned(), program, table }
}
