//! A formula as actions of a lane program, so that it can be computed for values that the trace does not have. Each side
//! of a branch counts only in the lanes that go there.

use smidgen_value::Value;

use super::writer::{Index, NO_REGISTER, Read, Writer};
use crate::formula::{Formula, Term};
use crate::id::NodeId;
use crate::program::lanes::{Held, Rule};

impl Formula {
    /// Writes it for a node, where this is what it reads. A density counts, and has no value.
    pub(super) fn write(&self, writer: &mut Writer, node: NodeId, reads: &[Read]) -> Read {
        let all = |writer: &mut Writer, terms: &[Term]| -> Vec<Read> {
            terms.iter().map(|term| term.write(writer, node, reads)).collect()
        };
        match self {
            Formula::Constant(value) => Read::Constant(value.clone()),
            Formula::Read(place) => reads[*place as usize].clone(),
            Formula::Apply(function, args, span) => {
                let args = all(writer, args);
                let place = writer.place(node, *span);
                Read::Held(writer.function(place, function, &args))
            }
            Formula::If(parts, span) => {
                let [condition, then, otherwise] = &**parts;
                let condition = condition.write(writer, node, reads);
                let place = writer.place(node, *span);
                let index = Index { read: condition, is_condition: true };
                let sides = [otherwise, then];
                writer.switch(place, index, 2, &mut |writer, k| sides[k].write(writer, node, reads))
            }
            Formula::Request(memo, keys, span) => {
                let keys = all(writer, keys);
                // The memo itself is what the host looks into.
                let place = writer.place(*memo, *span);
                let out = Held::Boxed(writer.boxed_register());
                writer.call(place, Rule::Request, &keys, out.clone());
                Read::Held(out)
            }
            Formula::Call(operator, cases, span) => {
                let mut among = vec![operator.write(writer, node, reads)];
                among.extend(cases.iter().map(|(procedure, _)| Read::Constant(procedure.clone())));
                let place = writer.place(node, *span);
                let which = writer.number_register();
                writer.call(place, Rule::Which, &among, which.clone());
                let index = Index { read: Read::Held(which), is_condition: false };
                writer.switch(place, index, cases.len(), &mut |writer, k| {
                    cases[k].1.write(writer, node, reads)
                })
            }
            Formula::Density(density) => {
                let args = all(writer, &density.args);
                let place = writer.place(node, density.span);
                match density.distribution.admit(&density.observed) {
                    Ok(x) => {
                        let mut all = vec![Read::Constant(x)];
                        all.extend(args);
                        writer.density(place, density.distribution, &all);
                    }
                    // A value of the wrong type makes the branch impossible.
                    Err(_) => writer.call(place, Rule::Impossible, &args, NO_REGISTER),
                }
                Read::Constant(Value::Nil)
            }
        }
    }
}
