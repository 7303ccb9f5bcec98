#include "live/ports/kafka_admin.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace mqlab::live {
namespace kafka {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int timeout_ms = 5'000;
constexpr const char* ready_topic = "mqlab-ready";

class KafkaAdmin final : public Admin {
 public:
  explicit KafkaAdmin(const AdminContext& context)
      : context_(context), names_(context.topology, context.tag) {
    for (const TopicInfo& topic : context.topology.topics) {
      if (topic.kind != TopicKind::topic || topic.broker != context.broker) continue;
      for (std::uint32_t p = 0; p < topic.partitions; ++p)
        (p < topic.at_first ? places_ : later_).push_back({topic.first_place + p, -1});
    }
  }

  void setup(Duration patience) override {
    const auto until = Clock::now() + std::chrono::nanoseconds(patience.ns);
    const ClientPtr producer = lab_producer(access(), "");
    const std::vector<TopicSpec> topics = wanted_topics();
    retry(until, [&] {
      rd_kafka_poll(producer.get(), 0);  // what it has to say about the connection
      if (look(producer.get(), nodes(), prefix(), 1000).leaders.empty() && !everyone_there(producer.get()))
        throw PortError("not all nodes are there");
      create_topics(producer.get(), topics, timeout_ms);
    });
    // A cluster of the user's own is in use, and not all of its addresses need answer.
    if (started_here() && idempotent())
      retry(until, [&] { give_out_ids(access(), tagged(ready_topic, context_.tag)); });
    retry(until, [&] {
      round_trip(access(), tagged(ready_topic, context_.tag), transactional() && !context_.warm);
    });
    retry(until, [&] {
      if (!look(producer.get(), nodes(), prefix(), 1000).whole)
        throw PortError("not all replicas are in sync");
    });
  }

  void remove() override {
    std::vector<std::string> topics;
    for (const TopicSpec& topic : wanted_topics()) {
      topics.push_back(topic.name);
    }
    const ClientPtr client = lab_producer(access(), "");
    delete_topics(client.get(), topics, timeout_ms);
    std::vector<std::string> groups = {tagged(ready_topic, context_.tag)};
    each_group([&](std::uint32_t, const std::string& group, const auto&) { groups.push_back(group); });
    delete_groups(client.get(), groups, timeout_ms);
  }

  SystemState state() override {
    try {
      return ask_state();
    } catch (const PortError&) {
      forget_clients();
      throw;
    }
  }

  std::uint32_t leader(PlaceId place) override {
    const PlaceInfo& info = context_.topology.places[place];
    const ClusterView view = look(all().get(), nodes(), prefix(), timeout_ms);
    const auto found =
        view.leaders.find({names_.topic(info.topic), static_cast<std::int32_t>(info.partition)});
    return found == view.leaders.end() || found->second < 0 ? 0 : static_cast<std::uint32_t>(found->second);
  }

  void grow(TopicId topic) override {
    const ClientPtr client = lab_producer(access(), "");
    add_partitions(client.get(), names_.topic(topic), context_.topology.topics[topic].partitions, timeout_ms);
  }

  void audit(AuditSink& sink) override {
    if (!later_.empty()) note_made(look(all().get(), nodes(), prefix(), timeout_ms));
    for (const PlacePosition& p : later_) sink.end(p.place, {0, 0}, 0, true);
    const ListPtr partitions = names_.list(places_, false);
    const auto start = offsets_at(all().get(), partitions.get(), RD_KAFKA_OFFSET_BEGINNING, timeout_ms);
    const auto end = offsets_at(all().get(), partitions.get(), RD_KAFKA_OFFSET_END, timeout_ms);
    const auto stable = transactional()
                            ? offsets_at(committed().get(), partitions.get(), RD_KAFKA_OFFSET_END, timeout_ms)
                            : end;
    const auto visible =
        transactional() ? committed_offsets(partitions.get()) : std::map<PlaceId, std::vector<bool>>{};
    std::map<PlaceId, std::int64_t> counts, stable_of;
    for (std::size_t i = 0; i < places_.size(); ++i) stable_of[places_[i].place] = stable[i];
    const auto done = read_all(all().get(), partitions.get(), [&](const rd_kafka_message_t& m) {
      const PlaceId place = names_.place(rd_kafka_topic_name(m.rkt), m.partition);
      ++counts[place];
      rd_kafka_timestamp_type_t type{};
      const Instant stamp = context_.clock.from_wall(rd_kafka_message_timestamp(&m, &type) * 1'000'000);
      const auto wire = read_message(m);
      sink.record({place, m.offset, stamp, fate(place, m.offset, visible, stable_of[place])},
                  wire.value_or(WireMessage{}));
    });
    for (std::size_t i = 0; i < places_.size(); ++i)
      sink.end(places_[i].place, {start[i], end[i]}, counts[places_[i].place], done[i]);
    each_group([&](std::uint32_t stage, const std::string& group, const std::vector<PlacePosition>& inputs) {
      for (const PlacePosition& p : committed_of(group, inputs)) sink.committed(p.place, p.position, stage);
    });
  }

  std::string client_version() const override { return library_version(); }

 private:
  bool started_here() const { return context_.scenario.live.address.empty(); }
  /// How many must be there. A cluster of the user's own has as many as it has.
  std::uint32_t nodes() const {
    return started_here() ? context_.scenario.brokers[context_.broker].nodes : 1;
  }
  /// Of the topics that are the lab's, on a cluster that has others.
  std::string prefix() const { return started_here() ? "" : context_.tag; }
  Access access() const { return {context_.address, context_.scenario.live.properties}; }

  bool everyone_there(rd_kafka_t* client) const {
    return look(client, nodes(), prefix(), 1000).whole;  // no topic yet: whole means that all nodes are known
  }

  bool transactional() const { return any_producer("transactional.id"); }
  bool idempotent() const { return transactional() || any_producer("enable.idempotence"); }
  /// Whether one of them sets the property.
  bool any_producer(const char* key) const {
    const auto has = [&](const auto& owner) { return find(owner.producer, key) != nullptr; };
    return std::ranges::any_of(context_.scenario.stages, has) ||
           std::ranges::any_of(context_.scenario.workloads, has);
  }

  std::vector<TopicSpec> wanted_topics() const {
    std::vector<TopicSpec> topics;
    for (const TopicInfo& info : context_.topology.topics) {
      if (info.kind != TopicKind::topic || info.broker != context_.broker) continue;
      topics.push_back(context_.scenario.topics[info.index]);
      topics.back().name = tagged(info.name, context_.tag);
    }
    TopicSpec ready;
    ready.name = tagged(ready_topic, context_.tag);
    for (const TopicSpec& topic : topics) ready.replication = std::max(ready.replication, topic.replication);
    topics.push_back(ready);
    return topics;
  }

  template <class F>
  static void retry(Clock::time_point until, F attempt) {
    while (true) {
      try {
        return attempt();
      } catch (const PortError&) {
        if (const std::string reason = hopeless(); !reason.empty()) throw PortError(reason);
        if (Clock::now() >= until) throw;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  /// Also without a leader: what cannot be read is not empty.
  bool there(const ClusterView& view, PlaceId place) const {
    const PlaceInfo& info = context_.topology.places[place];
    return view.leaders.contains({names_.topic(info.topic), static_cast<std::int32_t>(info.partition)});
  }
  /// Partitions that were to be made later, and are there.
  void note_made(const ClusterView& view) {
    const auto made = std::stable_partition(later_.begin(), later_.end(),
                                            [&](const PlacePosition& p) { return !there(view, p.place); });
    places_.insert(places_.end(), made, later_.end());
    later_.erase(made, later_.end());
  }

  /// kafka UnifiedLog.logDirName
  std::string log_of(PlaceId place) const {
    const PlaceInfo& info = context_.topology.places[place];
    return names_.topic(info.topic) + "-" + std::to_string(info.partition);
  }

  SystemState ask_state() {
    SystemState state;
    const ClusterView view = look(all().get(), nodes(), prefix(), timeout_ms);
    state.whole = view.whole;
    note_made(view);
    for (const PlacePosition& p : later_) state.places.push_back({p.place, 0, 0, -1, log_of(p.place)});
    const ListPtr partitions = names_.list(places_, false);
    const auto end = offsets_at(all().get(), partitions.get(), RD_KAFKA_OFFSET_END, timeout_ms);
    const auto stable = transactional()
                            ? offsets_at(committed().get(), partitions.get(), RD_KAFKA_OFFSET_END, timeout_ms)
                            : end;
    for (std::size_t i = 0; i < places_.size(); ++i)
      state.places.push_back({places_[i].place, end[i], stable[i], -1, log_of(places_[i].place)});
    each_group([&](std::uint32_t stage, const std::string& group, const std::vector<PlacePosition>& inputs) {
      for (const PlacePosition& p : committed_of(group, inputs))
        state.groups.push_back({group, stage, p.place, p.position, 0, 0});
    });
    return state;
  }

  /// A client of this library that had no part in a topic may hold on to a leader that is none any more:
  /// after an error the next question is asked by fresh ones.
  void forget_clients() {
    all_.reset();
    committed_.reset();
    groups_.clear();
  }

  /// Clients are kept: the lab asks often.
  const ClientPtr& all() {
    if (!all_) all_ = lab_consumer(access(), tagged("mqlab-auditor", context_.tag), false);
    return all_;
  }
  const ClientPtr& committed() {
    if (!committed_) committed_ = lab_consumer(access(), tagged("mqlab-auditor", context_.tag), true);
    return committed_;
  }

  template <class F>
  void each_group(F visit) {
    for (std::uint32_t s = 0; s < context_.scenario.stages.size(); ++s) {
      const StageSpec& stage = context_.scenario.stages[s];
      const Property* named = find(stage.consumer, "group.id");
      std::vector<PlacePosition> inputs;
      for (const std::string& input : stage.inputs) {
        const TopicInfo& topic = context_.topology.topics[context_.topology.topic(input)];
        for (const PlacePosition& p : places_) {
          if (topic.broker == context_.broker && p.place - topic.first_place < topic.partitions)
            inputs.push_back({p.place, -1});
        }
      }
      if (!inputs.empty())
        visit(s, tagged(named == nullptr ? stage.name : named->value, context_.tag), inputs);
    }
  }

  std::vector<PlacePosition> committed_of(const std::string& group,
                                          const std::vector<PlacePosition>& inputs) {
    ClientPtr& client = groups_[group];
    if (!client) client = lab_consumer(access(), group, false);
    const ListPtr list = names_.list(inputs, false);
    const auto error = rd_kafka_committed(client.get(), list.get(), timeout_ms);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
      throw PortError("offsets of group " + group + ": " + rd_kafka_err2str(error));
    return names_.places(list.get());
  }

  /// Which offsets a reader of committed records sees.
  std::map<PlaceId, std::vector<bool>> committed_offsets(const rd_kafka_topic_partition_list_t* partitions) {
    std::map<PlaceId, std::vector<bool>> seen;
    read_all(committed().get(), partitions, [&](const rd_kafka_message_t& m) {
      auto& offsets = seen[names_.place(rd_kafka_topic_name(m.rkt), m.partition)];
      const auto offset = static_cast<std::size_t>(m.offset);
      if (offsets.size() <= offset) offsets.resize(offset + 1, false);
      offsets[offset] = true;
    });
    return seen;
  }

  std::uint16_t fate(PlaceId place, std::int64_t offset, const std::map<PlaceId, std::vector<bool>>& visible,
                     std::int64_t stable) const {
    if (!transactional()) return 0;
    if (offset >= stable) return flag::open;
    const auto found = visible.find(place);
    const auto at = static_cast<std::size_t>(offset);
    return found != visible.end() && at < found->second.size() && found->second[at] ? std::uint16_t{0}
                                                                                    : flag::aborted;
  }

  AdminContext context_;
  Names names_;
  std::vector<PlacePosition> places_;  ///< that are there
  std::vector<PlacePosition> later_;   ///< that have not been made yet
  ClientPtr all_, committed_;
  std::map<std::string, ClientPtr> groups_;
};

}  // namespace
}  // namespace kafka

std::unique_ptr<Admin> make_kafka_admin(const AdminContext& context) {
  return std::make_unique<kafka::KafkaAdmin>(context);
}

}  // namespace mqlab::live
