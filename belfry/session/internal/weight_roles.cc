#include "belfry/session/internal/weight_roles.h"

#include <algorithm>
#include <set>
#include <span>

#include "belfry/graph/graph.h"
#include "belfry/graph/internal/subgraph.h"
#include "belfry/graph/op_kind.h"

namespace belfry {
namespace {

const OpKind kAdd = op_kind("Add"), kCast = op_kind("Cast"), kConv2D = op_kind("Conv2D"),
             kConv2DTranspose = op_kind("Conv2DTranspose"), kExpandDims = op_kind("ExpandDims"),
             kGather = op_kind("Gather"), kGruSequence = op_kind("GruSequence"), kIdentity = op_kind("Identity"),
             kLstmSequence = op_kind("LstmSequence"), kMatMul = op_kind("MatMul"), kPrelu = op_kind("Prelu"),
             kReadVariable = op_kind("ReadVariable"), kReshape = op_kind("Reshape"),
             kBatchFlatten = op_kind("BatchFlatten"), kSqueeze = op_kind("Squeeze"),
             kStopGradient = op_kind("StopGradient"), kTranspose = op_kind("Transpose");

constexpr int kGates = 0, kRecurrentWeights = 2, kGruRecurrentBias = 3;  // inputs of LstmSequence and GruSequence

bool passes_on(OpKind kind) {
  return kind == kIdentity || kind == kReadVariable || kind == kCast || kind == kExpandDims || kind == kSqueeze ||
         kind == kReshape || kind == kStopGradient;
}

using NodeSet = std::set<const Node*>;

// Where the channels of images are: what the nearest op above `t` says that has images. Ops that leave the axes in
// their places are passed over.
std::string data_format_of(const Tensor& t, NodeSet& seen) {
  const Node& node = *t.node();
  if (t.rank() < 3 || !seen.insert(&node).second) return "";
  if (const std::string format = node.attributes.get_or<std::string>("data_format", ""); !format.empty()) return format;
  const OpKind kind = node.def->kind;
  if (kind == kTranspose || kind == kReshape || kind == kMatMul) return "";
  for (const Tensor& in : node.inputs)
    if (in.rank() == t.rank() || kind == kSqueeze)
      if (const std::string format = data_format_of(in, seen); !format.empty()) return format;
  return "";
}

// Of a matrix whose rows are flattened: what they were before. Ops that only change each element are passed over.
Tensor flattened_in(const Tensor& x, NodeSet& seen) {
  const Node& node = *x.node();
  if (x.rank() != 2 || !seen.insert(&node).second || node.def->kind == kMatMul) return {};
  const bool flattens = node.def->kind == kBatchFlatten || node.def->kind == kReshape;
  if (flattens && node.inputs[0].rank() > 2) {
    const Shape& before = node.inputs[0].shape();
    // Otherwise a row is only part of an entry, such as a step of a sequence.
    return before.slice(1, before.rank()).elements() == x.shape()[1] ? node.inputs[0] : Tensor();
  }
  for (const Tensor& in : node.inputs)
    if (compatible(in.shape(), x.shape()))
      if (const Tensor found = flattened_in(in, seen)) return found;
  return {};
}

// If the rows of a matrix that multiplies `x` are flattened images, their order.
void find_image(const Tensor& x, WeightRole& role) {
  NodeSet seen;
  const Tensor image = flattened_in(x, seen);
  if (!image) return;
  const std::string format = data_format_of(image, seen);
  const Shape& shape = image.shape();
  std::vector<std::int64_t> chw;
  if (image.rank() == 3 && format == "NHWC") chw = {shape[2], 1, shape[1]};  // sequences of a conv1d
  if (image.rank() == 4 && format != "NCHW") chw = {shape[3], shape[1], shape[2]};
  // One channel or one pixel: both orders are the same.
  if (chw.empty() || chw[0] == 1 || chw[1] * chw[2] == 1) return;
  role.unknown_image_order = format.empty();
  if (!format.empty()) role.image = chw;
}

}  // namespace

class WeightRoles::Consumers {
 public:
  explicit Consumers(const Graph& graph) { add(graph, {}); }

  WeightRole role_of(const Variable& variable) const {
    Found best;
    std::set<Key> seen;
    search(variable.handle(), seen, best);
    return best.role;
  }

 private:
  using Key = std::pair<const Node*, int>;
  // A node is older than another if its order is smaller: its number, after those of the nodes whose bodies it is in.
  using Order = std::vector<int>;
  struct Use {
    Node* node = nullptr;  // nullptr: `inside` is the same value in a node's body
    int input = 0;
    Order order{};
    Tensor inside{};
  };
  struct Found {
    bool any = false;
    Order order{};
    WeightRole role{};
  };

  void add(const Graph& graph, const Order& around) {
    for (const std::unique_ptr<Node>& node : graph.nodes()) {
      Order order = around;
      order.push_back(node->id);
      for (std::size_t i = 0; i < node->inputs.size(); ++i)
        uses_[key_of(node->inputs[i])].push_back({.node = node.get(), .input = static_cast<int>(i), .order = order});
      for (const auto& [name, value] : node->attributes.items())
        if (const auto* body = std::get_if<std::shared_ptr<const SubGraph>>(&value)) add_body(**body, order);
    }
  }

  void add_body(const SubGraph& body, const Order& order) {
    for (std::size_t i = 0; i < body.captured.size(); ++i)
      uses_[key_of(body.captured[i])].push_back({.order = order, .inside = body.inputs[body.arguments() + i]});
    if (body.graph != nullptr) add(*body.graph, order);
  }

  static Key key_of(const Tensor& t) { return {t.node(), t.output()}; }

  std::span<const Use> uses_of(const Tensor& t) const {
    const auto at = uses_.find(key_of(t));
    return at == uses_.end() ? std::span<const Use>() : std::span<const Use>(at->second);
  }

  // The oldest use counts: gradients and losses come after the layer.
  void search(const Tensor& value, std::set<Key>& seen, Found& best) const {
    if (!seen.insert(key_of(value)).second) return;
    for (const Use& use : uses_of(value)) {
      if (use.node == nullptr) {
        search(use.inside, seen, best);
      } else if (passes_on(use.node->def->kind)) {
        search({use.node, 0}, seen, best);
      } else if (const std::optional<WeightRole> role = role_in(use); role && (!best.any || use.order < best.order)) {
        best = {true, use.order, *role};
      }
    }
  }

  std::optional<WeightRole> role_in(const Use& use) const {
    Node& node = *use.node;
    const OpKind kind = node.def->kind;
    if (kind == kConv2D && use.input == 1) return convolution(node);
    if (kind == kConv2DTranspose && use.input == 1)
      return WeightRole{.use = WeightUse::transposed_convolution, .groups = node.attributes.integer("groups")};
    if (kind == kGather && use.input == 0) return WeightRole{};
    if (kind == kPrelu && use.input == 1) return WeightRole{.use = WeightUse::slope, .rank = node.inputs[0].rank()};
    if (kind == kMatMul) return matrix(node, use.input);
    if (kind == kAdd) {
      const OpKind cell = cell_of({&node, 0});
      if (cell == kLstmSequence) return WeightRole{.use = WeightUse::lstm_bias};
      if (cell == kGruSequence) return WeightRole{.use = WeightUse::gru_bias};
    }
    if (kind == kLstmSequence && use.input == kRecurrentWeights) return WeightRole{.use = WeightUse::lstm_recurrent};
    if (kind == kGruSequence && use.input == kRecurrentWeights) return WeightRole{.use = WeightUse::gru_recurrent};
    if (kind == kGruSequence && use.input == kGruRecurrentBias) return WeightRole{.use = WeightUse::gru_recurrent_bias};
    return std::nullopt;
  }

  static WeightRole convolution(const Node& node) {
    const Shape& filter = node.inputs[1].shape();
    const std::int64_t groups = node.attributes.integer("groups");
    return {.use = groups > 1 && filter[2] == 1 ? WeightUse::depthwise : WeightUse::convolution, .groups = groups};
  }

  std::optional<WeightRole> matrix(Node& node, int input) const {
    if (input == 0 || node.attributes.flag("transpose_b")) return WeightRole{};
    const OpKind cell = cell_of({&node, 0});
    if (cell == kLstmSequence) return WeightRole{.use = WeightUse::lstm_input};
    if (cell == kGruSequence) return WeightRole{.use = WeightUse::gru_input};
    WeightRole role{.use = WeightUse::matrix};
    find_image(node.inputs[0], role);
    return role;
  }

  // LstmSequence or GruSequence if `t` is its gates, before or after the bias was added.
  OpKind cell_of(const Tensor& t, int additions = 1) const {
    for (const Use& use : uses_of(t)) {
      if (use.node == nullptr) continue;
      const OpKind kind = use.node->def->kind;
      if ((kind == kLstmSequence || kind == kGruSequence) && use.input == kGates) return kind;
      if (kind != kAdd || additions == 0) continue;
      if (const OpKind found = cell_of({use.node, 0}, additions - 1); found != OpKind()) return found;
    }
    return {};
  }

  std::map<Key, std::vector<Use>> uses_;
};

WeightRoles::WeightRoles(const Graph& graph) : consumers_(std::make_unique<Consumers>(graph)) {}
WeightRoles::~WeightRoles() = default;
WeightRole WeightRoles::of(const Variable& variable) const { return consumers_->role_of(variable); }

}  // namespace belfry
