#include "sim/store.h"

#include <algorithm>
#include <cstring>

#include "core/base/plant.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim {
namespace {
constexpr std::uint32_t request_bytes = 256;
/// Application error number of a write whose expected version was not met.
constexpr std::uint16_t version_conflict = 1;
}  // namespace

Store::Store(World& world, TopicId topic)
    : world_(world), place_(world.setup().topology.topics[topic].first_place), cells_(world.arena()) {}

Bytes Store::keep(Bytes bytes) {
  if (bytes.size == 0) return {};
  auto* to = static_cast<std::byte*>(world_.arena().allocate(bytes.size));
  std::memcpy(to, bytes.data, bytes.size);
  return {to, bytes.size};
}

void Store::request(Process& from, const Effect& effect) {
  Arena& arena = world_.arena();
  auto* request = arena.make<Request>();
  *request = {from.self(),
              effect.kind,
              effect.op,
              effect.expected,
              effect.message.receipt,
              nullptr,
              static_cast<std::uint32_t>(effect.writes.size()),
              from.incarnation()};
  if (request->count > 0) {
    request->writes = static_cast<StoreWrite*>(arena.allocate(request->count * sizeof(StoreWrite)));
    for (std::uint32_t i = 0; i < request->count; ++i) {
      request->writes[i] = effect.writes[i];
      request->writes[i].value = keep(effect.writes[i].value);
    }
  }
  world_.network().send(from.self(), *this, request_bytes, arrived, reinterpret_cast<std::uint64_t>(request));
}

Store::Cell* Store::find(std::uint64_t key) {
  const auto at = std::lower_bound(cells_.begin(), cells_.end(), key,
                                   [](const Cell& c, std::uint64_t k) { return c.key < k; });
  return at == cells_.end() || at->key != key ? nullptr : &*at;
}

void Store::apply(const Request& request, Settlement& answer) {
  if (request.kind == Kind::store_read) {
    const Cell* cell = find(request.key);
    answer.position = cell == nullptr ? -1 : cell->version;
    answer.value = cell == nullptr ? Bytes{} : cell->value;
    answer.message = cell == nullptr ? 0 : cell->message;
    return;
  }
  answer.position = version_;
  if (request.expected >= 0 && request.expected != version_) {
    answer.outcome = Outcome::fail;
    answer.error = ErrorClass::retriable;
    answer.code = version_conflict;
    return;
  }
  answer.position = ++version_;
  for (std::uint32_t i = planted(Plant::store_batch_torn) && request.count > 1 ? 1 : 0; i < request.count;
       ++i) {
    const StoreWrite& w = request.writes[i];
    const Cell cell = {w.key, w.message, w.digest, w.value, version_, world_.now()};
    if (Cell* old = find(w.key)) {
      *old = cell;
    } else {
      const auto at = std::lower_bound(cells_.begin(), cells_.end(), w.key,
                                       [](const Cell& c, std::uint64_t k) { return c.key < k; });
      cells_.insert(at, cell);
    }
  }
}

void Store::on(const SimEvent& event) {
  if (event.kind == arrived) {
    auto* request = reinterpret_cast<Request*>(event.a);
    Settlement answer;
    answer.op = request->op;
    answer.of = request->kind;
    answer.place = place_;
    apply(*request, answer);
    Process& to = world_.process(request->from);
    if (world_.alive(request->from) && to.incarnation() == request->life)
      to.post_later(answer, world_.network().delay(owner, to.self()));
    if (request->count > 0) world_.arena().deallocate(request->writes, request->count * sizeof(StoreWrite));
    world_.arena().recycle(request);
  }
}

void Store::audit() {
  const ProcessId auditor = world_.setup().topology.auditor;
  std::int64_t count = 0;
  for (const Cell& cell : cells_) {
    if (cell.message == 0) continue;
    Row& row = world_.row(auditor, Kind::audit, Phase::ok);
    row.place = place_;
    row.position = static_cast<std::int64_t>(cell.key);
    row.message = cell.message;
    row.digest = cell.digest;
    row.size = cell.value.size;
    row.aux = cell.at.ns;
    ++count;
  }
  Row& end = world_.row(auditor, Kind::audit_end, Phase::ok);
  end.place = place_;
  end.position = version_;
  end.aux = count;
}

}  // namespace mqlab::sim
