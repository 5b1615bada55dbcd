//! `--out NAME.run` and `--resume NAME.run`: runs that survive whatever stops them.
//!
//! The folder says what is run, so that nobody has to type it again, and what the program and its tables were, so that a run is
//! never continued with others: what differs is refused and named.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value as Json;
use smidgen::io::folder::{self, Folder, Patience, Standing, Trouble};
use smidgen::sampling::manifest::{self, Call, FORMAT, Refusal};
use smidgen::sampling::{Durable, Init, last_states};
use smidgen::{SampleRequest, Session};

use crate::args::{Keep, SampleArgs};
use crate::failure::{Failure, say};

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        Failure::message(trouble.0)
    }
}

pub fn is_folder(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("run"))
}

/// Whether a run folder can be made there; what is there already is not lost without a word.
pub fn check_target(path: &Path, args: &SampleArgs) -> Result<(), Failure> {
    let (shown, discard) = (path.display(), args.discard);
    if args.resume.is_some() || args.prior {
        let message = "the draws go to a file, not to a run folder";
        return Err(Failure::Usage(format!("--out {shown}: {message}")));
    }
    if !smidgen::io::COLUMNAR {
        let message = "this smidgen was built without the feature `columnar`";
        return Err(Failure::Usage(format!("--out {shown}: {message}")));
    }
    match folder::standing(path) {
        Standing::Nothing => {}
        Standing::Other => {
            let message = "there is something else than a run folder";
            return Err(Failure::message(format!("--out {shown}: {message}")));
        }
        Standing::Unfinished | Standing::Finished if discard => folder::discard(path)?,
        Standing::Unfinished => {
            return Err(Failure::Usage(format!(
                "--out {shown}: an unfinished run is there: `smidgen sample --resume {shown}` goes on with it, --discard removes it"
            )));
        }
        Standing::Finished => {
            return Err(Failure::Usage(format!(
                "--out {shown}: a finished run is there: --discard removes it, `smidgen sample --resume {shown} --draws N` makes it longer"
            )));
        }
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    crate::target::check("--out", &parent.unwrap_or(Path::new(".")).join(".smidgen"))
}

fn patience(interrupt: Arc<AtomicBool>) -> Patience {
    Patience { interrupt, say: Arc::new(say), ..Patience::default() }
}

// ---------------------------------------------------------------- what is run

/// What the folder says about a run.
fn call(args: &SampleArgs, file: &Path) -> Call {
    Call {
        // A run that goes on may have no file: then its folder has the program.
        file: Some(file.to_owned()).filter(|file| !file.as_os_str().is_empty()),
        params: args.inputs.params.clone(),
        data: args.inputs.data.clone(),
        init: args.init.clone(),
        restart_from: args.restart_from.clone(),
        checkpoint_every: args.checkpoint_every,
        follow: args.follow.clone(),
        window: args.window.as_ref().map(|(_, rows)| *rows),
        epochs: args.epochs,
        ..Call::default()
    }
}

/// The program of a run that was made from a text.
pub fn text_of(path: &Path) -> Option<(String, PathBuf)> {
    let then = folder::manifest(path).ok()?;
    let folder = then["folder"].as_str().unwrap_or_default().into();
    then["file"].is_null().then(|| Some((then["program"].as_str()?.to_owned(), folder)))?
}

/// The call that a folder was made by, with what may be given anew.
pub fn recalled(path: &Path, args: &SampleArgs) -> Result<SampleArgs, Failure> {
    let then = folder::manifest(path)?;
    let shown = path.display();
    let damaged = || Failure::message(format!("{shown}: run.json is not as smidgen writes it"));
    let number =
        |key: &str| then[key].as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(damaged);
    if then["format"].as_u64() != Some(FORMAT) {
        let format = &then["format"];
        return Err(Failure::message(format!(
            "{shown}: its format is {format}, this smidgen knows {FORMAT}"
        )));
    }
    if then[folder::SHARDED].is_object() {
        return Err(Failure::message(format!(
            "{shown} cannot be resumed here: its rows are in files that several workers read; from Python, smidgen.distributed.resume(\"{shown}\", client) goes on"
        )));
    }
    let seed = then["seed"].as_u64().ok_or_else(damaged)?;
    if let Some(given) = args.seed.seed.filter(|given| *given != seed) {
        return Err(refused(path, &format!("its seed is {seed}, not {given}")));
    }
    let texts = |key: &str| -> Vec<String> {
        let texts = then[key].as_array().into_iter().flatten();
        texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let pairs = |key: &str| -> Vec<(String, String)> {
        let pair = |pair: &Json| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned()));
        then[key].as_array().into_iter().flatten().filter_map(pair).collect()
    };
    let draws = number("draws")?;
    let wanted = args.draws.unwrap_or(draws);
    if wanted < draws {
        let message = format!(
            "--draws {wanted}: {shown} is to have {draws} draws per chain; a run can only grow"
        );
        return Err(Failure::Usage(message));
    }
    let follow = then["follow"].as_str().map(str::to_owned);
    if follow.is_some() && wanted > draws {
        let message =
            format!("--draws {wanted}: every epoch of {shown} has {draws} draws per chain");
        return Err(Failure::Usage(message));
    }
    let count = |key: &str| then[key].as_u64().and_then(|n| usize::try_from(n).ok());
    let window = follow.clone().zip(count("window"));
    // Where chains began is of interest as long as one of them may begin again.
    let chains = number("chains")?;
    let has_begun = |k: usize| path.join(folder::checkpoint::name(k)).is_file();
    let begins = args.from_seed || !(0..chains).all(has_begun);
    let start = |key: &str| then[key].as_str().filter(|_| begins).map(PathBuf::from);
    let mut all = SampleArgs {
        file: Some(match &args.file {
            Some(file) => file.clone(),
            None => then["file"].as_str().unwrap_or_default().into(),
        }),
        kernel: then["kernel"].as_str().map(str::to_owned),
        draws: Some(wanted),
        warmup: number("warmup")?,
        thin: number("thin")?,
        chains,
        record: texts("record"),
        out: args.out.clone(),
        html: args.html.clone(),
        format: args.format,
        threads: args.threads,
        approximate: then["approximate"].as_bool() == Some(true),
        stats: then["stats"].as_bool() == Some(true),
        keep_warmup: then["keep_warmup"].as_bool() == Some(true),
        keep_states: Keep::No,
        init: start("init"),
        restart_from: start("restart_from"),
        live: args.live,
        resume: args.resume.clone(),
        from_seed: args.from_seed,
        checkpoint_every: then["checkpoint_every"].as_u64(),
        epochs: args.epochs.or_else(|| count("epochs").filter(|_| follow.is_some())),
        follow,
        window,
        ..SampleArgs::default()
    };
    all.seed.seed = Some(seed);
    all.inputs.params = pairs("params");
    all.inputs.data =
        pairs("data").into_iter().map(|(name, path)| (name, PathBuf::from(path))).collect();
    // A table may have moved; what it holds is compared.
    for (name, path) in &args.inputs.data {
        all.inputs.data.retain(|(known, _)| known != name);
        all.inputs.data.push((name.clone(), path.clone()));
    }
    Ok(all)
}

/// Whether a run is over and is not to be made longer.
pub fn is_complete(path: &Path, args: &SampleArgs) -> bool {
    let then = folder::manifest(path).unwrap_or_default();
    let is_longer = args.draws.is_some_and(|draws| Some(draws as u64) > then["draws"].as_u64());
    let has_more_epochs = || {
        let wanted = args.epochs.map(|epochs| epochs as u64).or_else(|| then["epochs"].as_u64());
        wanted.is_none_or(|wanted| wanted > folder::events(path).len() as u64)
    };
    let is_wanted = args.from_seed || is_longer || then["follow"].is_string() && has_more_epochs();
    folder::standing(path) == Standing::Finished && !is_wanted
}

/// Where the chains of a run stood, for another.
pub fn restart(path: &Path) -> Result<Arc<Init>, Failure> {
    let states = last_states(path)?;
    let shown = path.display();
    say(&format!(
        "warning: the chains begin where those of {shown} stood, with a warm-up of their own: these draws and those are not to be pooled"
    ));
    Ok(Arc::new(Init::States(states)))
}

fn refused(path: &Path, what: &str) -> Failure {
    let shown = path.display();
    Failure::message(format!(
        "{shown} cannot be resumed: {what}\n--restart-from {shown} begins a new run where this one stood"
    ))
}

// ---------------------------------------------------------------- folders

/// Where a run is made durable, once its program and tables are read.
pub struct Place<'a> {
    pub args: &'a SampleArgs,
    pub file: &'a Path,
    pub request: &'a SampleRequest,
    pub interrupt: Arc<AtomicBool>,
}

impl Place<'_> {
    /// A new folder, or the one that is resumed.
    pub fn folder(&self, session: &Session) -> Result<Option<Durable>, Failure> {
        let Place { args, file, request, interrupt } = self;
        let patience = patience(interrupt.clone());
        let now = manifest::manifest(&call(args, file), request, session);
        let folder = match (&args.resume, &args.out) {
            (Some(path), _) => manifest::reopen(path, &now, patience).map_err(|why| match why {
                Refusal::Trouble(trouble) => trouble.into(),
                Refusal::Differs(what) => refused(path, &what),
            })?,
            (None, Some(path)) if is_folder(path) => Folder::create(path, now, patience)?,
            _ => return Ok(None),
        };
        if args.live {
            crate::view::beside(&folder.path)?;
        }
        let every = args.checkpoint_every;
        let folder = Arc::new(folder);
        Ok(Some(Durable { folder, every, from_seed: args.from_seed, until: None }))
    }
}
