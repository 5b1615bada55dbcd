//! Procedures with statistics in random programs: collapsed models and mixtures.

use super::numbers;
use super::subject::Line;
use super::writer::Writer;

impl Writer {
    /// Procedures with statistics.
    pub(super) fn made(&mut self) {
        let (a, s) = (self.real(), self.positive_choice());
        let (maker, outcomes): (String, &[&str]) = match self.rng.below(4) {
            0 => (format!("(make_beta_bernoulli {s} 1)"), &["true", "false", "true"]),
            1 => (format!("(make_uc_beta_bernoulli {s} 1)"), &["true", "false"]),
            2 => (format!("(make_nig_normal {a} 1 3 {s})"), &["0.3", "1e5", "-2"]),
            _ => return self.mixture(),
        };
        let made = self.assume("f", maker);
        let unobserved = self.assume("x", format!("({made})"));
        for value in outcomes {
            let value = (*value).to_owned();
            self.lines.push(Line::Observe { expr: format!("({made})"), value });
        }
        let s = self.positive();
        let expr = format!("(normal (* 2 {unobserved}) {s})");
        self.lines.push(Line::Observe { expr, value: "0.7".to_owned() });
    }

    /// A mixture whose clusters come and go.
    fn mixture(&mut self) {
        let s = self.positive_choice();
        let crp = self.assume("crp", format!("(make_crp {s})"));
        let z = self.assume("z", format!("(mem (lambda (i) ({crp})))"));
        let cluster = match self.coin() {
            true => {
                "(mem (lambda (k) (make_collapsed_multivariate_normal (zeros 2) 0.05 4 (id_matrix 2))))"
            }
            false => "(mem (lambda (k) (make_nig_normal 0 1 3 1)))",
        };
        let is_vector = cluster.contains("multivariate");
        let cluster = self.assume("cluster", cluster.to_owned());
        let w = self.assume(
            "w",
            "(mem (lambda (k) (multivariate_diag_normal (zeros 2) (fill 2 1.5))))".to_owned(),
        );
        for i in 0..4 {
            self.predict(format!("({w} ({z} {i}))"));
            let [a, b, x] = [0; 3].map(|_| numbers::covariate(&mut self.rng, self.range));
            let value = if is_vector { format!("(vector {a:?} {b:?})") } else { format!("{a:?}") };
            self.lines.push(Line::Observe { expr: format!("(({cluster} ({z} {i})))"), value });
            let expr = format!("(bernoulli (linear_logistic ({w} ({z} {i})) (vector {x:?})))");
            let value = self.rng.below(2).to_string();
            self.lines.push(Line::Observe { expr, value });
        }
    }
}
