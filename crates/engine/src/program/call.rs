//! What has no fast step: a procedure or a law on boxed values, one lane at a time.
//!
//! The arguments are values that carry marks where their numbers differ from lane to lane
//! ([`super::marked`]). For each lane they are filled in, and the procedure is called as the trace would
//! call it. A lane in which it gives an error, or a value of another form, gets NaN.

use smidgen_prob::{Distribution, Function};
use smidgen_value::Value;

use super::lower::{self, Obstacle};
use super::marked::{self, Marked};
use super::value_only::{Lanes, ValueOnly};
use super::{Program, Register};

#[derive(Clone, Copy)]
pub(crate) enum Callee {
    Function(&'static Function),
    /// The log density of the first argument, given the others.
    Density(&'static dyn Distribution),
}

#[derive(Clone)]
pub(crate) struct Call {
    callee: Callee,
    /// With marks of registers of this program.
    args: Vec<Value>,
    /// Numbers of the result.
    len: u32,
}

impl Call {
    fn call(&self, args: &[&Value]) -> Option<Value> {
        match self.callee {
            Callee::Function(function) => (function.apply)(args).ok(),
            Callee::Density(distribution) => {
                let (x, args) = args.split_first()?;
                distribution.log_density(x, args).ok().map(Value::Number)
            }
        }
    }

    pub(super) fn value(&self, lanes: Lanes, below: &[f64], above: &mut [f64]) {
        let Lanes { stride, count, .. } = lanes;
        let mut numbers = Vec::with_capacity(self.len as usize);
        for l in 0..count {
            let in_lane = |x: f64| match marked::read(x) {
                Marked::Local(register) => below[register as usize * stride + l],
                _ => x,
            };
            let args: Option<Vec<Value>> =
                self.args.iter().map(|arg| marked::replace(arg, &in_lane)).collect();
            let value = args.and_then(|args| self.call(&args.iter().collect::<Vec<_>>()));
            numbers.clear();
            let fits = value.is_some_and(|value| marked::plain_numbers(&value, &mut numbers))
                && numbers.len() == self.len as usize;
            for k in 0..self.len as usize {
                above[k * stride + l] = if fits { numbers[k] } else { f64::NAN };
            }
        }
    }

    pub(super) fn reads(&self, out: &mut Vec<Register>) {
        let mut numbers = Vec::new();
        self.args.iter().for_each(|arg| marked::visit(arg, &mut |x| numbers.push(x)));
        out.extend(numbers.into_iter().filter_map(|x| match marked::read(x) {
            Marked::Local(register) => Some(register),
            _ => None,
        }));
    }

    pub(super) fn rename(&mut self, name: &dyn Fn(Register) -> Register) {
        let renamed = |x: f64| match marked::read(x) {
            Marked::Local(register) => marked::local(name(register)),
            _ => x,
        };
        for arg in &mut self.args {
            *arg = marked::replace(arg, &renamed).expect("its marks were replaced before");
        }
    }

    pub(super) fn shape(&self, key: &mut Vec<u64>) -> u64 {
        let mut numbers = Vec::new();
        self.args.iter().for_each(|arg| marked::visit(arg, &mut |x| numbers.push(x)));
        key.extend(numbers.iter().map(|x| x.to_bits()));
        match self.callee {
            Callee::Function(function) => std::ptr::from_ref(function) as u64,
            Callee::Density(distribution) => std::ptr::from_ref(distribution.spec()) as u64,
        }
    }
}

impl Program {
    /// The result of a procedure that has no fast step: a value like this one, with marks.
    pub(crate) fn call(
        &mut self,
        function: &'static Function,
        args: &[Value],
        like: &Value,
    ) -> Result<Value, Obstacle> {
        let len = lower::numbers(like)?.len() as u32;
        let out = self.push_call(Callee::Function(function), args, len)?;
        Ok(lower::renumber(like, &mut (out..).map(|register| self.mark(register))))
    }

    /// Adds the log density of x under a law that has no fast step.
    pub(crate) fn call_density(
        &mut self,
        distribution: &'static dyn Distribution,
        x: &Value,
        args: &[Value],
    ) -> Result<(), Obstacle> {
        let args: Vec<Value> = std::iter::once(x).chain(args).cloned().collect();
        let out = self.push_call(Callee::Density(distribution), &args, 1)?;
        self.terms.push(out);
        Ok(())
    }

    fn push_call(
        &mut self,
        callee: Callee,
        args: &[Value],
        len: u32,
    ) -> Result<Register, Obstacle> {
        // Leaves are made first: a step reads registers before its own.
        let mut own = Vec::new();
        let mut all = Vec::new();
        args.iter().for_each(|arg| marked::visit(arg, &mut |x| all.push(x)));
        for x in all.into_iter().filter(|x| marked::is_marked(*x)) {
            own.push((x.to_bits(), marked::local(self.register(x))));
        }
        let local = |x: f64| {
            let known = own.iter().find(|(bits, _)| *bits == x.to_bits());
            known.map_or(x, |(_, local)| *local)
        };
        let replaced = |arg: &Value| {
            marked::replace(arg, &local).ok_or_else(|| "marks where none can be read".to_owned())
        };
        let args = args.iter().map(replaced).collect::<Result<Vec<_>, _>>()?;
        Ok(self.push_value_only(ValueOnly::Call(Call { callee, args, len }), len, 0))
    }
}
