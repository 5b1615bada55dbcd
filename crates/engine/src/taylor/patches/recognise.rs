//! Whether a density falls into patches.

use rustc_hash::FxHashMap;
use smidgen_prob::Family;
use smidgen_value::{Link, math};

use super::{Forms, PatchDesk, PatchPlate, Patches, Scale};
use crate::program::rows::{Column, Rows};
use crate::program::{DensityOp, Op, Register};
use crate::smooth::{Density, Terms};
use crate::taylor::Unserved;
use crate::taylor::follow::{Followed, follow, needed};
use crate::taylor::kind::{Kind, of_block};
use crate::taylor::sheet::{Quantity, Sheet};

/// Fewer effects than this are no hierarchy.
const LEAST_GROUPS: usize = 3;

/// A number as coefficients by coordinate and an offset.
type Line = (Vec<(u32, f64)>, f64);

/// Normal choices of one shape: what each of them is, and what its law reads.
struct Law {
    /// The number of these rows in the density.
    rows: usize,
    /// The coordinate of each.
    choices: Vec<u32>,
    means: Vec<Line>,
    scale: Scale,
}

impl Density {
    /// The plates as patches, or what stands in the way.
    pub fn patches(&self) -> Result<Patches, Unserved> {
        if self.may_refuse() {
            return Err(Unserved::MayStop);
        }
        let around = self.followed_for_patches()?;
        let is_linear = |register: &Register| line(&around, *register).is_some();
        let reads = self.parts.plates.iter().flat_map(|term| &term.registers);
        if !reads.into_iter().all(is_linear) {
            return Err(Unserved::NoPatches("rows read what is not linear in the block's choices"));
        }
        let kinds = self.parts.plates.iter().map(|term| Kind::of_plate_below(&around, term));
        let kinds: Vec<Kind> = kinds.collect::<Result<_, _>>()?;
        let mut laws: Vec<Law> = (self.parts.rows.iter().enumerate())
            .filter_map(|(number, rows)| law(number, rows, &around))
            .filter(|law| law.choices.len() >= LEAST_GROUPS)
            .collect();
        laws.sort_by_key(|law| std::cmp::Reverse(law.choices.len()));
        for law in laws {
            if let Some(groups) = groups(&kinds, &law) {
                return self.with_effects(kinds, &groups, law);
            }
        }
        Err(Unserved::NoPatches("the rows do not read one effect each"))
    }

    /// What stands in the registers that plates and normal laws read, as far as it is linear: a step means something only on
    /// the sheet that it was written on.
    fn followed_for_patches(&self) -> Result<Followed, Unserved> {
        let of_plates = self.parts.plates.iter().flat_map(|term| term.registers.iter().copied());
        let mut reads: Vec<Register> = of_plates.collect();
        if reads.is_empty() {
            return Err(Unserved::FewRows);
        }
        for rows in self.parts.rows.iter().filter(|rows| normal(rows).is_some()) {
            rows.leaves().for_each(|(leaf, column)| {
                (0..rows.count()).for_each(|row| reads.extend(global(column, row, leaf.len)));
            });
        }
        reads.sort_unstable();
        reads.dedup();
        let mut around = of_block(&mut Sheet::default(), self, &reads)?;
        for known in &mut around {
            known.take_if(|known| matches!(known, Quantity::Step(_)));
        }
        Ok(around)
    }

    /// With the law of the effects found, and the group of each plate.
    fn with_effects(
        &self,
        kinds: Vec<Kind>,
        groups: &[usize],
        law: Law,
    ) -> Result<Patches, Unserved> {
        let dimension = self.dimension();
        let is_effect = {
            let mut is_effect = vec![false; dimension];
            law.choices.iter().for_each(|choice| is_effect[*choice as usize] = true);
            is_effect
        };
        let is_scale = |coordinate: u32| law.scale == Scale::Coordinate(coordinate);
        let own = |coordinate: &u32| !is_effect[*coordinate as usize] && !is_scale(*coordinate);
        let shared: Vec<u32> = (0..dimension as u32).filter(own).collect();
        let place = |coordinate: u32| shared.binary_search(&coordinate).ok();
        let rest = Terms::without(vec![law.rows], (0..kinds.len()).collect());
        if self.reads_any(&rest, &is_effect) {
            return Err(Unserved::NoPatches("something else hangs on the effects"));
        }
        let (mut locations, mut offsets) = (vec![0.0; shared.len() * law.choices.len()], vec![]);
        for (g, (coefficients, offset)) in law.means.iter().enumerate() {
            for (coordinate, c) in coefficients {
                let Some(k) = place(*coordinate) else {
                    return Err(Unserved::NoPatches("effects hang on each other"));
                };
                locations[g * shared.len() + k] += c;
            }
            offsets.push(*offset);
        }
        let mut plates: Vec<(usize, PatchPlate)> = Vec::with_capacity(kinds.len());
        for (kind, group) in kinds.into_iter().zip(groups) {
            let forms = forms(&kind, law.choices[*group], &place)?;
            plates.push((*group, PatchPlate { kind, forms }));
        }
        plates.sort_by_key(|(group, _)| *group);
        let (mut starts, mut row) = (vec![0; law.choices.len() + 1], 0);
        for (group, plate) in &mut plates {
            plate.kind.first = row;
            row += plate.kind.rows();
            starts[*group + 1] = row;
        }
        // A group without rows begins where the one before it ends.
        for g in 1..starts.len() {
            starts[g] = starts[g].max(starts[g - 1]);
        }
        Ok(Patches {
            dimension,
            shared,
            effects: law.choices,
            scale: law.scale,
            locations,
            offsets,
            starts,
            plates: plates.into_iter().map(|(_, plate)| plate).collect(),
            rest,
            desk: PatchDesk::default(),
            z: Vec::new(),
        })
    }

    /// Whether terms hang on any of some coordinates. The coordinates are the first registers of the global part.
    fn reads_any(&self, terms: &Terms, coordinates: &[bool]) -> bool {
        let globals = &self.parts.globals;
        let mut reads: Vec<Register> = globals.terms.iter().map(|(term, _)| *term).collect();
        for (_, rows) in
            self.parts.rows.iter().enumerate().filter(|(number, _)| terms.has_rows(*number))
        {
            rows.leaves().for_each(|(leaf, column)| {
                (0..rows.count()).for_each(|row| reads.extend(global(column, row, leaf.len)));
            });
        }
        let needed = needed(&globals.program(), &reads);
        coordinates.iter().zip(&needed).any(|(is_one, is_needed)| *is_one && *is_needed)
    }
}

/// The registers of the global part that a row reads as one leaf.
fn global(column: &Column, row: usize, len: u32) -> std::ops::Range<Register> {
    let first = match column {
        Column::Uniform(first) => *first,
        Column::Run(first) => first + row as Register,
        Column::Gather(registers) => registers[row],
        Column::Data(_) | Column::Constant(_) | Column::Cells(_) | Column::Lanes => return 0..0,
    };
    first..first + len
}

fn line(around: &Followed, register: Register) -> Option<Line> {
    around[register as usize].as_ref().and_then(Quantity::line)
}

/// The density of rows that are normal choices and nothing else. Steps before it make what it reads.
fn normal(rows: &Rows) -> Option<&DensityOp> {
    let program = rows.program();
    let step = program.steps.last()?;
    let Op::Density(op) = &step.op else { return None };
    let is_plain = op.outcome == 1 && op.args().len() == 2 && program.terms == [step.out];
    (op.law.family() == Family::Normal && is_plain).then_some(op)
}

/// What stands in the registers of a row before its density; None if that is more than linear.
fn followed(rows: &Rows, row: usize, around: &Followed) -> Option<Followed> {
    let program = rows.program();
    let mut known: Followed = vec![None; program.registers as usize];
    let mut leaves = Vec::with_capacity(program.leaves.len());
    for (leaf, column) in rows.leaves() {
        let numbers: Vec<Quantity> = match column {
            Column::Constant(numbers) => numbers.iter().map(|x| Quantity::Data(*x)).collect(),
            _ => global(column, row, leaf.len)
                .map(|register| around[register as usize].clone())
                .collect::<Option<_>>()?,
        };
        if numbers.len() != leaf.len as usize {
            return None;
        }
        if leaf.register != Register::MAX {
            for (k, number) in numbers.iter().enumerate() {
                known[leaf.register as usize + k] = Some(number.clone());
            }
        }
        leaves.push(numbers);
    }
    let needed = needed(program, normal(rows)?.registers.as_ref());
    let of_leaf = |leaf: u32| leaves[leaf as usize].clone();
    follow(&mut Sheet::default(), program, &needed, &of_leaf, &mut known).ok()?;
    Some(known)
}

fn law(number: usize, rows: &Rows, around: &Followed) -> Option<Law> {
    let op = normal(rows)?;
    let (x, [mean, sd]) = (op.x()[0], [op.args()[0], op.args()[1]]);
    let link = op.linked.map(|linked| (linked.place, linked.link));
    let count = rows.count();
    let (mut choices, mut means, mut scale) = (Vec::new(), Vec::new(), None);
    for row in 0..count {
        let known = followed(rows, row, around)?;
        let of = |register: Register| line(&known, register);
        let (choice, 0.0) = of(x)? else { return None };
        let [(coordinate, 1.0)] = choice[..] else { return None };
        choices.push(coordinate);
        means.push(of(mean)?);
        let own = match (link, of(sd)?) {
            (Some((1, Link::Log)), (line, 0.0)) if matches!(line[..], [(_, 1.0)]) => {
                Scale::Coordinate(line[0].0)
            }
            (Some((1, Link::Log)), (line, log_sd)) if line.is_empty() => Scale::Number(log_sd),
            (None, (line, sd)) if line.is_empty() && sd > 0.0 => Scale::Number(math::ln(sd)),
            _ => return None,
        };
        if scale.is_some_and(|scale| scale != own) {
            return None;
        }
        scale = Some(own);
    }
    Some(Law { rows: number, choices, means, scale: scale? })
}

/// The effect that each plate reads, by its number among those of a law; None if one reads none or several.
fn groups(kinds: &[Kind], law: &Law) -> Option<Vec<usize>> {
    let numbers: FxHashMap<u32, usize> =
        law.choices.iter().enumerate().map(|(number, choice)| (*choice, number)).collect();
    let of = |kind: &Kind| {
        let coordinates = kind.curved.forms.iter().flat_map(|form| &form.coordinates);
        let mut effects: Vec<usize> =
            coordinates.filter_map(|coordinate| numbers.get(coordinate).copied()).collect();
        effects.dedup();
        match effects[..] {
            [effect] => Some(effect),
            _ => None,
        }
    };
    kinds.iter().map(of).collect()
}

/// How the forms of a plate hang on its effect.
fn forms(
    kind: &Kind,
    effect: u32,
    place: &dyn Fn(u32) -> Option<usize>,
) -> Result<Forms, Unserved> {
    let forms = &kind.curved.forms;
    if forms.iter().all(|form| form.coordinates == [effect]) {
        return Ok(Forms::OfEffect(forms.iter().map(|form| form.columns[0]).collect()));
    }
    let [form] = &forms[..] else {
        return Err(Unserved::NoPatches("a row hangs on several linear forms"));
    };
    let is_one = |register: Register| {
        kind.data.leaves().any(|(leaf, column)| {
            leaf.register == register && matches!(column, Column::Constant(xs) if xs[..] == [1.0])
        })
    };
    let mut columns = Vec::with_capacity(form.coordinates.len());
    for (coordinate, column) in form.coordinates.iter().zip(&form.columns) {
        match place(*coordinate) {
            Some(k) => columns.push((k, *column)),
            None if *coordinate == effect && is_one(*column) => {}
            None if *coordinate == effect => {
                return Err(Unserved::NoPatches("an effect has a coefficient other than 1"));
            }
            None => return Err(Unserved::NoPatches("rows hang on the scale of the effects")),
        }
    }
    Ok(Forms::One(columns))
}
