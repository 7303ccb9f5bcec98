// Kafka's broker under random faults: what it promises holds whatever happens.
#include <map>
#include <string>

#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

/// An idempotent producer that sends again until it is answered, as long as the run lasts.
class Persistent final : public Component {
 public:
  Persistent(Lab& lab, std::int64_t producer, PlaceId place)
      : lab_(lab), producer_(producer), place_(place) {}
  enum : std::uint16_t { again = 50, onward };
  std::vector<std::pair<MessageId, std::int64_t>> acked;
  std::vector<std::string> errors;
  MessageId next = 1;
  std::uint32_t keys = 0;  ///< message i has key i mod keys, plus one; 0 = none has a key
  bool stopped = false;

  void send() {
    if (stopped) return;
    const ProcessId to = lab_.cluster().leader(place_);
    const std::uint32_t attempt = ++attempt_;
    lab_.world.after(Duration::seconds(1), *this, again, 0, attempt);
    if (to == no_process) return;
    auto* r = lab_.world.arena().make<ProduceRequest>(lab_.world.arena());
    r->kind = RequestKind::produce;
    r->from = owner;
    r->reply_to = this;
    r->correlation = attempt;
    Batch* b = lab_.batch(base() + next, 1);
    b->records[0].key = key_of(base() + next);
    b->producer = producer_;
    b->epoch = 0;
    b->first_sequence = static_cast<std::int32_t>(next - 1);
    r->parts.push_back({place_, b});
    lab_.world.network().send(owner, lab_.cluster().node(to), 100, request_event,
                              reinterpret_cast<std::uint64_t>(r));
  }
  void on(const SimEvent& event) override {
    if (event.kind == again) {
      if (event.x == attempt_) send();
      return;
    }
    if (event.kind == onward) return send();
    auto* a = reinterpret_cast<ProduceAnswer*>(event.a);
    if (a->correlation != attempt_ || a->error != Error::none) return;  // late, or refused while it starts
    const ProducedPart& part = a->parts[0];
    switch (part.error) {
      case Error::none:
        acked.emplace_back(base() + next, part.base_offset);
        ++next;
        ++attempt_;
        lab_.world.after(Duration::millis(40), *this, onward);
        return;
      case Error::not_leader_or_follower:
      case Error::not_enough_replicas:
      case Error::not_enough_replicas_after_append:
      case Error::request_timed_out:
        return;  // the alarm sends it again
      default:
        errors.push_back("error " + std::to_string(static_cast<int>(part.error)) + " for " +
                         std::to_string(next));
    }
  }
  std::uint32_t key_of(MessageId message) const { return keys == 0 ? 0 : message % keys + 1; }
  MessageId base() const { return static_cast<MessageId>(producer_ * 100'000); }

 private:
  Lab& lab_;
  std::int64_t producer_;
  PlaceId place_;
  std::uint32_t attempt_ = 0;
};

/// One random fault with its end, at random times.
void random_fault(Lab& lab, std::uint64_t bits, bool power) {
  const auto n = static_cast<NodeIndex>(below(mix(bits), 3));
  const auto m = static_cast<NodeIndex>((n + 1 + below(mix(bits + 1), 2)) % 3);
  const Duration length = Duration::millis(static_cast<std::int64_t>(below(mix(bits + 2), 6000)));
  const ProcessId p = lab.cluster().process(n), q = lab.cluster().process(m);
  switch (below(mix(bits + 3), 3)) {
    case 0:
      if (!lab.world.alive(p)) return;
      lab.world.kill(p, power);
      lab.run_for(length);
      lab.world.start(p);
      return;
    case 1:
      if (!lab.world.running(p)) return;
      lab.world.pause(p);
      lab.run_for(length);
      if (lab.world.alive(p) && lab.world.paused(p)) lab.world.resume(p);
      return;
    default:
      lab.cut(p, q);
      lab.run_for(length);
      lab.cut(p, q, false);
  }
}

void expect_log_agrees(Lab& lab, const Persistent& producer, PlaceId place) {
  std::map<MessageId, std::int64_t> at;
  for (const LogEntry& e : lab.led(place).log.entries()) {
    const MessageId id = e.batch->records[0].id;
    EXPECT_TRUE(at.emplace(id, e.base).second) << "twice: " << id;
  }
  MessageId before = 0;
  for (const auto& [id, offset] : producer.acked) {
    ASSERT_EQ(at.count(id), 1u) << "lost: " << id;
    EXPECT_EQ(at[id], offset) << id;
    EXPECT_GT(id, before);
    before = id;
  }
  for (NodeIndex n = 0; n < 3; ++n) {
    const Log& log = lab.replica(place, n).log;
    ASSERT_EQ(log.end(), lab.led(place).log.end()) << int{n};
    for (std::size_t i = 0; i < log.entries().size(); ++i) {
      ASSERT_EQ(log.entries()[i].batch, lab.led(place).log.entries()[i].batch);
    }
  }
}

/// Of each key the latest is there, in every replica, and what stays stands where it was.
void expect_latest_are_there(Lab& lab, const Persistent& producer, PlaceId place) {
  for (NodeIndex n = 0; n < 3; ++n) {
    const Log& log = lab.replica(place, n).log;
    ASSERT_EQ(log.end(), lab.led(place).log.end()) << int{n};
    std::map<MessageId, std::int64_t> at;
    std::map<std::uint32_t, std::int64_t> latest;
    for (const LogEntry& e : log.entries()) {
      for (std::uint32_t i = 0; i < e.count; ++i) {
        EXPECT_TRUE(at.emplace(e.record(i).id, e.base + i).second) << "twice: " << e.record(i).id;
        latest[e.record(i).key] = e.base + i;
      }
    }
    for (const auto& [id, offset] : producer.acked) {
      const auto found = at.find(id);
      if (found != at.end()) {
        EXPECT_EQ(found->second, offset) << id;
      } else {
        EXPECT_GT(latest[producer.key_of(id)], offset) << "lost: " << id;
      }
    }
    EXPECT_LT(at.size(), producer.acked.size() / 2) << "most are replaced";
  }
}

/// Acknowledged by all of two and more in-sync replicas: never lost, never twice, in order; replicas agree in
/// the end.
void survive(std::uint64_t seed, const std::string& version, bool power, bool compacted = false) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " version " + version);
  Lab::Options o;
  o.seed = seed;
  o.version = version;
  o.broker = with(fast_failover, {{"min.insync.replicas", "2"}, {"log.cleaner.backoff.ms", "700"}});
  if (compacted)
    o.topic = {{"cleanup.policy", "compact"}, {"segment.ms", "500"}, {"min.cleanable.dirty.ratio", "0.2"}};
  Lab lab(o);
  std::vector<std::unique_ptr<Persistent>> producers;
  for (PlaceId place = 0; place < 3; ++place) {
    producers.push_back(std::make_unique<Persistent>(lab, place + 1, place));
    lab.world.add(*producers.back(), lab.clients[0]->owner);
    producers.back()->keys = compacted ? 20 : 0;
    producers.back()->send();
  }
  for (std::uint64_t i = 0; i < 6; ++i) {
    lab.run_for(Duration::millis(static_cast<std::int64_t>(below(lab.world.draw(Purpose::tie, i), 4000))));
    random_fault(lab, lab.world.draw(Purpose::tie, 100 + i), power && i == 2);
  }
  lab.run_for(Duration::seconds(25));
  for (auto& p : producers) p->stopped = true;
  lab.run_for(Duration::seconds(2));
  for (PlaceId place = 0; place < 3; ++place) {
    ASSERT_NE(lab.cluster().leader(place), no_process);
    EXPECT_EQ(lab.isr(place), 7);
    EXPECT_TRUE(producers[place]->errors.empty()) << producers[place]->errors.front();
    EXPECT_GT(producers[place]->acked.size(), 300u);
    if (compacted) {
      expect_latest_are_there(lab, *producers[place], place);
    } else {
      expect_log_agrees(lab, *producers[place], place);
    }
  }
}

TEST(KafkaRandom, AcknowledgedRecordsSurvive) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) survive(seed, seed % 2 == 0 ? "4.0" : "4.1", false);
}

// One node's power at a time: two replicas have it in memory still. With eligible leader replicas, a node
// that lost its page cache is not counted as in sync when it registers again.
TEST(KafkaRandom, OnePowerLossAmongTheFaults) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) survive(1000 + seed, "4.1", true);
}

TEST(KafkaRandom, OfACompactedTopicTheLatestSurvive) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) survive(2000 + seed, "4.1", seed % 3 == 0, true);
}

}  // namespace
}  // namespace mqlab::sim::kafka
