package lakerace.spark;

/** An error of the engine. */
public final class NativeException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String[] parts;

  /** Called by the native library with kind, message, place and advice. */
  public NativeException(String text) {
    super(text);
    this.parts = text.split(String.valueOf(Native.UNIT), -1);
  }

  private String part(int at) {
    return at < parts.length ? parts[at] : "";
  }

  /** The kind of the error, such as {@code not_found}. */
  public String kind() {
    return part(0);
  }

  @Override
  public String getMessage() {
    if (parts.length < 4) {
      return super.getMessage();
    }
    String place = part(2).isEmpty() ? "" : part(2) + ": ";
    String advice = part(3).isEmpty() ? "" : "; " + part(3);
    return place + part(1) + advice;
  }

  /** The error as an exception of Spark. */
  LakeraceException forSpark() {
    return new LakeraceException(kind(), getMessage(), this);
  }
}
