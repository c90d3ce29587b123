package lakerace.spark;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The versions that tables have got by this process: by its writes, and by {@code REFRESH TABLE}. A frame that was
 * analysed earlier reads them, so that a session sees its own writes.
 */
final class FreshVersions {
  private static final AtomicLong CLOCK = new AtomicLong();
  private static final Map<String, Fresh> BY_PLACE = new ConcurrentHashMap<>();

  private FreshVersions() {}

  /** A logical time: versions that are noted later are newer. */
  static long now() {
    return CLOCK.incrementAndGet();
  }

  /** Notes the current version of a table. */
  static void note(String location, long version) {
    BY_PLACE.put(place(location), new Fresh(now(), version));
  }

  /** The version that a table has got since a logical time; {@code known} where it has got none. */
  static String since(String location, long moment, String known) {
    Fresh fresh = BY_PLACE.get(place(location));
    boolean isNewer = fresh != null && fresh.moment > moment && known != null && known.matches("\\d+") && fresh.version > Long.parseLong(known);
    return isNewer ? String.valueOf(fresh.version) : known;
  }

  /** A canonical text for all names of a location. */
  static String place(String location) {
    String plain = location.regionMatches(true, 0, "delta:", 0, "delta:".length()) ? location.substring("delta:".length()) : location;
    plain = plain.startsWith("file://") ? plain.substring("file://".length()) : Locations.plain(plain);
    return plain.replaceFirst("(?<=.)/+$", "");
  }

  private static final class Fresh {
    private final long moment;
    private final long version;

    Fresh(long moment, long version) {
      this.moment = moment;
      this.version = version;
    }
  }
}
