// The effects a module written in Python may ask for: the same as those of C++ modules.
#include <pybind11/stl.h>

#include <optional>
#include <stdexcept>

#include "bindings/foreign.h"

namespace py = pybind11;

namespace mqlab::bindings {

Effects& EffectsHandle::get() const {
  if (effects_ == nullptr)
    throw std::logic_error("effects belong to one call of handle() and cannot be kept");
  return *effects_;
}

namespace {

using Places = std::vector<std::pair<PlaceId, std::int64_t>>;
using Receipts = std::vector<std::uint64_t>;

std::vector<PlacePosition> as_places(const Places& places) {
  std::vector<PlacePosition> out;
  for (const auto& [place, position] : places) out.push_back({place, position});
  return out;
}

/// A Python Message; `payload` keeps its bytes alive during the call.
Message as_message(const py::handle& message, std::string& payload) {
  Message m;
  m.id = message.attr("id").cast<MessageId>();
  m.cause = message.attr("cause").cast<MessageId>();
  m.key = message.attr("key").cast<std::uint32_t>();
  m.size = message.attr("size").cast<std::uint32_t>();
  m.digest = message.attr("digest").cast<std::uint64_t>();
  m.place = message.attr("place").cast<PlaceId>();
  m.position = message.attr("position").cast<std::int64_t>();
  m.attempt = message.attr("attempt").cast<std::uint32_t>();
  m.receipt = message.attr("receipt").cast<std::uint64_t>();
  payload = message.attr("payload").cast<std::string>();
  m.payload = {reinterpret_cast<const std::byte*>(payload.data()),
               static_cast<std::uint32_t>(payload.size())};
  return m;
}

Outcome as_outcome(const std::string& name) {
  if (name == "ok") return Outcome::ok;
  if (name == "fail") return Outcome::fail;
  if (name == "unknown") return Outcome::unknown;
  throw std::invalid_argument("an outcome is ok, fail or unknown, not " + name);
}

Duration as_duration(std::optional<std::int64_t> ns) {
  return ns ? Duration::nanos(*ns) : Duration::forever();
}

void bind_messages(py::class_<EffectsHandle>& c) {
  c.def(
      "publish",
      [](const EffectsHandle& h, const py::object& message, std::uint8_t output) {
        std::string payload;
        return h.get().publish(output, as_message(message, payload));
      },
      py::arg("message"), py::arg("output") = 0);
  c.def(
      "fetch",
      [](const EffectsHandle& h, std::uint32_t max, std::optional<std::int64_t> wait, std::uint8_t input) {
        return h.get().fetch(input, max, as_duration(wait));
      },
      py::arg("max"), py::arg("wait") = py::none(), py::arg("input") = 0);
  c.def(
      "ack", [](const EffectsHandle& h, const Receipts& receipts) { return h.get().ack(receipts); },
      py::arg("receipts"));
  c.def(
      "nack",
      [](const EffectsHandle& h, const Receipts& receipts, std::int64_t delay) {
        return h.get().nack(receipts, Duration::nanos(delay));
      },
      py::arg("receipts"), py::arg("delay") = 0);
  c.def(
      "progress", [](const EffectsHandle& h, const Receipts& receipts) { return h.get().progress(receipts); },
      py::arg("receipts"));
  c.def(
      "terminate",
      [](const EffectsHandle& h, const Receipts& receipts) { return h.get().terminate(receipts); },
      py::arg("receipts"));
  c.def(
      "handle",
      [](const EffectsHandle& h, const py::object& message) {
        std::string payload;
        h.get().handle(as_message(message, payload));
      },
      py::arg("message"));
  c.def(
      "complete",
      [](const EffectsHandle& h, const py::object& message, const std::string& outcome) {
        std::string payload;
        h.get().complete(as_message(message, payload), as_outcome(outcome));
      },
      py::arg("message"), py::arg("outcome") = "ok");
}

void bind_log(py::class_<EffectsHandle>& c) {
  c.def(
      "commit",
      [](const EffectsHandle& h, const Places& places, bool sync, std::uint32_t generation) {
        return h.get().commit(as_places(places), sync, generation);
      },
      py::arg("places"), py::arg("sync"), py::arg("generation"));
  c.def(
      "accept",
      [](const EffectsHandle& h, const Places& start, std::uint32_t generation) {
        return h.get().accept(as_places(start), generation);
      },
      py::arg("start"), py::arg("generation"));
  c.def(
      "release",
      [](const EffectsHandle& h, const Places& places, std::uint32_t generation) {
        return h.get().release(as_places(places), generation);
      },
      py::arg("places"), py::arg("generation"));
  c.def(
      "seek", [](const EffectsHandle& h, const Places& places) { return h.get().seek(as_places(places)); },
      py::arg("places"));
  c.def("begin_transaction", [](const EffectsHandle& h) { return h.get().begin_transaction(); });
  c.def(
      "offsets_to_transaction",
      [](const EffectsHandle& h, const Places& places, std::uint32_t generation) {
        return h.get().offsets_to_transaction(as_places(places), generation);
      },
      py::arg("places"), py::arg("generation"));
  c.def("commit_transaction", [](const EffectsHandle& h) { return h.get().commit_transaction(); });
  c.def("abort_transaction", [](const EffectsHandle& h) { return h.get().abort_transaction(); });
  c.def("flush", [](const EffectsHandle& h) { return h.get().flush(); });
  c.def("exit", [](const EffectsHandle& h) { h.get().exit(); });
  c.def("leave", [](const EffectsHandle& h) { return h.get().leave(); });
}

}  // namespace

void bind_effects(py::module_& m) {
  py::class_<EffectsHandle> c(m, "Effects");
  bind_messages(c);
  bind_log(c);
}

}  // namespace mqlab::bindings
