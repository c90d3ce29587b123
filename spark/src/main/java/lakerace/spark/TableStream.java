package lakerace.spark;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;

/** The rows that versions of a Delta table add, or their changes, micro-batch by micro-batch. */
final class TableStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  /** Options that only streams have, in lower case. */
  private static final List<String> OF_STREAMS =
      Arrays.asList("maxfilespertrigger", "maxbytespertrigger", "ignorechanges", "ignoredeletes", "skipchangecommits");

  private static final List<String> STARTS = Arrays.asList("startingversion", "startingtimestamp");

  /** An option until a micro-batch has been planned: the engine checks the schema at its start. */
  private static final String IS_FIRST = "stream.is_first";

  private final String location;
  private final Map<String, String> options;
  private final StructType schema;
  private final StreamLimit limit;
  /** The version that defines the stream's columns, in the form for tasks. */
  private final String version;
  private final StreamStart start;
  /** The last version that is read; null where the stream does not end. */
  private String last;
  /** The last micro-batch that was planned; null before the first one. */
  private PlannedBatch planned;

  /** {@code checkpoint} is the source's folder in the checkpoint. */
  TableStream(String location, Map<String, String> scan, StructType schema, String checkpoint) {
    this.location = location;
    this.options = new HashMap<>(scan);
    this.schema = schema;
    this.start = new StreamStart(checkpoint);
    checkOptions();
    this.limit = new StreamLimit(options);
    String at = ScanSketch.isFeed(options) ? options.remove("endingversion") : options.remove("at");
    Map<String, String> opening = new HashMap<>(options);
    if (at != null) {
      opening.put("stream.at", at);
    }
    String[] opened = ask("open", opening);
    this.version = opened[0];
    options.put("stream.version", version);
    options.put("stream.table_id", opened[1]);
    options.put("stream.schema", schema.json());
    options.put("query.columns", String.join(String.valueOf(Native.NAME), schema.fieldNames()));
    options.put(IS_FIRST, "true");
    options.put("query.tasks", String.valueOf(Math.max(1, SparkSession.active().sparkContext().defaultParallelism())));
  }

  /** Fails where a query that is no stream has options of streams. */
  static void checkNoStream(String location, Map<String, String> options) {
    for (String name : OptionNames.known()) {
      String lower = OptionNames.plain(name);
      boolean isOfStreams = OF_STREAMS.contains(lower) || STARTS.contains(lower) && !ScanSketch.isFeed(options);
      if (isOfStreams && options.containsKey(lower)) {
        throw LakeraceException.usage(Locations.shown(location) + ": option \"" + name + "\" is for spark.readStream: omit it"
            + (STARTS.contains(lower) ? ", or read changes with readChangeFeed" : ""));
      }
    }
  }

  private void checkOptions() {
    String shown = Locations.shown(location);
    if (options.containsKey(LakeraceTable.GIVEN_AT)) {
      throw LakeraceException.usage(shown + ": a stream has no fixed version: give startingVersion or startingTimestamp");
    }
    if (options.containsKey(LakeraceTable.GIVEN_END)) {
      throw LakeraceException.usage(shown + ": a stream has no option \"endingVersion\": it ends with trigger(availableNow=True), or runs on");
    }
    if (options.keySet().containsAll(STARTS)) {
      throw LakeraceException.usage(shown + ": two starting points are given: give one of the options startingVersion and startingTimestamp");
    }
    boolean isFeed = ScanSketch.isFeed(options);
    for (String name : Arrays.asList("ignoreChanges", "ignoreDeletes", "skipChangeCommits")) {
      if (isFeed && options.containsKey(OptionNames.plain(name))) {
        throw LakeraceException.usage(shown + ": option \"" + name + "\" skips changes, but option \"readChangeFeed\" reads them: give one of them");
      }
    }
    if (isFeed && !options.containsKey("startingversion")) {
      throw LakeraceException.usage(shown + ": a stream of changes needs a first version: give startingVersion, a number");
    }
  }

  private String[] ask(String question, Map<String, String> asked) {
    Map<String, String> all = new HashMap<>(asked);
    all.put("stream.asks", question);
    try {
      return Native.records(Native.stream(Native.bytes(location), Native.options(all)));
    } catch (NativeException error) {
      throw error.forSpark();
    }
  }

  /** The position is the same whenever Spark asks for it. */
  @Override
  public Offset initialOffset() {
    Map<String, String> kept = new HashMap<>(options);
    kept.put("stream.from", start.position(() -> ask("start", options)[0]));
    kept.put("stream.file", start.shown());
    return new StreamPosition(ask("kept", kept)[0]);
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new StreamPosition(json);
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return limit;
  }

  /** Handles {@code Trigger.AvailableNow}: later commits are left to the next run. */
  @Override
  public void prepareForTriggerAvailableNow() {
    last = ask("last", options)[0];
  }

  @Override
  public Offset latestOffset(Offset from, ReadLimit asked) {
    Map<String, String> all = new HashMap<>(options);
    all.put("stream.from", from.json());
    if (last != null) {
      all.put("stream.until", last);
    }
    if (!(asked instanceof ReadAllAvailable)) {
      if (limit.files != null) {
        all.put("stream.max_files", limit.files);
      }
      if (limit.bytes != null) {
        all.put("stream.max_bytes", limit.bytes);
      }
    }
    String[] found = ask("batch", all);
    planned = new PlannedBatch(from.json(), found[0], tasks(found, 1));
    if (!found[0].equals(from.json())) {
      options.remove(IS_FIRST);
    }
    return new StreamPosition(found[0]);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("Spark asks with a limit");
  }

  @Override
  public InputPartition[] planInputPartitions(Offset from, Offset to) {
    if (planned == null || !planned.isOf(from.json(), to.json())) {
      Map<String, String> all = new HashMap<>(options);
      all.put("stream.from", from.json());
      all.put("stream.to", to.json());
      planned = new PlannedBatch(from.json(), to.json(), tasks(ask("tasks", all), 0));
      options.remove(IS_FIRST);
    }
    return planned.tasks.clone();
  }

  /** The tasks of an answer, which start with this record. */
  private static InputPartition[] tasks(String[] answer, int first) {
    return Arrays.stream(answer).skip(first).filter(task -> !task.isEmpty()).map(ScanTask::new).toArray(InputPartition[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    HashMap<String, String> shared = new HashMap<>(options);
    shared.keySet().removeIf(name -> name.startsWith("stream."));
    if (!ScanSketch.isFeed(options)) {
      shared.put("task.version", version);
    }
    return new ScanReaders(location, shared, schema);
  }

  /** The checkpoint stores the position. */
  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}

  @Override
  public String toString() {
    return "lakerace " + Locations.shown(location);
  }

  /** The tasks between two positions. */
  private static final class PlannedBatch {
    private final String from;
    private final String to;
    private final InputPartition[] tasks;

    PlannedBatch(String from, String to, InputPartition[] tasks) {
      this.from = from;
      this.to = to;
      this.tasks = tasks;
    }

    boolean isOf(String first, String next) {
      return from.equals(first) && to.equals(next);
    }
  }
}
