//! Sections of nodes that compute the same, for Taylor polynomials: what their leaves are, and the way from the coordinates to
//! the log density.

use std::ops::Range;

use super::NotKept;
use crate::id::NodeId;
use crate::program::Register;
use crate::program::curved::Curved;
use crate::program::rows::{BLOCK, Rows};
use crate::program::run::bounds::Ball;
use crate::program::run::remainder::{Points, Rest};
use crate::section::lanes::{SectionProgram, Unfixed};
use crate::taylor::follow::Followed;
use crate::taylor::kind::of_rows;
use crate::taylor::sheet::{Quantity, Sheet};
use crate::taylor::sums::{Sums, Tally};
use crate::taylor::{Desk, Unserved};
use crate::trace::Trace;

/// Sections of one kind.
pub(super) struct MemberKind {
    /// Its number among those of the rosters.
    pub number: u32,
    program: SectionProgram,
    /// What no coordinate enters.
    data: Rows,
    curved: Curved,
    /// Where each number of a section goes, if anything reads it.
    registers: Vec<Option<Register>>,
    /// The numbers of all sections, place by place.
    numbers: Vec<f64>,
    /// Places that nobody has.
    free: Vec<u32>,
    /// Sums of the terms at the centre.
    pub kept: Tally,
}

impl MemberKind {
    /// From one of its sections.
    pub fn new(
        trace: &Trace,
        (hub, dimension): (NodeId, usize),
        number: u32,
        nodes: &[NodeId],
    ) -> Result<MemberKind, NotKept> {
        let no_program = || NotKept::Unserved(Unserved::NoRule("a section".to_owned()));
        let program = SectionProgram::write(trace, hub, nodes).ok_or_else(no_program)?;
        let rows = program.rows().ok_or_else(no_program)?;
        let hub: Followed = (0..dimension as u32).map(|k| Some(Quantity::coordinate(k))).collect();
        let mut sheet = Sheet::default();
        let result = of_rows(&mut sheet, rows, &hub).map_err(NotKept::Unserved)?;
        let (data, curved) = sheet.finish(&result).map_err(NotKept::Unserved)?;
        let of_leaves = data.lanes_of_leaves().zip(program.lengths());
        let mut registers = Vec::new();
        for (first, len) in of_leaves {
            let is_read = first != Register::MAX;
            registers.extend((0..len as Register).map(|k| is_read.then(|| first + k)));
        }
        let (numbers, free, kept) = (Vec::new(), Vec::new(), Tally::new(&curved));
        Ok(MemberKind { number, program, data, curved, registers, numbers, free, kept })
    }

    pub fn clear(&mut self) {
        self.numbers.clear();
        self.free.clear();
        self.kept = self.nothing();
    }

    /// Sums of no terms.
    pub fn nothing(&self) -> Tally {
        Tally::new(&self.curved)
    }

    /// The numbers of a section.
    pub fn read(
        &mut self,
        trace: &Trace,
        nodes: &[NodeId],
        out: &mut Vec<f64>,
    ) -> Result<(), NotKept> {
        out.clear();
        self.program.read_fixed(trace, nodes, out).map_err(|unfixed| match unfixed {
            Unfixed::Form => NotKept::Form,
            Unfixed::Moves(node) => NotKept::moves(trace, node),
        })
    }

    /// Gives numbers a place.
    pub fn put(&mut self, numbers: &[f64]) -> u32 {
        let width = self.registers.len();
        let Some(place) = self.free.pop() else {
            self.numbers.extend_from_slice(numbers);
            return match width {
                0 => 0,
                _ => (self.numbers.len() / width) as u32 - 1,
            };
        };
        let range = self.range(place);
        self.numbers[range].copy_from_slice(numbers);
        place
    }

    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    fn range(&self, place: u32) -> Range<usize> {
        let width = self.registers.len();
        place as usize * width..(place as usize + 1) * width
    }

    pub fn holds(&self, place: u32, numbers: &[f64]) -> bool {
        let known = self.numbers[self.range(place)].iter().zip(numbers);
        known.into_iter().all(|(a, b)| a.to_bits() == b.to_bits())
    }

    /// Brings sections into the lanes.
    fn load(&self, desk: &mut Desk, places: &[u32]) {
        for (lane, place) in places.iter().enumerate() {
            let numbers = &self.numbers[self.range(*place)];
            for (register, x) in self.registers.iter().zip(numbers) {
                if let Some(register) = register {
                    desk.store.put(*register, lane, *x);
                }
            }
        }
        self.data.run(&mut desk.store, places.len());
    }

    fn begin(&self, desk: &mut Desk) {
        self.data.fit(&mut desk.store);
        self.data.begin(&mut desk.store, &[]);
    }

    /// The sums of the terms of some sections at a point.
    pub fn tally(&self, desk: &mut Desk, z: &[f64], places: &[u32]) -> Tally {
        let mut tally = Tally::new(&self.curved);
        self.begin(desk);
        desk.jets.fit(&self.curved);
        desk.jets.begin(&self.curved, &desk.store, z);
        for places in places.chunks(BLOCK) {
            self.load(desk, places);
            desk.jets.run(&self.curved, &desk.store, z, places.len());
            tally.count(desk, &self.curved, places.len());
        }
        tally
    }

    /// Adds sums of terms, times a factor.
    pub fn spread(&self, tally: &Tally, factor: f64, sums: &mut Sums) {
        tally.spread(&self.curved, factor, sums);
    }

    /// The largest third derivatives of some sections in a ball.
    pub fn thirds(&self, desk: &mut Desk, ball: &Ball<'_>, places: &[u32], out: &mut Vec<f64>) {
        self.begin(desk);
        desk.enclosures.fit(&self.curved, ball.centre.len());
        desk.enclosures.begin(&self.curved, &desk.store, ball);
        let mut third = [0.0; BLOCK];
        for places in places.chunks(BLOCK) {
            self.load(desk, places);
            let Desk { store, enclosures, .. } = &mut *desk;
            let third = &mut third[..places.len()];
            enclosures.run(&self.curved, store, ball, third);
            out.extend_from_slice(third);
        }
    }

    /// What the polynomial of second order at the centre leaves of a section, at two points.
    pub fn remainder(&self, desk: &mut Desk, points: &Points<'_>, place: u32) -> [f64; 2] {
        self.begin(desk);
        self.load(desk, &[place]);
        let mut found = [[Rest::default(); 2]];
        let Desk { store, rests, .. } = desk;
        rests.run(&self.curved, store, points, &mut found);
        found[0].map(|rest| rest.beyond)
    }
}
