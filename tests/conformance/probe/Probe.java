import java.time.Duration;
import java.util.*;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.*;
import org.apache.kafka.common.serialization.*;

/**
 * The Java client, asked by hand: a request a line, its answer as JSON a line. An exception answers with its class.
 *
 * <pre>
 * topic NAME [k=v]…           partitions= replication= and topic settings
 * producer NAME [k=v]…        consumer NAME [k=v]…
 * send P TOPIC BYTES [KEY]    waits: the offset          post P TOPIC BYTES   does not wait
 * place P TOPIC KEY           the partition a key goes to
 * settled P                   the offsets of what was posted, in order
 * init|begin|commit|abort P   transactions
 * offsets P C TOPIC:N         sendOffsetsToTransaction
 * read C TOPIC MILLIS         subscribes at first use; offsets read within that time
 * poll C TOPIC                number of records of the first poll that returns some
 * committed C TOPIC           the group's committed offset, or "none"
 * sync C                      commitSync
 * mark C TOPIC OFFSET [EPOCH] commitSync of that offset, with that leader epoch or none
 * epoch C TOPIC               the leader epoch of the group's committed offset, or "none"
 * moves C                     what it was given (+) and had to give back (-) since it was asked last, in order
 * epochs TOPIC                of the producers that have written to it
 * end TOPIC                   the log's end offset; stable TOPIC: the last stable one
 * timed REQUEST               {"ms": …, "answer": …}
 * close NAME
 * default OWNER KEY           of producer or consumer: as the class has it; of broker or topic: as the broker says
 * </pre>
 */
public final class Probe {
  private final String address;
  private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
  private final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>();
  private final Map<String, List<java.util.concurrent.Future<RecordMetadata>>> posted = new HashMap<>();
  private final Map<String, List<Object>> moved = new HashMap<>();  // consumer: partitions, as it was told of them
  private final Set<String> made = new HashSet<>();  // topics, to be removed
  private final Admin admin;

  private Probe(String address) {
    this.address = address;
    this.admin = Admin.create(Map.<String, Object>of("bootstrap.servers", address));
  }

  public static void main(String[] arguments) throws Exception {
    Probe probe = new Probe(arguments[0]);
    Scanner lines = new Scanner(System.in);
    while (lines.hasNextLine()) {
      System.out.println(json(probe.ask(lines.nextLine().trim().split(" +"))));
      System.out.flush();
    }
    probe.reset();
    System.exit(0);
  }

  private Object ask(String[] words) {
    try {
      return answer(words);
    } catch (ExecutionException error) {
      return error.getCause().getClass().getSimpleName();
    } catch (Exception error) {
      // Its own root class says nothing: then what it tells counts.
      boolean plain = error.getClass() == org.apache.kafka.common.KafkaException.class;
      if (plain && error.getCause() != null) return error.getCause().getClass().getSimpleName();
      return plain ? "KafkaException: " + error.getMessage() : error.getClass().getSimpleName();
    }
  }

  private Object answer(String[] w) throws Exception {
    switch (w[0]) {
      case "reset": return reset();
      case "topic": return topic(w[1], settings(w, 2));
      case "producer": return producer(w[1], settings(w, 2));
      case "consumer": return consumer(w[1], settings(w, 2));
      case "send": return producers.get(w[1]).send(record(w)).get().offset();
      case "post": return post(w);
      case "settled": return settled(w[1]);
      case "place": return place(w);
      case "init": producers.get(w[1]).initTransactions(); return "ok";
      case "begin": producers.get(w[1]).beginTransaction(); return "ok";
      case "commit": producers.get(w[1]).commitTransaction(); return "ok";
      case "abort": producers.get(w[1]).abortTransaction(); return "ok";
      case "offsets": return offsets(w);
      case "read": return read(w[1], w[2], Long.parseLong(w[3]));
      case "poll": return poll(w[1], w[2]);
      case "committed": return committed(w[1], w[2]);
      case "sync": consumers.get(w[1]).commitSync(); return "ok";
      case "mark": return mark(w);
      case "epoch": return epoch(w[1], w[2]);
      case "moves": return moves(w[1]);
      case "epochs": return epochs(w[1]);
      case "end": return end(w[1], org.apache.kafka.common.IsolationLevel.READ_UNCOMMITTED);
      case "stable": return end(w[1], org.apache.kafka.common.IsolationLevel.READ_COMMITTED);
      case "timed": return timed(Arrays.copyOfRange(w, 1, w.length));
      case "close": return close(w[1]);
      case "default": return defaulted(w[1], w[2]);
      default: return "no such request";
    }
  }

  private String reset() throws Exception {
    new ArrayList<>(producers.keySet()).forEach(this::close);
    new ArrayList<>(consumers.keySet()).forEach(this::close);
    posted.clear();
    moved.clear();
    if (!made.isEmpty()) admin.deleteTopics(made).all().get();
    made.clear();
    return "ok";
  }

  private static Map<String, String> settings(String[] words, int from) {
    Map<String, String> found = new LinkedHashMap<>();
    for (int i = from; i < words.length; i++) {
      String[] pair = words[i].split("=", 2);
      found.put(pair[0], pair[1]);
    }
    return found;
  }

  private String topic(String name, Map<String, String> settings) throws Exception {
    String partitions = settings.getOrDefault("partitions", "1"), replication = settings.getOrDefault("replication", "1");
    settings.keySet().removeAll(List.of("partitions", "replication"));
    NewTopic topic = new NewTopic(name, Integer.parseInt(partitions), Short.parseShort(replication)).configs(settings);
    admin.createTopics(List.of(topic)).all().get();
    made.add(name);
    return "ok";
  }

  private String producer(String name, Map<String, String> settings) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("bootstrap.servers", address);
    producers.put(name, new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer()));
    return "ok";
  }

  private String consumer(String name, Map<String, String> settings) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("bootstrap.servers", address);
    consumers.put(name, new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
    return "ok";
  }

  private static ProducerRecord<byte[], byte[]> record(String[] w) {
    byte[] key = w.length > 4 ? w[4].getBytes() : null;
    return new ProducerRecord<>(w[2], key, new byte[Integer.parseInt(w[3])]);
  }

  private String post(String[] w) {
    posted.computeIfAbsent(w[1], name -> new ArrayList<>()).add(producers.get(w[1]).send(record(w)));
    return "ok";
  }

  private List<Object> settled(String name) throws Exception {
    List<Object> found = new ArrayList<>();
    for (var one : posted.getOrDefault(name, List.of())) {
      try {
        found.add(one.get().offset());
      } catch (ExecutionException error) {
        found.add(error.getCause().getClass().getSimpleName());
      }
    }
    posted.remove(name);
    return found;
  }

  private Object place(String[] w) throws Exception {
    return producers.get(w[1]).send(new ProducerRecord<>(w[2], w[3].getBytes(), new byte[1])).get().partition();
  }

  private String offsets(String[] w) {
    String[] at = w[3].split(":");
    var positions = Map.of(new TopicPartition(at[0], 0), new OffsetAndMetadata(Long.parseLong(at[1])));
    producers.get(w[1]).sendOffsetsToTransaction(positions, consumers.get(w[2]).groupMetadata());
    return "ok";
  }

  private KafkaConsumer<byte[], byte[]> subscribed(String name, String topic) {
    KafkaConsumer<byte[], byte[]> consumer = consumers.get(name);
    if (consumer.subscription().isEmpty()) consumer.subscribe(List.of(topic), notes(name));
    return consumer;
  }

  private ConsumerRebalanceListener notes(String name) {
    List<Object> told = moved.computeIfAbsent(name, unused -> new ArrayList<>());
    return new ConsumerRebalanceListener() {
      @Override
      public void onPartitionsAssigned(Collection<TopicPartition> given) {
        note("+", given);
      }

      @Override
      public void onPartitionsRevoked(Collection<TopicPartition> taken) {
        note("-", taken);
      }

      private void note(String sign, Collection<TopicPartition> places) {
        places.stream().map(place -> sign + place.partition()).sorted().forEach(told::add);
      }
    };
  }

  private List<Object> moves(String name) {
    List<Object> told = moved.getOrDefault(name, List.of());
    List<Object> found = new ArrayList<>(told);
    told.clear();
    return found;
  }

  private List<Object> epochs(String topic) throws Exception {
    TopicPartition place = new TopicPartition(topic, 0);
    List<Object> found = new ArrayList<>();
    for (var one : admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers()) {
      found.add(one.producerEpoch());
    }
    return found;
  }

  private List<Object> read(String name, String topic, long millis) {
    KafkaConsumer<byte[], byte[]> consumer = subscribed(name, topic);
    List<Object> found = new ArrayList<>();
    for (long until = System.currentTimeMillis() + millis; System.currentTimeMillis() < until; ) {
      for (var record : consumer.poll(Duration.ofMillis(50))) found.add(record.offset());
    }
    return found;
  }

  private Object poll(String name, String topic) {
    KafkaConsumer<byte[], byte[]> consumer = subscribed(name, topic);
    for (int i = 0; i < 200; i++) {
      int count = consumer.poll(Duration.ofMillis(50)).count();
      if (count > 0) return count;
    }
    return 0;
  }

  private Object committed(String name, String topic) {
    TopicPartition place = new TopicPartition(topic, 0);
    OffsetAndMetadata found = consumers.get(name).committed(Set.of(place)).get(place);
    return found == null ? "none" : found.offset();
  }

  private String mark(String[] w) {
    Optional<Integer> epoch = w.length > 4 ? Optional.of(Integer.parseInt(w[4])) : Optional.empty();
    var at = new OffsetAndMetadata(Long.parseLong(w[3]), epoch, "");
    consumers.get(w[1]).commitSync(Map.of(new TopicPartition(w[2], 0), at));
    return "ok";
  }

  private Object epoch(String name, String topic) {
    TopicPartition place = new TopicPartition(topic, 0);
    OffsetAndMetadata found = consumers.get(name).committed(Set.of(place)).get(place);
    return found == null || found.leaderEpoch().isEmpty() ? "none" : found.leaderEpoch().get();
  }

  private Object end(String topic, org.apache.kafka.common.IsolationLevel level) throws Exception {
    TopicPartition place = new TopicPartition(topic, 0);
    return admin.listOffsets(Map.of(place, OffsetSpec.latest()), new ListOffsetsOptions(level)).all().get().get(place).offset();
  }

  private Object timed(String[] words) {
    long began = System.nanoTime();
    Object answer = ask(words);
    Map<String, Object> both = new LinkedHashMap<>();
    both.put("ms", (System.nanoTime() - began) / 1_000_000);
    both.put("answer", answer);
    return both;
  }

  private String close(String name) {
    if (producers.containsKey(name)) producers.remove(name).close(Duration.ZERO);
    if (consumers.containsKey(name)) consumers.remove(name).close(CloseOptions.timeout(Duration.ofSeconds(1)));
    return "ok";
  }

  private Object defaulted(String owner, String key) throws Exception {
    if (owner.equals("producer")) return plain(ProducerConfig.configDef().defaultValues().get(key));
    if (owner.equals("consumer")) return plain(ConsumerConfig.configDef().defaultValues().get(key));
    boolean topic = owner.equals("topic");
    if (topic && !made.contains("mqlab-defaults")) topic("mqlab-defaults", new HashMap<>());
    String name = topic ? "mqlab-defaults" : admin.describeCluster().nodes().get().iterator().next().idString();
    var resource = new ConfigResource(topic ? ConfigResource.Type.TOPIC : ConfigResource.Type.BROKER, name);
    var options = new DescribeConfigsOptions().includeSynonyms(true);
    var entry = admin.describeConfigs(List.of(resource), options).all().get().get(resource).get(key);
    // The lab sets some itself: what the broker would have without counts.
    return entry.synonyms().stream()
        .filter(one -> one.source() == ConfigEntry.ConfigSource.DEFAULT_CONFIG)
        .map(ConfigEntry.ConfigSynonym::value)
        .findFirst().orElse(entry.value());
  }

  private static Object plain(Object value) {
    return value == null || value instanceof Number || value instanceof Boolean ? value : value.toString();
  }

  private static String json(Object value) {
    if (value == null || value instanceof Number || value instanceof Boolean) return String.valueOf(value);
    if (value instanceof List<?> list) {
      StringJoiner all = new StringJoiner(",", "[", "]");
      list.forEach(one -> all.add(json(one)));
      return all.toString();
    }
    if (value instanceof Map<?, ?> map) {
      StringJoiner all = new StringJoiner(",", "{", "}");
      map.forEach((key, one) -> all.add(json(key.toString()) + ":" + json(one)));
      return all.toString();
    }
    return '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
