//! The depth of nesting of a footer's schema, checked before any recursive function uses it.

use super::mend::{FooterMender, wire};
use crate::nesting::MAX_NESTING;

/// Groups within one another at most: a list has two of them, and a map as well.
const GROUPS_AT_MOST: usize = 2 * MAX_NESTING + 2;

/// The field of the file's metadata with the elements of the schema, and that of an element with the number of its
/// children.
const SCHEMA: i16 = 2;
const CHILDREN: i16 = 5;

/// Returns true if the schema of a footer is nested too deep for recursion. For bytes that are not a footer, the result
/// has no meaning.
pub(crate) fn is_too_deep(footer: &[u8]) -> bool {
    deepest(footer).is_some_and(|depth| depth > GROUPS_AT_MOST)
}

/// The depth of the deepest element, up to the limit.
fn deepest(footer: &[u8]) -> Option<usize> {
    let mut reader = FooterMender::new(footer);
    let mut last = 0;
    loop {
        let (id, found) = reader.next_field(last)??;
        last = id;
        if id != SCHEMA || found != wire::LIST {
            reader.skip(found, 0)?;
            continue;
        }
        let (_, count) = reader.list_header()?;
        // The number of children that are not read yet, for each group under way.
        let (mut open, mut deepest) = (Vec::<u64>::new(), 0);
        for _ in 0..count {
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            deepest = deepest.max(open.len());
            if deepest > GROUPS_AT_MOST {
                return Some(deepest);
            }
            let children = children(&mut reader)?;
            if children > 0 {
                open.push(children);
            }
        }
        return Some(deepest);
    }
}

/// Reads an element of the schema; gives the number of its children.
fn children(reader: &mut FooterMender<'_>) -> Option<u64> {
    let (mut last, mut children) = (0, 0);
    while let Some((id, found)) = reader.next_field(last)? {
        last = id;
        if id == CHILDREN && found == wire::I32 {
            children = u64::try_from(reader.number()).unwrap_or(0);
        }
        reader.skip(found, 0)?;
    }
    Some(children)
}

#[cfg(test)]
mod tests;
