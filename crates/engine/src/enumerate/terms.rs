//! A shape that is no more than look-ups and densities, as a list of terms.
//!
//! In a mixture a candidate k names families of memo keys, and its weight is a sum over what was
//! observed: log predictives of what cluster k made, and log densities whose arguments are values of
//! cluster k or constants of the row,
//!
//! log W_k = Σ_i log p(x_i | cluster k) + Σ_j log p(y_j | args_j(k)),
//!
//! where one argument may be linear_logistic(w_k, x). Such a shape is turned into its terms once; then
//! every candidate is weighed without lists of values, in the order and to the bit of
//! [`super::plan`]. So is one whose families are not there yet, such as a new table, with what was made
//! for it aside.

use smallvec::SmallVec;
use smidgen_prob::functions::link::linear_predictor;
use smidgen_prob::{Distribution, Function, Maker, Scalar};
use smidgen_value::Value;

use super::brush::BrushEvaluator;
use super::kept::{Found, MemoRootCache, Sought, maker_of};
use super::plan::{CandidateRole, Row, Shape, Source, Step, score};
use crate::id::NodeId;

/// Look-ups of one candidate at most.
pub(super) const MOST_LOOKUPS: usize = 4;

pub(super) struct Terms {
    pub(super) lookups: SmallVec<[Lookup; 2]>,
    terms: SmallVec<[Term; 2]>,
    /// The same as one predictive and one regression at most, if that is all.
    pub(super) mixture: Option<Mixture>,
}

/// What a [`super::bank::Bank`] weighs. Places of operands, look-ups and absorbing choices.
#[derive(Default)]
pub(super) struct Mixture {
    pub(super) predict: Option<Predict>,
    pub(super) logistic: Option<Logistic>,
}

impl Mixture {
    /// Memo tables that it looks into.
    pub(super) fn lookups(&self) -> usize {
        usize::from(self.predict.is_some()) + usize::from(self.logistic.is_some())
    }
}

pub(super) struct Predict {
    pub(super) operator: u32,
    pub(super) typed: u32,
    pub(super) maker: &'static dyn Maker,
}

pub(super) struct Logistic {
    pub(super) w: u32,
    pub(super) x: u32,
    pub(super) absorbing: u32,
}

/// The family of the choice's value in a memo table.
pub(super) struct Lookup {
    pub(super) memo: NodeId,
    pub(super) table: u32,
    /// The place of the first node of D that asks for it.
    pub(super) asks: u32,
    /// How many nodes of D do.
    pub(super) requests: u32,
}

/// The weight of a candidate.
#[derive(Clone, Copy)]
pub(super) enum Weight {
    Known(f64),
    /// A family would have to be made.
    Missing,
    Unknown,
}

impl Weight {
    pub(super) fn known(self) -> Option<f64> {
        if let Weight::Known(log_weight) = self { Some(log_weight) } else { None }
    }
}

impl From<Option<f64>> for Weight {
    fn from(log_weight: Option<f64>) -> Weight {
        log_weight.map_or(Weight::Unknown, Weight::Known)
    }
}

/// What was made aside for a candidate: the values of the families that are missing, by look-up.
pub(super) struct Aside<'a> {
    pub values: &'a [Option<Value>; MOST_LOOKUPS],
    pub brush: &'a BrushEvaluator,
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Place {
    Choice,
    Fixed(u32),
    Found(u32),
}

enum Term {
    Predict {
        operator: u32,
        observed: u32,
        typed: u32,
        maker: &'static dyn Maker,
    },
    Density {
        distribution: &'static dyn Distribution,
        args: SmallVec<[Place; 3]>,
        absorbing: u32,
    },
    /// The only argument is linear_logistic(w, x).
    Logistic {
        distribution: &'static dyn Distribution,
        scalar: Option<Scalar>,
        function: &'static Function,
        w: Place,
        x: Place,
        absorbing: u32,
    },
}

/// What a node of D is.
#[derive(Clone, Copy)]
enum Class {
    Read(Place),
    Logistic { function: &'static Function, w: Place, x: Place },
}

impl Terms {
    /// None if the shape is of another kind.
    pub(super) fn of(shape: &Shape) -> Option<Terms> {
        let mut classes: SmallVec<[Class; 8]> = SmallVec::new();
        let mut made = Terms { lookups: SmallVec::new(), terms: SmallVec::new(), mixture: None };
        for (at, step) in shape.steps.iter().enumerate() {
            let class = match step {
                Step::Given => Class::Read(Place::Choice),
                Step::Follow(source) => class(&classes, *source)?,
                Step::Request { memo, key, table } => {
                    let Class::Read(Place::Choice) = class(&classes, *key)? else { return None };
                    Class::Read(Place::Found(made.lookup(*memo, *table, at)))
                }
                Step::Predict { operator, observed, typed, maker } => {
                    let Place::Found(operator) = place(&classes, *operator)? else { return None };
                    let (observed, typed, maker) = (*observed, *typed, *maker);
                    made.terms.push(Term::Predict { operator, observed, typed, maker });
                    Class::Read(Place::Fixed(typed))
                }
                Step::Apply(function, args) if function.spec.name == "linear_logistic" => {
                    let [w, x] = args[..] else { return None };
                    let (w, x) = (place(&classes, w)?, place(&classes, x)?);
                    Class::Logistic { function, w, x }
                }
                Step::Apply(..) | Step::Expand(_) => return None,
            };
            classes.push(class);
        }
        for (absorbing, (distribution, args)) in shape.absorbing.iter().enumerate() {
            let absorbing = absorbing as u32;
            let only = match args[..] {
                [only] => Some(class(&classes, only)?),
                _ => None,
            };
            made.terms.push(match only {
                Some(Class::Logistic { function, w, x }) => {
                    let (distribution, scalar) = (*distribution, distribution.scalar());
                    Term::Logistic { distribution, scalar, function, w, x, absorbing }
                }
                _ => {
                    let args = args.iter().map(|arg| place(&classes, *arg));
                    let args = args.collect::<Option<_>>()?;
                    Term::Density { distribution: *distribution, args, absorbing }
                }
            });
        }
        made.mixture = made.mixture();
        (made.lookups.len() <= MOST_LOOKUPS).then_some(made)
    }

    fn mixture(&self) -> Option<Mixture> {
        let mut mixture = Mixture::default();
        for term in &self.terms {
            match *term {
                Term::Predict { operator, typed, maker, .. } if mixture.predict.is_none() => {
                    mixture.predict = Some(Predict { operator, typed, maker });
                }
                Term::Logistic {
                    distribution,
                    w: Place::Found(w),
                    x: Place::Fixed(x),
                    absorbing,
                    ..
                } if mixture.logistic.is_none() && distribution.spec().name == "bernoulli" => {
                    mixture.logistic = Some(Logistic { w, x, absorbing });
                }
                _ => return None,
            }
        }
        (!self.terms.is_empty()).then_some(mixture)
    }

    fn lookup(&mut self, memo: NodeId, table: u32, at: usize) -> u32 {
        let known = self.lookups.iter().position(|lookup| lookup.memo == memo);
        let at = known.unwrap_or_else(|| {
            self.lookups.push(Lookup { memo, table, asks: at as u32, requests: 0 });
            self.lookups.len() - 1
        });
        self.lookups[at].requests += 1;
        at as u32
    }

    /// Σ_A and the observed applications of T_k, as [`super::plan::Ready::weigh`]; `aside` for a candidate
    /// that was found to miss something.
    pub(super) fn weigh(
        &self,
        row: &Row<'_>,
        (k, value): (usize, &Value),
        state: CandidateRole,
        left: &mut SmallVec<[NodeId; 4]>,
        roots: &mut MemoRootCache,
        aside: Option<Aside<'_>>,
    ) -> Weight {
        let mut found = [Found { references: 0, value, maker: None }; MOST_LOOKUPS];
        for (i, (found, lookup)) in found.iter_mut().zip(&self.lookups).enumerate() {
            let at = (lookup.table as usize, k);
            *found = match roots.find(row.trace, at, lookup.memo, value, row.target) {
                Sought::Found(found) => found,
                Sought::Unfit => return Weight::Unknown,
                Sought::Absent => match aside.as_ref().map(|aside| &aside.values[i]) {
                    Some(Some(value)) => Found { references: 0, value, maker: maker_of(value) },
                    Some(None) => return Weight::Unknown,
                    None => return Weight::Missing,
                },
            };
            // The family might be part of T.
            if state == CandidateRole::Current && found.references <= lookup.requests {
                return Weight::Unknown;
            }
        }
        self.sum(row, value, &found, state, left, aside).into()
    }

    #[inline]
    fn sum(
        &self,
        row: &Row<'_>,
        value: &Value,
        found: &[Found<'_>; MOST_LOOKUPS],
        state: CandidateRole,
        left: &mut SmallVec<[NodeId; 4]>,
        aside: Option<Aside<'_>>,
    ) -> Option<f64> {
        let read = |place: Place| match place {
            Place::Choice => value,
            Place::Fixed(place) => row.operands[place as usize],
            Place::Found(place) => found[place as usize].value,
        };
        let mut total = 0.0;
        let mut applied: SmallVec<[NodeId; 4]> = SmallVec::new();
        for term in &self.terms {
            total += match term {
                Term::Predict { operator, observed, typed, maker } => {
                    let made = found[*operator as usize].maker?;
                    if BrushEvaluator::is_aside(made) {
                        let brush = aside.as_ref()?.brush;
                        if applied.contains(&made) {
                            return None;
                        }
                        applied.push(made);
                        brush.read(made, row.operands[*observed as usize])?.1
                    } else {
                        row.may_apply(made, &applied, left)?;
                        applied.push(made);
                        score(row.trace, made, row.operands[*typed as usize], *maker, state)?
                    }
                }
                Term::Density { distribution, args, absorbing } => {
                    let x = row.absorbing[*absorbing as usize];
                    let args: SmallVec<[&Value; 4]> = args.iter().map(|arg| read(*arg)).collect();
                    distribution.log_density(x, &args).ok()?
                }
                Term::Logistic { distribution, scalar, function, w, x, absorbing } => {
                    let (w, x) = (read(*w), read(*x));
                    let outcome = row.absorbing[*absorbing as usize];
                    match (scalar, w, x, outcome) {
                        (Some(scalar), Value::Vector(w), Value::Vector(x), Value::Number(y))
                            if w.len() == x.len() + 1 =>
                        {
                            match Value::probability(linear_predictor(w, x)) {
                                Value::Number(p) => (scalar.log_density)(*y, &[p])?,
                                p => distribution.log_density(outcome, &[&p]).ok()?,
                            }
                        }
                        _ => {
                            let p = (function.apply)(&[w, x]).ok()?;
                            distribution.log_density(outcome, &[&p]).ok()?
                        }
                    }
                }
            };
        }
        if state == CandidateRole::Current {
            left.extend(applied);
        }
        (!total.is_nan()).then_some(total)
    }
}

fn class(classes: &[Class], source: Source) -> Option<Class> {
    match source {
        Source::Fixed(place) => Some(Class::Read(Place::Fixed(place))),
        Source::Slot(place) => classes.get(place as usize).copied(),
    }
}

fn place(classes: &[Class], source: Source) -> Option<Place> {
    match class(classes, source)? {
        Class::Read(place) => Some(place),
        Class::Logistic { .. } => None,
    }
}
