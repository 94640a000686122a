import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** A small web server to begin with: replace it by your own program. */
public class Main {
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(Optional.ofNullable(System.getenv("SERVER_PORT")).filter(s -> !s.isEmpty()).orElse("3000"));
        HttpServer server = HttpServer.create(new InetSocketAddress("0.0.0.0", port), 0);
        server.createContext("/", exchange -> {
            byte[] body = "Hello from your Java service\n".getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        CountDownLatch stopped = new CountDownLatch(1);
        // The virtual machine ends with 143 on SIGTERM unless the program ends itself first.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            System.out.println("Stopping");
            server.stop(0);
            System.out.flush();
            Runtime.getRuntime().halt(0);
        }));
        server.start();
        System.out.println("Ready on port " + port);
        stopped.await();
    }
}
