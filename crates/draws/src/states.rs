//! States of a program that belong to draws: what predictions and log likelihoods are made from later.
//!
//! A [`Keeper`] takes the states of one chain and stays within its room: where they become too many, every second
//! one goes, and from then on only every second one comes. So what is kept is spread evenly over the chain.

use smidgen_value::{State, Value};

/// Bytes for the states of all chains, unless somebody asks for all of them.
pub const ROOM: usize = 256 << 20;

/// Which states are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepStates {
    #[default]
    No,
    /// As many as there is room for.
    Auto,
    All,
}

/// What a directive of a program was given when the states were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepMark {
    /// Its address.
    pub start: u64,
    /// What stands for the rows or rounds of a loop, 0 otherwise: other rows are other choices.
    pub rows: u64,
}

/// The states of one chain: of the draws 0, `every`, 2 `every`, ...
#[derive(Clone, Debug, Default)]
pub struct ChainStates {
    pub every: usize,
    pub states: Vec<State>,
}

/// The states of a run.
#[derive(Clone, Debug, Default)]
pub struct States {
    /// One for each top-level directive that acts on the trace.
    pub steps: Vec<StepMark>,
    pub chains: Vec<ChainStates>,
    /// Where each chain stood at its end.
    pub last: Vec<State>,
    /// Whether the draws have all of this under the names of the choices.
    pub is_recorded: bool,
    /// A number that the draws of the same run have, see [`crate::Run::fingerprint`].
    pub fingerprint: u64,
}

impl States {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.chains.iter().map(|chain| chain.states.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What to say if not all were kept.
    pub fn thinned(&self) -> Option<String> {
        let every = self.chains.iter().map(|chain| chain.every).max().filter(|every| *every > 1)?;
        Some(format!(
            "the states of every {every}th draw are kept, of others there was no room ({} MB)",
            ROOM >> 20
        ))
    }
}

/// Takes the states of one chain.
pub struct Keeper {
    kept: ChainStates,
    room: usize,
    used: usize,
    seen: usize,
}

impl Keeper {
    pub fn new(keep: KeepStates, chains: usize) -> Keeper {
        let room = match keep {
            KeepStates::No => 0,
            KeepStates::Auto => ROOM / chains.max(1),
            KeepStates::All => usize::MAX,
        };
        Keeper { kept: ChainStates { every: 1, states: Vec::new() }, room, used: 0, seen: 0 }
    }

    /// Whether the state of the next draw is wanted.
    pub fn wants_next(&self) -> bool {
        self.room > 0 && self.seen.is_multiple_of(self.kept.every)
    }

    /// Another draw was made; `state` is its state if that was wanted.
    pub fn next(&mut self, state: Option<State>) {
        self.seen += 1;
        let Some(state) = state else { return };
        self.used += state.bytes(self.last());
        self.kept.states.push(state);
        while self.used > self.room && self.kept.states.len() > 1 {
            self.thin();
        }
    }

    /// The last state that was kept.
    pub fn last(&self) -> Option<&State> {
        self.kept.states.last()
    }

    fn thin(&mut self) {
        let mut place = 0;
        self.kept.states.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.kept.every *= 2;
        let states = &self.kept.states;
        let before = |k: usize| k.checked_sub(1).map(|k| &states[k]);
        self.used = (0..states.len()).map(|k| states[k].bytes(before(k))).sum();
    }

    /// Whether the choices are the same in all states, each a number or a vector, and all are among these.
    pub fn are_among(&self, addresses: &[u64]) -> bool {
        let Some(first) = self.kept.states.first() else { return false };
        let is_plain =
            |value: &Value| matches!(value, Value::Number(_) | Value::Bool(_) | Value::Vector(_));
        let fits = |state: &State| {
            state.addresses() == first.addresses() && state.values().iter().all(is_plain)
        };
        first.addresses().iter().all(|a| addresses.contains(a)) && self.kept.states.iter().all(fits)
    }

    pub fn finish(self) -> ChainStates {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(x: f64) -> State {
        State::new(vec![(1, x.into()), (2, 0.5.into())]).expect("two addresses")
    }

    #[test]
    fn what_has_no_room_is_thinned_evenly() {
        let mut keeper = Keeper::new(KeepStates::Auto, 1);
        keeper.room = 20 * state(0.0).bytes(None);
        for k in 0..1000 {
            let wanted = keeper.wants_next();
            keeper.next(wanted.then(|| state(f64::from(k))));
        }
        let kept = keeper.finish();
        assert!(kept.every > 1 && (10..=20).contains(&kept.states.len()), "{}", kept.every);
        for (k, state) in kept.states.iter().enumerate() {
            let x = state.get(1).and_then(|x| x.as_number());
            assert_eq!(x, Some((k * kept.every) as f64));
        }
        let states = States { chains: vec![kept], ..States::default() };
        assert!(states.thinned().is_some());
        assert!(!Keeper::new(KeepStates::No, 4).wants_next());
    }
}
