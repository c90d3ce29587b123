package lakerace.spark;

import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;

/**
 * The memory of a task's batches, and of its part of an upsert, in Spark's own accounting, where Spark has off-heap
 * memory.
 *
 * <p>It can't be spilled: other consumers of the task spill for it.
 */
final class NativeMemory extends MemoryConsumer {
  /** The batch that Spark reads, one that waits, and one in progress. */
  private static final int BATCHES = 3;

  private NativeMemory(TaskMemoryManager manager) {
    super(manager, MemoryMode.OFF_HEAP);
  }

  /** The consumer of a task; null where Spark does not account for off-heap memory. */
  static NativeMemory of(TaskContext task) {
    TaskMemoryManager manager = task == null ? null : task.taskMemoryManager();
    return manager == null || manager.getTungstenMemoryMode() != MemoryMode.OFF_HEAP ? null : new NativeMemory(manager);
  }

  /**
   * Acquires the memory for batches of so many bytes, if that is more than is held. If Spark has no more, the error
   * ends with the advice.
   */
  void holdBatches(long bytes, String advice) {
    long missing = bytes * BATCHES - getUsed();
    if (missing <= 0) {
      return;
    }
    long granted = acquireMemory(missing);
    if (granted < missing) {
      freeMemory(granted);
      throw LakeraceException.outOfMemory("batches of " + bytes + " bytes need " + missing + " bytes more outside of the heap, but Spark has " + granted
          + ": raise spark.memory.offHeap.size, or run fewer tasks at the same time" + advice);
    }
  }

  /**
   * Acquires half of the memory that Spark has, up to {@code most} bytes: the other half is for Spark's own sort of the
   * task's rows. Fails where that is less than {@code least}.
   */
  long takeHalf(long most, long least) {
    long granted = acquireMemory(2 * most);
    long half = granted / 2;
    freeMemory(granted - half);
    if (half < least) {
      freeMemory(half);
      throw LakeraceException.outOfMemory("a task of an upsert needs " + 2 * least + " bytes outside of the heap, but Spark has " + granted
          + ": raise spark.memory.offHeap.size, or run fewer tasks at the same time");
    }
    return half;
  }

  /** Releases all of it. */
  void release() {
    freeMemory(getUsed());
  }

  @Override
  public long spill(long bytes, MemoryConsumer trigger) {
    return 0;
  }
}
