#include "search/shrink.h"

#include <algorithm>

#include "core/base/check.h"
#include "search/story.h"

namespace mqlab::search {
namespace {

constexpr std::uint64_t runs_at_most = 4000;

class Shrinker {
 public:
  Shrinker(Runner& runner, std::size_t claim, Schedule schedule)
      : runner_(runner), claim_(claim), best_(std::move(schedule)) {
    for (const Generator& g : runner.setup().generators) {
      for (std::uint64_t i = 0; i < g.count(); ++i)
        messages_.push_back(g.first_id() + static_cast<MessageId>(i));
    }
    std::erase_if(messages_, [&](MessageId id) {
      return std::binary_search(best_.masked.begin(), best_.masked.end(), id);
    });
  }

  void run() {
    drop_jitter();
    drop_faults();
    drop_messages();
    drop_faults();
    first_occurrence();
  }
  const Schedule& best() const { return best_; }
  std::uint64_t runs() const { return runs_; }
  std::size_t messages() const { return messages_.size(); }

 private:
  bool fails(const Schedule& schedule) {
    if (runs_ >= runs_at_most) return false;
    ++runs_;
    const Outcome outcome = runner_.run(schedule);
    return outcome.faults_reached && outcome.findings[claim_].verdict == Verdict::violated;
  }
  bool keep(Schedule schedule) {
    if (!fails(schedule)) return false;
    best_ = std::move(schedule);
    return true;
  }

  void drop_jitter() {
    Schedule calm = best_;
    calm.zero_jitter = true;
    keep(std::move(calm));
  }

  void drop_faults() {
    for (std::size_t i = best_.faults.size(); i-- > 0;) {
      Schedule less = best_;
      less.faults.erase(less.faults.begin() + static_cast<std::ptrdiff_t>(i));
      keep(std::move(less));
    }
  }

  /// Masks ever smaller runs of messages. An anchor that counts ("the 12th commit") may have to count less
  /// then.
  void drop_messages() {
    for (std::size_t block = (messages_.size() + 1) / 2; block > 0;
         block = block == 1 ? 0 : (block + 1) / 2) {
      for (std::size_t begin = 0; begin < messages_.size();) {
        const std::size_t end = std::min(begin + block, messages_.size());
        if (mask(begin, end)) {
          messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(begin),
                          messages_.begin() + static_cast<std::ptrdiff_t>(end));
        } else {
          begin = end;
        }
      }
    }
  }

  bool mask(std::size_t begin, std::size_t end) {
    Schedule less = best_;
    less.masked.insert(less.masked.end(), messages_.begin() + static_cast<std::ptrdiff_t>(begin),
                       messages_.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(less.masked.begin(), less.masked.end());
    if (keep(less)) return true;
    for (std::size_t f = 0; f < less.faults.size(); ++f) {
      const std::uint32_t nth = less.faults[f].at.nth;
      const std::uint32_t removed = static_cast<std::uint32_t>(end - begin);
      for (const std::uint32_t to : {nth > removed ? nth - removed : 1u, (nth + 1) / 2, 1u}) {
        if (to >= nth) continue;
        Schedule earlier = less;
        earlier.faults[f].at.nth = to;
        if (keep(std::move(earlier))) return true;
      }
    }
    return false;
  }

  void first_occurrence() {
    for (std::size_t f = 0; f < best_.faults.size(); ++f) {
      for (std::uint32_t nth = 1; nth < best_.faults[f].at.nth; ++nth) {
        Schedule earlier = best_;
        earlier.faults[f].at.nth = nth;
        if (keep(std::move(earlier))) break;
      }
    }
  }

  Runner& runner_;
  std::size_t claim_;
  Schedule best_;
  std::vector<MessageId> messages_;  ///< not masked
  std::uint64_t runs_ = 0;
};

}  // namespace

Counterexample shrink(Runner& runner, std::size_t claim, Schedule schedule) {
  Shrinker shrinker(runner, claim, std::move(schedule));
  Counterexample example;
  example.messages_before = shrinker.messages();
  shrinker.run();
  example.schedule = shrinker.best();
  example.messages_after = shrinker.messages();
  example.shrink_runs = shrinker.runs();
  const Outcome outcome = runner.run(example.schedule);
  example.finding = outcome.findings[claim];
  tell(runner.setup(), runner.history(), example.finding, example);
  return example;
}

}  // namespace mqlab::search
