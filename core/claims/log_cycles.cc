#include "core/claims/log_cycles.h"

#include <algorithm>
#include <limits>

namespace mqlab {
namespace {

constexpr std::uint32_t unset = std::numeric_limits<std::uint32_t>::max();

struct Edge {
  std::uint32_t from = 0, to = 0;
  bool read = false;
  PlaceId place = no_place;
  MessageId id = 0, next = 0;
  bool operator<(const Edge& other) const { return from < other.from; }
};

class Graph {
 public:
  Graph(const LogFacts& facts, const LogOrder& order, bool reads, bool writes)
      : nodes_(facts.units().size()) {
    find_writers(facts, order);
    if (writes) add_writes(order);
    if (reads) add_reads(facts);
    std::stable_sort(edges_.begin(), edges_.end());
    first_.assign(nodes_ + 1, 0);
    for (const Edge& e : edges_) ++first_[e.from + 1];
    for (std::size_t n = 0; n < nodes_; ++n) first_[n + 1] += first_[n];
  }

  std::span<const Edge> edges() const { return edges_; }
  /// By node: the number of its strongly connected component (Tarjan, without recursion).
  std::vector<std::uint32_t> components() const;
  /// The fewest edges from one node to another that stay in one component; indices of edges.
  std::vector<std::size_t> path(std::uint32_t from, std::uint32_t to,
                                const std::vector<std::uint32_t>& component) const;

 private:
  using Writer = std::pair<std::pair<PlaceId, MessageId>, std::uint32_t>;

  void find_writers(const LogFacts& facts, const LogOrder& order) {
    for (const LogSend& s : facts.sends()) {
      const LogOrder::Record stands = order.where(s);
      if (stands.position >= 0) writers_.push_back({{stands.place, s.id}, s.unit});
    }
    std::sort(writers_.begin(), writers_.end());
  }
  std::uint32_t writer(PlaceId place, MessageId id) const {
    const auto found = std::lower_bound(writers_.begin(), writers_.end(), Writer{{place, id}, 0});
    return found == writers_.end() || found->first != std::pair{place, id} ? unset : found->second;
  }
  void add(const Edge& edge) {
    if (edge.from != unset && edge.to != unset && edge.from != edge.to) edges_.push_back(edge);
  }
  void add_writes(const LogOrder& order) {
    const LogOrder::Record* before = nullptr;
    for (const LogOrder::Record& r : order.records()) {
      if (order.last_of(r.place, r.id) != r.position) continue;
      if (before != nullptr && before->place == r.place)
        add({writer(r.place, before->id), writer(r.place, r.id), false, r.place, before->id, r.id});
      before = &r;
    }
  }
  void add_reads(const LogFacts& facts) {
    for (const LogRead& r : facts.reads()) {
      if (r.id != 0 && facts.units()[r.unit].fate == LogUnit::Fate::committed)
        add({writer(r.place, r.id), r.unit, true, r.place, r.id, 0});
    }
  }

  std::size_t nodes_;
  std::vector<Writer> writers_;
  std::vector<Edge> edges_;         // by `from`
  std::vector<std::size_t> first_;  // by node: its first edge
};

std::vector<std::uint32_t> Graph::components() const {
  std::vector<std::uint32_t> component(nodes_, unset), number(nodes_, unset), low(nodes_, unset), stack;
  std::vector<std::pair<std::uint32_t, std::size_t>> path;  // node, its next edge
  std::uint32_t numbers = 0, components = 0;
  for (std::uint32_t root = 0; root < nodes_; ++root) {
    if (number[root] != unset) continue;
    path.push_back({root, first_[root]});
    number[root] = low[root] = numbers++;
    stack.push_back(root);
    while (!path.empty()) {
      auto& [node, edge] = path.back();
      if (edge < first_[node + 1]) {
        const std::uint32_t to = edges_[edge++].to;
        if (number[to] == unset) {
          number[to] = low[to] = numbers++;
          stack.push_back(to);
          path.push_back({to, first_[to]});
        } else if (component[to] == unset) {
          low[node] = std::min(low[node], number[to]);
        }
        continue;
      }
      const std::uint32_t done = node;
      path.pop_back();
      if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[done]);
      if (low[done] != number[done]) continue;
      for (std::uint32_t member = unset; member != done; stack.pop_back()) {
        member = stack.back();
        component[member] = components;
      }
      ++components;
    }
  }
  return component;
}

std::vector<std::size_t> Graph::path(std::uint32_t from, std::uint32_t to,
                                     const std::vector<std::uint32_t>& component) const {
  std::vector<std::size_t> came_by(nodes_, edges_.size());
  std::vector<std::uint32_t> queue = {from};
  for (std::size_t i = 0; i < queue.size() && came_by[to] == edges_.size(); ++i) {
    for (std::size_t e = first_[queue[i]]; e < first_[queue[i] + 1]; ++e) {
      const std::uint32_t next = edges_[e].to;
      if (component[next] != component[from] || next == from || came_by[next] != edges_.size()) continue;
      came_by[next] = e;
      queue.push_back(next);
    }
  }
  std::vector<std::size_t> found;
  for (std::uint32_t node = to; node != from; node = edges_[came_by[node]].from)
    found.push_back(came_by[node]);
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace

void judge_cycles(LogJudgement& j, bool reads, bool writes) {
  const Graph graph(j.facts, j.order, reads, writes);
  const std::vector<std::uint32_t> component = graph.components();
  std::vector<std::uint8_t> told(j.facts.units().size());  // by component
  for (std::size_t e = 0; e < graph.edges().size(); ++e) {
    const Edge& edge = graph.edges()[e];
    if (component[edge.from] != component[edge.to] || edge.read != reads || told[component[edge.from]] != 0)
      continue;
    told[component[edge.from]] = 1;
    std::vector<std::size_t> around = {e};
    for (const std::size_t back : graph.path(edge.to, edge.from, component)) around.push_back(back);
    Anomaly a{.name = reads ? "G1c" : "G0"};
    for (const std::size_t i : around) {
      const Edge& step = graph.edges()[i];
      const std::uint64_t from = j.facts.units()[step.from].row, to = j.facts.units()[step.to].row;
      a.steps.push_back({step.read ? "wr" : "ww", step.place, step.id, step.next, from, to});
      a.rows.push_back(from);
    }
    j.report(std::move(a));
  }
}

}  // namespace mqlab
