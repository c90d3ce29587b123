import java.util.concurrent.CountDownLatch;
import org.codelibs.opensearch.runner.OpenSearchRunner;

/** A node of OpenSearch 3 on loopback: `OpenSearch3 FOLDER [setting=value ...]`. */
public class OpenSearch3 {
    public static void main(String[] arguments) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        // Its own settings are those that are not there yet.
        runner.onBuild((number, settings) -> {
            for (int i = 1; i < arguments.length; i++) {
                String[] pair = arguments[i].split("=", 2);
                settings.put(pair[0], pair[1]);
            }
        });
        runner.build(OpenSearchRunner.newConfigs().basePath(arguments[0]).numOfNode(1).disableESLogger());
        new CountDownLatch(1).await();
    }
}
