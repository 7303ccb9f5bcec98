#include "live/ports/kafka_client.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/scenario/units.h"

namespace mqlab::live::kafka {
namespace {

struct Renamed {
  std::string_view java, librdkafka;
};
// Settings of the Java client whose meaning librdkafka has under another name (CONFIGURATION.md).
constexpr auto renamed = std::to_array<Renamed>({
    {"fetch.max.wait.ms", "fetch.wait.max.ms"},
    {"max.request.size", "message.max.bytes"},
    {"send.buffer.bytes", "socket.send.buffer.bytes"},
    {"receive.buffer.bytes", "socket.receive.buffer.bytes"},
});
// Assignors of the Java client by class name.
constexpr auto assignors = std::to_array<Renamed>({
    {"RangeAssignor", "range"},
    {"RoundRobinAssignor", "roundrobin"},
    {"CooperativeStickyAssignor", "cooperative-sticky"},
});

std::string assignment_strategy(std::string value) {
  for (const auto& [java, librdkafka] : assignors) {
    const std::string whole = "org.apache.kafka.clients.consumer." + std::string(java);
    for (std::size_t at = value.find(whole); at != std::string::npos; at = value.find(whole))
      value.replace(at, whole.size(), librdkafka);
  }
  std::erase(value, ' ');
  return value;
}

rd_kafka_resp_err_t on_sent(rd_kafka_t*, int, const char*, int32_t, int16_t key, int16_t, int32_t, size_t,
                            void* opaque) {
  // Kafka's API keys, org.apache.kafka.common.protocol.ApiKeys
  constexpr auto kinds = [] {
    std::array<RequestKind, 32> table{};
    table[0] = RequestKind::produce;
    table[1] = RequestKind::fetch;
    table[8] = RequestKind::offset_commit;
    table[9] = RequestKind::offset_fetch;
    table[10] = RequestKind::find_coordinator;
    table[11] = RequestKind::join_group;
    table[12] = RequestKind::heartbeat;
    table[13] = RequestKind::leave_group;
    table[14] = RequestKind::sync_group;
    table[22] = RequestKind::init_producer_id;
    table[24] = RequestKind::add_partitions_to_txn;
    table[25] = RequestKind::add_offsets_to_txn;
    table[26] = RequestKind::end_txn;
    table[28] = RequestKind::txn_offset_commit;
    return table;
  }();
  const RequestKind kind = key >= 0 && static_cast<std::size_t>(key) < kinds.size()
                               ? kinds[static_cast<std::size_t>(key)]
                               : RequestKind::none;
  if (kind != RequestKind::none) (*static_cast<const std::function<void(RequestKind)>*>(opaque))(kind);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t on_new(rd_kafka_t* client, const rd_kafka_conf_t*, void* opaque, char*, size_t) {
  return rd_kafka_interceptor_add_on_request_sent(client, "mqlab", on_sent, opaque);
}

std::uint16_t code_of(rd_kafka_resp_err_t error) {
  return static_cast<std::uint16_t>(error >= 0 ? static_cast<int>(error) : 1000 - static_cast<int>(error));
}

bool fenced(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__FENCED || error == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
         error == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH || error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
}

}  // namespace

Conf::Conf() : conf_(rd_kafka_conf_new()) {
  // Errors of consequence come back with the operation; the library's own log lines go to stderr, the
  // worker's log.
  set("log_level", "4");
}

void Conf::set(const std::string& name, const std::string& value) {
  std::array<char, 256> why{};
  if (rd_kafka_conf_set(conf_.get(), name.c_str(), value.c_str(), why.data(), why.size()) !=
      RD_KAFKA_CONF_OK) {
    throw PortError(name + " = " + value + ": " + why.data());
  }
}

void Conf::apply(const Properties& properties, const std::string& owner) {
  for (const Property& p : properties) {
    std::string name = p.key;
    std::string value = p.value;
    if (const auto found = std::ranges::find(renamed, name, &Renamed::java); found != renamed.end())
      name = found->librdkafka;
    if (name == "partition.assignment.strategy") value = assignment_strategy(value);
    if (name == "max.poll.records") {
      max_poll_records_ = static_cast<std::uint32_t>(parse_integer(value).value_or(500));
      continue;
    }
    std::array<char, 256> why{};
    const auto result = rd_kafka_conf_set(conf_.get(), name.c_str(), value.c_str(), why.data(), why.size());
    if (result == RD_KAFKA_CONF_OK) continue;
    throw PortError(owner + ": " + p.key + " = " + p.value + ": " + library_version() +
                    " cannot express it (" + why.data() + ")");
  }
}

void Conf::reach(const std::string& address, const Properties& properties) {
  set("bootstrap.servers", address);
  for (const Property& p : properties) {
    const std::string value = expanded(p.value, p.key);
    std::array<char, 256> why{};
    const auto result = rd_kafka_conf_set(conf_.get(), p.key.c_str(), value.c_str(), why.data(), why.size());
    if (result == RD_KAFKA_CONF_OK) continue;
    throw PortError("live.properties." + p.key + ": " +
                    (result == RD_KAFKA_CONF_UNKNOWN ? library_version() + " has no such setting"
                                                     : "not a value that " + library_version() + " takes"));
  }
}

ClientPtr Conf::create(rd_kafka_type_t type) {
  std::array<char, 256> why{};
  rd_kafka_t* client = rd_kafka_new(type, conf_.get(), why.data(), why.size());
  if (client == nullptr) throw PortError(std::string("librdkafka: ") + why.data());
  static_cast<void>(conf_.release());  // the client owns it now
  return ClientPtr(client);
}

void report_requests(Conf& conf, const std::function<void(RequestKind)>& on_request) {
  if (!on_request) return;
  void* opaque = const_cast<std::function<void(RequestKind)>*>(&on_request);
  rd_kafka_conf_interceptor_add_on_new(conf.get(), "mqlab", on_new, opaque);
}

Names::Names(const Topology& topology, const std::string& tag) : topology_(topology) {
  for (const TopicInfo& topic : topology.topics) topics_.push_back(tagged(topic.name, tag));
}

PlaceId Names::place(const char* topic, std::int32_t partition) const {
  for (TopicId id = 0; id < topology_.topics.size(); ++id) {
    const TopicInfo& info = topology_.topics[id];
    if (info.kind != TopicKind::topic || topics_[id] != topic) continue;
    return partition >= 0 && static_cast<std::uint32_t>(partition) < info.partitions
               ? info.first_place + static_cast<PlaceId>(partition)
               : no_place;
  }
  return no_place;
}

ListPtr Names::list(std::span<const PlacePosition> places, bool with_positions) const {
  ListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(places.size())));
  for (const PlacePosition& p : places) {
    const PlaceInfo& info = topology_.places[p.place];
    auto* entry = rd_kafka_topic_partition_list_add(list.get(), topic(info.topic).c_str(),
                                                    static_cast<std::int32_t>(info.partition));
    if (with_positions && p.position >= 0) entry->offset = p.position;
  }
  return list;
}

std::vector<PlacePosition> Names::places(const rd_kafka_topic_partition_list_t* list) const {
  std::vector<PlacePosition> places;
  for (int i = 0; list != nullptr && i < list->cnt; ++i) {
    const auto& entry = list->elems[i];
    const PlaceId id = place(entry.topic, entry.partition);
    if (id != no_place) places.push_back({id, entry.offset >= 0 ? entry.offset : -1});
  }
  return places;
}

Failure failure_of(const rd_kafka_error_t* error) {
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  Failure f;
  f.code = code_of(code);
  if (fenced(code)) {
    f.error = ErrorClass::fenced;
    f.outcome = Outcome::unknown;
  } else if (rd_kafka_error_is_fatal(error) != 0) {
    f.error = ErrorClass::fatal;
    f.outcome = Outcome::unknown;
  } else if (rd_kafka_error_txn_requires_abort(error) != 0) {
    f.error = ErrorClass::abortable;  // the library asked the coordinator for no commit, or was refused
  } else if (rd_kafka_error_is_retriable(error) != 0) {
    f.error = ErrorClass::retriable;
    f.outcome = Outcome::unknown;
  } else {
    f.error = ErrorClass::abortable;
    f.outcome = code == RD_KAFKA_RESP_ERR__TIMED_OUT ? Outcome::unknown : Outcome::fail;
  }
  return f;
}

Failure failure_of(rd_kafka_resp_err_t error) {
  Failure f;
  f.code = code_of(error);
  switch (error) {
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:  // its group will not have it
    case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED:
      f.error = ErrorClass::fatal;
      break;
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:  // a commit by somebody who has no say any more
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
      f.error = ErrorClass::abortable;
      break;
    default:
      f.error = fenced(error) ? ErrorClass::fenced : ErrorClass::retriable;
  }
  return f;
}

std::optional<WireMessage> read_message(const rd_kafka_message_t& record) {
  const void* bytes = record.payload;
  std::size_t size = record.len;
  if (bytes == nullptr) {
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&record, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        rd_kafka_header_get_last(headers, wire_header_name, &bytes, &size) != RD_KAFKA_RESP_ERR_NO_ERROR)
      return std::nullopt;
  }
  return decode({static_cast<const std::byte*>(bytes), size});
}

std::string library_version() { return std::string("librdkafka ") + rd_kafka_version_str(); }

}  // namespace mqlab::live::kafka
