//! What a branch comes to in lanes: two cases, of which each lane takes one.
//!
//! Where both cases are the same for all lanes, as the two rates of a change point are, what is computed from them is
//! computed once for each case, in a part of the program that has a single lane, and lanes choose from the results: a
//! density is then read twice a row, however many candidates there are.

use smidgen_prob::{Distribution, Function};
use smidgen_value::Value;

use super::selected::Selected;
use super::writer::{Drafted, Writer};
use super::written::{NoLanes, RowPlace};
use crate::program::marked::{self, Marked};
use crate::program::{Program, Register, Source, lower};

/// Numbers of the uniform part are marked as those of the row from here on, until it is known how many the row has.
const DERIVED: Register = 1 << 28;

#[derive(Clone)]
pub(super) struct Cases {
    /// The register that says which one is taken, as a mark.
    index: f64,
    values: [Value; 2],
    /// Whether they are values of the uniform part rather than of lanes.
    are_uniform: bool,
}

/// The numbers of the uniform part stand behind those of the row.
pub(super) fn name_derived(program: &mut Program, row_numbers: u32) {
    for leaf in &mut program.leaves {
        if let Source::Global(first) = &mut leaf.source
            && *first >= DERIVED
        {
            *first = *first - DERIVED + row_numbers;
        }
    }
}

/// Whether a value of lanes is the same in all of them.
fn is_uniform(value: &Value) -> bool {
    let mut is_uniform = true;
    marked::visit(value, &mut |x| is_uniform &= !matches!(marked::read(x), Marked::Local(_)));
    is_uniform
}

fn refused(_: lower::Obstacle) -> NoLanes {
    NoLanes::NotNumbers
}

impl Writer<'_> {
    /// What a structure that selects comes to.
    pub(super) fn selected(&mut self, selected: &Selected) -> Result<Drafted, NoLanes> {
        match selected {
            Selected::Source(source) => self.drafted(*source),
            Selected::Apply(function, parts) => {
                let mut args = Vec::with_capacity(parts.len());
                for (k, part) in parts.iter().enumerate() {
                    args.push(match part {
                        Selected::Source(source) => self.argument(function, k, *source)?,
                        part => self.selected(part)?,
                    });
                }
                self.function(function, &args, None)
            }
            Selected::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.selected_value(condition)?;
                let Value::Number(condition) = condition else { return Err(NoLanes::NotNumbers) };
                let values = [self.selected_value(otherwise)?, self.selected_value(then)?];
                let are_uniform = values.iter().all(is_uniform);
                let index = self.index(condition);
                Ok(Drafted::Cases(Cases { index, values, are_uniform }))
            }
            Selected::Density(distribution, observed, parts) => {
                let args = parts.iter().map(|part| self.selected(part));
                let args = args.collect::<Result<Vec<Drafted>, NoLanes>>()?;
                let log_p = self.density(*distribution, RowPlace::Operand(*observed), &args)?;
                Ok(Drafted::Value(Value::Number(log_p)))
            }
        }
    }

    /// The same as a value of lanes.
    pub(super) fn selected_value(&mut self, selected: &Selected) -> Result<Value, NoLanes> {
        let drafted = self.selected(selected)?;
        self.in_lanes(&drafted)
    }

    /// 1 where a condition holds, else 0.
    fn index(&mut self, condition: f64) -> f64 {
        let known = self.indices.iter().find(|(known, _)| *known == condition.to_bits());
        if let Some((_, index)) = known {
            return *index;
        }
        let index = lower::truth(&mut self.program, condition);
        self.indices.push((condition.to_bits(), index));
        index
    }

    fn in_lanes(&mut self, drafted: &Drafted) -> Result<Value, NoLanes> {
        match drafted {
            Drafted::Value(value) => Ok(value.clone()),
            Drafted::Cases(cases) => self.choose(cases),
            Drafted::Choice | Drafted::Found(_) => unreachable!("it was read"),
        }
    }

    /// What lanes take of the cases of a node.
    pub(super) fn chosen(&mut self, slot: u32, cases: &Cases) -> Result<Value, NoLanes> {
        if let Some((_, value)) = self.chosen.iter().find(|(known, _)| *known == slot) {
            return Ok(value.clone());
        }
        let value = self.choose(cases)?;
        self.chosen.push((slot, value.clone()));
        Ok(value)
    }

    fn choose(&mut self, cases: &Cases) -> Result<Value, NoLanes> {
        let values = match cases.are_uniform {
            true => [self.derived(&cases.values[0])?, self.derived(&cases.values[1])?],
            false => cases.values.clone(),
        };
        lower::choose(&mut self.program, cases.index, &values).map_err(refused)
    }

    /// A value of the uniform part for lanes.
    fn derived(&mut self, value: &Value) -> Result<Value, NoLanes> {
        let mut registers = Vec::new();
        marked::visit(value, &mut |x| {
            if let Marked::Local(register) = marked::read(x) {
                registers.push(register);
            }
        });
        let names: Vec<(Register, Register)> =
            registers.into_iter().map(|register| (register, self.derive(register))).collect();
        let name = |x: f64| match marked::read(x) {
            Marked::Local(register) => {
                let found = names.iter().find(|(known, _)| *known == register);
                found.map_or(x, |(_, name)| marked::global(*name))
            }
            _ => x,
        };
        marked::replace(value, &name).ok_or(NoLanes::NotNumbers)
    }

    /// The name that lanes have for a register of the uniform part. What it is known by is known to them too.
    fn derive(&mut self, register: Register) -> Register {
        if let Some(place) = self.derived.iter().position(|known| *known == register) {
            return DERIVED + place as u32;
        }
        let name = DERIVED + self.derived.len() as u32;
        self.derived.push(register);
        let links: Vec<_> = self.uniform.links_of(register).collect();
        for (link, known) in links {
            let known = known.renamed(|eta| self.derive(eta));
            self.program.global_links.insert((name, link), known);
        }
        name
    }

    /// The same cases in all arguments, with nothing else that differs from lane to lane: which register tells them apart.
    fn cases_of(args: &[Drafted]) -> Option<f64> {
        let mut index: Option<f64> = None;
        for arg in args {
            match arg {
                Drafted::Value(value) if is_uniform(value) => {}
                Drafted::Cases(cases) if cases.are_uniform => {
                    let known = *index.get_or_insert(cases.index);
                    if known.to_bits() != cases.index.to_bits() {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        index
    }

    /// The arguments in one case.
    fn in_case(args: &[Drafted], which: usize) -> Vec<Value> {
        let value = |arg: &Drafted| match arg {
            Drafted::Value(value) => value.clone(),
            Drafted::Cases(cases) => cases.values[which].clone(),
            Drafted::Choice | Drafted::Found(_) => unreachable!("it was read"),
        };
        args.iter().map(value).collect()
    }

    /// A function of values or cases; `like`: what it comes to now, if that is known.
    pub(super) fn function(
        &mut self,
        function: &'static Function,
        args: &[Drafted],
        like: Option<&Value>,
    ) -> Result<Drafted, NoLanes> {
        // Marks are numbers, whatever they stand for.
        if function.spec.name.starts_with("is_") {
            return Err(NoLanes::NotNumbers);
        }
        if let Some(index) = Self::cases_of(args) {
            let uniform = &mut self.uniform;
            let mut in_case =
                |which| lower::function(uniform, function, &Self::in_case(args, which)).ok();
            if let (Some(otherwise), Some(then)) = (in_case(0), in_case(1)) {
                let values = [otherwise, then];
                return Ok(Drafted::Cases(Cases { index, values, are_uniform: true }));
            }
        }
        let args = args.iter().map(|arg| self.in_lanes(arg));
        let args = args.collect::<Result<Vec<Value>, NoLanes>>()?;
        if let Ok(value) = lower::function(&mut self.program, function, &args) {
            return Ok(Drafted::Value(value));
        }
        let like = like.ok_or(NoLanes::NotNumbers)?;
        if crate::program::form::Form::of(like).is_none() {
            return Err(NoLanes::NotNumbers);
        }
        self.program.call(function, &args, like).map(Drafted::Value).map_err(refused)
    }

    /// The log density of a value of the row, as a mark of lanes.
    pub(super) fn density(
        &mut self,
        distribution: &'static dyn Distribution,
        outcome: RowPlace,
        args: &[Drafted],
    ) -> Result<f64, NoLanes> {
        let is_number = self.has_numbers(outcome);
        let x = self.row_value(outcome);
        if let Some(index) = Self::cases_of(args).filter(|_| is_number) {
            let uniform = &mut self.uniform;
            let mut in_case = |which| {
                uniform.density(distribution, &x, &Self::in_case(args, which)).ok()?;
                uniform.terms.pop().map(|term| Value::Number(marked::local(term)))
            };
            if let (Some(otherwise), Some(then)) = (in_case(0), in_case(1)) {
                let cases = Cases { index, values: [otherwise, then], are_uniform: true };
                return self.choose(&cases)?.as_number().ok_or(NoLanes::NotNumbers);
            }
        }
        let args = args.iter().map(|arg| self.in_lanes(arg));
        let args = args.collect::<Result<Vec<Value>, NoLanes>>()?;
        let program = &mut self.program;
        if !is_number || program.density(distribution, &x, &args).is_err() {
            program.call_density(distribution, &x, &args).map_err(refused)?;
        }
        let term = program.terms.pop().ok_or(NoLanes::NotNumbers)?;
        Ok(marked::local(term))
    }
}
