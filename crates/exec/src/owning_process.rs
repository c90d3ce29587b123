//! The process that a value belongs to.

use crate::cancel_token::Interruption;

/// The process that has made a value, with its threads and locks. A process that is forked from it inherits the value, but neither the
/// threads nor who releases the locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwningProcess(u32);

impl OwningProcess {
    /// This process.
    pub fn current() -> Self {
        Self(std::process::id())
    }

    /// Returns true in a process that was forked from the owner.
    pub fn is_forked(self) -> bool {
        self != Self::current()
    }

    /// Fails in a process that was forked from the owner.
    ///
    /// # Errors
    /// `Forked`.
    pub fn check(self) -> Result<(), Interruption> {
        if self.is_forked() { Err(Interruption::Forked) } else { Ok(()) }
    }
}
