//! Random programs that always run: typed expressions (reals, booleans, small whole numbers) over
//! coins, normals, branches, `let`, procedures, recursion, `mem` with random keys, makers and
//! scopes, with observations.
//!
//! A program is a function of a tape of numbers: each decision takes the next one, and at the end
//! of the tape the simplest expression is taken. So a property-testing library can shrink the
//! tape, and with it the program.

/// The decisions that make a program.
pub struct Tape<'a> {
    decisions: &'a [u16],
    next: usize,
}

impl Tape<'_> {
    /// A number below n; 0 at the end of the tape.
    fn pick(&mut self, n: usize) -> usize {
        let decision = self.decisions.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(decision) % n
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Real,
    Bool,
    /// 0, 1, 2, ...
    Count,
    /// Procedures, by what they take and give.
    RealToReal,
    MemoCountToReal,
    MemoCountToBool,
    MakerOfCounts,
    MakerOfBools,
    MakerOfReals,
}

struct Writer<'a> {
    tape: Tape<'a>,
    /// Names in scope.
    names: Vec<(String, Type)>,
    next_local: usize,
}

/// What a random program may hold.
#[derive(Clone, Copy)]
pub struct Options {
    /// Branches, recursion, `mem` with random keys: moves that change what exists.
    pub structure: bool,
    /// Procedures with exchangeable state.
    pub makers: bool,
    /// Observations, some in branches.
    pub observations: bool,
}

pub const EVERYTHING: Options = Options { structure: true, makers: true, observations: true };

/// The program of a tape. Everything assumed that is a value is predicted.
pub fn program(decisions: &[u16], options: Options) -> String {
    let tape = Tape { decisions, next: 0 };
    let mut writer = Writer { tape, names: Vec::new(), next_local: 0 };
    let mut text = String::new();
    if options.structure {
        text.push_str("[assume geo (lambda (p) (if (flip p) 0 (+ 1 (geo p))))]\n");
        text.push_str("[assume walk (mem (lambda (t) (if (< t 1) (normal 0 1) (normal (walk (- t 1)) 0.5))))]\n");
        writer.names.push(("walk".into(), Type::MemoCountToReal));
    }
    let assumes = 2 + writer.tape.pick(5);
    for k in 0..assumes {
        let (kind, expr) = writer.assumed(options);
        text.push_str(&format!("[assume g{k} {expr}]\n"));
        writer.names.push((format!("g{k}"), kind));
    }
    if options.observations {
        for _ in 0..1 + writer.tape.pick(3) {
            text.push_str(&writer.observation(options));
        }
    }
    for (name, kind) in &writer.names {
        if matches!(kind, Type::Real | Type::Bool | Type::Count) {
            text.push_str(&format!("[predict {name}]\n"));
        }
    }
    let (real, truth) = (writer.real(2, options), writer.boolean(2, options));
    text.push_str(&format!("[predict {real}]\n[predict {truth}]\n"));
    text
}

impl Writer<'_> {
    fn assumed(&mut self, options: Options) -> (Type, String) {
        let kinds = if options.makers { 9 } else { 6 };
        match self.tape.pick(kinds) {
            0 => (Type::Real, self.real(3, options)),
            1 => (Type::Bool, self.boolean(3, options)),
            2 => (Type::Count, self.count(3, options)),
            3 => {
                let body = self.with_name("x", Type::Real, |writer| writer.real(2, options));
                (Type::RealToReal, format!("(lambda (x) {body})"))
            }
            4 => {
                let body = self.with_name("i", Type::Count, |writer| writer.real(2, options));
                (Type::MemoCountToReal, format!("(mem (lambda (i) {body}))"))
            }
            5 => {
                let body = self.with_name("i", Type::Count, |writer| writer.boolean(2, options));
                (Type::MemoCountToBool, format!("(mem (lambda (i) {body}))"))
            }
            6 => {
                let alpha = self.positive(options);
                (Type::MakerOfCounts, format!("(make_crp {alpha})"))
            }
            7 => {
                let (a, b) = (self.positive(options), self.positive(options));
                let maker = ["make_beta_bernoulli", "make_uc_beta_bernoulli"][self.tape.pick(2)];
                (Type::MakerOfBools, format!("({maker} {a} {b})"))
            }
            _ => {
                let mean = self.real(1, options);
                let kind = self.tape.pick(3);
                let maker = match kind {
                    0 => format!("(make_nig_normal {mean} 1 2 2)"),
                    1 => format!("(make_uc_nig_normal {mean} 1 2 2)"),
                    _ => format!("(make_suff_stat_normal {mean} {})", self.positive(options)),
                };
                (Type::MakerOfReals, maker)
            }
        }
    }

    fn with_name<R>(&mut self, name: &str, kind: Type, body: impl FnOnce(&mut Self) -> R) -> R {
        self.names.push((name.to_owned(), kind));
        let result = body(self);
        self.names.pop();
        result
    }

    fn named(&mut self, kind: Type) -> Option<String> {
        let known: Vec<String> = self
            .names
            .iter()
            .filter(|(_, known)| *known == kind)
            .map(|(name, _)| name.clone())
            .collect();
        if known.is_empty() { None } else { Some(known[self.tape.pick(known.len())].clone()) }
    }

    fn constant(&mut self) -> String {
        ["0", "1", "-0.5", "2", "0.25"][self.tape.pick(5)].to_owned()
    }

    /// A positive number that moves may change.
    fn positive(&mut self, options: Options) -> String {
        match self.tape.pick(4) {
            0 => "1".to_owned(),
            1 => "(gamma 2 1)".to_owned(),
            2 => format!("(+ 0.5 (abs {}))", self.real(1, options)),
            _ => format!("(if {} 0.5 2)", self.boolean(1, options)),
        }
    }

    fn real(&mut self, depth: usize, options: Options) -> String {
        let leaves = 3;
        let inner = if options.structure { 14 } else { 8 };
        let pick = self.tape.pick(if depth == 0 { leaves } else { inner });
        let deeper = depth.saturating_sub(1);
        match pick {
            0 => self.constant(),
            1 => self.named(Type::Real).unwrap_or_else(|| "(normal 0 1)".into()),
            2 => "(normal 0 1)".into(),
            3 => format!("(normal {} {})", self.real(deeper, options), self.positive(options)),
            4 => format!("(+ {} {})", self.real(deeper, options), self.real(deeper, options)),
            5 => format!("(* 0.5 {})", self.real(deeper, options)),
            6 => {
                let value = self.real(deeper, options);
                let name = format!("v{}", self.next_local);
                self.next_local += 1;
                let body = self.with_name(&name, Type::Real, |writer| writer.real(deeper, options));
                format!("(let (({name} {value})) {body})")
            }
            7 => match self.named(Type::MakerOfReals) {
                Some(made) => format!("({made})"),
                None => "(gamma 2 1)".into(),
            },
            8 => {
                let condition = self.boolean(deeper, options);
                format!(
                    "(if {condition} {} {})",
                    self.real(deeper, options),
                    self.real(deeper, options)
                )
            }
            9 => match self.named(Type::RealToReal) {
                Some(f) => format!("({f} {})", self.real(deeper, options)),
                None => "(beta 2 2)".into(),
            },
            10 | 11 => match self.named(Type::MemoCountToReal) {
                Some(f) => format!("({f} {})", self.count(deeper, options)),
                None => format!("(+ 0 {})", self.count(deeper, options)),
            },
            12 => {
                let block = self.count(deeper, options);
                format!("(scope_include 's {block} {})", self.real(deeper, options))
            }
            _ => match self.named(Type::MemoCountToReal) {
                Some(f) => {
                    let (a, b) = (self.count(deeper, options), self.count(deeper, options));
                    format!("(fold + 0 (map {f} (list {a} {b})))")
                }
                None => format!("((if {} abs exp) (normal 0 1))", self.boolean(deeper, options)),
            },
        }
    }

    fn boolean(&mut self, depth: usize, options: Options) -> String {
        let inner = if options.structure { 9 } else { 6 };
        let pick = self.tape.pick(if depth == 0 { 2 } else { inner });
        let deeper = depth.saturating_sub(1);
        match pick {
            0 => "(flip 0.3)".into(),
            1 => self.named(Type::Bool).unwrap_or_else(|| "(flip 0.6)".into()),
            2 => format!("(flip (logistic {}))", self.real(deeper, options)),
            3 => format!("(not {})", self.boolean(deeper, options)),
            4 => match self.named(Type::MakerOfBools) {
                Some(made) => format!("({made})"),
                None => "(flip 0.5)".into(),
            },
            5 => format!("(= {} {})", self.count(deeper, options), self.count(deeper, options)),
            6 => {
                format!("(and {} {})", self.boolean(deeper, options), self.boolean(deeper, options))
            }
            7 => match self.named(Type::MemoCountToBool) {
                Some(f) => format!("({f} {})", self.count(deeper, options)),
                None => format!("(< {} 0.3)", self.real(deeper, options)),
            },
            _ => format!("(< {} {})", self.real(deeper, options), self.real(deeper, options)),
        }
    }

    fn count(&mut self, depth: usize, options: Options) -> String {
        let inner = if options.structure { 7 } else { 4 };
        let pick = self.tape.pick(if depth == 0 { 2 } else { inner });
        let deeper = depth.saturating_sub(1);
        match pick {
            0 => ["0", "1", "2"][self.tape.pick(3)].into(),
            1 => self.named(Type::Count).unwrap_or_else(|| "(binomial 2 0.4)".into()),
            2 => match self.named(Type::MakerOfCounts) {
                Some(made) => format!("({made})"),
                None => "(poisson 0.7)".into(),
            },
            3 => "(binomial 2 0.4)".into(),
            4 => "(geo 0.6)".into(),
            5 => {
                let condition = self.boolean(deeper, options);
                format!(
                    "(if {condition} {} {})",
                    self.count(deeper, options),
                    self.count(deeper, options)
                )
            }
            _ => format!("(+ {} {})", self.count(deeper, options), self.count(deeper, options)),
        }
    }

    fn observation(&mut self, options: Options) -> String {
        let kinds = if options.structure { 6 } else { 4 };
        let (expr, value) = match self.tape.pick(kinds) {
            0 => (format!("(normal {} 1.3)", self.real(2, options)), "0.7"),
            1 => (format!("(flip (logistic {}))", self.real(2, options)), "true"),
            2 => match self.named(Type::MakerOfBools) {
                Some(made) => (format!("({made})"), "true"),
                None => (format!("(poisson (+ 0.5 (abs {})))", self.real(1, options)), "2"),
            },
            3 => match self.named(Type::MakerOfReals) {
                Some(made) => (format!("({made})"), "0.4"),
                None => {
                    (format!("(normal {} {})", self.real(1, options), self.positive(options)), "-1")
                }
            },
            4 => {
                let (a, b) = (self.real(1, options), self.real(1, options));
                (format!("(if {} (normal {a} 1) (normal {b} 2))", self.boolean(1, options)), "0.3")
            }
            _ => {
                let count = self.count(1, options);
                (format!("((mem (lambda (i) (normal i 1))) {count})"), "1.5")
            }
        };
        format!("[observe {expr} {value}]\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;
    use smidgen_value::Rng;

    #[test]
    fn programs_of_any_tape_run() {
        let mut rng = Rng::from_seed(3);
        for seed in 0..300 {
            let tape: Vec<u16> = (0..rng.below(60)).map(|_| rng.below(1 << 16) as u16).collect();
            let text = program(&tape, EVERYTHING);
            let world = World::try_new(&text, seed);
            assert!(world.is_ok(), "{}\n{text}", world.err().unwrap());
        }
    }
}
