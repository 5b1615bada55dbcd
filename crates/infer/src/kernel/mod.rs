//! Kernels: one file each, named as users call them, and their registry.

pub mod default;
pub mod gibbs;
pub mod hmc;
pub mod map;
pub mod mh;
pub mod nuts;
pub mod pgibbs;
pub mod reference_mh;
pub mod rejection;
pub mod scan;
pub mod slice;
pub mod subsampled_mh;

use smidgen_lang::diagnostic::closest;
use smidgen_lang::{Diagnostic, Span};

pub use crate::spec::Kernel;
use crate::spec::{COMBINATORS, KernelSpec};

/// Every kernel, in the order of the documentation.
pub static KERNELS: &[&KernelSpec] = &[
    &mh::SPEC,
    &subsampled_mh::SPEC,
    &gibbs::SPEC,
    &pgibbs::SPEC,
    &slice::STEPPING_OUT,
    &slice::DOUBLING,
    &hmc::SPEC,
    &nuts::SPEC,
    &reference_mh::SPEC,
    &map::SPEC,
    &rejection::SPEC,
];

pub fn find(name: &str) -> Option<&'static KernelSpec> {
    KERNELS.iter().copied().find(|spec| spec.name == name)
}

pub fn unknown_kernel(name: &str, span: Span) -> Diagnostic {
    let known = || KERNELS.iter().map(|k| k.name).chain(COMBINATORS.iter().map(|c| c.0));
    let diagnostic = Diagnostic::error(span, format!("unknown kernel `{name}`"));
    match closest(name, known()) {
        Some(close) => diagnostic.hint(format!("did you mean `{close}`?")),
        None => diagnostic.hint(format!("known: {}", known().collect::<Vec<_>>().join(" "))),
    }
}
