//! What numbers are known by, beside the numbers: log odds of probabilities, logarithms of positive numbers.
//!
//! A law that reads 1/(1 + e^-η) as its probability, or e^η as its scale, is computed from η, which keeps its digits
//! where the number has become 0, 1 or infinite. So a program knows what its registers are known by where it has written them, and
//! that follows a number wherever it is only handed on: through choices between several, and to the other
//! side 1 - p of a coin. As numbers the registers are the numbers themselves.

use smidgen_prob::smooth::Elementary;
use smidgen_value::{Link, Value};

use super::marked::{self, Marked};
use super::{Op, Program, Register};

/// The place of η among the numbers of a value that is read from the trace.
pub(crate) fn place(link: Link) -> u32 {
    match link {
        Link::LogOdds => u32::MAX,
        Link::Log => u32::MAX - 1,
    }
}

/// The link whose η stands at a place, if it is one of these.
pub(crate) fn at_place(place: u32) -> Option<Link> {
    Link::ALL.into_iter().find(|link| self::place(*link) == place)
}

/// What a register is known by.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    eta: Register,
    /// Whether the register is such a number. If not, this is to be looked at only where it is used as one.
    sure: bool,
}

impl Known {
    /// By what an argument may be known.
    pub(crate) fn of_argument(eta: Register) -> Known {
        Known { eta, sure: false }
    }
}

impl Program {
    /// What a register is known by, with the names that its η gets elsewhere.
    pub(crate) fn links_of(&self, number: Register) -> impl Iterator<Item = (Link, Known)> {
        let known = move |link| self.links.get(&(number, link)).map(|known| (link, *known));
        Link::ALL.into_iter().filter_map(known)
    }
}

impl Known {
    /// The same where η has another name.
    pub(crate) fn renamed(self, name: impl FnOnce(Register) -> Register) -> Known {
        Known { eta: name(self.eta), ..self }
    }
}

/// η of a value; NaN if it has none.
pub(crate) fn eta_of(value: &Value, link: Link) -> f64 {
    match value {
        Value::Linked(by, eta) if *by == link => *eta,
        other => other.as_number().map_or(f64::NAN, |x| link.of(x)),
    }
}

/// η of what is used as such a number, as a mark or a number.
#[derive(Clone, Copy)]
struct Eta {
    eta: f64,
    sure: bool,
}

impl Program {
    /// From now on it is known by what register another one is known.
    pub(crate) fn note(&mut self, number: Register, link: Link, eta: Register, sure: bool) {
        self.links.insert((number, link), Known { eta, sure });
    }

    /// The link and the register of η of one that is such a number whatever it is used for.
    pub(crate) fn sure_eta(&self, number: Register) -> Option<(Link, Register)> {
        let known = |link| self.links.get(&(number, link)).filter(|known| known.sure);
        Link::ALL.into_iter().find_map(|link| Some((link, known(link)?.eta)))
    }

    fn find(&self, value: &Value, link: Link) -> Option<Eta> {
        let x = match value {
            Value::Linked(by, eta) if *by == link => return Some(Eta { eta: *eta, sure: true }),
            Value::Number(x) => *x,
            _ => return None,
        };
        match marked::read(x) {
            Marked::Number(_) => None,
            Marked::Global(register) if !self.is_global => {
                let known = self.global_links.get(&(register, link))?;
                Some(Eta { eta: marked::global(known.eta), sure: known.sure })
            }
            Marked::Local(register) | Marked::Global(register) => {
                let known = self.links.get(&(register, link))?;
                Some(Eta { eta: self.mark(known.eta), sure: known.sure })
            }
        }
    }

    /// η of what is used as such a number, as a mark or a number.
    pub(crate) fn known_by(&self, value: &Value, link: Link) -> Option<f64> {
        self.find(value, link).map(|known| known.eta)
    }

    /// The same of what is such a number whatever it is used for.
    pub(super) fn surely_known_by(&self, value: &Value, link: Link) -> Option<f64> {
        self.find(value, link).filter(|known| known.sure).map(|known| known.eta)
    }

    /// 1 - p
    pub(super) fn other_side(&mut self, p: &Value) -> Option<Value> {
        let Eta { eta, sure } = self.find(p, Link::LogOdds)?;
        let eta = self.elementary(Elementary::Negate, eta, 0.0);
        if sure {
            return Some(Value::Number(self.elementary(Elementary::Logistic, eta, 0.0)));
        }
        let complement = self.elementary(Elementary::Subtract, 1.0, p.as_number()?);
        let (register, eta) = (self.register(complement), self.register(eta));
        self.note(register, Link::LogOdds, eta, false);
        Some(Value::Number(complement))
    }

    /// What the chosen one is known by, if that is known of some option.
    pub(super) fn choose_links(&mut self, index: Register, options: &[Value], chosen: Register) {
        for link in Link::ALL {
            let found: Vec<Option<Eta>> = options.iter().map(|x| self.find(x, link)).collect();
            if found.iter().any(Option::is_some) {
                self.choose_link(link, index, options, &found, chosen);
            }
        }
    }

    fn choose_link(
        &mut self,
        link: Link,
        index: Register,
        options: &[Value],
        found: &[Option<Eta>],
        chosen: Register,
    ) {
        let sure = found.iter().all(|known| known.is_some_and(|known| known.sure));
        let mut etas = Vec::with_capacity(options.len());
        for (x, known) in options.iter().zip(found) {
            let eta = match (known, x.as_number()) {
                (Some(known), _) => known.eta,
                (None, Some(x)) => self.elementary(Elementary::inverse_of(link), x, 0.0),
                (None, None) => return,
            };
            etas.push(eta);
        }
        let options = self.registers(&etas);
        let eta = self.push(Op::Choose { index, options: options.into() }, 1);
        self.note(chosen, link, eta, sure);
    }
}
