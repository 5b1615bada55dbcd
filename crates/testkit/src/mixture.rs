//! The paper's joint DPM with data of its own: a Dirichlet process mixture of Gaussians over the
//! features, with a logistic regression in each cluster.

use std::fmt::Write;

use smidgen_infer::proposer::standard_normal;
use smidgen_value::{Rng, Value, math};

use crate::world::World;

fn normals(n: usize, scale: f64, rng: &mut Rng) -> Vec<f64> {
    (0..n).map(|_| scale * standard_normal(rng)).collect()
}

/// A program with `n` rows of `d` features from `k` clusters, started at the clusters they are
/// from.
pub fn joint_dpm(n: usize, d: usize, k: usize, seed: u64) -> String {
    let mut rng = Rng::from_seed(seed);
    let mut text = format!(
        "[assume crp (make_crp 1)]
         [assume z (mem (lambda (i) (scope_include 'z i (crp))))]
         [assume w (mem (lambda (k) (scope_include 'w k (multivariate_diag_normal (zeros {p}) (fill {p} 2)))))]
         [assume cluster (mem (lambda (k) (make_collapsed_multivariate_normal (zeros {d}) 0.05 {v} (id_matrix {d}))))]
         [assume x (lambda (i) ((cluster (z i))))]
         [assume y (lambda (i x) (bernoulli (linear_logistic (w (z i)) x)))]\n",
        p = d + 1,
        v = d + 2,
    );
    let centres = normals(k * d, 4.0, &mut rng);
    let weights = normals(k * (d + 1), 2.0, &mut rng);
    for i in 0..n {
        let c = i % k;
        let noise = normals(d, 1.0, &mut rng);
        let x: Vec<String> =
            (0..d).map(|j| format!("{:?}", centres[c * d + j] + noise[j])).collect();
        let w = &weights[c * (d + 1)..];
        let eta = w[0] + (0..d).map(|j| w[j + 1] * noise[j]).sum::<f64>();
        let (x, y) = (x.join(" "), rng.uniform() < math::logistic(eta));
        writeln!(
            text,
            "[predict (z {i})] [force (z {i}) {}] [observe (x {i}) (vector {x})] [observe (y {i} (vector {x})) {y}]",
            c + 1
        )
        .expect("a string takes everything");
    }
    text
}

/// Live clusters.
pub fn clusters(world: &mut World) -> usize {
    world.model.scopes().number_of_blocks(&Value::symbol("w"))
}
