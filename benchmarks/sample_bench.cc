// Sampling from the suite's char_transformer, 128 positions with a cache of keys and values: as a loop inside one
// run, and as a loop in C++ around a step whose caches are variables. For comparison: the time of the step's kernels,
// and PyTorch with the same network.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "benchmarks/char_transformer.h"
#include "benchmarks/hashed.h"
#include "benchmarks/modes.h"
#include "benchmarks/peer_python.h"

namespace belfry::bench {
namespace {

using namespace char_transformer;

constexpr KeyValueCacheOptions kCache{.capacity = kTime, .units = kFeatures};

// The next characters [batch, 1] of logits [batch, 1, characters].
Tensor next_of(const Tensor& logits) { return sample_class(logits); }

// One position per run; the session keeps the caches.
class SteppedSampler {
 public:
  SteppedSampler(std::int64_t batch, int threads, bool profile) : batch_(batch) {
    const GraphScope scope(graph_);
    const PredictTowerContext tower("");
    ids_ = placeholder(i64, {batch, 1}, "ids");
    position_ = placeholder(i64, {}, "position");
    whole_ids_ = placeholder(i64, {batch, kTime}, "whole_ids");
    std::vector<KeyValueCache> caches;
    for (std::size_t i = 0; i < kBlocks; ++i)
      caches.push_back(key_value_variables("cache" + std::to_string(i), batch, kCache));
    {
      const auto root = VariableScope::reopen({.reuse = Reuse::automatic});
      logits_ = char_transformer_logits(ids_, {&caches, position_});
      whole_ = char_transformer_logits(whole_ids_);
    }
    next_ = next_of(logits_);
    session_.emplace(graph_, SessionConfig{.devices = {{threads}}, .profile = profile});
    session_->initialize();
    fill_parameters(make_char_transformer(), *session_);
    step_ = session_->make_callable({next_}, {ids_, position_});
  }

  void sample() const {
    Array ids = Array::zeros(i64, {batch_, 1}), at = Array::zeros(i64, {});
    const std::vector<Array> feeds{ids, at};
    for (std::int64_t t = 0; t < kTime; ++t) {
      at.set_item(0, static_cast<double>(t));
      const Array& next = step_(feeds)[0];
      std::ranges::copy(next.values<std::int64_t>(), ids.values<std::int64_t>().begin());
    }
  }

  // Of the kernels, per position.
  double kernel_seconds() {
    sample();
    session_->clear_profile();
    sample();
    double seconds = 0;
    for (const ProfileTotal& t : session_->profile_totals()) seconds += t.seconds;
    return seconds / static_cast<double>(kTime);
  }

  // The largest difference of a step's logits from the whole window's.
  double difference() {
    const Array ids = hashed_labels(0, batch_ * kTime, kCharacters).reshaped({batch_, kTime});
    Array wide(i64, ids.shape());
    for (std::int64_t i = 0; i < ids.elements(); ++i) wide.set_item(i, ids.item(i));
    const Array whole = session_->run(whole_, {{whole_ids_, wide}});
    double most = 0;
    for (std::int64_t t = 0; t < kTime; ++t) {
      Array row(i64, {batch_, 1});
      for (std::int64_t b = 0; b < batch_; ++b) row.set_item(b, wide.item(b * kTime + t));
      const Array step = session_->run(logits_, {{ids_, row}, {position_, Array(t)}});
      for (std::int64_t b = 0; b < batch_; ++b)
        for (int c = 0; c < kCharacters; ++c)
          most =
              std::max(most, std::abs(step.item(b * kCharacters + c) - whole.item((b * kTime + t) * kCharacters + c)));
    }
    return most;
  }

 private:
  std::int64_t batch_;
  Graph graph_;
  Tensor ids_, position_, whole_ids_, logits_, whole_, next_;
  std::optional<Session> session_;
  Callable step_;
};

// All positions in one run.
class LoopSampler {
 public:
  LoopSampler(std::int64_t batch, int threads) {
    const GraphScope scope(graph_);
    const PredictTowerContext tower("");
    const Tensor first = zeros({batch, 1}, i64);
    Tensors state{constant(0), first, zeros({batch, kTime}, i64)};
    for (const Tensor& t : tensors_of(std::vector(kBlocks, key_value_cache(batch, kCache)))) state.push_back(t);
    const Tensors end = while_loop(state, [](const Tensors& v) { return v[0] < static_cast<int>(kTime); }, pass);
    session_.emplace(graph_, SessionConfig{.devices = {{threads}}});
    session_->initialize();
    fill_parameters(make_char_transformer(), *session_);
    run_ = session_->make_callable({end[2]}, {});
  }
  void sample() const { run_(); }

 private:
  static Tensors pass(const Tensors& v) {
    std::vector<KeyValueCache> caches = caches_of(Tensors(v.begin() + 3, v.end()));
    const Tensor next = next_of(char_transformer_logits(v[1], {&caches, v[0]}));
    Tensors out{v[0] + 1, next, update_slice(v[2], next, {0, v[0]})};
    for (const Tensor& t : tensors_of(caches)) out.push_back(t);
    return out;
  }

  Graph graph_;
  std::optional<Session> session_;
  Callable run_;
};

// Seconds per position.
template <class Sampler>
double seconds_of(const Sampler& sampler) {
  const double begin = now();
  sampler.sample();
  return (now() - begin) / static_cast<double>(kTime);
}

nlohmann::json measure(std::int64_t batch, const Options& o) {
  const double never = std::numeric_limits<double>::max();
  const int repeats = o.repeats_or(20);
  SteppedSampler stepped(batch, o.threads, false), profiled(batch, o.threads, true);
  const LoopSampler loop(batch, o.threads);
  double step = never, pass = never, kernels = never;
  for (int r = 0; r < repeats; ++r) {
    step = std::min(step, seconds_of(stepped));
    pass = std::min(pass, seconds_of(loop));
    kernels = std::min(kernels, profiled.kernel_seconds());
  }
  const auto rate = [&](double seconds) { return static_cast<double>(batch) / seconds; };
  nlohmann::json out{{"batch", batch},
                     {"threads", o.threads},
                     {"step_us", step * 1e6},
                     {"loop_us", pass * 1e6},
                     {"kernels_us", kernels * 1e6},
                     {"step_over_kernels", step / kernels},
                     {"loop_over_kernels", pass / kernels},
                     {"tokens_per_s", rate(std::min(step, pass))},
                     {"logits_difference", stepped.difference()}};
  if (const auto python = python_with_torch()) {
    const std::string line =
        last_line_of_python(*python, BELFRY_SAMPLE_PEER, fmt::format("{} {} {}", o.threads, batch, repeats));
    if (!line.empty()) {
      out["torch"] = nlohmann::json::parse(line);
      out["over_torch"] = out["tokens_per_s"].get<double>() / out["torch"]["tokens_per_s"].get<double>();
    }
  }
  return out;
}

void print(const nlohmann::json& r) {
  const auto number = [&](const char* key) { return r[key].get<double>(); };
  fmt::print(
      "batch {:2}: {:.0f} tokens/s; a position takes {:.1f} us from C++, {:.1f} us inside one run, its kernels "
      "{:.1f} us; logits differ from the whole window's by {:.1e}\n",
      r["batch"].get<int>(), number("tokens_per_s"), number("step_us"), number("loop_us"), number("kernels_us"),
      number("logits_difference"));
  if (!r.contains("torch")) return;
  fmt::print("          PyTorch {} ({}): {:.0f} tokens/s; Belfry's are {:.1f} times as many\n",
             r["torch"]["torch"].get<std::string>(), r["torch"]["mode"].get<std::string>(),
             r["torch"]["tokens_per_s"].get<double>(), number("over_torch"));
}

}  // namespace

void measure_sample(const Options& o) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::int64_t batch : {1, 16}) {
    all.push_back(measure(batch, o));
    if (!o.json) print(all.back());
  }
  if (o.json) fmt::print("{}\n", nlohmann::json{{"sample", all}}.dump());
}

}  // namespace belfry::bench
