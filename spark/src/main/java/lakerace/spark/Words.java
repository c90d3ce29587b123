package lakerace.spark;

import java.util.Arrays;

/** A growing array of numbers for native code. */
final class Words {
  private long[] words = new long[64];
  private int length;

  void put(long word) {
    if (length == words.length) {
      words = Arrays.copyOf(words, length * 2);
    }
    words[length++] = word;
  }

  long[] take() {
    long[] taken = Arrays.copyOf(words, length);
    length = 0;
    return taken;
  }
}
