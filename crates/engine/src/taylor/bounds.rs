//! c_i with |R_i(z)| ≤ c_i ρ³ in the whole ball, by Lagrange's form of the remainder along the way from the centre: a third
//! derivative that nowhere exceeds a3 gives c = a3/6.

use std::ops::Range;

use super::{Desk, Taylor};
use crate::program::chunks::in_chunks;
use crate::program::rows::BLOCK;
use crate::program::run::bounds::Ball;

/// What the arithmetic of bounds and remainders may be wrong by.
const ROUNDING: f64 = 1.0 + 1e-6;

/// The columns of a lower factor that is given row by row, one after the other.
pub(super) fn columns_of(factor: &[f64], d: usize) -> Vec<f64> {
    let mut columns = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..=i {
            columns[j * d + i] = factor[i * d + j];
        }
    }
    columns
}

/// c, given the largest third derivative in the ball.
pub(super) fn of_third(third: f64) -> f32 {
    round_up(third / 6.0 * ROUNDING)
}

impl Taylor {
    /// c_i of every section for the ball of this radius around `z_ref` in the coordinates w, z = z_ref + L w, with the lower
    /// factor L row by row; rounded up, and infinite where there is no bound.
    pub fn bounds(&mut self, z_ref: &[f64], factor: &[f64], radius: f64, out: &mut Vec<f32>) {
        let d = self.dimension;
        let columns = columns_of(factor, d);
        let ball = Ball { centre: z_ref, columns: &columns, radius };
        out.clear();
        out.reserve(self.rows);
        let Taylor { kinds, desks, threads, .. } = self;
        for kind in kinds.iter() {
            let desks = Taylor::desks(desks, *threads, kind.rows());
            for desk in &mut *desks {
                kind.data.fit(&mut desk.store);
                kind.data.begin(&mut desk.store, &[]);
                desk.enclosures.fit(&kind.curved, d);
                desk.enclosures.begin(&kind.curved, &desk.store, &ball);
            }
            let chunk = |places: Range<usize>, desk: &mut Desk| -> Result<Vec<f32>, ()> {
                let mut bounds = Vec::with_capacity(places.len());
                let mut third = [0.0; BLOCK];
                for start in places.clone().step_by(BLOCK) {
                    let lanes = BLOCK.min(places.end - start);
                    kind.data.load(&mut desk.store, &[], kind.pick(start), lanes);
                    kind.data.run(&mut desk.store, lanes);
                    let Desk { store, enclosures, .. } = &mut *desk;
                    enclosures.run(&kind.curved, store, &ball, &mut third[..lanes]);
                    bounds.extend(third[..lanes].iter().map(|third| of_third(*third)));
                }
                Ok(bounds)
            };
            let scanned = in_chunks(kind.rows(), desks, chunk, |bounds| out.extend(bounds));
            debug_assert!(scanned.is_ok(), "there is no failure");
        }
    }
}

/// The least single that is not below.
fn round_up(x: f64) -> f32 {
    let single = x as f32;
    if f64::from(single) < x { single.next_up() } else { single }
}
