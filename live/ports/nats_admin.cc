// Streams and consumers by the JetStream API; the audit reads each stream from its first sequence to its
// last.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <type_traits>

#include "live/admin.h"
#include "live/port.h"
#include "live/ports/nats_config.h"
#include "live/ports/nats_settings.h"

namespace mqlab::live {
namespace nats {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Duration api_patience = Duration::seconds(5);
/// Without a leader the servers drop what they are asked, and they take up to 9 s to elect one (raft.go,
/// maxElectionTimeout): so the audit asks again.
constexpr Duration audit_patience = Duration::seconds(30);

/// A durable consumer of the scenario: a stage's, or that of an observer that is not ordered.
struct Durable {
  ReaderSettings reader;
  std::uint32_t stage;  ///< number of stages for an observer
  TopicId topic;
  std::vector<NatsConsumer> later;  ///< of stages that make it once more, or change it
};

class NatsAdmin final : public Admin {
 public:
  explicit NatsAdmin(const AdminContext& context) : context_(context) {}

  void setup(Duration patience) override {
    const auto until = Clock::now() + std::chrono::nanoseconds(patience.ns);
    retry(until, [&] {
      connection_ = connect(connection_settings(context_.scenario, context_.address, "lab"), nullptr);
      context_js_ = jetstream(connection_.get(), nullptr);
    });
    retry(until, [&] { round_trip(); });
    for (const bool copies : {false, true}) {  // a copy finds its origins
      each_stream([&](const TopicInfo&, const TopicSpec& spec) {
        if (is_copy(spec) == copies) retry(until, [&] { make_stream(spec); });
      });
    }
    for (const Durable& durable : durables()) retry(until, [&] { make_consumer(durable); });
  }

  void remove() override {
    open();
    each_stream([&](const TopicInfo&, const TopicSpec& spec) {
      js_DeleteStream(context_js_.get(), stream_names(spec, context_.tag).stream.c_str(), nullptr, nullptr);
    });
  }

  SystemState state() override {
    open();
    SystemState state;
    each_stream([&](const TopicInfo& topic, const TopicSpec& spec) {
      const StreamInfoPtr info = stream_info(spec);
      const auto end = info == nullptr ? 1 : static_cast<std::int64_t>(info->State.LastSeq) + 1;
      const auto bytes = info == nullptr ? 0 : static_cast<std::int64_t>(info->State.Bytes);
      state.places.push_back({topic.first_place, end, end, bytes});
      state.whole = state.whole && (info == nullptr || whole(*info, spec));
    });
    for (const Durable& durable : durables()) {
      const ConsumerInfoPtr info = consumer_info(durable);
      if (info == nullptr) continue;
      GroupState group;
      group.group = info->Name;
      group.stage = durable.stage;
      group.place = context_.topology.topics[durable.topic].first_place;
      group.committed = static_cast<std::int64_t>(info->AckFloor.Stream) + 1;
      group.undelivered = static_cast<std::int64_t>(info->NumPending);
      group.unacked = info->NumAckPending;
      state.groups.push_back(group);
    }
    return state;
  }

  std::uint32_t leader(PlaceId place) override {
    open();
    const StreamInfoPtr info = stream_info(spec_of(context_.topology.places[place].topic));
    if (info == nullptr || info->Cluster == nullptr || info->Cluster->Leader == nullptr)
      return 1;  // a server of its own
    return node_number(info->Cluster->Leader);
  }

  void audit(AuditSink& sink) override {
    open();
    each_stream(
        [&](const TopicInfo& topic, const TopicSpec& spec) { audit_stream(topic.first_place, spec, sink); });
    for (const Durable& durable : durables()) {
      const ConsumerInfoPtr info = patiently([&] { return consumer_info(durable); });
      if (info == nullptr) continue;
      const auto floor = static_cast<std::int64_t>(info->AckFloor.Stream);
      sink.committed(context_.topology.topics[durable.topic].first_place, floor + 1, durable.stage);
    }
  }

  void grow(TopicId topic) override {
    throw PortError("stream " + context_.topology.topics[topic].name + ": streams have no partitions");
  }

  std::string client_version() const override { return std::string("nats.c ") + nats_GetVersion(); }

 private:
  void open() {
    if (connection_) return;
    connection_ = connect(connection_settings(context_.scenario, context_.address, "lab"), nullptr);
    context_js_ = jetstream(connection_.get(), nullptr);
  }

  template <class F>
  std::invoke_result_t<F> retry(Clock::time_point until, F attempt) {
    while (true) {
      try {
        return attempt();
      } catch (const PortError&) {
        if (Clock::now() >= until) throw;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  template <class F>
  std::invoke_result_t<F> patiently(F attempt) {
    return retry(Clock::now() + std::chrono::nanoseconds(audit_patience.ns), attempt);
  }

  const TopicSpec& spec_of(TopicId topic) const {
    return context_.scenario.topics[context_.topology.topics[topic].index];
  }

  template <class F>
  void each_stream(F visit) {
    for (const TopicInfo& topic : context_.topology.topics) {
      if (topic.kind == TopicKind::stream && topic.broker == context_.broker)
        visit(topic, context_.scenario.topics[topic.index]);
    }
  }
  std::vector<Durable> durables() const {
    std::vector<Durable> found;
    const auto add = [&](const ReaderSettings& reader, std::uint32_t stage, const std::string& stream) {
      const TopicId topic = context_.topology.topic(stream);
      if (reader.values.ordered || context_.topology.topics[topic].broker != context_.broker) return;
      // Whoever names the same durable shares it, as the first one made it.
      const auto same = [&](const Durable& d) { return d.topic == topic && d.reader.name == reader.name; };
      const auto there = std::ranges::find_if(found, same);
      if (there == found.end()) return found.push_back({reader, stage, topic, {}});
      if (reader.values.action != NatsConsumer::Action::bind) there->later.push_back(reader.values);
    };
    const Scenario& s = context_.scenario;
    const BrokerSpec& broker = s.brokers[context_.broker];
    for (std::uint32_t i = 0; i < s.stages.size(); ++i) {
      for (const std::string& input : s.stages[i].inputs)
        add(reader_settings(s, broker, s.stages[i]), i, input);
    }
    const auto no_stage = static_cast<std::uint32_t>(s.stages.size());
    for (const ObserverSpec& observer : s.observers)
      add(reader_settings(s, broker, observer), no_stage, observer.topic);
    return found;
  }

  void make_stream(const TopicSpec& spec) {
    const StreamNames names = stream_names(spec, context_.tag);
    api_request(connection_.get(), "STREAM.CREATE." + names.stream, stream_config(settings_of(spec), names),
                api_patience, "stream " + names.stream);
  }

  void make_consumer(const Durable& durable) {
    ask_for(durable, durable.reader.values, "");
    for (const NatsConsumer& later : durable.later)
      ask_for(durable, later, later.action == NatsConsumer::Action::create ? "create" : "update");
  }

  void ask_for(const Durable& durable, const NatsConsumer& values, const char* action) {
    const StreamNames names = stream_names(spec_of(durable.topic), context_.tag);
    const std::string& name = durable.reader.name;
    nlohmann::json request = {{"stream_name", names.stream},
                              {"config", consumer_config(values, name, names)}};
    if (*action != '\0') request["action"] = action;
    api_request(connection_.get(), "CONSUMER.DURABLE.CREATE." + names.stream + "." + name, request,
                api_patience, "consumer " + name + " of stream " + names.stream);
  }

  /// A message into a stream of the lab's own and back: the whole path works, on as many replicas as the
  /// scenario uses.
  void round_trip() {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const std::string name = tagged("mqlab-ready", context_.tag);
    const char* subject = name.c_str();
    config.Name = subject;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Storage = js_MemoryStorage;
    each_stream([&](const TopicInfo&, const TopicSpec& spec) {
      config.Replicas = std::max<std::int64_t>(config.Replicas, spec.replication);
    });
    jsOptions quick;  // while the servers elect a leader nobody answers
    jsOptions_Init(&quick);
    quick.Wait = 250;
    require(js_AddStream(nullptr, context_js_.get(), &config, &quick, nullptr), "readiness: stream");
    jsPubAck* ack = nullptr;
    jsPubOptions soon;
    jsPubOptions_Init(&soon);
    soon.MaxWait = 250;
    require(js_Publish(&ack, context_js_.get(), subject, "ready", 5, &soon, nullptr), "readiness: publish");
    const std::uint64_t sequence = ack->Sequence;
    jsPubAck_Destroy(ack);
    natsMsg* message = nullptr;
    require(js_GetMsg(&message, context_js_.get(), subject, sequence, nullptr, nullptr), "readiness: read");
    natsMsg_Destroy(message);
    js_DeleteStream(context_js_.get(), subject, nullptr, nullptr);
  }

  /// Null when the server knows no such stream: a power loss may take it away with all that it held.
  StreamInfoPtr stream_info(const TopicSpec& spec) {
    jsStreamInfo* info = nullptr;
    jsErrCode code = static_cast<jsErrCode>(0);
    const std::string name = stream_names(spec, context_.tag).stream;
    const natsStatus status = js_GetStreamInfo(&info, context_js_.get(), name.c_str(), nullptr, &code);
    if (code == JSStreamNotFoundErr) return nullptr;
    require(status, "stream " + name);
    return StreamInfoPtr(info);
  }

  /// Null when the server knows no such consumer.
  ConsumerInfoPtr consumer_info(const Durable& durable) {
    jsConsumerInfo* info = nullptr;
    jsErrCode code = static_cast<jsErrCode>(0);
    const std::string stream = stream_names(spec_of(durable.topic), context_.tag).stream;
    const natsStatus status = js_GetConsumerInfo(&info, context_js_.get(), stream.c_str(),
                                                 durable.reader.name.c_str(), nullptr, &code);
    if (code == JSStreamNotFoundErr || code == JSConsumerNotFoundErr) return nullptr;
    require(status, "consumer " + durable.reader.name);
    return ConsumerInfoPtr(info);
  }

  static bool whole(const jsStreamInfo& info, const TopicSpec& spec) {
    if (spec.replication <= 1 || info.Cluster == nullptr) return true;
    if (info.Cluster->Leader == nullptr || info.Cluster->ReplicasLen + 1 < static_cast<int>(spec.replication))
      return false;
    return std::all_of(info.Cluster->Replicas, info.Cluster->Replicas + info.Cluster->ReplicasLen,
                       [](const jsPeerInfo* peer) { return peer->Current && !peer->Offline; });
  }

  /// Servers are named as the processes are: "nats-2".
  std::uint32_t node_number(const std::string& server) const {
    const ProcessId process = context_.topology.process(server);
    return process == no_process ? 0 : context_.topology.processes[process].instance + 1;
  }

  void audit_stream(PlaceId place, const TopicSpec& spec, AuditSink& sink) {
    const StreamInfoPtr info = patiently([&] { return stream_info(spec); });
    if (info == nullptr) return sink.end(place, {-1, 1}, 0, true);
    const std::uint64_t last = info->State.LastSeq;
    const AuditSink::Bounds bounds = {static_cast<std::int64_t>(info->State.FirstSeq),
                                      static_cast<std::int64_t>(last) + 1};
    std::int64_t count = 0;
    const StreamNames names = stream_names(spec, context_.tag);
    if (is_work_queue(spec)) {
      count = read_queue(*info, names.stream, place, sink);
      return sink.end(place, bounds, count, count == static_cast<std::int64_t>(info->State.Msgs));
    }
    if (info->State.Msgs > 0) {
      const SubscriptionPtr subscription = patiently([&] { return all_of(names.stream); });
      read_all(subscription.get(), place, last, count, sink);
    }
    sink.end(place, bounds, count, count == static_cast<std::int64_t>(info->State.Msgs));
  }

  /// Everything that the stream holds, in order.
  SubscriptionPtr all_of(const std::string& stream) {
    jsSubOptions ordered;
    jsSubOptions_Init(&ordered);
    ordered.Stream = stream.c_str();
    ordered.Ordered = true;
    jsOptions soon;
    jsOptions_Init(&soon);
    soon.Wait = 1000;
    natsSubscription* raw = nullptr;
    require(js_SubscribeSync(&raw, context_js_.get(), ">", &soon, &ordered, nullptr), "audit of " + stream);
    natsSubscription_SetPendingLimits(raw, -1, -1);
    return SubscriptionPtr(raw);
  }

  NatsStream settings_of(const TopicSpec& spec) const {
    return resolve_nats_stream(context_.scenario, spec, context_.scenario.brokers[context_.broker]);
  }
  bool is_work_queue(const TopicSpec& spec) const {
    return settings_of(spec).retention == NatsStream::Retention::workqueue;
  }
  bool is_copy(const TopicSpec& spec) const {
    const NatsStream stream = settings_of(spec);
    return !stream.mirror.empty() || !stream.sources.empty();
  }

  /// A work queue takes no second consumer, so each message is asked for by its sequence.
  std::int64_t read_queue(const jsStreamInfo& info, const std::string& stream, PlaceId place,
                          AuditSink& sink) {
    const auto all = static_cast<std::int64_t>(info.State.Msgs);
    std::int64_t count = 0;
    for (std::uint64_t s = info.State.FirstSeq; s <= info.State.LastSeq && count < all; ++s) {
      natsMsg* raw = nullptr;
      if (js_GetMsg(&raw, context_js_.get(), stream.c_str(), s, nullptr, nullptr) != NATS_OK) continue;
      const MessagePtr message(raw);
      const auto* data = reinterpret_cast<const std::byte*>(natsMsg_GetData(raw));
      const auto wire = decode({data, static_cast<std::size_t>(natsMsg_GetDataLength(raw))});
      ++count;
      sink.record({place, static_cast<std::int64_t>(s), context_.clock.from_wall(natsMsg_GetTime(raw)), 0},
                  wire.value_or(WireMessage{}));
    }
    return count;
  }

  void read_all(natsSubscription* subscription, PlaceId place, std::uint64_t last, std::int64_t& count,
                AuditSink& sink) {
    std::uint64_t reached = 0;
    std::uint64_t pending = 1;
    while (reached < last && pending > 0) {
      natsMsg* raw = nullptr;
      if (natsSubscription_NextMsg(&raw, subscription, 5000) != NATS_OK) break;
      const MessagePtr message(raw);
      jsMsgMetaData* meta = nullptr;
      if (natsMsg_GetMetaData(&meta, raw) != NATS_OK) break;
      const MetaPtr owned(meta);
      reached = meta->Sequence.Stream;
      pending = meta->NumPending;
      if (reached > last) break;
      const auto* data = reinterpret_cast<const std::byte*>(natsMsg_GetData(raw));
      const auto wire = decode({data, static_cast<std::size_t>(natsMsg_GetDataLength(raw))});
      ++count;
      sink.record({place, static_cast<std::int64_t>(reached), context_.clock.from_wall(meta->Timestamp), 0},
                  wire.value_or(WireMessage{}));
    }
  }

  AdminContext context_;
  ConnectionPtr connection_;
  ContextPtr context_js_;
};

}  // namespace
}  // namespace nats

std::unique_ptr<Admin> make_nats_admin(const AdminContext& context) {
  return std::make_unique<nats::NatsAdmin>(context);
}

}  // namespace mqlab::live
