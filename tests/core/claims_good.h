// A faultless history of the small scenario, on which every claim holds, and the claims to try on it.
#pragma once
#include "tests/core/claims_support.h"

namespace mqlab::testing {

inline std::string instance(std::string_view group, MessageId id) {
  return std::string(group) + "-" + std::to_string(id % 2);
}

/// Each message goes from api by embed's transaction to vectors, into the index, and past archive and
/// billing.
inline Story good_story(const Lab& lab, MessageId messages = 120) {
  Story story(lab);
  std::int64_t positions[2] = {};
  for (MessageId id = 1; id <= messages; ++id) {
    const std::uint32_t key = id % 3;
    const std::string partition = "/" + std::to_string(key % 2);
    const std::string in = "requests" + partition, out = "vectors" + partition;
    const std::string embed = instance("embed", key), api = instance("api", id);
    const std::int64_t at = positions[key % 2]++;
    story.send(id, api, in, at, key);
    for (const std::string& reader : {embed, std::string("archive-0")}) {
      story.read(id, reader, in, at).handle(id, reader, in, at);
    }
    story.transaction(Kind::begin, Phase::ok, embed, id)
        .publish(id, embed, key, id)
        .stored(id, embed, out, at, id);
    story.offsets(Kind::offsets_to_transaction, embed, in, at + 1, id);
    story.transaction(Kind::commit_transaction, Phase::invoke, embed, id);
    story.transaction(Kind::commit_transaction, Phase::ok, embed, id);
    story.write(id, embed);
    for (const std::string& reader : {embed, std::string("archive-0")}) story.complete(id, reader, in, at);
    story.read(id, "billing", out, at).takes(out, 100 * (at + 1));
    story.found(id, in, at).found(id, out, at).found(id, "index", id);
  }
  for (int p = 0; p < 2; ++p) story.committed("requests/" + std::to_string(p), positions[p]);
  return story;
}

inline Rows good_history(const Lab& lab, MessageId messages = 120) {
  return good_story(lab, messages).end().rows;
}

/// Every claim, for every kind of effect it can look for.
inline std::vector<ClaimSpec> every_claim() {
  std::vector<ClaimSpec> list;
  const auto add = [&](const std::string& id, const Properties& parameters, bool order_of_handlers = true) {
    list.push_back(claim(id, "requests", "vectors", "", parameters));
    list.push_back(claim(id, "requests", "vectors", "billing", parameters));
    list.push_back(claim(id, "requests", "index", "", parameters));
    Properties at_stage = parameters;
    at_stage.push_back({"stage", "embed", 0});
    list.push_back(claim(id, "requests", "", "", at_stage));
    at_stage.push_back({"deliveries", "true", 0});
    if (order_of_handlers) list.push_back(claim(id, "requests", "", "", at_stage));
  };
  for (const char* id : {"no_loss", "no_duplicates", "no_phantom", "exactly_once", "order.key"}) add(id, {});
  for (const char* repeats : {"allowed", "strict"}) {
    list.push_back(claim("order.partition", "", "requests", "", {{"repeats", repeats, 0}}));
    list.push_back(claim("order.partition", "", "vectors", "", {{"repeats", repeats, 0}}));
    list.push_back(claim("order.partition", "", "vectors", "billing", {{"repeats", repeats, 0}}));
  }
  list.push_back(claim("txn.atomic"));
  list.push_back(claim("accounted", "requests", "vectors"));
  list.push_back(claim("accounted", "requests", "index"));
  list.push_back(claim("effect_once", "requests", "index"));
  list.push_back(claim("order.causal", "", "vectors"));
  list.push_back(claim("disk.bounded", "", "vectors", "", {{"at_most", "12KB", 0}}));
  for (const char* id : {"rate.loss", "rate.duplicates"}) {
    list.push_back(claim(id, "requests", "vectors", "", {{"at_most", "1%", 0}}));
    list.push_back(claim(id, "requests", "vectors", "billing", {{"at_most", "1%", 0}}));
  }
  for (const char* id :
       {"log.offsets_consistent", "log.no_poll_skip", "log.monotonic_poll", "log.monotonic_send",
        "log.no_send_skip", "log.no_duplicates", "log.no_lost_write", "log.no_aborted_read",
        "log.no_precommitted_read", "log.no_write_cycle", "log.no_information_cycle"}) {
    list.push_back(claim(id, "", "vectors"));
  }
  list.push_back(claim("commit.covers_processed"));
  list.push_back(claim("progress.consumer", "", "", "", {{"within", "1s", 0}}));
  list.push_back(claim("txn.read_committed", "", "vectors", "billing"));
  for (const char* id : {"latency.p50", "latency.p90", "latency.max"}) add(id, {{"at_most", "1s", 0}});
  for (const char* id : {"answered", "recovers"}) add(id, {{"within", "1s", 0}});
  add("throughput", {{"at_least", "10/s", 0}});
  add("backlog.bounded", {{"at_most", "5", 0}});
  return list;
}

}  // namespace mqlab::testing
