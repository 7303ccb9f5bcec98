// Streams and consumers by the JetStream API; the audit reads each stream from its first sequence to its last.
#include <algorithm>
#include <chrono>
#include <thread>

#include "live/admin.h"
#include "live/port.h"
#include "live/ports/nats_settings.h"
#include "live/settings.h"

namespace mqlab::live {
namespace nats {
namespace {

using Clock = std::chrono::steady_clock;

struct StreamSettings {
  jsStreamConfig config;
  StreamNames names;
  std::vector<const char*> subjects;
};

void read_stream_properties(const TopicSpec& topic, jsStreamConfig& config) {
  SettingsReader read(topic.properties, "stream " + topic.name);
  config.MaxAge = read.duration("max_age").value_or(Duration{config.MaxAge}).ns;
  config.MaxMsgs = read.integer("max_msgs").value_or(config.MaxMsgs);
  config.MaxBytes = read.integer("max_bytes").value_or(config.MaxBytes);
  config.MaxMsgsPerSubject = read.integer("max_msgs_per_subject").value_or(config.MaxMsgsPerSubject);
  config.MaxMsgSize = static_cast<std::int32_t>(read.integer("max_msg_size").value_or(config.MaxMsgSize));
  config.Duplicates = read.duration("duplicate_window").value_or(Duration{config.Duplicates}).ns;
  const std::string storage = read.text("storage").value_or("file");
  config.Storage = storage == "memory" ? js_MemoryStorage : js_FileStorage;
  const std::string discard = read.text("discard").value_or("old");
  config.Discard = discard == "new" ? js_DiscardNew : js_DiscardOld;
  const std::string retention = read.text("retention").value_or("limits");
  config.Retention = retention == "workqueue" ? js_WorkQueuePolicy : retention == "interest" ? js_InterestPolicy : js_LimitsPolicy;
  read.finish();
}

class NatsAdmin final : public Admin {
 public:
  explicit NatsAdmin(const AdminContext& context) : context_(context) {}

  void setup(Duration patience) override {
    const auto until = Clock::now() + std::chrono::nanoseconds(patience.ns);
    retry(until, [&] {
      connection_ = connect(connection_settings(context_.address, "lab"), nullptr);
      context_js_ = jetstream(connection_.get(), nullptr);
    });
    retry(until, [&] { round_trip(); });
    each_stream([&](const TopicInfo&, const TopicSpec& spec) { retry(until, [&] { make_stream(spec); }); });
    each_consumer([&](std::uint32_t, const StageSpec& stage, TopicId topic) {
      retry(until, [&] { make_consumer(stage, spec_of(topic)); });
    });
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
      const auto end = static_cast<std::int64_t>(info->State.LastSeq) + 1;
      state.places.push_back({topic.first_place, end, end});
      state.whole = state.whole && whole(*info, spec);
    });
    each_consumer([&](std::uint32_t stage, const StageSpec& spec, TopicId topic) {
      const ConsumerInfoPtr info = consumer_info(spec, spec_of(topic));
      GroupState group;
      group.group = info->Name;
      group.stage = stage;
      group.place = context_.topology.topics[topic].first_place;
      group.committed = static_cast<std::int64_t>(info->AckFloor.Stream) + 1;
      group.undelivered = static_cast<std::int64_t>(info->NumPending);
      group.unacked = info->NumAckPending;
      state.groups.push_back(group);
    });
    return state;
  }

  std::uint32_t leader(PlaceId place) override {
    open();
    const StreamInfoPtr info = stream_info(spec_of(context_.topology.places[place].topic));
    if (info->Cluster == nullptr || info->Cluster->Leader == nullptr) return 1;  // a server of its own
    return node_number(info->Cluster->Leader);
  }

  void audit(AuditSink& sink) override {
    open();
    each_stream([&](const TopicInfo& topic, const TopicSpec& spec) { audit_stream(topic.first_place, spec, sink); });
    each_consumer([&](std::uint32_t stage, const StageSpec& spec, TopicId topic) {
      const ConsumerInfoPtr info = consumer_info(spec, spec_of(topic));
      sink.committed(context_.topology.topics[topic].first_place, static_cast<std::int64_t>(info->AckFloor.Stream) + 1, stage);
    });
  }

  std::string client_version() const override { return std::string("nats.c ") + nats_GetVersion(); }

 private:
  void open() {
    if (connection_) return;
    connection_ = connect(connection_settings(context_.address, "lab"), nullptr);
    context_js_ = jetstream(connection_.get(), nullptr);
  }

  template <class F>
  void retry(Clock::time_point until, F attempt) {
    while (true) {
      try {
        return attempt();
      } catch (const PortError&) {
        if (Clock::now() >= until) throw;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  const TopicSpec& spec_of(TopicId topic) const { return context_.scenario.topics[context_.topology.topics[topic].index]; }

  template <class F>
  void each_stream(F visit) {
    for (const TopicInfo& topic : context_.topology.topics) {
      if (topic.kind == TopicKind::stream && topic.broker == context_.broker) visit(topic, context_.scenario.topics[topic.index]);
    }
  }
  /// The pull consumers of stages: (stage, its spec, the stream it reads).
  template <class F>
  void each_consumer(F visit) {
    for (std::uint32_t s = 0; s < context_.scenario.stages.size(); ++s) {
      const StageSpec& stage = context_.scenario.stages[s];
      if (consumer_settings(stage.consumer, stage.name, false).ordered) continue;
      for (const std::string& input : stage.inputs) {
        const TopicId topic = context_.topology.topic(input);
        if (topic != no_topic && context_.topology.topics[topic].broker == context_.broker) visit(s, stage, topic);
      }
    }
    // Observers that are not ordered have a consumer of their own, like a stage.
    for (const ObserverSpec& observer : context_.scenario.observers) {
      if (consumer_settings(observer.consumer, observer.name, true).ordered) continue;
      StageSpec stage;
      stage.name = observer.name;
      stage.consumer = observer.consumer;
      visit(static_cast<std::uint32_t>(context_.scenario.stages.size()), stage, context_.topology.topic(observer.topic));
    }
  }

  void make_stream(const TopicSpec& spec) {
    const StreamNames names = stream_names(spec, context_.tag);
    std::vector<const char*> subjects;
    for (const std::string& subject : names.subjects) subjects.push_back(subject.c_str());
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = names.stream.c_str();
    config.Subjects = subjects.data();
    config.SubjectsLen = static_cast<int>(subjects.size());
    config.Replicas = spec.replication;
    read_stream_properties(spec, config);
    require(js_AddStream(nullptr, context_js_.get(), &config, nullptr, nullptr), "stream " + names.stream);
  }

  void make_consumer(const StageSpec& stage, const TopicSpec& topic) {
    const ConsumerSettings settings = consumer_settings(stage.consumer, stage.name, false);
    const StreamNames names = stream_names(topic, context_.tag);
    std::vector<std::int64_t> backoff;
    for (const Duration d : settings.backoff) backoff.push_back(d.ns);
    jsConsumerConfig config;
    jsConsumerConfig_Init(&config);
    config.Durable = settings.name.c_str();
    config.AckPolicy = js_AckExplicit;
    config.DeliverPolicy = settings.deliver;
    config.AckWait = settings.ack_wait.ns;
    config.MaxDeliver = settings.max_deliver;
    config.MaxAckPending = settings.max_ack_pending;
    if (!backoff.empty()) {
      config.BackOff = backoff.data();
      config.BackOffLen = static_cast<int>(backoff.size());
    }
    require(js_AddConsumer(nullptr, context_js_.get(), names.stream.c_str(), &config, nullptr, nullptr),
            "consumer " + settings.name + " of stream " + names.stream);
  }

  /// A message into a stream of the lab's own and back: the whole path works, on as many replicas as the scenario
  /// uses.
  void round_trip() {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const char* subject = "mqlab-ready";
    config.Name = subject;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Storage = js_MemoryStorage;
    each_stream([&](const TopicInfo&, const TopicSpec& spec) { config.Replicas = std::max<std::int64_t>(config.Replicas, spec.replication); });
    js_DeleteStream(context_js_.get(), subject, nullptr, nullptr);
    jsOptions quick;
    jsOptions_Init(&quick);
    quick.Wait = 1000;
    require(js_AddStream(nullptr, context_js_.get(), &config, &quick, nullptr), "readiness: stream");
    jsPubAck* ack = nullptr;
    require(js_Publish(&ack, context_js_.get(), subject, "ready", 5, nullptr, nullptr), "readiness: publish");
    const std::uint64_t sequence = ack->Sequence;
    jsPubAck_Destroy(ack);
    natsMsg* message = nullptr;
    require(js_GetMsg(&message, context_js_.get(), subject, sequence, nullptr, nullptr), "readiness: read");
    natsMsg_Destroy(message);
    js_DeleteStream(context_js_.get(), subject, nullptr, nullptr);
  }

  StreamInfoPtr stream_info(const TopicSpec& spec) {
    jsStreamInfo* info = nullptr;
    const std::string name = stream_names(spec, context_.tag).stream;
    require(js_GetStreamInfo(&info, context_js_.get(), name.c_str(), nullptr, nullptr), "stream " + name);
    return StreamInfoPtr(info);
  }

  ConsumerInfoPtr consumer_info(const StageSpec& stage, const TopicSpec& topic) {
    jsConsumerInfo* info = nullptr;
    const std::string name = consumer_settings(stage.consumer, stage.name, false).name;
    require(js_GetConsumerInfo(&info, context_js_.get(), stream_names(topic, context_.tag).stream.c_str(), name.c_str(), nullptr, nullptr),
            "consumer " + name);
    return ConsumerInfoPtr(info);
  }

  static bool whole(const jsStreamInfo& info, const TopicSpec& spec) {
    if (spec.replication <= 1 || info.Cluster == nullptr) return true;
    if (info.Cluster->Leader == nullptr || info.Cluster->ReplicasLen + 1 < static_cast<int>(spec.replication)) return false;
    return std::all_of(info.Cluster->Replicas, info.Cluster->Replicas + info.Cluster->ReplicasLen,
                       [](const jsPeerInfo* peer) { return peer->Current && !peer->Offline; });
  }

  /// Servers are named as the processes are: "nats-2".
  std::uint32_t node_number(const std::string& server) const {
    const ProcessId process = context_.topology.process(server);
    return process == no_process ? 0 : context_.topology.processes[process].instance + 1;
  }

  void audit_stream(PlaceId place, const TopicSpec& spec, AuditSink& sink) {
    const StreamInfoPtr info = stream_info(spec);
    const std::uint64_t last = info->State.LastSeq;
    std::int64_t count = 0;
    std::uint64_t reached = info->State.Msgs == 0 ? last : 0;
    const StreamNames names = stream_names(spec, context_.tag);
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Stream = names.stream.c_str();
    options.Ordered = true;
    // An ordered consumer takes one filter; each subject of the stream is read by itself.
    for (const std::string& subject : names.subjects) {
      if (info->State.Msgs == 0) break;
      natsSubscription* raw = nullptr;
      require(js_SubscribeSync(&raw, context_js_.get(), subject.c_str(), nullptr, &options, nullptr), "audit of " + names.stream);
      const SubscriptionPtr subscription(raw);
      natsSubscription_SetPendingLimits(raw, -1, -1);
      reached = std::max(reached, read_all(raw, place, last, count, sink));
    }
    sink.end(place, static_cast<std::int64_t>(last) + 1, count, count == static_cast<std::int64_t>(info->State.Msgs));
  }

  std::uint64_t read_all(natsSubscription* subscription, PlaceId place, std::uint64_t last, std::int64_t& count, AuditSink& sink) {
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
      sink.record({place, static_cast<std::int64_t>(reached), context_.clock.from_wall(meta->Timestamp), 0}, wire.value_or(WireMessage{}));
    }
    return reached;
  }

  AdminContext context_;
  ConnectionPtr connection_;
  ContextPtr context_js_;
};

}  // namespace
}  // namespace nats

std::unique_ptr<Admin> make_nats_admin(const AdminContext& context) { return std::make_unique<nats::NatsAdmin>(context); }

}  // namespace mqlab::live
