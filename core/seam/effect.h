// What to do: the only way a module reaches the outside world.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/history/row.h"
#include "core/seam/event.h"
#include "core/seam/message.h"

namespace mqlab {

/// One key's new value in an atomic store write.
struct StoreWrite {
  std::uint64_t key = 0;
  MessageId message = 0;  ///< the request this write is the effect of; 0 = none (say, an offset)
  std::uint64_t digest = 0;
  Bytes value = {};
};

/// Trivially copyable; which fields count depends on the kind (see the functions of Effects).
struct Effect {
  Kind kind = Kind::publish;
  std::uint8_t port = 0;          ///< which of the module's inputs or outputs
  bool sync = false;              ///< commit: the application waits for the answer
  Outcome outcome = Outcome::ok;  ///< complete
  OpId op = 0;
  std::uint32_t max = 0;         ///< fetch: at most so many messages
  std::uint32_t generation = 0;  ///< commit, offsets_to_transaction, accept, release
  Duration wait = {};            ///< fetch: how long to wait; nack: delay before redelivery
  std::int64_t expected = -1;    ///< store_write: version the store must have; −1 = any
  Message message = {};
  std::span<const PlacePosition> places = {};
  std::span<const std::uint64_t> receipts = {};
  std::span<const StoreWrite> writes = {};
};

/// Collects the effects of one handle() call. Arguments are copied; spans given in may be temporary.
class Effects {
 public:
  /// Ops are numbered from `next_op` on; the driver keeps the number in the world's state.
  void begin(OpId next_op) {
    list_.clear();
    used_ = 0;
    next_op_ = next_op;
  }
  OpId next_op() const { return next_op_; }
  std::span<const Effect> list() const { return list_; }

  // Brokers
  OpId publish(std::uint8_t output, const Message& message);
  OpId fetch(std::uint8_t input, std::uint32_t max, Duration wait = Duration::forever());
  OpId ack(std::span<const std::uint64_t> receipts);
  OpId nack(std::span<const std::uint64_t> receipts, Duration delay);
  OpId progress(std::span<const std::uint64_t> receipts);
  OpId terminate(std::span<const std::uint64_t> receipts);
  OpId commit(std::span<const PlacePosition> next_positions, bool sync, std::uint32_t generation);
  OpId begin_transaction();
  OpId offsets_to_transaction(std::span<const PlacePosition> next_positions, std::uint32_t generation);
  OpId commit_transaction();
  OpId abort_transaction();
  OpId accept(std::span<const PlacePosition> start,
              std::uint32_t generation);  ///< position −1: broker decides
  OpId release(std::span<const PlacePosition> places, std::uint32_t generation);
  OpId seek(std::span<const PlacePosition> positions);
  OpId pause(std::span<const PlacePosition> places);
  OpId resume(std::span<const PlacePosition> places);
  OpId flush();
  OpId leave();
  /// The application gives up (say, it was fenced): its process ends here and its supervisor starts it anew.
  void exit();
  // Stores and services
  OpId store_read(std::uint64_t key);
  OpId store_write(std::span<const StoreWrite> batch, std::int64_t expected_version);
  OpId call(std::uint8_t service, const Message& request);
  OpId reply(const Message& message);
  // What the application did by itself; these do not settle.
  void handle(const Message& message);                     ///< its handler starts on this message
  void complete(const Message& message, Outcome outcome);  ///< and is done with it

 private:
  Effect& add(Kind kind, bool settles);
  template <class T>
  std::span<const T> keep(std::span<const T> values);
  Bytes keep(Bytes bytes);
  std::byte* room(std::size_t bytes);

  std::vector<Effect> list_;
  std::vector<std::vector<std::byte>> chunks_;  // chunks never move while one handle() lasts
  std::size_t used_ = 0;                        // bytes used over all chunks
  OpId next_op_ = 1;
};

}  // namespace mqlab
