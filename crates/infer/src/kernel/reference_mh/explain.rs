//! What a transition by a reference would read, and why not less.

use smidgen_engine::EvalError;

use super::tall::TallBlock;
use super::{Blocks, Known};
use crate::block::Target;
use crate::explain::{Explanation, Look, blocks};
use crate::hamiltonian::Block;
use crate::reference::preparation::{Test, Want};
use crate::run::{Log, Run};

pub(super) fn explain(
    look: &mut Look<'_>,
    target: &Target,
    blocks: &mut Blocks,
) -> Result<Explanation, EvalError> {
    blocks::explain(look, target, &mut |look, principals, block| {
        let note = blocks.words(look, principals.into())?;
        block.advice.push(note.unwrap_or_else(|why| format!("reference_mh cannot move it: {why}")));
        Ok(())
    })
}

impl Blocks {
    /// How a block would be moved, or why it would not.
    pub(crate) fn words(
        &mut self,
        look: &mut Look<'_>,
        block: Block<'_>,
    ) -> Result<Result<String, String>, EvalError> {
        if let ([choice], Want::Any | Want::This(Test::Thinned)) = (block.choices, self.want)
            && look.trace.choices().len() > 1
            && let Ok(words) = self.words_of_members(look.trace, *choice)?
        {
            return Ok(Ok(words));
        }
        let mut run = Run::default();
        let mut log = Log::open(&mut run, 0);
        let known = self.find(look.trace, block, look.rng, &mut log)?;
        Ok(match known {
            Ok(Known::Tall(known)) => Ok(known.words()),
            Ok(Known::Patched(known)) => Ok(known.words()),
            Err(why) => Err(why.clone()),
        })
    }
}

impl TallBlock {
    fn words(&self) -> String {
        let prepared = &self.prepared;
        let forecast = prepared.forecast;
        let n = self.taylor.rows();
        let percent = 100.0 * forecast.accepted;
        let how = match prepared.test {
            Test::Thinned => {
                let hard = prepared.bounds.as_ref().map_or(0, |bounds| bounds.hard.len());
                let hard = match hard {
                    0 => String::new(),
                    _ => format!(", {hard} of them at every move (no bound, or a large one)"),
                };
                format!(
                    "thinned test: {:.3} of {n} rows read per move{hard}; at most {:.3} objections a move are possible",
                    forecast.rows, forecast.objections
                )
            }
            Test::Scan => format!("every move weighs all {n} rows, many proposals by one pass"),
            Test::Delayed => {
                format!("moves that the sums accept are decided by a scan of all {n} rows")
            }
        };
        let gain = forecast.nuts / forecast.cost;
        format!(
            "exact, from a reference law: {how}; {percent:.0} % accepted in a pilot; about {gain:.0} times as many effective draws per reading of a row as nuts"
        )
    }
}
