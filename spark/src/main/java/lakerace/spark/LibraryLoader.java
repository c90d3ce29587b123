package lakerace.spark;

import java.util.concurrent.CountDownLatch;

/**
 * Loads a native library on a thread that lives as long as the JVM.
 *
 * <p>mimalloc takes the thread that loads it for the main thread, and frees that thread's memory when it ends. A later
 * thread may get the same identity, and would allocate from freed memory. Threads that call Spark may end, such as
 * those of Python.
 */
final class LibraryLoader implements Runnable {
  private final String path;
  private final CountDownLatch loaded = new CountDownLatch(1);
  private volatile Throwable failure;

  private LibraryLoader(String path) {
    this.path = path;
  }

  /** Loads the library at an absolute path. Throws the {@link UnsatisfiedLinkError} of {@link System#load}. */
  static void load(String path) {
    LibraryLoader loader = new LibraryLoader(path);
    Thread thread = new Thread(null, loader, "lakerace-native");
    thread.setDaemon(true);
    thread.setContextClassLoader(null);
    thread.start();
    boolean interrupted = false;
    while (true) {
      try {
        loader.loaded.await();
        break;
      } catch (InterruptedException error) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (loader.failure instanceof Error) {
      throw (Error) loader.failure;
    }
    if (loader.failure instanceof RuntimeException) {
      throw (RuntimeException) loader.failure;
    }
  }

  @Override
  public void run() {
    try {
      System.load(path);
    } catch (RuntimeException | Error error) {
      failure = error;
      return;
    } finally {
      loaded.countDown();
    }
    while (true) {
      try {
        Thread.sleep(Long.MAX_VALUE);
      } catch (InterruptedException error) {
        // This thread is not meant to end.
      }
    }
  }
}
