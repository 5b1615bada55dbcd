//! A scan of many rows in chunks, which threads share. What the chunks give is put together in their order, whoever computed
//! them: the numbers do not depend on how many threads there are.

use std::ops::Range;

/// Rows that one thread scans before it takes others, and from how many rows on threads share a scan. The
/// sums do not depend on the latter.
const CHUNK: usize = 16_384;
const MANY: usize = 1 << 17;

/// How many threads share a scan of n rows.
pub(crate) fn workers(n: usize, threads: usize) -> usize {
    if n < MANY { 1 } else { threads.clamp(1, n.div_ceil(CHUNK)) }
}

/// Asks about every chunk of n rows, one thread for each desk. The first failure ends it.
pub(crate) fn in_chunks<D: Send, T: Send, E: Send>(
    n: usize,
    desks: &mut [D],
    chunk: impl Fn(Range<usize>, &mut D) -> Result<T, E> + Sync,
    mut add: impl FnMut(T),
) -> Result<(), E> {
    let chunks = n.div_ceil(CHUNK);
    let places = |k: usize| k * CHUNK..n.min((k + 1) * CHUNK);
    if let [desk] = desks {
        for k in 0..chunks {
            add(chunk(places(k), &mut *desk)?);
        }
        return Ok(());
    }
    let workers = desks.len();
    let mut found: Vec<(usize, Result<T, E>)> =
        std::thread::scope(|scope| {
            let mut handles = Vec::with_capacity(workers);
            for (first, desk) in desks.iter_mut().enumerate() {
                let chunk = &chunk;
                let all = (first..chunks).step_by(workers);
                handles.push(scope.spawn(move || {
                    all.map(|k| (k, chunk(places(k), &mut *desk))).collect::<Vec<_>>()
                }));
            }
            let joined = handles.into_iter().map(|handle| handle.join());
            joined.flat_map(|part| part.expect("a scan does not panic")).collect()
        });
    found.sort_unstable_by_key(|(k, _)| *k);
    for (_, found) in found {
        add(found?);
    }
    Ok(())
}
