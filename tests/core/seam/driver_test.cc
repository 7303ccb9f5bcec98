// The driver rule: which rows are written, in which order, and what an anchor in between does.
#include "core/seam/driver.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace mqlab {
namespace {

/// Publishes each message it is given and commits behind it.
class Echo final : public Module {
 public:
  void handle(const Now&, const Event& event, Effects& effects) override {
    for (const Message& m : event.messages) {
      effects.handle(m);
      effects.publish(0, m);
      const PlacePosition next = {m.place, m.position + 1};
      effects.commit({&next, 1}, true, 7);
    }
  }
};

class FakeHost final : public Host {
 public:
  Row& row(Kind kind, Phase phase) override {
    Row& r = rows.emplace_back();
    r.kind = kind;
    r.phase = phase;
    return r;
  }
  Gate anchored(const Row& row) override {
    const bool here = row.kind == stop_kind && row.phase == stop_phase;
    return here ? gate : Gate::go;
  }
  void carry_out(const Effect& effect) override { carried.push_back(std::string(name_of(effect.kind))); }
  void defer(const Event&) override { deferred_event = true; }
  void defer(std::span<const Effect> effects) override { deferred.assign(effects.begin(), effects.end()); }

  std::string kinds() const {
    std::string out;
    for (const Row& r : rows)
      out += std::string(name_of(r.kind)) + "." + std::string(name_of(r.phase)) +
             (r.flags & flag::header ? "* " : " ");
    return out;
  }

  Kind stop_kind = Kind::count_;
  Phase stop_phase = Phase::ok;
  Gate gate = Gate::go;
  std::deque<Row> rows;
  std::vector<std::string> carried;
  bool deferred_event = false;
  std::vector<Effect> deferred;
};

struct Driver : testing::Test {
  Gate deliver() {
    message.id = 5;
    message.place = 2;
    message.position = 40;
    Event event;
    event.kind = EventKind::delivered;
    event.op = 1;
    event.messages = {&message, 1};
    return drive(module, host, effects, state, {}, event);
  }
  Echo module;
  FakeHost host;
  Effects effects;
  DriverState state;
  Message message;
};

TEST_F(Driver, WritesTheEventThenEachEffectBeforeItIsCarriedOut) {
  EXPECT_EQ(deliver(), Gate::go);
  EXPECT_EQ(host.kinds(), "fetch.ok* deliver.ok handle.ok publish.invoke commit.invoke* commit.invoke ");
  EXPECT_EQ(host.carried, (std::vector<std::string>{"publish", "commit"}))
      << "handle is the application's own doing";
  EXPECT_EQ(host.rows[3].op, 1u);
  EXPECT_EQ(host.rows[4].op, 2u);
  EXPECT_EQ(host.rows[4].aux, 1) << "one position follows";
  EXPECT_EQ(host.rows[5].position, 41);
  EXPECT_EQ(host.rows[5].epoch, 7u);
  EXPECT_EQ(state.next_op, 3u);
}

TEST_F(Driver, AKillFallsBetweenTwoEffects) {
  host.stop_kind = Kind::commit;
  host.stop_phase = Phase::invoke;
  host.gate = Gate::die;
  EXPECT_EQ(deliver(), Gate::die);
  EXPECT_EQ(host.carried, std::vector<std::string>{"publish"});
  EXPECT_EQ(host.rows.back().kind, Kind::commit) << "the row of what was about to happen is there";
}

TEST_F(Driver, AKillAtADeliveryKeepsTheHandlerFromStarting) {
  host.stop_kind = Kind::deliver;
  host.gate = Gate::die;
  EXPECT_EQ(deliver(), Gate::die);
  EXPECT_EQ(host.kinds(), "fetch.ok* deliver.ok ");
}

TEST_F(Driver, APauseHandsOverTheRestAndGoesOnWithoutWritingItTwice) {
  host.stop_kind = Kind::publish;
  host.stop_phase = Phase::invoke;
  host.gate = Gate::hold;
  EXPECT_EQ(deliver(), Gate::hold);
  EXPECT_TRUE(host.carried.empty());
  ASSERT_EQ(host.deferred.size(), 2u);
  const std::size_t written = host.rows.size();
  host.gate = Gate::go;
  EXPECT_EQ(carry_out_deferred(host, state, host.deferred), Gate::go);
  EXPECT_EQ(host.carried, (std::vector<std::string>{"publish", "commit"}));
  EXPECT_EQ(host.rows.size(), written + 2) << "commit's two rows; publish had its row already";
}

TEST_F(Driver, APauseAtAnEventHandlesItLater) {
  host.stop_kind = Kind::deliver;
  host.gate = Gate::hold;
  EXPECT_EQ(deliver(), Gate::hold);
  EXPECT_TRUE(host.deferred_event);
  EXPECT_TRUE(host.carried.empty());
}

TEST_F(Driver, TransactionsAreNumberedFromTheirBeginToTheirEnd) {
  class Transactor final : public Module {
   public:
    void handle(const Now&, const Event& event, Effects& e) override {
      if (event.kind == EventKind::start) e.begin_transaction(), e.publish(0, {}), e.commit_transaction();
      if (event.kind == EventKind::stop) e.publish(0, {});
    }
  } transactor;
  Event start;
  start.kind = EventKind::start;
  drive(transactor, host, effects, state, {}, start);
  for (std::size_t i = 1; i < host.rows.size(); ++i) EXPECT_EQ(host.rows[i].transaction, 1u) << i;
  Settlement done;
  done.op = 3;
  done.of = Kind::commit_transaction;
  Event settled;
  settled.kind = EventKind::settled;
  settled.settlements = {&done, 1};
  drive(transactor, host, effects, state, {}, settled);
  EXPECT_EQ(host.rows.back().transaction, 1u);
  Event stop;
  stop.kind = EventKind::stop;
  drive(transactor, host, effects, state, {}, stop);
  EXPECT_EQ(host.rows.back().transaction, 0u) << "a publish after the end belongs to none";
}

}  // namespace
}  // namespace mqlab
