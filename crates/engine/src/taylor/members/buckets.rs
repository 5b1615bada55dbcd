//! Sections that come and go, drawn in proportion to bounds of theirs.
//!
//! Bounds are rounded up to powers of 2^(1/4): all of one power lie in one bucket, where they are drawn evenly. To add one, to
//! take one out and to draw one costs as much as there are buckets, some dozens; and C is a sum over buckets, which no
//! rounding of many additions and subtractions blurs.

use smidgen_value::{Rng, math};

/// Buckets for every factor of 2.
const STEPS: f64 = 4.0;

#[derive(Default)]
pub(super) struct Buckets(Vec<Bucket>);

struct Bucket {
    exponent: i32,
    /// What every member is drawn by.
    bound: f32,
    members: Vec<u32>,
}

/// Where a section lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    bucket: u32,
    within: u32,
}

impl Buckets {
    /// Of a bound that is positive and finite.
    pub fn add(&mut self, member: u32, bound: f32) -> Place {
        let Bucket { exponent, bound, .. } = Bucket::of(bound);
        let known = self.0.iter().position(|bucket| bucket.exponent == exponent);
        let bucket = known.unwrap_or_else(|| {
            self.0.push(Bucket { exponent, bound, members: Vec::new() });
            self.0.len() - 1
        });
        let members = &mut self.0[bucket].members;
        members.push(member);
        Place { bucket: bucket as u32, within: members.len() as u32 - 1 }
    }

    /// Takes a section out. Gives the one that stands in its place now.
    pub fn remove(&mut self, Place { bucket, within }: Place) -> Option<u32> {
        let members = &mut self.0[bucket as usize].members;
        members.swap_remove(within as usize);
        members.get(within as usize).copied()
    }

    /// C
    pub fn total(&self) -> f64 {
        self.0.iter().map(Bucket::total).sum()
    }

    /// A section and its bound.
    pub fn draw(&self, rng: &mut Rng) -> Option<(u32, f32)> {
        let mut rest = rng.uniform() * self.total();
        let mut last = None;
        for bucket in self.0.iter().filter(|bucket| !bucket.members.is_empty()) {
            last = Some(bucket);
            rest -= bucket.total();
            if rest < 0.0 {
                break;
            }
        }
        let Bucket { bound, members, .. } = last?;
        Some((members[rng.below(members.len())], *bound))
    }
}

impl Bucket {
    /// The one with the least bound that is not below this.
    fn of(least: f32) -> Bucket {
        let step = math::ln(2.0) / STEPS;
        let mut exponent = (math::ln(f64::from(least)) / step).ceil() as i32;
        loop {
            let bound = math::exp(f64::from(exponent) * step) as f32;
            if bound >= least {
                return Bucket { exponent, bound, members: Vec::new() };
            }
            exponent += 1;
        }
    }

    fn total(&self) -> f64 {
        f64::from(self.bound) * self.members.len() as f64
    }
}
