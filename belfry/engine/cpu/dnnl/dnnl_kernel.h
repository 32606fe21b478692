// A oneDNN primitive as a Kernel: made through the C API, with user-managed scratchpad and an argument array that is
// built once, so that running it is one call.
#pragma once

#include <oneapi/dnnl/dnnl_types.h>

#include <memory>
#include <utility>
#include <vector>

#include "belfry/base/function_ref.h"
#include "belfry/engine/cpu/dnnl/dnnl_check.h"
#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

// Owns a primitive descriptor.
class DnnlDescriptor {
 public:
  explicit DnnlDescriptor(dnnl_primitive_desc_t handle) : handle_(handle) {}
  DnnlDescriptor(DnnlDescriptor&& other) noexcept : handle_(other.release()) {}
  DnnlDescriptor& operator=(DnnlDescriptor&&) = delete;
  ~DnnlDescriptor();

  dnnl_primitive_desc_t handle() const { return handle_; }
  dnnl_primitive_desc_t release() { return std::exchange(handle_, nullptr); }
  // The descriptor of one of its arguments (DNNL_ARG_SRC, ...).
  dnnl_memory_desc_t argument(int arg) const;
  std::string implementation() const;

 private:
  dnnl_primitive_desc_t handle_;
};

// Attributes with the user's scratchpad; post-ops are appended in order.
class DnnlAttributes {
 public:
  DnnlAttributes();
  ~DnnlAttributes();
  DnnlAttributes(const DnnlAttributes&) = delete;
  DnnlAttributes& operator=(const DnnlAttributes&) = delete;
  void append_relu(float slope = 0);  // below 0
  dnnl_primitive_attr_t handle() const;

 private:
  void commit();
  dnnl_primitive_attr_t handle_ = nullptr;
  dnnl_post_ops_t post_ops_ = nullptr;
};

// Which buffer is which argument: one of `input` and `output` is set.
struct DnnlArgument {
  int arg = 0;
  int input = -1;
  int output = -1;
  dnnl_memory_desc_t descriptor{};
};

// A row-major f32 matrix, or the transpose of one.
dnnl_memory_desc_t dnnl_matrix(std::int64_t rows, std::int64_t columns, bool transposed = false);
// A descriptor of this operation (any dnnl_*_desc_t); `forward` is the hint that backward operations need.
DnnlDescriptor make_descriptor(const void* operation, const DnnlAttributes& attributes, const DnnlDescriptor* forward);

// `describe` makes the descriptor; it and every run happen under a team of `threads` (0: the caller's), because oneDNN
// bakes the count into a primitive.
KernelPtr dnnl_kernel(FunctionRef<DnnlDescriptor()> describe, std::vector<DnnlArgument> arguments, int threads = 0);
// Between two layouts of one tensor; one input, one output.
KernelPtr dnnl_reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to);

}  // namespace belfry
