package lakerace.spark;

import org.apache.spark.unsafe.Platform;

/** A growing buffer in off-heap memory. */
final class Memory {
  private static final long FIRST_BYTES = 1 << 12;

  private long address;
  private long capacity;
  private long size;

  long address() {
    return address;
  }

  long size() {
    return size;
  }

  /** Reserves so many more bytes and returns their address. */
  private long grow(long bytes) {
    if (size + bytes > capacity) {
      long larger = Math.max(FIRST_BYTES, Math.max(size + bytes, capacity * 2));
      address = capacity == 0 ? Platform.allocateMemory(larger) : Platform.reallocateMemory(address, capacity, larger);
      capacity = larger;
    }
    size += bytes;
    return address + size - bytes;
  }

  void putByte(byte value) {
    Platform.putByte(null, grow(1), value);
  }

  void putShort(short value) {
    Platform.putShort(null, grow(2), value);
  }

  void putInt(int value) {
    Platform.putInt(null, grow(4), value);
  }

  void putLong(long value) {
    Platform.putLong(null, grow(8), value);
  }

  void putFloat(float value) {
    Platform.putFloat(null, grow(4), value);
  }

  void putDouble(double value) {
    Platform.putDouble(null, grow(8), value);
  }

  void put(Object base, long offset, int bytes) {
    Platform.copyMemory(base, offset, null, grow(bytes), bytes);
  }

  /** Appends zeros. */
  void skip(int bytes) {
    Platform.setMemory(grow(bytes), (byte) 0, bytes);
  }

  void clear() {
    size = 0;
  }

  void free() {
    if (capacity > 0) {
      Platform.freeMemory(address);
    }
    address = 0;
    capacity = 0;
    size = 0;
  }
}
