//! Expressions and directives of any kind, right or wrong, from the names of all procedures and forms: what is typed
//! by somebody who does not know what is meant. Most of it is an error; none of it may be a panic.

use smidgen_lang::forms::SPECIAL_FORMS;
use smidgen_prob::{Builtin, registry};
use smidgen_value::Rng;

/// Writes expressions and directives.
pub struct Writer {
    pub rng: Rng,
    procedures: Vec<(&'static str, usize, usize)>,
}

const ATOMS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "3",
    "1e300",
    "-1e-300",
    "true",
    "false",
    "'a",
    "\"text\"",
    "x",
    "y",
    "f",
    "m",
    "c",
    "'()",
    "(list)",
    "(vector)",
    "(array 1 2)",
    "(vector 1 0.5)",
    "(list 1 2)",
    "(id_matrix 2)",
    "(dict)",
    "(list 'a 1)",
    "(lambda (x) x)",
    "(lambda () (flip 0.5))",
    "(mem (lambda (i) (normal i 1)))",
    "(make_crp 1)",
    "(make_beta_bernoulli 1 1)",
    "(make_uc_beta_bernoulli 1 1)",
    "(flip 0.5)",
    "(normal 0 1)",
    "(gamma 1 1)",
    "(dirichlet (vector 1 1))",
    "(inv_wishart (id_matrix 2) 4)",
    "(get_current_environment)",
    "+",
    "normal",
    "flip",
    "map",
    "mem",
    "eval",
    "(c)",
    "(m 1)",
    "(f 1)",
    "(uniform_discrete 0 3)",
    "(categorical (vector 0.5 0.5))",
];

impl Writer {
    pub fn new(seed: u64) -> Writer {
        let procedures = registry::all()
            .filter(|builtin| builtin.spec().is_spellable())
            .map(|builtin: Builtin| {
                let spec = builtin.spec();
                let most = spec.arity.most.unwrap_or(spec.arity.least + 2);
                (spec.name, spec.arity.least, most)
            })
            .collect();
        Writer { rng: Rng::from_seed(seed), procedures }
    }

    fn atom(&mut self) -> String {
        ATOMS[self.rng.below(ATOMS.len())].to_owned()
    }

    fn several(&mut self, n: usize, depth: usize) -> String {
        (0..n).map(|_| self.expression(depth)).collect::<Vec<_>>().join(" ")
    }

    /// An expression with at most so many within each other.
    pub fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.below(5) == 0 {
            return self.atom();
        }
        let deeper = depth - 1;
        match self.rng.below(10) {
            // A call with a number of arguments that fits, mostly.
            0..=5 => {
                let (name, least, most) = self.procedures[self.rng.below(self.procedures.len())];
                let wrong = usize::from(self.rng.below(20) == 0);
                let n = least + self.rng.below(most - least + 1) + wrong;
                format!("({name} {})", self.several(n, deeper))
            }
            6 => {
                let form = SPECIAL_FORMS[self.rng.below(SPECIAL_FORMS.len())].name;
                let n = self.rng.below(4);
                format!("({form} {})", self.several(n, deeper))
            }
            7 => {
                let (value, body) = (self.expression(deeper), self.expression(deeper));
                let form = ["let", "letrec"][self.rng.below(2)];
                format!("({form} ((x {value})) {body})")
            }
            8 => format!(
                "(if {} {} {})",
                self.expression(deeper),
                self.expression(deeper),
                self.expression(deeper)
            ),
            _ => match self.rng.below(4) {
                0 => format!(
                    "((lambda (x y) {}) {})",
                    self.expression(deeper),
                    self.several(2, deeper)
                ),
                1 => format!("(scope_include 's {} {})", self.atom(), self.expression(deeper)),
                2 => format!("(eval '{} (get_current_environment))", self.expression(deeper)),
                _ => {
                    let n = 1 + self.rng.below(3);
                    format!("({})", self.several(n, deeper))
                }
            },
        }
    }

    /// A directive, mostly about one of the names `x y f m c z` and the label `here`.
    pub fn directive(&mut self) -> String {
        let (expr, value) = (self.expression(3), self.atom());
        match self.rng.below(12) {
            0..=2 => {
                let name = ["x", "y", "f", "m", "c", "z"][self.rng.below(6)];
                format!("[assume {name} {expr}]")
            }
            3..=5 => format!("[observe {expr} {value}]"),
            6 => format!("here: [predict {expr}]"),
            7 => format!("[force {expr} {value}]"),
            8 => format!("[infer (mh default one {})]", self.rng.below(4)),
            9 => [
                "[forget here]",
                "[freeze here]",
                "[freeze x]",
                "[forget x]",
                "[log_joint]",
                "[log_likelihood]",
            ][self.rng.below(6)]
            .to_owned(),
            10 => format!(
                "[infer {}]",
                ["2", "(mh s one 2)", "(mh default all 'drift 0.1 2)", "(mh s each 1)"]
                    [self.rng.below(4)]
            ),
            _ => format!("[sample {expr}]"),
        }
    }
}

/// A directive about the names of random programs ([`crate::programs`]).
pub fn meeting(rng: &mut Rng) -> String {
    let mut name = || {
        [
            "g0",
            "g1",
            "g2",
            "g3",
            "g4",
            "(g0)",
            "(g1 1)",
            "(g2 g1)",
            "(walk g1)",
            "(walk 2)",
            "(g3 0)",
            "(g0 g1)",
        ][rng.below(12)]
    };
    let (a, b, c) = (name(), name(), name());
    let value = ["0", "1", "2", "true", "false", "0.5", "-1", "40"][rng.below(8)];
    match rng.below(12) {
        0 => format!("[observe {a} {value}]"),
        1 => format!("here: [observe {a} {value}]"),
        2 => format!("[observe (if {a} {b} {c}) {value}]"),
        3 => format!("[observe (or {a} {b}) {value}]"),
        4 => format!("[force {a} {value}]"),
        5 => format!("[freeze {a}]").replace(['(', ')'], ""),
        6 => format!("[predict (+ {a} {b})]"),
        7 => "[forget here]".to_owned(),
        8 => format!(
            "[observe (let ((f (mem (lambda (i) (normal i 1))))) (begin (f {a}) (f {b}))) {value}]"
        ),
        9 => "[infer (mh default all 3)]".to_owned(),
        10 => "[infer (do (mh s one 'drift 0.3 2) (mh s each 2) (mh default one 5))]".to_owned(),
        _ => "[infer 3]".to_owned(),
    }
}
