// A store on a file, shared by the workers of a run: atomic batches under a version, strictly serial.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/seam/effect.h"
#include "live/port.h"

struct sqlite3;

namespace mqlab::live {

class SqliteStore {
 public:
  /// Creates the file where there is none. Throws PortError.
  explicit SqliteStore(const std::string& file);
  ~SqliteStore();
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  struct Read {
    bool found = false;
    std::int64_t version = 0;  ///< of the whole store
    std::vector<std::byte> value;
  };
  Read read(std::uint64_t key);
  struct Written {
    bool applied = false;
    std::int64_t version = 0;  ///< after the batch; when not applied: the store's
  };
  /// Applied as a whole, and only if the store has version `expected` (−1 = any).
  Written write(std::span<const StoreWrite> batch, std::int64_t expected, std::int64_t wall_ns);
  struct StoredRow {
    std::uint64_t key;
    MessageId message;
    std::uint64_t digest;
    std::int64_t written_ns;  ///< wall time since 1970
  };
  /// Every row, by key.
  void each(const std::function<void(const StoredRow&)>& visit);

 private:
  void run(const char* sql);
  sqlite3* db_ = nullptr;
};

/// `port` with store_read and store_write carried out on the file.
std::unique_ptr<Port> with_store(std::unique_ptr<Port> port, const std::string& file, PlaceId place,
                                 EventQueue& events);

}  // namespace mqlab::live
