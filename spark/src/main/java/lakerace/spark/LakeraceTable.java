package lakerace.spark;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Files or a Delta table, opened at a version. */
class LakeraceTable implements SupportsRead {
  private final String location;
  private final Map<String, String> options;
  private final Plan plan;

  private LakeraceTable(String location, Map<String, String> options) {
    this.location = location;
    this.options = options;
    this.plan = Plan.of(location, options);
    if (!plan.version.isEmpty()) {
      // What is read is what was analysed, whatever is committed meanwhile.
      options.put("at", plan.version);
    }
  }

  static LakeraceTable of(CaseInsensitiveStringMap options) {
    return new LakeraceTable(Locations.of(options), Locations.resolved(options.asCaseSensitiveMap()));
  }

  @Override
  public String name() {
    return "lakerace." + Locations.shown(location);
  }

  // Spark 3.5 has it as the way that Spark 4 prefers has not been there for long.
  @SuppressWarnings("deprecation")
  @Override
  public StructType schema() {
    return plan.schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap query) {
    return new ScanSketch(location, options, plan);
  }
}
