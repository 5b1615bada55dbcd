//! Runs that are looked at while they go on: looking changes nothing, and what is seen is what is drawn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use smidgen::sampling::{ChainPhase, Live, Progress, SampleRequest, sample};
use smidgen::value::Value;
use smidgen::{Background, Session, Settings};

const TEXT: &str = "[assume mu (normal 0 1)] [assume z (flip 0.5)]
    [observe (normal (+ mu (if z 1 0)) 1) 1.5] [predict mu] [predict z]";

fn parsed(text: &str) -> (Session, Vec<smidgen::TopDirective>) {
    let mut session = Session::new(Settings::default());
    let program = session.parse_text("test", text).unwrap_or_else(|_| panic!("{text}"));
    (session, program)
}

fn mu(draws: &smidgen::draws::Draws) -> Vec<Vec<Value>> {
    draws.get("mu").map_or_else(Vec::new, |quantity| quantity.chains.clone())
}

#[test]
fn looking_changes_no_draw() {
    let drawn = [false, true].map(|looks| {
        let live = looks.then(|| Arc::new(Live::default()));
        let (draws, seed) = (300, 3);
        let request = SampleRequest { draws, warmup: 50, seed, live, ..SampleRequest::default() };
        let (mut session, program) = parsed(TEXT);
        let sampled = sample(&mut session, &program, &request, &Progress::default());
        mu(&sampled.unwrap_or_else(|_| panic!("it runs")).run.draws)
    });
    assert_eq!(drawn[0], drawn[1]);
    assert_eq!(drawn[0].iter().map(Vec::len).collect::<Vec<_>>(), [300; 4]);
}

#[test]
fn what_is_seen_is_a_beginning_of_what_is_drawn() {
    let (session, program) = parsed(TEXT);
    let request = SampleRequest {
        draws: 20_000_000,
        warmup: 100,
        chains: 2,
        threads: 2,
        seed: 5,
        ..SampleRequest::default()
    };
    let run = Background::start(session, program, request);
    let begun = Instant::now();
    let enough = |run: &Background| {
        let progress = run.progress();
        progress.len() == 2 && progress.iter().all(|chain| chain.draws > 200)
    };
    while !enough(&run) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", run.progress());
        assert!(!run.wait(Duration::from_millis(2)));
    }
    let seen = mu(&run.inspect().draws);
    let progress = run.progress();
    for chain in &progress {
        assert_eq!((chain.phase, chain.warmup), (ChainPhase::Drawing, 100));
        assert!(chain.acceptance.is_some_and(|share| share > 0.0 && share <= 1.0));
        assert!(chain.per_second > 0.0 && chain.seconds > 0.0);
    }
    assert!(!run.is_finished());
    run.cancel();
    let sampled = run.join().unwrap_or_else(|_| panic!("it was only stopped"));
    assert!(sampled.interrupted);
    let drawn = mu(&sampled.run.draws);
    assert_eq!((seen.len(), drawn.len()), (2, 2));
    for (seen, drawn) in seen.iter().zip(&drawn) {
        assert!(seen.len() > 200 && drawn.starts_with(seen));
    }
}

#[test]
fn errors_come_out_at_the_end() {
    let (session, program) = parsed("[assume x (normal 0 (- 1 2))]");
    let run = Background::start(session, program, SampleRequest::default());
    assert!(run.wait(Duration::from_secs(60)));
    assert!(run.inspect().draws.is_empty());
    let wrong = run.join().err().expect("a negative sd");
    assert!(wrong.0[0].message.contains("positive"), "{}", wrong.0[0].message);
}
