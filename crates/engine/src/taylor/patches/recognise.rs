//! Whether a density falls into patches.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_prob::Family;
use smidgen_value::{Link, math};

use super::{Forms, Line, Members, Normal, PatchDesk, PatchPlate, Patches, Scale};
use crate::program::curved::Form;
use crate::program::rows::{Column, OfRow, Rows};
use crate::program::{DensityOp, Op, Register};
use crate::smooth::{Density, Terms};
use crate::taylor::Unserved;
use crate::taylor::follow::{Followed, follow, needed};
use crate::taylor::kind::{Kind, of_block};
use crate::taylor::sheet::{Quantity, Sheet};

/// Fewer effects than this are no hierarchy.
const LEAST_GROUPS: usize = 3;
/// Rows that read more effects than this have polynomials that are too large.
const MOST_MEMBERS: usize = 3;

/// The effects: normal choices of which each row reads a few.
#[derive(Default)]
struct Effects {
    all: Vec<Normal>,
    /// Where they are computed, and what else is computed there.
    rows: Vec<usize>,
    others: Vec<Normal>,
}

impl Density {
    /// The plates as patches, or what stands in the way.
    pub fn patches(&self) -> Result<Patches, Unserved> {
        if self.may_refuse() {
            return Err(Unserved::MayStop);
        }
        let around = self.followed_for_patches()?;
        let is_linear = |register: &Register| line(&around, *register).is_some();
        let plates = &self.parts.plates;
        let reads = plates.iter().flat_map(|term| &term.registers);
        let kinds: Vec<Kind> = if reads.clone().all(is_linear) {
            let of = |term| Kind::of_plate_below(Sheet::default(), &around, term);
            plates.iter().map(of).collect::<Result<_, _>>()?
        } else {
            // What is not linear is written down once; every plate goes on from there on a sheet of its own.
            let mut sheet = Sheet::default();
            let around = of_block(&mut sheet, self, &reads.copied().collect::<Vec<_>>())?;
            let of = |term| Kind::of_plate_below(sheet.clone(), &around, term);
            plates.iter().map(of).collect::<Result<_, _>>()?
        };
        let effects = self.effects(&kinds, &around);
        if effects.all.is_empty() {
            return Err(Unserved::NoEffects);
        }
        self.with_effects(kinds, effects)
    }

    /// Normal choices of one scale, at least so many, each of which is read by no more than half of the plates.
    fn effects(&self, kinds: &[Kind], around: &Followed) -> Effects {
        let mut readers = vec![0_usize; self.dimension()];
        for kind in kinds {
            for coordinate in coordinates(kind) {
                readers[coordinate as usize] += 1;
            }
        }
        let mut found = Effects::default();
        for (number, rows) in self.parts.rows.iter().enumerate() {
            let Some(normals) = normals(rows, around) else { continue };
            let mut laws: Vec<(Scale, Vec<Normal>)> = Vec::new();
            for normal in normals {
                match laws.iter_mut().find(|(scale, _)| *scale == normal.scale) {
                    Some((_, of_scale)) => of_scale.push(normal),
                    None => laws.push((normal.scale, vec![normal])),
                }
            }
            // What no row reads may be an effect of a group without rows, if others of its scale are effects.
            let is_effect = |normal: &Normal| match readers[normal.choice as usize] {
                0 => matches!(normal.scale, Scale::Coordinate { .. }),
                read => 2 * read <= kinds.len(),
            };
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for (_, law) in laws {
                let (effects, rest): (Vec<_>, Vec<_>) = law.into_iter().partition(is_effect);
                let is_read = |effect: &Normal| readers[effect.choice as usize] > 0;
                let is_law = effects.len() >= LEAST_GROUPS && effects.iter().any(is_read);
                if is_law { &mut own } else { &mut others }.extend(effects);
                others.extend(rest);
            }
            if !own.is_empty() {
                found.rows.push(number);
                found.all.extend(own);
                found.others.extend(others);
            }
        }
        found
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

    fn with_effects(&self, kinds: Vec<Kind>, effects: Effects) -> Result<Patches, Unserved> {
        let Effects { all, rows, others } = effects;
        let dimension = self.dimension();
        let mut is_effect = vec![false; dimension];
        all.iter().for_each(|effect| is_effect[effect.choice as usize] = true);
        let (scales, scale_of) = scales(&all)?;
        let is_scale = |coordinate: u32| {
            let is_it = |scale: &Scale| matches!(scale, Scale::Coordinate { coordinate: c, .. } if *c == coordinate);
            scales.iter().any(is_it)
        };
        let own = |coordinate: &u32| !is_effect[*coordinate as usize] && !is_scale(*coordinate);
        let shared: Vec<u32> = (0..dimension as u32).filter(own).collect();
        let place = |coordinate: u32| shared.binary_search(&coordinate).ok();
        let rest = Terms::without(rows, (0..kinds.len()).collect());
        let of_others = |other: &Normal| {
            let scale = match other.scale {
                Scale::Coordinate { coordinate, .. } => Some(coordinate),
                Scale::Number(_) => None,
            };
            let mean = other.mean.0.iter().map(|(coordinate, _)| *coordinate);
            mean.chain(scale).any(|coordinate| is_effect[coordinate as usize])
        };
        if self.reads_any(&rest, &is_effect) || others.iter().any(of_others) {
            return Err(Unserved::NoPatches("something else hangs on the effects"));
        }
        let (locations, offsets) = locations(&all, shared.len(), &place)?;
        let numbers: FxHashMap<u32, u32> =
            all.iter().zip(0..).map(|(effect, number)| (effect.choice, number)).collect();
        let mut plates: Vec<(Members, PatchPlate)> = Vec::with_capacity(kinds.len());
        for kind in kinds {
            plates.push(plate(kind, &all, &numbers, &place)?);
        }
        plates.sort_by(|(a, _), (b, _)| a.cmp(b));
        let (mut starts, mut members, mut row) = (Vec::new(), Vec::<Members>::new(), 0);
        for (own, plate) in &mut plates {
            if members.last() != Some(own) {
                members.push(own.clone());
                starts.push(row);
            }
            plate.kind.first = row;
            row += plate.kind.rows();
        }
        starts.push(row);
        let has_zeta = |forms: &Forms| matches!(forms, Forms::One { zeta, .. } if !zeta.is_empty());
        let patches = Patches {
            is_wide: plates.iter().any(|(_, plate)| has_zeta(&plate.forms)),
            dimension,
            shared,
            own_patches: own_patches(&members, all.len()),
            effects: all.into_iter().map(|effect| effect.choice).collect(),
            scales,
            scale_of,
            locations,
            offsets,
            members,
            starts,
            plates: plates.into_iter().map(|(_, plate)| plate).collect(),
            rest,
            others,
            desk: PatchDesk::default(),
            z: Vec::new(),
        };
        match patches.is_wide() && !patches.is_simple() {
            true => Err(Unserved::NoPatches(
                "a row hangs on several effects and on several linear forms",
            )),
            false => Ok(patches),
        }
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

/// The location of each effect: coefficients of shared coordinates, and an offset.
fn locations(
    effects: &[Normal],
    shared: usize,
    place: &dyn Fn(u32) -> Option<usize>,
) -> Result<(Vec<f64>, Vec<f64>), Unserved> {
    let mut locations = vec![0.0; shared * effects.len()];
    for (g, effect) in effects.iter().enumerate() {
        for (coordinate, c) in &effect.mean.0 {
            let k = place(*coordinate);
            let k = k.ok_or(Unserved::NoPatches("effects hang on each other"))?;
            locations[g * shared + k] += c;
        }
    }
    Ok((locations, effects.iter().map(|effect| effect.mean.1).collect()))
}

/// The effects that the rows of a plate read, and how.
fn plate(
    kind: Kind,
    effects: &[Normal],
    numbers: &FxHashMap<u32, u32>,
    place: &dyn Fn(u32) -> Option<usize>,
) -> Result<(Members, PatchPlate), Unserved> {
    let read = coordinates(&kind).into_iter();
    let mut members: Members = read.filter_map(|c| numbers.get(&c).copied()).collect();
    members.sort_unstable();
    if members.len() > MOST_MEMBERS {
        return Err(Unserved::NoPatches("rows read too many effects"));
    }
    let choices: Vec<u32> = members.iter().map(|e| effects[*e as usize].choice).collect();
    let forms = forms(&kind, &choices, place)?;
    Ok((members, PatchPlate { kind, forms }))
}

/// The coordinates that rows of a kind read, each once.
fn coordinates(kind: &Kind) -> Vec<u32> {
    let forms = kind.curved.forms.iter();
    let mut all: Vec<u32> = forms.flat_map(|form| form.coordinates.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The different scales, and which each effect has.
fn scales(effects: &[Normal]) -> Result<(Vec<Scale>, Vec<u32>), Unserved> {
    let (mut scales, mut scale_of) = (Vec::<Scale>::new(), Vec::with_capacity(effects.len()));
    for effect in effects {
        let known = scales.iter().position(|scale| *scale == effect.scale);
        let number = known.unwrap_or_else(|| {
            scales.push(effect.scale);
            scales.len() - 1
        });
        scale_of.push(number as u32);
    }
    let coordinates = scales.iter().filter_map(|scale| match scale {
        Scale::Coordinate { coordinate, .. } => Some(*coordinate),
        Scale::Number(_) => None,
    });
    let mut coordinates: Vec<u32> = coordinates.collect();
    let all = coordinates.len();
    coordinates.sort_unstable();
    coordinates.dedup();
    match coordinates.len() == all {
        true => Ok((scales, scale_of)),
        false => Err(Unserved::NoPatches("effects have different scales that hang on one choice")),
    }
}

/// The only patch that reads an effect, where it reads no other.
fn own_patches(members: &[Members], effects: usize) -> Vec<Option<u32>> {
    let mut readers = vec![0; effects];
    let mut own = vec![None; effects];
    for (number, members) in members.iter().enumerate() {
        members.iter().for_each(|effect| readers[*effect as usize] += 1);
        if let [effect] = members[..] {
            own[effect as usize] = Some(number as u32);
        }
    }
    own.iter_mut().zip(readers).for_each(|(own, readers)| {
        own.take_if(|_| readers > 1);
    });
    own
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
    for (number, (leaf, column)) in rows.leaves().enumerate() {
        let numbers: Vec<Quantity> = match (column, rows.of_row(number, row)) {
            (Column::Data(_) | Column::Constant(_), Some(OfRow::Numbers(numbers))) => {
                numbers.iter().map(|x| Quantity::Data(*x)).collect()
            }
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

/// What each of some rows is, if all are normal choices.
fn normals(rows: &Rows, around: &Followed) -> Option<Vec<Normal>> {
    let op = normal(rows)?;
    let (x, [mean, sd]) = (op.x()[0], [op.args()[0], op.args()[1]]);
    let link = op.linked.map(|linked| (linked.place, linked.link));
    let of_row = |row: usize| {
        let known = followed(rows, row, around)?;
        let of = |register: Register| line(&known, register);
        let (choice, 0.0) = of(x)? else { return None };
        let [(choice, 1.0)] = choice[..] else { return None };
        let scale = match (link, of(sd)?) {
            (Some((1, Link::Log)), (line, offset)) => match line[..] {
                [] => Scale::Number(offset),
                [(coordinate, slope)] if slope != 0.0 => {
                    Scale::Coordinate { coordinate, slope, offset }
                }
                _ => return None,
            },
            (None, (line, sd)) if line.is_empty() && sd > 0.0 => Scale::Number(math::ln(sd)),
            _ => return None,
        };
        Some(Normal { choice, mean: of(mean)?, scale })
    };
    (0..rows.count()).map(of_row).collect()
}

/// How the forms of a plate hang on its effects.
fn forms(
    kind: &Kind,
    effects: &[u32],
    place: &dyn Fn(u32) -> Option<usize>,
) -> Result<Forms, Unserved> {
    let forms = &kind.curved.forms;
    if effects.len() == 1 && forms.iter().all(|form| form.coordinates == effects) {
        return Ok(Forms::OfEffect(forms.iter().map(|form| form.columns[0]).collect()));
    }
    let has_effect = |form: &&Form| form.coordinates.iter().any(|c| effects.contains(c));
    let (eta, other) = match &forms[..] {
        [_] => (0, None),
        [_, b] if !has_effect(&b) => (0, Some(b)),
        [a, _] if !has_effect(&a) => (1, Some(a)),
        _ => return Err(Unserved::NoPatches("a row hangs on several linear forms")),
    };
    let form = &forms[eta];
    let mut shared = Vec::with_capacity(form.coordinates.len());
    let mut zeta = Vec::new();
    let mut own: SmallVec<[Option<Register>; 2]> = effects.iter().map(|_| None).collect();
    let of_scale = Unserved::NoPatches("rows hang on the scale of the effects");
    for (coordinate, column) in form.coordinates.iter().zip(&form.columns) {
        match (place(*coordinate), effects.iter().position(|effect| effect == coordinate)) {
            (Some(k), _) => shared.push((k, *column)),
            (None, Some(slot)) => own[slot] = Some(*column),
            (None, None) => return Err(of_scale),
        }
    }
    for (coordinate, column) in other.iter().flat_map(|o| o.coordinates.iter().zip(&o.columns)) {
        zeta.push((place(*coordinate).ok_or_else(|| of_scale.clone())?, *column));
    }
    let own = own.into_iter().collect::<Option<_>>();
    let forms = own.map(|own| Forms::One { eta, shared, own, zeta });
    forms.ok_or(Unserved::NoPatches("rows read no effects"))
}
