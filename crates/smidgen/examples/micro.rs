use smidgen::sampling::{Progress, SampleRequest, sample};
use smidgen::{Session, Settings};
fn main() {
    for f in std::env::args().skip(1) {
        let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
        let program = session.parse_file(f.as_ref()).unwrap();
        let run = |k: usize| {
            let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
            let program = session.parse_file(f.as_ref()).unwrap();
            let request = SampleRequest { kernel: Some("(mh default one 100000)".into()), draws: k, warmup: 0, chains: 1, seed: 1, threads: 1, ..SampleRequest::default() };
            let t = std::time::Instant::now();
            let r = match sample(&mut session, &program, &request, &Progress::default()) { Ok(r) => r, Err(e) => panic!("{e:?}") };
            (t.elapsed().as_secs_f64(), r.run.kernels[0].accepted)
        };
        let _ = program;
        let (a, _) = run(1);
        let (b, acc) = run(11);
        println!("{f}: {:.0} k/s  accepted {:.3}", 1e6 / (b - a) / 1e3, acc as f64 / 1.1e6);
    }
}
