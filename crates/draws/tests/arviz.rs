//! The diagnostics agree with ArviZ, number by number.
//!
//! `arviz.tsv` holds what ArviZ says about each case (`make_arviz_reference.py` tells how it
//! was made); the draws themselves are made again here by the same generator.

use smidgen_draws::diagnostics::{ess_bulk, ess_mean, ess_tail, mcse_mean, r_hat};
use smidgen_draws::stuck::never_moved;
use smidgen_draws::{Draws, Quantity, summarise};
use smidgen_value::Value;

struct Generator(u64);

impl Generator {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn bell(&mut self) -> f64 {
        let mut total = 0.0;
        for _ in 0..12 {
            total += self.uniform();
        }
        total - 6.0
    }
}

struct Case<'a> {
    name: &'a str,
    kind: &'a str,
    a: f64,
    chains: usize,
    draws: usize,
    seed: u64,
    /// In the order of the header of the file.
    expected: Vec<f64>,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let number = |cell: &str| -> f64 { cell.parse().expect("a number") };
    let case = |line| {
        let cells: Vec<&str> = str::split(line, '\t').collect();
        Case {
            name: cells[0],
            kind: cells[1],
            a: number(cells[2]),
            chains: number(cells[3]) as usize,
            draws: number(cells[4]) as usize,
            seed: number(cells[5]) as u64,
            expected: cells[6..].iter().map(|cell| number(cell)).collect(),
        }
    };
    text.lines().skip(1).map(case).collect()
}

impl Case<'_> {
    fn draw(&self) -> Vec<Vec<f64>> {
        let mut generator = Generator(self.seed);
        let mut chains = Vec::new();
        for chain in 0..self.chains {
            let mut x = generator.bell();
            chains.push(
                (0..self.draws).map(|i| self.next(&mut generator, &mut x, chain, i)).collect(),
            );
        }
        chains
    }

    fn next(&self, generator: &mut Generator, x: &mut f64, chain: usize, i: usize) -> f64 {
        let a = self.a;
        match self.kind {
            "ar" => {
                *x = a * *x + generator.bell();
                *x
            }
            "shifted" => generator.bell() + a * chain as f64,
            "scaled" => generator.bell() * (1.0 + a * chain as f64),
            "constant" => a,
            "stuck" if chain == 0 => a,
            "stuck" => generator.bell(),
            "coin" => f64::from(u8::from(generator.uniform() < a)),
            "sticky coin" => {
                if generator.uniform() < a {
                    *x = f64::from(u8::from(generator.uniform() < 0.5));
                }
                *x
            }
            "heavy" => generator.bell() / (generator.uniform() + a),
            "rounded" => (generator.bell() * a).floor() / a,
            "trend" => generator.bell() + a * i as f64,
            "alternating" if i.is_multiple_of(2) => a,
            "alternating" => -a,
            "infinite" => Some(generator.bell()).filter(|y| *y <= a).unwrap_or(f64::INFINITY),
            "nan" if i == 3 && chain == 0 => f64::NAN,
            "nan" => generator.bell(),
            other => panic!("the reference has a kind of draws that is not known here: {other}"),
        }
    }
}

fn agree(got: f64, want: f64) -> bool {
    got == want
        || (got.is_nan() && want.is_nan())
        || (got - want).abs() <= 1e-9 * want.abs().max(1e-3)
}

#[test]
fn diagnostics_agree_with_arviz() {
    let cases = cases(include_str!("arviz.tsv"));
    assert_eq!(cases.len(), 31);
    let mut disagreements = Vec::new();
    for case in &cases {
        let chains = case.draw();
        let row = summary(&chains);
        let names = ["r_hat", "bulk", "tail", "mean ess", "mcse", "mean", "sd", "5%", "50%", "95%"];
        assert_eq!(case.expected.len(), names.len());
        for ((name, want), got) in names.iter().zip(&case.expected).zip(row) {
            // numpy interpolates next to an infinite draw to nan, where we say inf.
            let undefined = case.kind == "infinite" && name.ends_with('%') && want.is_nan();
            if !undefined && !agree(got, *want) {
                disagreements.push(format!("{} {name}: {got}, not {want}", case.name));
            }
        }
    }
    assert!(disagreements.is_empty(), "{disagreements:#?}");
}

fn summary(chains: &[Vec<f64>]) -> [f64; 10] {
    let values = chains.iter().map(|chain| chain.iter().map(|x| Value::Number(*x)).collect());
    let mut draws = Draws::default();
    draws.add(Quantity::new("x", values.collect()));
    let rows = summarise(&draws);
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    let (bulk, tail) = (ess_bulk(chains), ess_tail(chains));
    let (apart, mcse) = (r_hat(chains), mcse_mean(chains));
    // The summary shows the diagnostics, but none of chains that never moved.
    let shown = [row.ess_bulk, row.ess_tail, row.r_hat, row.mcse];
    match never_moved(chains) {
        true => assert!(shown.iter().all(|x| x.is_nan()), "{shown:?}"),
        false => {
            assert!(shown.iter().zip([bulk, tail, apart, mcse]).all(|(x, y)| agree(*x, y)));
        }
    }
    [apart, bulk, tail, ess_mean(chains), mcse, row.mean, row.sd, row.q5, row.q50, row.q95]
}

#[test]
fn chains_of_different_length_are_cut_to_the_shortest() {
    let case = &cases(include_str!("arviz.tsv"))[0];
    let chains = case.draw();
    let mut ragged = chains.clone();
    ragged[1].extend([100.0; 7]);
    ragged[3].push(f64::NAN);
    ragged.push(Vec::new());
    for (cut, full) in [
        (r_hat(&ragged), r_hat(&chains)),
        (ess_bulk(&ragged), ess_bulk(&chains)),
        (ess_tail(&ragged), ess_tail(&chains)),
        (mcse_mean(&ragged), mcse_mean(&chains)),
    ] {
        assert_eq!(cut, full);
    }
}
