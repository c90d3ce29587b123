package lakerace.spark;

/** Live objects in native code of this JVM: tests use these numbers to find leaks. */
public final class Counters {
  private Counters() {}

  /** Open readers. */
  public static long readers() {
    return Native.live(0);
  }

  /** Reading threads. */
  public static long threads() {
    return Native.live(1);
  }

  /** Batches that were not freed yet. */
  public static long batches() {
    return Native.live(2);
  }

  /** Open writers. */
  public static long writers() {
    return Native.live(5);
  }

  /** Allocated bytes; 0 in a release build, which does not count them. */
  public static long bytes() {
    return Native.live(4);
  }
}
