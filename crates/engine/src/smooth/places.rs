//! Where things stand: choices among the coordinates, and numbers among the registers.

use rustc_hash::FxHashMap;

use super::compile::{Compiled, Compiler, Failure, Placed};
use super::order::{self, Arranged};
use super::plates::PlateTerm;
use super::position::{Coordinates, with_numbers};
use super::{Parts, Standard};
use crate::program::marked::{self, Marked};
use crate::program::rows::RowsBuilder;
use crate::program::{Leaf, Register, Source};
use crate::trace::node::Op as NodeOp;

impl Compiler<'_> {
    /// Lets the global part run in waves, and everything else read its registers where they are then.
    pub(super) fn arrange(
        &mut self,
        mut coordinates: Vec<Coordinates>,
        dimension: usize,
        mut plates: Vec<PlateTerm>,
    ) -> Compiled<Parts> {
        let mut builders = std::mem::take(&mut self.rows);
        let runs: Vec<(Register, u32)> = builders.iter().flat_map(RowsBuilder::runs).collect();
        let starts = self.starts();
        let Arranged { waves: globals, names, runs: places } =
            order::arrange(std::mem::take(&mut self.globals), &runs);
        let places: FxHashMap<(Register, u32), Register> = runs.into_iter().zip(places).collect();
        let mut rows = Vec::with_capacity(builders.len());
        for mut builder in builders.drain(..) {
            builder.rename(|run| places.get(&run).copied().unwrap_or_else(|| names.of(run.0)));
            rows.push(builder.finish(self.trace)?);
        }
        plates.iter_mut().for_each(|plate| plate.rename(|register| names.of(register)));
        for at in &mut coordinates {
            // Coordinates are the first registers, in their order. A choice may have none.
            if at.size > 0 {
                at.first = names.of(starts[&(at.first as u32)]) as usize;
            }
            at.value = with_numbers(&at.value, |x| match marked::read(x) {
                Marked::Global(register) => marked::global(names.of(register)),
                _ => x,
            });
        }
        coordinates.sort_unstable_by_key(|coordinates| coordinates.first);
        let new = |registers: &[Register]| registers.iter().map(|r| names.of(*r)).collect();
        let standard = Standard::new(new(&self.locations), new(&self.scales));
        let (pinned, watched) =
            (std::mem::take(&mut self.pinned), std::mem::take(&mut self.watched));
        let is_plain = coordinates.iter().all(|at| at.is_plain(dimension));
        Ok(Parts {
            coordinates,
            dimension,
            is_plain,
            globals,
            rows,
            plates,
            pinned,
            watched,
            standard,
        })
    }

    /// The registers of the coordinates, by the first coordinate of each choice.
    fn starts(&self) -> FxHashMap<u32, Register> {
        let start = |leaf: &Leaf| match leaf.source {
            Source::Input(first) if leaf.len > 0 => Some((first, leaf.register)),
            _ => None,
        };
        self.globals.leaves.iter().filter_map(start).collect()
    }

    /// Gives the choices of the block their places among the coordinates, those that hang on fewest others first, so that
    /// what is computed alike stands side by side; says how many there are.
    pub(super) fn place_choices(&mut self) -> Compiled<usize> {
        let mut depths = vec![0u32; self.scaffold.target.len()];
        let mut choices = Vec::new();
        for (place, id) in self.scaffold.target.iter().enumerate() {
            let node = self.trace.node(*id);
            let args = node.args.iter().filter_map(|arg| arg.operand.node());
            let above = args.filter_map(|arg| self.places.get(&arg));
            let is_random = node.is_random();
            let depth = above.map(|place| depths[*place as usize]).max().unwrap_or(0);
            depths[place] = depth + u32::from(is_random);
            if is_random {
                choices.push((depth, place));
            }
        }
        choices.sort_unstable();
        let mut first = 0;
        for (_, place) in choices {
            let id = self.scaffold.target[place];
            let NodeOp::Random(distribution) = self.trace.node(id).op else {
                unreachable!("checked before")
            };
            self.trace.refresh_arguments(id)?;
            let Some(size) = self.support(id, distribution)?.dimension() else {
                let name = distribution.spec().name;
                return Err(Failure::At(id, format!("{name} is not continuous")));
            };
            self.placed.insert(id, Placed { first, size, standardised: None });
            first += size;
        }
        Ok(first)
    }
}
