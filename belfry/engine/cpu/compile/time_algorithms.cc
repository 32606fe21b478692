#include "belfry/engine/cpu/compile/time_algorithms.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "belfry/array/array.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/profiler.h"

namespace belfry {
namespace {

constexpr int kRounds = 7, kFewest = 3;
constexpr std::int64_t kEnough = 500'000'000;  // nanoseconds for one problem, after the minimum number of rounds
constexpr double kHopeless = 2;                // times the best time: not timed again
constexpr double kClearly = 0.97;              // of the rule's time: beyond the difference between two timings

constexpr std::int64_t kLine = 64 / sizeof(float);

// An operand's memory, as large as the largest of its layouts needs.
class ScratchTensor {
 public:
  explicit ScratchTensor(std::size_t bytes) : values_(DType::f32, {static_cast<std::int64_t>((bytes + 3) / 4)}) {}

  void* data() { return values_.raw(); }

  // By the team, as in a step, where other kernels write what this one reads: each core has its share in its cache.
  void write() {
    float* to = values_.values<float>().data();
    parallel_for(values_.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(i & 31) * 0.0625f - 1.f;
    });
  }
  // As its readers will: it matters in which cache the results are.
  void read(std::atomic<float>& sink) const {
    const float* from = values_.values<float>().data();
    parallel_for(values_.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      float sum = 0;
      for (std::int64_t i = begin; i < end; i += kLine) sum += from[i];
      sink.store(sum, std::memory_order_relaxed);
    });
  }

 private:
  static constexpr std::int64_t kGrain = 1 << 12;
  Array values_;
};

struct Candidate {
  std::string name;
  Attributes attributes;
  std::vector<TensorInfo> inputs, outputs;
  KernelPtr kernel;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
};

Candidate make_candidate(const KernelDef& kernel, const KernelContext& plain, const std::string& name) {
  Candidate out{.name = name,
                .attributes = *plain.attributes,
                .inputs = {plain.inputs.begin(), plain.inputs.end()},
                .outputs = {plain.outputs.begin(), plain.outputs.end()},
                .kernel = nullptr};
  out.attributes.set(kAlgorithm, name);
  KernelContext context = plain;
  context.attributes = &out.attributes;
  if (kernel.rule) {
    const LayoutChoice choice = kernel.rule(context);
    for (std::size_t i = 0; i < choice.inputs.size(); ++i) out.inputs[i].layout = choice.inputs[i];
    for (std::size_t i = 0; i < choice.outputs.size(); ++i) out.outputs[i].layout = choice.outputs[i];
  }
  context.inputs = out.inputs;
  context.outputs = out.outputs;
  out.kernel = kernel.make(context);
  return out;
}

// The same memory for all candidates, so that all find the caches in the same state.
class Bench {
 public:
  Bench(std::vector<Candidate> candidates, const std::vector<bool>& unread)
      : candidates_(std::move(candidates)), scratch_(largest_scratch()) {
    scratch_.write();  // pages it in
    for (std::size_t i = 0; i < candidates_[0].inputs.size(); ++i)
      inputs_.emplace_back(unread[i] ? 0 : largest(&Candidate::inputs, i));
    for (std::size_t i = 0; i < candidates_[0].outputs.size(); ++i)
      outputs_.emplace_back(largest(&Candidate::outputs, i)).write();
    for (Candidate& c : candidates_) {
      Buffers buffers;
      for (ScratchTensor& tensor : inputs_) buffers.inputs.push_back(tensor.data());
      for (ScratchTensor& tensor : outputs_) buffers.outputs.push_back(tensor.data());
      buffers.scratch = scratch_.data();
      c.kernel->bind(buffers);
    }
  }

  const std::string& fastest() {
    const std::int64_t begin = Profiler::now();
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    // Round by round, so that a disturbance from outside hits all of them.
    for (int round = 0; round < kRounds && (round < kFewest || Profiler::now() - begin < kEnough); ++round)
      for (Candidate& c : candidates_) {
        if (round > 0 && static_cast<double>(c.best) > kHopeless * static_cast<double>(best)) continue;
        c.best = std::min(c.best, time(*c.kernel));
        best = std::min(best, c.best);
      }
    const Candidate& rule = candidates_[0];
    const Candidate& winner = *std::ranges::min_element(candidates_, {}, &Candidate::best);
    const bool clearly = static_cast<double>(winner.best) < kClearly * static_cast<double>(rule.best);
    return clearly ? winner.name : rule.name;
  }

 private:
  std::size_t largest(std::vector<TensorInfo> Candidate::* operands, std::size_t i) const {
    std::size_t bytes = 0;
    for (const Candidate& c : candidates_) bytes = std::max(bytes, (c.*operands)[i].bytes());
    return bytes;
  }

  std::size_t largest_scratch() const {
    std::size_t bytes = 0;
    for (const Candidate& c : candidates_) bytes = std::max(bytes, c.kernel->scratch_bytes());
    return bytes;
  }

  std::int64_t time(Kernel& kernel) {
    for (ScratchTensor& tensor : inputs_) tensor.write();
    const std::int64_t begin = Profiler::now();
    kernel.run({});
    for (const ScratchTensor& tensor : outputs_) tensor.read(sink_);
    return Profiler::now() - begin;
  }

  std::vector<Candidate> candidates_;
  ScratchTensor scratch_;
  std::vector<ScratchTensor> inputs_, outputs_;
  std::atomic<float> sink_ = 0;  // keeps the reading from being optimised away
};

}  // namespace

std::string fastest_algorithm(const KernelDef& kernel, const KernelContext& context, std::span<const std::string> names,
                              const std::vector<bool>& unread) {
  std::vector<Candidate> candidates;
  for (const std::string& name : names) candidates.push_back(make_candidate(kernel, context, name));
  return Bench(std::move(candidates), unread).fastest();
}

}  // namespace belfry
