// How an op is computed on a set of cores: what engine/cpu/<family>/ registers for the ops of ops/<family>.cc.
//
//   const KernelRegistration relu_kernel = define_kernel("Relu").layout_blind().in_place(0).make([](const
//   KernelContext& c) {
//     return simple_kernel([n = c.output(0).elements()](const Buffers& b, const Step&) { ... });
//   });
//
// A kernel is made once, with the plan. bind() gives it its pointers, once before the first run and again before any
// run for which one has moved: a kernel that reads a feed is bound again when the feed has another address than in the
// run before. run() must not allocate, lock or look anything up, and neither must a bind() after the first. Tensors
// with a zero dimension never reach oneDNN.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/engine/cpu/kernel/layout.h"
#include "belfry/engine/step.h"
#include "belfry/engine/tensor_info.h"
#include "belfry/graph/attributes.h"
#include "belfry/graph/op_kind.h"

namespace belfry {

struct Node;
class QueueStore;
struct Work;

// What a kernel may know when it is made.
struct KernelContext {
  std::span<const TensorInfo> inputs, outputs;
  const Attributes* attributes = nullptr;
  const Node* origin = nullptr;  // the graph's node, for error texts; the first one of a fused group
  int threads = 1;
  QueueStore* queues = nullptr;  // the session's

  const TensorInfo& input(int i) const { return inputs[static_cast<std::size_t>(i)]; }
  const TensorInfo& output(int i = 0) const { return outputs[static_cast<std::size_t>(i)]; }
};

// The pointers of the runs until the next bind(). Before the first run a fed input does not yet point to its value.
struct Buffers {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  void* scratch = nullptr;  // scratch_bytes() of the kernel, 64-byte aligned

  template <class T> const T* in(int i) const { return static_cast<const T*>(inputs[static_cast<std::size_t>(i)]); }
  template <class T> T* out(int i = 0) const { return static_cast<T*>(outputs[static_cast<std::size_t>(i)]); }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t scratch_bytes() const { return 0; }
  virtual void bind(const Buffers& buffers) = 0;
  virtual void run(const Step& step) = 0;
  // For explain(): "jit:avx512_core", "own:blocked". oneDNN's share of a step is summed from is_dnnl().
  virtual std::string describe() const { return ""; }
  virtual bool is_dnnl() const { return false; }
};
using KernelPtr = std::unique_ptr<Kernel>;

using RunFunction = std::function<void(const Buffers&, const Step&)>;
// A kernel that is one function of its buffers.
KernelPtr simple_kernel(RunFunction run, std::size_t scratch_bytes = 0);

// The layouts that an op prefers, given the present ones of its inputs.
struct LayoutChoice {
  std::vector<Layout> inputs{}, outputs{};
  std::vector<std::pair<int, Shape>> workspaces{};  // outputs whose size depends on the layouts: (output, shape)
};
using LayoutRule = std::function<LayoutChoice(const KernelContext&)>;

// What a kernel can choose from. Without the attribute kAlgorithm it follows a fixed rule.
struct Algorithms {
  std::string problem{};             // everything that the choice may depend on, except instruction set and threads
  std::vector<std::string> names{};  // the rule's choice first; a function of the problem and the thread count
};
inline constexpr const char* kAlgorithm = "algorithm";               // set by choose_algorithms: one of the names
inline constexpr const char* kAlgorithmSource = "algorithm_source";  // where it comes from, for explain()

// Set by lower_precision on products, and on nodes whose kernel runs_plans: kBf16 if the kernel itself rounds the
// factors it reads, kBf16Emulated if they are already rounded.
inline constexpr const char *kPrecision = "precision", *kBf16 = "bf16", *kBf16Emulated = "bf16 emulated";

// Set by the fuse pass on a node whose kernel takes_scale(): one more input, a scalar f32 to multiply the gradient by.
inline constexpr const char* kScaled = "scaled";

struct KernelDef {
  OpKind op{};
  // plain: row-major in and out. blind: any layout, as long as all full-shaped operands share it. rule: asks.
  enum class Layouts { plain, blind, rule } layouts = Layouts::plain;
  LayoutRule rule;
  bool follows = false;          // the rule takes the inputs' layouts: no preference for a variable's layout
  bool zero_stays_zero = false;  // a blind kernel that maps padding zeros to zeros
  std::vector<std::pair<int, int>> in_place;  // (input, output) pairs that may share memory
  // An update that can also write a copy of its variable in this second layout (as a separate output).
  std::function<bool(const TensorInfo& variable, const Layout& copy)> writes_copy;
  // An update that adds its attribute "weight_decay" times the variable to its gradient.
  bool takes_weight_decay = false;
  bool takes_scale = false;  // an update that multiplies its gradient, the last input: see kScaled
  std::function<Algorithms(const KernelContext&)> algorithms;  // asked before the layouts are known
  std::vector<int> factors;  // inputs that are multiplied with one another, and the products summed
  std::function<bool(const KernelContext&)> computes_bf16;  // whether this node can use bf16 factors: kPrecision
  bool keeps_f32 = false;    // multiplies too, but in f32 whatever the session's precision: for explain()
  bool runs_plans = false;   // of sub-graphs, which have the session's precision
  bool elementwise = false;  // element i of output 0 is computed from element i of each input of its shape
  std::function<double(const Work&)> flops;  // see engine/flops.h; default: one per element of the largest output
  bool view = false;                         // output 0 is input 0's memory: nothing to run (needs plain layouts)
  std::function<KernelPtr(const KernelContext&)> make;
};
using KernelRegistration = const KernelDef*;

class KernelDefinition {
 public:
  explicit KernelDefinition(std::string_view op) { def_.op = op_kind(op); }
  KernelDefinition& layout_blind(bool zero_stays_zero = false);
  KernelDefinition& layout_rule(LayoutRule rule);
  KernelDefinition& follows_inputs();
  KernelDefinition& in_place(int input, int output = 0);
  KernelDefinition& view();
  KernelDefinition& writes_copy(std::function<bool(const TensorInfo&, const Layout&)> can);
  KernelDefinition& takes_weight_decay();
  KernelDefinition& takes_scale();
  KernelDefinition& algorithms(std::function<Algorithms(const KernelContext&)> list);
  KernelDefinition& multiplies(std::vector<int> factors, std::function<bool(const KernelContext&)> computes_bf16 = {});
  KernelDefinition& keeps_f32();
  KernelDefinition& runs_plans();
  KernelDefinition& elementwise();
  KernelDefinition& flops(std::function<double(const Work&)> count);
  KernelRegistration make(std::function<KernelPtr(const KernelContext&)> make);  // the end: registers it

 private:
  KernelDef def_;
};

// For op `op` of the graph, or an op that only the engine's passes make ("Reorder", "FusedConv").
inline KernelDefinition define_kernel(std::string_view op) { return KernelDefinition(op); }
const KernelDef* find_kernel(OpKind op);  // nullptr if there is none

}  // namespace belfry
