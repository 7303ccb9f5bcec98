#include "core/seam/transcript.h"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace mqlab {
namespace {

static_assert(std::endian::native == std::endian::little, "transcripts are written as they lie in memory");
constexpr std::uint32_t magic = 0x3145514d;  // "MQE1", before every event

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}
  template <class T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof(T));
  }
  void put(Bytes bytes) {
    put(bytes.size);
    out_.insert(out_.end(), bytes.data, bytes.data + bytes.size);
  }

 private:
  std::vector<std::byte>& out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  void get(T& value) {
    if (bytes_.size() < sizeof(T)) throw std::out_of_range("transcript");
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
  }
  void get(Bytes& bytes) {
    get(bytes.size);
    if (bytes_.size() < bytes.size) throw std::out_of_range("transcript");
    bytes.data = bytes.size == 0 ? nullptr : bytes_.data();
    bytes_ = bytes_.subspan(bytes.size);
  }
  /// A count of elements of at least `least` bytes each: never more than the rest can hold.
  std::uint32_t count(std::size_t least) {
    std::uint32_t n = 0;
    get(n);
    if (n > bytes_.size() / least) throw std::out_of_range("transcript");
    return n;
  }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// The fields of each record once, for both directions.
template <class Archive, class M>
void fields(Archive&& field, M& m, const Message*) {
  field(m.id), field(m.cause), field(m.key), field(m.size), field(m.digest), field(m.payload), field(m.place);
  field(m.attempt), field(m.position), field(m.timestamp.ns), field(m.receipt);
}
template <class Archive, class S>
void fields(Archive&& field, S& s, const Settlement*) {
  field(s.op), field(s.of), field(s.outcome), field(s.error), field(s.duplicate), field(s.code),
      field(s.message);
  field(s.place), field(s.position), field(s.value);
}
template <class Archive, class P>
void fields(Archive&& field, P& p, const PlacePosition*) {
  field(p.place), field(p.position);
}

template <class T>
void put_all(Writer& writer, std::span<const T> values) {
  writer.put(static_cast<std::uint32_t>(values.size()));
  for (const T& value : values) {
    fields([&](const auto& f) { writer.put(f); }, value, static_cast<const T*>(nullptr));
  }
}

template <class T>
void get_all(Reader& reader, std::vector<T>& values) {
  values.resize(reader.count(sizeof(std::uint32_t)));
  for (T& value : values) {
    fields([&](auto& f) { reader.get(f); }, value, static_cast<const T*>(nullptr));
  }
}

struct Recorded {
  Now now;
  Event event;
  std::vector<Message> messages;
  std::vector<Settlement> settlements;
  std::vector<PlacePosition> places;
};

/// Throws std::out_of_range when the bytes end inside the event.
void read_event(Reader& reader, Recorded& r) {
  std::uint32_t mark = 0;
  reader.get(mark);
  if (mark != magic) throw std::runtime_error("not a transcript: no event where one should begin");
  reader.get(r.now.mono.ns), reader.get(r.now.wall.ns);
  reader.get(r.event.kind), reader.get(r.event.lost), reader.get(r.event.op), reader.get(r.event.generation);
  reader.get(r.event.at.ns);
  get_all(reader, r.messages);
  get_all(reader, r.settlements);
  get_all(reader, r.places);
  r.event.messages = r.messages;
  r.event.settlements = r.settlements;
  r.event.places = r.places;
}

}  // namespace

void append_event(std::vector<std::byte>& out, const Now& now, const Event& event) {
  Writer writer(out);
  writer.put(magic);
  writer.put(now.mono.ns), writer.put(now.wall.ns);
  writer.put(event.kind), writer.put(event.lost), writer.put(event.op), writer.put(event.generation);
  writer.put(event.at.ns);
  put_all(writer, event.messages);
  put_all(writer, event.settlements);
  put_all(writer, event.places);
}

std::size_t replay_transcript(std::span<const std::byte> bytes, Module& module, const OnStep& each) {
  Reader reader(bytes);
  Effects effects;
  OpId next_op = 1;
  std::size_t events = 0;
  for (; !reader.rest().empty(); ++events) {
    Recorded recorded;
    try {
      read_event(reader, recorded);
    } catch (const std::out_of_range&) {
      return events;
    }
    effects.begin(next_op);
    module.handle(recorded.now, recorded.event, effects);
    next_op = effects.next_op();
    each(recorded.now, recorded.event, effects.list());
  }
  return events;
}

}  // namespace mqlab
