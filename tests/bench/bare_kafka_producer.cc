// The client library's own pace: librdkafka alone, producing as fast as its queue takes, as its
// rdkafka_performance does. The peer of bench_live.py, built without anything of the lab's.
//   bare_kafka_producer BOOTSTRAP TOPIC MESSAGES BYTES [KEY=VALUE…]   prints acknowledged messages per second
#include <librdkafka/rdkafka.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<long> acknowledged = 0;
std::atomic<long> failed = 0;

void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
  ++(message->err == RD_KAFKA_RESP_ERR_NO_ERROR ? acknowledged : failed);
}

void set(rd_kafka_conf_t* conf, const std::string& key, const std::string& value) {
  char error[256];
  if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK)
    throw std::runtime_error(error);
}

double run(int argc, char** argv) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", argv[1]);
  for (int i = 5; i < argc; ++i) {
    const std::string pair = argv[i];
    set(conf, pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
  }
  rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
  char error[256];
  rd_kafka_t* client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
  if (client == nullptr) throw std::runtime_error(error);
  rd_kafka_topic_t* topic = rd_kafka_topic_new(client, argv[2], nullptr);
  const long messages = std::atol(argv[3]);
  std::vector<char> value(static_cast<std::size_t>(std::atol(argv[4])), 'x');
  std::atomic<bool> done = false;
  std::thread poller([&] {
    while (!done) rd_kafka_poll(client, 10);
  });
  const auto began = std::chrono::steady_clock::now();
  for (long sent = 0; sent < messages; ++sent) {
    constexpr int flags = RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK;  // waits while the queue is full
    if (rd_kafka_produce(topic, 0, flags, value.data(), value.size(), nullptr, 0, nullptr) != 0) ++failed;
  }
  rd_kafka_flush(client, 60'000);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  done = true;
  poller.join();
  if (failed > 0 || acknowledged != messages) throw std::runtime_error("not all were acknowledged");
  return static_cast<double>(messages) / took.count();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) throw std::runtime_error("BOOTSTRAP TOPIC MESSAGES BYTES [KEY=VALUE…]");
  std::printf("%.0f\n", run(argc, argv));
} catch (const std::exception& error) {
  std::fprintf(stderr, "bare_kafka_producer: %s\n", error.what());
  return 1;
}
