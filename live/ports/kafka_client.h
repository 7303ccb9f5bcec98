// librdkafka held safely: owners that free, settings translated, errors as the seam's classes.
#pragma once
#include <librdkafka/rdkafka.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/faults/anchor.h"
#include "core/scenario/topology.h"
#include "core/seam/event.h"
#include "live/port.h"
#include "live/wire.h"

namespace mqlab::live::kafka {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
using ClientPtr = std::unique_ptr<rd_kafka_t, Freed<rd_kafka_destroy>>;
using ConfPtr = std::unique_ptr<rd_kafka_conf_t, Freed<rd_kafka_conf_destroy>>;
using TopicPtr = std::unique_ptr<rd_kafka_topic_t, Freed<rd_kafka_topic_destroy>>;
using MessagePtr = std::unique_ptr<rd_kafka_message_t, Freed<rd_kafka_message_destroy>>;
using QueuePtr = std::unique_ptr<rd_kafka_queue_t, Freed<rd_kafka_queue_destroy>>;
using ListPtr =
    std::unique_ptr<rd_kafka_topic_partition_list_t, Freed<rd_kafka_topic_partition_list_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, Freed<rd_kafka_error_destroy>>;
using GroupPtr =
    std::unique_ptr<rd_kafka_consumer_group_metadata_t, Freed<rd_kafka_consumer_group_metadata_destroy>>;

/// A client's settings on their way into librdkafka.
class Conf {
 public:
  Conf();
  /// Throws PortError naming the setting when librdkafka refuses it.
  void set(const std::string& name, const std::string& value);
  /// The scenario's properties by librdkafka's names; Java's where there is an equal. `owner` names them in
  /// errors. Throws PortError for a setting that librdkafka cannot express.
  void apply(const Properties& properties, const std::string& owner);
  /// Where the cluster is and how to get in: the scenario's [live] properties. Throws PortError; no value
  /// shows in it.
  void reach(const std::string& address, const Properties& properties);
  /// Java's max.poll.records, which librdkafka does not have: the port keeps to it.
  std::uint32_t max_poll_records() const { return max_poll_records_; }
  rd_kafka_conf_t* get() { return conf_.get(); }
  /// Creates the client; throws PortError.
  ClientPtr create(rd_kafka_type_t type);

 private:
  ConfPtr conf_;
  std::uint32_t max_poll_records_ = 0xffff'ffff;
};

/// Tells `on_request` of each request the client puts on the wire, on the client's own threads. `on_request`
/// must outlive the client.
void report_requests(Conf& conf, const std::function<void(RequestKind)>& on_request);

/// Places and topics of the broker by its own names.
class Names {
 public:
  Names(const Topology& topology, const std::string& tag);
  const std::string& topic(TopicId id) const { return topics_[id]; }
  /// no_place for a topic that is not the scenario's.
  PlaceId place(const char* topic, std::int32_t partition) const;
  ListPtr list(std::span<const PlacePosition> places, bool with_positions) const;
  std::vector<PlacePosition> places(const rd_kafka_topic_partition_list_t* list) const;

 private:
  const Topology& topology_;
  std::vector<std::string> topics_;  ///< by TopicId
};

/// What a failure means to the application.
struct Failure {
  Outcome outcome = Outcome::fail;
  ErrorClass error = ErrorClass::retriable;
  std::uint16_t code = 0;  ///< librdkafka's error number, local ones (negative) as 1000 − n
};
/// Failure of a transactional call. Its effect is excluded only where the library says so.
Failure failure_of(const rd_kafka_error_t* error);
/// Failure of a delivery report or an offset commit.
Failure failure_of(rd_kafka_resp_err_t error);

/// Where the lab's header travels of a message without value: in a record header of this name.
inline constexpr const char* wire_header_name = "mqlab";
/// The lab's message in a record; empty when it is none of the lab's. Its payload points into the record.
std::optional<WireMessage> read_message(const rd_kafka_message_t& record);

/// "librdkafka 2.0.2"
std::string library_version();

}  // namespace mqlab::live::kafka
