//! Running a lane program: fast steps for all lanes, calls lane by lane.

use smallvec::SmallVec;
use smidgen_prob::Distribution;
use smidgen_value::Value;

use super::lanes::{
    Action, Call, Failed, Held, Host, LaneProgram, Outcome, Rule, Switch, Uniforms, are_all,
};
use super::marked::{self, Marked};
use super::template::{each_number, each_register, fill_in};
use super::values::LaneStore;
use crate::error::EvalError;

/// One run of a program.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub lane_program: &'a LaneProgram,
    pub uniforms: Uniforms<'a>,
}

impl Run<'_> {
    #[inline]
    pub fn value(&self, store: &LaneStore, held: &Held, lane: usize) -> Value {
        match held {
            Held::Boxed(register) => store.boxed(*register, lane).clone(),
            Held::Uniform(number) => self.uniforms.get(*number).clone(),
            Held::Marked(value) => {
                fill_in(value, &|register| self.lane_program.number(store, register, lane))
            }
        }
    }

    pub fn act(
        &self,
        actions: &[Action],
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        for action in actions {
            match action {
                Action::Call(call) => match call.rule {
                    Rule::Draw(distribution) => {
                        self.draw(call, distribution, store, outcome, host)?;
                    }
                    Rule::Density(_) | Rule::Marginal | Rule::Impossible => {
                        self.weigh(call, store, outcome, host)?;
                    }
                    _ => self.call(call, store, outcome, host)?,
                },
                Action::Switch(switch) => self.switch(switch, store, outcome, host)?,
            }
        }
        Ok(())
    }

    fn call(
        &self,
        call: &Call,
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        let is_fast = !call.steps.is_empty();
        if is_fast {
            store.run(self.lane_program.steps(&call.steps));
            if !call.may_fail {
                return Ok(());
            }
        }
        for lane in 0..store.lanes() {
            if !outcome.alive[lane] || is_fast && self.is_finite(store, &call.out, lane) {
                continue;
            }
            match self.apply(call, store, lane, host) {
                Ok(value) => self.put(store, &call.out, lane, &value),
                Err(failed) => outcome.alive[lane] = survives(failed, call, host)?,
            }
        }
        Ok(())
    }

    /// The procedure of a call, on the boxed values of a lane.
    fn apply(
        &self,
        call: &Call,
        store: &LaneStore,
        lane: usize,
        host: &mut dyn Host,
    ) -> Result<Value, Failed> {
        self.with_args(store, &call.operands, lane, |args| match call.rule {
            Rule::Function(function) => Ok((function.apply)(args)?),
            Rule::Density(distribution) => {
                Ok(Value::Number(distribution.log_density(args[0], &args[1..])?))
            }
            Rule::Which => {
                let place = args[1..].iter().position(|known| *known == args[0]);
                Ok(Value::Number(place.map_or(f64::NAN, |place| place as f64)))
            }
            Rule::Impossible => Ok(Value::Number(f64::NEG_INFINITY)),
            Rule::Marginal | Rule::Request => host.ask(call, args),
            Rule::Draw(distribution) => Ok(distribution.sample(args, host.rng())?),
        })
    }

    /// Calls `f` with the operands in a lane.
    #[inline]
    fn with_args<R>(
        &self,
        store: &LaneStore,
        operands: &[Held],
        lane: usize,
        f: impl FnOnce(&[&Value]) -> R,
    ) -> R {
        let arg = |held: &Held| match held {
            Held::Boxed(register) => Argument::There(store.boxed(*register, lane)),
            Held::Uniform(number) => Argument::There(self.uniforms.get(*number)),
            marked => Argument::Made(self.value(store, marked, lane)),
        };
        // Without a list for the usual numbers of arguments.
        match operands {
            [a] => f(&[arg(a).get()]),
            [a, b] => f(&[arg(a).get(), arg(b).get()]),
            [a, b, c] => f(&[arg(a).get(), arg(b).get(), arg(c).get()]),
            _ => {
                let args: SmallVec<[Argument<'_>; 6]> = operands.iter().map(arg).collect();
                f(&args.iter().map(Argument::get).collect::<SmallVec<[&Value; 6]>>())
            }
        }
    }

    fn is_finite(&self, store: &LaneStore, held: &Held, lane: usize) -> bool {
        let Held::Marked(value) = held else { return false };
        let mut finite = true;
        each_register(value, &mut |register| finite &= store.number(register, lane).is_finite());
        finite
    }

    /// Writes a boxed value to where it is held.
    fn put(&self, store: &mut LaneStore, held: &Held, lane: usize, value: &Value) {
        match held {
            Held::Boxed(register) => *store.boxed_mut(*register, lane) = value.clone(),
            Held::Uniform(_) => unreachable!("what is the same in all lanes is not written"),
            Held::Marked(template) => {
                let mut numbers = SmallVec::<[f64; 4]>::new();
                let mut found = Vec::new();
                match value.as_number() {
                    Some(x) => numbers.push(x),
                    None if marked::numbers(value, &mut found) => numbers.extend(found),
                    None => {}
                }
                let mut numbers = numbers.into_iter();
                each_number(template, &mut |mark| {
                    let x = numbers.next().unwrap_or(f64::NAN);
                    if let Marked::Local(register) = marked::read(mark) {
                        store.put(register, lane, x);
                    }
                });
            }
        }
    }

    /// Adds a log density in every lane that is alive.
    fn weigh(
        &self,
        call: &Call,
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        let lanes = store.lanes();
        if let Held::Marked(Value::Number(term)) = call.out
            && let Marked::Local(term) = marked::read(term)
        {
            store.run(self.lane_program.steps(&call.steps));
            let log_densities = store.row(term);
            let (alive, log_weights) = (&outcome.alive[..lanes], &mut outcome.log_weights[..lanes]);
            // The usual case without a branch.
            let odd: u64 = log_densities.iter().map(|log_p| u64::from(!log_p.is_finite())).sum();
            if odd == 0 && are_all(alive) {
                let both = log_weights.iter_mut().zip(log_densities);
                both.for_each(|(log_weight, log_p)| *log_weight += log_p);
                return Ok(());
            }
            let mut all_finite = true;
            for ((log_weight, log_p), alive) in log_weights.iter_mut().zip(log_densities).zip(alive)
            {
                let counts = *alive && log_p.is_finite();
                *log_weight += if counts { *log_p } else { 0.0 };
                all_finite &= log_p.is_finite();
            }
            if all_finite {
                return Ok(());
            }
            for lane in 0..lanes {
                if outcome.alive[lane] && !store.number(term, lane).is_finite() {
                    self.weigh_lane(call, store, lane, outcome, host)?;
                }
            }
            return Ok(());
        }
        for lane in 0..lanes {
            if outcome.alive[lane] {
                self.weigh_lane(call, store, lane, outcome, host)?;
            }
        }
        Ok(())
    }

    fn weigh_lane(
        &self,
        call: &Call,
        store: &LaneStore,
        lane: usize,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        match self.apply(call, store, lane, host) {
            Ok(Value::Number(log_p)) if !log_p.is_nan() => outcome.log_weights[lane] += log_p,
            Ok(_) => {
                let x = self.value(store, &call.operands[0], lane);
                return Err(host.not_a_number(call, &x));
            }
            Err(failed) => outcome.alive[lane] = survives(failed, call, host)?,
        }
        Ok(())
    }

    /// Draws a choice in lane order; the given lane keeps its value.
    fn draw(
        &self,
        call: &Call,
        distribution: &'static dyn Distribution,
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        if !distribution.is_proper() {
            return Err(host.improper(call));
        }
        let mut lanes = store.lanes();
        if let Some(value) = host.given(call.place) {
            lanes -= 1;
            match (&call.plain, value) {
                (Some(plain), Value::Number(x)) => store.put(plain.out, lanes, *x),
                _ => self.put(store, &call.out, lanes, value),
            }
        }
        if let Some(plain) = &call.plain {
            let refused = store.draw(plain, &outcome.alive[..lanes], host.rng());
            // The general way finds out what is wrong.
            for lane in refused {
                let support = |args: &[&Value]| distribution.support(args).err();
                if let Some(error) = self.with_args(store, &call.operands, lane, support) {
                    host.fails(call, error)?;
                }
                outcome.alive[lane] = false;
            }
            return Ok(());
        }
        for lane in 0..lanes {
            if !outcome.alive[lane] {
                continue;
            }
            match self.apply(call, store, lane, host) {
                Ok(value) => self.put(store, &call.out, lane, &value),
                Err(failed) => outcome.alive[lane] = survives(failed, call, host)?,
            }
        }
        Ok(())
    }

    fn switch(
        &self,
        switch: &Switch,
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        let lanes = store.lanes();
        let mut sides = SmallVec::<[usize; 16]>::from_elem(usize::MAX, lanes);
        for lane in 0..lanes {
            if !outcome.alive[lane] {
                continue;
            }
            let index = self.value(store, &switch.index, lane);
            sides[lane] = match (switch.is_condition, index.truth(), index.as_number()) {
                (true, Some(truth), _) => usize::from(truth),
                (false, _, Some(x)) if x >= 0.0 => x as usize,
                _ => return Err(host.no_condition(switch.place, index)),
            };
        }
        for (number, side) in switch.sides.iter().enumerate() {
            let mut here: SmallVec<[bool; 16]> = sides.iter().map(|s| *s == number).collect();
            if !here.contains(&true) {
                continue;
            }
            let mut within = Outcome { alive: &mut here, log_weights: outcome.log_weights };
            self.act(&side.actions, store, &mut within, host)?;
            for lane in 0..lanes {
                if sides[lane] == number {
                    outcome.alive[lane] = here[lane];
                    if here[lane] && matches!(switch.out, Held::Boxed(_)) {
                        let value = self.value(store, &side.value, lane);
                        self.put(store, &switch.out, lane, &value);
                    }
                }
            }
        }
        store.run(self.lane_program.steps(&switch.steps));
        Ok(())
    }
}

/// An argument of a call in a lane.
enum Argument<'a> {
    There(&'a Value),
    /// Put together from registers.
    Made(Value),
}

impl Argument<'_> {
    fn get(&self) -> &Value {
        match self {
            Argument::There(value) => value,
            Argument::Made(value) => value,
        }
    }
}

/// Whether a lane goes on after a failure: never, unless that is a mistake of the program.
#[cold]
fn survives(failed: Failed, call: &Call, host: &mut dyn Host) -> Result<bool, EvalError> {
    match failed {
        Failed::Argument(error) => host.fails(call, error).map(|()| false),
        Failed::Error(error) if error.rejects() => Ok(false),
        Failed::Error(error) => Err(error),
    }
}
