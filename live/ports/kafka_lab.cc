#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <sstream>

#include "live/ports/kafka_admin.h"

namespace mqlab::live::kafka {
namespace {

using Clock = std::chrono::steady_clock;
using EventPtr = std::unique_ptr<rd_kafka_event_t, Freed<rd_kafka_event_destroy>>;
using OptionsPtr = std::unique_ptr<rd_kafka_AdminOptions_t, Freed<rd_kafka_AdminOptions_destroy>>;
constexpr int quick_ms = 10'000;

void require(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw PortError(what + ": " + rd_kafka_err2str(error));
}
void require(const ErrorPtr& error, const std::string& what) {
  if (error) throw PortError(what + ": " + rd_kafka_error_string(error.get()));
}

OptionsPtr options(rd_kafka_t* client, rd_kafka_admin_op_t op, int timeout_ms) {
  OptionsPtr options(rd_kafka_AdminOptions_new(client, op));
  char why[128];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), timeout_ms, why, sizeof why);
  rd_kafka_AdminOptions_set_operation_timeout(options.get(), timeout_ms, why, sizeof why);
  return options;
}

EventPtr answer(rd_kafka_queue_t* queue, int timeout_ms, const std::string& what) {
  EventPtr event(rd_kafka_queue_poll(queue, timeout_ms + 1000));
  if (!event) throw PortError(what + ": no answer");
  require(rd_kafka_event_error(event.get()), what);
  return event;
}

std::mutex said_mutex;
std::string said;

/// Called on whatever thread polls a client.
void on_error(rd_kafka_t*, int code, const char* reason, void*) {
  if (code != RD_KAFKA_RESP_ERR__AUTHENTICATION && code != RD_KAFKA_RESP_ERR__SSL) return;
  const std::lock_guard lock(said_mutex);
  said = reason;
}

Conf lab_conf(const Access& access) {
  Conf conf;
  conf.set("client.id", "mqlab");
  conf.reach(access.address, access.properties);
  rd_kafka_conf_set_error_cb(conf.get(), on_error);
  conf.set("log_level", "2");
  // The lab asks again soon: what it waits for is a cluster that is just coming up.
  conf.set("reconnect.backoff.ms", "20");
  conf.set("reconnect.backoff.max.ms", "200");
  conf.set("retry.backoff.ms", "20");
  return conf;
}

}  // namespace

std::string hopeless() {
  const std::lock_guard lock(said_mutex);
  return said;
}

ClientPtr lab_consumer(const Access& access, const std::string& group, bool committed_only) {
  Conf conf = lab_conf(access);
  conf.set("group.id", group);
  conf.set("enable.auto.commit", "false");
  conf.set("enable.partition.eof", "true");
  conf.set("auto.offset.reset", "error");
  conf.set("fetch.wait.max.ms", "20");
  conf.set("fetch.error.backoff.ms", "10");
  conf.set("topic.metadata.refresh.fast.interval.ms", "20");
  conf.set("isolation.level", committed_only ? "read_committed" : "read_uncommitted");
  ClientPtr client = conf.create(RD_KAFKA_CONSUMER);
  rd_kafka_poll_set_consumer(client.get());
  return client;
}

ClientPtr lab_producer(const Access& access, const std::string& transactional_id) {
  Conf conf = lab_conf(access);
  conf.set("linger.ms", "0");
  // Plain otherwise: see give_out_ids().
  if (!transactional_id.empty()) conf.set("transactional.id", transactional_id);
  return conf.create(RD_KAFKA_PRODUCER);
}

void create_topics(rd_kafka_t* client, const std::vector<TopicSpec>& topics, int timeout_ms) {
  std::vector<rd_kafka_NewTopic_t*> wanted;
  for (const TopicSpec& t : topics) {
    char why[256];
    rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(t.name.c_str(), static_cast<int>(t.partitions),
                                                       static_cast<int>(t.replication), why, sizeof why);
    if (topic == nullptr) throw PortError("topic " + t.name + ": " + why);
    for (const Property& p : t.properties)
      rd_kafka_NewTopic_set_config(topic, p.key.c_str(), p.value.c_str());
    wanted.push_back(topic);
  }
  const QueuePtr queue(rd_kafka_queue_new(client));
  const OptionsPtr how = options(client, RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout_ms);
  rd_kafka_CreateTopics(client, wanted.data(), wanted.size(), how.get(), queue.get());
  rd_kafka_NewTopic_destroy_array(wanted.data(), wanted.size());
  const EventPtr event = answer(queue.get(), timeout_ms, "making topics");
  std::size_t count = 0;
  const auto** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto error = rd_kafka_topic_result_error(results[i]);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) continue;
    const char* text = rd_kafka_topic_result_error_string(results[i]);
    throw PortError(std::string("topic ") + rd_kafka_topic_result_name(results[i]) + ": " +
                    (text != nullptr ? text : rd_kafka_err2str(error)));
  }
}

void add_partitions(rd_kafka_t* client, const std::string& topic, std::uint32_t total, int timeout_ms) {
  char why[256];
  rd_kafka_NewPartitions_t* wanted = rd_kafka_NewPartitions_new(topic.c_str(), total, why, sizeof why);
  if (wanted == nullptr) throw PortError("topic " + topic + ": " + why);
  const QueuePtr queue(rd_kafka_queue_new(client));
  const OptionsPtr how = options(client, RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, timeout_ms);
  rd_kafka_CreatePartitions(client, &wanted, 1, how.get(), queue.get());
  rd_kafka_NewPartitions_destroy(wanted);
  const EventPtr event = answer(queue.get(), timeout_ms, "adding partitions");
  std::size_t count = 0;
  const auto** results =
      rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event.get()), &count);
  for (std::size_t i = 0; i < count; ++i)
    require(rd_kafka_topic_result_error(results[i]), "more partitions of " + topic);
}

void delete_topics(rd_kafka_t* client, const std::vector<std::string>& topics, int timeout_ms) {
  std::vector<rd_kafka_DeleteTopic_t*> unwanted;
  for (const std::string& topic : topics) unwanted.push_back(rd_kafka_DeleteTopic_new(topic.c_str()));
  const QueuePtr queue(rd_kafka_queue_new(client));
  const OptionsPtr how = options(client, RD_KAFKA_ADMIN_OP_DELETETOPICS, timeout_ms);
  rd_kafka_DeleteTopics(client, unwanted.data(), unwanted.size(), how.get(), queue.get());
  rd_kafka_DeleteTopic_destroy_array(unwanted.data(), unwanted.size());
  answer(queue.get(), timeout_ms, "deleting topics");
}

void delete_groups(rd_kafka_t* client, const std::vector<std::string>& groups, int timeout_ms) {
  std::vector<rd_kafka_DeleteGroup_t*> unwanted;
  for (const std::string& group : groups) unwanted.push_back(rd_kafka_DeleteGroup_new(group.c_str()));
  const QueuePtr queue(rd_kafka_queue_new(client));
  const OptionsPtr how = options(client, RD_KAFKA_ADMIN_OP_DELETEGROUPS, timeout_ms);
  rd_kafka_DeleteGroups(client, unwanted.data(), unwanted.size(), how.get(), queue.get());
  rd_kafka_DeleteGroup_destroy_array(unwanted.data(), unwanted.size());
  answer(queue.get(), timeout_ms, "deleting groups");
}

void give_out_ids(const Access& access, const std::string& topic) {
  std::vector<ClientPtr> producers;
  std::istringstream nodes(access.address);
  for (std::string node; std::getline(nodes, node, ',');) {
    Conf conf = lab_conf({node, access.properties});
    conf.set("enable.idempotence", "true");
    producers.push_back(conf.create(RD_KAFKA_PRODUCER));
    require(
        rd_kafka_producev(producers.back().get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
                          RD_KAFKA_V_VALUE(const_cast<char*>("id"), 2), RD_KAFKA_V_END),
        "readiness: produce");
  }
  for (const ClientPtr& producer : producers)
    require(rd_kafka_flush(producer.get(), quick_ms), "readiness: a producer id");
}

void round_trip(const Access& access, const std::string& topic, bool transactional) {
  const ClientPtr producer = lab_producer(access, transactional ? topic : "");
  const ClientPtr consumer = lab_consumer(access, topic, true);
  const ListPtr place(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(place.get(), topic.c_str(), 0)->offset = 0;
  if (transactional) {
    require(ErrorPtr(rd_kafka_init_transactions(producer.get(), quick_ms)), "readiness: init_transactions");
    require(ErrorPtr(rd_kafka_begin_transaction(producer.get())), "readiness: begin_transaction");
  }
  require(rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
                            RD_KAFKA_V_VALUE(const_cast<char*>("ready"), 5), RD_KAFKA_V_END),
          "readiness: produce");
  require(rd_kafka_flush(producer.get(), quick_ms), "readiness: produce");
  if (transactional)
    require(ErrorPtr(rd_kafka_commit_transaction(producer.get(), quick_ms)), "readiness: commit_transaction");
  require(rd_kafka_assign(consumer.get(), place.get()), "readiness: assign");
  const auto until = Clock::now() + std::chrono::milliseconds(quick_ms);
  bool seen = false;
  while (!seen && Clock::now() < until) {
    const MessagePtr message(rd_kafka_consumer_poll(consumer.get(), 100));
    seen = message && message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
  }
  if (!seen) throw PortError("readiness: the message did not come back");
  place->elems[0].offset = 1;
  require(rd_kafka_commit(consumer.get(), place.get(), 0), "readiness: commit");
  rd_kafka_assign(consumer.get(), nullptr);
}

ClusterView look(rd_kafka_t* client, std::uint32_t nodes, const std::string& prefix, int timeout_ms) {
  const rd_kafka_metadata_t* raw = nullptr;
  require(rd_kafka_metadata(client, 1, nullptr, &raw, timeout_ms), "metadata");
  const std::unique_ptr<const rd_kafka_metadata_t, Freed<rd_kafka_metadata_destroy>> metadata(raw);
  ClusterView view;
  view.whole = metadata->broker_cnt >= static_cast<int>(nodes);
  for (int t = 0; t < metadata->topic_cnt; ++t) {
    const auto& topic = metadata->topics[t];
    if (!std::string_view(topic.topic).starts_with(prefix)) continue;
    for (int p = 0; p < topic.partition_cnt; ++p) {
      const auto& partition = topic.partitions[p];
      view.leaders[{topic.topic, partition.id}] = partition.leader;
      view.whole = view.whole && partition.leader >= 0 && partition.isr_cnt == partition.replica_cnt;
    }
  }
  return view;
}

std::vector<std::int64_t> offsets_at(rd_kafka_t* client, rd_kafka_topic_partition_list_t* partitions,
                                     std::int64_t where, int timeout_ms) {
  // A time of −1 asks for the end, −2 for the beginning (ListOffsets); one request for each node instead of
  // one for each partition.
  for (int i = 0; i < partitions->cnt; ++i) partitions->elems[i].offset = where;
  require(rd_kafka_offsets_for_times(client, partitions, timeout_ms), "bounds of logs");
  std::vector<std::int64_t> result;
  for (int i = 0; i < partitions->cnt; ++i) {
    require(partitions->elems[i].err, std::string("bounds of ") + partitions->elems[i].topic);
    result.push_back(partitions->elems[i].offset);
  }
  return result;
}

std::vector<bool> read_all(rd_kafka_t* consumer, const rd_kafka_topic_partition_list_t* partitions,
                           const std::function<void(const rd_kafka_message_t&)>& visit) {
  const ListPtr from(rd_kafka_topic_partition_list_copy(partitions));
  for (int i = 0; i < from->cnt; ++i) from->elems[i].offset = RD_KAFKA_OFFSET_BEGINNING;
  require(rd_kafka_assign(consumer, from.get()), "audit");
  std::vector<bool> done(static_cast<std::size_t>(from->cnt), false);
  auto last = Clock::now();
  constexpr auto patience = std::chrono::seconds(15);
  while (std::ranges::count(done, true) < from->cnt && Clock::now() - last < patience) {
    const MessagePtr message(rd_kafka_consumer_poll(consumer, 100));
    if (!message) continue;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      visit(*message);
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      for (int i = 0; i < from->cnt; ++i) {
        const bool same = from->elems[i].partition == message->partition &&
                          std::strcmp(from->elems[i].topic, rd_kafka_topic_name(message->rkt)) == 0;
        if (same) done[static_cast<std::size_t>(i)] = true;
      }
    } else {
      continue;
    }
    last = Clock::now();
  }
  rd_kafka_assign(consumer, nullptr);
  return done;
}

}  // namespace mqlab::live::kafka
