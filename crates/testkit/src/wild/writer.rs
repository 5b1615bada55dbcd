//! Random programs from a seed: a few choices that hang on each other, then some features.
//!
//! Names stand in pools by what they are good for. A real choice is, from the start, either one that may decide what
//! exists (`deciders`) or one that never does (`smooth`), so that kernels for gradients have something to move
//! in every program; choices are tagged accordingly:
//!
//! | scope | choices |
//! |---|---|
//! | `smooth` | continuous ones that decide nothing |
//! | `line` | single real numbers |
//! | `finite` | finitely many values |

use smidgen_value::Rng;

use super::families;
use super::features::FEATURES;
use super::program::{Item, ROWS, Wild};

pub struct Writer {
    pub rng: Rng,
    pub items: Vec<Item>,
    /// Names of numbers, however they came about.
    pub reals: Vec<String>,
    /// Names of choices that may stand in conditions.
    pub deciders: Vec<String>,
    pub flags: Vec<String>,
    /// Names of numbers 0, 1 or 2.
    pub counts: Vec<String>,
    next: usize,
    blocks: usize,
}

/// The program of a seed. An error would be a mistake of the writer.
pub fn program(seed: u64) -> Result<Wild, String> {
    let mut writer = Writer {
        rng: Rng::from_seed(seed),
        items: Vec::new(),
        reals: Vec::new(),
        deciders: Vec::new(),
        flags: Vec::new(),
        counts: Vec::new(),
        next: 0,
        blocks: 0,
    };
    writer.decider();
    for _ in 0..1 + writer.rng.below(3) {
        writer.variable();
    }
    for _ in 0..1 + writer.rng.below(3) {
        let feature = FEATURES[writer.rng.below(FEATURES.len())];
        feature(&mut writer);
        if writer.rng.below(3) == 0 {
            writer.variable();
        }
    }
    for _ in 0..writer.rng.below(3) {
        writer.observation();
    }
    Wild::new(writer.items, ROWS, seed)
}

impl Writer {
    pub fn name(&mut self, start: &str) -> String {
        self.next += 1;
        format!("{start}{}", self.next)
    }

    pub fn assume(&mut self, name: &str, expr: String) {
        self.items.push(Item::Assume(name.to_owned(), expr));
    }

    pub fn predict(&mut self, expr: String) {
        self.items.push(Item::Predict(expr));
    }

    pub fn observe(&mut self, expr: String) {
        self.items.push(Item::Observe(expr));
    }

    pub fn coin(&mut self) -> bool {
        self.rng.coin()
    }

    pub fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.rng.below(texts.len())]
    }

    /// A number from `low` to `high` with two digits.
    pub fn number(&mut self, low: f64, high: f64) -> String {
        let x = low + (high - low) * self.rng.uniform();
        format!("{}", (100.0 * x).round() / 100.0)
    }

    fn pick(&mut self, names: impl Fn(&Writer) -> &[String]) -> Option<String> {
        match names(self).len() {
            0 => None,
            n => {
                let k = self.rng.below(n);
                Some(names(self)[k].clone())
            }
        }
    }

    pub fn tagged(&mut self, scopes: &[&str], expr: String) -> String {
        self.blocks += 1;
        let block = self.blocks;
        let wrap = |expr, scope: &&str| format!("(scope_include '{scope} {block} {expr})");
        scopes.iter().fold(expr, wrap)
    }

    // ------------------------------------------------------------ values

    pub fn atom(&mut self) -> String {
        let known = if self.rng.below(10) < 7 { self.pick(|w| &w.reals) } else { None };
        known.unwrap_or_else(|| self.number(-2.0, 2.0))
    }

    /// A number that is computed.
    pub fn mean(&mut self) -> String {
        let (a, b, c) = (self.atom(), self.atom(), self.number(-1.0, 1.0));
        match self.rng.below(8) {
            0 | 1 => a,
            2 | 3 => format!("(+ {a} (* {c} {b}))"),
            4 => format!("(if {} {b} {c})", self.condition()),
            5 => format!("({} {a})", self.one_of(&["sin", "abs", "negate", "cos"])),
            6 => format!("(lookup (vector {a} {c} {b}) {})", self.count()),
            _ => format!("({} {a} {c})", self.one_of(&["max", "min", "hypot"])),
        }
    }

    /// A number above 0, neither small nor large.
    pub fn positive(&mut self) -> String {
        match self.rng.below(4) {
            0 | 1 => self.number(0.4, 2.0),
            2 => format!("(exp (* 0.3 (sin {})))", self.atom()),
            _ => {
                let (a, b) = (self.number(0.4, 1.0), self.number(1.0, 2.0));
                format!("(if {} {a} {b})", self.condition())
            }
        }
    }

    pub fn decides(&mut self) -> String {
        match self.pick(|w| &w.deciders) {
            Some(name) => name,
            None => {
                self.decider();
                self.decides()
            }
        }
    }

    pub fn condition(&mut self) -> String {
        if self.rng.below(3) == 0
            && let Some(flag) = self.pick(|w| &w.flags)
        {
            return flag;
        }
        let (a, c) = (self.decides(), self.number(-0.8, 0.8));
        match self.rng.below(5) {
            0 => format!("(and (< {a} {c}) (< {} 0.6))", self.decides()),
            1 => format!("(> (abs {a}) 0.7)"),
            _ => format!("({} {a} {c})", self.one_of(&["<", ">="])),
        }
    }

    /// 0, 1 or 2.
    pub fn count(&mut self) -> String {
        match self.pick(|w| &w.counts) {
            Some(name) if self.rng.below(4) > 0 => name,
            _ => format!("(if {} 0 {})", self.condition(), self.one_of(&["1", "2"])),
        }
    }

    // ------------------------------------------------------------ choices

    /// A real choice that may decide what exists.
    pub fn decider(&mut self) {
        let name = self.name("d");
        let expr = match self.rng.below(6) {
            0 => "(uniform_continuous -1.5 1.5)".to_owned(),
            1 => "(student_t 4)".to_owned(),
            2 => format!("(- (gamma 2 {}) 1)", self.number(1.0, 2.0)),
            _ => format!("(normal {} 1)", self.number(-0.3, 0.3)),
        };
        let expr = self.tagged(&["line"], expr);
        self.assume(&name, expr);
        self.deciders.push(name.clone());
        self.reals.push(name);
    }

    /// The expression of a real choice.
    pub fn real_choice(&mut self) -> String {
        let s = self.number(0.4, 1.6);
        match self.rng.below(18) {
            14.. => families::choice(self),
            0..=4 => format!("(normal {} {s})", self.mean()),
            5 => format!("(normal {} {})", self.mean(), self.positive()),
            6 => format!("(gamma 2 {})", self.positive()),
            7 => "(uniform_continuous 0 1)".to_owned(),
            8 => format!("(beta {} 2)", self.number(0.8, 3.0)),
            9 => format!("(laplace {} {s})", self.mean()),
            10 => format!("(lognormal 0 {s})"),
            11 => {
                let low = self.atom();
                format!("(uniform_continuous {low} (+ {low} {s}))")
            }
            12 => format!("(truncated_normal 0 {s} -1 2)"),
            _ => format!("(expon {})", self.positive()),
        }
    }

    /// The probability of a coin.
    pub fn probability(&mut self) -> String {
        match self.rng.below(4) {
            0 => self.number(0.2, 0.8),
            1 | 2 => format!("(logistic {})", self.mean()),
            _ => {
                let (p, q) = (self.number(0.1, 0.5), self.number(0.5, 0.9));
                format!("(if {} {p} {q})", self.condition())
            }
        }
    }

    /// One more name, for a choice or for a branch of choices.
    pub fn variable(&mut self) {
        match self.rng.below(9) {
            0..=2 => {
                let name = self.name("x");
                let choice = self.real_choice();
                let choice = self.tagged(&["line", "smooth"], choice);
                self.assume(&name, choice);
                self.reals.push(name);
            }
            3 | 4 => {
                let name = self.name("b");
                let p = self.probability();
                let choice = self.tagged(&["finite"], format!("(flip {p})"));
                self.assume(&name, choice);
                self.flags.push(name);
            }
            5 => {
                let name = self.name("k");
                let p = self.probability();
                let choice = match self.rng.below(6) {
                    4.. => families::finite_choice(self),
                    0 => format!("(binomial 2 {p})"),
                    1 => "(uniform_discrete 0 3)".to_owned(),
                    2 => format!("(categorical (array 0.3 {p} 0.2))"),
                    _ => "(categorical (array 0.2 0.5 0.3))".to_owned(),
                };
                let choice = self.tagged(&["finite"], choice);
                self.assume(&name, choice);
                self.counts.push(name);
            }
            6 => {
                let name = self.name("n");
                let choice = match self.rng.below(3) {
                    0 => format!("(poisson {})", self.positive()),
                    1 => format!("(geometric {})", self.number(0.4, 0.8)),
                    _ => format!("(poisson (exp (* 0.4 (sin {}))))", self.atom()),
                };
                self.assume(&name, choice);
                self.reals.push(name);
            }
            _ => {
                let name = self.name("v");
                let expr = self.branch(2);
                self.assume(&name, expr);
                self.reals.push(name);
            }
        }
    }

    /// Choices that exist or not.
    pub fn branch(&mut self, depth: usize) -> String {
        let condition = self.condition();
        let side = |writer: &mut Writer| match writer.rng.below(4) {
            0 => writer.number(-2.0, 3.0),
            1 if depth > 1 => writer.branch(depth - 1),
            2 => {
                let choice = format!("(flip {})", writer.probability());
                let choice = writer.tagged(&["finite"], choice);
                format!("(+ {choice} {})", writer.mean())
            }
            _ => {
                let choice = writer.real_choice();
                writer.tagged(&["line"], choice)
            }
        };
        format!("(if {condition} {} {})", side(self), side(self))
    }

    // ------------------------------------------------------------ observations

    pub fn observation(&mut self) {
        let m = self.mean();
        let expr = match self.rng.below(6) {
            0 | 1 => format!("(normal {m} {})", self.number(0.5, 1.5)),
            2 => format!("(flip {})", self.probability()),
            3 => format!("(poisson (exp (sin {m})))"),
            4 => format!("(normal {m} {})", self.positive()),
            _ => format!("(student_t 4 {m} 0.7)"),
        };
        self.observe(expr);
    }
}
