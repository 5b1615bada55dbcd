//! Sessions that grow: directives between the transitions of kernels that are kept. Whatever a kernel has compiled for
//! the program as it was, it must not use for the program as it is.

use std::panic::{AssertUnwindSafe, catch_unwind};

use smidgen_engine::check::check;
use smidgen_infer::run::Phase;
use smidgen_testkit::World;
use smidgen_value::Rng;

/// Kernels that keep densities or plans, and others that change what they were made for.
const KEPT: &[&str] = &[
    "1",
    "(nuts default all 1)",
    "(nuts default one 1)",
    "(hmc default all 0.1 3 1)",
    "(hmc default one 0.1 3 1)",
];
const OTHERS: &[&str] = &["(mh default all 2)", "(mh default one 5)", "(gibbs default one 2)"];

/// Writes one directive after the other.
struct Writer {
    rng: Rng,
    /// Names of numbers, of lengths and of vectors so far.
    numbers: Vec<String>,
    lengths: Vec<String>,
    vectors: Vec<String>,
    directives: usize,
}

impl Writer {
    fn new(seed: u64) -> Writer {
        let rng = Rng::from_seed(seed);
        Writer { rng, numbers: Vec::new(), lengths: Vec::new(), vectors: Vec::new(), directives: 0 }
    }

    fn pick(&mut self, from: &[String], otherwise: &str) -> String {
        match from.is_empty() {
            true => otherwise.to_owned(),
            false => from[self.rng.below(from.len())].clone(),
        }
    }

    fn number(&mut self) -> String {
        let (numbers, vectors) = (self.numbers.clone(), self.vectors.clone());
        let x = self.pick(&numbers, "1");
        match self.rng.below(6) {
            0 => "0.5".to_owned(),
            1 => format!("(+ {x} {})", self.pick(&numbers, "2")),
            2 => format!("(sum {})", self.pick(&vectors, "(vector 1 2)")),
            3 => format!("(if (< {x} 0) {} 1)", self.pick(&numbers, "3")),
            _ => x,
        }
    }

    fn directive(&mut self) -> String {
        self.directives += 1;
        let name = format!("v{}", self.directives);
        let [a, b] = [self.number(), self.number()];
        let length = format!("(+ 2 {})", self.pick(&self.lengths.clone(), "1"));
        let (law, kind) = match self.rng.below(12) {
            0 | 1 => (format!("(normal {a} 1)"), 0),
            2 => (format!("(normal {a} (exp (/ (min 3 {b}) 2)))"), 0),
            3 => ("(gamma 2 1)".to_owned(), 0),
            4 => ("(uniform_discrete 0 3)".to_owned(), 1),
            5 | 6 => (format!("(dirichlet (fill {length} 1))"), 2),
            7 => (format!("(if (flip) (normal {a} 1) {b})"), 0),
            8 | 9 => return format!("[observe (normal {a} 1) 0.7]"),
            10 => return format!("[observe (normal {a} (exp (/ (min 3 {b}) 4))) -0.3]"),
            _ => return format!("[predict {a}]"),
        };
        [&mut self.numbers, &mut self.lengths, &mut self.vectors][kind].push(name.clone());
        format!("[assume {name} {law}]")
    }
}

fn session(seed: u64) -> Result<(), String> {
    let mut writer = Writer::new(seed);
    let mut world = World::empty(Rng::from_seed(seed));
    let mut text = String::new();
    let mut kept: Vec<_> = KEPT.iter().map(|kernel| (kernel, world.program(kernel))).collect();
    for round in 0..12 {
        let directive = writer.directive();
        text += &format!("{directive}\n");
        world.run.phase = [Phase::Free, Phase::Warmup, Phase::Warmup, Phase::Draws][round % 4];
        let done = catch_unwind(AssertUnwindSafe(|| {
            // What a directive or a kernel refuses is an answer.
            let _ = world.execute(&directive);
            for (_, program) in &mut kept {
                let _ = world.try_step(program);
                let other = OTHERS[writer.rng.below(OTHERS.len())];
                let mut other = world.program(other);
                let _ = world.try_step(&mut other);
                let _ = world.try_step(program);
            }
            check(world.model.trace_mut()).map_err(|error| error.to_string())
        }));
        match done {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(format!("session {seed}: {error}\n{text}")),
            Err(_) => return Err(format!("session {seed} panicked\n{text}")),
        }
    }
    Ok(())
}

#[test]
fn kernels_follow_programs_that_grow() {
    let many = if std::env::var_os("SMIDGEN_THOROUGH").is_some() { 3000 } else { 150 };
    let failed: Vec<String> = (0..many).filter_map(|seed| session(seed).err()).collect();
    assert!(failed.is_empty(), "{} of {many}: {}", failed.len(), failed[0]);
}
