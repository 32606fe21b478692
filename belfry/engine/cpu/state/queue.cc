#include <cstring>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/data_queue.h"
#include "belfry/graph/internal/ancestors.h"

namespace belfry {
namespace {

class PutPoint final : public Kernel {
 public:
  explicit PutPoint(const KernelContext& c)
      : origin_(*c.origin),
        queue_(c.queues->of(queue_of(*c.origin))),
        components_(c.inputs.begin() + 1, c.inputs.end()) {
    // What the values were computed from: the state of the last point among these is passed on.
    Node* const put[] = {const_cast<Node*>(c.origin)};
    for (const Node* node : with_ancestors(put))
      if (node->def->taken) state_ = &c.queues->taken(node);
  }

  void bind(const Buffers& buffers) override { buffers_ = buffers; }
  void run(const Step&) override {
    QueuedPoint point;
    for (std::size_t i = 0; i < components_.size(); ++i) {
      const Array& copy = point.values.emplace_back(components_[i].dtype, components_[i].shape);
      if (copy.bytes() > 0) std::memcpy(const_cast<Array&>(copy).raw(), buffers_.inputs[i + 1], copy.bytes());
    }
    if (state_ != nullptr) point.state = *state_;
    try {
      queue_->put_now(std::move(point));
    } catch (const Error& error) {
      fail("{} {} {}", describe_node(), error.what(), made_at(origin_));
    }
  }

 private:
  std::string describe_node() const { return belfry::describe(origin_); }

  const Node& origin_;
  std::shared_ptr<DataQueue> queue_;
  std::vector<TensorInfo> components_;
  const std::shared_ptr<const void>* state_ = nullptr;
  Buffers buffers_;
};

const KernelRegistration put_kernel =
    define_kernel("QueuePut").make([](const KernelContext& c) -> KernelPtr { return std::make_unique<PutPoint>(c); });

const KernelRegistration size_kernel = define_kernel("Queue").make([](const KernelContext& c) {
  return simple_kernel(
      [queue = c.queues->of(c.origin)](const Buffers& b, const Step&) { *b.out<std::int32_t>() = queue->size(); });
});

}  // namespace
}  // namespace belfry
