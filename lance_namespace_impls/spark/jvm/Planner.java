package io.github.lancenamespacekit.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The Python process that plans scans. The driver starts it for the first scan and keeps it running
 * for later scans. Requests and responses are lines of JSON on its standard streams.
 */
final class Planner {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String MODULE = "lance_namespace_impls.spark.planner";
  private static final Map<List<String>, Planner> RUNNING = new HashMap<>();

  private final Process process;
  private volatile String ended;
  private final OutputStream requests;
  private final AtomicLong numbers = new AtomicLong();
  private final Map<Long, CompletableFuture<Map<String, Object>>> waiting =
      new ConcurrentHashMap<>();

  /** Returns the planner's response; a failure is raised like that of a Python data source. */
  static Map<String, Object> call(String operation, Map<String, Object> request) {
    return call(operation, request, code -> null);
  }

  /**
   * Returns the planner's response.
   *
   * @param operation the operation
   * @param request its arguments
   * @param errors returns the exception for a code of the protocol; null for the default one
   */
  static Map<String, Object> call(
      String operation, Map<String, Object> request, IntFunction<Throwable> errors) {
    PythonFunction python = new PythonSource().python().dataSourceCls();
    Map<String, Object> answer;
    try {
      answer = of(python).answer(operation, request);
    } catch (IOException error) {
      throw failure(operation, "the planner process failed: " + error.getMessage());
    }
    if (answer.get("error") != null) {
      Throwable error =
          answer.get("code") instanceof Number code ? errors.apply(code.intValue()) : null;
      if (error != null) {
        throw sneaky(error);
      }
      throw failure(operation, (String) answer.get("error"));
    }
    return answer;
  }

  private static RuntimeException failure(String operation, String message) {
    Throwable error =
        QueryCompilationErrors.pythonDataSourceError(
            operation.replace('_', ' '), LanceSource.NAME, message);
    return sneaky(error);
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException sneaky(Throwable error) throws E {
    throw (E) error; // an AnalysisException is checked in Java and not in Scala
  }

  private static Planner of(PythonFunction python) throws IOException {
    String path = pythonPath(python);
    List<String> key = List.of(python.pythonExec(), path);
    synchronized (RUNNING) {
      Planner planner = RUNNING.get(key);
      if (planner == null || planner.ended != null) {
        planner = new Planner(python, path);
        RUNNING.put(key, planner);
      }
      return planner;
    }
  }

  private static String pythonPath(PythonFunction python) {
    String own = python.envVars().getOrDefault("PYTHONPATH", "");
    String inherited = System.getenv().getOrDefault("PYTHONPATH", "");
    List<String> parts = List.of(PythonUtils.sparkPythonPath(), own, inherited);
    return PythonUtils.mergePythonPaths(CollectionConverters.asScala(parts).toList());
  }

  private Planner(PythonFunction python, String path) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(python.pythonExec(), "-m", MODULE);
    builder.environment().putAll(python.envVars());
    builder.environment().put("PYTHONPATH", path);
    builder.environment().put("PYTHONUNBUFFERED", "YES");
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    process = builder.start();
    requests = process.getOutputStream();
    Thread reader = new Thread(this::read, "lance-namespace-planner");
    reader.setDaemon(true);
    reader.start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
  }

  private Map<String, Object> answer(String operation, Map<String, Object> request)
      throws IOException {
    long number = numbers.incrementAndGet();
    Map<String, Object> line = new HashMap<>(request);
    line.put("number", number);
    line.put("operation", operation);
    CompletableFuture<Map<String, Object>> answer = new CompletableFuture<>();
    waiting.put(number, answer);
    byte[] bytes = JSON.writeValueAsBytes(line);
    synchronized (requests) {
      requests.write(bytes);
      requests.write('\n');
      requests.flush();
    }
    if (ended != null) { // maybe before this call was waiting
      answer.completeExceptionally(new IOException(ended));
    }
    try {
      return answer.get();
    } catch (ExecutionException error) {
      throw new IOException(error.getCause().getMessage(), error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", error);
    } finally {
      waiting.remove(number);
    }
  }

  @SuppressWarnings("unchecked")
  private void read() {
    String reason = "it exited; see its messages on the driver's standard error";
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Map<String, Object> answer = JSON.readValue(line, Map.class);
        CompletableFuture<Map<String, Object>> call =
            waiting.get(((Number) answer.get("number")).longValue());
        if (call != null) {
          call.complete(answer);
        }
      }
    } catch (IOException error) {
      reason = error.getMessage();
    }
    process.destroy();
    ended = reason;
    for (CompletableFuture<Map<String, Object>> call : waiting.values()) {
      call.completeExceptionally(new IOException(reason));
    }
  }
}
