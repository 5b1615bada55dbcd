//! Log densities of sections: all of them at one point, all of them at many points in one pass of the data, or a few.

use std::ops::Range;

use super::kind::Kind;
use super::{Desk, Taylor};
use crate::program::chunks::in_chunks;
use crate::program::rows::Product;
use crate::program::run::{NO_LINEAR, Store};
use crate::program::wide::Sum;
use crate::program::wide::lanes::WEIGHTS;

/// What rows come to that is no finite number.
struct Impossible;

impl Taylor {
    /// Σ_i l_i(z); −∞ if some row is impossible.
    pub fn log_sections(&mut self, z: &[f64]) -> f64 {
        let Some(globals) = self.globals(z) else { return f64::NEG_INFINITY };
        let Taylor { kinds, desks, threads, .. } = self;
        let mut total = 0.0;
        for (kind, globals) in kinds.iter().zip(&globals) {
            let rows = kind.scan.rows();
            let desks = Taylor::desks(desks, *threads, kind.rows());
            for desk in &mut *desks {
                rows.fit(&mut desk.store);
                rows.begin(&mut desk.store, globals);
            }
            let chunk = |places: Range<usize>, desk: &mut Desk| {
                let (mut sum, mut is_possible) = (Sum::default(), true);
                for start in places.clone().step_by(rows.stride()) {
                    let lanes = rows.stride().min(places.end - start);
                    let pick = kind.pick(start);
                    rows.load(&mut desk.store, globals, pick, lanes);
                    let rows_at = (pick, lanes);
                    is_possible &= rows.add_terms(&mut desk.store, globals, rows_at, &mut sum);
                }
                let total = Some(sum.total()).filter(|total| is_possible && total.is_finite());
                match total.unwrap_or_else(|| kind.total(globals, places, &mut desk.store)) {
                    total if total.is_finite() => Ok(total),
                    _ => Err(Impossible),
                }
            };
            let scanned = in_chunks(kind.rows(), desks, chunk, |log_p| total += log_p);
            if scanned.is_err() {
                return f64::NEG_INFINITY;
            }
        }
        total
    }

    /// Σ_i l_i at many points, in one pass of the data: a block of rows is read once, and its products with the weights of all
    /// points are one product of matrices.
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
        for (number, kind) in kinds.iter().enumerate() {
            let rows = kind.scan.rows();
            let points: Vec<&[f64]> = globals.iter().map(|kinds| &kinds[number][..]).collect();
            let products: Vec<(Product, Vec<f64>)> =
                rows.products().map(|product| (product, weights_of(product, &points))).collect();
            let program = rows.program_after_products();
            let desks = Taylor::desks(desks, *threads, kind.rows());
            desks.iter_mut().for_each(|desk| rows.fit(&mut desk.store));
            let chunk = |places: Range<usize>, desk: &mut Desk| -> Result<Vec<f64>, Impossible> {
                let mut sums = vec![(Sum::default(), true); points.len()];
                let stride = rows.stride();
                for start in places.clone().step_by(stride) {
                    let lanes = stride.min(places.end - start);
                    let pick = kind.pick(start);
                    let Desk { store, block, products: found, .. } = &mut *desk;
                    rows.load(store, points.first().copied().unwrap_or(&[]), pick, lanes);
                    found.resize(products.len(), Vec::new());
                    for ((product, weights), found) in products.iter().zip(&mut *found) {
                        rows.tiles_of_block(product.data, pick, lanes, block);
                        found.resize(points.len().next_multiple_of(WEIGHTS) * stride, 0.0);
                        let len = product.len as usize;
                        store.wide.linear_many(weights, block, len, stride, found);
                    }
                    for (z, ((sum, is_possible), globals)) in
                        sums.iter_mut().zip(&points).enumerate()
                    {
                        rows.begin(store, globals);
                        for ((product, _), found) in products.iter().zip(&*found) {
                            let lanes_of = store.lanes_mut(product.out, lanes);
                            lanes_of.copy_from_slice(&found[z * stride..z * stride + lanes]);
                        }
                        *is_possible &= store.add_terms(&program, lanes, &NO_LINEAR, sum);
                    }
                }
                let total = |((sum, is_possible), globals): ((Sum, bool), &&[f64])| {
                    let total = Some(sum.total()).filter(|x| is_possible && x.is_finite());
                    let places = places.clone();
                    total.unwrap_or_else(|| {
                        rows.begin(&mut desk.store, globals);
                        kind.total(globals, places, &mut desk.store)
                    })
                };
                Ok(sums.into_iter().zip(&points).map(total).collect())
            };
            let scanned = in_chunks(kind.rows(), desks, chunk, |found: Vec<f64>| {
                totals.iter_mut().zip(found).for_each(|(total, log_p)| *total += log_p);
            });
            debug_assert!(scanned.is_ok(), "what is impossible is known by its total");
        }
        for (place, total) in places.into_iter().zip(totals) {
            out[place] = if total.is_finite() { total } else { f64::NEG_INFINITY };
        }
    }
}

impl Kind {
    /// Σ of the rows at these places, row by row: where a sum comes to no finite number, this decides.
    fn total(&self, globals: &[f64], places: Range<usize>, store: &mut Store) -> f64 {
        let rows = self.scan.rows();
        let block = |start: usize| {
            let (pick, lanes) = (self.pick(start), rows.stride().min(places.end - start));
            rows.load(store, globals, pick, lanes);
            rows.value(store, globals, pick, lanes)
        };
        places.clone().step_by(rows.stride()).map(block).sum()
    }
}

/// The weights of a product at all points, in tiles as [`Wide::linear_many`](crate::program::wide::Wide::linear_many) reads them.
fn weights_of(product: Product, points: &[&[f64]]) -> Vec<f64> {
    let len = product.len as usize;
    let mut weights = vec![0.0; len * points.len().next_multiple_of(WEIGHTS)];
    for (z, globals) in points.iter().enumerate() {
        let cells = weights[z / WEIGHTS * len * WEIGHTS + z % WEIGHTS..].iter_mut();
        let first = product.weights as usize;
        let of_point = cells.step_by(WEIGHTS).zip(&globals[first..first + len]);
        of_point.for_each(|(cell, w)| *cell = *w);
    }
    weights
}
