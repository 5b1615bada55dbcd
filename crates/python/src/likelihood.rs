//! Log likelihoods of every unit of data in every draw, and what they say about models.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smidgen::draws::loo::{self, Compared, relative_efficiency};
use smidgen::draws::{Pointwise, States};
use smidgen::noted::split_rounds;
use smidgen::report::{loo_text, models_text};

use crate::result::{Numbers, Outcome};

#[pyclass(frozen, module = "smidgen._core")]
#[derive(Clone)]
pub struct Likelihood {
    found: Arc<Pointwise>,
    /// Of the draws that they were made from.
    efficiency: f64,
    /// Numbers of these draws, chain by chain.
    draws: Vec<Vec<usize>>,
}

impl Likelihood {
    pub fn new(
        found: Pointwise,
        outcome: &Outcome,
        states: &States,
        most: Option<usize>,
    ) -> Likelihood {
        let efficiency = relative_efficiency(&outcome.run().draws);
        let draws = smidgen::replay::places(states, most);
        Likelihood { found: Arc::new(found), efficiency, draws }
    }
}

#[pymethods]
impl Likelihood {
    /// (name, round in each loop) of the units.
    fn units(&self) -> Vec<(&str, Vec<i64>)> {
        self.found.names.iter().map(|name| split_rounds(name)).collect()
    }

    #[getter]
    fn draws(&self) -> Vec<Vec<usize>> {
        self.draws.clone()
    }

    /// All of them: (chain, draw, unit).
    fn numbers(&self, py: Python<'_>) -> Numbers {
        let (chains, units) = (&self.found.chains, self.found.names.len());
        let draws = chains.iter().map(Vec::len).min().unwrap_or(0);
        let data = py.detach(|| {
            let kept = chains.iter().flat_map(|chain| &chain[..draws]);
            kept.flatten().copied().collect::<Vec<f64>>()
        });
        Numbers::new(data.into(), vec![chains.len(), draws, units])
    }

    /// PSIS-LOO.
    fn loo(&self, py: Python<'_>) -> Loo {
        Loo { found: py.detach(|| loo::loo(&self.found, self.efficiency)) }
    }
}

/// How well a model predicts what it has not seen.
#[pyclass(frozen, module = "smidgen._core")]
#[derive(Clone)]
pub struct Loo {
    found: loo::Loo,
}

#[pymethods]
impl Loo {
    /// (elpd, its standard error, p_loo, draws, relative efficiency)
    fn numbers(&self) -> (f64, f64, f64, usize, f64) {
        let loo::Loo { elpd, se, p_loo, draws, efficiency, .. } = self.found;
        (elpd, se, p_loo, draws, efficiency)
    }

    /// (name, elpd, k_hat) of every unit.
    fn units(&self) -> Vec<(&str, f64, f64)> {
        self.found.units.iter().map(|unit| (unit.name.as_str(), unit.elpd, unit.k_hat)).collect()
    }

    fn largest_good_k(&self) -> f64 {
        self.found.largest_good_k()
    }

    fn warnings(&self) -> Vec<String> {
        self.found.warnings()
    }

    fn text(&self) -> String {
        loo_text(&self.found)
    }

    /// What [`Loo::from_parts`] makes it again from.
    fn parts(&self) -> Parts {
        let units = self.found.units.iter();
        let units = units.map(|unit| (unit.name.clone(), unit.elpd, unit.k_hat));
        (self.numbers(), units.collect())
    }

    #[staticmethod]
    fn from_parts(parts: Parts) -> Loo {
        let ((elpd, se, p_loo, draws, efficiency), units) = parts;
        let unit = |(name, elpd, k_hat)| loo::LooUnit { name, elpd, k_hat };
        let units = units.into_iter().map(unit).collect();
        Loo { found: loo::Loo { units, elpd, se, p_loo, draws, efficiency } }
    }
}

type Parts = ((f64, f64, f64, usize, f64), Vec<(String, f64, f64)>);

/// A row per model, the best first, (which, elpd, se, difference, its se, p_loo, weight), and the table as text.
type Ranking = (Vec<(usize, [f64; 6])>, String);

#[pyfunction]
pub fn compare_models(
    py: Python<'_>,
    names: Vec<String>,
    models: Vec<PyRef<'_, Loo>>,
) -> PyResult<Ranking> {
    let models: Vec<loo::Loo> = models.iter().map(|model| model.found.clone()).collect();
    py.detach(|| {
        let compared = loo::compare(&models)?;
        let text = models_text(&compared, &models, &names);
        let row = |row: &Compared| {
            let Compared { elpd, se, difference, difference_se, p_loo, weight, model } = *row;
            (model, [elpd, se, difference, difference_se, p_loo, weight])
        };
        Ok((compared.iter().map(row).collect(), text))
    })
    .map_err(|error: String| PyValueError::new_err(error))
}
