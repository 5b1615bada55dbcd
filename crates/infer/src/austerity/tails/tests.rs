//! The table of theory 2.3, high-precision values, and round trips.

use super::*;
use crate::austerity::Accumulator;

fn assert_close(got: f64, want: f64, relative: f64, what: &str) {
    assert!((got - want).abs() <= relative * want.abs(), "{what}: {got} for {want}");
}

#[test]
fn tails_match_the_theory() {
    for (df, t, want, digits) in [
        (1.0, 1.0, 0.25, 1e-14),
        (2.0, 2.0, 0.09175170954, 1e-9),
        (9.0, 2.0, 0.03827641189, 1e-9),
        (99.0, 2.0, 0.02411984669, 1e-9),
        (499.0, 2.0, 0.02302088339, 1e-9),
        (999.0, 3.5, 0.0002428975825, 1e-9),
        (9999.0, 5.0, 2.915168205e-07, 1e-9),
    ] {
        assert_close(student_t_tail(df, t), want, digits, &format!("tail {df} {t}"));
        assert_close(student_t_tail(df, -t), 1.0 - want, digits, &format!("tail {df} -{t}"));
    }
    assert_close(normal_tail(1.0), 0.1586552539, 1e-9, "normal");
    assert_close(normal_tail(3.5), 0.000232629079, 1e-9, "normal");
    assert_close(normal_tail(5.0), 2.866515719e-07, 1e-9, "normal");
    assert_eq!(student_t_tail(7.0, 0.0), 0.5);
    assert_eq!(student_t_tail(7.0, f64::INFINITY), 0.0);
    assert_eq!(student_t_tail(1e6, f64::INFINITY), 0.0);
}

#[test]
fn tails_match_long_arithmetic() {
    // The continued fraction in 60 decimal digits
    for (df, t, want) in [
        (3.0, 50.0, 8.808_576_020_635_988e-6),
        (7.0, 0.001, 0.499_615_008_622_499_4),
        (10.0, 40.0, 1.140_428_871_542_877_4e-12),
        (100.0, 10.0, 4.950_844_492_297_07e-17),
        (999.0, 8.0, 1.714_999_128_881_798e-15),
        (1001.0, 7.5, 7.023_300_630_530_127e-14),
        (5000.0, 1.5, 0.066_838_769_926_607_87),
        (9999.0, 5.0, 2.915_168_205_114_159_5e-7),
        (100_000.0, 7.0, 1.287_827_833_907_991_6e-12),
        (1_000_001.0, 0.3, 0.382_088_608_989_465_9),
    ] {
        assert_close(student_t_tail(df, t), want, 1e-12, &format!("tail {df} {t}"));
    }
}

#[test]
fn quantiles_match_the_theory() {
    let levels = [0.3, 0.1, 0.05, 0.01, 0.001];
    for (df, want) in [
        (9.0, [0.543480, 1.383029, 1.833113, 2.821438, 4.296806]),
        (99.0, [0.526093, 1.290161, 1.660391, 2.364606, 3.174604]),
        (999.0, [0.524568, 1.282400, 1.646380, 2.330086, 3.098410]),
        (1e9, [0.524401, 1.281552, 1.644854, 2.326348, 3.090232]),
    ] {
        for (epsilon, want) in levels.into_iter().zip(want) {
            assert_close(student_t_critical(df, epsilon), want, 1e-6, &format!("{df}"));
        }
    }
    assert_eq!(student_t_critical(12.0, 0.5), 0.0);
    assert_eq!(student_t_critical(12.0, 0.0), f64::INFINITY);
}

#[test]
fn quantiles_with_a_closed_form() {
    for epsilon in [0.499, 0.3, 0.05, 1e-4, 1e-8, 1e-12] {
        let cauchy = 1.0 / math::tan(math::PI * epsilon);
        assert_close(student_t_critical(1.0, epsilon), cauchy, 1e-11, "one");
        let rest = 1.0 - epsilon;
        let two = (1.0 - 2.0 * epsilon) / math::sqrt(2.0 * epsilon * rest);
        assert_close(student_t_critical(2.0, epsilon), two, 1e-11, "two");
    }
}

#[test]
fn a_quantile_undoes_a_tail() {
    for df in [1.0, 1.5, 3.0, 4.0, 10.0, 37.0, 999.0, 1001.0, 1e5, 1e9] {
        for epsilon in [0.49, 0.2, 0.01, 1e-5, 1e-9, 1e-12] {
            let t = student_t_critical(df, epsilon);
            assert_close(student_t_tail(df, t), epsilon, 1e-11, &format!("{df} {epsilon}"));
        }
    }
}

#[test]
fn the_expansion_meets_the_fraction() {
    for t in [0.01, 0.5, 1.0, 1.7, 2.0, 3.0, 5.0, 7.0, 9.0] {
        let want = upper_tail(MANY, t);
        let got = normal_tail(equivalent_normal(MANY, t));
        assert_close(got, want, 1e-11, &format!("{t}"));
    }
}

#[test]
fn critical_values_are_kept_within_bounds() {
    let mut values = CriticalValues::new(0.05);
    let n = 100;
    assert_eq!(values.at(n), student_t_critical(99.0, 0.05));
    assert_eq!(values.at(n), values.at(n));
    for n in 2..70_000 {
        values.at(n);
    }
    assert!(values.known.len() <= CriticalValues::MOST);
    assert_eq!(values.at(69_999), student_t_critical(69_998.0, 0.05));
}

#[test]
fn a_short_test_by_hand() {
    // theory 2.3, F1: N = 20, looks at 4, 8, 12, 16
    let l = [
        0.733, -0.221, -0.293, 0.270, 0.207, 0.036, 0.201, 0.643, 0.069, -0.369, -0.057, 0.340,
        0.186, 0.029, 0.333, 0.356, -0.323, -0.394, 0.384, 0.277,
    ];
    let after = |n: usize| {
        let seen: Accumulator = l[..n].iter().copied().collect();
        (seen.mean, math::sqrt(seen.variance() / n as f64 * (20 - n) as f64 / 19.0))
    };
    for (n, mean, s, tests) in [
        (
            4,
            0.122250,
            0.219265,
            [(0.557545, 0.308027), (0.329510, 0.381718), (-0.810663, 0.238450)],
        ),
        (
            8,
            0.197000,
            0.102547,
            [(1.921077, 0.048089), (1.433494, 0.097416), (-1.004421, 0.174313)],
        ),
        (
            12,
            0.129917,
            0.064398,
            [(2.017411, 0.034361), (1.240986, 0.120213), (-2.641139, 0.011473)],
        ),
        (
            16,
            0.153938,
            0.035001,
            [(4.398121, 0.000259), (2.969580, 0.004773), (-4.173126, 0.000408)],
        ),
    ] {
        let got = after(n);
        assert!((got.0 - mean).abs() < 1e-6 && (got.1 - s).abs() < 1e-6, "{n}: {got:?}");
        for (mu0, (t, delta)) in [0.0, 0.05, 0.3].into_iter().zip(tests) {
            let got = (got.0 - mu0) / got.1;
            assert!((got - t).abs() < 1e-6, "{n} {mu0}: {got}");
            let got = student_t_tail(n as f64 - 1.0, got.abs());
            assert!((got - delta).abs() < 1e-6, "{n} {mu0}: {got}");
        }
    }
    // The look that decides, and whether the decision is to accept
    for (mu0, epsilon, want) in [
        (0.0, 0.05, (8, true)),
        (0.0, 0.01, (16, true)),
        (0.05, 0.05, (16, true)),
        (0.3, 0.05, (12, false)),
        (0.3, 0.01, (16, false)),
        (-0.2, 0.05, (8, true)),
    ] {
        let mut critical = CriticalValues::new(epsilon);
        let stops = |n: &usize| {
            let (mean, s) = after(*n);
            (mean - mu0).abs() > s * critical.at(*n as u64)
        };
        let n = [4, 8, 12, 16].into_iter().find(stops).expect("each of them stops early");
        assert_eq!((n, after(n).0 > mu0), want, "{mu0} {epsilon}");
    }
}
