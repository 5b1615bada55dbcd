//! The quantile function of the standard normal distribution.
//!
//! Wichura (1988), "Algorithm AS 241: the percentage points of the normal distribution",
//! routine PPND16: three rational approximations, relative error about 1e-16.

use smidgen_value::math;

fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The x with P(X <= x) = p for standard normal X; NaN outside [0, 1].
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = math::sqrt(-math::ln(tail));
    let (x, (numerator, denominator)) = if r <= 5.0 { (r - 1.6, &MIDDLE) } else { (r - 5.0, &FAR) };
    (polynomial(numerator, x) / polynomial(denominator, x)).copysign(q)
}

type Rational = ([f64; 8], [f64; 8]);

#[allow(clippy::excessive_precision)]
const CENTRE: Rational = (
    [
        3.387_132_872_796_366_608,
        1.331_416_678_917_843_774_5e2,
        1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4,
        4.592_195_393_154_987_145_7e4,
        6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4,
        2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091_125_2e1,
        6.871_870_074_920_579_083e2,
        5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4,
        3.930_789_580_009_271_061e4,
        2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561e3,
    ],
);

#[allow(clippy::excessive_precision)]
const MIDDLE: Rational = (
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_7e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_4e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        6.897_673_349_851_000_045_5e-1,
        1.481_039_764_274_800_745_9e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);

#[allow(clippy::excessive_precision)]
const FAR: Rational = (
    [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        2.965_605_718_285_048_912_3e-1,
        2.653_218_952_657_612_309_3e-2,
        1.242_660_947_388_078_438_6e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879_376_9e-1,
        1.369_298_809_227_358_053_1e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_reference() {
        // scipy.stats.norm.ppf (Cephes ndtri), 17 digits
        for (p, want) in [
            (0.4, -0.2533471031357997),
            (0.25, -0.6744897501960817),
            (0.1, -1.2815515655446004),
            (0.075, -1.4395314709384563),
            (0.0749, -1.4402382675279635),
            (0.05, -1.6448536269514729),
            (0.01, -2.3263478740408408),
            (0.001, -3.090232306167813),
            (1e-06, -4.753424308822899),
            (1e-10, -6.361340902404056),
            (1.3e-11, -6.667611456510741),
            (1e-20, -9.262340089798409),
            (1e-100, -21.273453560965322),
            (1e-300, -37.0470962993612),
        ] {
            for (p, want) in [(p, want), (1.0 - p, -want)] {
                // 1 - p is rounded, which the far tail feels.
                let tolerance = if p > 0.9 { 1e-15 + 1e-16 / (1.0 - p) } else { 1e-15 };
                let got = normal_quantile(p);
                assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{p}: {got} {want}");
            }
        }
        assert_eq!(normal_quantile(0.5), 0.0);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(f64::NAN).is_nan() && normal_quantile(1.5).is_nan());
        assert!(normal_quantile(-0.1).is_nan());
    }
}
