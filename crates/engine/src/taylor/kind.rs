//! Rows that compute the same, as a kind of sections: their value program as it is, and the same followed from the coordinates
//! to the log density ([`super::follow`]).
//!
//! The global part of the density, the prelude of a plate and the program of its rows are followed one after
//! the other; each reads what stands in registers of the one before.

use std::sync::Arc;

use super::Unserved;
use super::follow::{Followed, follow, needed};
use super::sheet::{Quantity, Sheet};
use crate::plate::{self, Members, RowProgram};
use crate::program::cells::Pick;
use crate::program::curved::Curved;
use crate::program::rows::{Column, Rows};
use crate::program::run::Store;
use crate::program::{Program, Register, Source};
use crate::smooth::Density;
use crate::smooth::plates::PlateTerm;

/// Sections of one kind.
pub(super) struct Kind {
    /// The number of its first section.
    pub first: usize,
    pub members: Members,
    pub scan: Scan,
    /// What no coordinate enters.
    pub data: Rows,
    pub curved: Curved,
}

/// How the rows are scanned for their values.
pub(super) enum Scan {
    Plate {
        program: Arc<RowProgram>,
        /// Where the numbers around it stand in the global part.
        registers: Vec<Register>,
    },
    Rows(Box<Rows>),
}

impl Scan {
    pub(super) fn rows(&self) -> &Rows {
        match self {
            Scan::Plate { program, .. } => &program.rows,
            Scan::Rows(rows) => rows,
        }
    }

    /// The registers of the global part that it reads.
    pub(super) fn reads(&self) -> Vec<Register> {
        match self {
            Scan::Plate { registers, .. } => registers.clone(),
            Scan::Rows(rows) => {
                let uniform = rows.leaves().filter_map(|(leaf, column)| match column {
                    Column::Uniform(first) => Some(*first..*first + leaf.len),
                    _ => None,
                });
                uniform.flatten().collect()
            }
        }
    }

    /// What the rows read, given the registers of the global part. None if it cannot be computed.
    pub(super) fn globals(&self, of_block: &[f64], prelude: &mut Store) -> Option<Vec<f64>> {
        let Scan::Plate { program, registers } = self else { return Some(of_block.to_vec()) };
        let numbers: Vec<f64> =
            registers.iter().map(|register| of_block[*register as usize]).collect();
        let count = program.prelude.registers as usize;
        plate::begin(&program.prelude, prelude, &numbers).then(|| prelude.values[..count].to_vec())
    }
}

impl Kind {
    pub(super) fn rows(&self) -> usize {
        self.members.len()
    }

    /// The row of the table at a place, and those from there on.
    pub(super) fn pick(&self, place: usize) -> Pick<'_> {
        self.members.pick(place)
    }

    pub(super) fn of_plate(density: &Density, term: &PlateTerm) -> Result<Kind, Unserved> {
        let (program, registers) = (term.plate.program.clone(), term.registers.clone());
        let scan = Scan::Plate { program, registers };
        Kind::new(density, scan, term.plate.members.clone())
    }

    /// None if the rows read different registers of the global part.
    pub(super) fn of_rows(density: &Density, rows: &Rows) -> Option<Result<Kind, Unserved>> {
        let members = Members::Range(0..rows.count() as u32);
        Some(Kind::new(density, Scan::Rows(Box::new(rows.with_own_cells()?)), members))
    }

    fn new(density: &Density, scan: Scan, members: Members) -> Result<Kind, Unserved> {
        let mut sheet = Sheet::default();
        let around = of_block(&mut sheet, density, &scan.reads())?;
        Kind::below(sheet, &around, scan, members)
    }

    /// A plate below a global part that has been followed for many, on this sheet.
    pub(super) fn of_plate_below(
        sheet: Sheet,
        around: &Followed,
        term: &PlateTerm,
    ) -> Result<Kind, Unserved> {
        let (program, registers) = (term.plate.program.clone(), term.registers.clone());
        let scan = Scan::Plate { program, registers };
        Kind::below(sheet, around, scan, term.plate.members.clone())
    }

    fn below(
        mut sheet: Sheet,
        around: &Followed,
        scan: Scan,
        members: Members,
    ) -> Result<Kind, Unserved> {
        let result = match &scan {
            Scan::Plate { program, registers } => {
                let around = of_prelude(&mut sheet, program, registers, around)?;
                of_rows(&mut sheet, scan.rows(), &around)?
            }
            Scan::Rows(rows) => of_rows(&mut sheet, rows, around)?,
        };
        let (data, curved) = sheet.finish(&result)?;
        Ok(Kind { first: 0, members, scan, data, curved })
    }
}

/// The registers of the global part of a density.
pub(super) fn of_block(
    sheet: &mut Sheet,
    density: &Density,
    reads: &[Register],
) -> Result<Followed, Unserved> {
    let program = &density.parts.globals.program();
    let needed = needed(program, reads);
    let mut known: Followed = vec![None; program.registers as usize];
    for leaf in &program.leaves {
        for k in 0..leaf.len {
            let register = (leaf.register + k) as usize;
            known[register] = Some(match leaf.source {
                Source::Input(first) => Quantity::coordinate(first + k),
                _ => Quantity::Data(density.parts.globals.values()[register]),
            });
        }
    }
    follow(sheet, program, &needed, &|_| Vec::new(), &mut known)?;
    Ok(known)
}

fn of_prelude(
    sheet: &mut Sheet,
    plate: &RowProgram,
    registers: &[Register],
    around: &Followed,
) -> Result<Followed, Unserved> {
    let program = &plate.prelude;
    let reads: Vec<Register> = plate
        .rows
        .leaves()
        .filter_map(|(leaf, column)| match column {
            Column::Uniform(first) => Some(*first..*first + leaf.len),
            _ => None,
        })
        .flatten()
        .collect();
    let needed = needed(program, &reads);
    let mut known: Followed = vec![None; program.registers as usize];
    for leaf in &program.leaves {
        for k in 0..leaf.len {
            known[(leaf.register + k) as usize] = match &leaf.source {
                Source::Input(first) => around[registers[(first + k) as usize] as usize].clone(),
                Source::Number(x) => Some(Quantity::Data(*x)),
                Source::Vector(xs) => Some(Quantity::Data(xs[k as usize])),
                _ => unreachable!("the prelude reads the nodes around it and constants"),
            };
        }
    }
    follow(sheet, program, &needed, &|_| Vec::new(), &mut known)?;
    Ok(known)
}

/// The sum of the terms of a row.
pub(super) fn of_rows(
    sheet: &mut Sheet,
    rows: &Rows,
    around: &Followed,
) -> Result<Quantity, Unserved> {
    let program: &Program = rows.program();
    let mut leaves: Vec<Vec<Quantity>> = Vec::with_capacity(program.leaves.len());
    let mut known: Followed = vec![None; program.registers as usize];
    for (leaf, column) in rows.leaves() {
        let numbers: Vec<Quantity> = match column {
            Column::Uniform(first) => (*first..*first + leaf.len)
                .map(|register| around[register as usize].clone())
                .collect::<Option<_>>()
                .expect("what rows read is followed"),
            Column::Constant(numbers) => numbers.iter().map(|x| Quantity::Data(*x)).collect(),
            Column::Cells(cells) => sheet.cells(cells, leaf.len),
            // Those that nothing reads are brought by nobody.
            Column::Lanes if leaf.register == Register::MAX => Vec::new(),
            Column::Lanes => sheet.lanes(leaf.len),
            Column::Run(_) | Column::Data(_) | Column::Gather(_) => {
                unreachable!("rows have their own cells")
            }
        };
        if leaf.register != Register::MAX {
            for (k, number) in numbers.iter().enumerate() {
                known[leaf.register as usize + k] = Some(number.clone());
            }
        }
        leaves.push(numbers);
    }
    let needed = needed(program, &program.terms);
    follow(sheet, program, &needed, &|leaf| leaves[leaf as usize].clone(), &mut known)?;
    program.terms.iter().try_fold(Quantity::Data(0.0), |sum, term| {
        let term = known[*term as usize].clone().expect("terms are followed");
        sheet.add(&sum, &term)
    })
}
