//! Random programs for the matrix: a few choices of every kind, then data that hang on them.

use std::sync::Arc;

use smidgen_value::{Column, Rng, Symbol, Table};

use super::families::{FAMILIES, Family, Observed, Outcomes};
use super::numbers::{self, Range, pick};
use super::subject::{Line, Subject};

const REALS: &[&str] = &[
    "(normal 0 1)",
    "(student_t 4 0 1)",
    "(laplace 0 1)",
    "(cauchy 0 1)",
    "(logistic_dist 0 1)",
    "(truncated_normal 0 1 -2 2)",
    "(vonmises 0 2)",
    "(uniform_continuous -2 2)",
    "(normal 1 0.3)",
    "(skew_normal 0 1 3)",
    "(gumbel 0 1)",
    "(truncate logistic_dist -3 3 0.5 1)",
    "(truncate normal 0.2 inf 0 1)",
    "(mixture (vector 0.3 0.7) normal (list -1 1) student_t (list 4 1 0.5))",
    "(flat)",
];
const POSITIVES: &[&str] = &[
    "(gamma 2 2)",
    "(inv_gamma 3 2)",
    "(half_normal 1)",
    "(half_cauchy 1)",
    "(half_student_t 3 1)",
    "(lognormal 0 1)",
    "(expon 1)",
    "(weibull 2 1)",
    "(chi_squared 3)",
    "(inverse_gaussian 1 2)",
    "(pareto 0.5 3)",
    "(truncate gamma 0.1 inf 2 2)",
    "(flat_pos)",
];
const UNITS: &[&str] = &["(beta 2 3)", "(uniform_continuous 0 1)", "(beta_mean 0.4 5)"];
const FINITES: &[&str] = &[
    "(uniform_discrete 0 3)",
    "(bernoulli 0.4)",
    "(binomial 2 0.3)",
    "(categorical (vector 0.2 0.5 0.3))",
    "(bernoulli_logit 0.3)",
    "(categorical_logit (vector 0.1 -1 0.4))",
    "(ordered_logistic 0.2 (vector -1 0.8))",
    "(ordered_probit -0.1 (vector -1 0.8))",
    "(beta_binomial 2 1 2)",
    "(hypergeometric 2 3 4)",
    "(zero_inflated binomial 0.3 2 0.6)",
    "(hurdle binomial 0.3 2 0.6)",
    "(censor poisson 0 2 1.5)",
    "(truncate geometric 0 2 0.4)",
    "(mixture (vector 0.5 0.5) binomial (list 2 0.2) bernoulli (list 0.9))",
];
/// Vectors, by their length.
const VECTORS: &[&str] = &[
    "(multivariate_diag_normal (zeros N) (ones N))",
    "(multivariate_normal (zeros N) (id_matrix N))",
    "(multivariate_normal_cholesky (zeros N) (id_matrix N))",
    "(multivariate_student_t 4 (zeros N) (id_matrix N))",
    "(random_walk N 0.7)",
    "(ar N (vector 0.6 -0.2) 0.8 0.1)",
    "(ordered normal N 0 1)",
];

/// Rows of a loop: one, a few, and more than fit side by side.
const ROWS: [usize; 8] = [1, 1, 2, 3, 5, 9, 17, 70];

pub struct Writer {
    pub rng: Rng,
    pub range: Range,
    pub(super) lines: Vec<Line>,
    next: usize,
    /// Whether an observation of a loop is being written.
    in_row: bool,
    /// How many entries its covariates have.
    width: Option<usize>,
    reals: Vec<String>,
    positives: Vec<String>,
    units: Vec<String>,
    finites: Vec<String>,
    /// A memoised procedure of a group.
    effect: Option<String>,
}

/// The program of a seed; every second one has extreme numbers.
pub fn program(seed: u64) -> Result<Subject, String> {
    let range = if seed.is_multiple_of(2) { Range::Extreme } else { Range::Ordinary };
    let mut writer = Writer::new(Rng::from_seed(seed), range);
    writer.choices();
    // Every family comes in its turn, whatever else there is.
    let first = &FAMILIES[(seed / 2) as usize % FAMILIES.len()];
    writer.data(first);
    for _ in 0..writer.rng.below(3) {
        let family = &FAMILIES[writer.rng.below(FAMILIES.len())];
        writer.data(family);
    }
    if writer.rng.below(4) == 0 {
        writer.made();
    }
    // Choices come first: without the data they would stand where they stand now.
    let is_data = |line: &Line| matches!(line, Line::Observe { .. } | Line::ObserveRows { .. });
    writer.lines.sort_by_key(is_data);
    Subject::new(writer.lines)
}

impl Writer {
    fn new(rng: Rng, range: Range) -> Writer {
        Writer {
            rng,
            range,
            lines: Vec::new(),
            next: 0,
            in_row: false,
            width: None,
            reals: Vec::new(),
            positives: Vec::new(),
            units: Vec::new(),
            finites: Vec::new(),
            effect: None,
        }
    }

    fn name(&mut self, start: &str) -> String {
        self.next += 1;
        format!("{start}{}", self.next)
    }

    pub(super) fn assume(&mut self, start: &str, expr: String) -> String {
        let name = self.name(start);
        self.lines.push(Line::Assume { name: name.clone(), expr });
        name
    }

    pub(super) fn predict(&mut self, expr: String) {
        self.lines.push(Line::Predict(expr));
    }

    pub fn coin(&mut self) -> bool {
        self.rng.coin()
    }

    pub fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        pick(&mut self.rng, texts)
    }

    // ------------------------------------------------------------ choices

    fn choices(&mut self) {
        for _ in 0..1 + self.rng.below(2) {
            let expr = self.one_of(REALS).to_owned();
            let name = self.assume("b", expr);
            self.reals.push(name);
        }
        if self.rng.below(3) > 0 {
            let expr = self.one_of(POSITIVES).to_owned();
            let name = self.assume("s", expr);
            self.positives.push(name);
        }
        if self.rng.below(4) == 0 {
            let expr = self.one_of(UNITS).to_owned();
            let name = self.assume("p", expr);
            self.units.push(name);
        }
        if self.rng.below(3) > 0 {
            let expr = self.one_of(FINITES).to_owned();
            let name = self.assume("z", expr);
            self.finites.push(name);
        }
        match self.rng.below(4) {
            0 => self.hierarchy(),
            1 => self.chain(),
            _ => {}
        }
    }

    /// Groups, some of them without a row.
    fn hierarchy(&mut self) {
        let (m, s) = (self.real(), self.positive_choice());
        let effect = self.assume("e", format!("(mem (lambda (g) (normal {m} {s})))"));
        (0..3).for_each(|g| self.predict(format!("({effect} {g})")));
        self.reals.push(format!("({effect} 0)"));
        self.effect = Some(effect);
    }

    /// States in an order, whose last is good for something.
    fn chain(&mut self) {
        let p = self.unit();
        let step = match self.rng.below(3) {
            0 => format!("(bernoulli (lookup (vector {p} 0.8) (st (- t 1))))"),
            1 => format!("(bernoulli (if (= (st (- t 1)) 1) {p} 0))"),
            _ => {
                let x = numbers::covariate(&mut self.rng, self.range);
                format!("(bernoulli (logistic (* {x} (- (st (- t 1)) 0.5))))")
            }
        };
        let name = self.name("st");
        let expr = format!("(mem (lambda (t) (if (= t 0) (bernoulli 0.5) {step})))");
        let expr = expr.replace("(st ", &format!("({name} "));
        self.lines.push(Line::Assume { name: name.clone(), expr });
        (0..3).for_each(|t| self.predict(format!("({name} {t})")));
        self.finites.push(format!("({name} 1)"));
        self.finites.push(format!("({name} 2)"));
    }

    pub fn real(&mut self) -> String {
        let k = self.rng.below(self.reals.len());
        self.reals[k].clone()
    }

    pub(super) fn positive_choice(&mut self) -> String {
        match self.positives.len() {
            0 => "1".to_owned(),
            n => {
                let k = self.rng.below(n);
                self.positives[k].clone()
            }
        }
    }

    // ------------------------------------------------------------ arguments

    fn covariate(&mut self) -> String {
        match self.in_row {
            true => "row.x".to_owned(),
            false => format!("{:?}", numbers::covariate(&mut self.rng, self.range)),
        }
    }

    /// A vector of data.
    pub fn covariates(&mut self, len: usize) -> String {
        if self.in_row && self.width.is_none_or(|width| width == len) {
            self.width = Some(len);
            return "row.v".to_owned();
        }
        let (rng, range) = (&mut self.rng, self.range);
        let xs: Vec<String> =
            (0..len).map(|_| format!("{:?}", numbers::covariate(rng, range))).collect();
        format!("(vector {})", xs.join(" "))
    }

    /// A vector that hangs on choices.
    pub fn vector(&mut self, len: usize) -> String {
        if self.coin() {
            let draw = self.one_of(VECTORS).replace('N', &len.to_string());
            return self.assume("w", draw);
        }
        let entries: Vec<String> = (0..len).map(|_| self.real()).collect();
        format!("(vector {})", entries.join(" "))
    }

    /// Two increasing numbers.
    pub fn cut_points(&mut self) -> String {
        let (a, s) = (self.real(), self.positive_choice());
        match self.rng.below(3) {
            0 => self.assume("c", "(ordered normal 2 0 1.5)".to_owned()),
            1 => format!("(vector {a} (+ {a} {s}))"),
            _ => "(vector -1 0.5)".to_owned(),
        }
    }

    /// 0, 1 or 2.
    pub fn finite(&mut self) -> String {
        match self.finites.len() {
            0 => "1".to_owned(),
            n => {
                let k = self.rng.below(n);
                self.finites[k].clone()
            }
        }
    }

    /// A linear predictor.
    pub fn predictor(&mut self) -> String {
        let (a, b, x, finite) = (self.real(), self.real(), self.covariate(), self.finite());
        match (self.rng.below(8), &self.effect) {
            (0, _) => format!("(* {a} {x})"),
            (1, _) => format!("(+ {b} (* {a} {x}))"),
            (2, _) => format!("(+ (* {a} {x}) {finite})"),
            (3, _) => format!("(* {x} (lookup (vector {a} {b} 1) {finite}))"),
            (4, _) => format!("(if (= {finite} 0) (* {a} {x}) (- {x} {b}))"),
            (5, _) => format!("(* (- {finite} 0.5) {x})"),
            (6, Some(effect)) if self.in_row => format!("(+ ({effect} row.g) (* {a} {x}))"),
            (6, Some(effect)) => format!("({effect} 1)"),
            _ => a,
        }
    }

    pub fn positive(&mut self) -> String {
        let s = self.positive_choice();
        let literal = numbers::scale(&mut self.rng, self.range);
        match self.rng.below(7) {
            5 => format!("(exp (/ {} 2))", self.predictor()),
            6 => format!("(/ 1 (sqrt {s}))"),
            0 => format!("{literal:?}"),
            1 => format!("(* {s} {literal:?})"),
            2 => format!("(exp {})", self.predictor()),
            3 => format!("(sqrt (+ 1 (square {})))", self.real()),
            _ => s,
        }
    }

    pub fn unit(&mut self) -> String {
        match self.units.len() {
            0 => self.one_of(&["0.3", "0.9", "0.5"]).to_owned(),
            n => {
                let k = self.rng.below(n);
                self.units[k].clone()
            }
        }
    }

    pub fn probability(&mut self) -> String {
        let eta = self.predictor();
        match self.rng.below(12) {
            0 | 2 => self.unit(),
            3 => format!("(- 1 (logistic {eta}))"),
            4 => format!("(* 0.5 (logistic {eta}))"),
            5 => format!("(exp (log_logistic {eta}))"),
            6 => format!("(min 1 (exp {eta}))"),
            7 => format!("(lookup (vector (logistic {eta}) {}) {})", self.unit(), self.flag()),
            8 => format!("(if (= {} 0) (logistic {eta}) 0.5)", self.flag()),
            1 if self.range == Range::Extreme => match self.finites.first() {
                Some(z) => format!("(if (= {z} 0) 0 1)"),
                None => self.one_of(&["0", "1", "1e-300"]).to_owned(),
            },
            _ => format!("(logistic {eta})"),
        }
    }

    /// 0 or 1.
    fn flag(&mut self) -> String {
        let z = self.finites.first().cloned().unwrap_or_else(|| "1".to_owned());
        format!("(min 1 {z})")
    }

    /// A vector of three probabilities.
    pub fn simplex(&mut self) -> String {
        match self.rng.below(3) {
            0 => "(vector 0.2 0.3 0.5)".to_owned(),
            1 => self.assume("q", "(symmetric_dirichlet 0.9 3)".to_owned()),
            _ => self.assume("q", "(dirichlet (vector 1 2 0.7))".to_owned()),
        }
    }

    // ------------------------------------------------------------ data

    fn data(&mut self, family: &Family) {
        self.in_row = self.rng.below(3) > 0;
        self.width = None;
        let Observed { expr, outcomes } = (family.write)(self);
        let rows = if self.in_row { pick(&mut self.rng, &ROWS) } else { 1 };
        let places: Vec<usize> = match &outcomes {
            Outcomes::Numbers(from) => (0..rows).map(|_| self.rng.below(from.len())).collect(),
            Outcomes::Vectors(from) => (0..rows).map(|_| self.rng.below(from.len())).collect(),
        };
        if !self.in_row {
            let value = match &outcomes {
                Outcomes::Numbers(from) => format!("{:?}", from[places[0]]),
                Outcomes::Vectors(from) => {
                    let xs: Vec<String> =
                        from[places[0]].iter().map(|x| format!("{x:?}")).collect();
                    format!("(vector {})", xs.join(" "))
                }
            };
            self.lines.push(Line::Observe { expr, value });
            return;
        }
        let y = match &outcomes {
            Outcomes::Numbers(from) => {
                Column::Reals(places.iter().map(|k| from[*k]).collect::<Vec<_>>().into())
            }
            Outcomes::Vectors(from) => Column::Vectors {
                data: places.iter().flat_map(|k| from[*k].clone()).collect::<Vec<_>>().into(),
                width: from[0].len(),
            },
        };
        let table = self.table(y, rows);
        self.lines.push(Line::ObserveRows { expr, table });
        self.in_row = false;
    }

    fn table(&mut self, y: Column, rows: usize) -> Arc<Table> {
        let (rng, range, width) = (&mut self.rng, self.range, self.width.unwrap_or(1));
        let mut covariates =
            |n: usize| -> Vec<f64> { (0..n).map(|_| numbers::covariate(rng, range)).collect() };
        let (x, v) = (covariates(rows), covariates(rows * width));
        // The last group has no row.
        let g: Vec<f64> = (0..rows).map(|_| self.rng.below(2) as f64).collect();
        Arc::new(Table::new(vec![
            (Symbol::new("x"), Column::Reals(x.into())),
            (Symbol::new("v"), Column::Vectors { data: v.into(), width }),
            (Symbol::new("g"), Column::Reals(g.into())),
            (Symbol::new("y"), y),
        ]))
    }
}
