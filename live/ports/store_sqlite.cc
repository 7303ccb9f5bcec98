#include "live/ports/store_sqlite.h"

#include <sqlite3.h>

#include <bit>

namespace mqlab::live {
namespace {

[[noreturn]] void fail(sqlite3* db, const std::string& what) {
  throw PortError("store: " + what + ": " + (db != nullptr ? sqlite3_errmsg(db) : "out of memory"));
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) {
    if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) fail(db, sql);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, std::int64_t value) {
    sqlite3_bind_int64(statement_, index, value);
    return *this;
  }
  Statement& bind(int index, Bytes value) {
    sqlite3_bind_blob(statement_, index, value.size == 0 ? "" : static_cast<const void*>(value.data),
                      static_cast<int>(value.size), SQLITE_TRANSIENT);
    return *this;
  }
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) fail(db_, "a statement failed");
    return false;
  }
  std::int64_t integer(int column) { return sqlite3_column_int64(statement_, column); }
  std::vector<std::byte> bytes(int column) {
    const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
    return {data, data + sqlite3_column_bytes(statement_, column)};
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

std::int64_t signed_bits(std::uint64_t value) { return std::bit_cast<std::int64_t>(value); }

std::int64_t version_of(sqlite3* db) {
  Statement version(db, "SELECT version FROM store_version");
  return version.step() ? version.integer(0) : 0;
}

}  // namespace

SqliteStore::SqliteStore(const std::string& file) {
  if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK) fail(db_, file);
  sqlite3_busy_timeout(db_, 10'000);
  run("PRAGMA journal_mode=WAL");
  run("PRAGMA synchronous=NORMAL");
  run("BEGIN IMMEDIATE");
  run("CREATE TABLE IF NOT EXISTS store_rows (key INTEGER PRIMARY KEY, message INTEGER, digest INTEGER, "
      "written INTEGER, value BLOB)");
  run("CREATE TABLE IF NOT EXISTS store_version (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER)");
  run("INSERT OR IGNORE INTO store_version VALUES (1, 0)");
  run("COMMIT");
}

SqliteStore::~SqliteStore() { sqlite3_close(db_); }

void SqliteStore::run(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(db_, sql);
}

SqliteStore::Read SqliteStore::read(std::uint64_t key) {
  Read result;
  run("BEGIN");
  result.version = version_of(db_);
  {
    Statement row(db_, "SELECT value FROM store_rows WHERE key = ?");
    result.found = row.bind(1, signed_bits(key)).step();
    if (result.found) result.value = row.bytes(0);
  }
  run("COMMIT");
  return result;
}

SqliteStore::Written SqliteStore::write(std::span<const StoreWrite> batch, std::int64_t expected,
                                        std::int64_t wall_ns) {
  run("BEGIN IMMEDIATE");
  const std::int64_t version = version_of(db_);
  if (expected >= 0 && expected != version) {
    run("ROLLBACK");
    return {false, version};
  }
  for (const StoreWrite& w : batch) {
    Statement(db_,
              "INSERT INTO store_rows VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
              "message = excluded.message, digest = excluded.digest, written = excluded.written, value = "
              "excluded.value")
        .bind(1, signed_bits(w.key))
        .bind(2, w.message)
        .bind(3, signed_bits(w.digest))
        .bind(4, wall_ns)
        .bind(5, w.value)
        .step();
  }
  Statement(db_, "UPDATE store_version SET version = ?").bind(1, version + 1).step();
  run("COMMIT");
  return {true, version + 1};
}

void SqliteStore::each(const std::function<void(const StoredRow&)>& visit) {
  Statement rows(db_, "SELECT key, message, digest, written FROM store_rows ORDER BY key");
  while (rows.step()) {
    visit({std::bit_cast<std::uint64_t>(rows.integer(0)), static_cast<MessageId>(rows.integer(1)),
           std::bit_cast<std::uint64_t>(rows.integer(2)), rows.integer(3)});
  }
}

}  // namespace mqlab::live
