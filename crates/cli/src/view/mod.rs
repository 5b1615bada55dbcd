//! `smidgen view NAME.run` and `sample --live`: a page about a run while it goes on.
//!
//! The server reads the folder like anybody else, and only while somebody looks: chains publish nothing for it and never wait. It
//! listens on this machine alone; see [`http`] for who may ask.

mod http;
mod watch;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{Answer, Rules};
use smidgen::io::folder::{self, Standing};
use watch::Watcher;

use crate::args::ViewArgs;
use crate::durable;
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;

const MOST_CONNECTIONS: usize = 8;
const BETWEEN: Duration = Duration::from_millis(1000);

pub fn view(args: &ViewArgs) -> Result<(), Failure> {
    let path = &args.run;
    if folder::standing(path) == Standing::Nothing || !durable::is_folder(path) {
        return Err(Failure::message(format!("{}: there is no such run folder", path.display())));
    }
    folder::manifest(path)?;
    let interrupt = Interrupt::listen(true);
    let server = Server::open(path, args.port)?;
    server.announce();
    let stop = interrupt.flag.clone();
    std::thread::spawn(move || server.serve());
    while !stop.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(Failure::Interrupted)
}

/// Serves a folder in a thread of its own as long as the process lives.
pub fn beside(path: &Path) -> Result<(), Failure> {
    let server = Server::open(path, 0)?;
    server.announce();
    std::thread::spawn(move || server.serve());
    Ok(())
}

struct Server {
    listener: TcpListener,
    rules: Rules,
    shared: Arc<Shared>,
}

/// The last look at the folder. However many look, it is read once in [`BETWEEN`].
struct Look {
    watcher: Watcher,
    taken: Instant,
    snapshot: Arc<str>,
}

/// What all connections look at.
struct Shared {
    path: PathBuf,
    watcher: Mutex<Option<Look>>,
    connections: AtomicUsize,
    stopped: AtomicBool,
}

impl Server {
    fn open(path: &Path, port: u16) -> Result<Server, Failure> {
        let failed =
            |error: std::io::Error| Failure::message(format!("no page can be served: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let rules = Rules { port, token: token().map_err(failed)?, checks_host: true };
        let shared = Shared {
            path: path.to_owned(),
            watcher: Mutex::new(None),
            connections: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        };
        Ok(Server { listener, rules, shared: Arc::new(shared) })
    }

    /// The only time that the token is shown.
    fn announce(&self) {
        let Rules { port, token, .. } = &self.rules;
        say(&format!("watch the run at http://127.0.0.1:{port}/#{token}"));
    }

    fn serve(self) {
        let rules = Arc::new(self.rules);
        for stream in self.listener.incoming().flatten() {
            let (rules, shared) = (rules.clone(), self.shared.clone());
            if shared.stopped.load(Ordering::Relaxed) {
                return;
            }
            let before = shared.connections.fetch_add(1, Ordering::SeqCst);
            let served = move || {
                let _ = respond(stream, &rules, &shared, before >= MOST_CONNECTIONS);
                if shared.connections.fetch_sub(1, Ordering::SeqCst) == 1 {
                    // Nobody looks any more: what was gathered goes.
                    *shared.watcher.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
            };
            let _ = std::thread::Builder::new().name("view".to_owned()).spawn(served);
        }
    }
}

/// 256 bits from the operating system.
fn token() -> std::io::Result<String> {
    use std::io::Read;
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn respond(
    mut stream: TcpStream,
    rules: &Rules,
    shared: &Shared,
    is_full: bool,
) -> std::io::Result<()> {
    const TEXT: &str = "text/plain; charset=utf-8";
    stream.set_read_timeout(Some(http::PATIENCE))?;
    stream.set_write_timeout(Some(http::PATIENCE))?;
    let Some(head) = http::read_head(&mut stream) else {
        return http::write(&mut stream, 400, TEXT, "this is no request\n");
    };
    if is_full {
        return http::write(&mut stream, 503, TEXT, "too many connections\n");
    }
    match rules.answer(&head) {
        Answer::Page => {
            http::write(&mut stream, 200, "text/html; charset=utf-8", include_str!("page.html"))
        }
        Answer::Script => {
            http::write(&mut stream, 200, "text/javascript; charset=utf-8", include_str!("view.js"))
        }
        Answer::Style => {
            http::write(&mut stream, 200, "text/css; charset=utf-8", include_str!("view.css"))
        }
        Answer::Snapshot => http::write(&mut stream, 200, "application/json", &shared.snapshot()),
        Answer::Events => {
            http::write_head(&mut stream, 200, "text/event-stream", None)?;
            loop {
                // A reader that is slow or gone is dropped by the write.
                write!(stream, "data: {}\n\n", shared.snapshot())?;
                stream.flush()?;
                std::thread::sleep(BETWEEN);
            }
        }
        Answer::Refused(status) => http::write(&mut stream, status, TEXT, "refused\n"),
    }
}

impl Shared {
    fn snapshot(&self) -> Arc<str> {
        let mut last = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        // A little less, so that whoever has waited so long sees something new.
        let is_fresh = |look: &Look| look.taken.elapsed() < BETWEEN * 9 / 10;
        if let Some(look) = last.as_ref().filter(|look| is_fresh(look)) {
            return look.snapshot.clone();
        }
        let watcher = last.take().map(|look| look.watcher);
        let mut watcher = watcher.unwrap_or_else(|| Watcher::new(&self.path));
        watcher.look();
        let snapshot: Arc<str> = watcher.snapshot().to_string().into();
        *last = Some(Look { watcher, taken: Instant::now(), snapshot: snapshot.clone() });
        snapshot
    }
}
