//! A target by its name in `smidgen_fuzzing::TARGETS`.

pub use libfuzzer_sys;
pub use smidgen_fuzzing;

#[macro_export]
macro_rules! target {
    ($name:literal) => {
        use $crate::{libfuzzer_sys, smidgen_fuzzing};

        libfuzzer_sys::fuzz_target!(
            init: smidgen_fuzzing::leave_decoders_alone(),
            |bytes: &[u8]| {
                let target = smidgen_fuzzing::TARGETS.iter().find(|target| target.name == $name);
                (target.expect("a target of this name").take)(bytes);
            }
        );
    };
}
