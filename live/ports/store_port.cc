// A port whose store lies in a file: store effects are carried out on a thread of their own, all others go
// on.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "live/ports/store_sqlite.h"

namespace mqlab::live {
namespace {

struct StoreJob {
  Kind kind;
  OpId op;
  std::uint64_t key;
  std::int64_t expected;
  std::vector<StoreWrite> writes;
  OwnedEvent values;  ///< owns the bytes that `writes` point to
};

class StorePort final : public Port {
 public:
  StorePort(std::unique_ptr<Port> port, const std::string& file, PlaceId place, EventQueue& events)
      : port_(std::move(port)), store_(file), place_(place), events_(events), thread_([this] { run(); }) {}
  ~StorePort() override { stop(); }

  Capabilities capabilities() const override {
    Capabilities c = port_->capabilities();
    c.store = true;
    return c;
  }
  void start() override { port_->start(); }
  bool reading() const override { return port_->reading(); }
  void close(Duration grace) override {
    stop();
    port_->close(grace);
  }

  void carry_out(const Effect& e, std::uint32_t transaction) override {
    if (e.kind != Kind::store_read && e.kind != Kind::store_write) return port_->carry_out(e, transaction);
    StoreJob job{e.kind, e.op, e.message.receipt, e.expected, {e.writes.begin(), e.writes.end()}, {}};
    for (StoreWrite& w : job.writes) w.value = job.values.keep(w.value);
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
  }

 private:
  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const StoreJob job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      events_.push(carried_out(job));
      lock.lock();
    }
  }

  OwnedEvent carried_out(const StoreJob& job) {
    OwnedEvent event;
    event.kind = EventKind::settled;
    Settlement& s = event.settlements.emplace_back();
    s.op = job.op;
    s.of = job.kind;
    s.place = place_;
    try {
      if (job.kind == Kind::store_read) {
        const SqliteStore::Read read = store_.read(job.key);
        s.position = read.version;
        if (read.found)
          s.value = event.keep({read.value.data(), static_cast<std::uint32_t>(read.value.size())});
      } else {
        const SqliteStore::Written written = store_.write(job.writes, job.expected, wall_ns());
        s.position = written.version;
        if (!written.applied) {
          s.outcome = Outcome::fail;
          s.error = ErrorClass::retriable;
        }
      }
    } catch (const PortError&) {
      s.outcome = Outcome::unknown;  // the commit itself may have gone through
      s.error = ErrorClass::fatal;
    }
    return event;
  }

  std::unique_ptr<Port> port_;
  SqliteStore store_;
  PlaceId place_;
  EventQueue& events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StoreJob> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Port> with_store(std::unique_ptr<Port> port, const std::string& file, PlaceId place,
                                 EventQueue& events) {
  return std::make_unique<StorePort>(std::move(port), file, place, events);
}

}  // namespace mqlab::live
