//! Byte run length encoding: runs of 3 to 130 equal bytes, literals of 1 to 128.

const MIN_RUN: usize = 3;
const MAX_RUN: usize = 130;
const MAX_LITERALS: usize = 128;

/// Appends `values` as runs and literals.
pub(crate) fn encode(values: &[u8], out: &mut Vec<u8>) {
    let mut literals = 0;
    let mut at = 0;
    while at < values.len() {
        let value = values[at];
        let run = values[at..].iter().take(MAX_RUN).take_while(|&&v| v == value).count();
        if run >= MIN_RUN {
            put_literals(&values[literals..at], out);
            out.extend([(run - MIN_RUN) as u8, value]);
            at += run;
            literals = at;
        } else {
            at += run;
        }
    }
    put_literals(&values[literals..], out);
}

fn put_literals(values: &[u8], out: &mut Vec<u8>) {
    for chunk in values.chunks(MAX_LITERALS) {
        out.push((chunk.len() as u8).wrapping_neg());
        out.extend_from_slice(chunk);
    }
}

#[cfg(test)]
mod tests;
