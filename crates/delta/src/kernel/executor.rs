//! The I/O runtime as the kernel's executor.

use std::future::{Future, poll_fn};

use delta_kernel::KernelResult;
use delta_kernel_default_engine::executor::TaskExecutor;
use delta_kernel_default_engine::executor::tokio::TokioMultiThreadExecutor;
use futures::future::BoxFuture;
use lakerace_io::{Result, panics, runtime};

/// The kernel's own executor on a runtime. It panics where a task did, which the caller of the kernel catches; the
/// panic of the task itself, which ends here, is not printed.
pub(crate) struct QuietExecutor(TokioMultiThreadExecutor);

impl QuietExecutor {
    pub fn new() -> Result<Self> {
        Ok(Self(TokioMultiThreadExecutor::new(runtime()?.clone())))
    }
}

/// A task whose panics are not printed.
fn quiet<F: Future>(task: F) -> impl Future<Output = F::Output> {
    let mut task = Box::pin(task);
    poll_fn(move |context| panics::quietly(|| task.as_mut().poll(context)))
}

impl TaskExecutor for QuietExecutor {
    type Guard<'a> = <TokioMultiThreadExecutor as TaskExecutor>::Guard<'a>;

    fn block_on<T>(&self, task: T) -> T::Output
    where
        T: Future + Send + 'static,
        T::Output: Send + 'static,
    {
        self.0.block_on(quiet(task))
    }

    fn spawn<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.spawn(quiet(task));
    }

    fn spawn_blocking<T, R>(&self, task: T) -> BoxFuture<'_, KernelResult<R>>
    where
        T: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.0.spawn_blocking(move || panics::quietly(task))
    }

    fn enter(&self) -> Self::Guard<'_> {
        self.0.enter()
    }
}
