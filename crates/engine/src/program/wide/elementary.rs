//! Elementary functions without branches, so that a loop over them becomes one over wide registers.

const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// e^x for x ≤ 708: x = n ln 2 + r with |r| ≤ ½ ln 2, and a polynomial for e^r. Below −708 the result
/// is 0.
#[inline(always)]
pub(super) fn exp_within(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5·2^52: adding it rounds to a whole number
    // e^r = 1 + r + r² Σ c_k r^k, with an error of 1.3e-17.
    const C: [f64; 10] = [
        0.500_000_000_000_000_1,
        0.166_666_666_666_666_69,
        0.041_666_666_666_624_13,
        0.008_333_333_333_330_062,
        0.001_388_888_891_721_371_7,
        0.000_198_412_698_630_536_18,
        2.480_152_129_595_437_6e-5,
        2.755_726_845_999_706_4e-6,
        2.762_008_844_540_974_6e-7,
        2.510_038_549_551_032e-8,
    ];
    let clamped = if x < -708.0 { -708.0 } else { x };
    let shifted = clamped * std::f64::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = (clamped - n * LN_2_HIGH) - n * LN_2_LOW;
    // By pairs, which do not wait for each other.
    let r2 = r * r;
    let low = (C[0] + r * C[1]) + r2 * (C[2] + r * C[3]);
    let middle = (C[4] + r * C[5]) + r2 * (C[6] + r * C[7]);
    let high = C[8] + r * C[9];
    let r4 = r2 * r2;
    let series = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)));
    // 2^n from the low bits of the shifted number.
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    if x < -708.0 { 0.0 } else { series * scale }
}

/// ln(1 + e) for 0 ≤ e ≤ 1: 2 atanh(s) with s = e/(2 + e), after taking out ln 2 above √2.
#[inline(always)]
pub(super) fn ln_1p_up_to_one(e: f64) -> f64 {
    // atanh(s) = s + s t Σ c_k t^k with t = s², for |s| ≤ (√2 − 1)/(√2 + 1), with an error of 5e-18.
    const C: [f64; 7] = [
        0.333_333_333_333_333_5,
        0.199_999_999_999_497_52,
        0.142_857_143_129_877_43,
        0.111_111_055_673_975_4,
        0.090_914_445_626_308_61,
        0.076_658_608_002_780_21,
        0.073_082_248_425_217_03,
    ];
    let large = e > std::f64::consts::SQRT_2 - 1.0;
    // (1 + e)/2 = 1 + (e − 1)/2
    let f = if large { 0.5 * (e - 1.0) } else { e };
    let base = if large { std::f64::consts::LN_2 } else { 0.0 };
    let s = f / (2.0 + f);
    let t = s * s;
    let t2 = t * t;
    let low = (C[0] + t * C[1]) + t2 * (C[2] + t * C[3]);
    let high = (C[4] + t * C[5]) + t2 * C[6];
    base + 2.0 * (s + s * t * (low + t2 * t2 * high))
}

/// 2 atanh(s) = ln((1 + s)/(1 − s)) for |s| ≤ ⅓.
#[inline(always)]
pub(super) fn two_atanh(s: f64) -> f64 {
    // As above, with an error of 5e-18.
    const C: [f64; 10] = [
        0.333_333_333_333_333_3,
        0.200_000_000_000_072_92,
        0.142_857_142_835_543_8,
        0.111_111_113_587_139_32,
        0.090_908_947_180_664_29,
        0.076_927_850_324_793_12,
        0.066_570_721_048_274_68,
        0.060_005_364_047_953_56,
        0.044_003_692_430_723_37,
        0.080_820_228_059_717_66,
    ];
    let t = s * s;
    let t2 = t * t;
    let t4 = t2 * t2;
    let low = (C[0] + t * C[1]) + t2 * (C[2] + t * C[3]);
    let middle = (C[4] + t * C[5]) + t2 * (C[6] + t * C[7]);
    let high = C[8] + t * C[9];
    2.0 * (s + s * t * (low + t4 * (middle + t4 * high)))
}

/// ln x for finite x ≥ 1: x = 2^n (1 + e).
#[inline(always)]
pub(super) fn ln_from_one(x: f64) -> f64 {
    const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
    let bits = x.to_bits();
    // A small whole number is the low bits of 2^52 + itself.
    let n = f64::from_bits((bits >> 52) | TWO_TO_52.to_bits()) - (TWO_TO_52 + 1023.0);
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    n * LN_2_HIGH + (n * LN_2_LOW + ln_1p_up_to_one(mantissa - 1.0))
}

#[cfg(test)]
mod tests {
    use smidgen_value::math;

    use super::*;

    #[test]
    fn exponentials_are_accurate() {
        for k in 0..200_000 {
            let x = -750.0 * f64::from(k) / 200_000.0;
            let (ours, want) = (exp_within(x), math::exp(x));
            let error = (ours - want).abs();
            assert!(error <= 1e-15 * want || want < 1e-300, "{x}: {ours} {want}");
        }
        assert_eq!(exp_within(0.0), 1.0);
        assert!(exp_within(f64::NAN).is_nan());
    }

    #[test]
    fn logarithms_are_accurate() {
        for k in 0..=100_000 {
            let e = f64::from(k) / 100_000.0;
            let (ours, want) = (ln_1p_up_to_one(e), math::ln_1p(e));
            assert!((ours - want).abs() <= 4e-16 * want.max(1e-300) + 1e-16, "{e}: {ours} {want}");
        }
    }

    #[test]
    fn logarithms_of_quotients_are_accurate() {
        for k in -100_000..=100_000 {
            let s = f64::from(k) / 300_000.0;
            let (ours, want) = (two_atanh(s), math::ln_1p(s) - math::ln_1p(-s));
            assert!((ours - want).abs() <= 4e-16 * want.abs(), "{s}: {ours} {want}");
        }
    }

    #[test]
    fn logarithms_of_large_numbers_are_accurate() {
        for k in 0..=100_000 {
            let x = math::exp(f64::from(k) * 7e-3);
            let (ours, want) = (ln_from_one(x), math::ln(x));
            assert!((ours - want).abs() <= 4e-16 * want.max(1.0), "{x}: {ours} {want}");
        }
        assert_eq!(ln_from_one(1.0), 0.0);
    }
}
