// Distributions of durations: "5ms", or a table with its kind and figures.
#include "core/scenario/section.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

using Shape = DurationSpec::Shape;

void only(const Section& s, std::initializer_list<std::string_view> figures) {
  for (const std::string_view key : {"value", "low", "high", "mean", "p50", "p99"}) {
    bool wanted = false;
    for (const std::string_view figure : figures) wanted = wanted || figure == key;
    if (wanted && !s.has(key)) s.fail(key, "missing: a " + s.text("kind", "") + " distribution has it");
    if (!wanted && s.has(key)) s.fail(key, "a " + s.text("kind", "") + " distribution has no such figure");
  }
}

}  // namespace

DurationSpec Section::distribution(std::string_view key, DurationSpec otherwise) const {
  const Node* value = node(key);
  if (value == nullptr) return otherwise;
  if (!value->is_table()) return {Shape::constant, duration(key, {}), {}};
  const Section s = below(key, "distribution");
  if (!s.has("kind")) s.fail("kind", "missing: constant, uniform, exponential or lognormal");
  DurationSpec spec;
  spec.shape = static_cast<Shape>(s.word("kind", 0, {"constant", "uniform", "exponential", "lognormal"}));
  switch (spec.shape) {
    case Shape::constant:
      only(s, {"value"});
      spec.a = s.duration("value", {});
      break;
    case Shape::uniform:
      only(s, {"low", "high"});
      spec.a = s.duration("low", {});
      spec.b = s.duration("high", {});
      if (spec.b < spec.a) s.fail("high", "must be at least low");
      break;
    case Shape::exponential:
      only(s, {"mean"});
      spec.a = s.duration("mean", {});
      if (spec.a.ns <= 0) s.fail("mean", "must be more than 0");
      break;
    case Shape::lognormal:
      only(s, {"p50", "p99"});
      spec.a = s.duration("p50", {});
      spec.b = s.duration("p99", {});
      if (spec.a.ns <= 0) s.fail("p50", "must be more than 0");
      if (spec.b < spec.a) s.fail("p99", "must be at least p50");
      break;
  }
  return spec;
}

}  // namespace mqlab
