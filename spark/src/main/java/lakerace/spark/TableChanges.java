package lakerace.spark;

import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.types.StructType;

/** The changes of {@code ALTER TABLE} and {@code COMMENT ON}, in the engine's form. */
final class TableChanges {
  private final String location;
  private final Map<String, String> changes = new TreeMap<>();
  private StructType added = new StructType();
  private StructType types = new StructType();

  TableChanges(String location, TableChange... all) {
    this.location = location;
    for (TableChange change : all) {
      take(change);
    }
    if (added.length() > 0) {
      changes.put("add_columns", CharVarcharUtils.replaceCharVarcharWithStringInSchema(added).json());
    }
    if (types.length() > 0) {
      changes.put("types", types.json());
    }
  }

  /**
   * The changes by their names: {@code set.PROPERTY}, {@code unset.PROPERTY}, {@code comment.COLUMN}, {@code rename.COLUMN}, {@code drop.COLUMN}, and
   * {@code add_columns} and {@code types}, which are schemas.
   */
  Map<String, String> named() {
    return changes;
  }

  private void take(TableChange change) {
    if (change instanceof TableChange.SetProperty) {
      TableChange.SetProperty set = (TableChange.SetProperty) change;
      checkProperty(set.property());
      changes.put("set." + set.property(), set.value());
    } else if (change instanceof TableChange.RemoveProperty) {
      changes.put("unset." + ((TableChange.RemoveProperty) change).property(), "");
    } else if (change instanceof TableChange.AddColumn) {
      add((TableChange.AddColumn) change);
    } else if (change instanceof TableChange.UpdateColumnComment) {
      TableChange.UpdateColumnComment comment = (TableChange.UpdateColumnComment) change;
      changes.put("comment." + column(comment.fieldNames()), comment.newComment());
    } else if (change instanceof TableChange.UpdateColumnType) {
      TableChange.UpdateColumnType update = (TableChange.UpdateColumnType) change;
      types = types.add(column(update.fieldNames()), update.newDataType(), true);
    } else if (change instanceof TableChange.RenameColumn) {
      TableChange.RenameColumn rename = (TableChange.RenameColumn) change;
      changes.put("rename." + column(rename.fieldNames()), rename.newName());
    } else if (change instanceof TableChange.DeleteColumn) {
      changes.put("drop." + column(((TableChange.DeleteColumn) change).fieldNames()), "");
    } else {
      throw refused("lakerace has no command for it (" + change.getClass().getSimpleName() + "): delta-spark has");
    }
  }

  private void add(TableChange.AddColumn add) {
    String name = column(add.fieldNames());
    if (add.position() != null) {
      throw refused("the new column \"" + name + "\" comes after the others: omit FIRST or AFTER");
    }
    if (!add.isNullable()) {
      throw refused("the rows of the table have no value for the new column \"" + name + "\": omit NOT NULL");
    }
    if (add.defaultValue() != null) {
      throw refused("the new column \"" + name + "\" is null in the rows of the table: omit DEFAULT");
    }
    added = add.comment() == null ? added.add(name, add.dataType(), true) : added.add(name, add.dataType(), true, add.comment());
  }

  /** The column of a change; a field of one is an error. */
  private String column(String[] names) {
    if (names.length != 1) {
      throw refused("columns are changed, not their fields: \"" + String.join(".", names) + "\" is one");
    }
    return names[0];
  }

  private void checkProperty(String property) {
    if (LakeraceCatalog.OF_SPARK.contains(property)) {
      throw refused("\"" + property + "\" is not a property of a Delta table: the location of a table of this catalog is given by its name");
    }
  }

  private RuntimeException refused(String reason) {
    return LakeraceException.unsupported(Locations.shown(location) + ": " + reason).forAnalysis();
  }
}
