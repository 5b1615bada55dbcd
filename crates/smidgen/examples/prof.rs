use smidgen::sampling::{Progress, SampleRequest, sample};
use smidgen::{Session, Settings};
fn main() {
    let f = std::env::args().nth(1).unwrap();
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let program = session.parse_file(f.as_ref()).unwrap();
    let request = SampleRequest { kernel: Some("(mh default one 10000)".into()), draws: std::env::args().nth(2).unwrap().parse().unwrap(), warmup: 0, chains: 1, seed: 1, threads: 1, ..SampleRequest::default() };
    let r = sample(&mut session, &program, &request, &Progress::default());
    assert!(r.is_ok());
}
