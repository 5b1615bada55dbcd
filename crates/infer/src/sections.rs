//! Log weights from the sections of an open proposal, drawn without replacement.

use smallvec::SmallVec;
use smidgen_engine::{EvalError, Evaluator, Partition, Proposal};
use smidgen_value::Rng;

use crate::acceptance::LogWeights;
use crate::acceptance::shuffle::{LOT, Shuffle};

/// A scan of all sections weighs so many at a time.
const SCAN: usize = 1024;

/// The orders in which sections are drawn; kept between decisions for their buffers.
#[derive(Default)]
pub struct Orders {
    all: Shuffle,
    strata: Vec<Shuffle>,
}

pub struct Sections<'a, 't> {
    proposal: &'a mut Proposal<'t>,
    partition: &'a Partition,
    evaluator: &'a mut Evaluator,
    orders: &'a mut Orders,
    rng: &'a mut Rng,
}

impl<'a, 't> Sections<'a, 't> {
    pub fn new(
        proposal: &'a mut Proposal<'t>,
        partition: &'a Partition,
        evaluator: &'a mut Evaluator,
        orders: &'a mut Orders,
        rng: &'a mut Rng,
    ) -> Sections<'a, 't> {
        orders.all.begin(partition.places());
        orders.strata.clear();
        Sections { proposal, partition, evaluator, orders, rng }
    }

    fn weigh(&mut self, places: &[u32], weights: &mut Vec<f64>) -> Result<(), EvalError> {
        self.proposal.log_weights(self.partition, self.evaluator, places, weights)
    }
}

/// Log weights that come with a stream of their own for what must not change the chain.
pub trait Source: LogWeights {
    fn stream_aside(&mut self) -> Rng;
}

impl Source for Sections<'_, '_> {
    fn stream_aside(&mut self) -> Rng {
        Rng::for_chain(self.rng.seed(), 0)
    }
}

impl LogWeights for Sections<'_, '_> {
    fn draw(&mut self, n: usize, weights: &mut Vec<f64>) -> Result<(), EvalError> {
        let Sections { proposal, partition, evaluator, orders, rng } = self;
        let is_partial = partition.population() < partition.places();
        let mut more = n;
        while more > 0 {
            let mut places = orders.all.next_lot(more, rng);
            assert!(!places.is_empty(), "a test asks for no more than there is");
            let mut included: SmallVec<[u32; LOT]> = SmallVec::new();
            if is_partial {
                included.extend_from_slice(places);
                included.retain(|place| !partition.is_excluded(*place as usize));
                places = &included;
            }
            more -= places.len();
            proposal.log_weights(partition, evaluator, places, weights)?;
        }
        Ok(())
    }

    fn scan(&mut self, visit: &mut dyn FnMut(&[f64]) -> bool) -> Result<(), EvalError> {
        let (mut weights, mut places) = (Vec::new(), Vec::new());
        for first in (0..self.partition.places()).step_by(SCAN) {
            let lot = first..(first + SCAN).min(self.partition.places());
            places.clear();
            places.extend(
                lot.filter(|place| !self.partition.is_excluded(*place)).map(|place| place as u32),
            );
            weights.clear();
            self.weigh(&places, &mut weights)?;
            if !visit(&weights) {
                break;
            }
        }
        Ok(())
    }

    fn strata(&mut self) -> Vec<usize> {
        let sizes = self.partition.strata(self.proposal.trace());
        self.orders.strata.clear();
        self.orders.strata.extend(sizes.iter().map(|size| {
            let mut order = Shuffle::default();
            order.begin(*size);
            order
        }));
        sizes
    }

    fn draw_from(
        &mut self,
        stratum: usize,
        n: usize,
        weights: &mut Vec<f64>,
    ) -> Result<(), EvalError> {
        if let [_] = self.orders.strata[..] {
            return self.draw(n, weights);
        }
        let mut places: SmallVec<[u32; LOT]> = SmallVec::new();
        for _ in 0..n {
            let k = self.orders.strata[stratum].next(self.rng);
            let k = k.expect("a test asks for no more than there is");
            let place = self.partition.place_in_stratum(self.proposal.trace(), stratum, k);
            places.push(place as u32);
        }
        self.weigh(&places, weights)
    }
}
