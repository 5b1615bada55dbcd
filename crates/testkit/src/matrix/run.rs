//! Paths tried on programs: what each of them was asked, and how often it really applied.

use std::panic::{AssertUnwindSafe, catch_unwind};

use smidgen_engine::Model;
use smidgen_engine::check::again::Choices;
use smidgen_value::Rng;
use smidgen_value::rng::seed_of;

use super::claim::{About, Claim, Verdict};
use super::paths::{Meets, PATHS, Path, Scene};
use super::reference::{Measured, State};
use super::subject::{House, Subject};

/// One mistake that a path makes; the comparison has to notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    /// Leaves the last row out.
    ForgetsARow,
    /// Takes what is very unlikely for impossible, as a probability does that was rounded.
    Saturates,
    /// Is off by a millionth.
    Imprecise,
    /// Has slopes that are off by a thousandth.
    WrongSlope,
    /// Takes the impossible for very unlikely.
    Floors,
}

pub const TWINS: [Twin; 5] =
    [Twin::ForgetsARow, Twin::Saturates, Twin::Imprecise, Twin::WrongSlope, Twin::Floors];

/// Log densities beyond this are far.
const FAR: f64 = 100.0;

impl Twin {
    /// Whether a path has occasion to make this mistake.
    pub fn concerns(self, path: &Path) -> bool {
        match self {
            Twin::Floors => path.meets == Meets::Anything,
            Twin::WrongSlope => path.has_slopes,
            _ => true,
        }
    }

    fn say(self, claim: &mut Claim) {
        let is_slope = matches!(claim.about, About::Slope { .. });
        let says = &mut claim.says;
        match self {
            Twin::ForgetsARow => {}
            Twin::Saturates if !is_slope && says.abs() > FAR => *says = f64::NEG_INFINITY,
            Twin::Imprecise if !is_slope => *says += 1e-6 * (1.0 + says.abs()),
            Twin::WrongSlope if is_slope => *says += 1e-3 * (1.0 + says.abs()),
            Twin::Floors if *says == f64::NEG_INFINITY => *says = -745.0,
            _ => {}
        }
    }
}

/// What became of a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Programs it was tried on, and those it applied to.
    pub tried: usize,
    pub applied: usize,
    /// Claims that hold: of finite numbers, of those beyond [`FAR`], of −∞, of slopes.
    pub finite: usize,
    pub far: usize,
    pub impossible: usize,
    pub slopes: usize,
    /// Claims that the reference cannot judge.
    pub unknown: usize,
    pub wrong: usize,
}

/// A claim that does not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    pub path: &'static str,
    pub is_slope: bool,
    /// What the path says; no number if it broke down.
    pub says: f64,
    pub why: String,
    pub program: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}\n{}", self.path, self.why, self.program)
    }
}

/// Draws of a start.
const STARTS: u64 = 12;

/// The choices of a possible state; none if none of a few draws is possible.
fn start(subject: &Subject, seed: u64) -> Option<u64> {
    (0..STARTS).map(|k| seed_of(seed, k)).find(|seed| {
        let Ok(world) = subject.world(House::Nodes, None, *seed) else { return false };
        let state = State::Moved(Box::new(world.model.copy(1)));
        Measured::of(subject, &state).is_some_and(|measured| measured.log_joint.is_finite())
    })
}

/// A program with a possible state, in both houses.
pub struct Stage<'a> {
    pub subject: &'a Subject,
    nodes: Model,
    plates: Model,
    /// No kernel moves from an impossible state: what paths break down over there says nothing.
    is_possible: bool,
}

impl<'a> Stage<'a> {
    /// None if no possible state was found.
    pub fn new(subject: &'a Subject, seed: u64) -> Option<Stage<'a>> {
        let seed = start(subject, seed)?;
        let world = subject.world(House::Nodes, None, seed).ok()?;
        Stage::at(subject, || Choices::of(&world.model))
    }

    /// In the state of these choices.
    pub fn at(subject: &'a Subject, choices: impl Fn() -> Option<Choices>) -> Option<Stage<'a>> {
        let house = |house| Some(subject.world(house, Some(choices()?), 0).ok()?.model.copy(1));
        let (mut nodes, plates) = (house(House::Nodes)?, house(House::Plates)?);
        let is_possible = nodes.log_joint().is_ok_and(f64::is_finite);
        Some(Stage { subject, nodes, plates, is_possible })
    }

    pub fn model(&self, house: House) -> &Model {
        match house {
            House::Nodes => &self.nodes,
            House::Plates | House::AsUsual => &self.plates,
        }
    }

    /// Lets a path make its claims and judges them.
    pub fn ask(&self, path: &'static Path, seed: u64, count: &mut Count) -> Vec<Failure> {
        count.tried += 1;
        let failure = |is_slope: bool, says: f64, why: String| {
            let program = self.subject.text();
            Failure { path: path.name, is_slope, says, why, program }
        };
        let claims = match self.claims(path, seed) {
            Ok(claims) => claims,
            Err(_) if !self.is_possible => vec![],
            Err(why) => {
                count.wrong += 1;
                return vec![failure(false, f64::NAN, why)];
            }
        };
        count.applied += usize::from(!claims.is_empty());
        let mut failures = Vec::new();
        for claim in &claims {
            match claim.judge(self.subject) {
                Verdict::Same { is_finite: false } => count.impossible += 1,
                Verdict::Same { .. } if matches!(claim.about, About::Slope { .. }) => {
                    count.slopes += 1;
                }
                Verdict::Same { .. } => {
                    count.finite += 1;
                    count.far += usize::from(claim.says.abs() > FAR);
                }
                Verdict::Unknown => count.unknown += 1,
                Verdict::Differs(why) => {
                    count.wrong += 1;
                    let is_slope = matches!(claim.about, About::Slope { .. });
                    failures.push(failure(is_slope, claim.says, why));
                }
            }
        }
        failures
    }

    /// Whether a mistake of a path is noticed here.
    pub fn notices(&self, path: &'static Path, twin: Twin, seed: u64) -> bool {
        let claims = match twin {
            Twin::ForgetsARow => {
                let Some(forgetful) = self.subject.forgetful() else { return false };
                let stage = Stage::at(&forgetful, || Choices::of(&self.nodes));
                stage.map_or(Ok(vec![]), |stage| stage.claims(path, seed))
            }
            _ => self.claims(path, seed),
        };
        claims.unwrap_or_default().iter_mut().any(|claim| {
            twin.say(claim);
            matches!(claim.judge(self.subject), Verdict::Differs(_))
        })
    }

    fn claims(&self, path: &'static Path, seed: u64) -> Result<Vec<Claim>, String> {
        let scene = Scene { subject: self.subject, model: self.model(path.house) };
        if path.house == House::Plates && !scene.has_plates() {
            return Ok(vec![]);
        }
        let mut rng = Rng::for_chain(seed, 1);
        let claims = catch_unwind(AssertUnwindSafe(|| (path.weigh)(&scene, &mut rng)));
        match claims {
            Ok(claims) => claims.map_err(|error| format!("an error: {error}")),
            Err(_) => Err("a panic".to_owned()),
        }
    }
}

/// Counts for every path of the table, and the claims that do not hold.
pub struct Outcome {
    pub counts: Vec<Count>,
    pub failures: Vec<Failure>,
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome { counts: vec![Count::default(); PATHS.len()], failures: Vec::new() }
    }
}

impl Outcome {
    /// All paths on one program. False if no state of it is possible.
    pub fn ask_all(&mut self, subject: &Subject, seed: u64) -> bool {
        let Some(stage) = Stage::new(subject, seed) else { return false };
        for (path, count) in PATHS.iter().zip(&mut self.counts) {
            self.failures.extend(stage.ask(path, seed, count));
        }
        true
    }

    pub fn merge(&mut self, other: Outcome) {
        for (count, other) in self.counts.iter_mut().zip(&other.counts) {
            count.tried += other.tried;
            count.applied += other.applied;
            count.finite += other.finite;
            count.far += other.far;
            count.impossible += other.impossible;
            count.slopes += other.slopes;
            count.unknown += other.unknown;
            count.wrong += other.wrong;
        }
        self.failures.extend(other.failures);
    }

    /// The counts as a table for people.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:34}{:>7}{:>8}{:>8}{:>6}{:>6}{:>8}{:>8}{:>6}\n",
            "path", "tried", "applied", "finite", "far", "-inf", "slopes", "unknown", "wrong"
        );
        for (path, count) in PATHS.iter().zip(&self.counts) {
            let Count { tried, applied, finite, far, impossible, slopes, unknown, wrong } = count;
            text.push_str(&format!(
                "{:34}{tried:>7}{applied:>8}{finite:>8}{far:>6}{impossible:>6}{slopes:>8}{unknown:>8}{wrong:>6}\n",
                path.name
            ));
        }
        text
    }
}
