//! The run folder of chains that are walked elsewhere (see [`super::legs`]), kept by whoever hands out the legs.
//!
//! What a leg brings is committed as a chain of one machine would have committed it: its draws are appended and made safe, then
//! its checkpoint is written with the sums of the streams. So the folder is one like any other: reports read it while the run goes
//! on, and when whoever keeps it has died, somebody else goes on with the legs from its checkpoints, or walks on alone, with the
//! same draws to the bit. A leg that was under way is walked again.

use smidgen_io::folder::{self, ChainWriter, Checkpoint, Trouble};
use smidgen_lang::Diagnostic;

use super::durable::found;
use super::legs::Walked;
use super::{Durable, SampleError, SampleRequest, prepare};
use crate::load::TopDirective;
use crate::session::Session;

pub struct Logbook {
    durable: Durable,
    /// Of each chain that has brought something: the names of its columns, and where they go.
    writers: Vec<Option<(Vec<String>, ChainWriter)>>,
}

fn failed(trouble: Trouble) -> SampleError {
    Diagnostic::error(None, trouble.0).into()
}

/// Opens the folder of a run: `folder` says which, once the tables are read.
pub fn open(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    folder: impl FnOnce(&Session) -> Result<Option<Durable>, SampleError>,
) -> Result<Logbook, SampleError> {
    prepare(session, program, request)?;
    let durable = folder(session)?;
    let durable = durable.ok_or_else(|| Diagnostic::error(None, "there is no folder"))?;
    Ok(Logbook::new(durable, request.chains))
}

impl Logbook {
    fn new(durable: Durable, chains: usize) -> Logbook {
        Logbook { durable, writers: (0..chains).map(|_| None).collect() }
    }

    /// Where the draws of the run are.
    pub fn durable(&self) -> &Durable {
        &self.durable
    }

    /// Where a chain goes on: the draws it has made, and the checkpoint for its next leg. None where it has to begin.
    pub fn place(&self, chain: usize) -> Result<Option<(usize, Vec<u8>)>, SampleError> {
        let saved = found(&self.durable, chain).map_err(failed)?;
        Ok(saved.map(|saved| (saved.counts.made, Checkpoint::new(saved.sections()).encode())))
    }

    /// Takes what a leg has brought: from then on it is not lost.
    pub fn commit(&mut self, chain: usize, walked: &Walked) -> Result<(), SampleError> {
        let damaged = |what: String| SampleError::from(Diagnostic::error(None, what));
        let (names, rows) = folder::rows_of_streams(chain, &walked.streams).map_err(damaged)?;
        let writer = self.writer(chain, names)?;
        for row in rows {
            writer.push(row).map_err(failed)?;
        }
        if let Some(bytes) = &walked.checkpoint {
            let whole = Checkpoint::decode(bytes);
            let mut whole = whole.ok_or_else(|| {
                damaged(format!("the checkpoint that came of chain {chain} is damaged"))
            })?;
            // Its streams are these, not those that it had where it was made.
            whole.sections.retain(|(tag, _)| tag != folder::OUT);
            writer.commit(whole.sections).map_err(failed)?;
        }
        match walked.end {
            Some(_) => writer.finish().map_err(failed),
            None => Ok(()),
        }
    }

    /// Where the draws of a chain go. The names are known with its first draws.
    fn writer(
        &mut self,
        chain: usize,
        names: Vec<String>,
    ) -> Result<&mut ChainWriter, SampleError> {
        let slot = self.writers.get_mut(chain);
        let slot =
            slot.ok_or_else(|| Diagnostic::error(None, format!("there is no chain {chain}")))?;
        if let Some((known, writer)) = slot
            && known.is_empty()
        {
            writer.set_names(names.clone());
            known.clone_from(&names);
        }
        let is_known = slot.as_ref().is_some_and(|(known, _)| names.is_empty() || *known == names);
        if !is_known {
            let saved = found(&self.durable, chain).map_err(failed)?;
            let out = saved.and_then(|saved| saved.out);
            let writer = self.durable.folder.writer(chain, names.clone(), out.as_ref());
            *slot = Some((names, writer.map_err(failed)?));
        }
        Ok(&mut slot.as_mut().expect("made above").1)
    }
}
