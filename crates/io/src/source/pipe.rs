//! What comes through a pipe, kept whole, since a table may be read twice. A pipe may have nobody at its other end, or somebody
//! who never stops: opening it and every piece are waited for in another thread, so that reading can be stopped; who is not
//! there after [`PATIENCE`] does not come; and there is a longest. A device (`/dev/zero`) is no table.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use super::error::Problem;
use super::reading::Reading;

const PATIENCE: Duration = Duration::from_secs(10);
/// How often somebody may ask to stop.
const LOOK: Duration = Duration::from_millis(50);
const LONGEST: usize = 1 << 30;
const PIECE: usize = 1 << 18;

#[cfg(unix)]
fn is_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &Metadata) -> bool {
    false
}

/// All that comes, from what is no regular file.
pub(super) fn read(path: &Path, reading: Reading) -> Result<Vec<u8>, Problem> {
    if is_device(&std::fs::metadata(path).map_err(Problem::Io)?) {
        return Err(Problem::Device);
    }
    let (send, receive) = mpsc::sync_channel(4);
    let path = path.to_path_buf();
    std::thread::spawn(move || pump(&path, &send));
    let (begun, mut is_open) = (Instant::now(), false);
    let mut all = Vec::new();
    loop {
        match receive.recv_timeout(LOOK) {
            Ok(piece) => {
                is_open = true;
                let piece = piece.map_err(Problem::Io)?;
                if all.len() + piece.len() > LONGEST {
                    return Err(Problem::Endless { longest: LONGEST });
                }
                all.extend_from_slice(&piece);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(all),
            Err(RecvTimeoutError::Timeout) if !is_open && begun.elapsed() > PATIENCE => {
                return Err(Problem::Io(io::Error::other("it is a pipe that nobody writes to")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if reading.stop.load(Ordering::Relaxed) {
            return Err(Problem::Interrupted);
        }
    }
}

/// Sends an empty piece when the pipe is open, then what comes, until it ends or nobody listens.
fn pump(path: &Path, send: &SyncSender<io::Result<Vec<u8>>>) {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return drop(send.send(Err(error))),
    };
    let mut piece = Vec::new();
    while send.send(Ok(std::mem::take(&mut piece))).is_ok() {
        piece.resize(PIECE, 0);
        match file.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => piece.truncate(length),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => piece.clear(),
            Err(error) => return drop(send.send(Err(error))),
        }
    }
}
