#include "belfry/engine/cpu/dnnl/dnnl_kernel.h"

#include <oneapi/dnnl/dnnl.h>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/base/signal_mask.h"

namespace belfry {
namespace {

class DnnlKernel final : public Kernel {
 public:
  DnnlKernel(const DnnlDescriptor& descriptor, std::vector<DnnlArgument> arguments, int threads)
      : arguments_(std::move(arguments)),
        implementation_(descriptor.implementation()),
        scratchpad_(descriptor.argument(DNNL_ARG_SCRATCHPAD)),
        threads_(threads) {
    dnnl_check(dnnl_primitive_create(&primitive_, descriptor.handle()), "create a primitive");
  }
  ~DnnlKernel() override {
    for (const dnnl_exec_arg_t& a : args_) dnnl_memory_destroy(a.memory);
    dnnl_primitive_destroy(primitive_);
  }
  DnnlKernel(const DnnlKernel&) = delete;
  DnnlKernel& operator=(const DnnlKernel&) = delete;

  std::size_t scratch_bytes() const override { return dnnl_memory_desc_get_size(&scratchpad_); }
  std::string describe() const override { return implementation_; }
  bool is_dnnl() const override { return true; }

  void bind(const Buffers& b) override {
    const SignalsBlocked blocked;  // oneDNN may fill padding, on threads that it starts for that
    std::size_t next = 0;
    for (const DnnlArgument& a : arguments_)
      set(next++, a.arg, a.descriptor,
          a.input >= 0 ? const_cast<void*>(b.inputs[static_cast<std::size_t>(a.input)])
                       : b.outputs[static_cast<std::size_t>(a.output)]);
    if (scratch_bytes() > 0) set(next, DNNL_ARG_SCRATCHPAD, scratchpad_, b.scratch);
  }

  void run(const Step&) override {
    if (threads_ == 0) return execute();
    const TeamScope team(threads_);
    execute();
  }

 private:
  void execute() {
    const SignalsBlocked blocked;
    dnnl_check(dnnl_primitive_execute(primitive_, dnnl_cpu_stream(), static_cast<int>(args_.size()), args_.data()),
               "execute");
  }

  // By its contract oneDNN may write the padding's zeros whenever it is given memory. So memory that did not move is
  // not given again: others may be reading it.
  void set(std::size_t index, int arg, const dnnl_memory_desc_t& descriptor, void* data) {
    if (index == args_.size()) {
      dnnl_memory_t memory = nullptr;
      dnnl_check(dnnl_memory_create(&memory, &descriptor, dnnl_cpu_engine(), data), "create a memory object");
      args_.push_back({arg, memory});
      data_.push_back(data);
    } else if (data_[index] != data) {
      dnnl_check(dnnl_memory_set_data_handle_v2(args_[index].memory, data, dnnl_cpu_stream()), "set a memory object");
      data_[index] = data;
    }
  }

  std::vector<DnnlArgument> arguments_;
  std::string implementation_;
  dnnl_memory_desc_t scratchpad_;
  int threads_;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl_exec_arg_t> args_;
  std::vector<void*> data_;  // of each
};

}  // namespace

DnnlDescriptor::~DnnlDescriptor() {
  if (handle_ != nullptr) dnnl_primitive_desc_destroy(handle_);
}

dnnl_memory_desc_t DnnlDescriptor::argument(int arg) const {
  const dnnl_memory_desc_t* found = dnnl_primitive_desc_query_md(handle_, dnnl_query_exec_arg_md, arg);
  BELFRY_BUG_IF(found == nullptr, "a primitive has no argument {}", arg);
  return *found;
}

std::string DnnlDescriptor::implementation() const {
  const char* text = nullptr;
  if (dnnl_primitive_desc_query(handle_, dnnl_query_impl_info_str, 0, static_cast<void*>(&text)) != dnnl_success)
    return "oneDNN";
  return text;
}

DnnlAttributes::DnnlAttributes() {
  dnnl_check(dnnl_primitive_attr_create(&handle_), "create attributes");
  dnnl_check(dnnl_primitive_attr_set_scratchpad_mode(handle_, dnnl_scratchpad_mode_user), "user scratchpad");
  dnnl_check(dnnl_post_ops_create(&post_ops_), "create post-ops");
}
DnnlAttributes::~DnnlAttributes() {
  dnnl_post_ops_destroy(post_ops_);
  dnnl_primitive_attr_destroy(handle_);
}
void DnnlAttributes::append_relu(float slope) {
  dnnl_check(dnnl_post_ops_append_eltwise(post_ops_, 1.f, dnnl_eltwise_relu, slope, 0.f), "append relu");
  commit();
}
void DnnlAttributes::commit() { dnnl_check(dnnl_primitive_attr_set_post_ops(handle_, post_ops_), "set post-ops"); }
dnnl_primitive_attr_t DnnlAttributes::handle() const { return handle_; }

dnnl_memory_desc_t dnnl_matrix(std::int64_t rows, std::int64_t columns, bool transposed) {
  const dnnl_dims_t dims{rows, columns}, strides{transposed ? 1 : columns, transposed ? rows : 1};
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_init_by_strides(&out, 2, dims, dnnl_f32, strides), "matrix descriptor");
  return out;
}

DnnlDescriptor make_descriptor(const void* operation, const DnnlAttributes& attributes, const DnnlDescriptor* forward) {
  dnnl_primitive_desc_t pd = nullptr;
  dnnl_check(dnnl_primitive_desc_create(&pd, operation, attributes.handle(), dnnl_cpu_engine(),
                                        forward == nullptr ? nullptr : forward->handle()),
             "create a primitive descriptor");
  return DnnlDescriptor(pd);
}

KernelPtr dnnl_kernel(FunctionRef<DnnlDescriptor()> describe, std::vector<DnnlArgument> arguments, int threads) {
  if (threads == 0) return std::make_unique<DnnlKernel>(describe(), std::move(arguments), 0);
  const TeamScope team(threads);
  return std::make_unique<DnnlKernel>(describe(), std::move(arguments), threads);
}

KernelPtr dnnl_reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
  const DnnlAttributes attributes;
  const auto describe = [&] {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_check(
        dnnl_reorder_primitive_desc_create(&pd, &from, dnnl_cpu_engine(), &to, dnnl_cpu_engine(), attributes.handle()),
        "reorder");
    return DnnlDescriptor(pd);
  };
  return dnnl_kernel(describe, {{.arg = DNNL_ARG_FROM, .input = 0, .descriptor = from},
                                {.arg = DNNL_ARG_TO, .output = 0, .descriptor = to}});
}

}  // namespace belfry
