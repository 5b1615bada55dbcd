//! Distribution functions against values of 17 digits from mpmath (the program is at the end of this file), deep in both tails; their
//! slopes against differences; quantiles as inverses.

#[path = "smooth/difference.rs"]
#[allow(dead_code)]
mod difference;
mod distributions_common;

use difference::{Tally, agrees};
use distributions_common::Call;
use smidgen_prob::cumulative::{self, Side};
use smidgen_prob::distributions::ALL;
use smidgen_prob::law::Inner;
use smidgen_prob::{Builtin, Score, lookup};
use smidgen_value::{Symbol, Value, math};

/// A law with its arguments | a value | log P(X <= x) | log P(X > x).
const TABLE: &str = "
normal 0 1 | 0.5 | -0.36894641528865639 | -1.1759117615936186
normal 0 1 | -40 | -804.60844201375379 | 0.0
normal 3 2 | 60 | 0.0 | -410.3950700020256
lognormal 0 1 | 2 | -0.2798575583395914 | -1.4101420880058386
lognormal 1 0.5 | 1e-5 | -317.28704561707215 | 0.0
lognormal 1 0.5 | 1e5 | 0.0 | -225.01014422466934
half_normal 2 | 0.001 | -7.8266938538534757 | -0.00039902186241463005
half_normal 2 | 1 | -0.95991633369562232 | -0.4827645810336733
half_normal 2 | 50 | 0.0 | -315.94626082746031
cauchy 0 1 | 1e10 | -3.1830988618885673e-11 | -24.170580815789857
cauchy 0 1 | -1e10 | -24.170580815789857 | -3.1830988618885673e-11
cauchy 1 3 | 2 | -0.50680640773083129 | -0.92235000814106046
half_cauchy 2 | 1e-8 | -19.565410629801766 | -3.1830988669039659e-9
half_cauchy 2 | 1e8 | -1.2732395528408573e-8 | -18.179116268681875
half_cauchy 2 | 3 | -0.46893873024719157 | -0.98260660858078205
laplace 0 1 | -60 | -60.693147180559945 | -4.3782553813482602e-27
laplace 0 1 | 30 | -4.6788114844201968e-14 | -30.693147180559945
laplace 1 2 | 1.5 | -0.49331383991265334 | -0.94314718055994531
logistic_dist 0 1 | -60 | -60.0 | -8.7565107626965203e-27
logistic_dist 1 2 | 40 | -3.3982678137209592e-9 | -19.500000003398268
gumbel 0 1 | -4 | -54.598150033144239 | -1.9423376049564018e-24
gumbel 0 1 | 30 | -9.3576229688401746e-14 | -30.000000000000047
gumbel 1 2 | 1.5 | -0.77880078307140487 | -0.61425480067394382
expon 2 | 1e-9 | -20.030118657386466 | -2.0000000000000001e-9
expon 2 | 20 | -4.248354255291589e-18 | -40.0
expon 2 | 0.5 | -0.45867514538708189 | -1.0
weibull 1.5 2 | 0.001 | -11.401359279477859 | -1.1180339887498949e-5
weibull 1.5 2 | 30 | -5.8853265325262571e-26 | -58.094750193111253
weibull 0.5 2 | 3 | -0.34790303824220904 | -1.224744871391589
pareto 2 3 | 2.0000001 | -15.712630644486731 | -1.4999999600451331e-7
pareto 2 3 | 1e5 | -8.000000000000032e-15 | -32.459334853230849
pareto 2 0.5 | 3 | -1.6955219791146437 | -0.20273255405408219
uniform_continuous -1 3 | 2.5 | -0.13353139262452262 | -2.0794415416798359
gamma 2 3 | 0.5 | -0.81605045312010444 | -0.58370926812584493
gamma 2 3 | 1e-6 | -26.126945719152024 | -4.4999910000202495e-12
gamma 2 3 | 30 | -7.456551487831369e-38 | -85.48914049348315
gamma 0.05 1 | 1e-10 | -1.1244394739995246 | -0.39279742485810595
gamma 0.05 1 | 3 | -0.00071616181386692961 | -7.2419624790528678
gamma 1000 1 | 1000 | -0.68477186329031015 | -0.7015932366459725
gamma 1000 1 | 700 | -59.85147851292524 | -1.0158583345333216e-26
gamma 1000 1 | 1400 | -8.0413254081848296e-30 | -66.992958868452772
chi_squared 3 | 40 | -1.0655090391021336e-8 | -18.357228093322351
chi_squared 3 | 0.01 | -8.2351580630252492 | -0.00026520022112581878
inv_gamma 3 2 | 0.05 | -33.26540834002705 | -3.5728659287002403e-15
inv_gamma 3 2 | 100 | -1.3134933108726355e-6 | -13.542820977178285
inv_gamma 3 2 | 1 | -0.39056208756589963 | -1.1291016497509286
beta 2 3 | 0.4 | -0.64473804135225769 | -0.74401951093370196
beta 2 3 | 1e-8 | -35.049602032010009 | -5.9999999200000024e-16
beta 2 3 | 0.99999 | -3.9999699999453962e-15 | -33.152489533832573
beta 0.1 0.2 | 0.5 | -0.39962599480538966 | -1.1103938073144924
beta 500 300 | 0.55 | -11.665952339033712 | -8.5811034244491475e-6
beta 500 300 | 0.7 | -2.9984674823489665e-6 | -12.717410738269348
beta_mean 0.25 8 | 0.5 | -0.064538521137571172 | -2.7725887222397812
beta_mean 0.25 8 | 1e-4 | -15.37649164511751 | -2.0993003253446779e-7
student_t 4 | 2 | -0.059811855318935194 | -2.8463082595453687
student_t 4 | -1000 | -26.532415493914327 | -2.9999800001094994e-12
student_t 1.5 1 2 | 1e6 | -1.0665597306175307e-9 | -20.658827573913807
student_t 300 | -12 | -62.021754838274291 | -1.1595623768080665e-27
student_t 0.5 0 3 | 0.125 | -0.6709419978932797 | -0.71585665238768086
student_t 4 | -1e200 | -1840.9694621065684 | 0.0
student_t 0.5 0 3 | 1e200 | -5.5547038345433145e-101 | -230.84644928584204
student_t 1 | -1e300 | -691.92025778406311 | -3.1830988618379065e-301
half_student_t 3 2 | 1e-200 | -461.51790744843265 | -3.6755259694786136e-201
half_student_t 3 2 | 1e250 | 0.0 | -1724.0685075842499
half_student_t 3 2 | 0.001 | -7.9086441841611997 | -0.0003676201405325869
half_student_t 3 2 | 4 | -0.15003943922238093 | -1.9709389937556661
half_student_t 3 2 | 1e5 | -1.7642524628092266e-14 | -31.668464235066304
inverse_gaussian 1 3 | 0.5 | -1.8422697175916272 | -0.17251860017613797
inverse_gaussian 1 3 | 0.02 | -74.767280688349024 | -3.3805126867221594e-33
inverse_gaussian 1 3 | 20 | -8.5845961830077693e-15 | -32.388806939173924
inverse_gaussian 2 0.5 | 10 | -0.038116052949744106 | -3.28611724080237
truncated_normal 0 1 -1 2 | 0.5 | -0.42942933822840093 | -1.052340783191468
truncated_normal 0 1 10 11 | 10.125 | -0.32963432314431543 | -1.2700651552326356
truncated_normal 0 1 3 inf | 7 | -9.4808090278275051e-10 | -20.776581277300726
truncated_normal 0 1 -inf -3 | -20 | -inf | 0.0
poisson 4 | 3 | -0.83593241162679427 | -0.56822545562735242
poisson 4 | 0 | -4.0 | -0.018485446825886561
poisson 4 | 60 | -2.0507273039282641e-49 | -112.10847504407429
poisson 200 | 100 | -33.224074384068046 | -3.7236412152016825e-15
poisson 200 | 320 | -2.2788249887260812e-15 | -33.715116440607685
poisson 1e9 | 999999000 | -0.71868071678371058 | -0.66824940623861605
poisson 1e5 | 6 | -99937.501638420989 | 0.0
poisson 1e4 | 10050 | -0.36577867156642967 | -1.1830476376584394
poisson 4 | 2.75 | -1.4350506425384633 | -0.27194430407872769
poisson_log 2 | 30 | -8.2241640162960191e-11 | -23.221359370845924
binomial 20 0.25 | 4 | -0.87985875331609699 | -0.53587253260092283
binomial 20 0.25 | 19 | -9.0949470177334183e-13 | -27.725887222397812
binomial 1000 0.5 | 300 | -85.319757052829733 | -8.8328390039750686e-38
bernoulli 0.25 | 0 | -0.28768207245178093 | -1.3862943611198906
geometric 0.125 | 5 | -0.59564906621918188 | -0.80118835574713574
geometric 0.125 | 300 | -3.5028695146159841e-18 | -40.19294917998131
geometric 1e-9 | 1000000 | -6.9082542373161374 | -0.0010000010005000005
geometric 1e-9 | 1000000000 | -0.45867514451411683 | -1.0000000015
geometric 1e-12 | 3 | -26.244726754810158 | -4.000000000002e-12
negative_binomial 2.5 0.25 | 0 | -3.4657359027997265 | -0.031748698314580301
negative_binomial 2.5 0.25 | 100 | -2.4432395035608337e-11 | -24.435111198816209
negative_binomial_mean 4 2 | 3 | -0.61786412013939691 | -0.77456257204545391
negative_binomial_mean 0.5 1e150 | 1 | -0.094534891891835618 | -2.4056813913603713
negative_binomial_mean 3 1e20 | 5 | -0.087649335385060065 | -2.4779158381773499
negative_binomial_mean 4 0.1 | 200 | -0.0001521445026962735 | -8.7907558843773518
beta_binomial 20 2 3 | 5 | -1.1145488809309223 | -0.39759105167725847
beta_binomial 20 2 3 | 19 | -0.0019782400121057188 | -6.2265366692874655
beta_binomial 100 50 0.5 | 30 | -44.420704733457091 | -5.1089664650180638e-20
hypergeometric 10 20 30 | 2 | -1.9730032738630376 | -0.14970567379802651
hypergeometric 10 20 30 | 9 | -1.7986045399302361e-5 | -10.925923349337667
skew_normal 0 1 3 | 0.5 | -0.94341947316783384 | -0.49314022825342494
skew_normal 0 1 3 | -2 | -26.00391501422083 | -5.0891259751922508e-12
skew_normal 0 1 3 | -12 | -729.51789563407632 | 0.0
skew_normal 0 1 3 | 9 | -2.2571768119076813e-19 | -42.93500193277217
skew_normal 1 2 -0.5 | 4 | -0.023058094964457514 | -3.7812452741005967
skew_normal 1 2 0 | 4 | -0.069143455612233983 | -2.7059444008238898
skew_normal 0 1 1000 | 0.001 | -7.0535206538979195 | -0.00086473425496530157
skew_normal 0 1 1000 | -0.004 | -18.98261711915543 | -5.7010406060419224e-9
skew_normal -3 5 -40 | -2.5 | -1.4173582690702526e-7 | -15.769300956752009
skew_normal 0.5 2 -3 | -30 | -119.2358755033153 | -1.6463312583528679e-52
vonmises 0 2 | 1 | -0.11700838170383231 | -2.2034435074534133
vonmises 0 0 | -3 | -3.7926780469057648 | -0.022792968050550165
vonmises 1 0.5 | -2.5 | -2.7239433935093022 | -0.06786725080275333
vonmises 3 30 | -3 | -1.8432121472444722 | -0.17234124572057956
vonmises 3 30 | 1.5 | -1.51333123620397 | -0.24868612688623869
vonmises 0 300 | -0.5 | -39.773613269031026 | -5.3276934976274917e-18
vonmises -2 4 | 3.1 | -0.0028747333338012734 | -5.8532323848248866
vonmises 1 1e6 | 1.004 | -3.1672167189357619e-5 | -10.360088105441307
vonmises 100 5 | 0.5 | -0.016676353770995169 | -4.1020900941890068
vonmises 0.5 1e-3 | -1.5 | -1.3430563624579128 | -0.30252041152419964
uniform_discrete -3 5 | 1 | -0.47000362924573555 | -0.98082925301172624
";

struct Row {
    call: Call,
    inner: Inner,
    args: Vec<f64>,
    x: f64,
    want: [f64; 2],
}

fn rows() -> impl Iterator<Item = Row> {
    TABLE.lines().filter(|line| !line.is_empty()).map(|line| {
        let [call, x, below, above] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("four columns: {line}");
        };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let call = Call::new(call);
        let Some(Score::Scalar(score)) = call.distribution.score() else { panic!("no numbers") };
        let args = call.args.iter().map(|x| x.as_number().expect("a number")).collect();
        let inner = Inner { law: call.distribution, score };
        Row { call, inner, args, x: number(x), want: [number(below), number(above)] }
    })
}

const SIDES: [Side; 2] = [Side::Below, Side::Above];

fn log_p(row: &Row, side: Side, x: f64, args: &[f64]) -> f64 {
    let found = cumulative::log_probability(row.inner, side, x, args, false);
    found.map_or(f64::NAN, |(log_p, _)| log_p)
}

#[test]
fn distribution_functions_match_the_reference() {
    let mut wrong = Vec::new();
    for row in rows() {
        for (side, want) in SIDES.into_iter().zip(row.want) {
            let got = log_p(&row, side, row.x, &row.args);
            let error = (got - want).abs();
            if error.is_nan() || error > 1e-10 * want.abs().max(1e-30) {
                let text = &row.call.text;
                wrong.push(format!("{text} {side:?} {}: {got}, not {want}: {error:e}", row.x));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Laws of numbers without a distribution function, and why.
const NONE: &[(&str, &str)] = &[("flat", "improper"), ("flat_pos", "improper")];

#[test]
fn every_law_of_numbers_has_one_or_is_listed() {
    for law in ALL.iter().filter(|law| law.spec().is_spellable()) {
        let name = law.spec().name;
        let Some(Score::Scalar(score)) = law.score() else { continue };
        let is_listed = NONE.iter().any(|(without, _)| *without == name);
        let discrete = ["flip", "bernoulli_logit"].contains(&name);
        let known = rows().any(|row| row.call.distribution.spec().name == name) || discrete;
        assert_eq!(known, !is_listed, "{name}");
        if is_listed {
            let inner = Inner { law: *law, score };
            let args = vec![0.5; law.spec().arity.least];
            assert!(cumulative::log_probability(inner, Side::Below, 0.5, &args, false).is_none());
        }
    }
}

/// Of x and of each argument that moves.
#[test]
fn slopes_are_differences() {
    let mut tally = Tally::default();
    for row in rows() {
        let name = row.call.distribution.spec().name;
        for side in SIDES {
            let Some((log_p, slopes)) =
                cumulative::log_probability(row.inner, side, row.x, &row.args, true)
            else {
                panic!("{}", row.call.text);
            };
            if !(-500.0..=-1e-6).contains(&log_p) {
                continue;
            }
            let whole = row.call.support().is_continuous();
            if whole {
                let reach = 0.02
                    * row.x.abs().min((1.0 - row.x).abs().max(0.1)).min(row.args[0].abs() + 0.05);
                let moved = |t: f64| self::log_p(&row, side, row.x + t, &row.args);
                let verdict = agrees(moved, reach, slopes[0], 1e-3);
                tally.add(verdict, || format!("{} at {} {side:?}", row.call.text, row.x));
            }
            for i in 0..row.args.len() {
                let fixed = ["binomial", "beta_binomial", "hypergeometric", "uniform_discrete"];
                if row.args[i].is_infinite()
                    || (fixed.contains(&name)
                        && (i == 0 || name.starts_with('h') || name.starts_with('u')))
                {
                    continue;
                }
                let reach = 0.02
                    * row.args[i].abs().clamp(0.05, 1.0).min((1.0 - row.args[i]).abs().max(0.1));
                let moved = |t: f64| {
                    let mut args = row.args.clone();
                    args[i] += t;
                    self::log_p(&row, side, row.x, &args)
                };
                let verdict = agrees(moved, reach, slopes[1 + i], 1e-3);
                tally.add(verdict, || {
                    format!("argument {i} of {} at {} {side:?}", row.call.text, row.x)
                });
            }
        }
    }
    tally.verdict(150).expect("slopes");
}

#[test]
fn quantiles_are_inverses() {
    for row in rows() {
        let is_continuous = row.call.support().is_continuous();
        for p in [1e-12, 1e-3, 0.3, 0.5, 0.9, 0.999] {
            let x = cumulative::quantile(row.inner, p, &row.args).expect("a quantile");
            let below = math::exp(log_p(&row, Side::Below, x, &row.args));
            let place = || format!("{}: {x} for {p}, with {below}", row.call.text);
            if is_continuous {
                // What the last digit of x makes, where the law is steep.
                let steep = math::exp((row.inner.score)(x, &row.args, &mut []));
                let slack = 1e-9 * p + 1e-15 * x.abs() * steep;
                assert!((below - p).abs() < slack, "{}", place());
            } else {
                let before = math::exp(log_p(&row, Side::Below, x - 1.0, &row.args));
                assert!(below >= p * (1.0 - 1e-12) && before < p, "{}", place());
            }
        }
    }
}

/// Where the square of the answer is no double.
#[test]
fn quantiles_reach_far_tails() {
    for (law, args, log_p, want) in [
        ("student_t", vec![1.0], math::ln(1e-250), -3.183_098_861_837_906e249),
        ("half_student_t", vec![1.0, 2.0], math::ln(1e-250), 3.141_592_653_589_793e-250),
        ("half_student_t", vec![1.0, 2.0], math::ln(1e-160), 3.141_592_653_589_793e-160),
    ] {
        let law = ALL.iter().find(|known| known.spec().name == law).expect("a law");
        let Some(Score::Scalar(score)) = law.score() else { panic!("no numbers") };
        let inner = Inner { law: *law, score };
        let found = cumulative::at_log(inner, Side::Below, log_p, &args);
        let found = found.expect("a quantile");
        assert!((found / want - 1.0).abs() < 1e-9, "{}: {found}, not {want}", law.spec().name);
    }
}

#[test]
fn the_procedures_say_what_is_wrong() {
    let apply = |name: &str, args: &[Value]| {
        let Some(Builtin::Function(function)) = lookup(Symbol::new(name)) else { panic!("{name}") };
        (function.apply)(&args.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())
    };
    let (n, s) = (Value::Number, Value::symbol);
    let close = |found: Result<Value, String>, want: f64| {
        let found = found.expect("a number").as_number().expect("a number");
        assert!((found - want).abs() < 1e-12, "{found}, not {want}");
    };
    close(apply("cdf", &[s("normal"), n(0.0), n(0.0), n(1.0)]), 0.5);
    close(apply("ccdf", &[s("expon"), n(1.0), n(2.0)]), math::exp(-2.0));
    close(apply("quantile", &[s("normal"), n(0.975), n(0.0), n(1.0)]), 1.959_963_984_540_054);
    close(apply("log_density", &[s("expon"), n(1.0), n(2.0)]), math::ln(2.0) - 2.0);
    for (name, args, words) in [
        ("cdf", vec![s("flat"), n(0.0)], "a proper distribution"),
        ("cdf", vec![s("dirichlet"), n(0.0), n(0.0)], "numbers"),
        ("cdf", vec![n(1.0), n(0.0)], "a distribution"),
        ("cdf", vec![s("normal"), n(0.0), n(0.0)], "arguments"),
        ("cdf", vec![s("normal"), n(0.0), n(0.0), n(-1.0)], "positive"),
        ("quantile", vec![s("normal"), n(1.5), n(0.0), n(1.0)], "probability"),
        ("log_density", vec![s("normal"), s("a"), n(0.0), n(1.0)], "a number"),
        ("log_density", vec![s("normal"), n(0.0), n(0.0), n(-1.0)], "positive"),
    ] {
        let error = apply(name, &args).expect_err(name);
        assert!(error.contains(words), "{name} {args:?}: {error}");
    }
}

/*
from mpmath import *
mp.dps = 80
L = log
def P(a, x): return gammainc(a, 0, x, regularized=True)
def Q(a, x): return gammainc(a, x, inf, regularized=True)
def I(a, b, x): return betainc(a, b, 0, x, regularized=True)
def phi(z): return erfc(-z/sqrt(mpf(2)))/2
def both(f): return lambda x, *a: (f(x, *a), 1-f(x, *a))
def loc(f): return lambda x, m, s: f((x-m)/s)
def stt(x, v, m=mpf(0), s=mpf(1)):
    z = (x-m)/s
    t = I(v/2, mpf(1)/2, v/(v+z*z))/2
    return (t, 1-t) if z < 0 else (1-t, t)
def ig(x, m, l):
    r = sqrt(l/x)
    return phi(r*(x/m-1))+exp(2*l/m)*phi(-r*(x/m+1))
def trunc(x, m, s, lo, hi):
    q = lambda t: mpf(0) if t == inf else mpf(1) if t == -inf else phi(-(t-m)/s)
    a = q(lo)-q(hi)
    return ((q(lo)-q(x))/a, (q(x)-q(hi))/a)
def skew(x, m, s, a):
    z, w = (x-m)/s, 1/max(1, abs(a)*max(1, abs((x-m)/s)))
    f = lambda t: 2*exp(-t*t/2)/sqrt(2*pi)*phi(a*t)
    cuts = [z+k*w for k in range(-64, 65, 4)]+[mpf(k)/(abs(a)+mpf(1)/10) for k in range(-30, 31, 5)]+[mpf(k) for k in range(-40, 41, 4)]
    return (quad(f, [-inf]+sorted(c for c in cuts if c < z)+[z]), quad(f, [z]+sorted(c for c in cuts if c > z)+[inf]))
def vonm(x, m, k):
    f, w = (lambda t: exp(k*(cos(t-m)-1))), 1/(1+sqrt(k)+k*abs(sin(x-m)))
    c = m-2*pi*floor((m+pi)/(2*pi))
    cuts = [a+j*w for a in (c, x) for j in range(-64, 65, 2)]+[mpf(j)/2 for j in range(-6, 7)]
    b = quad(f, [-pi]+sorted(t for t in cuts if -pi < t < x)+[x])
    a = quad(f, [x]+sorted(t for t in cuts if x < t < pi)+[pi])
    return (b/(a+b), a/(a+b))
def summed(p): return lambda k, *a: (lambda f: (f, 1-f))(sum(p(mpf(i), *a) for i in range(int(k)+1)))
def binom(k, n, p): return binomial(n, k)*p**k*(1-p)**(n-k)
laws = dict(
 normal=lambda x, m, s: (phi((x-m)/s), phi(-(x-m)/s)),
 lognormal=lambda x, m, s: (phi((L(x)-m)/s), phi(-(L(x)-m)/s)),
 half_normal=lambda x, s: (1-2*phi(-x/s), 2*phi(-x/s)),
 cauchy=both(loc(lambda z: mpf(1)/2+atan(z)/pi)),
 half_cauchy=both(lambda x, s: 2*atan(x/s)/pi),
 laplace=both(loc(lambda z: exp(z)/2 if z < 0 else 1-exp(-z)/2)),
 logistic_dist=both(loc(lambda z: 1/(1+exp(-z)))),
 gumbel=both(loc(lambda z: exp(-exp(-z)))),
 expon=both(lambda x, r: 1-exp(-r*x)),
 weibull=both(lambda x, k, s: 1-exp(-(x/s)**k)),
 pareto=both(lambda x, m, a: 1-(m/x)**a),
 uniform_continuous=both(lambda x, a, b: (x-a)/(b-a)),
 gamma=lambda x, a, b: (P(a, b*x), Q(a, b*x)),
 chi_squared=lambda x, v: (P(v/2, x/2), Q(v/2, x/2)),
 inv_gamma=lambda x, a, b: (Q(a, b/x), P(a, b/x)),
 beta=lambda x, a, b: (I(a, b, x), I(b, a, 1-x)),
 beta_mean=lambda x, m, k: (I(m*k, (1-m)*k, x), I((1-m)*k, m*k, 1-x)),
 student_t=stt,
 half_student_t=lambda x, v, s: (I(mpf(1)/2, v/2, (x/s)**2/(v+(x/s)**2)), I(v/2, mpf(1)/2, v/(v+(x/s)**2))),
 inverse_gaussian=both(ig),
 truncated_normal=trunc,
 skew_normal=skew,
 vonmises=vonm,
 poisson=lambda k, r: (Q(floor(k)+1, r), P(floor(k)+1, r)),
 poisson_log=lambda k, e: (Q(k+1, exp(e)), P(k+1, exp(e))),
 binomial=summed(binom),
 bernoulli=summed(lambda k, p: p if k == 1 else 1-p),
 geometric=both(lambda k, p: 1-(1-p)**(k+1)),
 negative_binomial=lambda k, r, p: (I(r, k+1, p), I(k+1, r, 1-p)),
 negative_binomial_mean=lambda k, m, f: (I(f, k+1, f/(m+f)), I(k+1, f, m/(m+f))),
 beta_binomial=summed(lambda k, n, a, b: binomial(n, k)*beta(k+a, n-k+b)/beta(a, b)),
 hypergeometric=summed(lambda k, n, a, b: binomial(a, k)*binomial(b, n-k)/binomial(a+b, n)),
 uniform_discrete=both(lambda k, a, b: (floor(k)-a+1)/(b-a)),
)
for line in open('cpoints.txt'):  # the first two columns of the table
    call, x = line.split('|')
    name, *args = call.split()
    below, above = laws[name](mpf(float(x)), *[mpf(float(a)) for a in args])
    print(call.strip(), '|', x.strip(), '|', nstr(L(below), 17), '|', nstr(L(above), 17))
*/
