//! Runs that follow a table: every change is an epoch with draws of its own, each from the posterior of the rows so far.

use std::sync::Arc;

use smidgen::draws::summary::summarise;
use smidgen::io::Window;
use smidgen::sampling::{Arrived, EpochMark, Follow, Progress, SampleRequest, absorb, follow};
use smidgen::value::{Column, Rng, Symbol, Table, math};
use smidgen::{SampleError, Sampled, Session, Settings};

fn table(ys: &[f64]) -> Table {
    Table::new(vec![(Symbol::new("y"), Column::Reals(ys.into()))])
}

fn noise(n: usize) -> Vec<f64> {
    let mut rng = Rng::from_seed(4);
    let mut noise = || (12.0 * rng.uniform() - 6.0) / math::sqrt(12.0);
    // The mean wanders: draws of two epochs would not be of one posterior.
    (0..n).map(|row| 3.0 * (row as f64 / n as f64) + noise()).collect()
}

const MODEL: &str =
    "[table t] [assume mu (normal 0 10)] [assume nu (normal mu 1)] [observe (normal nu 1) 0.5]
    [for row in t [observe (normal mu 1) row.y]] [predict mu] [predict nu]";

/// The epochs of a run whose table gets rows in these steps.
fn epochs(
    model: &str,
    ys: &[f64],
    steps: &[usize],
    request: &SampleRequest,
) -> Result<Vec<(EpochMark, Sampled)>, SampleError> {
    windowed(model, ys, steps, request, None)
}

/// The same of the last rows alone.
fn windowed(
    model: &str,
    ys: &[f64],
    steps: &[usize],
    request: &SampleRequest,
    window: Option<Window>,
) -> Result<Vec<(EpochMark, Sampled)>, SampleError> {
    let mut session = Session::new(Settings::default());
    session.follow_table("t", window, None);
    session.give_table("t", Arc::new(table(&ys[..steps[0]])));
    let program =
        session.parse_text("test", model).unwrap_or_else(|_| panic!("cannot read {model}"));
    let (mut left, mut at) = (steps[1..].iter(), steps[0]);
    let mut rows = |_| {
        Ok(left.next().map(|n| {
            at += n;
            Arrived { rows: table(&ys[at - n..at]), upto: at as u64 }
        }))
    };
    let (mut found, mut marks) = (Vec::new(), Vec::new());
    let mut opened = |mark: &EpochMark| {
        marks.push(mark.clone());
        Ok(())
    };
    let mut done = |mark: &EpochMark, sampled: Sampled| {
        found.push((mark.clone(), sampled));
        Ok(())
    };
    let (rows, opened, done) = (&mut rows, &mut opened, &mut done);
    let follows = Follow { table: "t", window, past: Vec::new(), rows, opened, done };
    let progress = Progress::default();
    follow(&mut session, &program, request, &progress, |_| Ok(None), follows)?;
    assert_eq!(marks, found.iter().map(|(mark, _)| mark.clone()).collect::<Vec<_>>());
    Ok(found)
}

fn request(kernel: &str) -> SampleRequest {
    SampleRequest {
        kernel: (!kernel.is_empty()).then(|| kernel.to_owned()),
        draws: 500,
        warmup: 200,
        chains: 2,
        seed: 3,
        threads: 2,
        ..SampleRequest::default()
    }
}

/// 20 epochs of two numbers, by three kernels: 120 means, each off by 4.5 of its errors with probability 7e-6; 1e-3 in all.
#[test]
fn every_epoch_is_the_posterior_of_the_rows_so_far() {
    let steps: Vec<usize> = [300].into_iter().chain((1..20).map(|k| 20 + 40 * (k % 5))).collect();
    let ys = noise(steps.iter().sum());
    for kernel in [
        "",
        "(nuts default all 1)",
        "(cycle ((reference_mh default all 1) (slice default one 1)) 1)",
    ] {
        let found = epochs(MODEL, &ys, &steps, &request(kernel));
        let found = found.unwrap_or_else(|e| panic!("{}: {kernel}", e.0[0].message));
        assert_eq!(found.len(), steps.len());
        let mut rows = 0;
        for (k, (mark, sampled)) in found.iter().enumerate() {
            rows += steps[k];
            assert_eq!((mark.number as usize, mark.rows, mark.new), (k, rows, steps[k]));
            // nu is 0.5 with an error of 1, mu is nu with another.
            let precision = rows as f64 + 0.01 + 0.5;
            let mean = (ys[..rows].iter().sum::<f64>() + 0.25) / precision;
            let sd = 1.0 / math::sqrt(precision);
            let expected = [(mean, sd), ((mean + 0.5) / 2.0, math::sqrt(0.5 + sd * sd / 4.0))];
            let of = summarise(&sampled.run.draws);
            for (row, (mean, sd)) in of.iter().zip(expected) {
                let lengths = sampled.run.draws.quantities().iter().flat_map(|q| &q.chains);
                assert!(lengths.map(Vec::len).all(|n| n == 500), "draws of one epoch");
                let shown = format!("{kernel}, epoch {k}: {} ± {}, {mean}", row.mean, row.mcse);
                assert!((row.mean - mean).abs() < 4.5 * row.mcse, "{shown}");
                assert!((0.7..1.4).contains(&(row.sd / sd)), "{shown}: sd {} of {sd}", row.sd);
            }
        }
        // The last epoch pooled with the first would be noticed.
        let first = summarise(&found[0].1.run.draws)[0].mean;
        let last = &summarise(&found[19].1.run.draws)[0];
        assert!((first - last.mean).abs() > 20.0 * last.mcse);
    }
}

/// A file that grows 100 times: each epoch against a fresh run on the same rows, two numbers each: that any of 200 is off by 4 errors
/// has probability 1.3e-2, with one fixed seed.
#[test]
#[ignore = "two hundred runs"]
fn a_hundred_epochs_are_a_hundred_fresh_runs() {
    let steps: Vec<usize> = [250].into_iter().chain((1..100).map(|k| 10 + 13 * (k % 7))).collect();
    let ys = noise(steps.iter().sum());
    let found = epochs(MODEL, &ys, &steps, &request(""));
    let found = found.unwrap_or_else(|e| panic!("{}", e.0[0].message));
    assert_eq!(found.len(), 100);
    let mut largest: f64 = 0.0;
    for (k, (mark, sampled)) in found.iter().enumerate() {
        assert_eq!((mark.number as usize, mark.new), (k, steps[k]));
        let own = SampleRequest { seed: 1000 + k as u64, ..request("") };
        let fresh = epochs(MODEL, &ys[..mark.rows], &[mark.rows], &own);
        let fresh = fresh.unwrap_or_else(|e| panic!("{}", e.0[0].message));
        let of_epoch = summarise(&sampled.run.draws);
        for (a, b) in of_epoch.iter().zip(summarise(&fresh[0].1.run.draws)) {
            let lengths = sampled.run.draws.quantities().iter().flat_map(|q| &q.chains);
            assert!(lengths.map(Vec::len).all(|n| n == 500), "draws of one epoch");
            let off = (a.mean - b.mean).abs() / math::hypot(a.mcse, b.mcse);
            largest = largest.max(off);
            assert!(off < 4.0, "epoch {k}: {} and {}, {off:.1} errors", a.mean, b.mean);
        }
    }
    eprintln!("100 epochs, at most {largest:.2} errors from a fresh run");
}

/// What a window holds: 12 epochs of two numbers, by two kernels: 48 means, each off by 4.5 of its errors with probability 7e-6; 4e-4
/// in all. The data wander by 3, so rows that had not left would shift the mean by far more.
#[test]
fn every_epoch_of_a_window_is_the_posterior_of_its_rows() {
    let steps: Vec<usize> = [300].into_iter().chain((1..12).map(|k| 30 + 45 * (k % 4))).collect();
    let ys = noise(steps.iter().sum());
    let window = Window { rows: 250 };
    for kernel in ["", "(cycle ((reference_mh default all 1) (slice default one 1)) 1)"] {
        let found = windowed(MODEL, &ys, &steps, &request(kernel), Some(window));
        let found = found.unwrap_or_else(|e| panic!("{}: {kernel}", e.0[0].message));
        let mut come = 0;
        for (k, (mark, sampled)) in found.iter().enumerate() {
            come += steps[k];
            let first = window.first(come);
            assert_eq!((mark.first, mark.rows), (first, come - first), "epoch {k}");
            assert!(mark.rows >= 250 && mark.rows < 250 + window.block());
            let rows = mark.rows as f64;
            let precision = rows + 0.01 + 0.5;
            let mean = (ys[first..come].iter().sum::<f64>() + 0.25) / precision;
            let expected = [mean, (mean + 0.5) / 2.0];
            for (row, mean) in summarise(&sampled.run.draws).iter().zip(expected) {
                let shown = format!("{kernel}, epoch {k}: {} ± {}, {mean}", row.mean, row.mcse);
                assert!((row.mean - mean).abs() < 4.5 * row.mcse, "{shown}");
            }
            let sd = summarise(&sampled.run.draws)[0].sd * math::sqrt(precision);
            assert!((0.7..1.4).contains(&sd), "{kernel}, epoch {k}: sd {sd}");
        }
        assert!(found[11].0.first > 600);
    }
}

/// Groups whose rows have all left are gone with them; those that something else refers to stay.
#[test]
fn groups_leave_with_their_rows() {
    let model = "[table t] [assume level (mem (lambda (g) (normal 0 3)))]
        [for row in t [observe (normal (level (int_div row.index 100)) 1) row.y]]
        [predict (level 0)] [predict (level 5)]";
    let ys = noise(800);
    let found = windowed(model, &ys, &[200, 400, 200], &request(""), Some(Window { rows: 160 }));
    let found = found.unwrap_or_else(|e| panic!("{}", e.0[0].message));
    let moments = |k: usize| summarise(&found[k].1.run.draws);
    // Group 5 has not come, then all of it is there, then it has left: its posterior is the prior again.
    let sds: Vec<f64> = (0..3).map(|k| moments(k)[1].sd).collect();
    assert!(
        (2.4..3.6).contains(&sds[0]) && sds[1] < 0.15 && (2.4..3.6).contains(&sds[2]),
        "{sds:?}"
    );
    // Rows 40 to 199 were there at first: some of group 0.
    assert!(moments(0)[0].sd < 0.2 && moments(2)[0].sd > 2.4);
    let rows: Vec<(usize, usize)> = found.iter().map(|(m, _)| (m.first, m.rows)).collect();
    assert_eq!(rows, [(32, 168), (432, 168), (640, 160)]);
}

/// The posterior and the evidence of three epochs by particles, against those of the conjugate model: log Z by the predictive
/// densities of the rows one after the other. The estimate may be off by 0.5, means by 5 of their errors, standard deviations by 8 %.
/// (Kernels that learn while they move particles make these 8 % too small.)
#[test]
fn particles_know_the_posterior_and_the_evidence() {
    // The number of a row is what it would be if all had come at once.
    let model = "[table t] [assume mu (normal 0 10)]
        [for row in t [observe (normal (+ mu (if (< row.index 121) 0 5)) 1) row.y]] [predict mu]";
    let (ys, steps) = (noise(121), [60, 1, 60]);
    let mut session = Session::new(Settings::default());
    session.give_table("t", Arc::new(table(&ys[..steps[0]])));
    let program = session.parse_text("test", model).unwrap_or_else(|_| panic!("{model}"));
    let (mut left, mut at) = (steps[1..].iter(), steps[0]);
    let mut rows = |_| {
        Ok(left.next().map(|n| {
            at += n;
            Arrived { rows: table(&ys[at - n..at]), upto: at as u64 }
        }))
    };
    let mut found = Vec::new();
    let mut done = |mark: &EpochMark, sampled: Sampled| {
        found.push((mark.rows, sampled));
        Ok(())
    };
    let (rows, opened, done) = (&mut rows, &mut |_: &EpochMark| Ok(()), &mut done);
    let follows = Follow { table: "t", window: None, past: Vec::new(), rows, opened, done };
    let request = SampleRequest { seed: 3, ..SampleRequest::default() };
    let result = absorb(&mut session, &program, &request, 1000, |_| {}, follows);
    result.unwrap_or_else(|e| panic!("{}", e.0[0].message));
    let rows: Vec<usize> = found.iter().map(|(rows, _)| *rows).collect();
    assert_eq!(rows, [60, 61, 121]);
    for (rows, sampled) in &found {
        let (mut mean, mut variance, mut log_evidence) = (0.0, 100.0, 0.0);
        for y in &ys[..*rows] {
            let predictive: f64 = variance + 1.0;
            let off: f64 = y - mean;
            log_evidence -= 0.5 * math::ln(2.0 * std::f64::consts::PI * predictive);
            log_evidence -= 0.5 * off * off / predictive;
            mean += variance / predictive * off;
            variance /= predictive;
        }
        let row = &summarise(&sampled.run.draws)[0];
        let shown = format!("{rows}: {} ± {}, sd {}; {mean}", row.mean, row.mcse, row.sd);
        assert!((row.mean - mean).abs() < 5.0 * row.mcse, "{shown}");
        assert!((0.92..1.08).contains(&(row.sd / math::sqrt(variance))), "{shown}");
        let found = sampled.log_evidence.expect("particles estimate it");
        assert!((found - log_evidence).abs() < 0.5, "{rows}: {found}, {log_evidence}");
        assert!(sampled.run.draws.quantities()[0].chains[0].len() == 1000);
    }
}

#[test]
fn threads_change_no_draw() {
    let (ys, steps) = (noise(700), [300, 150, 250]);
    let runs = [1, 2].map(|threads| {
        let request = SampleRequest { threads, draws: 60, ..request("") };
        epochs(MODEL, &ys, &steps, &request).unwrap_or_else(|e| panic!("{}", e.0[0].message))
    });
    for ((_, a), (_, b)) in runs[0].iter().zip(&runs[1]) {
        let bits = |sampled: &Sampled| -> Vec<u64> {
            let chains = sampled.run.draws.quantities().iter().flat_map(|q| &q.chains);
            chains.flatten().map(|x| x.as_number().unwrap_or(0.0).to_bits()).collect()
        };
        assert_eq!(bits(a), bits(b));
    }
}

/// Groups come up with new rows. Means of the last epoch against those of a run that had all rows from the start: three, off by
/// 5 errors with probability 2e-6.
#[test]
fn new_groups_join_the_model() {
    let model = "[table t] [assume m (normal 0 3)] [assume s (gamma 2 1)]
        [assume level (mem (lambda (g) (normal m s)))]
        [for row in t [observe (normal (level (int_div row.index 250)) 1) row.y]]
        [predict m] [predict s] [predict (level 3)]";
    let ys = noise(1000);
    let request = SampleRequest { draws: 2000, ..request("") };
    let grown = epochs(model, &ys, &[400, 100, 500], &request);
    let grown = grown.unwrap_or_else(|e| panic!("{}", e.0[0].message));
    let whole = epochs(model, &ys, &[1000], &SampleRequest { seed: 9, ..request });
    let whole = whole.unwrap_or_else(|e| panic!("{}", e.0[0].message));
    let (grown, whole) = (summarise(&grown[2].1.run.draws), summarise(&whole[0].1.run.draws));
    for (a, b) in grown.iter().zip(&whole) {
        let error = math::hypot(a.mcse, b.mcse);
        assert!((a.mean - b.mean).abs() < 5.0 * error, "{}: {} and {}", a.name, a.mean, b.mean);
    }
}

#[test]
fn what_cannot_be_followed_is_said_before_the_chains_run() {
    let ys = noise(400);
    let request = request("");
    let refusal = |model: &str, request: &SampleRequest| -> String {
        let result = epochs(model, &ys, &[300, 100], request);
        result.map(|_| String::new()).unwrap_or_else(|e| e.0[0].message.clone())
    };
    let with = |more: &str| format!("{MODEL} {more}");
    let said = refusal(&with("[predict (/ mu (rows t))]"), &request);
    assert!(said.contains("cannot be appended to `t`"), "{said}");
    let said = refusal(&with("[for row in t [predict (* mu row.y)]]"), &request);
    assert!(said.contains("does more than observe"), "{said}");
    let said = refusal(&with("[infer (resample 5)]"), &request);
    assert!(said.contains("resamples"), "{said}");
    let record = SampleRequest { record: vec!["(rows t)".to_owned()], ..request.clone() };
    let said = refusal(MODEL, &record);
    assert!(said.contains("cannot be appended to `t`"), "{said}");
    let said = refusal("[table u] [predict (normal 0 1)]", &request);
    assert!(said.contains("no file") || said.contains("no table"), "{said}");
}
