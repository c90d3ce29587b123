import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.ServerVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A server in memory that speaks MongoDB 5.0's protocol, on loopback: `MongoMemory PORT`. */
public class MongoMemory {
    /** Drivers of today refuse a server below wire version 9; 5.0 has 13. */
    private static final int WIRE_VERSION = 13;

    public static void main(String[] arguments) throws Exception {
        MemoryBackend backend = new MemoryBackend();
        backend.version(new MongoVersion() {
            @Override
            public List<Integer> getVersionArray() {
                return ServerVersion.MONGO_5_0.getVersionArray();
            }

            @Override
            public int getWireVersion() {
                return WIRE_VERSION;
            }
        });
        new MongoServer(backend).bind("127.0.0.1", Integer.parseInt(arguments[0]));
        new CountDownLatch(1).await();
    }
}
