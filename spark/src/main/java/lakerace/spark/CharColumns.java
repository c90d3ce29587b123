package lakerace.spark;

import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;

/** Columns of {@code CHAR(n)}. */
final class CharColumns {
  /** Spark's name for the type that a text was declared with, in the metadata of its column. */
  private static final String DECLARED = "__CHAR_VARCHAR_TYPE_STRING";
  private static final Pattern CHAR = Pattern.compile("(?<![a-z])char\\(");
  private static final String PADS_READS = "spark.sql.readSideCharPadding";

  private CharColumns() {}

  /** Returns true if a column is, or contains, a text of {@code CHAR(n)}. */
  static boolean areIn(StructType schema) {
    for (StructField field : schema.fields()) {
      if (field.metadata().contains(DECLARED) && CHAR.matcher(field.metadata().getString(DECLARED)).find()) {
        return true;
      }
    }
    return false;
  }

  /** Returns true if the statement that Spark analyses in this thread pads the rows that it reads. */
  static boolean arePaddedInReads() {
    return SQLConf.get().readSideCharPadding();
  }

  /**
   * Makes Spark pad texts where a statement compares them, and not where it reads them. Spark pads rows in a projection
   * above the table, and its {@code DELETE} and {@code MERGE} then do not find the table. The session with the setting
   * is active in this thread until Spark ends the statement and sets its own again. Spark 4.3 analyses a statement with the
   * settings of the session that has started it, and rewrites most statements before it pads rows.
   */
  static void padInComparisons() {
    SparkSession session = SparkSession.active();
    if (!Boolean.parseBoolean(session.conf().get(PADS_READS, "true"))) {
      return;
    }
    SparkSession own = session.newSession();
    Iterator<Tuple2<String, String>> settings = session.conf().getAll().iterator();
    while (settings.hasNext()) {
      Tuple2<String, String> setting = settings.next();
      try {
        own.conf().set(setting._1(), setting._2());
      } catch (Exception error) {
        // Settings that are fixed for all sessions can't be set, and are the same.
        continue;
      }
    }
    own.conf().set(PADS_READS, "false");
    SparkSession.setActiveSession(own);
  }
}
