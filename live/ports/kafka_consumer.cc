#include "live/ports/kafka_consumer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace mqlab::live::kafka {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int slice_ms =
    50;  ///< the library is asked for at most so long at a time, so that a stop is noticed
constexpr Duration seek_patience = Duration::seconds(5);

/// The generation inside serialised group metadata: "CGMDv2:", then a 32-bit number (rdkafka_cgrp.c). There
/// is no other way to it; 0 when the form is another.
std::uint32_t generation_in(const std::vector<char>& group) {
  constexpr std::string_view magic = "CGMDv2:";
  std::int32_t generation = 0;
  if (group.size() < magic.size() + sizeof generation ||
      std::memcmp(group.data(), magic.data(), magic.size()) != 0)
    return 0;
  std::memcpy(&generation, group.data() + magic.size(), sizeof generation);
  return generation < 0 ? 0 : static_cast<std::uint32_t>(generation);
}

bool cooperative(rd_kafka_t* client) {
  return std::strcmp(rd_kafka_rebalance_protocol(client), "COOPERATIVE") == 0;
}

Properties with_names(Properties properties, const ProcessInfo& info, const std::string& tag) {
  for (Property& p : properties) {
    p.value = with_instance(p.value, info.instance);
    if (p.key == "group.id") p.value = tagged(p.value, tag);
  }
  if (find(properties, "group.id") == nullptr) properties.push_back({"group.id", tagged(info.group, tag), 0});
  if (info.role == Role::observer && find(properties, "enable.auto.commit") == nullptr) {
    properties.push_back({"enable.auto.commit", "false", 0});
  }
  return properties;
}

/// Where an observer begins: what it would have seen counts from the beginning, unless its settings say
/// otherwise.
std::int64_t first_offset(const Properties& properties) {
  const Property* reset = find(properties, "auto.offset.reset");
  return reset != nullptr && reset->value == "latest" ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING;
}

/// The group will not have this member, however often it asks; librdkafka says so as an error among the
/// records. [rd_kafka_cgrp_handle_JoinGroup: permanent errors]
bool refused(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT ||
         error == RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL ||
         error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
         error == RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED || error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
}

}  // namespace

Consumer::Consumer(const PortContext& context, const Names& names, const Properties& properties,
                   const std::vector<TopicId>& inputs)
    : context_(context), names_(names) {
  const ProcessInfo& info = context.topology.processes[context.process];
  conf_.set("client.id", info.name);
  conf_.apply(with_names(properties, info, context.tag), "consumer of " + info.group);
  conf_.reach(context.address, context.scenario.live.properties);
  rd_kafka_conf_set_opaque(conf_.get(), this);
  rd_kafka_conf_set_rebalance_cb(conf_.get(), on_rebalance);
  report_requests(conf_, context_.on_request);
  conf_.set("enable.partition.eof", "true");  // it hears of a partition where nothing is stored yet
  max_records_ = conf_.max_poll_records();
  client_ = conf_.create(RD_KAFKA_CONSUMER);
  rd_kafka_poll_set_consumer(client_.get());
  commits_.reset(rd_kafka_queue_new(client_.get()));
  observes_ = info.role == Role::observer;
  if (observes_) {
    first_offset_ = first_offset(properties);
    for (const TopicId topic : inputs) {
      const TopicInfo& t = context.topology.topics[topic];
      for (std::uint32_t p = 0; p < t.partitions; ++p) observed_.push_back({t.first_place + p, -1});
    }
  } else {
    subscribe(inputs);
  }
  reader_ = std::thread([this] { run(); });
  committer_ = std::thread([this] {
    while (!stopping_) rd_kafka_queue_poll_callback(commits_.get(), 100);
  });
}

Consumer::~Consumer() { close(); }

void Consumer::subscribe(const std::vector<TopicId>& inputs) {
  const ListPtr topics(rd_kafka_topic_partition_list_new(static_cast<int>(inputs.size())));
  for (const TopicId topic : inputs)
    rd_kafka_topic_partition_list_add(topics.get(), names_.topic(topic).c_str(), RD_KAFKA_PARTITION_UA);
  if (const auto error = rd_kafka_subscribe(client_.get(), topics.get());
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw PortError(std::string("subscribe: ") + rd_kafka_err2str(error));
  }
}

// ---- from the module ----

void Consumer::carry_out(const Effect& effect) {
  if (effect.kind == Kind::commit) return commit(effect);
  {
    const std::lock_guard lock(mutex_);
    std::vector<PlacePosition> places(effect.places.begin(), effect.places.end());
    if (effect.kind == Kind::accept || effect.kind == Kind::release) {
      answer_ = Answer{effect.kind, effect.op, std::move(places)};
    } else {
      jobs_.push_back({effect.kind, effect.op, std::max(effect.max, 1u), effect.wait, std::move(places)});
    }
  }
  changed_.notify_all();
}

void Consumer::commit(const Effect& effect) {
  const ListPtr offsets = names_.list(effect.places, true);
  struct Call {
    Consumer* self;
    OpId op;
  };
  auto* call = new Call{this, effect.op};
  const auto done = [](rd_kafka_t*, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list,
                       void* opaque) {
    const std::unique_ptr<Call> mine(static_cast<Call*>(opaque));
    for (int i = 0; error == RD_KAFKA_RESP_ERR_NO_ERROR && list != nullptr && i < list->cnt; ++i)
      error = list->elems[i].err;
    mine->self->settle(mine->op, Kind::commit, error);
  };
  const auto error = rd_kafka_commit_queue(client_.get(), offsets.get(), commits_.get(), done, call);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  delete call;
  settle(effect.op, Kind::commit, error);
}

void Consumer::settle(OpId op, Kind kind, rd_kafka_resp_err_t error) {
  Settlement s;
  s.op = op;
  s.of = kind;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR && error != RD_KAFKA_RESP_ERR__NO_OFFSET) {
    const Failure failure = failure_of(error);
    s.error = failure.error;
    s.code = failure.code;
    const bool unanswered = error == RD_KAFKA_RESP_ERR__TIMED_OUT || error == RD_KAFKA_RESP_ERR__TRANSPORT;
    s.outcome = unanswered ? Outcome::unknown : Outcome::fail;
  }
  context_.events.settle(s);
}

GroupPtr Consumer::group_of(std::uint32_t generation) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = groups_.find(generation);
    rd_kafka_consumer_group_metadata_t* group = nullptr;
    if (found != groups_.end()) {
      const ErrorPtr error(
          rd_kafka_consumer_group_metadata_read(&group, found->second.data(), found->second.size()));
      if (!error) return GroupPtr(group);
    }
  }
  return GroupPtr(rd_kafka_consumer_group_metadata(client_.get()));
}

// ---- the consumer's thread ----

void Consumer::run() {
  while (true) {
    Job job{};
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) break;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (job.kind == Kind::fetch)
      fetch(job);
    else
      do_job(job);
  }
  leave();
}

void Consumer::fetch(const Job& job) {
  const auto begin = Clock::now();
  const std::uint32_t max = std::min(job.max, max_records_);
  fetch_op_ = job.op;
  if (!observed_.empty()) assign_observer();
  while (!stopping_) {
    Job other{};
    while (urgent(other)) do_job(other);
    if (left_) return;
    const bool first = collected_.empty();
    MessagePtr message(rd_kafka_consumer_poll(client_.get(), first ? slice_ms : 0));
    if (fetch_op_ == 0) return;  // a rebalance came in between and answered with what was there
    if (message && refused(message->err))
      return settle(std::exchange(fetch_op_, 0), Kind::fetch, message->err);
    if (message && !silent_.empty()) heard_of(*message);
    if (message && message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      collected_.push_back(std::move(message));
      if (collected_.size() < max) continue;
    }
    const bool over = job.wait != Duration::forever() &&
                      std::chrono::nanoseconds(Clock::now() - begin).count() >= job.wait.ns;
    if (!collected_.empty() || over) return deliver_collected(true);
  }
}

/// The next job that need not wait for the fetch under way to be answered.
bool Consumer::urgent(Job& job) {
  const std::lock_guard lock(mutex_);
  if (jobs_.empty() || jobs_.front().kind == Kind::fetch) return false;
  job = std::move(jobs_.front());
  jobs_.pop_front();
  return true;
}

void Consumer::do_job(const Job& job) {
  const ListPtr list = names_.list(job.places, true);
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  switch (job.kind) {
    case Kind::seek: {
      const ErrorPtr failed(rd_kafka_seek_partitions(client_.get(), list.get(),
                                                     static_cast<int>(seek_patience.ns / 1'000'000)));
      if (failed) error = rd_kafka_error_code(failed.get());
      for (int i = 0; error == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; ++i) error = list->elems[i].err;
      break;
    }
    case Kind::pause:
      error = rd_kafka_pause_partitions(client_.get(), list.get());
      break;
    case Kind::resume:
      error = rd_kafka_resume_partitions(client_.get(), list.get());
      break;
    case Kind::leave:
      leave();
      break;
    default:
      error = RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED;
  }
  settle(job.op, job.kind, error);
}

void Consumer::leave() {
  if (left_) return;
  leaving_ = true;
  rd_kafka_consumer_close(client_.get());
  left_ = true;
}

/// Hands over what was collected; with `answers_fetch` also when that is nothing.
void Consumer::deliver_collected(bool answers_fetch) {
  if (fetch_op_ == 0 || (collected_.empty() && !answers_fetch)) return;
  OwnedEvent event;
  event.kind = EventKind::delivered;
  event.op = fetch_op_;
  for (const MessagePtr& raw : collected_) {
    const auto wire = read_message(*raw);
    const PlaceId place = names_.place(rd_kafka_topic_name(raw->rkt), raw->partition);
    if (!wire || place == no_place) continue;
    Message& m = event.messages.emplace_back(wire->message);
    m.payload = event.keep(m.payload);
    m.place = place;
    m.position = raw->offset;
    rd_kafka_timestamp_type_t type{};
    m.timestamp = context_.clock.from_wall(rd_kafka_message_timestamp(raw.get(), &type) * 1'000'000);
  }
  collected_.clear();
  fetch_op_ = 0;
  context_.events.push(std::move(event));
}

void Consumer::close() {
  if (!reader_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  reader_.join();
  committer_.join();
  commits_.reset();
}

// ---- rebalances ----

void Consumer::on_rebalance(rd_kafka_t*, rd_kafka_resp_err_t error,
                            rd_kafka_topic_partition_list_t* partitions, void* self) {
  static_cast<Consumer*>(self)->rebalance(error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS, partitions);
}

void Consumer::rebalance(bool assign, rd_kafka_topic_partition_list_t* partitions) {
  if (leaving_ || stopping_) {
    apply(false, partitions);
    return;
  }
  if (assign) fill_committed(partitions);
  deliver_collected(false);
  const auto answer = ask_module(assign, partitions);
  if (!answer) {
    apply(false, partitions);
    return;
  }
  const ListPtr list = names_.list(answer->places, answer->kind == Kind::accept);
  settle(answer->op, answer->kind,
         apply(answer->kind == Kind::accept, answer->kind == Kind::accept ? list.get() : partitions));
}

void Consumer::assign_observer() {
  const ListPtr all = names_.list(observed_, false);
  observed_.clear();
  const auto answer = ask_module(true, all.get());
  if (!answer) return;
  const ListPtr list = names_.list(answer->places, true);
  for (int i = 0; i < list->cnt; ++i) {
    if (list->elems[i].offset < 0) list->elems[i].offset = first_offset_;
  }
  const rd_kafka_resp_err_t error = rd_kafka_assign(client_.get(), list.get());
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) wait_to_hear_of(true, list.get());
  settle(answer->op, answer->kind, error);
}

/// Tells the module and waits for its accept or release; empty when the process stops meanwhile.
std::optional<Consumer::Answer> Consumer::ask_module(bool assign,
                                                     const rd_kafka_topic_partition_list_t* partitions) {
  OwnedEvent event;
  event.kind = assign ? EventKind::assigned : EventKind::revoking;
  event.lost = !assign && rd_kafka_assignment_lost(client_.get()) != 0;
  event.generation = std::max(remember_group(), 1u);  // an observer's is 1, as nothing ever changes it
  event.places = names_.places(partitions);
  std::unique_lock lock(mutex_);
  answer_.reset();
  context_.events.push(std::move(event));
  changed_.wait(lock, [&] { return stopping_ || answer_; });
  return std::exchange(answer_, std::nullopt);
}

rd_kafka_resp_err_t Consumer::apply(bool assign, const rd_kafka_topic_partition_list_t* partitions) {
  wait_to_hear_of(assign, partitions);
  if (!cooperative(client_.get())) return rd_kafka_assign(client_.get(), assign ? partitions : nullptr);
  const ErrorPtr error(assign ? rd_kafka_incremental_assign(client_.get(), partitions)
                              : rd_kafka_incremental_unassign(client_.get(), partitions));
  return error ? rd_kafka_error_code(error.get()) : RD_KAFKA_RESP_ERR_NO_ERROR;
}

/// Assigning says nothing about reading: the library still has to find the leaders and ask for the offsets.
void Consumer::wait_to_hear_of(bool assigned, const rd_kafka_topic_partition_list_t* partitions) {
  for (const PlacePosition& p : names_.places(partitions)) {
    std::erase(silent_, p.place);
    const PlaceInfo& info = context_.topology.places[p.place];
    // An observer takes all partitions there will be; the library begins to read one when it sees that it is
    // there.
    const bool yet_to_come = observes_ && info.partition >= context_.topology.topics[info.topic].at_first;
    if (assigned && !yet_to_come) silent_.push_back(p.place);
  }
  reading_ = silent_.empty();
}

/// A record of it, or that there is none behind the position.
void Consumer::heard_of(const rd_kafka_message_t& message) {
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR && message.err != RD_KAFKA_RESP_ERR__PARTITION_EOF) return;
  std::erase(silent_, names_.place(rd_kafka_topic_name(message.rkt), message.partition));
  reading_ = silent_.empty();
}

/// Where the group is in each partition. Unknown (the coordinator does not answer) counts as none: the broker
/// then decides again when the fetching starts.
void Consumer::fill_committed(rd_kafka_topic_partition_list_t* partitions) {
  for (int attempt = 0; attempt < 5 && !stopping_; ++attempt) {
    if (rd_kafka_committed(client_.get(), partitions, 3000) == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  }
  for (int i = 0; i < partitions->cnt; ++i) partitions->elems[i].offset = RD_KAFKA_OFFSET_INVALID;
}

std::uint32_t Consumer::remember_group() {
  const GroupPtr group(rd_kafka_consumer_group_metadata(client_.get()));
  void* bytes = nullptr;
  std::size_t size = 0;
  if (!group) return 0;
  if (const ErrorPtr error(rd_kafka_consumer_group_metadata_write(group.get(), &bytes, &size)); error)
    return 0;
  std::vector<char> image(static_cast<char*>(bytes), static_cast<char*>(bytes) + size);
  rd_kafka_mem_free(client_.get(), bytes);
  const std::uint32_t generation = generation_in(image);
  const std::lock_guard lock(mutex_);
  groups_[generation] = std::move(image);
  return generation;
}

}  // namespace mqlab::live::kafka
