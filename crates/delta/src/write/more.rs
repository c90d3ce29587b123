//! Actions that the kernel's transactions know nothing of, in the same entry as theirs.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use delta_kernel::committer::{CommitMetadata, CommitResponse, Committer, FileSystemCommitter, PublishMetadata};
use delta_kernel::engine::arrow_data::ArrowEngineData;
use delta_kernel::{Engine, FilteredEngineData, KernelResult, KernelResultIterator};

/// Actions for the next entry: batches with one column, which has the action's name. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct MoreActions {
    batches: Arc<Mutex<Vec<RecordBatch>>>,
}

impl MoreActions {
    /// Takes these in place of those before.
    pub fn set(&self, batches: Vec<RecordBatch>) {
        *self.batches.lock().unwrap_or_else(PoisonError::into_inner) = batches;
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Puts the kernel's actions and ours into one entry, where there is none of its number.
pub(crate) struct WithMore(pub MoreActions);

impl Committer for WithMore {
    fn commit(
        &self,
        engine: &dyn Engine,
        actions: KernelResultIterator<'_, FilteredEngineData>,
        commit_metadata: CommitMetadata,
    ) -> KernelResult<CommitResponse> {
        let more = self.0.batches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let more = more.into_iter().map(|batch| {
            let data = Box::new(ArrowEngineData::new(batch));
            Ok(FilteredEngineData::with_all_rows_selected(data))
        });
        FileSystemCommitter::new().commit(engine, Box::new(actions.chain(more)), commit_metadata)
    }

    fn is_catalog_committer(&self) -> bool {
        false
    }

    fn publish(&self, engine: &dyn Engine, publish_metadata: PublishMetadata) -> KernelResult<()> {
        FileSystemCommitter::new().publish(engine, publish_metadata)
    }
}
