package lakerace.spark;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.rules.RuleExecutor;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * A rule of Spark's analysis: rows may have columns that their table lacks, where options of the write give them to the table.
 *
 * <p>Spark compares rows with the columns of a table before it asks the table. So a table that is opened for a write takes
 * any rows at first. This rule then puts another table in its place, which has the columns that the write gives it, and
 * Spark compares the rows with these.
 */
final class WriteRule extends Rule<LogicalPlan> {
  /** The sessions that have the rule. */
  private static final Set<SparkSession> SESSIONS = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  /** An analysis that had started when its session got the rule, and does not apply it. */
  private static volatile WeakReference<AnalysisContext> started = new WeakReference<>(null);

  WriteRule(SparkSession session) {
    SESSIONS.add(session);
  }

  /** Returns true if the session that analyses a statement has the rule. */
  static boolean isActive() {
    Option<SparkSession> session = SparkSession.getActiveSession();
    session = session.isDefined() ? session : SparkSession.getDefaultSession();
    return session.exists(SESSIONS::contains) && started.get() != AnalysisContext.get();
  }

  /**
   * Adds the rule to the active session. Spark 4 has taken it from the jar; Spark 3.5 does so only for sessions of Scala and Java,
   * and for those with the setting {@code spark.sql.extensions}.
   */
  static void install() {
    if (!WriteRelations.isSpark3()) {
      return;
    }
    try {
      SparkSession session = SparkSession.active();
      if (!SESSIONS.contains(session)) {
        WriteRelations.addRule(session, WriteRule::new);
        boolean hasStarted = Arrays.stream(Thread.currentThread().getStackTrace()).anyMatch(frame -> frame.getClassName().equals(RuleExecutor.class.getName()));
        started = hasStarted ? new WeakReference<>(AnalysisContext.get()) : started;
      }
    } catch (RuntimeException | LinkageError error) {
      LoggerFactory.getLogger(WriteRule.class)
          .warn("rows of other columns need the setting spark.sql.extensions=" + LakeraceExtensions.class.getName(), error);
    }
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan.analyzed()) {
      return plan;
    }
    if (plan instanceof V2WriteCommand) {
      V2WriteCommand write = (V2WriteCommand) plan;
      LakeraceTable table = table(write.table());
      if (table != null && write.query().resolved()) {
        return written(write, (DataSourceV2Relation) write.table(), table);
      }
    }
    LakeraceTable table = table(plan);
    if (table != null) {
      // The target of a statement that changes rows.
      return WriteRelations.withTable((DataSourceV2Relation) plan, table.strict());
    }
    return plan.mapChildren(this::apply);
  }

  /** The table of a relation, if this rule checks its rows; else null. */
  private static LakeraceTable table(Object relation) {
    if (relation instanceof DataSourceV2Relation && ((DataSourceV2Relation) relation).table() instanceof LakeraceTable) {
      LakeraceTable table = (LakeraceTable) ((DataSourceV2Relation) relation).table();
      return table.takesAnyRows() ? table : null;
    }
    return null;
  }

  private static LogicalPlan written(V2WriteCommand write, DataSourceV2Relation relation, LakeraceTable table) {
    Map<String, String> options = new HashMap<>(table.options);
    options.putAll(Locations.named(WriteRelations.options(write)));
    SchemaWrites.check(options);
    boolean isWhole = write instanceof OverwriteByExpression && ((OverwriteByExpression) write).deleteExpr().equals(Literal.create(true, DataTypes.BooleanType));
    StructType rows = write.query().schema();
    if (SchemaWrites.isSet(options, SchemaWrites.MERGE) || WriteRelations.evolves(write)) {
      StructType named = write.isByName() ? rows : byPosition(rows, table.schema());
      Target target = SchemaWrites.merged(table.location, options, table.schema(), named);
      LakeraceTable merged = target.planned.isEmpty() ? table.strict() : table.planned(target);
      return filled(write, WriteRelations.withColumns(relation, merged), merged.schema());
    }
    if (SchemaWrites.isSet(options, SchemaWrites.OVERWRITE) && isWhole) {
      Target target = SchemaWrites.replaced(table.location, options, rows, new String[0]);
      boolean isSame = target.planned.isEmpty();
      return (LogicalPlan) write.withNewTable(
          isSame ? WriteRelations.withTable(relation, table.strict()) : WriteRelations.create(relation, table.planned(target)));
    }
    if (write.isByName() && !options.containsKey("key")) {
      checkColumns(table, rows, isWhole);
    }
    return (LogicalPlan) write.withNewTable(WriteRelations.withTable(relation, table.strict()));
  }

  /** Rows that are matched by position, with the table's names for the columns that it has. */
  private static StructType byPosition(StructType rows, StructType table) {
    StructType named = new StructType();
    for (StructField field : rows.fields()) {
      int at = named.length();
      String name = at < table.length() ? table.fieldNames()[at] : field.name();
      named = named.add(new StructField(name, field.dataType(), field.nullable(), field.metadata()));
    }
    return named;
  }

  /** The write with nulls for columns that its rows lack, which Spark 3.5 does not fill in. */
  private static LogicalPlan filled(V2WriteCommand write, DataSourceV2Relation relation, StructType columns) {
    V2WriteCommand changed = write.withNewTable(relation);
    if (!write.isByName() || !WriteRelations.isSpark3()) {
      return (LogicalPlan) changed;
    }
    List<StructField> missing = new ArrayList<>();
    StructType rows = write.query().schema();
    for (StructField field : columns.fields()) {
      if (Locations.column(rows, field.name()) == null && field.nullable()) {
        missing.add(field);
      }
    }
    return missing.isEmpty() ? (LogicalPlan) changed : (LogicalPlan) changed.withNewQuery(WriteRelations.withNulls(write.query(), missing));
  }

  /** Fails where rows have a column that their table lacks; Spark's error does not say how to add it. */
  private static void checkColumns(LakeraceTable table, StructType rows, boolean isWhole) {
    String extra = SchemaWrites.missing(table.schema(), rows);
    String lacking = isWhole && WriteRelations.isSpark3() ? SchemaWrites.missing(rows, table.schema()) : null;
    if (extra == null && lacking == null) {
      return;
    }
    String difference = extra != null ? "the table has no column \"" + extra + "\": it has " + String.join(", ", table.schema().fieldNames())
        : "the rows have no column \"" + lacking + "\" of the table: they have " + String.join(", ", rows.fieldNames());
    String advice = "option(\"mergeSchema\", \"true\") adds the columns of the rows to those of the table";
    throw LakeraceException.usage(Locations.shown(table.location) + ": " + difference + ": " + advice
        + (isWhole ? ", and option(\"overwriteSchema\", \"true\") replaces its columns by those of the rows" : ", and so does ALTER TABLE ... ADD COLUMNS"));
  }
}
