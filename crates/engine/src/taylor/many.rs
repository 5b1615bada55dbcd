//! Log densities of all sections at many points, in one pass of the data: a block of rows is read once, and its products with the
//! weights of all points are one product of matrices.

use std::ops::Range;

use super::kind::Kind;
use super::values::Impossible;
use super::{Desk, Taylor};
use crate::program::chunks::in_chunks;
use crate::program::rows::{Product, Rows};
use crate::program::run::NO_LINEAR;
use crate::program::wide::Sum;
use crate::program::wide::lanes::WEIGHTS;
use crate::program::{Program, Register};

impl Taylor {
    /// Σ_i l_i at many points.
    pub fn log_sections_of_many(&mut self, zs: &[&[f64]], out: &mut [f64]) {
        // Where something cannot be computed for all rows, nothing is computed.
        let mut globals: Vec<Vec<Vec<f64>>> = Vec::with_capacity(zs.len());
        let mut places = Vec::with_capacity(zs.len());
        out.fill(f64::NEG_INFINITY);
        for (place, z) in zs.iter().enumerate() {
            if let Some(of_kinds) = self.globals(z) {
                globals.push(of_kinds);
                places.push(place);
            }
        }
        let mut totals = vec![0.0; places.len()];
        let Taylor { kinds, desks, threads, .. } = self;
        for (number, kind) in kinds.iter().enumerate().filter(|_| !places.is_empty()) {
            let points = globals.iter().map(|kinds| &kinds[number][..]).collect();
            let many = Many::new(kind, points);
            let desks = Taylor::desks(desks, *threads, kind.rows());
            desks.iter_mut().for_each(|desk| kind.scan.rows().fit(&mut desk.store));
            let chunk = |places: Range<usize>, desk: &mut Desk| Ok(many.totals(places, desk));
            let add = |found: Vec<f64>| {
                totals.iter_mut().zip(found).for_each(|(total, log_p)| *total += log_p);
            };
            let scanned: Result<(), Impossible> = in_chunks(kind.rows(), desks, chunk, add);
            debug_assert!(scanned.is_ok(), "what is impossible is known by its total");
        }
        for (place, total) in places.into_iter().zip(totals) {
            out[place] = if total.is_finite() { total } else { f64::NEG_INFINITY };
        }
    }
}

/// Sections of one kind, and all points that they are weighed at.
struct Many<'a> {
    kind: &'a Kind,
    points: Vec<&'a [f64]>,
    /// The products, each with the weights of all points.
    products: Vec<(Product, Vec<f64>)>,
    /// What is left to do.
    program: Program,
    /// The outcomes, if all that is left are coins whose log odds are the one product.
    coins: Option<Register>,
}

impl<'a> Many<'a> {
    fn new(kind: &'a Kind, points: Vec<&'a [f64]>) -> Many<'a> {
        let rows = kind.scan.rows();
        let products: Vec<(Product, Vec<f64>)> = rows
            .products()
            .map(|product| {
                let weights = weights_of(&product, &points);
                (product, weights)
            })
            .collect();
        let program = rows.program_after_products();
        let coins = match &products[..] {
            [(product, _)] => program.coins_of(product.out).filter(|x| rows.is_of_rows(*x)),
            _ => None,
        };
        Many { kind, points, products, program, coins }
    }

    /// Σ of the rows at these places at every point.
    fn totals(&self, places: Range<usize>, desk: &mut Desk) -> Vec<f64> {
        let rows = self.kind.scan.rows();
        let mut sums = vec![(Sum::default(), true); self.points.len()];
        rows.begin(&mut desk.store, self.points[0]);
        for start in places.clone().step_by(rows.stride()) {
            let lanes = rows.stride().min(places.end - start);
            let pick = self.kind.pick(start);
            rows.load(&mut desk.store, self.points[0], pick, lanes);
            let Desk { store, block, products: found, .. } = &mut *desk;
            found.resize(self.products.len(), Vec::new());
            for ((product, weights), found) in self.products.iter().zip(&mut *found) {
                let tiles = rows.tiles_of_block(product.data, pick, lanes, block);
                found.resize(self.points.len().next_multiple_of(WEIGHTS) * rows.stride(), 0.0);
                let shape = [product.len as usize, rows.stride()];
                store.wide.linear_many(weights, tiles, shape, found);
            }
            match self.coins {
                Some(x) => {
                    for ((sum, _), eta) in sums.iter_mut().zip(found[0].chunks(rows.stride())) {
                        store.add_coins(x, &eta[..lanes], sum);
                    }
                }
                None => self.add_terms(rows, lanes, desk, &mut sums),
            }
        }
        let total = |((sum, is_possible), globals): ((Sum, bool), &&[f64])| {
            let total = Some(sum.total()).filter(|x| is_possible && x.is_finite());
            total.unwrap_or_else(|| {
                rows.begin(&mut desk.store, globals);
                self.kind.total(globals, places.clone(), &mut desk.store)
            })
        };
        sums.into_iter().zip(&self.points).map(total).collect()
    }

    /// Adds what the rest of the program makes of the products of a block.
    fn add_terms(&self, rows: &Rows, lanes: usize, desk: &mut Desk, sums: &mut [(Sum, bool)]) {
        let Desk { store, products: found, .. } = desk;
        let stride = rows.stride();
        for (z, ((sum, is_possible), globals)) in sums.iter_mut().zip(&self.points).enumerate() {
            rows.begin(store, globals);
            for ((product, _), found) in self.products.iter().zip(&*found) {
                let lanes_of = store.lanes_mut(product.out, lanes);
                lanes_of.copy_from_slice(&found[z * stride..z * stride + lanes]);
            }
            *is_possible &= store.add_terms(&self.program, lanes, &NO_LINEAR, sum);
        }
    }
}

/// The weights of a product at all points, in tiles as [`Wide::linear_many`](crate::program::wide::Wide::linear_many) reads them: those of
/// the row's numbers, and what is added to the sum.
fn weights_of(product: &Product, points: &[&[f64]]) -> Vec<f64> {
    let len = product.len as usize;
    let first = product.weights as usize;
    let mut weights = vec![0.0; (len + 1) * points.len().next_multiple_of(WEIGHTS)];
    for (z, globals) in points.iter().enumerate() {
        let plus = product.plus.map_or(0.0, |register| globals[register as usize]);
        let cells = weights[z / WEIGHTS * (len + 1) * WEIGHTS + z % WEIGHTS..].iter_mut();
        let of_point = globals[first..first + len].iter().chain(std::iter::once(&plus));
        cells.step_by(WEIGHTS).zip(of_point).for_each(|(cell, w)| *cell = *w);
    }
    weights
}
