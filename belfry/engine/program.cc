#include "belfry/engine/program.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

// A part is compiled again if a later one changed a variable's layout or a crossing's memory. Both settle soon: layouts
// change once, copies and sizes only grow.
constexpr int kMostRounds = 16;

bool has_given_info(const IrNode& node) { return node.op == kFeed || (node.op == kReceive && !node.outputs.empty()); }

std::size_t crossing_of(const IrNode& node) { return static_cast<std::size_t>(node.attributes.integer("crossing")); }

// How many sizes cross: a vector whose length is part of the graph.
std::int64_t ints_in(const Crossing& crossing) {
  return crossing.origin->outputs[static_cast<std::size_t>(crossing.output)].shape.elements();
}

bool same_info(const TensorInfo& a, const TensorInfo& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.layout == b.layout;
}
bool same(const std::shared_ptr<const LeftBehind>& a, const std::shared_ptr<const LeftBehind>& b) {
  return a == b || (a && b && a->equals(*b));
}
bool same_fed(const TensorSpec& a, const TensorSpec& b) { return a.dtype == b.dtype && a.shape == b.shape; }

}  // namespace

// The stages of a run that follow a plan. The plan of a run's first stage keeps the program alive; the others are the
// program's own.
class Program::Rest final : public Continuation {
 public:
  Rest(Program& program, std::shared_ptr<Program> kept, Stage stage)
      : program_(program),
        kept_(std::move(kept)),
        stage_(std::move(stage)),
        computed_(program.computed_sizes(stage_.number)) {}
  Plan& next() override { return program_.next(stage_, computed_); }
  std::string explain() const override { return program_.explain_rest(stage_); }

 private:
  Program& program_;
  std::shared_ptr<Program> kept_;
  Stage stage_;
  std::vector<std::span<const std::int64_t>> computed_;  // where the run leaves the sizes
};

Program::Program(const Signature& signature, const RunTarget& target, int kept)
    : target_(target),
      partition_(partition(prune(signature, target.devices), target.devices)),
      slots_(std::make_shared<RunSlots>()),
      versions_(partition_.parts.size()),
      later_(partition_.stages.size()),
      kept_(std::max(1, kept)) {
  slots_->feeds.assign(signature.feeds.size(), nullptr);
  slots_->results.assign(signature.fetches.size(), nullptr);
}

std::size_t Program::first_part(int stage) const {
  const auto i = static_cast<std::size_t>(stage);
  return i < partition_.stages.size() ? static_cast<std::size_t>(partition_.stages[i]) : partition_.parts.size();
}

std::unique_ptr<Plan> Program::plan(const std::vector<TensorSpec>& fed) {
  return plan_stage({.fed = fed,
                     .carried = std::vector<TensorInfo>(partition_.crossings.size()),
                     .left = std::vector<std::shared_ptr<const LeftBehind>>(target_.devices.size())});
}

// A stage is planned for what it was fed and for the sizes that were computed: all else follows from these.
Plan& Program::next(const Stage& done, const std::vector<std::span<const std::int64_t>>& computed) {
  sizes_.clear();
  for (std::span<const std::int64_t> values : computed) sizes_.insert(sizes_.end(), values.begin(), values.end());
  std::list<Later>& later = later_[static_cast<std::size_t>(done.number)];
  const auto found = std::ranges::find_if(later, [&](const Later& known) {
    return known.sizes == sizes_ && std::ranges::equal(known.fed, done.fed, same_fed);
  });
  if (found != later.end() && found->plan->generation() == generation_of(target_)) {
    later.splice(later.begin(), later, found);
  } else {
    if (found != later.end()) later.erase(found);
    Stage stage = done;
    stage.sizes = sizes_;
    later.push_front({done.fed, sizes_, plan_stage(stage)});
    if (static_cast<int>(later.size()) > kept_) later.pop_back();
  }
  return *later.front().plan;
}

std::unique_ptr<Plan> Program::plan_stage(const Stage& before) {
  for (int round = 0; round < kMostRounds; ++round) {
    Stage stage = before;
    Parts parts = collect(stage);
    const std::uint64_t now = generation_of(target_);
    if (std::ranges::any_of(parts, [&](const auto& part) { return part->generation != now; })) continue;
    const std::size_t first = first_part(before.number);
    auto plan = std::make_unique<Plan>(std::move(parts), first, partition_, slots_, target_);
    if (first_part(stage.number) < partition_.parts.size())
      plan->continue_with(
          std::make_unique<Rest>(*this, before.number == 0 ? shared_from_this() : nullptr, std::move(stage)));
    return plan;
  }
  BELFRY_BUG_IF(true, "the layouts of a plan's variables did not settle in {} rounds", kMostRounds);
}

std::vector<std::size_t> Program::sizes_before(std::size_t part) const {
  std::size_t begin = 0;  // of its stage
  for (int first : partition_.stages)
    if (static_cast<std::size_t>(first) <= part) begin = static_cast<std::size_t>(first);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < partition_.crossings.size(); ++i)
    if (const Crossing& c = partition_.crossings[i]; c.sizes && static_cast<std::size_t>(c.from) < begin)
      out.push_back(i);
  return out;
}

std::vector<std::span<const std::int64_t>> Program::computed_sizes(int stage) const {
  std::vector<std::span<const std::int64_t>> out;
  for (std::size_t i : sizes_before(first_part(stage))) {
    const Crossing& c = partition_.crossings[i];
    const auto count = static_cast<std::size_t>(ints_in(c));
    const void* values = target_.crossings.require({c.origin, c.output, c.copy}, count * sizeof(std::int64_t));
    out.emplace_back(static_cast<const std::int64_t*>(values), count);
  }
  return out;
}

std::vector<TensorInfo> Program::inputs_of(std::size_t part, const Stage& stage) const {
  std::vector<TensorInfo> out;
  for (const IrNode& node : partition_.parts[part].ir.nodes()) {
    if (!has_given_info(node)) continue;
    if (node.op == kReceive) {
      out.push_back(stage.carried[crossing_of(node)]);
    } else {
      const TensorSpec& spec = stage.fed[static_cast<std::size_t>(node.attributes.integer("index"))];
      out.push_back({.dtype = spec.dtype, .shape = spec.shape});
    }
  }
  return out;
}

Program::Parts Program::collect(Stage& stage) {
  Parts parts;
  const std::size_t first = first_part(stage.number), last = first_part(++stage.number);
  for (std::size_t p = first; p < last; ++p) {
    std::shared_ptr<const LeftBehind>& left = stage.left[static_cast<std::size_t>(partition_.parts[p].device)];
    parts.push_back(version(p, {inputs_of(p, stage), stage.sizes, left, nullptr}));
    left = parts.back()->leaves;
    for (const auto& [crossing, info] : parts.back()->sent) stage.carried[static_cast<std::size_t>(crossing)] = info;
  }
  return parts;
}

std::shared_ptr<const CompiledPart> Program::version(std::size_t part, Version wanted) {
  if (versions_.size() == 1) return compile(part, wanted);  // the plan is the part: who keeps plans keeps it
  std::list<Version>& versions = versions_[part];
  std::erase_if(versions, [&](const Version& v) { return v.part->generation != generation_of(target_); });
  auto at = std::ranges::find_if(versions, [&](const Version& v) {
    return v.sizes == wanted.sizes && same(v.before, wanted.before) &&
           std::ranges::equal(v.inputs, wanted.inputs, same_info);
  });
  if (at == versions.end()) {
    wanted.part = compile(part, wanted);
    versions.push_front(std::move(wanted));
    if (static_cast<int>(versions.size()) > kept_) versions.pop_back();
  } else {
    versions.splice(versions.begin(), versions, at);
  }
  return versions.front().part;
}

std::string Program::explain_rest(const Stage& stage) const {
  std::string names;
  const auto first = static_cast<int>(first_part(stage.number)), last = static_cast<int>(first_part(stage.number + 1));
  for (const Crossing& c : partition_.crossings)
    if (c.sizes && c.from < first && c.last_reader >= first && c.last_reader < last)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", c.origin->name);
  return fmt::format("then {} more parts, planned when the sizes in {} are known\n",
                     partition_.parts.size() - static_cast<std::size_t>(first), names);
}

void Program::collect_kept(std::set<const CompiledPart*>& into) const {
  for (const std::list<Version>& versions : versions_)
    for (const Version& version : versions) into.insert(version.part.get());
}

std::shared_ptr<const CompiledPart> Program::compile(std::size_t number, const Version& wanted) {
  ++compiled_;
  Part part = partition_.parts[number];
  std::map<std::size_t, Array> sizes;  // by crossing
  const std::int64_t* next_size = wanted.sizes.data();
  for (std::size_t i : sizes_before(number)) {
    Array values(i64, {ints_in(partition_.crossings[i])});
    std::copy_n(next_size, values.elements(), values.values<std::int64_t>().data());
    next_size += values.elements();
    sizes.emplace(i, std::move(values));
  }
  std::map<ValueId, Array> known;
  std::size_t next = 0;
  for (const IrNode& node : part.ir.nodes()) {
    if (!has_given_info(node)) continue;
    part.ir.value(node.outputs[0]).info = wanted.inputs[next++];
    if (node.op != kReceive) continue;
    if (const auto at = sizes.find(crossing_of(node)); at != sizes.end()) known.emplace(node.outputs[0], at->second);
  }
  std::map<int, TensorInfo> shapes = prepare_part(part, partition_.crossings, known);
  std::unique_ptr<CompiledPart> out = target_.backends[static_cast<std::size_t>(part.device)]->compile(
      {std::move(part), partition_.crossings, *slots_, wanted.before, versions_.size() == 1});
  out->sent.merge(shapes);
  out->generation = generation_of(target_);
  return out;
}

}  // namespace belfry
