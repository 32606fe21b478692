#include "belfry/dataflow/joined_flow.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {

JoinedFlow::JoinedFlow(std::vector<Flow> sources, std::string kind, FlowParameters parameters)
    : kind_(std::move(kind)), identity_{.kind = kind_, .parameters = std::move(parameters)} {
  BELFRY_CHECK(!sources.empty(), "[{}] expected at least 1 flow to draw on, got an empty list.", kind_);
  sources_.reserve(sources.size());
  for (Flow& source : sources) {
    sources_.emplace_back(std::move(source), kind_);
    identity_.from.push_back(sources_.back()->identity());
  }
  identity_text_ = identity_text(identity_);
}

void JoinedFlow::start_epoch(std::uint64_t epoch) {
  for (const ClaimedFlow& source : sources_) source->start_epoch(epoch);
}

FlowState JoinedFlow::state() const {
  FlowState state{kind_, {}, {}, identity_text_};
  for (const ClaimedFlow& source : sources_) state.from.push_back(source->state());
  return state;
}

void JoinedFlow::restore(const FlowState& state) {
  state.expect_identity(identity_text_);
  state.expect(kind_, sources_.size());
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i]->restore(state.from[i]);
}

std::string JoinedFlow::describe() const {
  std::string text;
  for (const ClaimedFlow& source : sources_) text += (text.empty() ? "" : ", ") + source->describe();
  return kind_ + "(" + text + ")";
}

void JoinedFlow::cancel() {
  for (const ClaimedFlow& source : sources_) source->cancel();
}

bool JoinedFlow::ordered() const {
  return std::ranges::all_of(sources_, [](const ClaimedFlow& source) { return source->ordered(); });
}

bool JoinedFlow::all_have_random_access() const {
  return std::ranges::all_of(sources_, [](const ClaimedFlow& source) { return source->random_access() != nullptr; });
}

bool JoinedFlow::all_endless() const {
  return std::ranges::all_of(sources_, [](const ClaimedFlow& source) { return source->endless(); });
}

bool JoinedFlow::any_endless() const {
  return std::ranges::any_of(sources_, [](const ClaimedFlow& source) { return source->endless(); });
}

std::optional<std::int64_t> JoinedFlow::sum_of_sizes() const {
  std::int64_t sum = 0;
  for (const ClaimedFlow& source : sources_) {
    const std::optional<std::int64_t> points = source->size();
    if (!points || __builtin_add_overflow(sum, *points, &sum)) return std::nullopt;
  }
  return sum;
}

}  // namespace belfry
